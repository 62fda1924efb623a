"""Csv and tsv files: the first line names the columns, and every row has as many fields.

DuckDB parses. This module gives it the dialect instead of letting it guess (a guess silently turns
a ragged file into one column of text), settles the type of every column over the whole file in
constant memory, and says in one sentence what is wrong with a file that fails.

A file that is not UTF-8 is read from a copy that is. Windows-1252 is assumed only if no letter of
the file is UTF-8; otherwise the file is damaged. The copy is in a private folder of this process,
which makes it again if the file changes.
"""

import codecs
import csv
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from threading import Lock
from typing import IO, Any

import duckdb

from topbin.core.errors import InputError
from topbin.core.formatting import counted
from topbin.core.labels import NO_VALUE
from topbin.data.formats import duck, written
from topbin.data.formats.duck import INFINITE, Duck, DuckPart, identifier, literal, path_literal
from topbin.data.formats.written import MARKS, Written, as_float, pattern
from topbin.data.paths import Format, file_stamp, open_bytes, own_file
from topbin.data.schema import Types, check_names, kind_of

MAX_COLUMNS = 30_000  # DuckDB's time grows with the square: 5 s here, minutes at 100,000
SAMPLE_ROWS = 20_480  # what DuckDB's sniffer looks at
FIRST_ROWS = 200  # enough to see that most columns are no numbers with commas
HEAD_BYTES = 1 << 24
DELIMITERS = ",;\t|"
ISO_DATE = "%Y-%m-%d"
UTF_8, UTF_16, WINDOWS = "utf-8", "utf-16", "cp1252"
CALLED = {WINDOWS: "Windows-1252", UTF_16: "UTF-16", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
BLOCK = 1 << 20
LOST = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8, as Python keeps them
LETTER = re.compile(r"[^\x00-\x7f\udc80-\udcff]")
WORD = re.compile(r"\w*[^\x00-\x7f]\w*")
COPYING = Lock()
Key = tuple[str, str]  # a column, and what is asked about it
ROWS, SAMPLE = ("", "rows"), "sample"
# A leading zero marks a code (a postcode, an account), not a number.
NO_CODE = "(not starts_with({c}, '0') or {c} = '0' or starts_with({c}, '0.'))"
FITS = {
    "BIGINT": f"try_cast({{c}} as BIGINT) is not null and not contains({{c}}, '.') and {NO_CODE}",
    "DOUBLE": f"try_cast({{c}} as DOUBLE) is not null and {NO_CODE}",
    # A format reads "infinity" as 1900-01-01; without one it is infinite, and therefore missing.
    "DATE": f"try_strptime({{c}}, '{ISO_DATE}') is not null and not {INFINITE}",
    "TIMESTAMP": "try_cast({c} as TIMESTAMP) is not null",
    "TIMESTAMP WITH TIME ZONE": "try_cast({c} as TIMESTAMPTZ) is not null",
    "TIME": "try_cast({c} as TIME) is not null",
    "BOOLEAN": "lower({c}) in ('true', 'false')",  # DuckDB 2 would also take yes/no and t/f
}
WIDER = {
    "BIGINT": ("BIGINT", "DOUBLE"),
    "HUGEINT": ("DOUBLE",),
    "DATE": ("DATE", "TIMESTAMP"),
    "BLANK": ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Delimited(DuckPart):
    """A csv or tsv file: its dialect, and the type of every column (blank: no value at all)."""

    delimiter: str
    encoding: str = UTF_8

    @property
    def file(self) -> str:
        """The file that DuckDB reads: itself, or its copy in UTF-8."""
        return self.path if self.encoding == UTF_8 else utf8_copy(self.path, self.encoding)

    @property
    def paths(self) -> list[str]:
        """The files that DuckDB may read."""
        return [self.file]

    @property
    def encoding_note(self) -> str:
        """What to say about a file that is not UTF-8, with a word of it where that may be wrong."""
        if self.encoding == UTF_8:
            return ""
        note = f"{self.name} is not UTF-8 text; it was read as {CALLED[self.encoding]}"
        if self.encoding != WINDOWS:
            return f"{note}."
        with open(self.file, encoding=UTF_8) as handle:
            word = next((match[0] for match in map(WORD.search, handle) if match), "")
        return f'{note}, such as "{word}". If that looks wrong, save the file as UTF-8.'

    def read_written(self, ways: Mapping[str, str]) -> "Delimited":
        """The same rows, with text read as dates and numbers in the ways of its columns."""
        known = {c: way for c, way in ways.items() if c in self.written}
        fitting = {c: way for c, way in known.items() if way in self.written[c].ways}
        types = self.types | {c: self.written[c].type_of(way) for c, way in fitting.items()}
        return replace(self, own={c: types[c] for c in self.own}, types=types, ways=fitting)

    @property
    def as_text(self) -> str:
        """The SQL that parses its columns as text."""
        return replace(self, types=dict.fromkeys(self.types, "VARCHAR")).source

    @property
    def source(self) -> str:
        """The SQL that parses its columns into their types."""
        types = {c: self.types.get(c, own) for c, own in self.own.items()}
        kinds = {c: kind_of(self.written[c].type_of(way)) for c, way in self.ways.items()}
        read = {c: self.ways[c] for c, kind in kinds.items() if kind_of(types[c]) == kind}
        text = {c for c, type_ in types.items() if type_ == "BLANK"} | read.keys()
        read_as = types | dict.fromkeys(text, "VARCHAR")
        listed = ", ".join(f"{literal(c)}: {literal(type_)}" for c, type_ in read_as.items())
        rows = (
            f"read_csv({path_literal(self.file)}, auto_detect=false, columns={{{listed}}}, "
            f"{_dialect(self.delimiter)}, dateformat='{ISO_DATE}')"
        )
        named = (
            f"{_value(c, self.written[c], way)}::{self.own[c]} as {identifier(c)}"
            for c, way in read.items()
        )
        return f"(select * replace ({', '.join(named)}) from {rows})" if read else rows

    def explain(self, words: str) -> str:
        """What is wrong, by the plainest cause that can be shown."""
        return complaint(self.file, self.name, self.delimiter, words)


def _open(connection: Duck, path: str, name: str, *, tabs: bool) -> Delimited:
    """A file in UTF-8, or a copy of it if it is in another encoding."""
    with open_bytes(path, name) as handle:
        encoding = wide_encoding(handle.read(1000))
    if encoding is None:
        try:
            return _open_utf8(connection, path, name, tabs=tabs)
        except InputError as error:
            if error.code != "TB102" or (encoding := narrow_encoding(path, name)) is None:
                raise
    try:
        copy = utf8_copy(path, encoding)
    except UnicodeDecodeError as error:
        damage = f"it begins as UTF-16 text, and is damaged: {error}."
        raise InputError("TB102", f"{name} cannot be read: {damage}") from error
    with duck.connect([copy]) as own:
        return replace(_open_utf8(own, copy, name, tabs=tabs), path=path, encoding=encoding)


def _open_utf8(connection: Duck, path: str, name: str, *, tabs: bool) -> Delimited:
    """Settle dialect, names, types and row count of a file, or raise TB102 with what is wrong."""
    delimiter, header = _header(path, name, tabs)
    try:
        guessed = _sniff(connection, path, delimiter)
        if len(guessed) != len(header):
            raise duckdb.Error("the header is not clear.")
        file = Delimited(
            path=path, name=name, own=guessed, types=guessed, delimiter=delimiter, first_line=2,
        )  # fmt: skip
        return _with_numbers(connection, _settle(connection, file))
    except duckdb.Error as error:
        raise InputError("TB102", complaint(path, name, delimiter, str(error))) from error


def _dialect(delimiter: str) -> str:
    missing = ", ".join(literal(text) for text in NO_VALUE)
    return (
        f"delim={literal(delimiter)}, quote='\"', escape='\"', header=true, skip=0, comment='', "
        f"strict_mode=true, nullstr=[{missing}], hive_partitioning=false"
    )


def _header(path: str, name: str, tabs: bool) -> tuple[str, list[str]]:
    """The delimiter that gives the most columns, and their names."""
    with open_bytes(path, name) as handle:
        head = handle.read(HEAD_BYTES)
    if b"\0" in head[:1000]:
        raise InputError("TB102", f"{name} holds binary data, not text.")
    text = head.decode("utf-8-sig", errors="replace")
    headers: dict[str, list[str]] = {",": []}
    for delimiter in "\t" if tabs else DELIMITERS:
        with suppress(csv.Error, StopIteration):
            lines = io.StringIO(text, newline="")
            headers[delimiter] = next(csv.reader(lines, delimiter=delimiter))
    delimiter = max(headers, key=lambda delimiter: len(headers[delimiter]))
    _check_header(name, headers[delimiter])
    return delimiter, headers[delimiter]


def _check_header(file: str, header: list[str]) -> None:
    if not any(name.strip() for name in header):
        raise InputError("TB102", f"the first line of {file} is blank; it must name the columns.")
    if len(header) > MAX_COLUMNS:
        raise InputError(
            "TB102",
            f"{file} has {len(header):,} columns; a csv may have {MAX_COLUMNS:,}. "
            "Write it as parquet, or pass a sparse matrix to a classifier in Python.",
        )
    check_names(file, header)
    numbers = [as_float(name) for name in header]
    if all(number is not None and not number.is_integer() for number in numbers):
        raise InputError(
            "TB102",
            f"the first line of {file} holds numbers, so the columns have no names. "
            "Add a line of names at the top.",
        )


def _sniff(connection: Duck, path: str, delimiter: str) -> Types:
    """Columns with their types."""
    asked = f"select Columns from sniff_csv({path_literal(path)}, {_dialect(delimiter)})"
    ((columns,),) = connection.rows(asked)
    return {column["name"]: column["type"] for column in columns}


def _settle(connection: Duck, file: Delimited) -> Delimited:
    """One pass over the text: does every value fit the type that the sample suggested?"""
    whole = _has_few_lines(file)
    seen = _samples(connection, file)
    forms = {column: written.formats_of(sample) for column, sample in seen.items() if sample}
    types = file.types | {column: "BLANK" for column, sample in seen.items() if sample is None}
    types |= {column: "DATE" for column, orders in forms.items() if orders}
    doubtful = {
        column: WIDER.get(kind, (kind,))
        for column, kind in types.items()
        if not whole or kind in ("BOOLEAN", "DATE", "TIMESTAMP")
    }
    asked = {ROWS: "count(*)"}
    for column, kinds in doubtful.items():
        c = identifier(column)
        tests = {kind: FITS.get(kind, "true") for kind in kinds}
        tests |= {order: _written_as(form) for order, form in forms.get(column, {}).items()}
        for name, test in tests.items():
            asked[column, name] = f"bool_and({test.format(c=c)}) filter ({c} is not null)"
    fits, dated = _answers(connection, file, asked), {}  # NULL: there are no values
    for column, kinds in doubtful.items():
        fitting = [kind for kind in kinds if fits[column, kind]]
        is_blank = fits[column, kinds[0]] is None
        types[column] = "BLANK" if is_blank else (fitting or ["VARCHAR"])[0]
        tried = forms.get(column, {}).items()
        formats = {order: form for order, form in tried if fits[column, order]}
        if formats and not fitting:
            dated[column] = Written(file.name, column, str(seen[column]), formats)
    return replace(file, own=types, types=types, size=fits[ROWS], written=dated)


def _answers(connection: Duck, file: Delimited, asked: Mapping[Key, str]) -> dict[Key, Any]:
    """The values of some SQL over all rows of a file, by what they say of which column."""
    (values,) = connection.rows(f"select {', '.join(asked.values())} from {file.as_text}")
    return dict(zip(asked, values, strict=True))


def _samples(connection: Duck, file: Delimited) -> dict[str, str | None]:
    """A value of each column that may be text or dates; None if the first rows have none."""
    unsure = [c for c, kind in file.types.items() if kind in ("VARCHAR", "DATE", "TIMESTAMP")]
    if not unsure:
        return {}
    values = ", ".join(f"any_value({identifier(column)})" for column in unsure)
    first = f"(select * from {file.as_text} limit {SAMPLE_ROWS})"
    (row,) = connection.rows(f"select {values} from {first}")
    return dict(zip(unsure, row, strict=True))


def _with_numbers(connection: Duck, file: Delimited) -> Delimited:
    """Find columns of numbers with marks or separators, and of text that seems to hold numbers."""
    unsettled = {c: type_ for c, type_ in file.types.items() if c not in file.written}
    asked = [c for c, type_ in unsettled.items() if type_ in ("VARCHAR", "DOUBLE")]
    if not asked:
        return file
    names = ", ".join(identifier(c) for c in asked)
    rows = connection.rows(f"select {names} from {file.as_text} limit {FIRST_ROWS}")
    first = {c: [row[i] for row in rows if row[i] is not None] for i, c in enumerate(asked)}
    numbers, unsure = {}, []
    for c, seen in first.items():
        plain, marks = file.types[c] == "DOUBLE", written.marks_of(seen)
        pointed = next((value for value in seen if "." in value), "")
        if plain and pointed and "," not in marks:
            numbers[c] = Written(file.name, c, pointed, {".": "DOUBLE"}, plain=True)
        elif marks and (pointed or not plain):
            unsure.append(c)
    numbers |= _checked(connection, file, unsure)
    texts = (c for c in asked if file.types[c] == "VARCHAR" and c not in numbers)
    numeric = frozenset(c for c in texts if written.look_numeric(first[c]))
    return replace(file, written={**file.written, **numbers}, number_texts=numeric)


def _checked(connection: Duck, file: Delimited, columns: Sequence[str]) -> dict[str, Written]:
    """The marks that all values of these columns fit, from one pass."""
    if not columns:
        return {}
    signs = literal(f"[,.{written.SPACES}]")
    asked: dict[Key, str] = {}
    for column in columns:
        c = identifier(column)
        asked[column, SAMPLE] = f"any_value({c}) filter (regexp_matches({c}, {signs}))"
        for mark in MARKS:
            asked[column, mark] = f"bool_and(regexp_full_match({c}, {literal(pattern(mark))}))"
            asked[column, f"no {mark}"] = f"bool_and(not contains({c}, '{mark}'))"
    answers, numbers = _answers(connection, file, asked), {}
    for c in columns:
        fitting = [mark for mark in MARKS if answers[c, mark]]
        ways = {mark: "BIGINT" if answers[c, f"no {mark}"] else "DOUBLE" for mark in fitting}
        if ways and (sample := answers[c, SAMPLE]) is not None:
            plain = file.types[c] == "DOUBLE"
            numbers[c] = Written(file.name, c, sample, ways, plain, file.delimiter)
    return numbers


def _value(column: str, form: Written, way: str) -> str:
    """A date in SQL, or a number as every reader of numbers takes it: digits, and a point."""
    if form.is_date:
        return f"strptime({identifier(column)}, {literal(form.ways[way])})"
    signs = literal(f"[{written.separators(way)}]")
    return f"replace(regexp_replace({identifier(column)}, {signs}, '', 'g'), '{way}', '.')"


def _written_as(form: str) -> str:
    """A test whether a value is a date in this format; a year of two digits is no year 20."""
    is_late = f"coalesce(try_strptime({{c}}, {literal(form)}) >= '1000-01-01', false)"
    return f"{is_late} and not {INFINITE}"


def _has_few_lines(file: Delimited) -> bool:
    """Whether the sample is the whole file."""
    lines = 0
    with open_bytes(file.path, file.name) as handle:
        while lines <= SAMPLE_ROWS and (block := handle.read(BLOCK)):
            lines += block.count(b"\n") + block.count(b"\r")
    return lines <= SAMPLE_ROWS


def complaint(path: str, name: str, delimiter: str, error: str) -> str:
    """What is wrong, by the plainest cause that can be shown; the parser's words if none can."""
    shown = next((line for line in error.splitlines() if line.strip()), "")
    for find in (_bad_bytes, partial(_bad_rows, delimiter), _mixed_line_ends):
        with open_bytes(path, name) as handle:
            if cause := find(handle):
                shown = cause
                break
    return f"{name} cannot be read: {shown}"


def _bad_bytes(handle: IO[bytes]) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, block = 1, b""
    try:
        while block := handle.read(BLOCK):
            decoder.decode(block)
            line += block.count(b"\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        line += error.object[: error.start].count(b"\n")
        byte = error.object[error.start]
        return (
            f"it is not UTF-8 text (byte 0x{byte:02x} in line {line:,}). Save it as UTF-8, "
            "for example with: iconv -f latin1 -t utf-8"
        )
    return ""


def _bad_rows(delimiter: str, handle: IO[bytes]) -> str:
    with io.TextIOWrapper(handle, encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        header = line = 0
        try:
            for row in reader:
                header = header or len(row)
                if row and len(row) != header:
                    fields = counted(len(row), "field")
                    return (
                        f"line {line + 1:,} has {fields}; the header has {header:,}. "
                        "Quote fields that hold the delimiter, or repair the row."
                    )
                line = reader.line_num
        except csv.Error as error:
            open_quote = "end of data" in str(error)
            words = "a quote is opened and never closed" if open_quote else error
            return f"line {line + 1:,}: {words}."
    return ""


def _mixed_line_ends(handle: IO[bytes]) -> str:
    head = handle.read(HEAD_BYTES)
    windows, unix = head.count(b"\r\n"), head.count(b"\n") - head.count(b"\r\n")
    if windows and unix:
        return f"{windows:,} lines end in CR LF and {unix:,} in LF. Convert it, e.g. with dos2unix."
    return ""


def wide_encoding(head: bytes) -> str | None:
    """The encoding of a file that begins so, if it has two bytes per letter.

    >>> wide_encoding("a,b".encode("utf-16")), wide_encoding(b"a\\0,\\0b\\0"), wide_encoding(b"a,b")
    ('utf-16', 'utf-16-le', None)
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return UTF_16
    even, odd = (head[start::2] for start in (0, 1))
    if 0 not in even and 2 * odd.count(0) > len(odd):
        return "utf-16-le"
    return "utf-16-be" if 0 not in odd and 2 * even.count(0) > len(even) else None


def narrow_encoding(path: str, name: str) -> str | None:
    """Windows-1252, if a file is no UTF-8 and can be that; None otherwise."""
    decoder = codecs.getincrementaldecoder(UTF_8)("surrogateescape")
    lost: set[str] = set()
    with open_bytes(path, name) as handle:
        while block := handle.read(BLOCK):
            text = decoder.decode(block)
            lost |= {*LOST.findall(text)}
            if LETTER.search(text):
                return None
    if not lost or decoder.getstate()[0]:  # all is UTF-8, or was until it was cut off
        return None
    try:
        bytes(ord(sign) - 0xDC00 for sign in lost).decode(WINDOWS)
    except UnicodeDecodeError:
        return None
    return WINDOWS


def utf8_copy(path: str, encoding: str) -> str:
    """The path of a copy of the file in UTF-8."""
    with COPYING:  # several threads may ask for one file
        return _copy(path, encoding, *file_stamp(path))


@cache
def _copy(path: str, encoding: str, *_stamp: int) -> str:
    target = own_file(".csv")
    decoder = codecs.getincrementaldecoder(encoding)()
    with open_bytes(path, path) as handle, target.open("w", encoding=UTF_8, newline="") as copy:
        while block := handle.read(BLOCK):
            copy.write(decoder.decode(block))
        copy.write(decoder.decode(b"", final=True))
    return str(target)


FORMATS = (
    Format("csv", (".csv", ".txt"), partial(_open, tabs=False)),
    Format("tsv", (".tsv", ".tab"), partial(_open, tabs=True)),
)
