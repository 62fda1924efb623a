"""`topbin demo`: hide the labels of real data, estimate α by every method, show the truth."""

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

LABELED = 100


@click.command(epilog="Exit codes: 0 done, 1 failed, 2 wrong use.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), default=Path("demo"),
    show_default=True, help="Folder for the pictures and the numbers.",
)  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Which positives are labeled.")
@click.option("--json", "as_json", is_flag=True, help="Only JSON on standard output.")
def demo(output: Path, seed: int, as_json: bool) -> None:
    """The main job on real data, with the truth shown beside.

    569 breast tumours from scikit-learn, 212 of them malignant. We label 100 malignant ones, hide
    every other label, and ask how many of the 469 unlabeled are malignant.

    \b
      topbin demo
      topbin demo --seed 7 --json
    """
    X, s, truth = hide_labels(seed)
    screen = Console(stderr=as_json)
    screen.print(f"[bold]100 known malignant tumours, {int((s == 0).sum())} unlabeled.[/bold]")
    rows, answer = run(X, s, truth)
    screen.print(as_table(rows, truth))
    screen.print(answer.summary(), highlight=False)
    screen.print(f"truth           {truth:.3f} of the unlabeled are malignant")
    for path in draw(answer, output):
        screen.print(f"wrote           {path}", highlight=False, soft_wrap=True)
    if as_json:
        click.echo(json.dumps({"truth": truth, "methods": rows}, indent=2))


def hide_labels(seed: int) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Features, labels with 100 malignant rows left known, and the hidden share."""
    from sklearn.datasets import load_breast_cancer

    X, benign = load_breast_cancer(return_X_y=True)
    malignant = np.flatnonzero(benign == 0)
    s = np.zeros(benign.size, int)
    s[np.random.default_rng(seed).choice(malignant, LABELED, replace=False)] = 1
    return X, s, float(np.mean(benign[s == 0] == 0))


def run(X: NDArray[Any], s: NDArray[Any], truth: float) -> tuple[list[dict[str, Any]], Any]:
    """Every registered method on the same rows, and the fitted default among them."""
    from topbin.mpe import DEFAULT_METHOD, METHODS, AlphaEstimator

    rows, fitted = [], {}
    for name in METHODS:
        start = perf_counter()
        fitted[name] = AlphaEstimator(name).fit(X, s)
        found = fitted[name].estimate_.to_dict()
        seconds = perf_counter() - start
        rows.append({**found, "error": found["alpha"] - truth, "seconds": round(seconds, 3)})
    return rows, fitted[DEFAULT_METHOD]


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
