"""`topbin bench`: list, run, table and figures."""

import json

import pytest
from click.testing import CliRunner

from topbin.bench.grid import grid
from topbin.cli import main


def call(*arguments):
    return CliRunner().invoke(main, ["bench", *map(str, arguments)])


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The whole smoke run, without a data folder."""
    folder = tmp_path_factory.mktemp("bench")
    runner = CliRunner(env={"TOPBIN_DATA": None})
    return folder, runner.invoke(main, ["bench", "run", "smoke", "-o", str(folder)])


def test_smoke_runs_everything_without_data(smoke):
    _, result = smoke
    assert result.exit_code == 0, result.output
    assert "0 failed" in result.stderr
    assert "left 0:00" in result.stderr


def test_a_second_run_has_nothing_to_do(smoke):
    folder, _ = smoke
    result = call("run", "smoke", "-o", folder, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["run"] == 0
    cells = len(grid(["synthetic"], "smoke"))
    assert f"{cells} cells, {cells} of them done before" in result.stderr


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_tables(smoke, form):
    folder, _ = smoke
    result = call("table", "-o", folder, "--format", form, "--measure", "accuracy")
    assert result.exit_code == 0
    assert "triangles" in result.stdout
    assert "oracle stop" in result.stdout


def test_a_table_as_json(smoke):
    folder, _ = smoke
    rows = json.loads(call("table", "-o", folder, "--json").stdout)
    assert {"task", "method", "oracle stop", "paper"} <= set(rows[0])


def test_figures(smoke, tmp_path):
    folder, _ = smoke
    result = call("figures", "-o", folder, "--images", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "by_epoch.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(json.loads(result.stdout)) == sorted(map(str, tmp_path.iterdir()))
    assert "wrote" in result.stderr


def test_failures_are_shown_and_exit_1(tmp_path, monkeypatch):
    monkeypatch.delenv("TOPBIN_DATA", raising=False)
    result = call("run", "gsec", "--profile", "smoke", "--method", "tice", "-o", tmp_path)
    assert result.exit_code == 1
    assert "TB301" in result.stderr
    assert "TB301" in call("table", "--failed", "-o", tmp_path).stdout


def test_a_table_of_nothing(tmp_path):
    result = call("table", "-o", tmp_path)
    assert result.exit_code == 1
    assert "TB303" in result.stderr


def test_wrong_names_are_wrong_use(tmp_path):
    result = call("run", "concret", "-o", tmp_path)
    assert result.exit_code == 2
    assert "Did you mean 'concrete'" in result.stderr


def test_list():
    shown = call("list")
    assert shown.exit_code == 0
    assert "mnist17" in shown.stdout
    assert "[family mnist]" in shown.stdout
    tables = json.loads(call("list", "--json").stdout)
    assert set(tables) == {"tasks", "methods", "profiles"}
    assert "tedn" in tables["methods"]


def test_help_names_the_verbs():
    result = call("--help")
    assert result.exit_code == 0
    for verb in ("list", "run", "table", "figures"):
        assert verb in result.stdout
