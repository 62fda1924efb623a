"""`topbin-bench`: list, run, show, draw and check the paper's experiments."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from math import inf
from pathlib import Path
from typing import Any

import click

from topbin.core import TopbinError

EXCEEDED = 3
RESULTS = Path("bench/results/bench")
SMOKE = Path("bench/results/smoke")


class Commands(click.Group):
    """Commands that show an error of topbin as a sentence, not as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except TopbinError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Commands)
def bench() -> None:
    """Rerun the paper's experiments; a run that was stopped resumes.

    \b
      topbin-bench list
      topbin-bench run smoke
      TOPBIN_DATA=folder topbin-bench run uci --profile paper
      topbin-bench table --measure accuracy
      topbin-bench figures
      topbin-bench check --cells 3

    Exit codes: 0 done, 1 failed, 2 wrong use, 3 the difference that you allowed was exceeded.
    """


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The folder of results, and JSON instead of text."""
    command = click.option(
        "-o", "--output", "folder", default=RESULTS, show_default=True,
        type=click.Path(path_type=Path, file_okay=False), help="Folder of the results.",
    )(command)  # fmt: skip
    return as_json_option(command)


as_json_option = click.option(
    "--json", "as_json", is_flag=True, help="Only JSON on standard output."
)


@bench.command("list")
@as_json_option
def list_(as_json: bool) -> None:
    """Show tasks, methods and profiles."""
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
        lines = (f"  {name:16}  {about}" for name, about in entries.items())
        click.echo("\n".join([title, *lines, ""]))


@bench.command()
@click.argument("names", nargs=-1, required=True)
@click.option("--profile", help="A name from `topbin-bench list`.  [default: cpu]")
@click.option("--method", "methods", multiple=True, help="Only these; several, or with commas.")
@click.option("--alpha", "alphas", multiple=True, type=float, help="Only these shares.")
@click.option("--seeds", type=click.IntRange(1), help="Number of splits, if not the profile's.")
@click.option(
    "--jobs", default=1, show_default=True, type=click.IntRange(1), help="Jobs at the same time."
)
@click.option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster at this address.")
@click.option("--retry", is_flag=True, help="Run cells again that failed before.")
@options
@click.pass_context
def run(
    ctx: click.Context,
    names: tuple[str, ...],
    profile: str | None,
    methods: tuple[str, ...],
    alphas: tuple[float, ...],
    seeds: int | None,
    jobs: int,
    scheduler: str | None,
    retry: bool,
    as_json: bool,
    folder: Path,
) -> None:
    """Run tasks or families; `smoke` runs what needs no data, in seconds, `everything` the plan.

    Before it starts, it says how many CPU hours the fits took where the committed results were
    made. `everything` is the plan behind the results page; it takes no options that choose cells.
    Cells that have a result are not run again. Data comes from the folder in TOPBIN_DATA or, if a
    file is not there, from its official source. The workers of a Dask cluster must see both
    folders. Without -o, `smoke` writes to bench/results/smoke.
    """
    from rich.console import Console

    from topbin_bench.agenda import cpu_hours, everything
    from topbin_bench.grid import grid, jobs_of
    from topbin_bench.progress import Watch
    from topbin_bench.runner import run as run_cells
    from topbin_bench.store import Store

    if names == ("smoke",):
        names, profile = ("synthetic",), profile or "smoke"
        source = ctx.get_parameter_source("folder")
        folder = SMOKE if source is click.core.ParameterSource.DEFAULT else folder
    chosen = [name for value in methods for name in value.split(",")]
    if names == ("everything",):
        if profile or chosen or alphas or seeds:
            raise click.UsageError("`everything` is a fixed plan; it takes no choice of cells.")
        cells = everything()
    else:
        cells = grid(names, profile or "cpu", methods=chosen, alphas=alphas, seeds=seeds)
    store = Store(folder.resolve())
    todo = store.missing(cells, retry=retry)
    left, done = jobs_of(todo), len(cells) - len(todo)
    click.echo(f"{len(cells)} cells, {done} of them done before, {len(left)} fits to do", err=True)
    hours, unknown = cpu_hours(todo, Store(RESULTS).frame())
    if hours:
        rest = f"; {unknown} fits have no record" if unknown else ""
        click.echo(f"about {hours:.1f} CPU hours, as the same fits took before{rest}", err=True)
    with ExitStack() as stack:
        if scheduler is not None:
            _use_cluster(scheduler, stack)
        console = Console(stderr=True, highlight=False)
        watch = stack.enter_context(Watch(left, console, workers=jobs))
        failed = run_cells(cells, store, jobs=jobs, retry=retry, watch=watch)
    click.echo(f"{len(todo) - failed} cells done, {failed} failed; results in {folder}", err=True)
    if as_json:
        write_json({"cells": len(cells), "run": len(todo), "failed": failed, "folder": str(folder)})
    ctx.exit(1 if failed else 0)


def _use_cluster(scheduler: str, stack: ExitStack) -> None:
    """Send joblib's work to the Dask cluster at this address until the stack is closed."""
    from distributed import Client
    from joblib import parallel_config

    try:
        stack.enter_context(Client(scheduler, timeout=5))  # type: ignore[no-untyped-call]
    except OSError as error:
        raise click.ClickException(f'no Dask scheduler answers at "{scheduler}".') from error
    stack.enter_context(parallel_config("dask"))


@bench.command()
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
@options
def table(measure: Any, alpha: float, form: Any, failed: bool, as_json: bool, folder: Path) -> None:
    """Show mean ± standard error over splits, beside the paper's number."""
    from topbin_bench.results import caption, read_rows
    from topbin_bench.store import Store
    from topbin_bench.tables import compare, failures

    rows = read_rows(Store(folder))
    shown = failures(rows) if failed else compare(rows, measure, alpha=alpha)
    if as_json:
        write_json(shown.records())
        return
    click.echo(shown.render(form), nl=False)
    if form == "markdown":
        click.echo(f"\n{caption(rows)}", nl=False)


@bench.command()
@click.option(
    "--images", default=Path("bench/results/figures"), show_default=True,
    type=click.Path(path_type=Path, file_okay=False), help="Folder for the figures.",
)  # fmt: skip
@options
def figures(images: Path, as_json: bool, folder: Path) -> None:
    """Draw every figure that the results allow."""
    from topbin_bench.figures import draw_all
    from topbin_bench.store import Store

    written = []
    for path in draw_all(Store(folder), images):
        click.echo(f"wrote {path}", err=as_json)
        written.append(str(path))
    if as_json:
        write_json(written)


@bench.command()
@click.option("--cells", default=3, show_default=True, type=click.IntRange(1), help="How many.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Draws other cells."
)
@click.option(
    "--under", type=float, default=inf, help="Only cells whose fit took fewer CPU seconds."
)
@click.option("--within", type=float, help="Exit with 3 if an answer differs by more than this.")
@options
def check(
    cells: int, seed: int, under: float, within: float | None, as_json: bool, folder: Path
) -> None:
    """Run some finished cells again, drawn at random, and compare; nothing is written.

    On the same kind of processor the answers should agree to the last digit; on another kind, the
    answers of a net may differ a little.
    """
    from topbin_bench.recheck import as_table, run_again, some_cells
    from topbin_bench.results import stored_rows
    from topbin_bench.store import Store

    rows, found = some_cells(stored_rows(Store(folder)), cells, seed, under), []
    for again in run_again(rows):
        found.append(again)
        cell = again.cell
        done = f"{len(found)}/{len(rows)}  {cell.task} α={cell.alpha:g} split {cell.seed}"
        click.echo(f"{done}  {cell.method}  differs by {again.distance:.1g}", err=True)
    shown = as_table(found)
    if as_json:
        write_json(shown.records())
    else:
        click.echo(shown.render("markdown"), nl=False)
    if within is not None and max(again.distance for again in found) > within:
        raise click.exceptions.Exit(EXCEEDED)


def write_json(value: Any) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
