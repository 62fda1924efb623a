"""`topbin audit`: draw random unlabeled rows for a person to label, and read them back."""

from pathlib import Path
from shlex import quote
from typing import Any

import click

from topbin.cli.verb import SEED, Verb, json_option, option, screen, write_json

ANSWER = "is_positive"


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@option("--n", group="Draw", default=100, help="Rows to draw.")
@option(
    "--stratified",
    group="Draw",
    is_flag=True,
    help="Draw within groups of similar scores, for a sharper answer.",
)
@option("--seed", group="Draw", default=0, type=SEED, help="Of the draw.")
@option(
    "--sql",
    group="Draw",
    help="The query that the run was made from, if it was: a query in a folder is never run.",
)
@option(
    "--labels",
    group="Read back",
    type=click.Path(path_type=Path),
    help="The file with the answers filled in.",
)
@option(
    "--plan",
    group="Plan",
    type=float,
    metavar="ERROR",
    help="Say how many rows it takes to notice that α is off by this much.",
)
@option(
    "-o",
    "--output",
    group="Output",
    type=click.Path(path_type=Path),
    help="File for the drawn rows.  [default: RUN/audit.csv]",
)
@option("--force", group="Output", is_flag=True, help="Replace that file.")
@json_option
def audit(
    run: Path,
    n: int,
    stratified: bool,
    seed: int,
    sql: str | None,
    labels: Path | None,
    plan: float | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Check the estimate by labeling a random sample of the unlabeled rows.

    Fill the column is_positive with yes or no, ? where you are unsure. Do not mix in labels from
    candidates.csv: those rows are not random, and would bias the audit. The rows of the file may
    be sorted; every file that was drawn for a run can be read back.

    \b
      topbin audit run1 --n 100
      topbin audit run1 --labels run1/audit.csv
    """  # fmt: skip
    from topbin.job import audit as job

    show = screen(as_json)
    found: dict[str, Any]
    if plan is not None:
        planned = job.plan_audit(run, plan)
        show.print(str(planned), soft_wrap=True)
        found = {"n": planned.n}
    elif labels is not None:
        judged = job.read_audit(run, labels)
        show.print(str(judged), soft_wrap=True)
        found = judged.to_dict()
    else:
        path = output or run / "audit.csv"
        how_drawn: dict[str, Any] = {"stratified": stratified, "seed": seed, "sql": sql}
        drawn = job.draw_audit(run, n, path, force=force, **how_drawn)
        how = "" if drawn.kind == "simple" else ", equally many from each group of similar scores"
        show.print(
            f"wrote           {path}: {drawn.n:,} random unlabeled rows{how}", soft_wrap=True
        )
        show.print(f"next            fill in {ANSWER} (yes, no, or ? where you are unsure), then:")
        show.print(f"                topbin audit {quote(str(run))} --labels {quote(str(path))}",
                   soft_wrap=True)  # fmt: skip
        found = {"file": str(path), "rows": drawn.n}
    if as_json:
        write_json(found)
