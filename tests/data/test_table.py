"""Tables in: every format gives the same table; differences and faults are said before any work."""

import datetime
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from coded import attempt, fails
from hypothesis import given, settings
from hypothesis import strategies as st

from topbin.data import Batch, open_pair, open_table, read_table
from topbin.data.batch import join

ROWS = pd.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "amount": [1.5, np.nan, -0.0, 2.0],
        "town": ["Ulm", None, "Köln", "=cmd()"],
        "paid": pd.array([True, None, False, True], dtype="boolean"),
        "day": pd.to_datetime(["2020-01-01", None, "2020-02-03", "2021-01-01"]),
    }
)
KINDS = {"id": "number", "amount": "number", "town": "string", "paid": "boolean", "day": "date"}
FORMATS = ["csv", "tsv", "parquet", "jsonl", "json", "duckdb"]


def save(path, frame=ROWS):
    """Write `frame` in the format of the path's ending, with DuckDB itself."""
    kind = path.suffix[1:]
    with duckdb.connect(str(path) if kind == "duckdb" else ":memory:") as connection:
        connection.register("frame", frame)
        options = {
            "tsv": "(format csv, delimiter '\t')",
            "jsonl": "(format json)",
            "json": "(format json, array true)",
        }.get(kind, f"(format {kind})")
        if kind == "duckdb":
            connection.execute("create table claims as select * from frame")
        else:
            connection.execute(f"copy frame to '{path}' {options}")
    return path


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "räume und zeit"
    path.mkdir()
    return path


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_table(folder, ending):
    path = save(folder / f"claims 1.{ending}")
    table, opened = read_table(path), open_table(path)
    assert opened.kinds == table.kinds == KINDS
    assert opened.rows == table.rows == 4
    assert table.hash() == Batch.from_frame(ROWS).hash()
    pd.testing.assert_frame_equal(table.frame, Batch.from_frame(ROWS).frame)


def test_polars_and_arrow_frames_are_tables_too():
    arrow = pa.Table.from_pandas(ROWS)
    for frame in (arrow, pl.from_arrow(arrow)):
        assert Batch.from_frame(frame).kinds == KINDS
        assert Batch.from_frame(frame).hash() == Batch.from_frame(ROWS).hash()


def test_sqlite_gives_the_same_table_but_for_booleans(folder):
    path = folder / "claims.sqlite"
    with sqlite3.connect(path) as connection:
        rows = ROWS.assign(day=ROWS["day"].dt.strftime("%Y-%m-%d"))
        rows.to_sql("claims", connection, index=False)
    connection.close()
    table = read_table(path)
    assert table.kinds == {**KINDS, "paid": "number"}
    expected = Batch.from_frame(ROWS.assign(paid=ROWS["paid"].astype("Float64")))
    assert table.hash() == expected.hash()


def test_columns_are_chosen_in_the_order_asked(folder):
    table = read_table(save(folder / "a.parquet"), columns=["day", "id"])
    assert list(table.frame) == list(table.kinds) == ["day", "id"]
    with fails("TB103", 'no column "Amount"', 'Did you mean "amount"?'):
        read_table(folder / "a.parquet", columns=["Amount"])


@pytest.mark.parametrize("ending", FORMATS)
def test_a_query_chooses_the_rows(folder, ending):
    path = save(folder / f"a.{ending}")
    name = "claims" if ending == "duckdb" else "data"
    table = read_table(path, sql=f"select id from {name} where id > 2; ")
    assert table.frame["id"].tolist() == [3, 4]
    assert open_table(path, sql=f"select id from {name} -- a comment").rows == 4


@pytest.mark.parametrize("ending", ["csv", "parquet", "duckdb"])
def test_a_query_that_fails_is_said(folder, ending):
    path = save(folder / f"a.{ending}")
    for sql in ("select", "select nothing from data", "drop table claims", ""):
        with fails("TB113", "the query fails on", path.name):
            read_table(path, sql=sql)
    with fails("TB001", "no rows"):
        read_table(path, sql="select 1 as a where false")


def test_a_database_with_more_tables_asks_for_a_query(folder):
    path = save(folder / "a.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table other as select 1 as x")
    with fails("TB113", 'holds 2 tables ("claims", "other")', "sql="):
        read_table(path)


def test_many_files_are_one_table_in_any_column_order(folder):
    for ending in ("csv", "parquet", "jsonl"):
        save(folder / f"1.{ending}")
        save(folder / f"2.{ending}", ROWS[list(ROWS)[::-1]])
        table = read_table(str(folder / f"*.{ending}"))
        assert list(table.frame) == list(ROWS)
        assert table.frame["id"].tolist() == [1, 2, 3, 4] * 2
        assert table.frame["town"].tolist()[-1] == "=cmd()"
        assert open_table(str(folder / f"*.{ending}")).rows == 8


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_many_files_that_differ_are_refused(folder, ending):
    save(folder / f"1.{ending}")
    save(folder / f"2.{ending}", ROWS.drop(columns="town").assign(city="Ulm"))
    with fails("TB106", f'2.{ending}" has no "town"', f'1.{ending}" has no "city"', "equal"):
        read_table(str(folder / f"*.{ending}"))
    save(folder / f"2.{ending}", ROWS.assign(amount="many"))
    with fails("TB106", 'column "amount" holds numbers (DOUBLE)', "and text (VARCHAR) in"):
        read_table(str(folder / f"*.{ending}"))


def test_a_csv_part_without_values_takes_the_others_type(folder):
    (folder / "1.csv").write_text("x,y\n,1\n")
    (folder / "2.csv").write_text("y,x\n1.5,2.5\n")
    table = read_table(str(folder / "*.csv"))
    assert table.kinds == {"x": "number", "y": "number"}
    assert table.frame["x"].tolist()[1] == 2.5
    assert table.frame["y"].tolist() == [1.0, 1.5]


def test_chunks_are_the_table_in_parts(folder):
    rows = pd.DataFrame({"x": np.arange(10_000), "y": ["a", None] * 5000})
    path = save(folder / "big.parquet", rows)
    chunks = list(open_table(path).batches(["x"], rows=3000))
    assert len(chunks) > 3
    assert all(chunk.kinds == {"x": "number"} for chunk in chunks)
    joined = pd.concat([chunk.frame for chunk in chunks])["x"]
    assert joined.tolist() == list(range(10_000))
    with fails("TB103", "no column"):
        next(open_table(path).batches(["z"]))


def test_every_duckdb_type_has_a_place(folder):
    columns = {
        "hugeint": "1::hugeint",
        "decimal": "1.5::decimal(10,2)",
        "ubigint": "3::ubigint",
        "tinyint": "3::tinyint",
        "uuid": "'00000000-0000-0000-0000-000000000001'::uuid",
        "enum": "'x'::enum('x', 'y')",
        "list": "[1, 2]",
        "struct": "{'a': 1}",
        "blob": "'1'::blob",
        "interval": "interval 3 day",
        "time": "time '12:00'",
        "ns": "timestamp_ns '2020-01-01'",
        "seconds": "timestamp_s '2020-01-01'",
        "zone": "timestamptz '2020-01-01 10:00:00+02'",
        "endless": "date 'infinity'",
        "old": "date '0001-01-01'",
        "flag": "true",
        "nothing": "null",
    }
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        values = ", ".join(f'{value} as "{name}"' for name, value in columns.items())
        nulls = ", ".join("null" for _ in columns)
        connection.execute(f"create table t as select {values} union all select {nulls}")
    table = read_table(folder / "a.duckdb")
    kinds = {kind: [c for c in columns if table.kinds[c] == kind] for kind in table.kinds.values()}
    # DuckDB before 2 keeps a column that has only null as one of integers.
    nothing = {"blank": ["nothing"]} if int(duckdb.__version__[0]) > 1 else {}
    assert kinds == {
        "number": ["hugeint", "decimal", "ubigint", "tinyint", *([] if nothing else ["nothing"])],
        "string": ["uuid", "enum"],
        "other": ["list", "struct", "blob", "interval", "time"],
        "date": ["ns", "seconds", "zone", "endless", "old"],
        "boolean": ["flag"],
        **nothing,
    }
    first = table.frame.iloc[0]
    assert first["zone"] == pd.Timestamp("2020-01-01 08:00")
    assert first["old"] == datetime.datetime(1, 1, 1)
    assert pd.isna(first["endless"])
    assert first["list"] == "[1, 2]"
    assert table.frame.iloc[1].isna().all()
    assert table.hash() == read_table(folder / "a.duckdb").hash()


@pytest.mark.parametrize(
    "content", [b"PAR1 and nothing", b"PAR1" + b"\0" * 100 + b"PAR1", b"no parquet at all"]
)
def test_a_broken_parquet_is_said(folder, content):
    (folder / "a.parquet").write_bytes(content)
    with fails("TB102", "cannot be read", "a.parquet"):
        read_table(folder / "a.parquet")


def test_a_parquet_broken_in_the_middle_is_said(folder):
    path = save(folder / "a.parquet", pd.DataFrame({"x": [f"text {i}" for i in range(50_000)]}))
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * 5000 + whole[5100:])
    with fails("TB102", "cannot be read", "a.parquet"):
        read_table(path)
    path.write_bytes(whole[:-5000])
    with fails("TB102", "cannot be read", "a.parquet"):
        read_table(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": 1}\n{"a": 2\n', "Malformed JSON"),
        (b"1\n2\n", "does not hold JSON objects"),
        (b"{}\n{}\n", "does not hold JSON objects"),
        (b"\n", "does not hold JSON objects"),
        (b'{"a": "caf\xe9"}\n', "invalid UTF-8"),
    ],
)
def test_a_broken_json_is_said(folder, content, words):
    (folder / "a.jsonl").write_bytes(content)
    with fails("TB102", "a.jsonl", words):
        read_table(folder / "a.jsonl")


def test_a_broken_database_is_said(folder):
    (folder / "a.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 100)
    with fails("TB102", "cannot be opened", "a.duckdb"):
        read_table(folder / "a.duckdb")


def test_a_csv_that_changes_while_it_is_read(folder):
    table = open_table(save(folder / "a.csv"))
    (folder / "a.csv").write_text("id,amount,town,paid,day\n1,2\n")
    with fails("TB102", "line 2 has 2 fields; the header has 5"):
        list(table.batches(rows=2048))


def test_a_file_that_vanishes_before_it_is_counted(folder):
    table = open_table(save(folder / "a.parquet"))
    (folder / "a.parquet").unlink()
    with fails("TB102", "cannot be read"):
        table.rows  # noqa: B018


# Two tables


def test_a_pair_is_two_tables_with_the_same_columns(folder):
    save(folder / "p.csv", ROWS[:1])
    save(folder / "u.parquet", ROWS[list(ROWS)[::-1]])
    positives, unlabeled = open_pair(folder / "p.csv", folder / "u.parquet")
    assert list(positives.whole().frame) == list(unlabeled.whole().frame) == list(ROWS)
    both = join([positives.whole(), unlabeled.whole()])
    assert both.frame["id"].tolist() == [1, 1, 2, 3, 4]
    assert both.kinds == KINDS


def test_a_pair_that_differs_is_refused_before_a_row_is_read(folder):
    save(folder / "p.csv", ROWS.drop(columns="town"))
    save(folder / "u.csv", ROWS.assign(extra=1))
    with fails("TB106", 'p.csv" has no "extra", "town"'):
        open_pair(folder / "p.csv", folder / "u.csv")
    save(folder / "p.csv", ROWS.assign(day="soon"))
    save(folder / "u.csv")
    with fails("TB106", 'column "day" holds text (VARCHAR)', "and dates (TIMESTAMP) in"):
        open_pair(folder / "p.csv", folder / "u.csv")


def test_blank_positives_take_the_type_of_the_unlabeled(folder):
    (folder / "p.csv").write_text("x,y\n,1\n")
    (folder / "u.csv").write_text("x,y\nred,1\nblue,2\n")
    positives, unlabeled = open_pair(folder / "p.csv", folder / "u.csv")
    assert positives.kinds == unlabeled.kinds == {"x": "string", "y": "number"}


# Frames


def test_frames_of_every_dtype_have_kinds():
    frame = pd.DataFrame(
        {
            "category": pd.Categorical([1, 2, None]),
            "mixed": [1, "a", None],
            "decimal": pd.Series([1, 2.5, None], dtype=object),
            "zone": pd.to_datetime(["2020-01-01 10:00+02:00", None, None]),
            "date": [datetime.date(2020, 1, 1), None, None],
            "delta": pd.to_timedelta([1, 2, 3]),
            "nullable": pd.array([2**60, 1, None], dtype="Int64"),
            "blank": [None, None, None],
            7: [1, 2, 3],
            "bool": [True, None, False],
            "complex": [1j, 2j, 3j],
        }
    )
    before = frame.copy(deep=True)
    table = Batch.from_frame(frame)
    assert table.kinds == {
        "category": "string",
        "mixed": "other",
        "decimal": "number",
        "zone": "date",
        "date": "date",
        "delta": "other",
        "nullable": "number",
        "blank": "blank",
        "7": "number",
        "bool": "boolean",
        "complex": "other",
    }
    assert table.frame["category"].tolist()[:2] == ["1", "2"]
    assert table.frame["zone"][0] == pd.Timestamp("2020-01-01 08:00")
    assert table.frame["date"][0] == pd.Timestamp("2020-01-01")
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("text", ["2020-02-03", "2020-02-03 11:30", "2020-02-03T11:30:15.25"])
def test_dates_written_out_are_dates_as_in_a_csv_file(tmp_path, text):
    frame = pd.DataFrame({"id": [1, 2, 3], "day": [text, None, "2021-01-01" + text[10:]]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    mine, read = (
        Batch.from_frame(pd.read_csv(tmp_path / "rows.csv")),
        read_table(tmp_path / "rows.csv"),
    )
    assert mine.kinds == read.kinds == {"id": "number", "day": "date"}
    assert mine.hash() == read.hash()


@pytest.mark.parametrize("other", ["soon", "2020-13-03", "2020-2-3", "03.02.2020", "2020-02-03 "])
def test_one_that_is_no_date_makes_a_column_of_strings(other):
    days = ["2020-01-01", other]
    for values in (days, days[::-1], pd.Categorical(["2020-01-01", "2020-01-02"])):
        assert Batch.from_frame(pd.DataFrame({"day": values})).kinds == {"day": "string"}


def test_frames_that_are_none(monkeypatch):
    with fails("TB006", "got ndarray"):
        Batch.from_frame(np.ones((2, 2)))
    with fails("TB115", 'the column "a" twice'):
        Batch.from_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with fails("TB001", "no rows"):
        Batch.from_frame(pd.DataFrame({"a": []}))

    class Frame:
        def to_pandas(self):
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    with fails("TB011", "with pyarrow: install it"):
        Batch.from_frame(Frame())


def test_a_table_gives_its_columns_by_name():
    table = Batch.from_frame(ROWS)
    assert table.select(["id"]).frame["id"].tolist() == [1, 2, 3, 4]
    assert list(table.select(["town", "id"]).kinds) == ["town", "id"]
    with fails("TB103", 'Did you mean "town"?'):
        table.select(["Town"])
    with fails("TB103", 'Did you mean "town"?'):
        table.select(["twon"])


def test_the_hash_sees_values_names_kinds_and_order():
    base = Batch.from_frame(ROWS).hash()
    assert base.startswith("sha256:")
    others = [
        ROWS[::-1],
        ROWS.rename(columns={"town": "city"}),
        ROWS[["amount", "id", "town", "paid", "day"]],
        ROWS.assign(town=["Ulm", None, "Köln", "=cmd"]),
        ROWS.assign(amount=[1.5, 0, 0, 2]),
        ROWS.assign(id=[1, 2, 3, 2**53]),
        ROWS.assign(id=[1, 2, 3, 2**53 + 1]),
    ]
    hashes = {Batch.from_frame(frame).hash() for frame in others}
    assert len(hashes) == len(others)
    assert base not in hashes


def test_import_topbin_loads_no_table_library():
    code = (
        "import sys, topbin, topbin.store; "
        "print([m for m in ('duckdb', 'pandas', 'safetensors') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=5),
    st.datetimes(),
    st.dates(),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=2),
    st.decimals(allow_nan=False),
    st.timedeltas(),
    st.complex_numbers(),
)
strategies = [st.booleans(), st.integers(), st.floats(), st.text(), st.datetimes(), st.none()]
columns = st.one_of(
    st.lists(values, min_size=3, max_size=3),
    *(st.lists(s, min_size=3, max_size=3) for s in strategies),
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.text(max_size=4), columns, max_size=4))
def test_any_frame_is_a_table_or_a_coded_error(frame):
    table = attempt(Batch.from_frame, pd.DataFrame(frame))
    if table is not None:
        assert table.frame.shape == (3, len(frame))
        again = Batch.from_frame(table.frame)  # what was settled once stays as it is
        assert again.hash() == table.hash() or "other" in table.kinds.values()


def test_a_column_that_only_one_of_two_tables_has_can_be_left_out():
    known, rest = pd.DataFrame({"x": [1], "note": ["a"]}), pd.DataFrame({"x": [2], "extra": [3]})
    with fails("TB106", "leave out what only one of them has: drop=['extra', 'note']"):
        open_pair(known, rest)
    two = open_pair(known, rest, drop=["note", "extra"])
    assert [list(table.types) for table in two] == [["x"], ["x"]]
    with fails("TB103", "nope"):
        open_pair(known, rest, drop=["note", "extra", "nope"])
