"""From a result to one HTML page: no script, no request, light and dark, phone and paper."""

import functools
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from topbin.core.estimate import DIRECTION, IF_ALIKE, NO_ALARMS, AlphaEstimate, Headline, Interval
from topbin.core.formatting import (
    counted,
    difference,
    figure,
    low_to_high,
    percent,
    sentence,
    visible,
)
from topbin.core.options import CONFIDENCE
from topbin.evaluate.audit import verdict_words
from topbin.evaluate.curves import pu_curves
from topbin.evaluate.sensitivity import MEANS
from topbin.evaluate.watch import Watched
from topbin.learn.explain import is_explanation, is_nearest
from topbin.show.intervals import ByDisplay, GammaDisplay, HistoryDisplay, WatchDisplay
from topbin.show.rows import Picture
from topbin.show.scores import Display, PRDisplay, ROCDisplay, ScoreDisplay, TopBinDisplay
from topbin.store.answer import Answer

WIDTH = 5.0  # inches
SHOWN = 60  # periods in the table of a watch
# Points: what is below a chart beside its legend, a line of that, the title above, and how far
# below the chart the legend begins.
LABELS, LINE, TITLE, AXIS = 45, 15.5, 23.2, 34


def page(
    answer: Answer,
    fitted: Any,
    candidates: Sequence[Mapping[str, Any]] = (),
    gallery: Sequence[Picture] = (),
) -> str:
    """The whole report; `fitted` has `evidence_` and `estimate_`, the gallery is of candidates.

    Parameters
    ----------
    answer
        What a run found.
    fitted
        Its model, with `evidence_` and `estimate_`.
    candidates
        Rows to list, each by column.
    gallery
        Pictures of candidates.

    Returns
    -------
    str
        HTML.
    """
    return _render("page.html", answer, fitted, candidates, gallery)


def fragment(answer: Answer, fitted: Any) -> str:
    """The part between the body tags, for notebooks.

    Parameters
    ----------
    answer, fitted
        As in `page`.

    Returns
    -------
    str
        HTML.
    """
    return _render("body.html", answer, fitted, ())


def _render(
    template: str,
    answer: Answer,
    fitted: Any,
    candidates: Sequence[Mapping[str, Any]],
    gallery: Sequence[Picture] = (),
) -> str:
    estimate = answer.estimate
    displays: list[Display] = [
        TopBinDisplay.from_tails(fitted.evidence_.tails, estimate),
        ScoreDisplay.from_evidence(fitted.evidence_, estimate),
    ]
    if len(answer.history) > 1:
        displays.append(HistoryDisplay.from_history(answer.history))
    render = _environment().get_template(template).render
    return render(
        answer=answer,
        estimate=estimate,
        headline=lead(answer),
        as_it_is=None if answer.remedy is None else headline(estimate),
        audited=audited_headline(answer),
        audits=[] if answer.audit is None else [answer.audit, *answer.audit.others],
        has_point=estimate.headline.kind not in ("range", "unknown"),
        shares=_shares(answer),
        bar=_bar(answer),
        has_files=template == "page.html",
        charts=[picture(display) for display in displays],
        gamma_chart=None if answer.gamma is None else picture(GammaDisplay.of(answer.gamma)),
        groupings=[(by, picture(ByDisplay(by)) if by.groups else None) for by in answer.by],
        curve_charts=[picture(display) for display in curve_displays(fitted)],
        candidates=candidates,
        gallery=gallery,
        columns=list(candidates[0]) if candidates else [],
    )


def watch_page(periods: Sequence[Watched], assumes: str, confidence: float) -> str:
    """The page: the curve, then one line per period, the last one first."""
    return _environment().get_template("watch.html").render(
        chart=picture(WatchDisplay(periods, confidence)), periods=periods[: -SHOWN - 1 : -1],
        alarms=[period for period in periods if period.alarm], assumes=assumes,
        confidence=confidence,
    )  # fmt: skip


@functools.cache
def _environment() -> Environment:
    """Where templates are, and how their values are shown; each is compiled once."""
    made = Environment(
        loader=PackageLoader("topbin.show"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown,
    )  # fmt: skip
    made.globals |= {
        "figure": figure, "difference": difference, "percent": percent, "counted": counted,
        "sentence": sentence, "low_to_high": low_to_high, "verdict_words": verdict_words,
        "direction": DIRECTION, "no_alarms": NO_ALARMS, "gamma_means": MEANS,
        "is_explanation": is_explanation,
    }  # fmt: skip
    made.tests["nearest"] = is_nearest
    return made


def _bar(answer: Answer) -> Headline:
    """What the bar below the headline shows, if it has an interval."""
    novel, audited = answer.novel, answer.audited
    if novel is not None and novel.interval is not None:
        return Headline("point", novel.share, novel.interval)
    if audited is not None:
        return Headline("point", audited.alpha, audited.interval)
    return (answer.estimate if answer.remedy is None else answer.remedy.estimate).headline


def _shares(answer: Answer) -> tuple[str, str]:
    """α and π as the headline gives them: the point, or the bound where that is the answer."""
    lead = answer.estimate.headline
    if lead.kind == "unknown":
        return "unknown", "unknown"
    sign = "≤ " if lead.kind == "bound" else ""
    return f"{sign}{figure(lead.alpha)}", f"{sign}{figure(answer.pi_at(lead.alpha))}"


def curve_displays(fitted: Any) -> list[Display]:
    """Both curves; without negatives, there is no ROC curve.

    None where positives have weights or α has no interval: bands would leave out their error.
    """
    if fitted.evidence_.weight_p is not None or fitted.estimate_.interval is None:
        return []
    curves = pu_curves(fitted, confidence=fitted.estimate_.confidence or CONFIDENCE)
    pr = PRDisplay.from_curves(curves)
    return [pr] if curves.alpha == 1 else [pr, ROCDisplay.from_curves(curves)]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn display; its title is also its alternative text."""

    title: str
    svg: str
    caption: str


def picture(display: Display) -> Chart:
    """Draw a display for the page."""
    import matplotlib.pyplot as plt

    # So small that its text can be read on a phone, where the picture is 340 px wide.
    drawn = display.plot(plt.subplots(figsize=(WIDTH, display.height))[1])
    _arrange(drawn)
    return Chart(drawn.ax_.get_title(), svg(drawn.figure_), drawn.caption)


def _shown(value: Any) -> Any:
    """Text as people may read it; drawings are markup, and stay as they are."""
    return visible(value) if type(value) is str else value


def lead(answer: Answer) -> str:
    """The sentence that leads: the answer, or that with the remedy where something is wrong."""
    if answer.labeling is not None and answer.labeling.novel is not None:
        return str(answer.labeling.novel)
    if answer.remedy is None:
        return headline(answer.estimate)
    return f"{sentence(answer.remedy.what)}: {headline(answer.remedy.estimate)}"


def headline(estimate: AlphaEstimate) -> str:
    """The answer in one sentence, after a doubt without which it must not stand.

    >>> ends = {"interval": (0.2, 0.3), "confidence": 0.95}
    >>> print(headline(AlphaEstimate(alpha=0.25, n_u=400, n_p=100, method="bbe", **ends)))
    About 25 % of the 400 unlabeled rows are positive (95 % interval 20 % to 30 %): 80 to 120 rows.
    """
    if estimate.doubt is None:
        return _share(estimate)
    share = _share(estimate)
    return f"{sentence(estimate.doubt)}. By the scores alone: {share[0].lower()}{share[1:]}"


def point_sentence(
    alpha: float, interval: Interval | None, n_u: int, confidence: float | None, by: str = ""
) -> str:
    """α with its interval, and the rows that it stands for; `by` says who found that.

    >>> print(point_sentence(0.25, (0.2, 0.3), 400, 0.9, by="the audit"))
    About 25 % of the 400 unlabeled rows are positive, by the audit (90 % interval 20 % to 30 %): 80
    to 120 rows.
    """
    said = f"About {percent(alpha)} % of the {n_u:,} unlabeled rows are positive"
    said += f", by {by}" if by else ""
    if interval is None:
        return f"{said}."
    low, high = interval
    level = f"{100 * (confidence or CONFIDENCE):g} % interval"
    rows = f"{low * n_u:,.0f} to {counted(high * n_u)}"
    return f"{said} ({level} {percent(low)} % to {percent(high)} %): {rows}."


def _share(estimate: AlphaEstimate) -> str:
    lead, n_u = estimate.headline, estimate.n_u
    if lead.kind == "unknown":
        return f"The share is unknown: {estimate.why_unknown}."
    if estimate.interval is None or lead.kind == "point":
        return point_sentence(estimate.alpha, estimate.interval, n_u, estimate.confidence)
    among = f"of the {n_u:,} unlabeled rows are positive"
    if lead.kind == "range":
        low, high = estimate.interval
        rows = f"{low * n_u:,.0f} to {counted(high * n_u)}"
        ends = f"{percent(low)} % and {percent(high)} %"
        return f"Between {ends} {among}: {rows}. {estimate.too_few}."
    point = f"{estimate.method} gives {percent(estimate.alpha)} %, which is above that bound"
    if estimate.has_no_signal:
        point = f"No signal: {estimate.why_unknown}"
    bound = f"At most {percent(lead.alpha)} % {among} {IF_ALIKE}"
    return f"{bound}: {counted(lead.alpha * n_u)}. ({point}.)"


def audited_headline(answer: Answer) -> str | None:
    """The answer with the audit in one sentence, or None if there is none."""
    audit = answer.audit
    if audit is None:
        return None
    both, alone = answer.audited or audit, audit.together is None or audit.together.alone
    by = "the audit" if alone else "scores and answers together"
    if answer.novel is not None:
        return f"{str(answer.novel)[:-1]}, by {by}."
    # The audit does not count known positives, so that few of them do not make it a range.
    return point_sentence(both.alpha, both.interval, answer.data.n_u, audit.confidence, by)


def _arrange(drawn: Display) -> None:
    """Leave room for all text. A layout engine would draw everything twice to find out how much."""
    legend, points = drawn.ax_.get_legend(), 72 * drawn.height
    below, above = (LABELS + LINE * len(legend.get_texts())) / points, 1 - TITLE / points
    legend.set_bbox_to_anchor((0.5, -AXIS / (points * (above - below))), drawn.ax_.transAxes)
    drawn.figure_.subplots_adjust(left=0.16, right=0.97, top=above, bottom=below)


def svg(figure: Any) -> str:
    """The figure as inline SVG with ids that depend on its content alone."""
    import matplotlib.pyplot as plt

    buffer = io.StringIO()
    with plt.rc_context({"svg.hashsalt": "topbin", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    return re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
