"""SQLite: types counted over all rows, read in chunks, faults said."""

import sqlite3
from contextlib import closing

import pandas as pd
import pytest
from coded import fails

from topbin.data import open_table, read_table


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "büro 1?.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (i, r, text, mixed, bytes, day, moment, almost, none)")
        connection.executemany(
            "insert into t values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (1, 1, "a", 1, b"x", "2020-01-01", "2020-01-01 10:00:00", "2020-01-01", None),
                (2, 2.5, None, "b", None, None, "2020-01-02T11:30:00", "2020-13-77", None),
                (3, None, "c", None, "y", "2020-02-31", None, "soon", None),
            ],
        )
    return path


def test_types_come_from_all_values(database):
    schema = open_table(database)
    assert schema.rows == 3
    assert schema.types == {
        "i": "BIGINT",
        "r": "DOUBLE",
        "text": "VARCHAR",
        "mixed": "VARCHAR",
        "bytes": "BLOB",
        "day": "TIMESTAMP",
        "moment": "TIMESTAMP",
        "almost": "VARCHAR",
        "none": "BLANK",
    }


def test_values_come_in_the_forms_of_every_table(database):
    frame = read_table(database).frame
    assert frame["i"].tolist() == [1, 2, 3]
    assert frame["r"].tolist()[:2] == [1.0, 2.5]
    assert frame["mixed"].tolist() == ["1", "b", None]
    assert frame["moment"].tolist()[1] == pd.Timestamp("2020-01-02 11:30")
    assert frame["day"].isna().tolist() == [False, True, True]
    assert str(frame["day"].dtype) == "datetime64[us]"


def test_chunks_and_queries(database):
    chunks = list(
        open_table(database, sql="select i from t order by i desc;").batches(["i"], rows=2)
    )
    assert [chunk.frame["i"].tolist() for chunk in chunks] == [[3, 2], [1]]


def test_a_wide_table_is_counted_in_batches(tmp_path):
    with closing(sqlite3.connect(tmp_path / "wide.db")) as connection, connection:
        names = ", ".join(f"c{i}" for i in range(700))
        connection.execute(f"create table t ({names})")
        connection.execute(f"insert into t values ({', '.join(['1'] * 700)})")
    assert read_table(tmp_path / "wide.db").frame.shape == (1, 700)


def test_faults_are_said(database, tmp_path):
    with fails("TB113", "the query fails on", "no such column: missing"):
        read_table(database, sql="select missing from t")
    with fails("TB113", "the query fails on"):
        read_table(database, sql="drop table t")
    with fails("TB001", "no rows"):
        read_table(database, sql="select i from t where false")
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with fails("TB102", "cannot be read", "broken.db"):
        read_table(tmp_path / "broken.db")
    (tmp_path / "text.db").write_text("hello")
    with fails("TB102", "cannot be read", "not a database"):
        read_table(tmp_path / "text.db")


def test_no_table_or_two_need_a_query(database, tmp_path):
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("create view v as select i from t")
    with fails("TB113", 'holds 2 tables ("t", "v")', "sql="):
        read_table(database)
    with closing(sqlite3.connect(tmp_path / "none.db")) as connection, connection:
        connection.execute("create table t (i)")
        connection.execute("drop table t")
    with fails("TB113", "holds 0 tables (none)"):
        read_table(tmp_path / "none.db")


def test_text_that_is_not_utf8_is_said(tmp_path):
    with closing(sqlite3.connect(tmp_path / "latin.db")) as connection, connection:
        connection.execute("create table t (x)")
        connection.execute("insert into t values (cast(x'636166e9' as text))")
    with fails("TB102", "UTF-8"):
        read_table(tmp_path / "latin.db")
