"""`topbin audit`: draw random unlabeled rows for a person to label, and read them back."""

from pathlib import Path
from shlex import quote
from typing import Any

import click

from topbin.cli.verb import PASSED, SEED, Verb, json_option, option, screen, write_json

ANSWER = "is_positive"
WIDTH_ONLY = -1.0  # --plan without a number


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@option("--n", group="Draw", default=100, help="Rows to draw.")
@option(
    "--where",
    group="Draw",
    default="anywhere",
    type=click.Choice(["anywhere", "top"]),
    help="Among all unlabeled rows, or among those with the highest scores.",
)
@option(
    "--stratified",
    group="Draw",
    is_flag=True,
    help="Draw within groups of similar scores, for a sharper answer.",
)
@option("--seed", group="Draw", type=SEED, help="Of the draw.  [default: the next one]")
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
    "--refit",
    group="Read back",
    is_flag=True,
    help="Train with the answers; other rows than drawn ones may be answered too.",
)
@option(
    "--plan",
    group="Plan",
    type=float,
    is_flag=False,
    flag_value=WIDTH_ONLY,
    metavar="[ERROR]",
    help="Say how many rows it takes: for --width, or to notice that α is off by ERROR.",
)
@option("--width", group="Plan", type=float, help="How narrow the interval is to be.")
@option(
    "--recall",
    group="Plan",
    type=float,
    help="Ask whether so many of the positives are candidates; draws on both sides of them.",
)
@option(
    "-o",
    "--output",
    group="Output",
    type=click.Path(path_type=Path),
    help="File for the drawn rows.  [default: RUN/audit.csv]",
)
@option("--force", group="Output", is_flag=True, help="Replace that file, or earlier answers.")
@json_option
def audit(
    run: Path,
    n: int,
    where: str,
    stratified: bool,
    seed: int | None,
    sql: str | None,
    labels: Path | None,
    refit: bool,
    plan: float | None,
    width: float | None,
    recall: float | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Sharpen the estimate by labeling a random sample of the unlabeled rows.

    Fill the column is_positive with yes or no, ? where you are unsure. Do not mix in labels from
    candidates.csv: those rows are not random, and would bias the audit. The rows of the file may
    be sorted; every file that was drawn for a run can be read back, and all answers add up.
    Exit code 3 says that the audit contradicts the estimate.

    \b
      topbin audit run1 --n 100
      topbin audit run1 --labels run1/audit.csv
    """  # fmt: skip
    from topbin.job import audit as job
    from topbin.job.refit import refit_audit
    from topbin.job.result import audit_lines
    from topbin.store.runs import read_result

    show, contradicts = screen(as_json), False
    found: dict[str, Any]
    if plan == WIDTH_ONLY:
        if width is None:
            raise click.UsageError("--plan needs --width, or an error to notice: --plan 0.1")
        by_width = job.plan_audit_width(run, width)
        show.print(str(by_width), soft_wrap=True)
        found = by_width.to_dict()
    elif plan is not None:
        planned = job.plan_audit(run, plan)
        show.print(str(planned), soft_wrap=True)
        found = {"n": planned.n}
    elif refit:
        if labels is not None:
            job.read_answered(run, labels, force=force)
        learned = refit_audit(run, sql=sql)
        show.print(f"learned         {learned}", soft_wrap=True)
        found = learned.to_dict()
    elif labels is not None:
        judged = job.read_audit(run, labels, force=force, recall=recall)
        for line in audit_lines(read_result(run)):
            show.print(line, soft_wrap=True)
        if width is not None:
            show.print(f"width           {_progress(judged, width)}", soft_wrap=True)
        found = judged.to_dict()
        contradicts = "contradicts" in [one.verdict for one in (judged, *judged.others)]
    else:
        path = output or run / "audit.csv"
        where = where if recall is None else "recall"
        how: dict[str, Any] = {"where": where, "stratified": stratified, "seed": seed, "sql": sql}
        drawn = job.draw_audit(run, n, path, force=force, **how)
        told = " of the top bin" if where == "top" else ""
        if recall is not None:
            told = " from both sides of the candidates' threshold"
        elif drawn.kind == "stratified":
            told = ", equally many from each group of similar scores"
        show.print(
            f"wrote           {path}: {drawn.n:,} random unlabeled rows{told}", soft_wrap=True
        )
        show.print(f"next            fill in {ANSWER} (yes, no, or ? where you are unsure), then:")
        show.print(f"                topbin audit {quote(str(run))} --labels {quote(str(path))}",
                   soft_wrap=True)  # fmt: skip
        found = {"file": str(path), "rows": drawn.n}
    if as_json:
        write_json(found)
    if contradicts:
        raise SystemExit(PASSED)


def _progress(judged: Any, width: float) -> str:
    """Whether the interval is as narrow as wanted, and about how many more labels that takes."""
    now = judged.interval[1] - judged.interval[0]
    if now <= width:
        return f"{now:.3f}, the wanted {width:g} is reached: you can stop"
    more = judged.n * ((now / width) ** 2 - 1)
    return f"{now:.3f}, not yet {width:g}: about {more:,.0f} more labels of this kind"
