"""Our numbers beside the paper's, the verdicts on them, and what a run will cost."""

import pandas as pd
import pytest

from topbin_bench.agenda import AGENDA, cpu_hours, everything
from topbin_bench.cli import bench
from topbin_bench.errors import BenchError
from topbin_bench.grid import Cell, grid
from topbin_bench.methods import OLD_DEFAULT, plain_name
from topbin_bench.paired import MISSING, all_printed, count, pairs_of, reasons, side_by_side
from topbin_bench.paper import PAPER
from topbin_bench.recheck import some_cells
from topbin_bench.verdicts import against_each, against_paper


def row(cell, **columns):
    return {"key": cell.key, "task": cell.task, "method": cell.method, "alpha": cell.alpha,
            "seed": cell.seed, "profile": cell.profile, "status": "done", **columns}  # fmt: skip


@pytest.fixture
def rows():
    """Ours has an error of .02, .03 and .04 on concrete, BBE .1 more, TIcE nearly the same."""
    errors = {"topbin": 0.02, "tedn": 0.07, "bbe": 0.12, "tice": 0.021, OLD_DEFAULT: 0.01}
    return pd.DataFrame([
        row(Cell("concrete", method, 0.5, seed, "paper"), seconds=36.0,
            alpha_error_last=error + 0.01 * seed + (0.004 * seed**2 if method == "tice" else 0.0),
            alpha_error_oracle=error / 2, alpha_last=0.5, accuracy_last=0.9)
        for method, error in errors.items() for seed in range(3)
    ])  # fmt: skip


def test_every_number_of_the_paper_is_counted(rows):
    found = count(pairs_of(rows))
    assert found.startswith(f"{len(PAPER) + 6} cells of the paper, 4 with ours beside them, ")
    assert "without a reason" in found


def test_an_entry_explains_only_what_the_paper_has():
    for entry in MISSING:
        assert any(entry.covers(cell) for cell in all_printed())


def test_ours_stands_beside_the_paper_for_the_same_stop(rows):
    table = side_by_side(rows, pairs_of(rows), "uci_MPE")
    line = dict(zip(table.header, table.rows[0], strict=True))
    assert line["(TED)ⁿ"] == "0.071 / 0.080 ± 0.006"
    assert line["BBE*"] == "0.152 / 0.060 ± 0.000"  # the oracle's, as the star says
    assert line["topbin (default)"] == "0.030 ± 0.006"
    assert line["KM2"] == "0.099 / –"


def test_what_is_missing_has_its_reason(rows):
    lines = {line[:2]: line for line in reasons(pairs_of(rows)).rows}
    assert "MLP" in lines["binarized_cifar", "mlp"][-1]
    assert lines["mnist17", "mlp"][-1] == "unknown"


def test_against_each_counts_tasks(rows):
    lines = against_each(rows, "alpha_error", "topbin", ["bbe", "tice", OLD_DEFAULT, "km2"]).rows
    assert lines == (
        ("BBE", "-0.100 ± 0.000", "better", "1", "0", "0", "–"),
        ("TIcE", "-0.008 ± 0.005", "tied", "0", "1", "0", "–"),
        ("topbin 0.2", "0.010 ± 0.000", "worse", "0", "0", "1", "concrete"),
    )


def test_against_the_paper(rows):
    (line,) = against_paper(rows, "alpha_error", ["topbin", "cvir"]).rows
    assert line == ("concrete", "0.071", "0.030 ± 0.006", "better", "–", "–")


def test_the_old_default_is_shown_and_never_run_again(rows):
    assert plain_name(OLD_DEFAULT) == "topbin 0.2"
    assert OLD_DEFAULT not in set(some_cells(rows, 15, seed=0)["method"])
    with pytest.raises(BenchError, match="less than 36 CPU seconds"):
        some_cells(rows, 1, seed=0, under=36)


def test_the_plan_is_whole_and_its_cost_is_known(rows):
    cells = everything()
    assert len({cell.key for cell in cells}) == len(cells)
    assert {cell.key for item in AGENDA for cell in item.cells()} == {cell.key for cell in cells}
    # Two trainings of 36 seconds, as BBE and BBE-CP share one; nobody knows what km1 costs.
    todo = grid(
        ["concrete"], "paper", methods=["bbe", "bbe_cp", "tedn", "km1"], alphas=[0.1], seeds=1
    )
    assert cpu_hours(todo, rows) == (pytest.approx(0.02), 1)
    assert cpu_hours(todo, pd.DataFrame()) == (0, 3)


def test_everything_takes_no_choice_of_cells(tmp_path):
    from click.testing import CliRunner

    result = CliRunner().invoke(bench, ["run", "everything", "--seeds", "1", "-o", str(tmp_path)])
    assert result.exit_code == 2
    assert "fixed plan" in result.stderr
