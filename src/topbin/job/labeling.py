"""Jobs whose labels are not random: which classifier does them, and what their report says."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import msgspec
import numpy as np

from topbin.core.errors import InputError, option
from topbin.core.estimate import Alarm
from topbin.core.formatting import percent
from topbin.core.options import Labeling
from topbin.job.prepare import Prepared
from topbin.learn.classifiers import TEDnClassifier
from topbin.learn.labeling.propensity import SAREMClassifier, matrix_columns
from topbin.learn.labeling.scar import ScarTest
from topbin.learn.labeling.subtypes import Subtypes, SubtypesClassifier, random_labels_test
from topbin.learn.labeling.subtypes import subtypes as find_subtypes
from topbin.learn.open_set import ClassShare, NovelShare, OpenSetClassifier
from topbin.store.answer import LabelingFound, plain


@dataclass(frozen=True, slots=True)
class Unread:
    """Why the subtypes, which were asked for beside an estimate, could not be read."""

    reason: str

    def alarms(self) -> tuple[Alarm, ...]:
        """None: nothing was seen."""
        return ()

    def summary(self) -> str:
        """The reason as text."""
        return f"subtypes        could not be read: {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {"reason": self.reason}


@dataclass(frozen=True, slots=True)
class Classes:
    """The shares of the known classes among the unlabeled rows, and of rows that belong to none."""

    shares: tuple[ClassShare, ...]
    novel: NovelShare

    def alarms(self) -> tuple[Alarm, ...]:
        """None: those of the estimate say it all."""
        return ()

    def summary(self) -> str:
        """The shares as text."""
        least = self.novel.at_least or 0.0
        bound = [f"at least        {percent(least)} %, for any overlap"] if least else []
        shares = (f"class           {one}" for one in self.shares)
        return "\n".join([f"novel           {self.novel}", *bound, *shares])

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        named = (replace(one, label=str(one.label)) for one in self.shares)
        return {"shares": [asdict(one) for one in named], "novel": asdict(self.novel)}


def open_set_classifier(*, positive: Any, negative: Any, **shared: Any) -> OpenSetClassifier:
    """The classifier of rows with known classes, which has no one class that is positive."""
    return OpenSetClassifier(**shared)


def classifier_for(data: Prepared, labeling: Labeling) -> Callable[..., TEDnClassifier]:
    """What makes the classifier of the careful estimate, with the parameters that are its own."""
    if data.classes is not None:
        return open_set_classifier
    named, corrects = labeling.labeled_by, labeling.subtypes == "correct"
    if not named and not corrects:
        return TEDnClassifier
    if data.rest is not None:
        raise InputError(
            "TB126",
            f"{option('labeled_by' if named else 'subtypes')} needs all rows in memory, and these "
            f"are a sample; leave out {option('sample')} and {option('engine')}.",
        )
    if corrects:
        return SubtypesClassifier
    if data.label in named:
        raise InputError(
            "TB126",
            f'"{data.label}" is the label itself; name the columns that decide who is labeled.',
        )
    places = {name: matrix_columns(data.encoder, [name]) for name in named}
    return partial(SAREMClassifier, labeled_by=places)


def labeling_of(result: Any, classifier: TEDnClassifier, y: Any) -> Any:
    """What was found about labeling: by the classifier, or apart from it if it was asked for.

    A result that was stopped early is not kept waiting, and one that is finished is not thrown away
    if the subtypes cannot be read.
    """
    if isinstance(result.classifier, OpenSetClassifier):
        return Classes(result.classifier.shares_, result.classifier.novel_)
    found = getattr(classifier, "labeling_", None)
    subtypes = result.request.labeling.subtypes
    if found is not None or subtypes is None or result.stopped:
        return found
    how: Any = {"positive": 1, "negative": classifier.negative, "n_jobs": classifier.n_jobs}
    how |= {"confidence": classifier.confidence, "random_state": classifier.random_state}
    how |= {} if result.data.kept is None else result.data.kept.arrays
    try:
        return find_subtypes(result.data.X, y, **how)
    except InputError as error:
        return Unread(error.message)


def tested_labels(data: Prepared, first: Any) -> ScarTest | None:
    """Whether labels look random, by the scores of the quick classifier; None: not tested.

    Rows in groups, images, and labels that need not be random are not tested.
    """
    asked = data.request.labeling
    is_together = data.kept is not None and data.kept.together is not None
    not_random = data.classes is not None or asked.subtypes or asked.labeled_by
    if not_random or is_together or data.by_net:
        return None
    rows = np.flatnonzero(~data.labels.is_negative)
    is_p, scores = data.labels.is_positive[rows], np.empty(rows.size)
    scores[is_p], scores[~is_p] = first.evidence_.scores
    return random_labels_test(data.X[rows], is_p, scores, seed=data.request.certainty.seed)


def labeling_found(labeling: Any) -> LabelingFound | None:
    """What an answer says about labeling; nothing if nobody asked."""
    if labeling is None:
        return None
    # The notes of an estimate already say what a propensity has to say.
    has_lines = isinstance(labeling, Subtypes | Unread | Classes)
    lines = labeling.summary().splitlines() if has_lines else []
    kind = type(labeling).__name__.lower()
    found: LabelingFound = msgspec.convert(
        plain({"kind": kind, "lines": lines, **labeling.to_dict()}), LabelingFound
    )
    return found
