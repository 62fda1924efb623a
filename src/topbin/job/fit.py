"""`topbin.fit`: a first estimate in seconds, then a careful one, then all rows counted and ranked.

In memory simply means that the sample is everything: then nothing is left to count.
"""

from collections.abc import Callable, Container, Iterator, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from time import monotonic
from typing import Any, Literal

import numpy as np

from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.options import (
    CONFIDENCE,
    Budget,
    Certainty,
    Labeling,
    Listing,
    Preset,
    Read,
    Request,
    Rows,
)
from topbin.engines.engine import Engine, Local, engine_of
from topbin.evaluate.sensitivity import asked_sensitivity
from topbin.job.forecast import Forecast
from topbin.job.models import Classifiers, make_classifiers, steps_of, timed_plans
from topbin.job.prepare import Prepared, prepare
from topbin.job.remedy import find_remedy
from topbin.job.result import Result
from topbin.job.score_rest import count_rest
from topbin.learn.classifiers import TEDnClassifier
from topbin.learn.crossfit import CrossFit, OutOfTime, Plan, Progress, chain_name
from topbin.learn.estimator import PUClassifier
from topbin.learn.labeling.propensity import Propensity
from topbin.learn.labeling.scar import ScarTest
from topbin.learn.labeling.subtypes import Subtypes, random_labels_test, subtypes
from topbin.learn.learners import TEDN
from topbin.learn.open_set import OpenSetClassifier
from topbin.mpe.estimate import compared_estimates, estimate_alpha
from topbin.show.screen import Event, progress_on
from topbin.store.answer import LabelingFound

LISTED = 1_000  # rows kept at least, so that more candidates can be asked for afterwards


def fit(
    source: Any = None,
    label: Any = None,
    *,
    positives: Any = None,
    positive: Any = None,
    negative: Any = None,
    id: str | None = None,
    drop: str | Sequence[str] = (),
    group: str | None = None,
    read: Read = Read(),
    labeling: Labeling = Labeling(),
    budget: Preset | Budget = "good",
    candidates: int | Listing | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Result:
    """Do the whole job on a frame or on files; `label` names the column that marks the positives.

    An interrupt after the first estimate, or the time limit of the budget, ends the job with the
    best so far, as `stopped` says.

    Parameters
    ----------
    source
        A pandas, polars or arrow frame, a path, a pattern, a folder, a list of files, an array of
        vectors, or images: folders or lists of files, or arrays of uint8 (n, height, width[,
        channels]). With `positives`, another of these, all its rows are unlabeled.
    label
        The column that marks the positives. For an array or a list of images, the labels.
    positives
        Known positives, in the form of a source.
    positive, negative
        The label of a positive, if not 1 or true, and of rows known to be negative.
    id
        A column that names rows; never used as a feature.
    drop
        Columns to leave out.
    group
        A column that names what rows belong to, such as a patient. Rows of a group are held out
        together, and intervals count groups. Rows without a group are groups of their own.
    read
        How rows are read: text, images, dates, numbers, weights, time, queries. With `by`, columns
        such as sex or site, `answer.by` has α of each group, its difference from the rest and their
        ratio, as `Result.by` has afterwards. With `classes`, a column of `positives`, the answer is
        how many rows of the source belong to no known class, and candidates are those rows.
    labeling
        What is known, or feared, about which positives are labeled.
    budget
        How much work to put in: "fast", "good" or "best"; or a `Budget`, which also has the time
        limit, and sample and engine for sources larger than memory. Of a source with more than
        four times `sample` (100,000) unlabeled rows so many, drawn at random, train the models; all
        others are scored, and give α, its interval and candidates.
    candidates
        How many rows to list; or a `Listing`, which also has a least precision. Without a number,
        100, or fewer if fewer are positive at the high end of the interval.
    confidence
        The confidence level of the intervals.
    seed
        The random seed of folds and models.

    Returns
    -------
    Result
        How many, how sure, which rows: `summary()`, `estimate`, `candidates()`, `save(folder)`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.random.default_rng(0).normal(np.repeat([5, 0], 150))
    >>> frame = pd.DataFrame({"x": x, "known": np.arange(300) < 100})    # 50 of 200 are positive
    >>> 0.15 < fit(frame, "known", budget="fast").estimate.alpha < 0.35
    True
    """
    if source is None:
        raise InputError(
            "TB008",
            "the source is missing: topbin.fit(table, label=...) for one table, or "
            "topbin.fit(unlabeled, positives=positives) for two.",
        )
    named: Any = {"source" if positives is None else "unlabeled": source}
    request = Request(
        rows=Rows(
            **named, label=label, positives=positives, positive=positive, negative=negative,
            id=id, drop=drop, group=group,
        ),
        read=read,
        labeling=labeling,
        budget=budget if isinstance(budget, Budget) else Budget(preset=budget),
        listing=candidates if isinstance(candidates, Listing) else Listing(candidates=candidates),
        certainty=Certainty(confidence=confidence, seed=seed),
    )  # fmt: skip
    with engine_of(request.budget.engine) as engine, _listener(request.budget) as tell:
        data = prepare(request, engine=engine, tell=tell)
        return fit_prepared(data, engine=engine, memory=request.budget.memory, tell=tell)


@contextmanager
def _listener(budget: Budget) -> Iterator[Callable[[Event], None]]:
    """A function that tells the caller of events, and the screen if that is asked for."""
    with ExitStack() as opened:
        listeners = [] if budget.on_event is None else [budget.on_event]
        if budget.verbose:
            from rich.console import Console

            listeners.insert(0, opened.enter_context(progress_on(Console(highlight=False))))

        def tell(event: Event) -> None:
            for listener in listeners:
                listener(event)

        yield tell


def fit_prepared(
    data: Prepared,
    *,
    engine: Engine = Local(),
    memory: MutableMapping[str, Any] | None = None,
    tell: Callable[[Event], object] = lambda _: None,
) -> Result:
    """Do what was asked for with rows that are read: the first estimate, then the careful one."""
    data.check_enough()
    if data.rest is not None:
        tell(Event("sampled", data.labels.n_u, data.n_u))
    y = data.labels.is_positive.astype(int) - data.labels.is_negative
    memory = {} if memory is None else memory
    classifiers = make_classifiers(data, memory)
    forecast = Forecast(monotonic(), classifiers.steps * steps_of(TEDN.name, memory))

    def refining(step: Progress) -> None:
        seconds_left = forecast.after_step(step.done, step.total)
        tell(Event("refine", step.done, step.total, seconds_left=seconds_left))

    time_limit = data.request.budget.time_limit
    classifiers.careful.set_params(time_limit=time_limit, on_event=refining)
    quick = classifiers.quick.fit(data.X, y, data.weight, **data.folds.arrays)
    quick.set_params(memory=None)
    classifiers.add_note_to(quick)
    methods = compared_estimates(quick.evidence_)
    result = Result(data, quick, data.with_alarms(quick.estimate_, methods), methods)
    seconds_left = forecast.after_first(*timed_plans(data))
    tell(Event("first", estimate=result.first, seconds_left=seconds_left))
    target: Any = y if data.classes is None else data.classes
    result = _refined(result, classifiers, target, engine)
    result = _checked(result, classifiers, y)
    result = replace(result, gamma=asked_sensitivity(result, data.request.labeling))
    tell(Event("stopped" if result.stopped else "done", estimate=result.estimate))
    return result


def _refined(result: Result, classifiers: Classifiers, y: Any, engine: Engine) -> Result:
    """The result with the careful classifier; an interrupt leaves as much of it as is whole."""
    data, careful = result.data, classifiers.careful
    X, plan, is_sample = data.X, careful.plan, data.rest is not None
    chains = plan.outer + (not data.by_net)  # nets of folds score new images together
    arrays = {"sample_weight": data.weight, **data.folds.arrays}
    keep: bool | Literal["first"] = is_sample or "first"  # the first repeat's models explain rows
    try:
        crossfit = careful.crossfit(X, y, **arrays, keep_chains=keep)
    except KeyboardInterrupt:
        whole = whole_repeats(careful.memory or (), plan, chains)
        if not whole:
            return replace(result, stopped="interrupted after the first estimate")
        result = replace(result, stopped=f"interrupted after {whole} of {plan.repeats} repeats")
        fewer = replace(plan, repeats=whole)
        careful.set_params(plan=fewer, time_limit=None, on_event=None)
        crossfit = careful.crossfit(X, y, **arrays, keep_chains=keep)
    except OutOfTime:
        return replace(result, stopped="time limit after the first estimate")
    if careful.time_limit is not None:
        whole = whole_repeats(careful.memory or (), plan, chains)
        result = replace(result, stopped=out_of_time(whole, plan.repeats))
    careful.set_params(memory=None, on_event=None)
    result = replace(result, chains=crossfit.folds[0])
    if is_sample:
        try:
            return _counted(result, careful, y, crossfit, engine)
        except KeyboardInterrupt:
            stopped = result.stopped or "interrupted before all rows were counted"
            result = replace(result, stopped=stopped)
    careful.fit_from(crossfit, X, y)
    classifiers.add_note_to(careful)
    return replace(result, classifier=careful, methods=_methods(careful))


def _checked(result: Result, classifiers: Classifiers, y: Any) -> Result:
    """The result after the last checks: of labels, and of columns.

    One that was stopped early is not kept waiting; an interrupt leaves the checks that are done.
    """
    data, quick, careful = result.data, classifiers.quick, classifiers.careful
    try:
        result = replace(result, labeling=_labeling(result, careful, y))
        if result.stopped:
            return result
        estimate = result.classifier.estimate_
        remedy = find_remedy(data, quick.estimate_, estimate, result.chains, careful.estimator)
        result = replace(result, found_remedy=remedy)
        if result.remedy is None:  # a leak makes labels look biased too
            result = replace(result, random_labels=_tested_labels(data, quick))
    except KeyboardInterrupt:
        return replace(result, stopped="interrupted before the last checks")
    return result


def _methods(fitted: TEDnClassifier) -> tuple[AlphaEstimate, ...]:
    """How each method reads the scores of a fit, that of its own α included."""
    estimates, estimate = compared_estimates(fitted.evidence_), fitted.estimate_
    if estimate.method in {other.method for other in estimates}:
        return estimates
    bare = replace(estimate, interval=None, upper_bound=None, confidence=None, alarms=(), notes=())
    return (*estimates, bare)


def _counted(
    result: Result, careful: TEDnClassifier, y: Any, crossfit: CrossFit, engine: Engine
) -> Result:
    """The result of a sampled fit, after the rows outside the sample are scored and counted."""
    data, listing = result.data, result.request.listing
    most = max(listing.candidates or 0, LISTED, 10 * LISTED if listing.min_precision else 0)
    all_rows = count_rest(engine, data, crossfit, careful.method, most)
    # The tails are of all rows and the scores of some, so no method may read both.
    tails = all_rows.evidence.tails
    counted = Evidence(counted=tails)
    estimate = estimate_alpha(counted, method=careful.method, confidence=careful.confidence)
    estimate = replace(estimate, notes=(*estimate.notes, *all_rows.notes))
    careful.fit_from(crossfit, data.X, y, estimate=estimate, evidence=all_rows.evidence)
    methods = compared_estimates(counted)
    return replace(result, classifier=careful, methods=methods, best=all_rows.best)


def _labeling(
    result: Result, classifier: TEDnClassifier, y: Any
) -> Subtypes | Propensity | LabelingFound | None:
    """What was found about labeling: by the classifier, or apart from it if it was asked for.

    A result that was stopped early is not kept waiting, and one that is finished is not thrown away
    if the subtypes cannot be read.
    """
    if isinstance(result.classifier, OpenSetClassifier):
        return LabelingFound.of_classes(result.classifier.shares_, result.classifier.novel_)
    labeling: Subtypes | Propensity | None = getattr(classifier, "labeling_", None)
    if labeling is not None or result.request.labeling.subtypes is None or result.stopped:
        return labeling
    try:
        return subtypes(
            result.data.X, y, positive=1, negative=classifier.negative, n_jobs=classifier.n_jobs,
            confidence=classifier.confidence or CONFIDENCE, random_state=classifier.random_state,
            **result.data.folds.arrays,
        )  # fmt: skip
    except InputError as error:
        return LabelingFound.unread(error.message)


def _tested_labels(data: Prepared, quick: PUClassifier) -> ScarTest | None:
    """Whether labels look random, by the scores of the quick classifier; None: not tested.

    Rows in groups, images, and labels that need not be random are not tested. Nor are rows of which
    some are known positives and unlabeled at once: these differ, whatever the labels are.
    """
    labeling, in_groups = data.request.labeling, data.folds.row_groups is not None
    not_random = data.classes is not None or labeling.subtypes or labeling.labeled_by
    has_copies = any(alarm.code == "shared-rows" for alarm in data.alarms)
    if not_random or in_groups or data.by_net or has_copies:
        return None
    rows = data.fitted_rows
    is_p, scores = data.labels.is_positive[rows], np.empty(rows.size)
    scores[is_p], scores[~is_p] = quick.evidence_.scores
    return random_labels_test(data.X[rows], is_p, scores, seed=data.request.certainty.seed)


def whole_repeats(memory: Container[str], plan: Plan, chains: int) -> int:
    """How many repeats of so many chains are done to the last one, from the first repeat on.

    >>> whole_repeats({"tedn-0-0", "tedn-0-1", "tedn-0-2", "tedn-1-0"}, Plan(outer=2), chains=3)
    1
    """
    for repeat in range(plan.repeats):
        if not all(chain_name(TEDN, repeat, k) in memory for k in range(chains)):
            return repeat
    return plan.repeats


def out_of_time(whole: int, planned: int) -> str | None:
    """What a time limit did to a job, from the number of whole repeats; None if nothing.

    >>> out_of_time(1, 6), out_of_time(6, 6)
    ('time limit after 1 of 6 repeats', None)
    """
    if whole == planned:
        return None
    if whole == 0:
        return f"time limit before the first of {planned} repeats finished"
    return f"time limit after {whole} of {planned} repeats"
