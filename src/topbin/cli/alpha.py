"""`topbin alpha`: α from scores you already have, of any size, counted here or on a cluster."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from topbin.cli.engines import engine_options, open_engine
from topbin.cli.verb import PASSED, Grouped, Verb, screen, write_json

Function = TypeVar("Function", bound=Callable[..., Any])


def _option(*names: str, group: str, **settings: Any) -> Callable[[Function], Function]:
    return click.option(*names, cls=Grouped, group=group, show_default=True, **settings)


@click.command(cls=Verb)
@click.argument("files", nargs=-1, required=True)
@_option("--score", group="Data", required=True, help="The column of scores; higher = positive.")
@_option("--by", group="Data", metavar="COLUMN", help="Estimate each of its values apart.")
@_option("--drop-nan", group="Data", is_flag=True, help="Leave out rows without a finite score.")
@_option("--skip-bad", group="Data", is_flag=True, help="Leave out files that cannot be read.")
@_option("--label", group="Labels", required=True, help="The column that marks the positives.")
@_option("--positive", group="Labels", help="Its value for a positive, if not 1 or true.")
@_option("--negative", group="Labels", help="Its value for a row known to be negative.")
@_option(
    "--method",
    group="Estimate",
    default="bbe_cp",
    help="bbe, bbe_cp and scott are exact; dedpul, alphamax and elkan_noto read binned scores.",
)
@_option("--confidence", group="Estimate", default=0.95, help="Of the interval and the bound.")
@engine_options("What counts the rows.", default="local")
@_option("--max-alpha", group="Output", type=float, help="Exit 3 if an interval lies above this.")
@_option("--json", "as_json", group="Output", is_flag=True, help="Only JSON on standard output.")
@click.pass_context
def alpha(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    max_alpha: float | None,
    as_json: bool,
    method: str,
    confidence: float,
    **options: Any,
) -> None:
    """How many of the unlabeled are positive, from scores you already have.

    The scores must come from a model that did not train on these rows.

    \b
      topbin alpha scored.parquet --score score --label is_fraud
      topbin alpha 'days/*.parquet' --score s --label y --engine dask --scheduler tcp://head:8786
    """  # fmt: skip
    _check_method(method, confidence, options["by"])
    show = screen(as_json)
    counted, found = _count(files, options, method, confidence)
    show.print(f"labels          {counted.labels.note}", soft_wrap=True)
    for note in counted.notes:
        show.print(f"note            {note}", soft_wrap=True)
    if options["by"] is None:
        show.print(found[None].summary(), soft_wrap=True)
    else:
        show.print(_table(options["by"], found))
    if as_json:
        write_json(_plain(counted, found))
    over = [group for group, e in found.items() if max_alpha is not None and _low(e) > max_alpha]
    if over:
        of = "the interval" if options["by"] is None else f"the interval of {len(over):,} groups"
        show.print(f"threshold       {of} begins above {max_alpha:g}")
        ctx.exit(PASSED)


def _check_method(method: str, confidence: float, by: str | None) -> None:
    """Before any work: what reads features, and what reads binned scores of many groups."""
    from topbin.core.checks import check_fraction
    from topbin.core.errors import InputError
    from topbin.mpe import METHODS
    from topbin.mpe.registry import find_method

    check_fraction(confidence, "confidence")
    needs = find_method(method).needs
    allowed = {"tails"} if by else {"tails", "scores", "probabilities"}
    if needs not in allowed:
        known = ", ".join(name for name, m in METHODS.items() if m.needs in allowed)
        what = "is not computed by group" if by else "does not read scores"
        raise InputError("TB007", f"{method!r} {what}; {known} {'are' if by else 'do'}.")


def _count(
    files: tuple[str, ...], options: dict[str, Any], method: str, confidence: float
) -> tuple[Any, dict[Any, Any]]:
    """The counts and the estimates; the engine is open as long as either needs it."""
    from topbin.engines import bin_scores, count_from
    from topbin.mpe.registry import find_method

    wanted = ("score", "label", "by", "drop_nan", "skip_bad")
    roles = {role: _value(options[role]) for role in ("positive", "negative")}
    with open_engine(options) as engine:
        counted = count_from(engine, files, **{key: options[key] for key in wanted}, **roles)
        if find_method(method).needs == "tails":
            return counted, counted.estimates(method, confidence)
        return counted, {None: bin_scores(engine, counted).estimate(method, confidence)}


def _value(text: str | None) -> Any:
    from topbin.data.parts import meant

    return meant(text)


def _low(estimate: Any) -> float:
    return float(estimate.interval[0])


def _table(by: str, found: dict[Any, Any]) -> Any:
    from rich.table import Table

    from topbin.core.defaults import RANGE_ONLY

    table = Table(by, "α", "interval", "bound", "unlabeled", "positives", "alarms", box=None)
    for group, e in found.items():
        low, high = e.interval
        point = "a range only" if e.n_p < RANGE_ONLY else f"{e.alpha:.3f}"
        table.add_row(
            _name(group), point, f"{low:.3f} to {high:.3f}", f"{e.upper_bound:.3f}",
            f"{e.n_u:,}", f"{e.n_p:,}", ", ".join(alarm.code for alarm in e.alarms),
        )  # fmt: skip
    return table


def _name(group: Any) -> str:
    return "blank" if group is None else str(group)


def _plain(counted: Any, found: dict[Any, Any]) -> dict[str, Any]:
    shared = {"labels": counted.labels.note, "notes": list(counted.notes)}
    if counted.by is None:
        estimate = found[None].to_dict()
        return {**estimate, **shared, "notes": [*estimate["notes"], *counted.notes]}
    groups = [{"group": _name(group), **e.to_dict()} for group, e in found.items()]
    return {"by": counted.by, **shared, "groups": groups}
