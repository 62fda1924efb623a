"""Write the tables of the benchmark from its committed rows.

    python bench/scripts/bench_page.py [folder of results]

The full tables go to bench/results/paper_*.md. The short ones go between the markers of
docs/results.md, whose other lines are written by hand, and its figures to docs/images/results.
"""

import sys
from collections.abc import Callable
from functools import partial

import pandas as pd
from report import RESULTS, ROOT

from topbin.mpe import METHODS
from topbin_bench.agenda import AGENDA, cpu_hours, everything
from topbin_bench.figures import draw_all
from topbin_bench.forms import Grid
from topbin_bench.methods import BY_BBE, DEFAULT, OLD_DEFAULT
from topbin_bench.paired import count, pairs_of, reasons, side_by_side
from topbin_bench.results import HALF, caption, finished, of_tasks, read_rows
from topbin_bench.store import Store
from topbin_bench.tables import as_printed, by_alpha, compare, means_by_alpha, wide
from topbin_bench.tasks import FAMILIES
from topbin_bench.verdicts import (
    against_best,
    against_each,
    against_paper,
    coverage,
    early_stops,
    natural,
)

PAGE, IMAGES = ROOT / "docs" / "results.md", ROOT / "docs" / "images" / "results"
FIGURES = ("alpha_error", "memorizing", "coverage")
UCI, MNIST, CIFAR, IMDB = (
    [task.name for task in FAMILIES[name]] for name in ("uci", "mnist", "cifar", "imdb")
)
# The posterior of PvU's nets is in the plan, but no cell of it has been run yet.
RIVALS = [name for name in METHODS if name != "overlap"]
OURS = [DEFAULT, BY_BBE]
ALPHA = ["tedn", *OURS, OLD_DEFAULT, *RIVALS]
CLASSIFIERS = ["pvu", "dedpul", "nnpu", "upu"]
ACCURACY = ["tedn", *OURS, OLD_DEFAULT, "cvir", "pvu", "dedpul", "nnpu"]
ACCURACY_AT_HALF = ["tedn", *OURS, OLD_DEFAULT, "cvir", *CLASSIFIERS]
CEILING = ["nnpu", "pvn", "cvir", "tedn"]
# The paper's tables in its own order, by the names that its source gives them.
PAPER_TABLES = {
    "MPE": "Table 1: error of α̂",
    "classification": "Table 2: accuracy in percent",
    "MPE_scott": "Table 3: Scott's estimator, error of α̂",
    "pn_classification": "Appendix: nnPU against true negatives, accuracy in percent",
    "early_stops": "Appendix, in its text: early stopping of PvU, accuracy in percent",
    "MPE_error_bar": "Appendix: error of α̂ with error bars",
    "classification_error_bar": "Appendix: accuracy in percent with error bars",
    "uci_MPE": "Appendix: five UCI tables, error of α̂",
    "uci_classification": "Appendix: five UCI tables, accuracy in percent",
    "mnist_MPE": "Appendix: MNIST Overlap, error of α̂",
    "mnist_classification": "Appendix: MNIST Overlap, accuracy in percent",
}


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
        + each(rows)
        + "## Against the paper\n\nThe paper's splits are not ours: our mean is compared with the "
        "number that it prints for (TED)ⁿ, as if that had no error.\n\n"
        + text("Error of α̂:", against_paper(rows, "alpha_error", ["tedn", DEFAULT]))
        + text("Accuracy in percent:", against_paper(rows, "accuracy", ["tedn", DEFAULT]))
    )  # fmt: skip


def each(rows: pd.DataFrame) -> str:
    """Our default against each other method, for every α of the tables."""
    found = "## Our default against each other method: on how many tasks\n\n"
    tables = of_tasks(rows, UCI)
    for alpha in sorted(tables["alpha"].unique()):
        here, where = (rows, "all tasks") if alpha == HALF else (tables, "the UCI tables")
        at = partial(against_each, here, alpha=alpha)
        others = [BY_BBE, OLD_DEFAULT, "tedn"]
        found += text(
            f"Error of α̂, α = {alpha:g}, {where}:", at("alpha_error", DEFAULT, [*others, *RIVALS])
        )
        found += text(
            f"Accuracy, α = {alpha:g}, {where}:",
            at("accuracy", DEFAULT, [*others, "cvir", *CLASSIFIERS]),
        )
    return found  # fmt: skip


def paper_tables(rows: pd.DataFrame) -> str:
    """Every table of the paper with our number in each cell."""
    pairs = pairs_of(rows)
    found = (
        f"{count(pairs)}.\n\nEach cell has the paper's number, then ours, with the same stop. "
        "Beside ResNet-18 is our fast net, beside BERT a net on TF-IDF, beside the wide MLP one of "
        "300 × 300 × 50; KM2 and TIcE read rows, not nets.\n\n"
    )
    for name, title in PAPER_TABLES.items():
        found += text(f"## {title}", side_by_side(rows, pairs, name))
    return found + text("## What is missing, and why", reasons(pairs))


def alphas(rows: pd.DataFrame) -> str:
    here = rows[(rows["alpha"] != 0.5) & rows["alpha"].notna()]
    tables, digits = of_tasks(here, UCI), of_tasks(here, MNIST)
    estimators = ["tedn", *OURS, OLD_DEFAULT, "bbe", "dedpul", "km2", "tice"]
    return (
        text("Error of α̂ on the UCI tables:", by_alpha(tables, "alpha_error", estimators))
        + text("Accuracy in percent on the UCI tables:",
               by_alpha(tables, "accuracy", ["tedn", *OURS, "cvir", "pvu", "dedpul"]))
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


def commands(rows: pd.DataFrame) -> str:
    """The plan as commands, one per line, and its cost."""
    hours, unknown = cpu_hours(everything(), rows)
    lines = ["```", *(item.command() for item in AGENDA), "```"]
    return (
        f"Each command skips the cells that have a result; `topbin-bench run everything` runs all. "
        f"From nothing that takes about {hours:.0f} CPU hours, as these fits took here; "
        f"{unknown} fits were never run.\n\n" + "\n".join(lines) + "\n"
    )


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
    left = [cell for cell in everything() if cell.key not in there]
    columns = ["task", "profile", "alpha", "method", "seed"]
    frame = pd.DataFrame([[getattr(c, name) for name in columns] for c in left], columns=columns)
    return counted(frame)


def cells(rows: pd.DataFrame) -> str:
    pairs = pairs_of(rows)
    return (
        "A cell is (task, method, α, split).\n\n"
        f"{count(pairs)} ([the tables](paper_tables.md)).\n\n"
        + text("## Numbers of the paper without ours", reasons(pairs))
        + text("## Cells with a result", counted(rows))
        + text("## Cells of the plan without a result", not_run(rows))
        + "## The plan as commands\n\n"
        + commands(rows)
    )


FILES: dict[str, tuple[str, Callable[[pd.DataFrame], str]]] = {
    "paper_tables": ("The paper's tables, with our numbers beside its own", paper_tables),
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
    """Tasks other than the tables, each method on all of its splits; without their mean.

    Photographs only with the fast net: the narrow nets, which are unfinished, are in paper_cifar.
    """
    fast = of_tasks(rows, CIFAR)["profile"] == "fast"
    here = pd.concat([of_tasks(rows, [*MNIST, *IMDB]), of_tasks(rows, CIFAR)[fast]])
    found = wide(here, measure, methods, paired=False)
    return Grid(found.header, tuple(line for line in found.rows if line[0] != "mean"))


def short_alphas(rows: pd.DataFrame) -> Grid:
    """Means over the five tables by α: errors of some methods, then accuracies."""
    tables = of_tasks(rows, UCI)
    estimators = ["tedn", *OURS, OLD_DEFAULT, "bbe", "dedpul", "km1", "km2"]
    error = means_by_alpha(tables, "alpha_error", estimators)
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
    print(count(pairs_of(rows)))
    for path in draw_all(store, IMAGES, FIGURES):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
