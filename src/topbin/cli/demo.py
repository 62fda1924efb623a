"""`topbin demo`: hide the labels of real data, estimate α by every method, show the truth."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from topbin.cli import verb

if TYPE_CHECKING:
    from topbin.core import AlphaEstimate


@dataclass(frozen=True)
class Timed:
    """What a method says, and the seconds that it took."""

    estimate: "AlphaEstimate"
    seconds: float

    @property
    def is_outside(self) -> bool:
        """Whether the point is outside the interval that the counts allow."""
        low, high = self.estimate.interval or (0.0, 1.0)
        return not low <= self.estimate.alpha <= high


@dataclass(frozen=True)
class Bundled:
    """A set that scikit-learn brings: how it is loaded, its positive class, how many are known."""

    load: str
    positive: int
    labeled: int
    what: str  # the rows
    are: str  # the positive ones

    @property
    def label(self) -> str:
        """The column that marks the known positives."""
        return f"known_{self.are.replace(' ', '_')}"


DATA = {
    "cancer": Bundled("load_breast_cancer", 0, 100, "breast tumors", "malignant"),
    "digits": Bundled("load_digits", 8, 80, "images of digits", "eights"),
    "wine": Bundled("load_wine", 0, 30, "wines", "of grower 1"),
}


@click.command(cls=verb.Verb)
@verb.option("--data", "Data", "Which set.", default="cancer", type=click.Choice(list(DATA)))
@verb.option("--seed", "Data", "Which of the positives are labeled.", default=0, type=verb.SEED)
@verb.output_option(
    "Folder for the report, the candidates and the pictures.",
    default=Path("demo"),
    type=click.Path(path_type=Path, file_okay=False),
)
@verb.json_option
def demo(data: str, output: Path, seed: int, as_json: bool) -> None:
    """The main job on real data, with the truth shown beside.

    569 breast tumors from scikit-learn, 212 of them malignant. We label 100 malignant ones, hide
    every other label, and ask how many of the 469 unlabeled are malignant. Other sets: 1,797
    images of digits, of which 174 are eights, and 178 wines, of which 59 are of one grower.

    \b
      topbin demo
      topbin demo --data digits --seed 7 --json
    """
    from topbin.job.fit import fit

    chosen = DATA[data]
    frame, truth = hide_labels(seed, chosen)
    show = verb.screen(as_json)
    rest = f"{len(frame) - chosen.labeled:,} unlabeled"
    show.print(f"{chosen.what}: {chosen.labeled} known to be {chosen.are}, {rest}.", style="bold")
    label = chosen.label
    rows = every_method(frame.drop(columns=label).to_numpy(), frame[label].to_numpy())
    show.print(as_table(rows, truth), soft_wrap=False)
    result = fit(frame, label, seed=seed)
    show.print(result.summary())
    show.say("truth", f"{truth:.3f} of the unlabeled are {chosen.are}")
    # The run folder first: it refuses a folder of files that are not a run's.
    report = result.save(output, force=True) / "report.html"
    for path in [report, *save_pictures(result.classifier, output)]:
        show.say("wrote", path)
    if as_json:
        records = [
            {**row.estimate.to_dict(), "error": row.estimate.alpha - truth, "seconds": row.seconds}
            for row in rows
        ]
        verb.write_json({"truth": truth, "methods": records, "estimate": result.estimate.to_dict()})


def hide_labels(seed: int, chosen: Bundled) -> tuple[Any, float]:
    """A table in which some positives are marked, and the share hidden among the rest."""
    import numpy as np
    from sklearn import datasets

    frame = getattr(datasets, chosen.load)(as_frame=True).frame
    positive = frame.pop("target").to_numpy() == chosen.positive
    drawn = np.random.default_rng(seed)
    known = drawn.choice(np.flatnonzero(positive), chosen.labeled, replace=False)
    frame[chosen.label] = np.isin(np.arange(len(frame)), known).astype(int)
    return frame, float(np.mean(positive[frame[chosen.label] == 0]))


def every_method(X: Any, s: Any) -> list[Timed]:
    """Every registered method on the same rows; two cross-fits serve all that read scores."""
    from topbin.learn.classifiers import AlphaEstimator
    from topbin.mpe import METHODS, estimate_alpha

    ranked, probable = AlphaEstimator().fit(X, s), AlphaEstimator("elkan_noto").fit(X, s)
    rows = []
    for name, method in METHODS.items():
        start = perf_counter()
        if method.needs == "features":
            estimate = AlphaEstimator(name).fit(X, s).estimate_
        else:
            scored = ranked if method.needs == "tails" else probable
            estimate = estimate_alpha(scored.evidence_, method=name)
        rows.append(Timed(estimate, round(perf_counter() - start, 3)))
    return rows


def as_table(rows: list[Timed], truth: float) -> Table:
    """One line per method, with the truth in the title.

    The interval is what the counts allow, whatever the method. A point outside is marked: moving
    an end to it would say that the counts allow more.
    """
    table = Table(title=f"α by method; truth {truth:.3f}", title_justify="left")
    for column in ("method", "α", "95 % interval", "error", "seconds"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for row in rows:
        est = row.estimate
        interval = "–" if est.interval is None else "{:.3f} – {:.3f}".format(*est.interval)
        figures = f"{est.alpha - truth:+.3f}", f"{row.seconds:.1f}"
        point = f"{est.alpha:.3f}{' *' * row.is_outside}"
        table.add_row(est.method, point, interval, *figures)
    if any(row.is_outside for row in rows):
        table.caption = "* outside the interval that the counts allow"
        table.caption_justify = "left"
    return table


def save_pictures(classifier: Any, output: Path) -> list[Path]:
    """Both pictures, as files."""
    import matplotlib

    from topbin.core.atomic import new_file
    from topbin.show import ScoreDisplay, TopBinDisplay

    matplotlib.use("Agg")
    both = TopBinDisplay.from_estimator(classifier), ScoreDisplay.from_estimator(classifier)
    paths = [output / "top_bin.png", output / "scores.png"]
    for display, path in zip(both, paths, strict=True):
        with new_file(path, force=True) as part:
            display.figure_.savefig(part, dpi=150, format="png")
    return paths
