"""What columns hold: types in DuckDB's words, kinds that a model knows, and how tables match."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from topbin.core.checks import did_you_mean
from topbin.core.errors import InputError

Kind = Literal["number", "boolean", "date", "string", "vector", "blank", "other"]
Types = dict[str, str]
Chosen = Sequence[str] | None  # columns; None: all
WHOLE_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
HUGE = ("HUGEINT", "UBIGINT", "UHUGEINT")  # frames hold them as floats
KINDS: dict[str, Kind] = {
    **dict.fromkeys((*WHOLE_TYPES, *HUGE, "FLOAT", "REAL", "DOUBLE", "DECIMAL"), "number"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    **dict.fromkeys(("VARCHAR", "TEXT", "ENUM", "UUID"), "string"),
    **dict.fromkeys(("BLANK", "NULL", '"NULL"'), "blank"),
}
TYPICAL: dict[Kind, str] = {  # the type of a column if only its kind is known
    "number": "DOUBLE", "boolean": "BOOLEAN", "date": "TIMESTAMP", "string": "VARCHAR",
    "vector": "FLOAT[]", "blank": "BLANK", "other": "BLOB",
}  # fmt: skip
CONTENT: dict[Kind, str] = {  # as messages say what a column holds
    "number": "numbers", "boolean": "yes/no values", "date": "dates", "string": "text",
    "vector": "vectors", "blank": "no values", "other": "lists, bytes or mixed values",
}  # fmt: skip
SHOWN = 8
EQUAL = "Make them equal."
ONE_TEXT = (
    "If it is one text, name the folder that holds it: in a folder, each .txt file is read as one "
    "text."
)
LONGEST = 40  # characters of a name in a message
VECTOR = re.compile(r"(FLOAT|REAL|DOUBLE)\[\d*\]")


def kind_of(type_: str) -> Kind:
    """What a type means to a model.

    >>> kind_of("DECIMAL(10,2)"), kind_of("TIMESTAMP WITH TIME ZONE"), kind_of("INTEGER[]")
    ('number', 'date', 'other')
    >>> kind_of("FLOAT[384]"), kind_of("DOUBLE[]")
    ('vector', 'vector')
    """
    if type_.endswith("]"):  # a list
        return "vector" if VECTOR.fullmatch(type_) else "other"
    base = type_.partition("(")[0]
    return "date" if base.startswith("TIMESTAMP") else KINDS.get(base, "other")


def kinds_of(types: Types) -> dict[str, Kind]:
    """What each column means to a model."""
    return {column: kind_of(type_) for column, type_ in types.items()}


def nearest(name: str, options: Iterable[str]) -> str:
    """` Did you mean "x"?` for the most similar option, or nothing.

    >>> nearest("is_fruad", ["amount", "is_fraud"])
    ' Did you mean "is_fraud"?'
    """
    return did_you_mean(name, options, '"{}"'.format)


def check_columns(wanted: Iterable[str], known: Sequence[str], where: str) -> None:
    """Raise TB103 for the first wanted column that is not among the known ones."""
    there = set(known)
    for name in wanted:
        if name not in there:
            message = f'{where} has no column "{name}".{nearest(name, known)}'
            raise InputError("TB103", f"{message} The columns are {quoted(known)}.")


def quoted(columns: Sequence[str]) -> str:
    """The first columns, as messages list them, and how many more there are."""
    more = f" and {len(columns) - SHOWN:,} more" if len(columns) > SHOWN else ""
    return ", ".join(f'"{shortened(column)}"' for column in columns[:SHOWN]) + more


def shortened(text: str) -> str:
    """A name as messages show it: on one line, and cut if it is long.

    >>> shortened("age"), shortened("Dear Sir or Madam, thank you\\nfor your letter of last week")
    ('age', 'Dear Sir or Madam, thank you for your l…')
    """
    line = " ".join(text.split()) if len(text) > LONGEST else text
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def check_names(where: str, names: Iterable[str]) -> None:
    """Raise TB115 if two columns have the same name, or names that differ only in case.

    >>> check_names("the file", ["id", "ID"])
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB115 the file has the column "ID" in two spellings...
    """
    seen: dict[str, str] = {}
    for name in (name.strip() for name in names if name.strip()):
        if name.casefold() in seen:
            same = "twice" if seen[name.casefold()] == name else "in two spellings of case"
            message = f'{where} has the column "{name}" {same}. Rename one of them.'
            raise InputError("TB115", message)
        seen[name.casefold()] = name


def merge_types(
    tables: Sequence[tuple[str, Types]], needed: Chosen = None, *, advice: str = EQUAL
) -> Types:
    """One type per column for several tables, or TB106 with the columns that do not match.

    With `needed`, only these columns must match; of the others a table may lack some, and columns
    of different kinds are read as text.

    >>> merge_types([("a", {"x": "BIGINT", "y": "DATE"}), ("b", {"y": "BLANK", "x": "DOUBLE"})])
    {'x': 'DOUBLE', 'y': 'DATE'}
    >>> merge_types([("a", {"x": "BIGINT", "y": "DATE"}), ("b", {"z": "DATE", "x": "DOUBLE"})], "x")
    {'x': 'DOUBLE', 'y': 'DATE', 'z': 'DATE'}
    """
    (first, types), *others = tables
    merged = dict(types)
    for name, types in others:
        _check_same_columns(first, merged, name, types, needed, advice)
        for column, type_ in types.items():
            before = merged.get(column, type_)
            both = _wider(before, type_)
            if both is None and (needed is None or column in needed):
                held = [f"{CONTENT[kind_of(one)]} ({one})" for one in (before, type_)]
                difference = f"holds {held[0]} in {first} and {held[1]} in {name}. {EQUAL}"
                raise InputError("TB106", f'column "{shortened(column)}" {difference}')
            merged[column] = both or "VARCHAR"
    return merged


def _check_same_columns(
    first: str, a: Types, second: str, b: Types, needed: Chosen, advice: str
) -> None:
    wanted = a.keys() | b.keys() if needed is None else set(needed)
    lacking = ((second, a.keys() - b.keys()), (first, b.keys() - a.keys()))
    gaps = [(name, sorted(columns & wanted)) for name, columns in lacking]
    missing = "; ".join(f"{name} has no {quoted(columns)}" for name, columns in gaps if columns)
    if missing:
        single = next((name for name in (first, second) if name.lower().endswith('.txt"')), "")
        way = f"{single} was read as a table. {ONE_TEXT}" if single else advice
        raise InputError("TB106", f"the tables have different columns: {missing}. {way}")


def _wider(a: str, b: str) -> str | None:
    """The type that holds the values of both; None if only text does."""
    if a == b or kind_of(b) == "blank":
        return a
    if kind_of(a) == "blank":
        return b
    wider = {"number": "DOUBLE", "date": "TIMESTAMP"}.get(kind_of(a), a)
    return wider if kind_of(a) == kind_of(b) else None
