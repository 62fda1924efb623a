"""`topbin demo`: hide the labels of real data, estimate α by every method, show the truth."""

from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from topbin.cli.verb import Grouped, Verb, screen, write_json

LABELED = 100


@click.command(cls=Verb)
@click.option(
    "--seed",
    cls=Grouped,
    group="Data",
    default=0,
    show_default=True,
    help="Which malignant tumours are labeled.",
)
@click.option(
    "-o",
    "--output",
    cls=Grouped,
    group="Output",
    default=Path("demo"),
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the two pictures.",
)
@click.option(
    "--json", "as_json", cls=Grouped, group="Output", is_flag=True,
    help="Only JSON on standard output.",
)  # fmt: skip
def demo(output: Path, seed: int, as_json: bool) -> None:
    """The main job on real data, with the truth shown beside.

    569 breast tumours from scikit-learn, 212 of them malignant. We label 100 malignant ones, hide
    every other label, and ask how many of the 469 unlabeled are malignant.

    \b
      topbin demo
      topbin demo --seed 7 --json
    """
    X, s, truth = hide_labels(seed)
    show = screen(as_json)
    show.print(f"[bold]100 known malignant tumours, {int((s == 0).sum())} unlabeled.[/bold]")
    rows, answer = run(X, s, truth)
    show.print(as_table(rows, truth))
    show.print(answer.summary(), soft_wrap=True)
    show.print(f"truth           {truth:.3f} of the unlabeled are malignant")
    for path in draw(answer, output):
        show.print(f"wrote           {path}", soft_wrap=True)
    if as_json:
        write_json({"truth": truth, "methods": rows})


def hide_labels(seed: int) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Features, labels with 100 malignant rows left known, and the hidden share."""
    from sklearn.datasets import load_breast_cancer

    X, benign = load_breast_cancer(return_X_y=True)
    malignant = np.flatnonzero(benign == 0)
    s = np.zeros(benign.size, int)
    s[np.random.default_rng(seed).choice(malignant, LABELED, replace=False)] = 1
    return X, s, float(np.mean(benign[s == 0] == 0))


def run(X: NDArray[Any], s: NDArray[Any], truth: float) -> tuple[list[dict[str, Any]], Any]:
    """Every registered method on the same rows; two cross-fits serve all that read scores."""
    from topbin.mpe import METHODS, AlphaEstimator, estimate_alpha

    ranked, probable = AlphaEstimator().fit(X, s), AlphaEstimator("elkan_noto").fit(X, s)
    rows = []
    for name, method in METHODS.items():
        start = perf_counter()
        if method.needs == "features":
            found = AlphaEstimator(name).fit(X, s).estimate_
        else:
            scored = ranked if method.needs == "tails" else probable
            found = estimate_alpha(scored.scores_p_, scored.scores_u_, method=name)
        row = {**found.to_dict(), "error": found.alpha - truth}
        rows.append({**row, "seconds": round(perf_counter() - start, 3)})
    return rows, ranked


def as_table(rows: list[dict[str, Any]], truth: float) -> Table:
    """A line a method, the truth in the title."""
    table = Table(title=f"α by method; truth {truth:.3f}", title_justify="left")
    for column in ("method", "α", "95 % interval", "error", "seconds"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for row in rows:
        shown = "–" if row["interval"] is None else "{:.3f} – {:.3f}".format(*row["interval"])
        table.add_row(
            row["method"],
            f"{row['alpha']:.3f}",
            shown,
            f"{row['error']:+.3f}",
            f"{row['seconds']:.1f}",
        )
    return table


def draw(answer: Any, output: Path) -> list[Path]:
    """Both pictures of the default method."""
    import matplotlib as mpl

    mpl.use("Agg")
    from topbin.plots import ScoreDisplay, TopBinDisplay

    output.mkdir(parents=True, exist_ok=True)
    paths = [output / "top_bin.png", output / "scores.png"]
    for display, path in zip((TopBinDisplay, ScoreDisplay), paths, strict=True):
        display.from_estimator(answer).plot().figure_.savefig(path, dpi=150)
    return paths
