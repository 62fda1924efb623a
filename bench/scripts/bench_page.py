"""Put the benchmark's tables and figures into docs/results.md, between its markers.

    python bench/scripts/bench_page.py [folder of results]

Numbers come from results/bench/*.parquet, rivals.md and imdb_encoder.md; the words outside the
markers are written by hand and left alone. A section without results is left empty.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from topbin_bench.figures import draw_all, finished
from topbin_bench.forms import Grid
from topbin_bench.grid import Cell, grid
from topbin_bench.store import Store
from topbin_bench.tables import (
    NET_MARK,
    as_printed,
    by_alpha,
    caption,
    compare,
    in_order,
    labelled,
    wide,
)
from topbin_bench.tasks import FAMILIES
from topbin_bench.verdicts import against_best, early_stops, natives

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results"
PAGE, IMAGES = ROOT / "docs" / "results.md", ROOT / "docs" / "images" / "results"
UCI, MNIST, CIFAR = ([task.name for task in FAMILIES[f]] for f in ("uci", "mnist", "cifar"))
ALPHA = [
    "tedn", "topbin", "bbe", "bbe_cp", "dedpul", "alphamax", "elkan_noto", "scott", "km1", "km2",
    "tice",
]  # fmt: skip
BY_ALPHA = ["tedn", "topbin", "bbe", "dedpul", "km2", "tice"]
ACCURACY = ["tedn", "topbin", "cvir", "pvu", "dedpul", "nnpu"]
CEILING = ["nnpu", "pvn", "cvir", "tedn"]
IMAGE_METHODS = ["tedn", "cvir", "pvu", "nnpu", "dedpul", "bbe"]
# What this benchmark means to run; what of it has no result is said on the page.
AGENDA: list[tuple[list[str], str, list[str], list[float], int]] = [
    (["uci"], "paper", [], [], 10),
    (["uci"], "paper", ["tedn-auto"], [0.5], 10),
    (["uci"], "paper", ["tedn-w0", "tedn-w10", "tedn-w50"], [0.5], 3),
    (["mnist"], "cpu", [], [0.5], 3),
    (["mnist"], "cpu", ["tedn", "cvir"], [0.2, 0.8], 3),
    (["imdb"], "cpu", [], [0.5], 3),
    (["cifar"], "cpu", IMAGE_METHODS, [0.5], 1),
    (["cifar"], "cpu-allconv", IMAGE_METHODS, [0.5], 1),
    (["gsec"], "paper", [], [], 10),
]


def agenda() -> dict[str, Cell]:
    """Every cell that the benchmark means to run, by its key."""
    return {
        cell.key: cell
        for names, profile, methods, alphas, seeds in AGENDA
        for cell in grid(names, profile, methods=methods, alphas=alphas, seeds=seeds)
    }


def commands() -> str:
    """The agenda as commands, a line each."""
    lines = []
    for names, profile, methods, alphas, seeds in AGENDA:
        words = ["topbin bench run", *names, f"--profile {profile}", f"--seeds {seeds}"]
        words += [f"--method {','.join(methods)}"] if methods else []
        words += [f"--alpha {alpha:g}" for alpha in alphas]
        lines.append(" ".join([*words, "--jobs 2 -o bench/results/bench"]))
    return "\n".join(["```", *lines, "```"]) + "\n"


def counted(cells: pd.DataFrame) -> Grid:
    """How many splits each method has, lines that say the same of several α put together."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for (task, profile, alpha), group in cells.groupby(
        ["task", "profile", "alpha"], sort=False, dropna=False
    ):
        counts = group.groupby("method", sort=False)["seed"].nunique()
        texts = [
            f"{n}: {', '.join(counts.index[counts == n])}"
            for n in sorted(set(counts), reverse=True)
        ]
        shown = "unknown" if pd.isna(alpha) else f"{alpha:g}"
        said.setdefault((str(task), str(profile), "; ".join(texts)), []).append(shown)
    lines = ((task, profile, ", ".join(a), text) for (task, profile, text), a in said.items())
    return Grid(("task", "profile", "α", "splits: methods"), tuple(lines))


def not_run(rows: pd.DataFrame) -> Grid:
    """The cells of the agenda that have no result."""
    left = [cell for key, cell in agenda().items() if key not in set(rows["key"])]
    columns = ["task", "profile", "alpha", "method", "seed"]
    frame = pd.DataFrame([[getattr(c, name) for name in columns] for c in left], columns=columns)
    return counted(frame)


def of(rows: pd.DataFrame, tasks: list[str]) -> pd.DataFrame:
    """The rows of these tasks, whatever their net."""
    return rows[rows["task"].str.split(NET_MARK).str[0].isin(tasks)]


def text(title: str, table: Grid) -> str:
    """A titled table; nothing if it is empty."""
    head = f"{title}\n\n" if title else ""
    return f"{head}{table.render('markdown')}\n" if table.rows else ""


def picture(name: str, about: str) -> str:
    return f"![{about}](images/results/{name}.png)\n\n" if (IMAGES / f"{name}.png").exists() else ""


def uci(rows: pd.DataFrame) -> str:
    here = of(rows, UCI)
    return (
        text("### Error of α̂, last epochs, on the same splits", wide(here, "alpha_error", ALPHA))
        + text("### Our default beside (TED)ⁿ, on all splits that both have",
               wide(here, "alpha_error", ["tedn", "topbin"]))
        + text("### Accuracy in per cent, last epochs, on the same splits",
               wide(here, "accuracy", ACCURACY))
        + text("### Scott against BBE, on the same scores",
               wide(of(rows, [*UCI, *MNIST]), "alpha_error", ["bbe", "bbe_cp", "scott"]))
        + text("The paper's (* at an oracle's stop):",
               as_printed("MPE_scott", MNIST, ["tedn", "bbe", "dedpul", "scott"]))
        + picture("scott", "Scott against BBE, a dot a split")
    )  # fmt: skip


def verdicts(rows: pd.DataFrame) -> str:
    others = [m for m in ALPHA if m not in ("tedn", "topbin")]
    told = ["pvu", "dedpul", "nnpu", "upu"]
    return (
        text("Error of α̂: (TED)ⁿ against the best of the other methods (our default apart).",
             against_best(rows, "alpha_error", ["tedn"], others))
        + text("Error of α̂: our default against the best of all methods, (TED)ⁿ among them.",
               against_best(rows, "alpha_error", ["topbin"], ["tedn", *others]))
        + text("Accuracy in per cent: the better of CVIR and (TED)ⁿ against the best of the other "
               "methods (our default apart).",
               against_best(rows, "accuracy", ["cvir", "tedn"], told))
        + text("Accuracy in per cent: our default, which is not told α, against the best of all "
               "methods, most of which are.",
               against_best(rows, "accuracy", ["topbin"], ["cvir", "tedn", *told]))
    )  # fmt: skip


def both_measures(rows: pd.DataFrame, tasks: list[str]) -> str:
    here = of(rows, tasks)
    return (
        "\n".join(f"- {line}" for line in caption(here).splitlines())
        + text("\n\nError of α̂:", compare(here, "alpha_error"))
        + text("\nAccuracy in per cent:", compare(here, "accuracy"))
    )


def alphas(rows: pd.DataFrame) -> str:
    here = rows[(rows["alpha"] != 0.5) & rows["alpha"].notna()]
    return (
        text("Error of α̂ on the UCI tables:", by_alpha(of(here, UCI), "alpha_error", BY_ALPHA))
        + text("Accuracy in per cent on the UCI tables:",
               by_alpha(of(here, UCI), "accuracy", ["tedn", "topbin", "cvir", "pvu", "dedpul"]))
        + text("Error of α̂ on MNIST:", by_alpha(of(here, MNIST), "alpha_error", ["tedn", "topbin"]))
        + text("Accuracy in per cent on MNIST:",
               by_alpha(of(here, MNIST), "accuracy", ["tedn", "cvir", "topbin"]))
        + picture("by_alpha", "Error of α̂ and accuracy by α")
    )  # fmt: skip


def committed(name: str) -> Callable[[pd.DataFrame], str]:
    """The body of another result, its headings one level down."""

    def body(_rows: pd.DataFrame) -> str:
        path = RESULTS / name
        if not path.exists():
            return ""
        lines = path.read_text().split("\n", 1)[1].strip().splitlines()
        return "\n".join("#" + line if line.startswith("## ") else line for line in lines) + "\n"

    return body


# Headings of sections that may be empty stand in the section, so that they go with it.
TITLES = {
    "mnist": "## MNIST, narrower nets (profile `cpu`)",
    "imdb": "## IMDb, TF-IDF (profile `cpu`)",
    "encoder": "### IMDb with an encoder",
    "cifar": "## CIFAR-10, narrow nets and few epochs (profiles `cpu` and `cpu-allconv`)",
    "gsec": "## γ-secretase substrates: a PU problem by nature\n\nNobody knows α here, so there is "
    "no error, only what methods say.",
    "alphas": "## Other α",
    "rivals": "## Rivals from PyPI",
    "pvn": "## nnPU against true negatives\n\nAccuracy in per cent, last epochs; PvN is shown true "
    "negatives.",
    "early-stops": "## Early stopping\n\nPvU's accuracy in per cent, stopped where its loss on "
    "unseen P and U is lowest, at its best epoch by true labels, and at the end.",
    "warm-start": "The warm start: (TED)ⁿ after other numbers of epochs of PvU, on the splits that "
    "all have.",
}
SECTIONS: dict[str, Callable[[pd.DataFrame], str]] = {
    "ran": lambda rows: text("", counted(rows)),
    "commands": lambda _rows: commands(),
    "not-run": lambda rows: text("", not_run(rows)) or "Nothing is missing.\n",
    "verdicts": verdicts,
    "uci": uci,
    "overview": lambda _rows: (
        picture("alpha_error", "Error of every method on every task, beside the paper's")
        + picture("stops", "Accuracy at the last epochs, at the PU-validated stop, at the oracle's")
    ),
    "uci-all": lambda rows: both_measures(rows, UCI),
    "alphas": alphas,
    "mnist": lambda rows: both_measures(rows, MNIST),
    "imdb": lambda rows: both_measures(rows, ["imdb"]),
    "encoder": committed("imdb_encoder.md"),
    "cifar": lambda rows: both_measures(rows, CIFAR),
    "gsec": lambda rows: text("", natives(rows)),
    "rivals": committed("rivals.md"),
    "pvn": lambda rows: (
        text("", wide(rows[rows["task"].isin(with_pvn(rows))], "accuracy", CEILING))
        + text("The paper's:", as_printed("pn_classification", sorted(with_pvn(rows)), CEILING))
    ),
    "early-stops": lambda rows: text("", early_stops(rows)),
    "epochs": lambda _rows: picture("by_epoch", "α̂ and accuracy of all methods by epoch"),
    "memorising": lambda _rows: picture("memorising", "Scores of the training U by epoch"),
    "top-bin": lambda _rows: (
        picture("top_bin_by_epoch", "Purity and size of the top bin by epoch")
        + picture("top_bin", "The ratio against the size of the top bin, with the band of lemma 1")
    ),
    "gamma": lambda _rows: picture("gamma", "α̂ by γ"),
    "warm-start": lambda _rows: picture("warm_start", "Error of α̂ and accuracy by warm start"),
    "coverage": lambda _rows: picture("coverage", "95 % intervals of every split"),
    "triangles": lambda _rows: picture("triangles", "Two triangles"),
}  # fmt: skip


def with_pvn(rows: pd.DataFrame) -> set[str]:
    return set(rows[rows["method"] == "pvn"]["task"])


def put(page: str, name: str, body: str) -> str:
    """The page with the block of this name replaced."""
    start, end = f"<!-- {name} -->\n", "<!-- end -->"
    if page.count(start) != 1:
        sys.exit(f"{PAGE} must have one place marked {start.strip()}")
    before, after = page.split(start)
    if body and name in TITLES:
        body = f"{TITLES[name]}\n\n{body}"
    body = body.rstrip("\n") + "\n" if body else ""
    return before + start + body + end + after.split(end, 1)[1]


def figures(store: Store) -> Iterator[Path]:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for old in IMAGES.glob("*.png"):  # what is no longer drawn must not be shown
        old.unlink()
    yield from draw_all(store, IMAGES)


def main() -> None:
    store = Store(sys.argv[1] if len(sys.argv) > 1 else RESULTS / "bench")
    for path in figures(store):
        print(path.relative_to(ROOT))
    rows = in_order(labelled(finished(store.current())))
    page = PAGE.read_text()
    for name, section in SECTIONS.items():
        page = put(page, name, section(rows))
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
