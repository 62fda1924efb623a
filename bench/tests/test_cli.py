"""`topbin-bench`: list, run, table, figures and check."""

import json

import pytest
from click.testing import CliRunner

from topbin_bench.cli import bench
from topbin_bench.grid import grid
from topbin_bench.store import Store, write_table


def call(*arguments):
    return CliRunner().invoke(bench, [*map(str, arguments)])


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The whole smoke run, without a data folder."""
    folder = tmp_path_factory.mktemp("bench")
    runner = CliRunner(env={"TOPBIN_DATA": None})
    return folder, runner.invoke(bench, ["run", "smoke", "-o", str(folder)])


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
    assert f"{cells} cells, {cells} of them done before, 0 fits to do" in result.stderr


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
    assert {"task", "method", "oracle stop", "paper ± its sd"} <= set(rows[0])


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
    assert "TOPBIN_DATA is not set" in result.stderr
    assert "TOPBIN_DATA is not set" in call("table", "--failed", "-o", tmp_path).stdout


def test_a_table_of_nothing(tmp_path):
    result = call("table", "-o", tmp_path)
    assert result.exit_code == 1
    assert "has no results" in result.stderr


def test_wrong_names_are_wrong_use(tmp_path):
    result = call("run", "concret", "-o", tmp_path)
    assert result.exit_code == 2
    assert "Did you mean 'concrete'" in result.stderr


def test_list():
    shown = call("list")
    assert "Gaussians 4σ apart [family synthetic]" in shown.stdout
    assert shown.exit_code == 0
    assert "mnist17" in shown.stdout
    assert "[family mnist]" in shown.stdout
    tables = json.loads(call("list", "--json").stdout)
    assert set(tables) == {"tasks", "methods", "profiles"}
    assert "tedn" in tables["methods"]


def test_help_names_the_verbs():
    result = call("--help")
    assert result.exit_code == 0
    for verb in ("list", "run", "table", "figures", "check"):
        assert verb in result.stdout


def test_cells_run_again_give_what_is_stored(smoke):
    folder, _ = smoke
    before = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    result = call("check", "-o", folder, "--cells", 3, "--seed", 1, "--within", 0, "--json")
    assert result.exit_code == 0, result.output
    lines = json.loads(result.stdout)
    assert len({(line["task"], line["method"], line["α"]) for line in lines}) == 3
    assert {line["difference"] for line in lines} == {"0"}
    assert "3/3" in result.stderr
    assert {path.name: path.read_bytes() for path in folder.glob("*.parquet")} == before


def test_a_number_that_cannot_be_reproduced_is_reported(tmp_path):
    assert call("run", "triangles", "--profile", "smoke", "--method", "tice", "--seeds", 1,
                "-o", tmp_path).exit_code == 0  # fmt: skip
    store = Store(tmp_path)
    write_table(store.frame().assign(alpha_last=0.125), tmp_path / "rows.parquet")
    assert call("check", "-o", tmp_path).exit_code == 0
    result = call("check", "-o", tmp_path, "--within", 0.001)
    assert result.exit_code == 3
    assert "| 0.1250 |" in result.stdout


def test_nothing_to_check(tmp_path):
    result = call("check", "-o", tmp_path)
    assert result.exit_code == 1
    assert "has no results" in result.stderr


def test_without_a_folder_smoke_stays_out_of_the_committed_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("run", "smoke", "--method", "tice").exit_code == 0
    assert (tmp_path / "bench/results/smoke/rows.parquet").exists()
    assert not (tmp_path / "bench/results/bench").exists()


@pytest.mark.filterwarnings("default")  # Dask closes its sockets in its own way
def test_cells_are_spread_over_a_dask_cluster(smoke, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        there = ["--scheduler", cluster.scheduler_address, "-o", tmp_path]
        assert call("run", "smoke", "--method", "tice", *there).exit_code == 0
    here, found = (
        store.frame().query("method == 'tice'").set_index("key")["alpha_last"].sort_index()
        for store in (Store(smoke[0]), Store(tmp_path))
    )
    assert len(found) == 3
    assert found.equals(here)


@pytest.mark.filterwarnings("default")
def test_a_scheduler_that_does_not_answer(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")

    def client(address, **_):
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", client)
    result = call("run", "smoke", "--scheduler", "tcp://127.0.0.1:9", "-o", tmp_path)
    assert result.exit_code == 1
    assert 'no Dask scheduler answers at "tcp://127.0.0.1:9"' in result.stderr
