"""`topbin.fit`: a first estimate in seconds, then a careful one, then all rows counted and ranked.

In memory simply means that the sample is everything: then nothing is left to count.
"""

from collections.abc import Callable, Container, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Literal

from topbin.core.checks import check_above_zero, check_count, check_fraction
from topbin.core.defaults import CONFIDENCE
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.data.images.cache import LEAVE_OUT
from topbin.data.images.rows import Images
from topbin.engines.engine import Engine
from topbin.engines.local import Local
from topbin.evaluate.sensitivity import asked_for, sensitivity
from topbin.job.choice import Choice, choose_model
from topbin.job.images import ImageOptions, has_images, refuse_labeling
from topbin.job.labeling import check_labeling, classifier_for, labeling_of
from topbin.job.prepare import Prepared, prepare, sample_of
from topbin.job.progress import Event, Forecast, shown, work_of
from topbin.job.result import Result
from topbin.job.sweep import count_rest
from topbin.learn.classifiers import PvUClassifier, TEDnClassifier
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.crossfit import CrossFit, OutOfTime, Plan, Progress, chain_name
from topbin.learn.defaults import FIRST, default_model, plan_for, preset_plan
from topbin.learn.learners.tedn import TEDN
from topbin.mpe.estimate import compared_estimates, estimate_alpha

LISTED = 1_000  # rows kept at least, so that more candidates can be asked for afterwards


def fit(
    source: Any = None,
    label: Any = None,
    *,
    positives: Any = None,
    positive: Any = None,
    negative: Any = None,
    id: str | None = None,
    weight: str | None = None,
    drop: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    embeddings: Any = None,
    encoder: str | None = None,
    image: str | None = None,
    image_size: int | None = None,
    image_root: str | None = None,
    bad_images: str = LEAVE_OUT,
    dates: str | None = None,
    decimal: str | None = None,
    partitions: bool = False,
    method: str = "tedn",
    subtypes: bool = False,
    labeled_by: str | Sequence[str] = (),
    group: str | None = None,
    time: str | None = None,
    preset: str = "good",
    review: int = 100,
    min_precision: float | None = None,
    confidence: float = CONFIDENCE,
    gamma: Any = None,
    at_most: float | None = None,
    at_least: float | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    sample: int | None = None,
    engine: Engine | None = None,
    memory: MutableMapping[str, Any] | None = None,
    on_event: Callable[[Event], object] | None = None,
    verbose: bool = False,
) -> Result:
    """Do the whole job on a frame or on files; `label` names the column that marks the positives.

    `source` is a pandas, polars or arrow frame, a path, a pattern, a folder or a list of files.
    With `positives`, another of these, all its rows are unlabeled. `dates`, `decimal` and
    `partitions` are as in `topbin.data.open_table`. The source is read whole unless `sample` or
    `engine` (of `topbin.engines`) is given and it has more than four times `sample` (100,000)
    unlabeled rows. Then so many, drawn at random, train the models; all others are scored, and give
    α, its interval and candidates.

    `text` names columns to read by their words, beside those that look like free text; `encoder` is
    a folder with a language model that reads them instead. `embeddings` are vectors beside a table,
    one per row: an array, or a file (.npy, .parquet). An array of vectors can also be the source.

    `weight` names a column of weights. They train the models only: α, its interval and the
    candidates count every row once.

    If labels are not random: `subtypes=True` reports which kinds of positives are labeled how
    often, `method="subtypes"` lets them count accordingly, and `labeled_by` names columns on which
    it depends who is labeled.

    `gamma`, `at_most` and `at_least` ask for `topbin.sensitivity`, which the report then shows.

    Rows with the same value in the column `group`, such as visits of one patient, are held out
    together, and intervals count groups. With the column `time`, folds are blocks of time. Neither
    column is a feature. Rows without a group are groups of their own.

    Images are folders or lists of files, arrays of uint8 (n, height, width[, channels]), or a table
    whose column `image` has paths, relative to its own folder or to `image_root`, and inside it.
    They become squares of `image_size` pixels. Files that cannot be read are left out and named, or
    with `bad_images="refuse"` an error. For an array or a list of files `label` may be the labels.

    An interrupt after the first estimate, or the time limit, ends the job with the best so far, as
    `stopped` says. With the same `memory` it continues. `verbose` shows how long it will take.

    >>> import numpy as np, pandas as pd
    >>> x = np.random.default_rng(0).normal(np.repeat([5, 0], 150))
    >>> frame = pd.DataFrame({"x": x, "known": np.arange(300) < 100})    # 50 of 200 are positive
    >>> 0.15 < fit(frame, "known", preset="fast").estimate.alpha < 0.35
    True
    """
    check_options(preset, review, min_precision, confidence=confidence, time_limit=time_limit)
    selective = asked_for(gamma, at_most, at_least)
    limits = {"min_precision": min_precision}
    labeling = check_labeling(
        method, labeled_by, subtypes, gamma=selective is not None, needs_interval=limits
    )
    named: Any = {"positives": positives, "positive": positive, "negative": negative, "id": id}
    read: Any = {"drop": drop, "text": text, "dates": dates, "decimal": decimal}
    read |= {"partitions": partitions, "weight": weight, "group": group, "time": time}
    read |= {"embeddings": embeddings, "encoder": encoder}
    pictures = ImageOptions(image, image_size, image_root, bad_images)
    with _listeners(on_event, verbose) as heard:
        how = replace(pictures, tell=_decoding(heard))
        data = _prepared(source, label, sample, engine, how, seed=seed, **named, **read)
    asked = {"seed": seed, "preset": preset, "review": review, "min_precision": min_precision}
    shared = {"confidence": confidence, "random_state": seed, "n_jobs": threads, "memory": memory}
    data.check_enough()
    with _listeners(on_event, verbose) as heard:
        found = _fit(data, engine or Local(), asked, shared, time_limit, heard, labeling)
    return replace(found, gamma=None if selective is None else sensitivity(found, **selective))


def _prepared(
    source: Any,
    label: Any,
    sample: int | None,
    engine: Engine | None,
    images: ImageOptions,
    **named: Any,
) -> Prepared:
    """The rows of a source, if they are not prepared already."""
    if isinstance(source, Prepared):
        return source
    if source is None:
        raise InputError(
            "TB008",
            "the source is missing: topbin.fit(table, label=...) for one table, or "
            "topbin.fit(unlabeled, positives=positives) for two.",
        )
    rows = sample_of({"sample": sample, "engine": engine})
    how = images if has_images(source, named["positives"], images) else None
    return prepare(source, label, images=how, sample=rows, engine=engine, **named)


def _decoding(heard: Sequence[Callable[[Event], object]]) -> Callable[[int, int], None]:
    """A function that tells everybody how many images are decoded."""

    def tell(done: int, total: int) -> None:
        for each in heard:
            each(Event("decode", done, total))

    return tell


@contextmanager
def _listeners(
    on_event: Callable[[Event], object] | None, verbose: bool
) -> Iterator[list[Callable[[Event], object]]]:
    """Who hears of events: the caller, and the screen if it is asked for."""
    heard = [] if on_event is None else [on_event]
    if not verbose:
        yield heard
        return
    from rich.console import Console

    with shown(Console(highlight=False)) as tell:
        yield [tell, *heard]


def _fit(
    data: Prepared,
    engine: Engine,
    asked: dict[str, Any],
    shared: dict[str, Any],
    time_limit: float | None,
    heard: Sequence[Callable[[Event], object]],
    labeling: dict[str, Any],
) -> Result:
    """The first estimate, then the careful one; `shared` are parameters of both classifiers."""

    def tell(stage: str, done: int = 0, total: int = 0, **more: Any) -> None:
        for each in heard:
            each(Event(stage, done, total, **more))

    def told(step: Progress) -> None:
        done, total = step.done, step.total
        tell("refine", done, total, seconds_left=forecast.after_step(done, total))

    shared["memory"] = {} if shared["memory"] is None else shared["memory"]
    shared |= {"positive": 1, "negative": -1 if data.labels.is_negative.any() else None}
    if data.rest is not None:
        tell("sampled", data.labels.n_u, data.n_u)
    y = data.labels.is_positive.astype(int) - data.labels.is_negative
    limit = {"time_limit": time_limit, "on_event": told}
    subtypes = labeling.pop("subtypes")
    if isinstance(data.X, Images):
        refuse_labeling(**labeling, subtypes=subtypes)
    choice = _choice(data, labeling, shared)
    shared |= {} if choice is None else {"estimator": choice.model}
    two = _classifiers(data, asked["preset"], labeling, shared, limit)
    kept = sum(name.startswith(TEDN.name) for name in shared["memory"])
    forecast = Forecast(monotonic(), two.steps * kept)
    held = {} if data.kept is None else data.kept.arrays
    first = two.quick.fit(data.X, y, data.weight, **held)
    first.set_params(memory=None)
    if choice is not None:
        choice.tell(first)
    methods = compared_estimates(first.evidence_)
    result = Result(data, first, data.with_alarms(first.estimate_, methods), methods, **asked)
    tell("first", estimate=result.first, seconds_left=forecast.after_first(*two.work))
    result = _refined(result, two.careful, y, engine, choice)
    result = replace(result, labeling=labeling_of(result, two.careful, y, subtypes))
    tell("stopped" if result.stopped else "done", estimate=result.estimate)
    return result


def _choice(data: Prepared, labeling: dict[str, Any], shared: dict[str, Any]) -> Choice | None:
    """The model for text or vectors; other ways of labeling take the default one."""
    if labeling["method"] != "tedn" or labeling["labeled_by"]:
        return None
    return choose_model(data, shared["random_state"], shared["memory"], shared["n_jobs"])


@dataclass(frozen=True, slots=True)
class _Classifiers:
    """The quick classifier, the careful one, and plans that are worth as much work as each.

    `steps` is how many events the careful one sends for each of its chains.
    """

    quick: PUClassifier
    careful: TEDnClassifier
    work: tuple[Plan, Plan]
    steps: int = 1


def _classifiers(
    data: Prepared,
    preset: str,
    labeling: dict[str, Any],
    shared: dict[str, Any],
    limit: dict[str, Any],
) -> _Classifiers:
    """Nets for images, and for tables the default models."""
    if isinstance(data.X, Images):
        from topbin.learn.classifiers.images import FIRST_IMAGES, effort_of, image_classifier

        first, effort = FIRST_IMAGES, effort_of(preset)
        net = image_classifier(first, len(data.X), is_first=True, **shared)
        nets = image_classifier(effort, len(data.X), **shared, **limit)
        return _Classifiers(net, nets, (first.work, effort.work), nets.steps)
    plan, quick = plan_for(TEDN, data.X, preset_plan(preset)), FIRST
    if data.kept is not None:
        plan, quick = (data.kept.plan(each, data.labels) for each in (plan, FIRST))
    kind, own = classifier_for(data, **labeling)
    careful = kind(plan=plan, **own, **limit, **shared)
    return _Classifiers(PvUClassifier(plan=quick, **shared), careful, (quick, plan))


def steps_of_first(data: Prepared) -> int:
    """How many steps the first estimate has; for tables one of them is for new rows."""
    if not isinstance(data.X, Images):
        return FIRST.outer + 1
    from topbin.learn.classifiers.images import FIRST_IMAGES

    return FIRST_IMAGES.folds


def foresee(data: Prepared, preset: str) -> float:
    """Seconds that the fit of these rows will take, from the time that one model takes now.

    What is not training (encoding, counting, writing) is not in it; a cross-fit fits one model
    more per repeat, for new rows.
    """
    data.check_enough()
    X, is_p = data.X, data.labels.is_positive
    if isinstance(X, Images):
        from topbin.learn.classifiers.images import foresee_images

        return foresee_images(X, is_p, preset)
    model = default_model(X)
    began = monotonic()
    model.fit(X, is_p.astype(int)).predict_proba(X)
    plan = plan_for(TEDN, X, preset_plan(preset))
    work = work_of(FIRST) + work_of(plan) * (1 + 1 / plan.outer)
    return (monotonic() - began) * work


def check_options(
    preset: str,
    review: int,
    min_precision: float | None = None,
    *,
    confidence: float = CONFIDENCE,
    time_limit: float | None = None,
    sample: int | None = None,
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
    if sample is not None:
        check_count(sample, "sample")


def _refined(
    result: Result, careful: TEDnClassifier, y: Any, engine: Engine, choice: Choice | None
) -> Result:
    """The result with the careful classifier; an interrupt leaves as much of it as is whole."""
    X, plan, rest = result.data.X, careful.plan, result.data.rest is not None
    chains = plan.outer + (not isinstance(X, Images))  # nets of folds score new images together
    held = {} if result.data.kept is None else result.data.kept.arrays
    held = {"sample_weight": result.data.weight, **held}
    keep: bool | Literal["first"] = rest or "first"  # the first repeat's models explain rows
    try:
        found = careful.crossfit(X, y, **held, keep_chains=keep)
    except KeyboardInterrupt:
        whole = whole_repeats(careful.memory or (), plan, chains)
        if not whole:
            return replace(result, stopped="interrupted after the first estimate")
        result = replace(result, stopped=f"interrupted after {whole} of {plan.repeats} repeats")
        fewer = replace(plan, repeats=whole)
        careful.set_params(plan=fewer, time_limit=None, on_event=None)
        found = careful.crossfit(X, y, **held, keep_chains=keep)
    except OutOfTime:
        return replace(result, stopped="time limit after the first estimate")
    if careful.time_limit is not None:
        whole = whole_repeats(careful.memory or (), plan, chains)
        result = replace(result, stopped=out_of_time(whole, plan.repeats))
    careful.set_params(memory=None, on_event=None)
    result = replace(result, chains=found.folds[0])
    if rest:
        try:
            return _counted(result, careful, y, found, engine)
        except KeyboardInterrupt:
            stopped = result.stopped or "interrupted before all rows were counted"
            result = replace(result, stopped=stopped)
    careful.fit_from(found, X, y)
    if choice is not None:
        choice.tell(careful)
    return replace(result, classifier=careful, methods=_methods(careful))


def _methods(fitted: TEDnClassifier) -> tuple[AlphaEstimate, ...]:
    """How each method reads the scores of a fit, that of its own α included."""
    found, own = compared_estimates(fitted.evidence_), fitted.estimate_
    if own.method in {other.method for other in found}:
        return found
    plain: Any = {
        "interval": None,
        "upper_bound": None,
        "confidence": None,
        "alarms": (),
        "notes": (),
    }
    return (*found, replace(own, **plain))


def _counted(
    result: Result, careful: TEDnClassifier, y: Any, found: CrossFit, engine: Engine
) -> Result:
    """The result of a sampled fit, after the rows outside the sample are scored and counted."""
    data = result.data
    most = max(result.review, LISTED, 10 * LISTED if result.min_precision else 0)
    counted = count_rest(engine, data, found, careful.method, most)
    # The tails are of all rows and the scores of some, so no method may read both.
    tails = counted.evidence.tails
    estimate = estimate_alpha(tails, method=careful.method, confidence=careful.confidence)
    estimate = replace(estimate, notes=(*estimate.notes, *counted.notes))
    careful.fit_from(found, data.X, y, estimate=estimate, evidence=counted.evidence)
    methods = compared_estimates(Evidence(counted=tails))
    return replace(result, classifier=careful, methods=methods, best=counted.best)


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
        return f"time limit before the first of {planned} repeats was whole"
    return f"time limit after {whole} of {planned} repeats"
