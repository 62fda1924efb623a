"""`topbin score`: one file as before, or, with an engine, a folder that can be gone on with."""

import json

import pandas as pd
import pytest
from click.testing import CliRunner
from scale.claims import claims, small_run, write_claims
from scale.tables import spoil

from topbin.cli import main


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
    assert "1 file left out, for unreadable" in result.stdout


def test_a_cluster_that_is_not_there_is_one_sentence(fitted_run, tmp_path):
    pytest.importorskip("distributed", reason='needs pip install "topbin[dask]"')
    files = write_claims(tmp_path / "in", claims(50), ())
    given = fitted_run, files, "-o", tmp_path / "out", "--engine", "dask"
    result = run(*given, "--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code == 1
    assert result.stderr.startswith("TB401 no Dask scheduler answers at")
    assert not (tmp_path / "out").exists()
