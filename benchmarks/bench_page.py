"""Put the benchmark's tables and figures into docs/results.md, between its markers.

    python benchmarks/bench_page.py

Numbers come from results/bench/*.parquet; the words around them are written by hand.
"""

import sys
from pathlib import Path

import pandas as pd

from topbin.bench.figures import draw_all
from topbin.bench.store import DONE, Store
from topbin.bench.tables import Grid, by_alpha, compare, wide

ROOT = Path(__file__).parents[1]
PAGE, IMAGES = ROOT / "docs" / "results.md", ROOT / "docs" / "images" / "results"
UCI = ["concrete", "mushroom", "landsat", "pageblock", "spambase"]
MNIST = ["mnist17", "binarized_mnist", "mnist_overlap"]
ALPHA = ["tedn", "topbin", "bbe", "bbe_cp", "dedpul", "alphamax", "elkan_noto", "scott", "tice"]
BY_ALPHA = ["tedn", "topbin", "bbe", "dedpul", "tice"]
ACCURACY = ["tedn", "topbin", "cvir", "pvu", "dedpul"]


def ran(rows: pd.DataFrame) -> Grid:
    """How many splits each method has, by task, profile and α."""
    lines = []
    for (task, profile, alpha), cells in rows.groupby(["task", "profile", "alpha"], sort=False):
        counts = cells.groupby("method", sort=False)["seed"].nunique()
        groups = [
            f"{n}: {', '.join(counts.index[counts == n])}"
            for n in sorted(set(counts), reverse=True)
        ]
        lines.append((task, profile, f"{alpha:g}", "; ".join(groups)))
    return Grid(("task", "profile", "α", "splits: methods"), tuple(lines))


def tables(rows: pd.DataFrame) -> dict[str, Grid]:
    """Every table of the page by the name of its marker."""
    uci, mnist = rows[rows["task"].isin(UCI)], rows[rows["task"].isin(MNIST)]
    return {
        "ran": ran(rows),
        "uci-alpha": wide(uci, "alpha_error", ALPHA),
        "uci-accuracy": wide(uci, "accuracy", ACCURACY),
        "uci-default": wide(uci, "alpha_error", ["tedn", "topbin"]),
        "uci-scott": wide(uci, "alpha_error", ["bbe", "bbe_cp", "scott"]),
        "uci-pvn": wide(uci, "accuracy", ["nnpu", "pvn", "cvir", "tedn"]),
        "uci-alpha-all": compare(uci, "alpha_error"),
        "uci-accuracy-all": compare(uci, "accuracy"),
        "by-alpha": by_alpha(uci[uci["alpha"] != 0.5], "alpha_error", BY_ALPHA),
        "mnist-alpha": compare(mnist, "alpha_error"),
        "mnist-accuracy": compare(mnist, "accuracy"),
    }  # fmt: skip


def put(text: str, name: str, body: str) -> str:
    """The page with the block of this name replaced."""
    start, end = f"<!-- table {name} -->\n", "<!-- end -->"
    if text.count(start) != 1:
        sys.exit(f"{PAGE} must have one place for the table {name}")
    before, after = text.split(start)
    return before + start + body + end + after.split(end, 1)[1]


def main() -> None:
    store = Store(ROOT / "benchmarks" / "results" / "bench")
    rows = store.frame()
    rows = rows[rows["status"] == DONE].copy()
    rows["task"] = pd.Categorical(rows["task"], [*UCI, *MNIST])
    rows = rows.sort_values(["task", "alpha", "seed"]).assign(task=rows["task"].astype(str))
    text = PAGE.read_text()
    for name, table in tables(rows).items():
        text = put(text, name, table.render("markdown") if table.rows else "No results yet.\n")
    PAGE.write_text(text)
    for path in draw_all(store, IMAGES):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
