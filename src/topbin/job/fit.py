"""`topbin.fit`: a first estimate in seconds, then a careful one, then all rows counted and ranked.

In memory simply means that the sample is everything: then nothing is left to count.
"""

from collections.abc import Callable, Container, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
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
from topbin.job.doubts import find_remedy
from topbin.job.models import Choice, Forecast, choose_model, make_classifiers, steps_done
from topbin.job.prepare import Prepared, prepare
from topbin.job.result import Result
from topbin.job.sampling import count_rest
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
    with engine_of(request.budget.engine) as engine:
        with _listeners(request.budget) as heard:
            data = prepare(request, engine=engine, tell=_teller(heard))
        with _listeners(request.budget) as heard:
            return fit_prepared(data, engine=engine, memory=request.budget.memory, heard=heard)


def _teller(heard: Sequence[Callable[[Event], object]]) -> Callable[..., None]:
    """A function that tells everybody of a stage and how far it is."""

    def tell(stage: str, done: int = 0, total: int = 0, **more: Any) -> None:
        for each in heard:
            each(Event(stage, done, total, **more))

    return tell


@contextmanager
def _listeners(budget: Budget) -> Iterator[list[Callable[[Event], object]]]:
    """Who hears of events: the caller, and the screen if it is asked for."""
    heard = [] if budget.on_event is None else [budget.on_event]
    if not budget.verbose:
        yield heard
        return
    from rich.console import Console

    with progress_on(Console(highlight=False)) as tell:
        yield [tell, *heard]


def fit_prepared(
    data: Prepared,
    *,
    engine: Engine | None = None,
    memory: MutableMapping[str, Any] | None = None,
    heard: Sequence[Callable[[Event], object]] = (),
) -> Result:
    """Do what was asked for with rows that are read: the first estimate, then the careful one."""
    tell = _teller(heard)

    def refining(step: Progress) -> None:
        done, total = step.done, step.total
        tell("refine", done, total, seconds_left=forecast.after_step(done, total))

    data.check_enough()
    if data.rest is not None:
        tell("sampled", data.labels.n_u, data.n_u)
    y = data.labels.is_positive.astype(int) - data.labels.is_negative
    memory = {} if memory is None else memory
    choice = choose_model(data, memory)
    model = None if choice is None else choice.model
    two = make_classifiers(data, model, memory)
    two.careful.set_params(time_limit=data.request.budget.time_limit, on_event=refining)
    done_before = steps_done(memory).careful
    forecast = Forecast(monotonic(), two.steps * done_before)
    first = two.quick.fit(data.X, y, data.weight, **data.folds.arrays)
    first.set_params(memory=None)
    if choice is not None:
        choice.add_note_to(first)
    methods = compared_estimates(first.evidence_)
    result = Result(data, first, data.with_alarms(first.estimate_, methods), methods)
    tell("first", estimate=result.first, seconds_left=forecast.after_first(*two.work))
    known: Any = y if data.classes is None else data.classes
    result = _refined(result, two.careful, known, engine or Local(), choice)
    result = _checked(result, first, two.careful, y, model)
    result = replace(result, gamma=asked_sensitivity(result, data.request.labeling))
    tell("stopped" if result.stopped else "done", estimate=result.estimate)
    return result


def _refined(
    result: Result, careful: TEDnClassifier, y: Any, engine: Engine, choice: Choice | None
) -> Result:
    """The result with the careful classifier; an interrupt leaves as much of it as is whole."""
    X, plan, rest = result.data.X, careful.plan, result.data.rest is not None
    chains = plan.outer + (not result.data.by_net)  # nets of folds score new images together
    held = {"sample_weight": result.data.weight, **result.data.folds.arrays}
    keep: bool | Literal["first"] = rest or "first"  # the first repeat's models explain rows
    try:
        crossfit = careful.crossfit(X, y, **held, keep_chains=keep)
    except KeyboardInterrupt:
        whole = whole_repeats(careful.memory or (), plan, chains)
        if not whole:
            return replace(result, stopped="interrupted after the first estimate")
        result = replace(result, stopped=f"interrupted after {whole} of {plan.repeats} repeats")
        fewer = replace(plan, repeats=whole)
        careful.set_params(plan=fewer, time_limit=None, on_event=None)
        crossfit = careful.crossfit(X, y, **held, keep_chains=keep)
    except OutOfTime:
        return replace(result, stopped="time limit after the first estimate")
    if careful.time_limit is not None:
        whole = whole_repeats(careful.memory or (), plan, chains)
        result = replace(result, stopped=out_of_time(whole, plan.repeats))
    careful.set_params(memory=None, on_event=None)
    result = replace(result, chains=crossfit.folds[0])
    if rest:
        try:
            return _counted(result, careful, y, crossfit, engine)
        except KeyboardInterrupt:
            stopped = result.stopped or "interrupted before all rows were counted"
            result = replace(result, stopped=stopped)
    careful.fit_from(crossfit, X, y)
    if choice is not None:
        choice.add_note_to(careful)
    return replace(result, classifier=careful, methods=_methods(careful))


def _checked(
    result: Result, quick: PUClassifier, careful: TEDnClassifier, y: Any, model: Any
) -> Result:
    """The result after the last checks: of labels, and of columns.

    One that was stopped early is not kept waiting; an interrupt leaves the checks that are done.
    """
    data = result.data
    try:
        result = replace(result, labeling=_labeling(result, careful, y))
        if result.stopped:
            return result
        shown = result.classifier.estimate_
        remedy = find_remedy(data, quick.estimate_, shown, result.chains, model)
        result = replace(result, found_remedy=remedy)
        if result.remedy is None:  # a leak makes labels look biased too
            result = replace(result, random_labels=_tested_labels(data, quick))
    except KeyboardInterrupt:
        return replace(result, stopped="interrupted before the last checks")
    return result


def _methods(fitted: TEDnClassifier) -> tuple[AlphaEstimate, ...]:
    """How each method reads the scores of a fit, that of its own α included."""
    estimates, own = compared_estimates(fitted.evidence_), fitted.estimate_
    if own.method in {other.method for other in estimates}:
        return estimates
    own = replace(own, interval=None, upper_bound=None, confidence=None, alarms=(), notes=())
    return (*estimates, own)


def _counted(
    result: Result, careful: TEDnClassifier, y: Any, crossfit: CrossFit, engine: Engine
) -> Result:
    """The result of a sampled fit, after the rows outside the sample are scored and counted."""
    data, asked = result.data, result.request.listing
    most = max(asked.candidates or 0, LISTED, 10 * LISTED if asked.min_precision else 0)
    counted = count_rest(engine, data, crossfit, careful.method, most)
    # The tails are of all rows and the scores of some, so no method may read both.
    tails = counted.evidence.tails
    estimate = estimate_alpha(tails, method=careful.method, confidence=careful.confidence)
    estimate = replace(estimate, notes=(*estimate.notes, *counted.notes))
    careful.fit_from(crossfit, data.X, y, estimate=estimate, evidence=counted.evidence)
    methods = compared_estimates(Evidence(counted=tails))
    return replace(result, classifier=careful, methods=methods, best=counted.best)


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
    asked = result.request.labeling.subtypes
    if labeling is not None or asked is None or result.stopped:
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

    Rows in groups, images, and labels that need not be random are not tested.
    """
    asked = data.request.labeling
    is_together = data.folds.together is not None
    not_random = data.classes is not None or asked.subtypes or asked.labeled_by
    if not_random or is_together or data.by_net:
        return None
    rows = np.flatnonzero(~data.labels.is_negative)
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
