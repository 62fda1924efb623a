"""`topbin.fit`: a first estimate in seconds, then a careful one, then candidates."""

from collections.abc import Callable, Container, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from topbin.core.checks import check_above_zero, check_count, check_fraction
from topbin.core.defaults import CONFIDENCE
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.job.prepare import Prepared, from_table
from topbin.job.result import Result
from topbin.learn.classifiers import PvUClassifier, TEDnClassifier
from topbin.learn.crossfit import Plan, chain_name
from topbin.learn.defaults import FIRST, plan_for, preset_plan
from topbin.learn.tedn import TEDN
from topbin.mpe.estimate import compared_estimates


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell whoever waits: a stage, how far it is, and an estimate if there is one."""

    stage: str
    done: int = 0
    total: int = 0
    estimate: AlphaEstimate | None = None


def fit(
    frame: Any,
    label: str | None = None,
    *,
    positive: Any = None,
    negative: Any = None,
    id: str | None = None,
    drop: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    preset: str = "good",
    review: int = 100,
    min_precision: float | None = None,
    confidence: float = CONFIDENCE,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    sample: int | None = None,
    engine: Any = None,
    memory: MutableMapping[str, Any] | None = None,
    on_event: Callable[[Event], object] | None = None,
) -> Result:
    """Do the whole job on a pandas, polars or arrow frame; `label` names the label column.

    For files larger than memory `frame` is a path, a pattern or a list of files, `sample`
    how many of the unlabeled rows train the models, and `engine` one of `topbin.engines`; see
    `topbin.job.fit_sampled`.

    An interrupt after the first estimate, or the time limit, ends the job with the best so far; the
    result's `stopped` says so. `memory` keeps the steps that are done; a job that was stopped goes
    on with it to the same answer.

    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> x = np.r_[rng.normal(5, 1, 150), rng.normal(0, 1, 150)]
    >>> frame = pd.DataFrame({"x": x, "known": np.arange(300) < 100})
    >>> result = fit(frame, "known", preset="fast")      # 50 of the 200 unlabeled are positive
    >>> 0.15 < result.estimate.alpha < 0.35
    True
    """
    if sample is not None or engine is not None:
        from topbin.engines import Local
        from topbin.job.sampled import fit_sampled

        return fit_sampled(
            engine or Local(), frame, label, sample=sample, positive=positive, negative=negative,
            id=id, drop=drop, text=text, preset=preset, review=review, min_precision=min_precision,
            confidence=confidence, time_limit=time_limit, threads=threads, seed=seed,
            on_event=on_event,
        )  # fmt: skip
    check_options(preset, review, min_precision, confidence=confidence, time_limit=time_limit)
    tell = on_event or (lambda _: None)
    data = _prepared(
        frame, label, positive=positive, negative=negative, id=id, drop=drop, text=text
    )
    s = data.labels.is_positive.astype(int) - data.labels.is_negative
    shared: dict[str, Any] = {
        "confidence": confidence,
        "random_state": seed,
        "n_jobs": threads,
        "positive": 1,
        "negative": -1 if data.labels.is_negative.any() else None,
    }
    memory = {} if memory is None else memory
    first = memory.get("first")
    if first is None:
        first = memory["first"] = PvUClassifier(plan=FIRST, **shared).fit(data.X, s)
    result = Result(
        data, first, data.doubted(first.estimate_), compared_estimates(first.evidence_),
        seed=seed, preset=preset, review=review, min_precision=min_precision,
    )  # fmt: skip
    tell(Event("first", estimate=result.first))
    plan = plan_for(TEDN, data.X, preset_plan(preset))
    careful = TEDnClassifier(
        plan=plan,
        time_limit=time_limit,
        memory=memory,
        on_event=lambda step: tell(Event("refine", step.done, step.total)),
        **shared,
    )
    result = _refined(result, careful, s)
    tell(Event("stopped" if result.stopped else "done", estimate=result.estimate))
    return result


def check_options(
    preset: str,
    review: int,
    min_precision: float | None = None,
    *,
    confidence: float = CONFIDENCE,
    time_limit: float | None = None,
) -> None:
    """Refuse what no table could fulfil, before any work.

    >>> check_options("slow", 100)
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB008 preset must be one of fast, good, best; got 'slow'.
    """
    preset_plan(preset)
    check_count(review, "review")
    if min_precision is not None:
        check_fraction(min_precision, "min_precision")
    check_fraction(confidence, "confidence")
    if time_limit is not None:
        check_above_zero(time_limit, "time_limit")


def _refined(result: Result, careful: TEDnClassifier, s: Any) -> Result:
    """The result with the careful classifier; an interrupt leaves as much of it as is whole."""
    X, plan = result.data.X, careful.plan
    try:
        careful.fit(X, s)
    except KeyboardInterrupt:
        whole = whole_repeats(careful.memory or (), plan)
        if not whole:
            return replace(result, stopped="interrupted after the first estimate")
        result = replace(result, stopped=f"interrupted after {whole} of {plan.repeats} repeats")
        fewer = replace(plan, repeats=whole)
        careful.set_params(plan=fewer, time_limit=None, on_event=None).fit(X, s)
    if careful.time_limit is not None and result.stopped is None:
        whole = whole_repeats(careful.memory or (), plan)
        result = replace(result, stopped=out_of_time(whole, plan.repeats))
    careful.set_params(memory=None)
    return replace(result, classifier=careful, methods=compared_estimates(careful.evidence_))


def whole_repeats(memory: Container[str], plan: Plan) -> int:
    """How many repeats of the plan are done to the last chain, from the first one on.

    >>> whole_repeats({"tedn-0-0", "tedn-0-1", "tedn-0-2", "tedn-1-0"}, Plan(outer=2))
    1
    """
    for repeat in range(plan.repeats):
        if not all(chain_name(TEDN, repeat, k) in memory for k in range(plan.outer + 1)):
            return repeat
    return plan.repeats


def out_of_time(whole: int, planned: int) -> str | None:
    """What a time limit did to a job of which so many repeats are whole; None if nothing.

    >>> out_of_time(1, 6), out_of_time(6, 6)
    ('time limit after 1 of 6 repeats', None)
    """
    if whole == planned:
        return None
    if whole == 0:
        return f"time limit before the first of {planned} repeats was whole"
    return f"time limit after {whole} of {planned} repeats"


def _prepared(frame: Any, label: str | None, **options: Any) -> Prepared:
    if isinstance(frame, Prepared):
        return frame
    if label is None:
        raise InputError("TB008", "label is missing: name the column that marks the positives.")
    if not isinstance(label, str):
        raise InputError(
            "TB008",
            f"label is the name of a column; got a {type(label).__name__}. Add the labels as a "
            'column, frame.assign(known=labels), and say label="known". Of positives and unlabeled '
            "rows in two frames make one: "
            "pd.concat([positives.assign(known=1), unlabeled.assign(known=0)]).",
        )
    from topbin.data.batch import Batch

    return from_table(Batch.from_frame(frame), label, **options)
