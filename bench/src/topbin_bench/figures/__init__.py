"""The figures of the benchmark: each is a function of a table that returns a picture or None."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from topbin_bench.figures.epochs import by_epoch, top_bin_by_epoch
from topbin_bench.figures.panels import save
from topbin_bench.figures.scores import gamma, memorising, top_bin
from topbin_bench.figures.summaries import by_alpha, coverage, errors, scott, stops, warm_start
from topbin_bench.figures.triangles import triangles
from topbin_bench.store import DONE, Store
from topbin_bench.tables import in_order, labelled

FROM_ROWS: dict[str, Callable[..., Any]] = {
    "alpha_error": errors,
    "stops": stops,
    "by_alpha": by_alpha,
    "warm_start": warm_start,
    "scott": scott,
    "coverage": coverage,
}
FROM_CURVES = {"by_epoch": by_epoch, "top_bin_by_epoch": top_bin_by_epoch}
FROM_SCORES = {"top_bin": top_bin, "memorising": memorising, "gamma": gamma}


def draw_all(store: Store, folder: Path) -> Iterator[Path]:
    """Draw what there is data for, and yield each file written.

    Smoke results mean nothing, so they are drawn only where there are no others.
    """
    rows = in_order(labelled(finished(store.current())))
    curves, scores = store.frame("curves"), store.frame("scores")
    if len(curves):
        curves = rows[["key", "task", "alpha", "seed"]].merge(curves, on="key")
    if len(scores):
        named = rows[["key", "task"]].merge(scores.drop(columns="task"), on="key")
        scores = one_model(named)
    tables = ((FROM_ROWS, rows), (FROM_CURVES, curves), (FROM_SCORES, scores))
    for figures, table in tables:
        for name, draw in figures.items():
            figure = draw(table) if len(table) else None
            if figure is not None:
                yield save(figure, folder / f"{name}.png")
    yield save(triangles(), folder / "triangles.png")


def finished(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with a result; those of the smoke profile only where there are no others."""
    rows = rows[rows["status"] == DONE] if len(rows) else rows
    if len(rows) and not (rows["profile"] == "smoke").all():
        rows = rows[rows["profile"] != "smoke"]
    return rows


def one_model(scores: pd.DataFrame) -> pd.DataFrame:
    """Of each task and trainer one model: parts of a job that were run apart are the same."""
    return scores[scores["key"] == scores.groupby(["task", "trainer"])["key"].transform("first")]
