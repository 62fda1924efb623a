"""No query, and no database that came from elsewhere, reaches more than the user's own file."""

import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pytest
import warm
from click.testing import CliRunner
from coded import fails

from topbin.cli import main
from topbin.data import open_table, read_table, write_table
from topbin.data.formats import duck
from topbin.data.write import connect

SECRET = "the secret of another file"
ENDLESS = (
    "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) as i from n"
)


@pytest.fixture
def table(tmp_path):
    """A table in a folder whose name and file name are hard, with a secret beside it."""
    (tmp_path / "secret.csv").write_text(f"a\n{SECRET}\n")
    path = tmp_path / "it's [1] *.csv"
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_csv(path, index=False)
    return path


def statements(folder):
    """SQL that is not one SELECT, most of it written to write a file."""
    target = folder / "started.sh"
    copy = f"copy (select 'rm -rf ~' as line) to '{target}' (format csv)"
    return [
        f"select * from data); {copy}; select * from (select * from data",
        f"select * from data; {copy}",
        f"{copy}; select * from data",
        copy,
        f"attach '{folder / 'new.duckdb'}'",
        "install httpfs",
        "set enable_external_access=true; select * from data",
        "create table t as select 1",
        "drop view data",
        "pragma version",
        "select 1; select 2",
        "",
        "-- nothing",
    ]


@pytest.mark.parametrize("number", range(13))
def test_a_query_is_one_select(table, number):
    before = sorted(os.listdir(table.parent))
    with fails("TB113", "the query fails on"):
        open_table(table, sql=statements(table.parent)[number]).whole()
    assert sorted(os.listdir(table.parent)) == before


@pytest.mark.parametrize(
    "reads",
    [
        "read_text('{}')",
        "read_csv('{}')",
        "'{}'",
        "read_blob('{}')",
        "glob('{}')",
        "sniff_csv('{}')",
    ],
)
def test_a_query_reads_no_other_file(table, reads):
    assert open_table(table, sql="select a from data order by a desc").whole().rows == 2
    with fails("TB113", "the query fails on"):
        open_table(table, sql=f"select * from {reads.format(table.parent / 'secret.csv')}").whole()


def test_a_query_sees_no_variable_of_the_program(table):
    frame = pd.DataFrame({"secret": [SECRET]})
    with fails("TB113", "frame"):
        open_table(table, sql="select * from frame").whole()
    assert len(frame) == 1


@pytest.mark.parametrize("reads", ["read_text('{}')", "read_csv('{}')", "glob('{}')"])
def test_a_view_in_a_database_reads_no_other_file(table, reads):
    path = table.parent / "received.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table t as select 1 as a")
        view = f"select * from {reads.format(table.parent / 'secret.csv')}"
        connection.execute(f"create view v as {view}")
    assert open_table(path, sql="select * from t").rows == 1
    for sql in ("select * from v", view):
        with fails("TB113", "the query fails on"):
            open_table(path, sql=sql).whole()


def test_the_only_table_of_a_database_is_a_view_of_another_file(table):
    path = table.parent / "received.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"create view v as select * from '{table.parent / 'secret.csv'}'")
    with fails("TB102", "received.duckdb", "disabled by configuration"):
        read_table(path)


@pytest.mark.parametrize(
    "sql", ["attach 'new.db' as n", "select 1; select 2", "pragma user_version", "delete from t"]
)
def test_sqlite_only_reads(tmp_path, sql):
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (a)")
        connection.execute("insert into t values (1)")
    before = path.read_bytes()
    with fails("TB113", "the query fails on"):
        read_table(path, sql=sql)
    with fails("TB113", "the query fails on"):
        read_table(path, sql="select * from pragma_database_list")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.sqlite"]


def test_two_connections_to_a_database_are_both_locked(tmp_path):
    path = str(tmp_path / "a.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("create table t as select 1 as a")
    with duck.connect(database=path) as first, duck.connect(database=path) as second:
        for one in (first, second):
            assert one.rows("select current_setting('TimeZone')") == [("UTC",)]
            with pytest.raises(duckdb.PermissionException):
                one.rows("select * from read_text('/etc/hostname')")
            with pytest.raises(duckdb.Error, match="locked"):
                one.rows("set threads=1")


def test_writing_reaches_its_own_folder_only(tmp_path):
    assert write_table(tmp_path / "a.parquet", pd.DataFrame({"a": [1]})) == 1
    with connect(folder=str(tmp_path / "in")) as connection, pytest.raises(duckdb.Error):
        connection.rows(f"copy (select 1) to '{tmp_path / 'out.csv'}'")


def test_every_connection_is_opened_in_one_place():
    root = os.path.dirname(duck.__file__)
    found = subprocess.run(
        ["grep", "-rln", "--include=*.py", "-E", r"duckdb\.(connect|sql|query|execute)\(",
         os.path.dirname(root)],
        capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    assert found == [duck.__file__]


@pytest.mark.parametrize("ending", ["duckdb", "csv", "sqlite"])
def test_a_query_has_a_time_limit(table, monkeypatch, ending):
    monkeypatch.setattr(duck, "QUERY_SECONDS", 1.0)
    path = table if ending == "csv" else table.parent / f"a.{ending}"
    if ending == "duckdb":
        duckdb.connect(str(path)).close()
    if ending == "sqlite":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("create table t (a)")
    began = time.monotonic()
    with fails("TB113", "the query took more than 1 s"):
        open_table(path, sql=ENDLESS).whole()
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("verb", ["fit", "alpha"])
def test_ctrl_c_ends_a_query(table, verb):
    path = table.parent / "endless.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"create view v as select 0.5::double as s, i from ({ENDLESS})")
    asked = {"fit": ["--label", "i"], "alpha": ["--score", "s", "--label", "i"]}[verb]
    process = warm.start([verb, path, *asked], table.parent / "said.txt")
    try:
        time.sleep(2)
        assert process.is_alive()
        os.kill(process.pid, signal.SIGINT)
        process.join(30)
        assert process.exitcode not in (None, 0)
    finally:
        process.kill()  # it would never end


@pytest.fixture
def run(tmp_path):
    """A run that was made from a query."""
    rng = np.random.default_rng(0)
    is_positive = rng.random(200) < 0.4
    x = rng.normal(2.0 * is_positive, 1).round(3)
    rows = {"x": x, "y": (is_positive & (rng.random(200) < 0.5)).astype(int)}
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    asked = ["fit", str(tmp_path / "t.csv"), "--label", "y", "--preset", "fast"]
    asked += ["--sql", "select x, y from data", "-o", str(tmp_path / "run")]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    return tmp_path / "run"


def test_a_query_in_a_run_folder_is_never_run(run):
    (run / "rows.parquet").unlink(missing_ok=True)
    asked = ["audit", str(run), "--n", "10"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 1
    assert "TB113" in done.stderr
    assert "--sql 'select x, y from data'" in done.stderr
    again = CliRunner().invoke(main, [*asked, "--sql", "select x, y from data"])
    assert again.exit_code == 0, again.output
    other = CliRunner().invoke(main, [*asked, "--force", "--sql", "select y, x from data"])
    assert "TB117" in other.stderr


def test_a_forged_query_in_a_run_folder_writes_nothing(run):
    target = run.parent / "started.sh"
    forged = f"select * from data); copy (select 1) to '{target}'; select * from (select 1"
    text = (run / "run.toml").read_text()
    (run / "run.toml").write_text(text.replace("select x, y from data", forged))
    for more in ([], ["--sql", forged]):
        done = CliRunner().invoke(main, ["audit", str(run), "--n", "10", *more])
        assert "TB113" in done.stderr
    assert not target.exists()
