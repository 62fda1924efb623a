"""Reading labels and answers: which rows are positive; the rest is unlabeled, or named negative.

What the values of a label column mean is decided in one place, `resolve_labels`, from how many rows
hold each value. That is the same for a list, a file, and parts of files on a cluster; afterwards
the labels of any rows are a lookup.

What people write in cells (yes, no, "I am not sure", and that there is no value) is listed once, so
that a label, an answer of an audit, a score and a cell of a table are read alike.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.checks import unmasked
from topbin.core.errors import NEXT, InputError, option
from topbin.core.formatting import counted

# No value, in a column of any kind, spelled exactly so; the last ones are errors of spreadsheets.
NO_VALUE = (
    "", "NA", "N/A", "NaN", "nan", "NULL", "null",
    "#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!",
)  # fmt: skip
# No value where an answer is expected, in any case; elsewhere "none" is a word like others.
NO_ANSWER = frozenset(
    {*(word.casefold() for word in NO_VALUE), "none", "nil", "nat", "<na>", "blank"}
)
# No value where a number is expected: also signs and words that could be an answer elsewhere.
NO_NUMBER = NO_ANSWER | {
    "?", "??", "-", "--", "–", "—", ".", "..", "...", "…", "*",
    "n.a.", "n.a", "nd", "n.d.", "k.a.", "k. a.", "unknown", "missing", "not available",
    "not known", "unbekannt", "fehlt", "inconnu", "desconocido", "desconhecido", "sconosciuto",
    "onbekend", "неизвестно",
}  # fmt: skip
# Yes and no in languages with many readers, and the truth values of their spreadsheets.
YES_AND_NO = (
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("positive", "negative"),
    ("pos", "neg"), ("p", "neg"),
    ("ja", "nein"), ("j", "n"), ("wahr", "falsch"), ("ja", "nee"), ("ja", "nej"), ("ja", "nei"),
    ("oui", "non"), ("vrai", "faux"), ("sí", "no"), ("si", "no"), ("sì", "no"),
    ("verdadero", "falso"), ("vero", "falso"), ("sim", "não"), ("sim", "nao"),
    ("verdadeiro", "falso"), ("da", "nu"), ("да", "нет"), ("истина", "ложь"), ("так", "ні"),
    ("да", "не"), ("da", "ne"), ("ano", "ne"), ("tak", "nie"), ("áno", "nie"), ("igen", "nem"),
    ("kyllä", "ei"), ("evet", "hayır"), ("evet", "hayir"), ("ναι", "όχι"), ("ya", "tidak"),
    ("có", "không"),
    ("はい", "いいえ"), ("是", "否"), ("是", "不是"), ("예", "아니오"), ("네", "아니요"),
    ("نعم", "لا"), ("כן", "לא"), ("हाँ", "नहीं"),
)  # fmt: skip
YES = frozenset(yes for yes, _ in YES_AND_NO)
NO = frozenset(no for _, no in YES_AND_NO)
NOT_SURE = frozenset({"?", "unsure", "unknown", "maybe", "unclear", "u"})
POSITIVE, NEGATIVE, UNSURE, BLANK = "positive", "negative", "unsure", "blank"  # answers, as read
MEANING = {
    **dict.fromkeys((*NO_ANSWER, BLANK), BLANK),
    **dict.fromkeys((*NOT_SURE, UNSURE), UNSURE),
    **dict.fromkeys(("1", "1.0", *YES, POSITIVE), POSITIVE),
    **dict.fromkeys(("0", "0.0", "-1", "-1.0", *NO, NEGATIVE), NEGATIVE),
}


def plain_word(value: object) -> str:
    """A cell as it is looked up: without case, outer spaces, and ways to write an accent.

    >>> plain_word(" SI\\u0301 ") in YES, plain_word(True), plain_word(None) in NO_NUMBER
    (True, 'true', True)
    """
    return unicodedata.normalize("NFC", str(value)).strip().casefold()


def read_answers(answers: Any) -> list[str]:
    """Each answer as "positive", "negative", "unsure" or "blank".

    Yes and no may be in any of the languages of `YES_AND_NO`, and what this function
    returns can be read again.

    Parameters
    ----------
    answers
        Words, numbers, truth values or empty cells.

    Returns
    -------
    list of str
        One word per answer; TB002 if one is not understood.

    Examples
    --------
    >>> read_answers([1, "No", "?", None, "Ja", "não", "blank"])
    ['positive', 'negative', 'unsure', 'blank', 'positive', 'negative', 'blank']
    """
    values = answers.tolist() if hasattr(answers, "tolist") else list(answers)
    words = [plain_word(value) for value in values]
    strange = Counter(word for word in words if word not in MEANING)
    if strange:
        shown = ", ".join(f"{word!r} ({count:,})" for word, count in strange.most_common(5))
        raise InputError(
            "TB002",
            f"audit answers not understood: {shown}. Write yes or no, ? where you are unsure, "
            "or leave the cell empty.",
        )
    return [MEANING[word] for word in words]


Mask = NDArray[np.bool_]
SHOWN = 8
LONGEST = 60  # characters of a value in a message
GUESSED = 5  # a column with more values is probably not a label column
FEW = 8  # up to this many values, one comparison per value is faster than a count of all
LOOKS_POSITIVE = {"1", "1.0", *YES}
LOOKS_NEGATIVE = {"-1", "-1.0", *NO}


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column as positions in a short list of values; missing, blank and NaN are None."""

    values: list[Any]
    codes: NDArray[np.integer[Any]]

    @classmethod
    def from_codes(cls, codes: NDArray[np.integer[Any]], values: list[Any]) -> "Coded":
        """Values that are equal as labels share one code; the code −1 means missing.

        >>> Coded.from_codes(np.array([0, 1, -1]), ["a", "a "])
        Coded(values=['a', None], codes=array([0, 0, 1]))
        """
        place: dict[Any, int] = {}
        keys = [label_key(value) for value in [*values, None]]
        moved = np.array([place.setdefault(key, len(place)) for key in keys])
        return cls(list(place), moved[codes])

    def where(self, chosen: Callable[[Any], Any]) -> Mask:
        """Which rows hold a value for which `chosen` is true."""
        holds = np.array([bool(chosen(value)) for value in self.values])
        if np.count_nonzero(holds) == 1:
            return np.asarray(self.codes == holds.argmax())
        return np.take(holds, self.codes)

    def counts(self) -> dict[Any, int]:
        """How many rows hold each value."""
        if not self.codes.size:
            return {}
        if len(self.values) <= FEW:
            rows = [int(np.count_nonzero(self.codes == i)) for i in range(1, len(self.values))]
            rows.insert(0, self.codes.size - sum(rows))
        else:
            rows = np.bincount(self.codes, minlength=len(self.values)).tolist()
        return {value: n for value, n in zip(self.values, rows, strict=True) if n}

    def at(self, index: Any) -> "Coded":
        """The same values at some of the rows."""
        return Coded(self.values, self.codes[index])


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Which rows are positive, which are known negatives, and how that was read.

    >>> labels = read_labels([1, 0, 0, 1])
    >>> labels.is_positive, labels.n_p, labels.n_u
    (array([ True, False, False,  True]), 2, 2)
    >>> labels.note
    '1 = positive (2 rows), 0 = unlabeled (2 rows)'
    """

    is_positive: Mask
    is_negative: Mask
    positive: Any
    unlabeled: tuple[Any, ...]
    note: str

    def __repr__(self) -> str:
        return f"<Labels: {self.note}>"

    @property
    def is_unlabeled(self) -> Mask:
        """Rows that are neither positive nor known negative."""
        return ~(self.is_positive | self.is_negative)

    @property
    def n_p(self) -> int:
        """How many rows are labeled positive."""
        return int(self.is_positive.sum())

    @property
    def n_u(self) -> int:
        """How many rows are unlabeled."""
        return int(self.is_unlabeled.sum())


@dataclass(frozen=True, slots=True)
class LabelValues:
    """What each value of a label column means, and how many rows hold it.

    >>> values = resolve_labels({"yes": 2, None: 5})
    >>> values.positive, values.n_p, values.n_u
    ('yes', 2, 5)
    >>> values.is_positive(Coded([None, "yes"], np.array([0, 1, 1])))
    array([False,  True,  True])
    """

    counts: Mapping[Any, int]
    positive: Any
    negative: Any
    note: str

    @property
    def unlabeled(self) -> tuple[Any, ...]:
        """The values of rows whose label is unknown."""
        return tuple(value for value in self.counts if self._is_unlabeled(value))

    @property
    def n_p(self) -> int:
        """How many rows are labeled positive."""
        return self.counts[self.positive]

    @property
    def n_n(self) -> int:
        """How many rows are known to be negative."""
        return 0 if self.negative is None else self.counts[self.negative]

    @property
    def n_u(self) -> int:
        """How many rows are unlabeled."""
        return sum(self.counts.values()) - self.n_p - self.n_n

    def is_positive(self, coded: Coded) -> Mask:
        """Which of these rows are positive."""
        return coded.where(lambda value: value == self.positive)

    def is_unlabeled(self, coded: Coded) -> Mask:
        """Which of these rows are unlabeled; a value that was not counted is not."""
        return coded.where(lambda value: value in self.counts and self._is_unlabeled(value))

    def read(self, coded: Coded) -> Labels:
        """The labels of these rows."""
        is_negative = coded.where(lambda value: value is not None and value == self.negative)
        meaning = self.positive, self.unlabeled, self.note
        return Labels(self.is_positive(coded), is_negative, *meaning)

    def _is_unlabeled(self, value: Any) -> bool:
        return value is None or value not in (self.positive, self.negative)


def read_labels(s: Any, *, positive: Any = None, negative: Any = None) -> Labels:
    """Read a label column: {1, 0}, {1, −1}, bool, 1/NaN/None, or any values with `positive=`.

    With `positive=` every other value is unlabeled, except `negative=`, which marks rows known
    to be negative. Without it, a value that is the only one beside blanks is the positive one, and
    other values than those above are an error that shows them.

    Parameters
    ----------
    s
        One label per row.
    positive
        The value that means positive; the others are unlabeled.
    negative
        The value of rows that are known to be negative.

    Returns
    -------
    Labels
        Which rows are positive, unlabeled or negative, and how that was read.

    Examples
    --------
    >>> read_labels(["yes", "no", ""], positive="yes").note
    "'yes' = positive (1 row), 'no' = unlabeled (1 row), blank = unlabeled (1 row)"
    >>> read_labels(["ja", None, ""]).note
    "'ja' = positive (1 row), blank = unlabeled (2 rows); there is no other value"
    """
    coded = code_labels(s)
    return resolve_labels(coded.counts(), positive=positive, negative=negative).read(coded)


def resolve_labels(
    counts: Mapping[Any, int],
    *,
    positive: Any = None,
    negative: Any = None,
    name: str = "the label column",
) -> LabelValues:
    """Decide what the values of a label column mean, from the number of rows that hold each.

    `positive` and `negative` are values of the column, or words that spell them: "1" also means
    the number 1, "true" the truth value, and "yes" also "Yes".

    >>> resolve_labels({1: 7, 0: 10**12}).note
    '1 = positive (7 rows), 0 = unlabeled (1,000,000,000,000 rows)'
    >>> resolve_labels({1.0: 2, 0.0: 3}, positive="1").positive
    1.0
    """
    if not counts:
        raise InputError("TB001", f"{name} has no rows.")
    counts = {value: counts[value] for value in sorted(counts, key=_rank)}
    more = ""
    if positive is None and negative is None:
        wanted = _clear_value(counts, name)
        more = "" if _is_plain(wanted) else "; there is no other value"
    else:
        wanted = _own_value(counts, 1 if positive is None else positive, "positive")
        negative = _own_value(counts, negative, "negative")
        if wanted == negative:
            raise InputError("TB002", f"positive and negative are both {wanted!r}.")
    note = _note(counts, wanted, negative) + more
    values = LabelValues(counts, next((v for v in counts if v == wanted), wanted), negative, note)
    for role, there in (("positive", wanted in counts), ("unlabeled", values.unlabeled)):
        if not there:
            raise InputError(
                "TB003",
                f"no row is {role}: {note}. topbin needs some known positives and some "
                "rows whose label is unknown.",
            )
    return values


def spells(word: Any, value: Any) -> bool:
    """Whether a word, as typed, stands for this value of a column.

    >>> [spells("1", value) for value in (1, 1.0, True, "1", "one", None)]
    [True, True, True, True, False, False]
    """
    if value == word:
        return True
    if value is None or not isinstance(word, str):
        return False
    try:
        number = float(word)
    except ValueError:
        number = None
    return bool(number == value or plain_word(value) == plain_word(word))


def means_positive(word: str, value: Any) -> bool:
    """Whether a value of other rows says what `word`, the positive value of a fit, said there.

    >>> [means_positive("True", value) for value in (True, 1, "yes", 0, None)]
    [True, True, True, False, False]
    """
    both = {plain_word(word), plain_word(value)}
    return spells(word, value) or both <= LOOKS_POSITIVE


def _own_value(counts: Mapping[Any, int], wanted: Any, role: str) -> Any:
    """The exact value, else one with the same text, else one that differs only in case or type."""
    if wanted is None or wanted in counts:
        return wanted
    alike = [value for value in counts if spells(wanted, value)]
    same = [value for value in alike if str(value) == str(wanted).strip()]
    if not alike:
        raise InputError(
            "TB003", f"no row has the {role} value {wanted!r}; the column holds {_table(counts)}."
        )
    return (same + alike)[0]


def code_labels(s: Any) -> Coded:
    """The values of a column in memory, as codes."""
    array = _as_column(s)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError("TB005", f"labels must have one dimension; got shape {array.shape}.")
    if array.dtype.kind in "fiub":
        distinct, codes = np.unique(array, return_inverse=True)
        return Coded([None if value != value else value.item() for value in distinct], codes)
    return Coded.from_codes(np.arange(array.size), array.tolist())


def _as_column(s: Any) -> NDArray[Any]:
    if hasattr(s, "to_pylist"):  # arrow, whose own conversion refuses columns with nulls
        return np.array(s.to_pylist(), object)
    try:
        return np.asarray(s.to_numpy() if hasattr(s, "to_numpy") else unmasked(s))
    except ValueError as error:
        raise InputError("TB005", f"labels must be one value per row: {error}") from error


def label_key(value: Any) -> Any:
    """One hashable key per value; None, NaN, NaT, pandas' NA and blanks are all missing."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, float | np.floating) and value != value:
        return None
    try:
        hash(value)
    except TypeError:
        raise InputError("TB006", f"a label is a {type(value).__name__}, not a value.") from None
    return value


def _rank(value: Any) -> tuple[bool, bool, bool, str]:
    word = plain_word(value)
    return (value is None, word not in LOOKS_POSITIVE, word not in LOOKS_NEGATIVE, word)


def _note(counts: Mapping[Any, int], positive: Any, negative: Any) -> str:
    """What each value means; of many unlabeled values the first ones, and how many more."""
    roles = {negative: "known negative", positive: "positive", None: "unlabeled"}
    read = [(value, roles.get(value, "unlabeled")) for value in counts]
    read.sort(key=lambda pair: ("positive", "known negative", "unlabeled").index(pair[1]))
    shown = [
        f"{_show(value)} = {role} ({counted(counts[value], 'row')})" for value, role in read[:SHOWN]
    ]
    if len(read) > SHOWN:
        rest = counted(sum(counts[value] for value, _ in read[SHOWN:]), "row")
        shown.append(f"… and {len(read) - SHOWN:,} more = unlabeled ({rest})")
    return ", ".join(shown)


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float) and value in (1, 0, -1)


def _clear_value(counts: Mapping[Any, int], name: str) -> Any:
    """The value that means "positive": 1 among plain ones, or the only one beside blanks.

    >>> _clear_value({1: 2, None: 5}, "y"), _clear_value({"ja": 2, None: 5}, "y")
    (1, 'ja')
    """
    named = [value for value in counts if value is not None]
    if len(counts) <= 2 and all(map(_is_plain, named)):
        return 1
    if len(named) == 1 and plain_word(named[0]) not in LOOKS_NEGATIVE | {"0", "0.0"}:
        return named[0]
    raise InputError(
        "TB002",
        f"{name} has {counted(len(counts), 'value')}: {_table(counts)}.\n      "
        f'Which means "positive"? {_advice(list(counts))}',
    )


def _advice(values: list[Any]) -> str:
    """The likely reading, if the values suggest one; else how to name the positive value.

    >>> InputError("TB002", _advice([1, 0, 2])).message
    'Likely: positive=1   (0, 2 = unlabeled)'
    """
    named = [value for value in values if value is not None]
    if len(named) > GUESSED or plain_word(named[0]) not in LOOKS_POSITIVE:
        return f"Say which value it is: {option('positive')}"
    guess, rest = f"Likely: {option('positive', _as_value(named[0]))}", values[1:]
    # A 0 beside a third value may also mean "unknown", so it is not taken for a negative.
    if len(values) > 2 and plain_word(named[1]) in LOOKS_NEGATIVE:
        guess, rest = f"{guess}{NEXT}{option('negative', _as_value(named[1]))}", values[2:]
    unlabeled = f"   ({', '.join(map(_show, rest))} = unlabeled)" if len(values) > 2 else ""
    return guess + unlabeled


def _as_value(value: Any) -> Any:
    """A truth value as text: as it is, it would stand for a flag."""
    return str(value) if isinstance(value, bool) else _as_number(value)


def _as_number(value: Any) -> Any:
    """1 for 1.0, as the file has it: beside blank cells readers make floats of whole numbers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _table(counts: Mapping[Any, int]) -> str:
    shown = [f"{_show(value)} ({n:,})" for value, n in list(counts.items())[:SHOWN]]
    more = len(counts) - SHOWN
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _show(value: Any) -> str:
    shown = "blank" if value is None else repr(_as_number(value))
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"
