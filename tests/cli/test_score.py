"""`topbin score`: one file as before, or, with an engine, a folder that can be gone on with."""

import json
import shutil

import pandas as pd
import polars as pl
import pytest
from claims import claims, fitted, small_run, write_claims
from click.testing import CliRunner
from score_files import spoil
from stored import forge_result, result_of

import topbin as tb
from topbin.cli import main
from topbin.core import InputError


def run(*args):
    return CliRunner().invoke(main, ["score", *map(str, args)])


@pytest.fixture(scope="module")
def fitted_run(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("fitted") / "run")


def test_without_an_engine_one_file_is_written(fitted_run, tmp_path):
    claims(50).to_parquet(tmp_path / "new.parquet")
    result = run(fitted_run, tmp_path / "new.parquet", "-o", tmp_path / "out.csv", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"rows": 50, "output": str(tmp_path / "out.csv")}
    assert list(pd.read_csv(tmp_path / "out.csv").columns[-2:]) == [
        "topbin_probability",
        "topbin_positive",
    ]


@pytest.mark.parametrize("engine", [(), ("--engine", "local")])
def test_an_output_must_be_named(fitted_run, tmp_path, engine):
    claims(50).to_csv(tmp_path / "new.csv", index=False)
    result = run(fitted_run, tmp_path / "new.csv", *engine)
    assert result.exit_code == 2
    assert "Missing option '-o' / '--output'" in result.stderr


def test_an_engine_gives_the_same_probabilities_in_a_folder(fitted_run, tmp_path):
    files = write_claims(tmp_path / "in", claims(1200, seed=1))
    given = fitted_run, files, "-o", tmp_path / "out", "--engine", "local"
    result = run(*given)
    assert result.exit_code == 0
    assert f"1,200 rows into 4 files in {tmp_path / 'out'}\n" in result.stdout
    assert "4 files in" in run(*given).stdout
    again = json.loads(run(*given, "--json").stdout)
    assert (again["rows"], again["files"], again["before"]) == (1200, 4, 4)
    run(fitted_run, files, "-o", tmp_path / "one.parquet")
    one = pd.read_parquet(tmp_path / "one.parquet").sort_values("case")
    parts = [pd.read_parquet(path) for path in (tmp_path / "out").glob("*.parquet")]
    many = pd.concat(parts).sort_values("case")
    assert one["topbin_probability"].tolist() == many["topbin_probability"].tolist()


def test_a_file_that_cannot_be_read_ends_it_or_is_counted(fitted_run, tmp_path):
    files = write_claims(tmp_path / "in", claims(1200, seed=1))
    spoil(tmp_path / "in/day-3.parquet", column=1)
    given = fitted_run, files, "-o", tmp_path / "out", "--engine", "local"
    result = run(*given)
    assert result.exit_code == 1
    assert "TB102" in result.stderr
    assert "day-3.parquet" in result.stderr
    result = run(*given, "--skip-bad")
    assert result.exit_code == 0
    assert "1 file skipped because it cannot be read" in result.stdout


def test_a_cluster_that_is_not_there_is_one_sentence(fitted_run, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason='needs pip install "topbin[dask]"')
    monkeypatch.setattr("topbin.engines.dask.REACH_SECONDS", 1)
    files = write_claims(tmp_path / "in", claims(50), ())
    given = fitted_run, files, "-o", tmp_path / "out", "--engine", "dask"
    result = run(*given, "--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code == 1
    assert result.stderr.startswith("TB401 no Dask scheduler answers at")
    assert not (tmp_path / "out").exists()


def test_a_column_of_ours_is_not_overwritten(fitted_run, tmp_path):
    claims(50).to_csv(tmp_path / "new.csv", index=False)
    run(fitted_run, tmp_path / "new.csv", "-o", tmp_path / "once.csv")
    result = run(fitted_run, tmp_path / "once.csv", "-o", tmp_path / "twice.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith('TB115 there is a column "topbin_probability" in "')
    assert "rename or drop" in result.stderr
    assert not (tmp_path / "twice.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_only_columns_that_the_model_reads_must_be_alike(fitted_run, tmp_path, ending):
    write = {"csv": lambda f, p: f.to_csv(p, index=False), "parquet": lambda f, p: f.to_parquet(p)}
    first, second = claims(30).assign(note=1), claims(20, seed=1).assign(extra="x", case="word")
    write[ending](first, tmp_path / f"a.{ending}")
    write[ending](second.drop(columns="known"), tmp_path / f"b.{ending}")
    files = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    result = run(fitted_run, *files, "-o", tmp_path / "out.parquet")
    assert result.exit_code == 0, result.output
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert (len(found), found["extra"].notna().sum(), found["known"].isna().sum()) == (50, 20, 20)
    assert set(found["case"]) == {*map(str, range(30)), "word"}
    write[ending](second.drop(columns="amount"), tmp_path / f"b.{ending}")
    result = run(fitted_run, *files, "-o", tmp_path / "out2.parquet")
    assert result.stderr.startswith("TB106")
    assert 'has no "amount". Make them equal.\n' in result.stderr


def test_swapped_arguments_are_said(fitted_run, tmp_path):
    claims(5).to_csv(tmp_path / "new.csv", index=False)
    result = run(tmp_path / "new.csv", fitted_run, "-o", tmp_path / "out.csv")
    assert result.exit_code == 1
    assert "is a file, not a run folder; the run comes first, then the files" in result.stderr


def test_frames_are_scored_as_files_are(fitted_run, tmp_path):
    new = claims(50).drop(columns="known").set_index("case", drop=False).rename_axis("id")[::-1]
    new.to_parquet(tmp_path / "new.parquet", index=False)
    run(fitted_run, tmp_path / "new.parquet", "-o", tmp_path / "out.parquet")
    of_file = pd.read_parquet(tmp_path / "out.parquet")
    scorer = tb.load(fitted_run)
    found = scorer.score(new)
    assert found.index.equals(new.index)
    assert "topbin_probability" not in new
    for column in ("topbin_probability", "topbin_positive"):
        assert found[column].tolist() == of_file[column].tolist()
        assert fitted().score(pl.from_pandas(new))[column].tolist() == of_file[column].tolist()
    with pytest.raises(InputError, match='TB115 there is a column "topbin_probability" in the fr'):
        scorer.score(found)
    with pytest.raises(InputError, match="TB109"):
        scorer.score(new.drop(columns="amount"))


def test_a_path_is_scored_as_the_command_does(fitted_run, tmp_path):
    claims(30, seed=2).to_csv(tmp_path / "new.csv", index=False)
    assert run(fitted_run, tmp_path / "new.csv", "-o", tmp_path / "out.parquet").exit_code == 0
    for source in (str(tmp_path / "new.csv"), tmp_path / "new.csv", [tmp_path / "new.csv"]):
        scored = tb.load(fitted_run).score(source)
        pd.testing.assert_frame_equal(
            scored, pd.read_parquet(tmp_path / "out.parquet"), check_dtype=False
        )


@pytest.mark.parametrize("named", ["days/mon.csv", "days/*.csv", "days/tue.csv", "new.csv"])
def test_rows_of_the_fit_are_pointed_at(fitted_run, tmp_path, monkeypatch, named):
    """Models that trained on a row as unlabeled score it too low; a new file is no such row."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "days").mkdir()
    for name in ("days/mon.csv", "days/tue.csv", "new.csv"):
        claims(20).to_csv(name, index=False)
    shutil.copytree(fitted_run, "run")
    result = result_of("run")
    result["data"]["source"] = ["days/mon.csv"]
    forge_result(tmp_path / "run", result)
    told = json.loads(run("run", named, "-o", "out.csv", "--json").stdout)
    is_old = named in ("days/mon.csv", "days/*.csv")
    assert ["mon.csv" in note for note in told.get("notes", ())] == [True] * is_old
