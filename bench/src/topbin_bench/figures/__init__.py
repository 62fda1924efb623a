"""The figures of the benchmark: each is a function from a table to a figure or None."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from topbin_bench.figures.epochs import by_epoch, top_bin_by_epoch
from topbin_bench.figures.scores import gamma, memorizing, top_bin
from topbin_bench.figures.summaries import by_alpha, coverage, errors, scott, stops, warm_start
from topbin_bench.figures.triangles import triangles
from topbin_bench.results import finished, in_task_order, with_nets
from topbin_bench.store import Store

FROM_ROWS: dict[str, Callable[..., Any]] = {
    "alpha_error": errors,
    "stops": stops,
    "by_alpha": by_alpha,
    "warm_start": warm_start,
    "scott": scott,
    "coverage": coverage,
}
FROM_CURVES = {"by_epoch": by_epoch, "top_bin_by_epoch": top_bin_by_epoch}
FROM_SCORES = {"top_bin": top_bin, "memorizing": memorizing, "gamma": gamma}


def draw_all(store: Store, folder: Path, names: tuple[str, ...] = ()) -> Iterator[Path]:
    """Draw every figure that the results allow, or these, and yield each file written."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in _figures(store, names):
        if figure is not None:
            path = folder / f"{name}.png"
            figure.savefig(path, dpi=110, metadata={"Software": None})
            yield path


def _figures(store: Store, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    rows = in_task_order(with_nets(finished(store.current())))
    curves, scores = store.frame("curves"), store.frame("scores")
    if len(curves):
        curves = rows[["key", "task", "alpha", "seed"]].merge(curves, on="key")
    if len(scores):
        scores = one_model(rows[["key", "task"]].merge(scores.drop(columns="task"), on="key"))
    tables = ((FROM_ROWS, rows), (FROM_CURVES, curves), (FROM_SCORES, scores))
    for figures, table in tables:
        for name, draw in figures.items():
            if len(table) and (not names or name in names):
                yield name, draw(table)
    if not names or "triangles" in names:
        yield "triangles", triangles()


def one_model(scores: pd.DataFrame) -> pd.DataFrame:
    """One model per task and trainer: parts of a job that ran separately have the same model."""
    return scores[scores["key"] == scores.groupby(["task", "trainer"])["key"].transform("first")]
