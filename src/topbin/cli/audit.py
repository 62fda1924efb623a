"""People label rows: `topbin audit` draws random rows into a file, `topbin review` shows a page."""

import secrets
import webbrowser
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from topbin.cli import verb
from topbin.cli.verb import again_options, named_again
from topbin.core.formatting import line
from topbin.core.options import Request

if TYPE_CHECKING:
    from topbin.evaluate.audit import AuditResult
    from topbin.job.audits.proxies import ProxyGain
    from topbin.job.audits.refit import Refit
    from topbin.job.audits.review import Review

COMMANDLINE = ParameterSource.COMMANDLINE
WIDTH_ONLY = -1.0  # --plan without a number
ACTS = {"n", "plan", "labels", "refit"}  # options without which proxies are only added
NOT_PLANNING = {"n", "labels", "refit", "where", "recall", "output", "tool"}  # beside a width
PATH = click.Path(path_type=Path)
REFIT = "Train with the answers; other rows than drawn ones may be answered too."
PLAN = (
    "Say how many rows it takes: for --width, for an interval half as wide as now, or to notice "
    "that α is off by ERROR."
)
PROXY = (
    "A column with a cheaper label of every row, such as what a language model says: it makes "
    "intervals narrower, and they stay valid. Repeat for several."
)
RECALL_HELP = (
    "Check whether the candidates contain this share of the positives; draws rows above and below "
    "their threshold."
)
NEXT_SEED = "Random seed of the draw.  [default: the next one]"
DRAWN = "File for the drawn rows.  [default: RUN/audit.csv]"
TOOL = "Write a file that this labeling tool imports; --labels reads its export."
LISTED = (
    "The rows of candidates.csv instead, best first: to train the model (not yet one of images), "
    "not for α."
)
where_option = partial(
    verb.option,
    "--where",
    about="Among all unlabeled rows, or among those with the highest scores.",
    default="anywhere",
    type=click.Choice(["anywhere", "top"]),
)


@click.command(cls=verb.Verb)
@verb.path_argument("run")
@again_options
@verb.option("--n", "Draw", "Rows to draw.", default=100)
@where_option(group="Draw")
@verb.flag(
    "--stratified", "Draw", "Draw equally many rows from each group of similar scores.", usual=False
)
@verb.option("--seed", "Draw", NEXT_SEED, type=verb.SEED, usual=False)
@verb.option("--labels", "Read back", "The file with the answers filled in.", type=PATH)
@verb.flag("--refit", "Read back", REFIT, usual=False)
@verb.option(
    "--plan", "Plan", PLAN, type=float, is_flag=False, flag_value=WIDTH_ONLY, metavar="[ERROR]"
)
@verb.option("--proxy", "Plan", PROXY, multiple=True, usual=False)
@verb.option("--width", "Plan", "Target width of the interval.", type=float)
@verb.option("--recall", "Plan", RECALL_HELP, type=float, usual=False)
@verb.option("-o --output", "Output", DRAWN, type=PATH)
@verb.option("--tool", "Output", TOOL, type=click.Choice(["label-studio", "argilla"]), usual=False)
@verb.flag("--force", "Output", "Replace that file, or earlier answers.")
@verb.json_option
def audit(run: Path, as_json: bool, **options: Any) -> None:
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
    if options["labels"] is not None and options["plan"] is not None:
        raise click.UsageError("--labels and --plan cannot both be given; leave one out")
    show, sources = verb.screen(as_json), named_again(options)
    gain = _add_proxies(show, run, options["proxy"], sources) if options["proxy"] else None
    source_of = click.get_current_context().get_parameter_source
    typed = {name for name in options if source_of(name) is COMMANDLINE}
    plan = options["plan"]
    if plan is None and options["width"] is not None and typed.isdisjoint(NOT_PLANNING):
        plan = WIDTH_ONLY
    if plan is not None:
        result: Any = _plan(show, run, plan, options["width"])
    elif gain is not None and typed.isdisjoint(ACTS):
        result = gain
    elif options["refit"]:
        result = _refit(show, run, options, sources)
    elif options["labels"] is not None:
        result = _read_back(show, run, options)
    else:
        result = _draw(show, run, options, sources)
    if as_json:
        verb.write_json(result)
    if getattr(result, "has_contradiction", False):
        raise SystemExit(verb.EXCEEDED)


def _add_proxies(
    show: verb.Screen, run: Path, columns: tuple[str, ...], sources: Request
) -> "ProxyGain":
    from topbin.job.audits.proxies import add_proxies

    gain = add_proxies(run, columns, sources=sources)
    show.say("proxies", gain)
    return gain


def _plan(show: verb.Screen, run: Path, plan: float, width: float | None) -> Any:
    from topbin.job.audits.judge import plan_audit, plan_audit_widths

    if plan != WIDTH_ONLY:
        by_error = plan_audit(run, plan)
        show.print(str(by_error))
        return {"n": by_error.n}
    if width is None:
        plans = plan_audit_widths(run)
        show.print_lines(map(str, plans))
        return {"plans": plans}
    (by_width,) = plan_audit_widths(run, width)
    show.print(str(by_width))
    return by_width


def _refit(show: verb.Screen, run: Path, options: Mapping[str, Any], sources: Request) -> "Refit":
    from topbin.job.audits.answers import read_answered
    from topbin.job.audits.refit import refit_audit

    new = {} if options["labels"] is None else read_answered(options["labels"])
    learned = refit_audit(run, new, force=options["force"], sources=sources)
    show.say("learned", learned)
    return learned


def _read_back(show: verb.Screen, run: Path, options: Mapping[str, Any]) -> "AuditResult":
    from topbin.job.audits.judge import read_audit
    from topbin.show.screen import audit_lines
    from topbin.store.runs import read_result

    judged = read_audit(run, options["labels"], force=options["force"], recall=options["recall"])
    result = read_result(run)
    lines = [] if result.verdict is None else result.verdict.lines(str(run))
    lines += audit_lines(result)
    if options["width"] is not None:
        lines.append(line("width", judged.progress(options["width"])))
    show.print_lines(lines)
    return judged


def _draw(
    show: verb.Screen, run: Path, options: Mapping[str, Any], sources: Request
) -> Mapping[str, str | int]:
    from topbin.data.write import ANSWER
    from topbin.evaluate.audit.scored import RECALL
    from topbin.job.audits.draw import draw_audit, question, words_of
    from topbin.store.runs import read_result

    tool = options["tool"]
    path = options["output"] or run / ("audit.csv" if tool is None else f"{tool}.json")
    where = options["where"] if options["recall"] is None else RECALL
    chosen = {name: options[name] for name in ("stratified", "seed", "force", "tool")}
    drawn = draw_audit(run, options["n"], path, where=where, sources=sources, **chosen)
    which = words_of(drawn, where).which
    show.say("wrote", f"{path}: {drawn.n:,} random unlabeled rows{which}")
    todo = f"fill in {ANSWER} (yes, no, or ? where you are unsure), then:"
    if tool is not None:
        todo = "import it, label, export all tasks as JSON to the same name, then:"
    show.say("next", todo)
    if (means := question(read_result(run))) is not None:
        show.say("meaning", means)
    more = "" if options["recall"] is None else f" --recall {options['recall']:g}"
    show.say("", f"topbin audit {quote(str(run))} --labels {quote(str(path))}{more}")
    return {"file": str(path), "rows": drawn.n}


@click.command(cls=verb.Verb)
@verb.path_argument("run")
@again_options
@verb.option("--n", "Rows", "Rows to draw, if no draw is open.", default=100)
@where_option(group="Rows")
@verb.flag("--candidates", "Rows", LISTED)
@verb.option("--question", "Page", "What to ask about a row; kept for the next time.")
@verb.option("--port", "Page", "0: any free one.", default=0, type=click.IntRange(0, 65535))
@verb.flag("--no-browser", "Page", "Only print the address.")
@verb.json_option
def review(run: Path, port: int, no_browser: bool, as_json: bool, **options: Any) -> None:
    """Label rows in the browser: y, n, ? and back. Ctrl-C ends it; start it again to continue.

    Every answer is saved at once. The page is for this machine alone. In an audit it shows no
    score and no rank, and α only when all rows have an answer.

    \b
      topbin review run1
      topbin review run1 --n 50 --question "Is this claim fraudulent?"
      topbin review run1 --candidates
    """  # fmt: skip
    from topbin.core.optional import require
    from topbin.job.audits.review import open_review
    from topbin.show.review import HOST, open_port, review_app, serve

    require("starlette", extra="review", caller="topbin review")  # before any row is drawn
    show, token = verb.screen(as_json), secrets.token_urlsafe(24)
    with open_port(port) as server_socket:
        which = {name: options[name] for name in ("n", "where", "candidates", "question")}
        rows = open_review(run, **which, sources=named_again(options))
        app = review_app(rows, token)
        address = f"http://{HOST}:{server_socket.getsockname()[1]}/{token}/"
        progress = rows.progress()
        left = progress["total"] - progress["done"]
        show.say("label", f"{left:,} of {progress['total']:,} rows at")
        show.say("", address)
        show.say("question", rows.question)
        show.say("end", "Ctrl-C; every answer is saved at once")
        if as_json:
            verb.write_json({"address": address, **progress})
        elif not no_browser:
            webbrowser.open(address)
        serve(app, server_socket)
    _say_goodbye(show, rows, run)


def _say_goodbye(show: verb.Screen, rows: "Review", run: Path) -> None:
    """What was answered, and what to do next; the result of an audit that is complete."""
    from topbin.evaluate.audit.scored import ANYWHERE
    from topbin.show.screen import audit_lines
    from topbin.store.runs import read_result

    progress, given = rows.progress(), rows.given
    parts = f"{given['positive']:,} yes, {given['negative']:,} no, {given['unsure']:,} unsure"
    show.say("saved", f"{given.total():,} answers now ({parts})")
    show.say("in all", f"{progress['done']:,} of {progress['total']:,} rows have an answer")
    if progress["done"] < progress["total"]:
        kind = f" --where {rows.where}" if rows.where else " --candidates"
        more = "" if rows.where == ANYWHERE else kind
        show.say("next", f"topbin review {quote(str(run))}{more}")
    elif rows.where is not None:
        rows.judge()
        result = read_result(run)
        show.print_lines(audit_lines(result))
        if result.audit is not None and result.audit.has_contradiction:
            raise SystemExit(verb.EXCEEDED)
