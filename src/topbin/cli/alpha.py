"""`topbin alpha`: α from scores you already have, of any size, counted here or on a cluster."""

from collections.abc import Mapping
from typing import Any

import click

from topbin.cli import verb
from topbin.cli.verb import engine_from, engine_options, given, request_options
from topbin.core.errors import InputError
from topbin.core.formatting import counted, visible
from topbin.core.options import DEFAULT_METHOD, Request, read_request

BY = "One estimate per value of this column."
METHOD = (
    "overlap, bbe, bbe_cp and scott are exact; dedpul, alphamax and elkan_noto read binned scores."
)
FURTHER = "negative", "decimal", "partitions", "gamma", "at_most", "at_least", "confidence"


def one_column(_: Any, __: Any, names: tuple[str, ...]) -> str | None:
    """The column to group by; of several the last would win without a word."""
    if len(names) > 1:
        raise click.UsageError("--by takes one column; for combinations, make a column of both")
    return names[0] if names else None


@click.command(cls=verb.Verb)
@click.argument("files", nargs=-1, required=True, type=click.Path())
@verb.option("--score", "Data", "The column of scores; higher = positive.", required=True)
@verb.option("--by", "Data", BY, metavar="COLUMN", multiple=True, callback=one_column)
@verb.flag("--drop-nan", "Data", "Leave out rows without a finite score.", usual=False)
@verb.flag("--skip-bad", "Data", "Leave out files that cannot be read.", usual=False)
@request_options("label", "positive")
@request_options(*FURTHER, usual=False)
@verb.option("--method", "Estimate", METHOD, default=DEFAULT_METHOD, usual=False)
@engine_options("Where the rows are counted: here or on a cluster.", default="local")
@verb.max_alpha_option("Exit 3 if an interval lies above this.")
@verb.json_option
def alpha(
    files: tuple[str, ...], max_alpha: float | None, as_json: bool, method: str, **options: Any
) -> None:
    """How many of the unlabeled are positive, from scores you already have.

    The scores must come from a model that did not train on these rows.

    \b
      topbin alpha scored.parquet --score score --label is_fraud
      topbin alpha 'days/*.parquet' --score s --label y --engine dask --scheduler tcp://head:8786
    """  # fmt: skip
    if options["label"] is None:
        raise click.UsageError("--label is missing: name the column that marks the positives")
    request = read_request(given(options))
    _check_method(method, options["by"])
    if request.labeling.asks_gamma and options["by"] is not None:
        raise click.UsageError(
            "--gamma, --at-most and --at-least need one estimate; leave out --by"
        )
    from topbin.evaluate.sensitivity import asked_sensitivity

    show = verb.screen(as_json)
    counts, estimates = _count(files, options, method, request)
    selective = None
    show.say("labels", counts.labels.note)
    for note in counts.notes:
        show.say("note", note)
    if options["by"] is None:
        whole = estimates[None]
        show.print(whole.summary())
        selective = asked_sensitivity(counts.tails[None], request.labeling, whole.confidence)
        show.print_lines([] if selective is None else selective.lines())
    else:
        show.print(_table(options["by"], estimates), soft_wrap=False)
    if as_json:
        more = {} if selective is None else {"gamma": selective}
        verb.write_json({**_plain(counts, estimates), **more})
    over = [e for e in estimates.values() if max_alpha is not None and e.interval[0] > max_alpha]
    if over:
        groups = "" if options["by"] is None else f" of {counted(len(over), 'group')}"
        show.say("threshold", f"the interval{groups} begins above {max_alpha:g}")
        raise SystemExit(verb.EXCEEDED)


def _check_method(method: str, by: str | None) -> None:
    """Before any work: refuse methods that read features, or binned scores of many groups."""
    from topbin.mpe.registry import METHODS, find_method

    needs = find_method(method).needs
    allowed = {"tails"} if by else {"tails", "scores", "probabilities"}
    if needs not in allowed:
        known = ", ".join(name for name, m in METHODS.items() if m.needs in allowed)
        what = "is not computed by group" if by else "does not read scores"
        raise InputError("TB007", f"{method!r} {what}; {known} {'are' if by else 'do'}.")


def _count(
    files: tuple[str, ...], options: Mapping[str, Any], method: str, request: Request
) -> tuple[Any, dict[Any, Any]]:
    """The counts and the estimates; the engine is open as long as either needs it."""
    from topbin.engines import bin_scores, count_from
    from topbin.mpe.registry import find_method

    rows, read, confidence = request.rows, request.read, request.certainty.confidence
    columns = {name: options[name] for name in ("score", "by", "drop_nan", "skip_bad")} | {
        "label": rows.label, "positive": rows.positive, "negative": rows.negative,
        "partitions": read.partitions, "decimal": read.decimal,
    }  # fmt: skip
    with engine_from(options) as engine:
        counts = count_from(engine, files, **columns)
        if find_method(method).needs == "tails":
            return counts, counts.estimates(method, confidence)
        return counts, {None: bin_scores(engine, counts).estimate(method, confidence)}


def _table(by: str, estimates: dict[Any, Any]) -> Any:
    from rich.table import Table

    columns = "α", "interval", "bound", "unlabeled", "positives", "alarms"
    table = Table(visible(by), *columns, box=None)
    for group, e in estimates.items():
        low, high = e.interval
        instead = {"range": "a range only", "unknown": "unknown"}
        point = instead.get(e.headline.kind, f"{e.alpha:.3f}")
        table.add_row(
            visible(_group_name(group)), point, f"{low:.3f} to {high:.3f}", f"{e.upper_bound:.3f}",
            f"{e.n_u:,}", f"{e.n_p:,}", ", ".join(alarm.code for alarm in e.alarms),
        )  # fmt: skip
    return table


def _group_name(group: Any) -> str:
    return "blank" if group is None else str(group)


def _plain(counts: Any, estimates: Mapping[Any, Any]) -> Mapping[str, Any]:
    shared = {"labels": counts.labels.note, "notes": list(counts.notes)}
    if counts.columns.by is None:
        whole = estimates[None].to_dict()
        return {**whole, **shared, "notes": [*whole["notes"], *counts.notes]}
    groups = [{"group": _group_name(group), **e.to_dict()} for group, e in estimates.items()]
    return {"by": counts.columns.by, **shared, "groups": groups}
