"""The options of a fit, each once.

A field of these values is at the same time a parameter in Python, an option of the command, an
entry of run.toml, a property of its JSON schema, a row of the reference page, and the check of a
folder that came from somebody else. To add an option, add a field: `options` and everything that
reads them then know it.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import product
from math import inf, isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from topbin.core.checks import as_numbers, did_you_mean
from topbin.core.errors import InputError, option

CONFIDENCE = 0.95  # of intervals and bounds
RISK = 0.05  # of a false alarm in a year of a watch, of each kind
# The method for all scores, brought or cross-fitted. Measured in bench/results/posterior.md.
DEFAULT_METHOD = "overlap"
Value = TypeVar("Value")
Names = tuple[str, ...]
Columns = str | Sequence[str]  # as people give them; kept as names
Preset = Literal["fast", "good", "best"]
SAMPLE = 100_000  # unlabeled rows to train on, if an engine is asked for and nothing else is said
MOST_SEED = 2**31 - 1
SIDES = (8, 1024)  # pixels of an image that a net takes
BadImages = Literal["leave-out", "refuse"]


def opt(default: Value, help: str, **about: Any) -> Value:
    """A field that is an option; `about` are the other fields of `Option`, and limits.

    Limits are those of `msgspec.Meta`: ge, gt, le and lt.
    """
    made: Value = field(default=default, metadata={"help": help, **about})
    return made


# --- one option ---


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `place` is the field of `Request` that has it, and `kind` its type in a file.

    In Python it can be `any` object, if it says so, such as a frame.
    """

    name: str
    place: str
    kind: Any
    default: Any
    help: str
    usual: bool = False
    any: bool = False
    text: bool = False  # a number or a truth value is kept as text
    metavar: str | None = None
    limits: Any = None

    @property
    def shown_default(self) -> str:
        """The default in words, if it says something."""
        says_nothing = self.default is None or self.default is False or self.default == ()
        return "" if says_nothing else str(self.default)

    @property
    def type(self) -> Any:
        """The type in a file, with its limits."""
        if self.limits is None:
            return self.kind if self.default is not None else self.kind | None
        # Limits are of the number, not of None.
        limited: Any = Annotated[self.plain, self.limits]
        return limited if self.plain is self.kind else limited | None

    @property
    def plain(self) -> Any:
        """The type of a value that is given."""
        if get_origin(self.kind) not in (Union, UnionType):
            return self.kind
        return next(one for one in get_args(self.kind) if one is not NoneType)

    @property
    def rule(self) -> str:
        """What a value must be, in words."""
        plain, limits = self.plain, self.limits or msgspec.Meta()
        if get_origin(plain) is Literal:
            return f"one of {', '.join(map(repr, get_args(plain)))}"
        if get_origin(plain) is tuple:
            return "text, or several texts" if plain == Names else "one or more numbers ≥ 1"
        if plain is int:
            most = f" and ≤ {limits.le}" if limits.le is not None else ""
            return f"a whole number ≥ {limits.ge or 0}{most}"
        if plain is float:
            if limits.gt == 0 and limits.lt is None:
                return "a finite number > 0"
            return "a number in (0, 1)" if limits.gt == 0 else "a number in [0, 1]"
        return "true or false" if plain is bool else "text"

    def checked(self, value: Any) -> Any:
        """The value as it is used, or TB008; text where several can be given is one of them."""
        value = value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value
        if value is None and self.default is None:
            return None
        try:
            given = self._listed(os.fspath(value) if isinstance(value, os.PathLike) else value)
            converted = msgspec.convert(given, self.type)
            if isinstance(converted, float) and not isfinite(converted):
                raise ValueError("not finite")
            return converted
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise InputError(
                "TB008", f"{option(self.name)} must be {self.rule}; got {value!r:.80}."
            ) from error

    def _listed(self, value: Any) -> Any:
        if self.kind == Names:
            return [value] if isinstance(value, str) else list(value)
        if self.kind == tuple[float, ...]:
            numbers = as_numbers(value)
            if not all(1 <= one < inf for one in numbers):
                raise ValueError("Γ is at least 1")
            return numbers
        if self.text and isinstance(value, bool | int | float):
            return str(value)
        return value

    def stored(self, value: Any) -> Any:
        """The value as a file has it; None if a file cannot have it."""
        if self.text:
            return str(value)
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if self.kind == Names:
            listed = [value] if isinstance(value, str) else value
            is_plain = isinstance(listed, list | tuple) and all(
                isinstance(one, str | os.PathLike) for one in listed
            )
            return list(map(os.fspath, listed)) if is_plain else None
        if isinstance(value, tuple):
            return list(value)
        return value if isinstance(value, str | int | float | bool) else None


def options_of(value: Any, place: str = "") -> Iterator[Option]:
    """The options that are fields of a value, or of its class."""
    hints = get_type_hints(value if isinstance(value, type) else type(value))
    for each in fields(value):
        if "help" in each.metadata:
            about = dict(each.metadata)
            named = {name: about.pop(name) for name in ("ge", "gt", "le", "lt") if name in about}
            kind = about.pop("kind", hints[each.name])
            limits = msgspec.Meta(**named) if named else None
            yield Option(each.name, place, kind, each.default, limits=limits, **about)


def settle(value: Any) -> None:
    """Check the options of a frozen value, and put them into the form in which they are used."""
    for each in options_of(value):
        if not each.any:
            object.__setattr__(value, each.name, each.checked(getattr(value, each.name)))


class Settled:
    """A frozen value that settles its options when it is made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        settle(self)


# --- the options ---


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows(Settled):
    """Which rows there are, and what their labels mean."""

    source: Any = opt(None, "The files of a table.", kind=Names, any=True)
    label: Any = opt(None, "The column that marks the positives.", kind=str, any=True, usual=True)
    positives: Any = opt(
        None, "Known positives: a table, or a folder of images or texts.",
        kind=Names, any=True, usual=True,
    )  # fmt: skip
    unlabeled: Any = opt(
        None, "Unlabeled rows, images or texts, beside positives.",
        kind=Names, any=True, usual=True,
    )  # fmt: skip
    positive: Any = opt(
        None, "The label of a positive, if not 1 or true.",
        kind=str, any=True, text=True,
    )  # fmt: skip
    negative: Any = opt(
        None, "The label of a row known to be negative.", kind=str, any=True, text=True
    )
    id: str | None = opt(None, "A column that names rows; never used as a feature.", usual=True)
    drop: Columns = opt((), "Columns to leave out; repeat, or use commas.", kind=Names)
    group: str | None = opt(None, "A column that names what rows belong to, such as a patient.")

    @property
    def main(self) -> Any:
        """The table, or the unlabeled rows."""
        return self.source if self.unlabeled is None else self.unlabeled


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Read(Settled):
    """How rows are read: `topbin.fit(..., read=topbin.Read(text="notes", dates="dmy"))`.

    Columns that are no features but have a part of their own are named here, too.

    >>> Read(dates="dym")
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB008 dates= must be one of 'dmy', 'mdy', 'ymd', 'iso'; got
    'dym'.
    """

    text: Columns = opt((), "Columns of free text, read as words.", kind=Names)
    encoder: Any = opt(
        None, "A folder with an encoder that reads the texts, or the images; lite0, lite2, none.",
        kind=str, any=True,
    )  # fmt: skip
    embeddings: Any = opt(
        None, "A file of vectors, one per row: .npy or .parquet.", kind=str, any=True
    )
    image: str | None = opt(None, "The column that has paths of images.")
    image_size: int | None = opt(
        None, "Pixels of a side.  [that of the images, ≤ 64]", ge=SIDES[0], le=SIDES[1]
    )
    image_root: str | None = opt(None, "The folder of the paths in a table, if not its own.")
    bad_images: BadImages = opt("leave-out", "What to do with images that cannot be read.")
    weight: str | None = opt(None, "A column of row weights; they train the models only.")
    time: str | None = opt(None, "A column of dates or numbers: folds are blocks of time.")
    by: Columns = opt((), "Columns such as sex or site: also estimate α per group.", kind=Names)
    classes: str | None = opt(
        None, "The column of known classes: how many unlabeled rows belong to none of them?"
    )
    dates: Literal["dmy", "mdy", "ymd", "iso"] | None = opt(
        None, "How dates in csv files are written, if not as in ISO 8601; iso leaves them as text."
    )
    decimal: Literal[",", ".", "text"] | None = opt(
        None, 'What decimals follow in csv files, where "1,234" could be either; text: no numbers.'
    )
    partitions: bool = opt(False, "Also read columns from folders called column=value.")
    sql: str | None = opt(None, "A query over the file; its rows are called data.")

    def __post_init__(self) -> None:
        settle(self)
        if not callable(self.encoder):  # in Python, a function can be the encoder
            (own,) = (each for each in options_of(self) if each.name == "encoder")
            object.__setattr__(self, "encoder", own.checked(self.encoder))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labeling(Settled):
    """What is known, or feared, about which positives are labeled.

    >>> Labeling(labeled_by="site").labeled_by, Labeling(gamma=2).gamma
    (('site',), (2.0,))
    """

    subtypes: Literal["report", "correct"] | None = opt(
        None,
        "Kinds of positives that are labeled more or less often: report them, or also correct α.",
    )
    labeled_by: Columns = opt((), "Columns that decide who is labeled.", kind=Names)
    gamma: Any = opt(
        (),
        "Intervals if the odds of being labeled differ up to Γ times.",
        metavar="Γ,Γ,…",
        kind=tuple[float, ...],
    )
    at_most: float | None = opt(
        None, "Report the largest Γ at which α is still at most this.", ge=0, le=1, metavar="SHARE"
    )
    at_least: float | None = opt(
        None, "Report the largest Γ at which α is still at least this.", ge=0, le=1, metavar="SHARE"
    )

    @property
    def asks_gamma(self) -> bool:
        """Whether the job is to say what follows if labels are not random."""
        return bool(self.gamma) or self.at_most is not None or self.at_least is not None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Budget(Settled):
    """How much work to put in, and where: `topbin.fit(..., budget="best")` or `Budget(...)`.

    `engine` is one of `topbin.engines` in Python, and its name elsewhere. `memory` is a mapping
    that keeps finished steps; with the same one, a fit that was stopped continues. `on_event` is
    called with news, and `verbose` shows them.

    >>> Budget(preset="fast", time_limit=60).time_limit
    60.0
    """

    preset: Preset = opt("good", "How much work to put in.", usual=True)
    time_limit: float | None = opt(None, "Seconds after which no new round begins.", gt=0)
    threads: int | None = opt(None, "Folds fitted at once.", ge=1)
    sample: int | None = opt(None, f"Unlabeled rows to train on.  [{SAMPLE}]", ge=1)
    engine: Any = opt(
        None, "For files larger than memory: train on a sample, score all.", kind=str, any=True
    )
    memory: Any = None
    on_event: Any = None
    verbose: bool = False

    @property
    def rows(self) -> int | None:
        """How many rows to sample; None: all. An engine alone asks for the usual sample.

        >>> Budget().rows, Budget(engine="local").rows, Budget(sample=50).rows
        (None, 100000, 50)
        """
        return SAMPLE if self.sample is None and self.engine is not None else self.sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Listing(Settled):
    """Which rows to list: so many, or all down to a precision.

    >>> Listing(candidates=20).candidates
    20
    """

    candidates: int | None = opt(
        None, "How many candidates to list.  [100, or as many as can be positive]", ge=1, usual=True
    )
    min_precision: float | None = opt(None, "Or: list rows down to this precision.", gt=0, lt=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Certainty(Settled):
    """How sure the answer is to be, and which random numbers it uses."""

    confidence: float = opt(CONFIDENCE, "Confidence level of the intervals.", gt=0, lt=1)
    seed: int = opt(0, "Random seed of folds and models.", ge=0, le=MOST_SEED)


PLACES = {
    "rows": Rows, "read": Read, "labeling": Labeling, "budget": Budget, "listing": Listing,
    "certainty": Certainty,
}  # fmt: skip
# What 0.2 called some options.
RENAMED = {"review": "candidates"}
ADDRESSES = ("scheduler", "master")  # of clusters, which 0.2 kept and nobody read again
SUBTYPES = {True: "report", False: None}


def options() -> tuple[Option, ...]:
    """All options, in the order of their places."""
    return _options(tuple(PLACES.items()))


@cache
def _options(places: tuple[tuple[str, type], ...]) -> tuple[Option, ...]:
    return tuple(one for place, kind in places for one in options_of(kind, place))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Request:
    """Everything that a fit is asked; what contradicts itself is refused, before any work.

    >>> Request(labeling=Labeling(subtypes="correct", labeled_by="site"))
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB126 labeled_by= and subtypes= explain the same labels; leave
    one out.
    """

    rows: Rows = Rows()
    read: Read = Read()
    labeling: Labeling = Labeling()
    budget: Budget = Budget()
    listing: Listing = Listing()
    certainty: Certainty = Certainty()

    def __post_init__(self) -> None:
        for place, kind in PLACES.items():
            if not isinstance(given := getattr(self, place), kind):
                raise InputError(
                    "TB008", f"{option(place)} takes a topbin.{kind.__name__}; got {given!r:.80}."
                )
        for code, message in self._contradictions():
            raise InputError(code, message)

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        """The code and the message of each thing that cannot be done."""
        rows, read, labeling = self.rows, self.read, self.labeling
        if read.classes is not None:
            one_class = {
                "label": rows.label, "positive": rows.positive, "negative": rows.negative,
                "by": read.by, "subtypes": labeling.subtypes, "labeled_by": labeling.labeled_by,
                "gamma": labeling.asks_gamma, "image": read.image, "sample": self.budget.rows,
            }  # fmt: skip
            for name in (name for name, value in one_class.items() if value):
                yield "TB008", f"{option('classes')} and {option(name)} cannot both be given."
            if rows.positives is None or rows.unlabeled is None:
                yield (
                    "TB008",
                    f"{option('classes')} needs two tables: labeled rows that have the column, and "
                    f"{option('unlabeled')} rows.",
                )
        if labeling.labeled_by and labeling.subtypes is not None:
            yield (
                "TB126",
                f"{option('labeled_by')} and {option('subtypes')} explain the same labels; leave "
                "one out.",
            )
        if labeling.asks_gamma and (labeling.labeled_by or labeling.subtypes == "correct"):
            yield (
                "TB126",
                f"{option('gamma')} asks what follows if labels are not random, and "
                f"{option('labeled_by')} and {option('subtypes', 'correct')} correct for it; leave "
                "one out.",
            )
        if labeling.labeled_by:
            yield from self._contradict_labeled_by(labeling.labeled_by)
        if read.sql is not None and rows.positives is not None:
            yield "TB008", f"{option('sql')} reads one table; leave out {option('positives')}."
        if read.sql is not None and self.budget.rows is not None:
            yield (
                "TB008",
                f"{option('sql')} needs all rows in memory; leave out {option('engine')} and "
                f"{option('sample')}.",
            )

    def _contradict_labeled_by(self, named: Sequence[str]) -> Iterator[tuple[str, str]]:
        """The same, of columns that decide who is labeled."""
        by = option("labeled_by")
        needs = {"min_precision": self.listing.min_precision, "by": self.read.by}
        for name in (name for name, value in needs.items() if value):
            yield "TB126", f"{option(name)} needs an interval, and {by} gives none; leave one out."
        others = [("id", self.rows.id), ("weight", self.read.weight), ("group", self.rows.group)]
        others += [("time", self.read.time), *(("drop", name) for name in self.rows.drop)]
        for name, (other, value) in product(named, others):
            if value == name:
                yield (
                    "TB008",
                    f'{by} and {option(other)} both name "{name}": a column that decides who is '
                    f"labeled must be a feature, but {option(other)} removes it.",
                )

    def settings(self) -> dict[str, Any]:
        """What was asked for, as run.toml has it: nothing that was left out.

        Frames and other objects of Python have no place in a file.

        >>> Request(rows=Rows(source="a.csv", label="y"), read=Read(text="note")).settings()
        {'source': ['a.csv'], 'label': 'y', 'text': ['note']}
        """
        settings: dict[str, Any] = {}
        for each in options():
            value = getattr(getattr(self, each.place), each.name)
            is_left_out = value is None or (not each.any and value == each.default)
            if not is_left_out and (stored := each.stored(value)) is not None:
                settings[each.name] = stored
        return settings


def read_request(settings: Mapping[str, Any]) -> Request:
    """The request of settings, by name, as run.toml has them; TB008 if one is unknown or wrong.

    >>> read_request({"source": ["a.csv"], "label": "y", "group": 3})
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB008 group= must be text; got 3.
    """
    known = {each.name: each for each in options()}
    given: dict[str, dict[str, Any]] = {place: {} for place in PLACES}
    for name, value in _as_now(settings).items():
        if name not in known:
            raise unknown(name, known)
        given[known[name].place][name] = known[name].checked(value)
    return Request(**{place: kind(**given[place]) for place, kind in PLACES.items()})


def _as_now(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of 0.2 under the names that they have now."""
    now = {RENAMED.get(name, name): settings[name] for name in settings if name not in ADDRESSES}
    if isinstance(now.get("subtypes"), bool):
        now["subtypes"] = SUBTYPES[now["subtypes"]]
    method = now.pop("method", "tedn")
    if method == "subtypes":
        now["subtypes"] = "correct"
    elif method != "tedn":
        now["method"] = method  # which no version has had
    return now


def unknown(name: str, known: Iterable[str]) -> InputError:
    """TB008 for an unknown option."""
    hint = did_you_mean(name, known, option)
    return InputError("TB008", f"no option is called {name!r:.80}.{hint}")
