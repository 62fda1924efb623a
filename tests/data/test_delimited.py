"""Csv: read as written, types settled over the whole file, faults named by line."""

import csv
import io

import pandas as pd
import pytest
from coded import attempt, fails
from hypothesis import given, settings
from hypothesis import strategies as st

from topbin.data import open_table, read_table
from topbin.data.formats import delimited


@pytest.fixture
def write(tmp_path):
    def writer(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return writer


def rows(path):
    frame = read_table(path).frame.astype(object)
    return frame.where(frame.notna(), None).values.tolist()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b\n1,2\n", [[1, 2]]),
        ("\ufeffa,b\n1,2\n", [[1, 2]]),
        ("a;b\n1,5;2\n", [[1.5, 2]]),
        ("a|b\n1|2\n", [[1, 2]]),
        ("a\tb\n1\t2\n", [[1, 2]]),
        ("a,b\r\n1,2\r\n", [[1, 2]]),
        ("a,b\r1,2\r3,4\r", [[1, 2], [3, 4]]),
        ('a,b\n"x\ny, ""z""",2\n', [['x\ny, "z"', 2]]),
        ("a,b\n#1,2\n", [["#1", 2]]),
        ("a\n1\n\n2\n", [[1], [None], [2]]),
        ("a,b\nNA,\n1,null\n", [[None, None], [1, None]]),
        ("a,b\n007,0.5\n", [["007", 0.5]]),
        ("a\n1e400\n", [[float("inf")]]),
        ("ä b,a.b\n1,é\n", [[1, "é"]]),
        (",b\n1,2\n", [[1, 2]]),
        ("1,2\n3,4\n", [[3, 4]]),  # whole numbers may be names: a saved numpy matrix has them
    ],
)
def test_it_is_read_as_written(write, content, expected):
    assert rows(write(content)) == expected


def test_columns_keep_their_names_and_a_bom_is_not_one(write):
    assert list(open_table(write("\ufeffa b,Ä,\n1,2,3\n")).types) == ["a b", "Ä", "column2"]


def test_types_are_what_people_mean(write):
    text = (
        "i,f,t,d,s,z,yes,hour,none\n1,1.5,true,2020-01-31,2020-01-31 10:00:00,007,yes,10:00:00,\n"
    )
    assert open_table(write(text)).types == {
        "i": "BIGINT",
        "f": "DOUBLE",
        "t": "BOOLEAN",
        "d": "DATE",
        "s": "TIMESTAMP",
        "z": "VARCHAR",
        "yes": "VARCHAR",  # a label column of yes and no must keep its words
        "hour": "TIME",
        "none": "BLANK",
    }


def test_a_value_past_the_sample_widens_the_type(write):
    names = "int,real,day,blank,code,word,moment,flag\n"
    usual = "1,2,2020-01-01,,,x,2020-01-01 10:00:00,true\n"
    last = "one,2.5,2020-01-02 10:00:00,7,007,y,never,maybe\n"
    schema = open_table(write(names + usual * 30_000 + last))
    assert schema.rows == 30_001
    assert schema.types == {
        "int": "VARCHAR",
        "real": "DOUBLE",
        "day": "TIMESTAMP",
        "blank": "BIGINT",
        "code": "VARCHAR",
        "word": "VARCHAR",
        "moment": "VARCHAR",
        "flag": "VARCHAR",
    }


def test_what_fits_to_the_end_keeps_its_type(write):
    names = "int,real,day,moment,zone,flag,time,huge,blank\n"
    row = (
        "1,.5,31.12.2020,12/31/2020 10:00:00 PM,2020-01-01 10:00:00+02,true,10:00:00,"
        "123456789012345678901,\n"
    )
    path = write(names + row * 30_000)
    assert open_table(path).types == {
        "int": "BIGINT",
        "real": "DOUBLE",
        "day": "DATE",
        "moment": "TIMESTAMP",
        "zone": "TIMESTAMP WITH TIME ZONE",
        "flag": "BOOLEAN",
        "time": "TIME",
        "huge": "DOUBLE",
        "blank": "BLANK",
    }
    frame = read_table(path).frame
    assert frame["day"].unique().tolist() == [pd.Timestamp("2020-12-31").to_numpy()]
    assert frame["moment"].iloc[-1] == pd.Timestamp("2020-12-31 22:00")
    assert frame["zone"].iloc[-1] == pd.Timestamp("2020-01-01 08:00")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,2\n3,4,5\n6,7\n", "line 3 has 3 fields; the header has 2"),
        ("a,b\n1,2\n3\n", "line 3 has 1 field; the header has 2"),
        ("a,b\n" + "1,2\n" * 50_000 + "3,4,5\n", "line 50,002 has 3 fields"),
        ("a,b\n1,2,3\n4,5,6\n", "line 2 has 3 fields"),
        ('a,b\n1,2\n"x,2\n3,4\n', "line 3: a quote is opened and never closed"),
        ('a,b\n"x"y,2\n', "line 2: ',' expected after '\"'"),
        (b"a,b\n1,2\n1,caf\x81\n", "not UTF-8 text (byte 0x81 in line 3)"),  # in no encoding
        (b"a,b\n1,\xc3\xa9\n1,caf\xe9\n", "not UTF-8 text (byte 0xe9 in line 3)"),  # damaged
        (b"a,b\n" + b"1,2\n" * 300_000 + b"1,caf\x81\n", "byte 0x81 in line 300,002"),
        (b"a,b\n1,caf\xc3", "not UTF-8 text"),
        ("a,b\n1,2\n".encode("utf-16") + b"x", "begins as UTF-16 text, and is damaged"),
        (b"\x00\x01\x02", "holds binary data, not text"),
        ("\n\na,b\n1,2\n", "is blank; it must name the columns"),
        (",,\n1,2,3\n", "is blank; it must name the columns"),
        ("1.5,2.5\n3,4\n", "holds numbers, so the columns have no names"),
        ("a,b\r\n1,2\n3,4\r\n", "2 lines end in CR LF and 1 in LF"),
    ],
)
def test_what_is_wrong_is_said(write, content, words):
    with fails("TB102", "table.csv", words):
        read_table(write(content))


def test_two_columns_of_one_name(write):
    with fails("TB115", 'the column "a" twice'):
        read_table(write("a,b,a\n1,2,3\n"))
    with fails("TB115", 'the column "age" in two spellings of case'):
        read_table(write("Age,b,age\n1,2,3\n"))


def test_a_header_alone_has_no_rows(write):
    with fails("TB001", "has columns but no rows"):
        read_table(write("a,b\n"))
    assert open_table(write("a,b\n")).rows == 0


def test_too_many_columns_are_refused_at_once(write):
    with fails("TB102", "has 100,000 columns; a csv may have 30,000", "parquet"):
        read_table(write(",".join(f"c{i}" for i in range(100_000)) + "\n"))


def test_a_wide_table_works(write):
    path = write(",".join(f"c{i}" for i in range(3000)) + "\n" + ",".join(["1.5"] * 3000) + "\n")
    assert read_table(path).frame.shape == (1, 3000)


def test_a_header_that_is_no_csv(write, monkeypatch):
    monkeypatch.setattr(delimited, "HEAD_BYTES", 1 << 18)
    with fails("TB102", "is blank; it must name the columns"):
        read_table(write("x" * 200_000 + ",b\n1,2\n"))  # longer than Python's csv takes a field


def test_a_header_that_duckdb_sees_otherwise(write, monkeypatch):
    monkeypatch.setattr(delimited, "_sniff", lambda *given: {"a,b": "VARCHAR"})
    with fails("TB102", "the header is not clear"):
        read_table(write("a,b\n1,2\n"))


def test_tsv_is_split_at_tabs_only(write):
    assert rows(write("a,b\tc\n1,5\t2\n", "table.tsv")) == [[1.5, 2]]


cells = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(str),
    st.booleans().map(str),
    st.dates().map(str),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(["", "NA", "=1+1", "yes", "007", "1e400", '"', ",", "\n"]),
)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4).flatmap(lambda k: st.lists(st.lists(cells, min_size=k, max_size=k))))
def test_any_table_is_read_whole_or_refused_with_a_code(tmp_path_factory, table):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    path = tmp_path_factory.mktemp("fuzz") / "table.csv"
    path.write_bytes(text.getvalue().encode())
    read = attempt(read_table, path)
    if read is not None:
        assert read.frame.shape == (len(table) - 1, len(table[0]))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_with_a_code(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("fuzz") / "table.csv"
    path.write_bytes(content)
    read = attempt(read_table, path)
    assert read is None or read.rows > 0
