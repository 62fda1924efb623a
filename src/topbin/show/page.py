"""From a result to one HTML page: no script, no request, light and dark, phone and paper."""

import functools
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from topbin.core.estimate import DIRECTION, IF_ALIKE, RANGE_ONLY, AlphaEstimate, Interval
from topbin.core.formatting import counted, figure, percent, sentence, visible
from topbin.core.options import CONFIDENCE
from topbin.evaluate.audit import verdict_words
from topbin.evaluate.curves import pu_curves, what_to_expect
from topbin.evaluate.sensitivity import MEANS
from topbin.evaluate.watch import Watched
from topbin.show.display import Display
from topbin.show.intervals import ByDisplay, GammaDisplay, HistoryDisplay, WatchDisplay
from topbin.show.rows import Picture
from topbin.show.scores import PRDisplay, ROCDisplay, ScoreDisplay, TopBinDisplay
from topbin.store.answer import Answer

MEANING = {
    "few-positives": "With few known positives the estimate moves a lot from sample to sample.",
    "tiny-bin": "The estimate is based on very few rows.",
    "no-flat-top": "No group of top rows looks purely positive, or only clear cases are labeled.",
    "near-one": "Either nearly all rows are positive, or the model cannot separate the classes.",
    "indistinguishable": "The features do not separate positives from unlabeled rows.",
    "reversed-scores": "Known positives have the lowest scores: the scores seem to be reversed.",
    "lower-scores": "Known positives look like rows that are not positive, so the share is not to "
    "be trusted.",
    "ties": "Many rows share a score, so they cannot be ranked against each other.",
    "outside-interval": "The method's point and the counts contradict each other.",
    "methods-disagree": "Different ways to read the same scores give different answers: methods "
    "that trust one top bin err upward if it is not pure, others either way.",
    "above-bound": "The point counts rows as positive that the known positives do not account for.",
    "repeated-rows": "Models that score a row have seen a copy of it, so known positives score too "
    "high; interval and bound, which count every copy, are too narrow.",
    "near-copies": "Models that score a visit have seen the other visits of the same patient, so "
    "known positives score too high and hidden ones too low.",
    "group-column": "Models that score a row have seen other rows of the same group, so known "
    "positives score too high and hidden ones too low.",
    "shared-rows": "Some known positives seem to be listed again as unlabeled.",
    "biased-labels": "Some kinds of positives are labeled more often than others; those that are "
    "rarely labeled are then undercounted.",
    "leak": "A column that was filled in because of the label makes all other rows look negative.",
    "steep-start": "Hardly any positive is unlabeled, or too few rows have too many columns.",
    "diverged": "Training failed and was stopped; an earlier state of the model was used.",
    "unlike-prior": "The interval was learned from other data sets, and none of them is like these "
    "rows.",
    "alpha-near-one": "During training, the model did not yet separate positives from the rest.",
}
WIDTH = 5.0  # inches
SHOWN = 60  # periods in the table of a watch
# Points: what is below a chart beside its legend, a line of that, the title above, and how far
# below the chart the legend begins.
LABELS, LINE, TITLE, AXIS = 45, 15.5, 23.2, 34
CAPTION = {
    "TopBinDisplay": "Rows are ranked by score and cut at every score. The line is the share of "
    "unlabeled rows above a cut, divided by the share of known positives above it. Where the rows "
    "above are (almost) all positive, this ratio is α, and the line is flat.",
    "ScoreDisplay": "Scores by models that never saw the row. Known positives should be on the "
    "right. Where hardly any negatives score as high, the unlabeled rows among them are positive.",
    "ByDisplay": "α of each group, by scores of the same models. Intervals also contain what is "
    "not known about α of all rows, so groups can differ although their intervals overlap: the "
    "table compares each group with the rest.",
    "WatchDisplay": "α of the rows of each period, by scores of the model of the run.",
    "GammaDisplay": "The interval of α for each Γ. Besides Γ, it assumes about the overlap of the "
    "classes what the interval of the estimate assumes.",
    "PRDisplay": "If all unlabeled rows above some score are picked: the share of positives among "
    "them, against the share of all positives that is found. The band holds for the whole curve.",
    "ROCDisplay": "The share of the positives above some score, against that of the negatives. The "
    "band holds for the whole curve.",
    "HistoryDisplay": "α and the training loss after each round, in which the unlabeled rows that "
    "seem positive are discarded.",
}


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
    estimate, listed = answer.estimate, answer.candidates
    displays: list[Display] = [
        TopBinDisplay.from_tails(fitted.evidence_.tails, estimate),
        ScoreDisplay.from_evidence(fitted.evidence_, estimate),
    ]
    if len(answer.history) > 1:
        displays.append(HistoryDisplay.from_history(answer.history))
    precision = listed.precision, listed.precision_low, listed.precision_high
    render = _environment().get_template(template).render
    return render(
        result=answer,
        estimate=estimate,
        answer=lead(answer),
        as_it_is=None if answer.remedy is None else headline(estimate),
        audited=audited_headline(answer),
        audits=[] if answer.audit is None else [answer.audit, *answer.audit.others],
        has_point=estimate.worth_p >= RANGE_ONLY,
        shares=_shares(answer),
        bar=_bar(answer),
        expected=what_to_expect(estimate, *precision, answer.listed),
        has_files=template == "page.html",
        pictures=[picture(display) for display in displays],
        gamma_picture=None if answer.gamma is None else picture(GammaDisplay.of(answer.gamma)),
        by=[(one, picture(ByDisplay.of(one)) if one.groups else None) for one in answer.by],
        curve_pictures=[picture(display) for display in curve_displays(fitted)],
        candidates=candidates,
        gallery=gallery,
        columns=list(candidates[0]) if candidates else [],
    )


def watch_page(periods: Sequence[Watched], assumes: str, confidence: float) -> str:
    """The page: the curve, then one line per period, the last one first."""
    shown = picture(WatchDisplay.of(periods, confidence))
    return _environment().get_template("watch.html").render(
        picture=shown, periods=periods[: -SHOWN - 1 : -1], assumes=assumes,
        alarms=[one for one in periods if one.alarm], confidence=confidence,
    )  # fmt: skip


@functools.cache
def _environment() -> Environment:
    """Where templates are, and how their values are shown; each is compiled once."""
    made = Environment(
        loader=PackageLoader("topbin.show"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown,
    )  # fmt: skip
    made.globals |= {
        "figure": figure, "percent": percent, "counted": counted, "sentence": sentence,
        "verdict_words": verdict_words, "meaning": MEANING, "direction": DIRECTION,
        "gamma_means": MEANS,
    }  # fmt: skip
    return made


def _bar(answer: Answer) -> tuple[float, float | None, float] | None:
    """Where the bar of the headline begins and ends, and its point, if the headline has one."""
    novel = answer.novel
    if novel is not None and novel.interval is not None:
        return novel.interval[0], novel.share, novel.interval[1]
    if answer.audited is not None:
        return answer.audited.interval[0], answer.audited.alpha, answer.audited.interval[1]
    shown = answer.estimate if answer.remedy is None else answer.remedy.estimate
    if shown.interval is None:
        return None
    low, high = shown.interval
    if shown.worth_p < RANGE_ONLY:
        return low, None, high
    return (low, shown.alpha, high) if (most := shown.leading_bound) is None else (0.0, None, most)


def _shares(answer: Answer) -> tuple[str, str]:
    """α and π as the headline gives them: the point, or the bound where that is the answer."""
    if (most := answer.estimate.leading_bound) is None:
        alpha = answer.estimate.alpha
        return figure(alpha), figure(answer.pi_at(alpha))
    return f"≤ {figure(most)}", f"≤ {figure(answer.pi_at(most))}"


def curve_displays(fitted: Any) -> list[Display]:
    """Both curves; without negatives, there is no ROC curve.

    None where positives have weights or α has no interval: bands would leave out their error.
    """
    if fitted.evidence_.weight_p is not None or fitted.estimate_.interval is None:
        return []
    curves = pu_curves(fitted, confidence=fitted.estimate_.confidence or CONFIDENCE)
    pr = PRDisplay.from_curves(curves)
    return [pr] if curves.alpha == 1 else [pr, ROCDisplay.from_curves(curves)]


def picture(display: Display) -> tuple[str, str, str]:
    """A drawn display: its title, which is also its alternative text, its drawing, its caption."""
    import matplotlib.pyplot as plt

    # So small that its text can be read on a phone, where the picture is 340 px wide.
    drawn = display.plot(plt.subplots(figsize=(WIDTH, display.height))[1])
    _arrange(drawn)
    return drawn.ax_.get_title(), svg(drawn.figure_), CAPTION[type(drawn).__name__]


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
    n_u, among = estimate.n_u, f"of the {estimate.n_u:,} unlabeled rows are positive"
    point = point_sentence(estimate.alpha, estimate.interval, n_u, estimate.confidence)
    if estimate.interval is None:
        return point
    low, high = estimate.interval
    rows = f"{low * n_u:,.0f} to {counted(high * n_u)}"
    ends = f"{percent(low)} %", f"{percent(high)} %"
    if estimate.worth_p < RANGE_ONLY:
        return f"Between {' and '.join(ends)} {among}: {rows}. {estimate.too_few}."
    if (most := estimate.leading_bound) is not None:
        point = f"{estimate.method} gives {percent(estimate.alpha)} %, which is above that bound"
        if estimate.has_no_signal:
            point = "No signal: the scores do not separate positives from unlabeled rows"
        bound = f"At most {percent(most)} % {among} {IF_ALIKE}"
        return f"{bound}: {counted(most * n_u)}. ({point}.)"
    return point


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
