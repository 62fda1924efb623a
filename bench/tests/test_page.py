"""The results page: a place for every section, and sections that go when they have no results."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from topbin_bench.grid import Cell

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "bench_page.py"


@pytest.fixture(scope="module")
def page():
    if not SCRIPT.exists():
        pytest.skip("bench/scripts/ is not part of a source distribution")
    spec = importlib.util.spec_from_file_location("bench_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows_of(*cells):
    rows = [
        {"key": cell.key, "task": cell.task, "method": cell.method, "alpha": cell.alpha,
         "seed": cell.seed, "profile": cell.profile, "status": "done", "alpha_last": 0.4,
         "alpha_error_last": 0.1, "accuracy_last": 0.8}
        for cell in cells
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_the_page_has_a_place_for_every_section(page):
    text = page.PAGE.read_text()
    assert [text.count(f"<!-- {name} -->\n") for name in page.SECTIONS] == [1] * len(page.SECTIONS)
    assert text.count("<!-- end -->") == len(page.SECTIONS)


def test_a_section_goes_with_its_results(page):
    text = "before\n<!-- imdb -->\nold\n<!-- end -->\nafter\n"
    rows = page.in_order(rows_of(Cell("imdb", "tedn", 0.5, 0, "cpu")))
    full = page.put(text, "imdb", page.SECTIONS["imdb"](rows))
    assert "## IMDb" in full
    assert "| imdb | (TED)ⁿ | 0.100 |" in full
    empty = page.put(full, "imdb", page.SECTIONS["imdb"](rows[rows["task"] == "none"]))
    assert empty == "before\n<!-- imdb -->\n<!-- end -->\nafter\n"


def test_what_was_not_run_is_the_rest_of_the_grid(page):
    done = Cell("gsec_pu", "tedn", float("nan"), 0, "paper")
    lines = {line[:3]: line[3] for line in page.not_run(rows_of(done)).rows}
    said = lines["gsec_pu", "paper", "unknown"]
    assert said.startswith("10: ")
    assert said.endswith("; 9: tedn")
    assert ("cifar_dog_cat", "cpu-allconv", "0.5") in lines


def test_lines_that_say_the_same_are_one(page):
    cells = [Cell("concrete", "bbe", alpha, 0, "paper") for alpha in (0.1, 0.9)]
    assert page.counted(rows_of(*cells)).rows == (("concrete", "paper", "0.1, 0.9", "1: bbe"),)
