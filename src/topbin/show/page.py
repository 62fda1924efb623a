"""From a result to one HTML page: no script, no request, light and dark, phone and paper."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from topbin.core.estimate import RANGE_ONLY
from topbin.core.optional import require
from topbin.show.history import HistoryDisplay
from topbin.show.scores import ScoreDisplay
from topbin.show.top_bin import TopBinDisplay

MEANING = {
    "few-positives": "With few known positives the estimate moves a lot from sample to sample.",
    "tiny-bin": "The estimate rests on a handful of rows.",
    "no-flat-top": "No group of top rows looks purely positive, so the true share may be lower.",
    "near-one": "Either nearly everything is positive, or the model cannot tell the classes apart.",
    "indistinguishable": "The features do not tell positives from unlabeled rows.",
    "reversed-scores": "Known positives have the lowest scores: the scores seem to be upside down.",
    "ties": "Many rows share a score, so they cannot be ranked against each other.",
    "outside-interval": "The method's point and the counts contradict each other.",
    "methods-disagree": "Different ways to read the same scores give different answers.",
    "shared-rows": "Some known positives seem to be listed again as unlabeled.",
    "leak": "A column that was filled in because of the label makes all other rows look negative.",
    "steep-start": "Hardly a positive is unlabeled, or there are too few rows for so many columns.",
    "diverged": "Training went astray and was stopped; an earlier state of the model was used.",
    "alpha-near-one": "While training, the model did not yet tell positives from the rest.",
}
CAPTION = {
    "TopBinDisplay": "Rows are ranked by score and cut at every place. The line is the share of "
    "unlabeled rows above a cut, divided by the share of known positives above it. Where the rows "
    "above are (almost) all positive, this ratio is α, and the line is flat.",
    "ScoreDisplay": "Scores by models that never saw the row. Known positives should stand to the "
    "right; the unlabeled rows that stand among them are the hidden positives.",
    "HistoryDisplay": "α and the training loss after each round of discarding the rows of the "
    "unlabeled that seem positive.",
}
VERDICT = {
    "agrees": "agrees with the estimate",
    "contradicts": "contradicts the estimate",
    "undecided": "too small to judge the estimate",
}


def page(
    result: Mapping[str, Any], scores: Any, candidates: Sequence[Mapping[str, Any]] = ()
) -> str:
    """The whole report; `scores` has `scores_p_`, `scores_u_` and `estimate_`."""
    return _render("page.html", result, scores, candidates)


def fragment(result: Mapping[str, Any], scores: Any) -> str:
    """The part between the body tags, for notebooks."""
    return _render("body.html", result, scores, ())


def _render(
    template: str, result: Mapping[str, Any], scores: Any, candidates: Sequence[Mapping[str, Any]]
) -> str:
    environment = Environment(
        loader=PackageLoader("topbin.show"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    displays = [
        TopBinDisplay.from_estimator(scores),
        ScoreDisplay.from_estimator(scores),
    ]
    if len(result.get("history", ())) > 1:
        displays.append(HistoryDisplay.from_history(result["history"]))
    return environment.get_template(template).render(
        result=result,
        estimate=result["estimate"],
        answer=answer(result["estimate"]),
        meaning=MEANING,
        verdict=VERDICT,
        pictures=[
            (display.ax_.get_title(), svg(display.figure_), CAPTION[type(display).__name__])
            for display in map(_draw, displays)
        ],
        candidates=candidates,
        columns=list(candidates[0]) if candidates else [],
    )


def answer(estimate: Mapping[str, Any]) -> str:
    """The answer in one sentence.

    >>> print(answer({"alpha": 0.25, "n_u": 400, "n_p": 100, "interval": (0.2, 0.3),
    ...     "confidence": 0.95}))
    About 25 % of the 400 unlabeled rows are positive (95 % interval 20 % to 30 %): 80 to 120 rows.
    """
    n_u = estimate["n_u"]
    if estimate["interval"] is None:
        return f"About {100 * estimate['alpha']:.0f} % of the {n_u:,} unlabeled rows are positive."
    low, high = estimate["interval"]
    rows = f"{low * n_u:,.0f} to {high * n_u:,.0f} rows"
    if estimate["n_p"] < RANGE_ONLY:
        return (
            f"Between {100 * low:.0f} % and {100 * high:.0f} % of the {n_u:,} unlabeled rows are "
            f"positive: {rows}. {estimate['n_p']} positives are too few for one number."
        )
    return (
        f"About {100 * estimate['alpha']:.0f} % of the {n_u:,} unlabeled rows are positive "
        f"({100 * estimate['confidence']:g} % interval {100 * low:.0f} % to {100 * high:.0f} %): "
        f"{rows}."
    )


def svg(figure: Any) -> str:
    """The figure as inline SVG with ids that depend on its content alone."""
    mpl = require("matplotlib", extra=None, caller="the report")
    plt = require("matplotlib.pyplot", extra=None, caller="the report")
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "topbin", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    return re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)


def _draw(display: Any) -> Any:
    return display.plot()
