"""Cells, keys, jobs, contenders and profiles."""

from dataclasses import replace
from math import nan

import pytest

from topbin.learn import LEARNERS
from topbin.mpe import METHODS
from topbin_bench import grid as grid_module
from topbin_bench.errors import UnknownName
from topbin_bench.grid import Cell, Job, grid, jobs_of
from topbin_bench.methods import CONTENDERS, USUAL, find_contender
from topbin_bench.profiles import PROFILES, find_profile
from topbin_bench.tasks import TASKS

CELL = Cell("gaussians", "bbe", 0.5, 0, "smoke")


@pytest.mark.parametrize(
    "other",
    [
        replace(CELL, task="beta"),
        replace(CELL, method="scott"),
        replace(CELL, alpha=0.25),
        replace(CELL, seed=1),
        replace(CELL, profile="paper"),
    ],
)
def test_a_key_tells_cells_apart(other):
    assert other.key != CELL.key


def test_a_key_depends_on_settings_not_on_the_profiles_name():
    assert replace(CELL, profile="cpu").key == replace(CELL, profile="paper").key  # both the same


def test_a_key_stays_the_same_for_ever():
    # Committed results are found by it. Change FORMAT when they must not be.
    assert Cell("concrete", "tedn", 0.5, 0, "paper").key == "731792c9e7d573d7"


def test_a_format_makes_older_results_strangers(monkeypatch):
    before = CELL.key
    monkeypatch.setattr(grid_module, "FORMAT", 99)
    assert CELL.key != before


def test_every_registered_method_and_learner_takes_part():
    assert set(METHODS) | set(LEARNERS) | {"topbin"} == set(USUAL)
    assert {c.trainer for c in CONTENDERS.values() if c.name in METHODS and c.learner} == {"pvu"}


def test_a_grid_is_balanced_from_its_start():
    cells = grid(["synthetic"], "smoke", methods=["bbe", "tedn"], alphas=[0.5, 0.1], seeds=2)
    assert len(cells) == len(set(cells)) == 2 * 2 * 3 * 2
    assert {cell.alpha for cell in cells[:12]} == {0.5}
    assert {cell.seed for cell in cells[:6]} == {0}


def test_tasks_bring_their_own_alphas_and_profiles_their_seeds():
    cells = grid(["concrete"], "paper", methods=["bbe"])
    assert len(cells) == 5 * 10
    assert {cell.alpha for cell in cells} == set(TASKS["concrete"].alphas)


def test_where_nobody_knows_alpha_nobody_is_told_it():
    cells = grid(["gsec_pu"], "paper", alphas=[0.3], seeds=1)
    assert {str(cell.alpha) for cell in cells} == {"nan"}
    assert not any(find_contender(cell.method).known_alpha for cell in cells)
    assert "tedn" in {cell.method for cell in cells}


def test_methods_that_read_the_same_scores_are_one_job():
    jobs = jobs_of(grid(["gaussians", "gsec_pu"], "smoke", methods=["bbe", "tedn", "scott"]))
    assert [[cell.method for cell in job.cells] for job in jobs] == [["bbe", "scott"], ["tedn"]] * 2
    assert jobs[0].trainer == "pvu"
    assert len({job.key for job in jobs}) == 4
    assert Job(jobs[0].cells[::-1]).key == jobs[0].key


def test_nan_shares_a_job():
    cells = [Cell("gsec_pu", method, nan, 0, "smoke") for method in ("bbe", "scott")]
    assert len(jobs_of(cells)) == 1


@pytest.mark.parametrize("find", [find_contender, find_profile])
def test_unknown_names(find):
    with pytest.raises(UnknownName, match="'nope'"):
        find("nope")


def test_an_unknown_method_stops_a_grid():
    with pytest.raises(UnknownName, match="no method is called 'nope'"):
        grid(["gaussians"], "smoke", methods=["nope"])


def test_every_profile_has_settings_for_every_kind():
    kinds = {task.kind for task in TASKS.values()}
    for profile in PROFILES.values():
        assert set(profile.settings) == kinds
        for settings in profile.settings.values():
            assert sum(settings.recorded(e) for e in range(1, settings.total + 1)) >= settings.last
            assert settings.recorded(settings.total)


def test_the_paper_profile_is_the_papers():
    settings = PROFILES["paper"].settings["table"]
    assert (settings.net, settings.warm_start, settings.batch, settings.size) == (
        "uci-mlp", 100, 200, None,
    )  # fmt: skip


def test_what_is_asked_for_twice_is_one_cell():
    twice = grid(["gaussians", "synthetic"], "smoke", methods=["bbe", "bbe"], alphas=[0.5, 0.5])
    once = grid(["synthetic"], "smoke", methods=["bbe"], alphas=[0.5])
    assert sorted(c.key for c in twice) == sorted(c.key for c in once)
