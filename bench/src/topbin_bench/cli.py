"""`topbin-bench`: list, run, show, draw and check the paper's experiments."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from topbin.cli.engines import engine_options, open_engine
from topbin.cli.verb import FAILED, PASSED, SEED, Verb, screen, split_names, write_json


@click.group()
def bench() -> None:
    """The paper's experiments, rerun; a run that is stopped goes on where it was.

    \b
      topbin-bench list
      topbin-bench run smoke
      TOPBIN_DATA=folder topbin-bench run uci --profile paper
      topbin-bench table --measure accuracy
      topbin-bench figures
      topbin-bench check --cells 3
    """


def results(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that names the folder of results."""
    return click.option(
        "-o",
        "--output",
        "folder",
        default=Path("results"),
        show_default=True,
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of the results.",
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that every verb has."""
    return click.option("--json", "as_json", is_flag=True, help="Only JSON on standard output.")(
        command
    )


@bench.command("list", cls=Verb)
@json_option
def list_(as_json: bool) -> None:
    """Tasks, methods and profiles."""
    from rich.table import Table
    from rich.text import Text

    from topbin_bench.methods import CONTENDERS
    from topbin_bench.profiles import PROFILES
    from topbin_bench.tasks import TASKS

    tables = {
        "tasks": {t.name: f"{t.about} [family {t.family}]" for t in TASKS.values()},
        "methods": {c.name: c.source for c in CONTENDERS.values()},
        "profiles": {p.name: p.about for p in PROFILES.values()},
    }
    if as_json:
        write_json(tables)
        return
    for title, entries in tables.items():
        table = Table(title=title, title_justify="left", show_header=False, box=None)
        for name, about in entries.items():
            table.add_row(name, Text(about))
        screen().print(table)


@bench.command(cls=Verb)
@click.argument("names", nargs=-1, required=True)
@click.option("--profile", default=None, help="As `bench list` names them.  [default: cpu]")
@click.option("--method", "methods", multiple=True, help="Only these; several, or with commas.")
@click.option("--alpha", "alphas", multiple=True, type=float, help="Only these shares.")
@click.option("--seeds", type=click.IntRange(1), help="How many splits, if not the profile's.")
@click.option(
    "--jobs", default=1, show_default=True, type=click.IntRange(1), help="How many jobs at a time."
)
@engine_options("Where the cells run.", default="local", names=("local", "dask"))
@click.option("--retry", is_flag=True, help="Run cells again that failed before.")
@json_option
@results
def run(
    names: tuple[str, ...],
    profile: str | None,
    methods: tuple[str, ...],
    alphas: tuple[float, ...],
    seeds: int | None,
    jobs: int,
    retry: bool,
    as_json: bool,
    folder: Path,
    **options: Any,
) -> None:
    """Run tasks or families; `smoke` is a few seconds of everything that needs no data.

    Cells that have a result are not run again. Data comes from the folder in TOPBIN_DATA or, where
    it has none, from its official source. The workers of a Dask cluster must see both folders.
    """
    from topbin_bench.grid import grid, jobs_of
    from topbin_bench.progress import Watch
    from topbin_bench.runner import run as run_cells
    from topbin_bench.store import Store

    if names == ("smoke",):
        names, profile = ("synthetic",), profile or "smoke"
    cells = grid(names, profile or "cpu", methods=split_names(methods), alphas=alphas, seeds=seeds)
    store = Store(folder.resolve())
    todo = store.missing(cells, retry=retry)
    console = screen(as_json=True)
    jobs_left = jobs_of(todo)
    console.print(
        f"{len(cells)} cells, {len(cells) - len(todo)} of them done before, "
        f"{len(jobs_left)} fits to do"
    )
    with ExitStack() as stack:
        spread = options["engine"] == "dask"
        cluster = stack.enter_context(open_engine(options)) if spread else None
        watch = stack.enter_context(Watch(jobs_left, console, workers=jobs))
        how: dict[str, Any] = {"jobs": jobs, "retry": retry, "cluster": cluster}
        failed = run_cells(cells, store, watch=watch, **how)
    console.print(f"{len(todo) - failed} cells done, {failed} failed; results in {folder}")
    if as_json:
        write_json({"cells": len(cells), "run": len(todo), "failed": failed, "folder": str(folder)})
    if failed:
        raise click.exceptions.Exit(FAILED)


@bench.command(cls=Verb)
@click.option(
    "--measure", type=click.Choice(["alpha_error", "accuracy"]), default="alpha_error",
    show_default=True, help="What to compare.",
)  # fmt: skip
@click.option("--alpha", default=0.5, show_default=True, help="The share of positives in U.")
@click.option(
    "--format", "form", type=click.Choice(["markdown", "latex", "csv"]), default="markdown",
    show_default=True, help="How to write the table.",
)  # fmt: skip
@click.option("--failed", is_flag=True, help="Show the cells that failed, and why.")
@json_option
@results
def table(measure: Any, alpha: float, form: Any, failed: bool, as_json: bool, folder: Path) -> None:
    """Mean ± standard error over splits, beside the paper's number."""
    from topbin_bench.store import Store
    from topbin_bench.tables import (
        caption,
        compare,
        failures,
        in_order,
        labelled,
        require_rows,
    )

    rows = in_order(labelled(require_rows(Store(folder).current())))
    shown = failures(rows) if failed else compare(rows, measure, alpha=alpha)
    if as_json:
        write_json([dict(zip(shown.header, row, strict=True)) for row in shown.rows])
    else:
        click.echo(shown.render(form), nl=False)
        if form == "markdown":
            click.echo(f"\n{caption(rows)}", nl=False)


@bench.command(cls=Verb)
@click.option(
    "--images", default=Path("bench/figures"), show_default=True,
    type=click.Path(path_type=Path, file_okay=False), help="Folder for the pictures.",
)  # fmt: skip
@json_option
@results
def figures(images: Path, as_json: bool, folder: Path) -> None:
    """Draw every figure for which there are results."""
    from topbin_bench.figures import draw_all
    from topbin_bench.store import Store

    written = []
    for path in draw_all(Store(folder), images):
        screen(as_json).print(f"wrote {path}", markup=False, soft_wrap=True)
        written.append(str(path))
    if as_json:
        write_json(written)


@bench.command(cls=Verb)
@click.option("--cells", default=3, show_default=True, type=click.IntRange(1), help="How many.")
@click.option("--seed", default=0, show_default=True, type=SEED, help="Of the draw of cells.")
@click.option("--within", type=float, help="Exit with 3 if an answer differs by more than this.")
@json_option
@results
def check(cells: int, seed: int, within: float | None, as_json: bool, folder: Path) -> None:
    """Run some finished cells again, drawn at random, and compare; nothing is written.

    On the same kind of processor the answers should be equal to the last digit; on another one a
    net's may differ a little.
    """
    from topbin_bench.recheck import as_table, run_again, some_cells
    from topbin_bench.store import Store
    from topbin_bench.tables import require_rows

    rows = some_cells(require_rows(Store(folder).current()), cells, seed)
    console, found = screen(as_json=True), []
    for again in run_again(rows):
        found.append(again)
        cell = again.cell
        done = f"{len(found)}/{len(rows)}  {cell.task} α={cell.alpha:g} split {cell.seed}"
        console.print(f"{done}  {cell.method}  differs by {again.distance:.1g}", markup=False)
    shown = as_table(found)
    if as_json:
        write_json([dict(zip(shown.header, row, strict=True)) for row in shown.rows])
    else:
        click.echo(shown.render("markdown"), nl=False)
    if within is not None and max(again.distance for again in found) > within:
        raise click.exceptions.Exit(PASSED)
