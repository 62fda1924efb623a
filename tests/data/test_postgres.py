"""Rows from a PostgreSQL server and back: values, bad addresses and queries, kills, passwords."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from claims import claims
from click.testing import CliRunner
from coded import fails
from server import PASSWORD, ask, needs_server, start
from stored import result_of

import topbin as tb
from topbin.cli import main
from topbin.data.table import open_table, read_table
from topbin.data.write import write_table

pytestmark = needs_server
TYPES = """create table t (whole int, exact numeric(9, 2), price money, share float4, word text,
short char(4), yes bool, day date, at timestamp, zoned timestamptz, body jsonb, id uuid,
vector float8[], span interval, "odd "" name" text)"""
ROW = """insert into t values (1, 2.5, 3.5, 0.25, 'x', 'z', true, '2020-01-01', '2020-01-01 10:00',
'2020-01-01 10:00+02', '{"a": 1}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{1, 2}', '1 day',
'y')"""
BLANK = "insert into t (exact, day, at) values ('NaN', 'infinity', '-infinity')"


@pytest.fixture
def server(monkeypatch):
    """A server without tables, whose password is where it belongs."""
    address = start()
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    ask(
        address,
        "drop schema public cascade; create schema public",
        "drop schema if exists s cascade",
    )
    return address


def call(*args):
    found = CliRunner().invoke(main, [str(arg) for arg in args])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


def test_every_type_becomes_what_a_csv_would_give(server):
    ask(server, TYPES, ROW, BLANK)
    table = open_table(server)
    assert table.kinds == {
        "whole": "number", "exact": "number", "price": "number", "share": "number",
        "word": "string", "short": "string", "yes": "boolean", "day": "date", "at": "date",
        "zoned": "date", "body": "string", "id": "string", "vector": "vector", "span": "string",
        'odd " name': "string",
    }  # fmt: skip
    frame = table.whole().frame
    first = frame.iloc[0]
    assert first[["whole", "exact", "price", "share"]].tolist() == [1, 2.5, 3.5, 0.25]
    assert first[["word", "short", "body", "span"]].tolist() == ["x", "z", '{"a": 1}', "1 day"]
    assert first["zoned"] == pd.Timestamp("2020-01-01 08:00")
    np.testing.assert_array_equal(first["vector"], [1, 2])
    assert frame.drop(columns="vector").iloc[1].isna().all()


def test_rows_of_a_table_a_schema_or_a_query(server):
    ask(server, "create schema s", "create table s.a (x int)", "insert into s.a values (1), (2)")
    ask(server, "create table b (x int, y int)", "insert into b values (3, 4)")
    assert read_table(f"{server}#s.a").frame["x"].tolist() == [1, 2]
    query = "select x, y from b union all select x, 0 from s.a order by x desc; "
    assert read_table(server, sql=query).frame["x"].tolist() == [3, 2, 1]
    with fails("TB113", "2 tables", '"public.b", "s.a"', "sql="):
        open_table(server)


@pytest.mark.parametrize(
    "address",
    ["postgresql://ada:hu/sh@host/db", "postgresql://ada:1/sh@host/db", "postgresql://a:h#u@h/d"],
)
def test_a_password_that_spoils_its_address_is_not_shown(tmp_path, address):
    found = call("fit", address, "--label", "y", "-o", tmp_path / "run")
    assert found.stderr[:5] in ("TB102", "TB152")
    assert "sh@" not in found.stderr
    assert "#u" not in found.stderr
    assert not (tmp_path / "run").exists()


def test_the_only_table_may_be_in_any_schema(server):
    ask(server, "create schema s", "create table s.a (x int)", "insert into s.a values (1)")
    assert read_table(server).frame["x"].tolist() == [1]


def test_rows_stay_as_they_were_when_they_were_opened(server):
    ask(server, "create table t (x int)", "insert into t select generate_series(1, 5000)")
    table = open_table(f"{server}#t")
    ask(server, "delete from t where x > 10")
    assert table.rows == 5000
    assert sum(batch.rows for batch in table.batches(rows=100)) == 5000


@pytest.mark.parametrize(
    ("sql", "code", "words"),
    [
        ("select * from gone", "TB113", 'relation "gone" does not exist'),
        ("select x fro t", "TB113", "syntax error"),
        ("", "TB102", "does not exist"),
        ("delete from t returning *", "TB113", "syntax error"),
        ("select 1) as a; drop table t; --", "TB113", "syntax error"),
        ("select take()", "TB113", "read-only transaction"),
        ("select 1 as a, 2 as a", "TB115", "twice"),
    ],
)
def test_bad_queries_change_nothing(server, sql, code, words):
    ask(server, "create table t (x int)", "insert into t values (1)")
    took = "create function take() returns int as 'delete from t returning x' language sql"
    ask(server, took)
    with fails(code, words):
        open_table(server if sql else f"{server}#gone", sql=sql or None)
    assert ask(server, "select count(*) from t") == [(1,)]


def test_servers_that_cannot_be_reached(server, monkeypatch):
    with fails("TB102", "Connection refused"):
        open_table("postgresql://topbin@127.0.0.1:1/x#t")
    with fails("TB102", "cannot be read"):
        open_table("postgresql://[::1/x")
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with fails("TB102", "password authentication failed"):
        open_table(f"{server}#t")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:hush@host/db#t",
        "postgres://host/db?user=a&password=hush",
        "postgresql://:hush@host",
        "postgresql://host/db?sslpassword=hush",
    ],
)
def test_an_address_with_a_password_is_refused_without_a_word_of_it(tmp_path, address):
    new = tmp_path / "run"
    fit, alpha = ["fit", "--label", "y", "-o", new], ["alpha", "--score", "s", "--label", "y"]
    for verb, *more in (fit, alpha):
        found = call(verb, address, *more)
        assert found.stderr.startswith("TB152"), found.stderr
        assert "hush" not in found.output
    with fails("TB152"):
        write_table(address, pd.DataFrame({"x": [1]}))
    assert not new.exists()


def test_fit_and_score_back_and_no_password_in_any_file(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(f"{server}#claims", claims())
    fit = call("fit", server, "--sql", "select * from claims", "--label", "known", "--id", "case",
               "--preset", "fast", "-o", "run")  # fmt: skip
    assert fit.exit_code == 0, fit.stderr
    same = tb.fit(claims(), "known", id="case", budget="fast", seed=0)
    assert result_of(tmp_path / "run")["estimate"]["alpha"] == same.estimate.alpha
    for path in (tmp_path / "run").rglob("*"):
        assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path
    assert call("score", "run", f"{server}#claims", "-o", f"{server}#scored").exit_code == 0
    scored = read_table(f"{server}#scored").frame
    expected = tb.load("run").score(claims())
    np.testing.assert_array_equal(scored["topbin_probability"], expected["topbin_probability"])
    again = call("score", "run", f"{server}#claims", "-o", f"{server}#scored")
    assert again.stderr.startswith("TB104")
    assert "--force" in again.stderr
    forced = call("score", "run", f"{server}#claims", "-o", f"{server}#scored", "--force")
    assert forced.exit_code == 0
    assert call("score", "run", f"{server}#claims", "-o", server).stderr.startswith("TB105")
    assert call("audit", "run", "--n", 3).stderr.startswith(("TB113", "TB151"))
    drawn = call("audit", "run", server, "--sql", "select * from claims", "--n", 3)
    assert drawn.exit_code == 0, drawn.stderr


def test_names_cannot_leave_their_quotes(server):
    names = ['x"; drop table t; --', "a'b", "select", "ü"]
    ask(server, "create table t (x int)")
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=names)
    assert write_table(f'{server}#odd"; drop table t; --', frame) == 1
    assert read_table(f'{server}#odd"; drop table t; --').frame.columns.tolist() == names
    assert ask(server, "select count(*) from t") == [(0,)]


PROGRAM = """
import sys, time
import pyarrow as pa
from topbin.data.formats import database

def batches():
    for i in range(1000):
        yield pa.record_batch({"x": list(range(1000))})
        print(i, flush=True)
        if i == 20:
            time.sleep(60)

with database._transaction(sys.argv[1], "TB105") as cursor:
    schema = pa.schema([("x", pa.int64())])
    rows = pa.RecordBatchReader.from_batches(schema, batches())
    database.ingest(cursor, "t", rows, force=True)
"""


def test_a_killed_writer_leaves_the_table_as_it_was(server):
    ask(server, "create table t (x int)", "insert into t values (7)")
    child = subprocess.Popen([sys.executable, "-c", PROGRAM, server], stdout=subprocess.PIPE)
    for line in child.stdout:
        if line.strip() == b"20":
            break
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    wait_until_gone(server)
    assert ask(server, "select x from t") == [(7,)]


def wait_until_gone(server):
    """The server notices that its client is gone, and undoes what it had not finished."""
    others = "select count(*) from pg_stat_activity where datname = 'postgres'"
    for _ in range(100):
        if ask(server, others) == [(1,)]:
            return
        time.sleep(0.1)
    pytest.fail("the killed client is still connected")


def test_the_copy_on_this_machine_ends_with_the_process(server, tmp_path):
    ask(server, "create table t (x int)", "insert into t values (1)")
    program = (
        "import sys; from topbin.data.table import open_table;"
        "print(open_table(sys.argv[1]).files[0].path)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, f"{server}#t"],
        capture_output=True, text=True, check=True, env={**os.environ, "TMPDIR": str(tmp_path)},
    ).stdout.strip()  # fmt: skip
    assert told.startswith(str(tmp_path))
    assert not os.path.exists(told)
    assert not list(tmp_path.iterdir())
