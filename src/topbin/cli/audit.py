"""`topbin audit`: draw random unlabeled rows for a person to label, and read them back."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import click
from click.core import ParameterSource

from topbin.cli.options import again_options, named_again, where_option
from topbin.cli.verb import PASSED, SEED, Verb, flag, json_option, option, screen, write_json

ANSWER = "is_positive"
COMMANDLINE = ParameterSource.COMMANDLINE
WIDTH_ONLY = -1.0  # --plan without a number


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@again_options
@option("--n", group="Draw", default=100, help="Rows to draw.")
@where_option("Draw")
@flag(
    "--stratified",
    "Draw",
    "Draw equally many rows from each group of similar scores.",
    is_usual=False,
)
@option(
    "--seed",
    group="Draw",
    type=SEED,
    is_usual=False,
    help="Of the draw.  [default: the next one]",
)
@option(
    "--labels",
    group="Read back",
    type=click.Path(path_type=Path),
    help="The file with the answers filled in.",
)
@flag(
    "--refit",
    "Read back",
    "Train with the answers; other rows than drawn ones may be answered too.",
    is_usual=False,
)
@option(
    "--plan",
    group="Plan",
    type=float,
    is_flag=False,
    flag_value=WIDTH_ONLY,
    metavar="[ERROR]",
    help="Say how many rows it takes: for --width, for an interval half as wide as now, or to "
    "notice that α is off by ERROR.",
)
@option(
    "--proxy",
    group="Plan",
    multiple=True,
    is_usual=False,
    help="A column with a cheaper label of every row, such as what a language model says: it makes "
    "intervals narrower, and they stay right. Repeat for several.",
)
@option("--width", group="Plan", type=float, help="How narrow the interval is to be.")
@option(
    "--recall",
    group="Plan",
    is_usual=False,
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
@option(
    "--tool",
    group="Output",
    is_usual=False,
    type=click.Choice(["label-studio", "argilla"]),
    help="Write a file that this labeling tool imports; --labels reads its export.",
)
@flag("--force", "Output", "Replace that file, or earlier answers.")
@json_option
def audit(run: Path, as_json: bool, **asked: Any) -> None:
    """Sharpen the estimate by labeling a random sample of the unlabeled rows.

    Fill the column is_positive with yes or no, ? where you are unsure. Do not mix in labels from
    candidates.csv: those rows are not random, and would bias the audit. The rows of the file may
    be sorted; every file that was drawn for a run can be read back, and all answers add up.
    Exit code 3 says that the audit contradicts the estimate. Name the SOURCE of the run again if
    the run folder cannot vouch for it, or if it is elsewhere now.

    \b
      topbin audit run1 --plan
      topbin audit run1 --n 100
      topbin audit run1 --labels run1/audit.csv
    """  # fmt: skip
    show = screen(as_json)
    gain = _add_proxies(show, run, asked) if asked["proxy"] else None
    is_asked = click.get_current_context().get_parameter_source
    more = any(is_asked(name) is COMMANDLINE for name in ("n", "plan", "labels", "refit"))
    if gain is not None and not more:
        result: Any = gain
    elif asked["plan"] is not None:
        result = _plan(show, run, asked["plan"], asked["width"])
    elif asked["refit"]:
        result = _refit(show, run, asked)
    elif asked["labels"] is not None:
        result = _read_back(show, run, asked)
    else:
        result = _draw(show, run, asked)
    if as_json:
        write_json(result)
    if getattr(result, "has_contradiction", False):
        raise SystemExit(PASSED)


def _add_proxies(show: Any, run: Path, asked: Mapping[str, Any]) -> Any:
    from topbin.job.audits.rows import add_proxies

    gain = add_proxies(run, asked["proxy"], again=named_again(asked))
    show.print(f"proxies         {gain}")
    return gain


def _plan(show: Any, run: Path, plan: float, width: float | None) -> Any:
    from topbin.job.audits.audit import plan_audit, plan_audit_width, plan_audit_widths

    if plan != WIDTH_ONLY:
        planned = plan_audit(run, plan)
        show.print(str(planned))
        return {"n": planned.n}
    if width is None:
        plans = plan_audit_widths(run)
        for each in plans:
            show.print(str(each))
        return {"plans": plans}
    by_width = plan_audit_width(run, width)
    show.print(str(by_width))
    return by_width


def _refit(show: Any, run: Path, asked: Mapping[str, Any]) -> Any:
    from topbin.job.audits.audit import read_answered
    from topbin.job.audits.refit import refit_audit

    new = {} if asked["labels"] is None else read_answered(asked["labels"])
    learned = refit_audit(run, new, force=asked["force"], again=named_again(asked))
    show.print(f"learned         {learned}")
    return learned


def _read_back(show: Any, run: Path, asked: Mapping[str, Any]) -> Any:
    from topbin.job.audits.audit import read_audit
    from topbin.show.summary import audit_lines
    from topbin.store.runs import read_result

    judged = read_audit(run, asked["labels"], force=asked["force"], recall=asked["recall"])
    result = read_result(run)
    lines = [] if result.verdict is None else result.verdict.lines(str(run))
    lines += audit_lines(result)
    if asked["width"] is not None:
        lines.append(f"width           {_progress(judged, asked['width'])}")
    for line in lines:
        show.print(line)
    return judged


def _draw(show: Any, run: Path, asked: Mapping[str, Any]) -> Mapping[str, str | int]:
    from topbin.job.audits.audit import KINDS, draw_audit, question
    from topbin.store.runs import read_result

    tool = asked["tool"]
    path = asked["output"] or run / ("audit.csv" if tool is None else f"{tool}.json")
    where = asked["where"] if asked["recall"] is None else "recall"
    asked_for = {name: asked[name] for name in ("stratified", "seed", "force", "tool")}
    again = named_again(asked)
    drawn = draw_audit(run, asked["n"], path, where=where, again=again, **asked_for)
    kind = KINDS[drawn.kind if where == "anywhere" else where][1]
    show.print(f"wrote           {path}: {drawn.n:,} random unlabeled rows{kind}")
    todo = f"fill in {ANSWER} (yes, no, or ? where you are unsure), then:"
    if tool is not None:
        todo = "import it, label, export all tasks as JSON to the same name, then:"
    show.print(f"next            {todo}")
    if (means := question(read_result(run))) is not None:
        show.print(f"meaning         {means}")
    more = "" if asked["recall"] is None else f" --recall {asked['recall']:g}"
    command = f"topbin audit {quote(str(run))} --labels {quote(str(path))}{more}"
    show.print(f"                {command}")
    return {"file": str(path), "rows": drawn.n}


def _progress(judged: Any, width: float) -> str:
    """Whether the interval is as narrow as wanted, and about how many more labels that takes."""
    now = judged.interval[1] - judged.interval[0]
    if now <= width:
        return f"{now:.3f}, the wanted {width:g} is reached: you can stop"
    more = judged.n * ((now / width) ** 2 - 1)
    return f"{now:.3f}, not yet {width:g}: about {more:,.0f} more labels of this kind"
