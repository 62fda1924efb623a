"""The results page and the full tables agree with the committed rows."""

import re

import bench_page as page
import pandas as pd
import pytest

from topbin_bench.grid import Cell
from topbin_bench.results import finished, read_rows
from topbin_bench.store import Store


@pytest.fixture(scope="module")
def rows():
    return finished(read_rows(Store(page.RESULTS / "bench")))


def rows_of(*cells):
    rows = [
        {"key": cell.key, "task": cell.task, "method": cell.method, "alpha": cell.alpha,
         "seed": cell.seed, "profile": cell.profile, "status": "done"}
        for cell in cells
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("name", page.BLOCKS)
def test_a_block_of_the_page_shows_the_committed_rows(name, rows):
    text = page.PAGE.read_text()
    assert page.put(text, name, page.BLOCKS[name](rows)) == text


@pytest.mark.parametrize("name", page.FILES)
def test_full_tables_show_the_committed_rows(name, rows):
    assert (page.RESULTS / f"{name}.md").read_text() == page.full(name, rows)


def test_the_page_is_short_and_links_every_full_table():
    text = page.PAGE.read_text()
    assert len(text.splitlines()) <= 250
    assert text.count("<!-- end -->") == len(page.BLOCKS)
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert all((page.PAGE.parent / link).exists() for link in links)
    assert {f"../bench/results/{name}.md" for name in page.FILES} <= set(links)


def test_the_images_are_those_that_the_page_shows():
    shown = re.findall(r"\]\(images/results/(\w+)\.png\)", page.PAGE.read_text())
    assert sorted(shown) == sorted(page.FIGURES)
    assert sorted(path.stem for path in page.IMAGES.iterdir()) == sorted(page.FIGURES)


def test_numbers_in_the_prose_are_those_of_the_rows(rows):
    """The hand-written numbers that a rerun would change most easily."""
    text = page.PAGE.read_text()
    cover = {line[0]: line[1] for line in page.coverage(rows).rows}
    assert f"in {cover['topbin (default)']} runs" in text
    assert f"({len(Store(page.RESULTS / 'bench').current()):,} cells)" in text
    mean = page.wide(page.of_tasks(rows, page.UCI), "alpha_error", page.ALPHA).rows[-1]
    found = dict(zip(page.ALPHA, mean[1:], strict=False))
    for name, said in {"BBE": "bbe", "DEDPUL": "dedpul", "AlphaMax": "alphamax"}.items():
        assert f"{name} ({found[said].removeprefix('0')})" in text


def test_a_page_without_the_place_of_a_block_is_refused():
    with pytest.raises(SystemExit, match="exactly one line <!-- uci -->"):
        page.put("no place\n", "uci", "")


def test_what_was_not_run_is_the_rest_of_the_plan():
    done = Cell("gsec_pu", "tedn", float("nan"), 0, "paper")
    lines = {line[:3]: line[3] for line in page.not_run(rows_of(done)).rows}
    said = lines["gsec_pu", "paper", "unknown"]
    assert said.startswith("10: ")
    assert said.endswith("; 9: tedn")
    assert ("cifar_dog_cat", "cpu-allconv", "0.5") in lines


def test_lines_with_the_same_counts_are_one():
    cells = [Cell("concrete", "bbe", alpha, 0, "paper") for alpha in (0.1, 0.9)]
    assert page.counted(rows_of(*cells)).rows == (("concrete", "paper", "0.1, 0.9", "1: bbe"),)


def test_a_command_of_the_plan(rows):
    said = page.commands(rows)
    assert "topbin-bench run mnist --profile cpu --seeds 3 --jobs 2 --alpha 0.5\n" in said
    assert "CPU hours" in said


def test_every_number_of_the_paper_has_ours_or_a_reason(rows):
    pairs = page.pairs_of(rows)
    assert page.count(pairs).endswith("each with its reason")
    beside = sum(pair.ours is not None for pair in pairs)
    text = page.PAGE.read_text()
    assert f"{len(pairs)} numbers; {beside} have ours beside them" in text
    assert f"{len(pairs) - beside} are missing" in text
    assert set(page.PAPER_TABLES) == {pair.paper.table for pair in pairs}
