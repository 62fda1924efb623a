"""Every snippet of the tutorial and the how-to pages runs, in the order of the page."""

import doctest
import re
import shlex
import shutil
from contextlib import nullcontext
from pathlib import Path

import matplotlib.pyplot
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from how_to import write_files
from pictures import write_photos
from quick_plans import quick_plans, usual_plans
from tumours import tumours

from topbin.cli import main

DOCS = Path(__file__).parents[2] / "docs"
HOW_TO = {path.name: path.read_text() for path in sorted((DOCS / "how-to").glob("*.md"))}
FIRST = "topbin fit claims.csv --label is_fraud --id claim --preset fast -o run1"
# These need a cluster or several processes: tests/parity and tests/learn/test_distributed.py.
RUN_ELSEWHERE = {"dask.md", "spark.md", "torchrun.md"}


def run_page(name, run_line):
    """Run a page's blocks in order, Python in one namespace; return how many there were."""
    namespace = {}
    count = 0
    for language, block in re.findall(
        r"```(python|bash)\n(.*?)```", (DOCS / name).read_text(), re.DOTALL
    ):
        count += 1
        if language == "python":
            exec(block, namespace)
            continue
        for line in block.strip().splitlines():
            run_line(line)
    return count


def run_line(line):
    program, *arguments = shlex.split(line, comments=True)
    assert program == "topbin"
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, f"{line}\n{done.output}"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Every page runs here, so that a file has the same path on each."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def run_once(place):
    """Run a line; that which many pages begin with is run once, and its folder copied."""

    def run(line):
        begun, made = place / "begun", place / "here" / "run1"
        if line != FIRST:
            run_line(line)
        elif begun.exists():
            shutil.copytree(begun, made)
        else:
            with usual_plans():
                run_line(line)
            shutil.copytree(made, begun)

    return run


@pytest.fixture
def claims(place, monkeypatch):
    shutil.rmtree(place / "here", ignore_errors=True)
    (place / "here").mkdir()
    monkeypatch.chdir(place / "here")
    frame = tumours().iloc[:, [0, 1, 2, 3, 4, -1]]
    frame.columns = ["claim", "amount", "age", "visits", "area", "is_fraud"]
    rng = np.random.default_rng(0)
    words = np.where(frame["amount"] > 15, "large sudden loss of cargo", "small dent in the door")
    frame["note"] = [f"{word} number {rng.integers(99)}" for word in words]
    frame.to_csv("claims.csv", index=False)
    frame[frame["is_fraud"] == 1].drop(columns="is_fraud").to_csv("known.csv", index=False)
    frame[frame["is_fraud"] == 0].drop(columns="is_fraud").to_csv("rest.csv", index=False)
    for name, own in (("yes", frame["is_fraud"] == 1), ("rest", frame["is_fraud"] == 0)):
        Path("docs", name).mkdir(parents=True)
        for k, text in enumerate(frame.loc[own, "note"].iloc[:150]):
            Path("docs", name, f"{k}.txt").write_text(text)
    Path("docs", "new").mkdir()
    Path("docs", "new", "1.txt").write_text("another loss of cargo")
    return place / "here"


def test_the_tutorial(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_page("tutorial.md", run_line) == 8
    assert "of the 469 unlabeled are positive" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(HOW_TO.keys() - RUN_ELSEWHERE))
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_a_how_to_page_runs(name, claims, run_once):
    if "torch" in HOW_TO[name]:
        pytest.importorskip("torch", reason='needs pip install "topbin[torch]"')
    if "/*.parquet" in HOW_TO[name]:
        write_files(claims)
    if name == "images.md":
        write_photos(claims / "photos")
    # Where a page asserts numbers, or an audit might contradict them, they are those of users.
    numbers = any(word in HOW_TO[name] for word in ("assert ", "--labels"))
    with nullcontext() if numbers else quick_plans():
        assert run_page(f"how-to/{name}", run_once) > 0
    matplotlib.pyplot.close("all")
    if name == "new-rows.md":
        assert {"topbin_probability", "topbin_positive"} <= set(pd.read_csv("scored.csv"))


@pytest.mark.parametrize("name", HOW_TO)
def test_a_how_to_page_starts_from_a_question_and_is_short(name):
    title, *lines = HOW_TO[name].splitlines()
    assert title.startswith("# ")
    assert title.endswith("?")
    assert len(lines) < 100


@pytest.mark.parametrize("name", HOW_TO)
def test_a_how_to_page_can_be_found_from_the_start_page(name):
    assert f"(how-to/{name})" in (DOCS / "index.md").read_text()


def test_the_lines_for_a_file_in_the_readme(claims):
    pd.read_csv("claims.csv").rename(columns={"claim": "claim_id"}).sample(
        160, random_state=0
    ).to_parquet("claims.parquet")
    pd.read_parquet("claims.parquet")[:20].to_parquet("new.parquet")
    readme = (DOCS.parent / "README.md").read_text()
    lines = re.findall(r"^topbin .*$", readme, re.MULTILINE)
    assert [line.split()[1] for line in lines] == ["fit", "audit", "score"]
    for line in lines:
        run_line(line)


@pytest.mark.parametrize(("name", "examples"), [("distributed.md", 6), ("metrics.md", 15)])
def test_the_examples_of_an_explanation_give_what_it_prints(name, examples):
    page = str(DOCS / "explanation" / name)
    found = doctest.testfile(page, module_relative=False, encoding="utf-8")
    assert found.attempted >= examples
    assert found.failed == 0
