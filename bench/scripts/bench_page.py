"""Write the tables of the benchmark from its committed rows.

    python bench/scripts/bench_page.py [folder of results]

The full tables go to bench/results/paper_*.md. The short ones go between the markers of
docs/results.md, whose other lines are written by hand, and its figures to docs/images/results.
"""

import sys
from collections.abc import Callable

import pandas as pd
from report import RESULTS, ROOT

from topbin.mpe import METHODS
from topbin_bench.figures import draw_all
from topbin_bench.forms import Grid
from topbin_bench.grid import Cell, grid
from topbin_bench.results import caption, finished, of_tasks, read_rows
from topbin_bench.store import Store
from topbin_bench.tables import as_printed, by_alpha, compare, means_by_alpha, wide
from topbin_bench.tasks import FAMILIES
from topbin_bench.verdicts import against_best, coverage, early_stops, natural

PAGE, IMAGES = ROOT / "docs" / "results.md", ROOT / "docs" / "images" / "results"
FIGURES = ("alpha_error", "memorizing", "coverage")
UCI, MNIST, CIFAR, IMDB = (
    [task.name for task in FAMILIES[name]] for name in ("uci", "mnist", "cifar", "imdb")
)
# The committed cells were run with 0.2, whose default read BBE: they have no column of overlap yet.
RIVALS = [name for name in METHODS if name != "overlap"]
ALPHA = ["tedn", "topbin", *RIVALS]
CLASSIFIERS = ["pvu", "dedpul", "nnpu", "upu"]
ACCURACY = ["tedn", "topbin", "cvir", "pvu", "dedpul", "nnpu"]
ACCURACY_AT_HALF = ["tedn", "topbin", "cvir", *CLASSIFIERS]
CEILING = ["nnpu", "pvn", "cvir", "tedn"]
IMAGE_METHODS = ["tedn", "cvir", "pvu", "nnpu", "dedpul", "bbe"]
# The plan: tasks, profile, methods (none: all), α (none: those of the task), splits.
AGENDA: list[tuple[str, str, list[str], list[float], int]] = [
    ("uci", "paper", [], [], 10),
    ("uci", "paper", ["tedn-auto"], [0.5], 10),
    ("uci", "paper", ["tedn-w0", "tedn-w10", "tedn-w50"], [0.5], 3),
    ("mnist", "cpu", [], [0.5], 3),
    ("mnist", "cpu", ["tedn", "cvir"], [0.2, 0.8], 3),
    ("imdb", "cpu", [], [0.5], 3),
    ("cifar", "cpu", IMAGE_METHODS, [0.5], 1),
    ("cifar", "cpu-allconv", IMAGE_METHODS, [0.5], 1),
    ("cifar_dog_cat", "fast", [], [0.5], 5),
    ("cifar_dog_cat", "fast", ["tedn", "cvir"], [0.2, 0.8], 3),
    ("binarized_cifar", "fast", [], [0.5], 3),
    ("gsec", "paper", [], [], 10),
]


def text(title: str, table: Grid) -> str:
    """A titled table; nothing if it is empty."""
    head = f"{title}\n\n" if title else ""
    return f"{head}{table.render('markdown')}\n" if table.rows else ""


# ---------------------------------------------------------------- the full tables


def uci(rows: pd.DataFrame) -> str:
    here = of_tasks(rows, UCI)
    both = of_tasks(rows, [*UCI, *MNIST])
    return (
        text("## Error of α̂, last epochs, on the same splits", wide(here, "alpha_error", ALPHA))
        + text("## Accuracy in percent, last epochs, on the same splits",
               wide(here, "accuracy", ACCURACY))
        + text("## Scott against BBE, on the same scores",
               wide(both, "alpha_error", ["bbe", "bbe_cp", "scott"]))
        + text("The paper's numbers (* with an oracle stop):",
               as_printed("MPE_scott", MNIST, ["tedn", "bbe", "dedpul", "scott"]))
        + "## Every method\n\n" + every_method(here)
    )  # fmt: skip


def every_method(rows: pd.DataFrame) -> str:
    return (
        "".join(f"- {line}\n" for line in caption(rows).splitlines())
        + text("\nError of α̂:", compare(rows, "alpha_error"))
        + text("Accuracy in percent:", compare(rows, "accuracy"))
    )


def verdicts(rows: pd.DataFrame) -> str:
    return (
        "Methods are compared on the splits that all of them have. The difference is paired; "
        "*tied* means that Student's t cannot distinguish it from zero at 95 %.\n\n"
        + text("Error of α̂: (TED)ⁿ against the best of the other methods, without our default.",
               against_best(rows, "alpha_error", ["tedn"], RIVALS))
        + text("Error of α̂: our default against the best of all methods, (TED)ⁿ included.",
               against_best(rows, "alpha_error", ["topbin"], ["tedn", *RIVALS]))
        + text("Accuracy in percent: the better of CVIR and (TED)ⁿ against the best of the other "
               "methods, without our default.",
               against_best(rows, "accuracy", ["cvir", "tedn"], CLASSIFIERS))
        + text("Accuracy in percent: our default, which is not told α, against the best of all "
               "methods, most of which are told α.",
               against_best(rows, "accuracy", ["topbin"], ["cvir", "tedn", *CLASSIFIERS]))
    )  # fmt: skip


def alphas(rows: pd.DataFrame) -> str:
    here = rows[(rows["alpha"] != 0.5) & rows["alpha"].notna()]
    tables, digits = of_tasks(here, UCI), of_tasks(here, MNIST)
    estimators = ["tedn", "topbin", "bbe", "dedpul", "km2", "tice"]
    return (
        text("Error of α̂ on the UCI tables:", by_alpha(tables, "alpha_error", estimators))
        + text("Accuracy in percent on the UCI tables:",
               by_alpha(tables, "accuracy", ["tedn", "topbin", "cvir", "pvu", "dedpul"]))
        + text("Error of α̂ on MNIST:", by_alpha(digits, "alpha_error", ["tedn", "topbin"]))
        + text("Accuracy in percent on MNIST:",
               by_alpha(digits, "accuracy", ["tedn", "cvir", "topbin"]))
    )  # fmt: skip


def stops(rows: pd.DataFrame) -> str:
    tasks = set(rows[rows["method"] == "pvn"]["task"])
    return (
        text("## Early stopping\n\nAccuracy of PvU in percent: at its lowest loss on unseen P and "
             "U, at its best epoch by true labels, and at the end.", early_stops(rows))
        + text("## nnPU against true negatives\n\nAccuracy in percent, last epochs; PvN is shown "
               "true negatives.", wide(rows[rows["task"].isin(tasks)], "accuracy", CEILING))
        + text("The paper's numbers:", as_printed("pn_classification", sorted(tasks), CEILING))
    )  # fmt: skip


def agenda() -> dict[str, Cell]:
    """Every cell of the plan, by its key."""
    return {
        cell.key: cell
        for name, profile, methods, alphas, seeds in AGENDA
        for cell in grid([name], profile, methods=methods, alphas=alphas, seeds=seeds)
    }


def commands() -> str:
    """The plan as commands, one per line."""
    lines = []
    for name, profile, methods, alphas, seeds in AGENDA:
        words = [f"topbin-bench run {name} --profile {profile} --seeds {seeds} --jobs 2"]
        words += [f"--method {','.join(methods)}"] if methods else []
        lines.append(" ".join([*words, *(f"--alpha {alpha:g}" for alpha in alphas)]))
    return "\n".join(["```", *lines, "```"]) + "\n"


def counted(cells: pd.DataFrame) -> Grid:
    """How many splits each method has; one line for all α with the same counts."""
    said: dict[tuple[str, str, str], list[str]] = {}
    groups = cells.groupby(["task", "profile", "alpha"], sort=False, dropna=False)
    for (task, profile, alpha), group in groups:
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
    """The cells of the plan that have no result."""
    there = set(rows["key"])
    left = [cell for key, cell in agenda().items() if key not in there]
    columns = ["task", "profile", "alpha", "method", "seed"]
    frame = pd.DataFrame([[getattr(c, name) for name in columns] for c in left], columns=columns)
    return counted(frame)


def cells(rows: pd.DataFrame) -> str:
    return (
        "A cell is (task, method, α, split).\n\n"
        + text("## Cells with a result", counted(rows))
        + text("## Cells of the plan without a result", not_run(rows))
        + f"## The plan as commands\n\nEach command skips the cells that have a result.\n\n"
        f"{commands()}"
    )


FILES: dict[str, tuple[str, Callable[[pd.DataFrame], str]]] = {
    "paper_verdicts": ("Which method is best, split by split", verdicts),
    "paper_uci": ("Five UCI tables, α = .5", uci),
    "paper_alphas": ("Other α", alphas),
    "paper_mnist": ("MNIST, narrower nets", lambda rows: every_method(of_tasks(rows, MNIST))),
    "paper_imdb": ("IMDb as TF-IDF", lambda rows: every_method(of_tasks(rows, IMDB))),
    "paper_cifar": (
        "CIFAR-10: the fast net, and narrow nets with few epochs",
        lambda rows: every_method(of_tasks(rows, CIFAR)),
    ),
    "paper_gsec": (
        "γ-secretase substrates: nobody knows α, so there are answers but no errors",
        lambda rows: text("", natural(rows)),
    ),
    "paper_stops": ("Early stopping, and true negatives", stops),
    "paper_cells": ("What was run, and what was not", cells),
}  # fmt: skip


def full(name: str, rows: pd.DataFrame) -> str:
    """The text of one file of full tables."""
    title, body = FILES[name]
    source = "From `bench/results/bench/*.parquet`, by `python bench/scripts/bench_page.py`."
    return f"# {title}\n\n{source}\n\n{body(rows).rstrip()}\n"


# ---------------------------------------------------------------- the short page


def overall_rivals() -> str:
    """The first table of rivals.md."""
    _, _, after = (RESULTS / "rivals.md").read_text().partition("| α |")
    return "| α |" + after.partition("\n\n")[0] + "\n"


def others(rows: pd.DataFrame, measure: str, methods: list[str]) -> Grid:
    """Tasks other than the tables, each method on all of its splits; without their mean."""
    here = of_tasks(rows, [*MNIST, *IMDB, *CIFAR])
    found = wide(here, measure, methods, paired=False)
    return Grid(found.header, tuple(line for line in found.rows if line[0] != "mean"))


def short_alphas(rows: pd.DataFrame) -> Grid:
    """Means over the five tables by α: errors of some methods, then accuracies."""
    tables = of_tasks(rows, UCI)
    error = means_by_alpha(tables, "alpha_error", ["tedn", "topbin", "bbe", "dedpul", "km1", "km2"])
    right = means_by_alpha(tables, "accuracy", ACCURACY)
    lines = [(f"error of α̂, {name}", *cells) for name, *cells in error.rows]
    lines += [(f"accuracy, {name}", *cells) for name, *cells in right.rows]
    return Grid(error.header, tuple(lines))


def short_verdicts(rows: pd.DataFrame) -> Grid:
    """Our default against the best of all other methods, both measures in one line per task."""
    error = against_best(rows, "alpha_error", ["topbin"], ["tedn", *RIVALS]).rows
    right = against_best(rows, "accuracy", ["topbin"], ["cvir", "tedn", *CLASSIFIERS]).rows
    header = ("task", "error", "best other", "", "verdict", "accuracy", "best other", "", "verdict")
    lines = [
        (a[0], a[2], a[3], a[4], a[7], b[2], b[3], b[4], b[7])
        for a, b in zip(error, right, strict=True)
    ]
    return Grid(header, tuple(lines))


BLOCKS: dict[str, Callable[[pd.DataFrame], str]] = {
    "alphas": lambda rows: text("", short_alphas(rows)),
    "uci": lambda rows: (
        text("Error of α̂:", wide(of_tasks(rows, UCI), "alpha_error", ALPHA))
        + text("Accuracy in percent:", wide(of_tasks(rows, UCI), "accuracy", ACCURACY_AT_HALF))
    ),
    "others": lambda rows: (
        text("Error of α̂:", others(rows, "alpha_error", ALPHA))
        + text("Accuracy in percent:", others(rows, "accuracy", ACCURACY_AT_HALF))
    ),
    "verdicts": lambda rows: text("", short_verdicts(rows)),
    "coverage": lambda rows: text("", coverage(rows)),
    "rivals": lambda _rows: overall_rivals(),
}


def put(page: str, name: str, body: str) -> str:
    """The page with the block of this name replaced."""
    start, end = f"<!-- {name} -->\n", "<!-- end -->"
    if page.count(start) != 1:
        sys.exit(f"{PAGE} must have exactly one line {start.strip()}")
    before, after = page.split(start)
    return before + start + body.rstrip("\n") + "\n" + end + after.split(end, 1)[1]


def main() -> None:
    store = Store(sys.argv[1] if len(sys.argv) > 1 else RESULTS / "bench")
    rows = finished(read_rows(store))
    for name in FILES:
        (RESULTS / f"{name}.md").write_text(full(name, rows))
    page = PAGE.read_text()
    for name, block in BLOCKS.items():
        page = put(page, name, block(rows))
    PAGE.write_text(page)
    for path in draw_all(store, IMAGES, FIGURES):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
