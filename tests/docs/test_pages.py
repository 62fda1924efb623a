"""Every snippet of the tutorial and the recipes runs, in the order of the page."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tumours import tumours

from topbin.cli import main

DOCS = Path(__file__).parents[2] / "docs"


def run_page(name):
    """Run a page's blocks: Python in one namespace, commands one after the other."""
    namespace = {}
    count = 0
    for language, block in re.findall(
        r"```(python|bash)\n(.*?)```", (DOCS / name).read_text(), re.DOTALL
    ):
        if language == "python":
            exec(block, namespace)
            continue
        for line in block.strip().splitlines():
            program, *arguments = shlex.split(line)
            assert program == "topbin"
            done = CliRunner().invoke(main, arguments)
            assert done.exit_code == 0, f"{line}\n{done.output}"
            count += 1
    return count


@pytest.fixture
def claims(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = tumours().iloc[:, [0, 1, 2, 3, 4, -1]]
    frame.columns = ["claim", "amount", "age", "visits", "area", "is_fraud"]
    rng = np.random.default_rng(0)
    words = np.where(frame["amount"] > 15, "large sudden loss of cargo", "small dent in the door")
    frame["note"] = [f"{word} number {rng.integers(99)}" for word in words]
    frame.to_csv("claims.csv", index=False)
    frame[frame["is_fraud"] == 1].drop(columns="is_fraud").to_csv("known.csv", index=False)
    frame[frame["is_fraud"] == 0].drop(columns="is_fraud").to_csv("rest.csv", index=False)


def test_the_tutorial(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_page("tutorial.md") == 5
    assert "of the 469 unlabeled are positive" in capsys.readouterr().out


def test_the_recipes(claims):
    assert run_page("how-to/recipes.md") == 8
