"""`topbin review`: label rows of a run in the browser, by keyboard."""

import secrets
import webbrowser
from pathlib import Path
from shlex import quote
from typing import Any

import click

from topbin.cli.options import again_options, named_again, where_option
from topbin.cli.verb import PASSED, Verb, flag, json_option, option, screen, write_json


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@again_options
@option("--n", group="Rows", default=100, help="Rows to draw, if no draw is open.")
@where_option("Rows")
@flag(
    "--candidates",
    "Rows",
    "The rows of candidates.csv instead, best first: for the model, not for α.",
)
@option("--question", group="Page", help="What to ask about a row; kept for the next time.")
@option("--port", group="Page", default=0, type=click.IntRange(0, 65535), help="0: any free one.")
@flag("--no-browser", "Page", "Only print the address.")
@json_option
def review(
    run: Path,
    n: int,
    where: str,
    candidates: bool,
    question: str | None,
    port: int,
    no_browser: bool,
    as_json: bool,
    **named: Any,
) -> None:
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
    show, token = screen(as_json), secrets.token_urlsafe(24)
    with open_port(port) as taken:
        asked: Any = {"n": n, "where": where, "candidates": candidates, "question": question}
        rows = open_review(run, **asked, again=named_again(named))
        app = review_app(rows, token)
        address, progress = f"http://{HOST}:{taken.getsockname()[1]}/{token}/", rows.progress()
        left = progress["total"] - progress["done"]
        show.print(f"label           {left:,} of {progress['total']:,} rows at")
        show.print(f"                {address}")
        show.print(f"question        {rows.question}")
        show.print("end             Ctrl-C; every answer is saved at once")
        if as_json:
            write_json({"address": address, **progress})
        elif not no_browser:
            webbrowser.open(address)
        serve(app, taken)
    _say_goodbye(show, rows, run)


def _say_goodbye(show: Any, rows: Any, run: Path) -> None:
    """What was answered, and what to do next; the result of an audit that is complete."""
    from topbin.show.summary import audit_lines
    from topbin.store.runs import read_result

    progress, given = rows.progress(), rows.given
    parts = f"{given['positive']:,} yes, {given['negative']:,} no, {given['unsure']:,} unsure"
    show.print(f"saved           {given.total():,} answers now ({parts})")
    show.print(f"in all          {progress['done']:,} of {progress['total']:,} rows have an answer")
    if progress["done"] < progress["total"]:
        kind = f" --where {rows.where}" if rows.where else " --candidates"
        more = "" if rows.where == "anywhere" else kind
        show.print(f"next            topbin review {quote(str(run))}{more}")
    elif rows.where is not None:
        rows.judge()
        result = read_result(run)
        for line in audit_lines(result):
            show.print(line)
        if result.audit is not None and result.audit.has_contradiction:
            raise SystemExit(PASSED)
