"""No file is misread in silence: folder names, dates without end, columns named twice, escapes."""

import json

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from coded import fails

from topbin.cli import main
from topbin.cli.verb import screen
from topbin.data import open_table, read_table, write_table

pytestmark = pytest.mark.usefixtures("quick_fits")

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


def scored(n=200, seed=0):
    rng = np.random.default_rng(seed)
    is_positive = rng.random(n) < 0.5
    label = is_positive & (rng.random(n) < 0.5)
    return pd.DataFrame({"x": rng.normal(3.0 * is_positive, 1).round(4), "y": label.astype(int)})


def run(*given):
    return CliRunner().invoke(main, list(map(str, given)))


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "csv.gz"])
def test_a_folder_called_column_equals_value_is_only_a_folder(tmp_path, ending):
    """It overwrote the column: α was 1.000 instead of .354."""
    folder = tmp_path / "x=7" / "y=1"
    folder.mkdir(parents=True)
    plain = write_table(tmp_path / "a.parquet", scored()), tmp_path / "a.parquet"
    path = folder / f"a.{ending}"
    if ending == "csv.gz":
        scored().to_csv(path, index=False)
    else:
        write_table(path, scored())
    frame = read_table(path).frame
    assert frame["x"].tolist() == scored()["x"].tolist()
    assert frame["y"].tolist() == scored()["y"].tolist()
    assert [*open_table(path, sql="select * from data").types] == ["x", "y"]
    wanted, found = (
        json.loads(run("alpha", source, "--score", "x", "--label", "y", "--json").stdout)
        for source in (plain[1], path)
    )
    assert wanted["alpha"] == found["alpha"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_partitioned_data_is_read_when_asked_for(tmp_path, ending):
    """Every format and every verb, with hard names, and a folder for rows without a value."""
    years = ["01", "12", "__HIVE_DEFAULT_PARTITION__"]
    for i, year in enumerate(years):
        folder = tmp_path / f"year={year}" / "to%20wn=it's"
        folder.mkdir(parents=True)
        write_table(folder / f"{i}.{ending}", scored(seed=i))
    source = f"{tmp_path}/*/*/*.{ending}"
    assert [*open_table(source).types] == ["x", "y"]
    table = open_table(source, partitions=True)
    frames = [table.whole().frame, *[batch.frame for p in table.parts() for batch in p.batches()]]
    assert pd.concat(frames[1:])["year"].fillna(0).tolist() == frames[0]["year"].fillna(0).tolist()
    assert frames[0]["year"].fillna(0).unique().tolist() == [1, 12, 0]
    assert frames[0]["to wn"].unique().tolist() == ["it's"]
    sql = 'select x, "to wn" from data where year = 12'
    assert open_table(source, sql=sql, partitions=True).whole().rows == 200
    asked = ("--label", "y", "--partitions")
    for done in (
        run("alpha", source, "--score", "x", "--by", "year", *asked),
        run("fit", source, *asked, "--preset", "fast", "--sample", 50, "-o", tmp_path / "run"),
        run("score", tmp_path / "run", source, "--partitions", "-o", tmp_path / "s.csv"),
        run("audit", tmp_path / "run", "--n", 5),
    ):
        assert done.exit_code == 0, done.output
    assert "year" in json.loads((tmp_path / "run" / "result.json").read_text())["data"]["features"]
    (tmp_path / "x=1").mkdir()
    write_table(tmp_path / "x=1" / f"0.{ending}", scored())
    with fails("TB115", '"x" twice'):
        open_table(tmp_path / "x=1" / f"0.{ending}", partitions=True)


@pytest.mark.parametrize(
    ("days", "read"),
    [
        (["2020-01-01", "infinity", "-infinity"], ["2020-01-01", None, None]),
        (["2020-01-01 10:00:00", "infinity", ""], ["2020-01-01 10:00", None, None]),
        (["2020-01-01T10:00:00+02:00", "infinity", ""], ["2020-01-01 08:00", None, None]),
        (["31/12/2020", "infinity", ""], ["31/12/2020", "infinity", None]),
        (["31/12/2020 10:00:00", "infinity", ""], ["31/12/2020 10:00:00", "infinity", None]),
    ],
)
@pytest.mark.parametrize("rows", [3, 30_000])
def test_infinity_is_not_the_first_of_january_1900(tmp_path, days, read, rows):
    path = tmp_path / "a.csv"
    filler = [days[0]] * (rows - 3)
    pd.DataFrame({"day": [*filler, *days], "n": 1}).to_csv(path, index=False)
    found = read_table(path).frame["day"].iloc[-3:]
    wanted = pd.to_datetime(pd.Series(read)) if found.dtype.kind == "M" else pd.Series(read)
    assert found.isna().tolist() == wanted.isna().tolist()
    assert found.dropna().tolist() == wanted.dropna().tolist()


def test_infinity_in_json_is_said(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"day": "2020-01-01"}\n{"day": "infinity"}\n')
    with fails("TB102", 'an infinite date in the column "day"'):
        read_table(tmp_path / "a.jsonl")


def test_infinity_in_parquet_and_duckdb_is_missing(tmp_path):
    row = "select {0}::date as day, {0}::timestamp as moment, {0}::timestamptz as zoned"
    rows = f"{row.format(repr('2020-01-01'))} union all {row.format(repr('infinity'))}"
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("set TimeZone='UTC'")
        connection.execute(f"create table t as {rows}")
        connection.execute(f"copy t to '{tmp_path / 'a.parquet'}'")
    for path in (tmp_path / "a.duckdb", tmp_path / "a.parquet"):
        table = open_table(path)
        for part in table.parts():  # parquet is read by Arrow here, and by DuckDB below
            (batch,) = part.batches()
            assert batch.frame.isna().to_numpy().tolist() == [[False] * 3, [True] * 3]
            assert batch.coded("day").counts() == {pd.Timestamp("2020-01-01").date(): 1, None: 1}
        assert table.whole().frame["day"].tolist()[0] == pd.Timestamp("2020-01-01")
        assert table.whole().frame.isna().to_numpy().tolist() == [[False] * 3, [True] * 3]


def test_a_column_named_twice_is_refused_by_every_verb(tmp_path):
    columns = [[0.1, 0.9] * 50, [0, 1] * 50, [0.2] * 100]
    for name, second in (("twice", "s"), ("case", "S")):
        lines = [f"s,y,{second}", *(",".join(map(str, row)) for row in zip(*columns, strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        names = ["s", "y", second]
        pq.write_table(pa.table(columns, names=names), tmp_path / f"{name}.parquet")
    for path in sorted(tmp_path.iterdir()):
        for asked in (["alpha", path, "--score", "s"], ["fit", path, "-o", tmp_path / "run"]):
            done = run(*asked, "--label", "y")
            assert (done.exit_code, done.stderr[:5]) == (1, "TB115"), (path, done.output)


def test_names_cannot_steer_the_terminal(tmp_path):
    hard = scored().assign(**{ESCAPE: "a"}).rename(columns={"x": f"x{ESCAPE}"})
    hard.to_csv(tmp_path / "a.csv", index=False)
    score = ("--score", f"x{ESCAPE}", "--label", "y")
    said = [
        run("alpha", tmp_path / "a.csv", "--score", "z", "--label", "y"),
        run("alpha", tmp_path / "a.csv", *score, "--by", ESCAPE),
        run("alpha", tmp_path / "a.csv", *score, "--by", ESCAPE, "--json"),
        run("fit", tmp_path / "a.csv", "--label", "y", "--preset", "fast", "-o", tmp_path / "run"),
        run("inspect", tmp_path / "run"),
    ]
    assert [done.exit_code for done in said] == [2, 0, 0, 0, 0]
    for done in said:
        assert set(done.output) & set("\x1b\x07\x9b\u202e") == set(), done.output
    assert "\\u001b]0;owned" in said[0].output
    assert json.loads(said[2].stdout)["by"] == ESCAPE
    page = (tmp_path / "run" / "report.html").read_text()
    assert set(page) & set("\x1b\x07\x9b\u202e") == set()
    assert "\\u202e" in page


def test_what_is_not_from_a_file_is_printed_as_it_is(capsys):
    screen().print("α = 0.5\n\tof [/b] all")
    assert capsys.readouterr().out == "α = 0.5\n        of [/b] all\n"
