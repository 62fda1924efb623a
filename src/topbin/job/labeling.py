"""Jobs whose labels are not random: which classifier does them, and what their report says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from topbin.core.errors import InputError
from topbin.core.estimate import Alarm
from topbin.job.prepare import Prepared
from topbin.learn.classifiers import SAREMClassifier, SubtypesClassifier, TEDnClassifier
from topbin.learn.classifiers import subtypes as find_subtypes
from topbin.learn.classifiers.labeling import matrix_columns
from topbin.learn.labeling.subtypes import Subtypes

CLASSIFIERS: dict[str, type[TEDnClassifier]] = {
    "tedn": TEDnClassifier,
    "subtypes": SubtypesClassifier,
}


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


def check_labeling(
    method: str = "tedn",
    labeled_by: str | Sequence[str] = (),
    subtypes: bool = False,
    *,
    gamma: bool = False,
    needs_interval: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """The options as they are used; what contradicts itself is refused, before any work.

    `needs_interval` are options that, if they are given, compare with an interval.

    >>> check_labeling("subtypes", ["site"])
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB126 labeled_by and subtypes explain the same labels; leave one
    out.
    """
    if method not in CLASSIFIERS:
        raise InputError(
            "TB008", f"method must be one of {', '.join(CLASSIFIERS)}; got {method!r}."
        )
    if labeled_by and (subtypes or method == "subtypes"):
        raise InputError("TB126", "labeled_by and subtypes explain the same labels; leave one out.")
    if gamma and (labeled_by or method == "subtypes"):
        raise InputError(
            "TB126",
            "gamma asks what follows if labels are not random, and labeled_by and the method "
            "subtypes correct for it; leave one out.",
        )
    limits = [name for name, value in needs_interval.items() if value is not None]
    if labeled_by and limits:
        raise InputError(
            "TB126", f"{limits[0]} needs an interval, and labeled_by gives none; leave one out."
        )
    named = [labeled_by] if isinstance(labeled_by, str) else list(labeled_by)
    return {"method": method, "labeled_by": named, "subtypes": subtypes}


def labeling_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The options about labeling in the settings of a run.

    >>> labeling_in({"labeled_by": ["site"], "preset": "fast", "subtypes": None})
    {'labeled_by': ['site']}
    """
    names = ("method", "labeled_by", "subtypes")
    return {name: settings[name] for name in names if settings.get(name)}


def classifier_for(
    data: Prepared, method: str, labeled_by: Sequence[str]
) -> tuple[type[TEDnClassifier], dict[str, Any]]:
    """The classifier of the careful estimate, and the parameters that are its own."""
    if method == "tedn" and not labeled_by:
        return TEDnClassifier, {}
    if data.rest is not None:
        raise InputError(
            "TB126",
            f"{'labeled_by' if labeled_by else 'subtypes'} needs all rows in memory, and these are "
            "a sample; leave out sample and engine.",
        )
    if not labeled_by:
        return CLASSIFIERS[method], {}
    if data.label in labeled_by:
        raise InputError(
            "TB126",
            f'"{data.label}" is the label itself; name the columns that decide who is labeled.',
        )
    places = {name: matrix_columns(data.encoder, [name]) for name in labeled_by}
    return SAREMClassifier, {"labeled_by": places}


def labeling_of(result: Any, classifier: TEDnClassifier, y: Any, subtypes: bool) -> Any:
    """What was found about labeling: by the classifier, or apart from it if it was asked for.

    A result that was stopped early is not kept waiting, and one that is finished is not thrown away
    if the subtypes cannot be read.
    """
    found = getattr(classifier, "labeling_", None)
    if found is not None or not subtypes or result.stopped:
        return found
    how: Any = {"positive": 1, "negative": classifier.negative, "n_jobs": classifier.n_jobs}
    how |= {"confidence": classifier.confidence, "random_state": classifier.random_state}
    how |= {} if result.data.kept is None else result.data.kept.arrays
    try:
        return find_subtypes(result.data.X, y, **how)
    except InputError as error:
        return Unread(error.message)


def plain_labeling(labeling: Any) -> dict[str, Any]:
    """What result.json says about labeling; nothing if nobody asked."""
    if labeling is None:
        return {}
    # The notes of an estimate already say what a propensity has to say.
    lines = labeling.summary().splitlines() if isinstance(labeling, Subtypes | Unread) else []
    kind = type(labeling).__name__.lower()
    return {"labeling": {"kind": kind, **labeling.to_dict(), "lines": lines}}
