"""The README's snippets run as printed, and its links lead somewhere."""

import re
import sys
from pathlib import Path

import pytest

import topbin

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import make_readme  # noqa: E402

README = (ROOT / "README.md").read_text()
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def test_the_five_lines_print_what_is_shown():
    code, shown = make_readme.first_example()
    assert len(code.strip().splitlines()) == 5
    said = make_readme.run(code)
    assert "of the 469 unlabeled are positive" in said
    assert float(re.search(r"α = ([\d.]+)", said)[1]) == pytest.approx(0.239, abs=0.08)
    # Other versions of scikit-learn may give another third digit; the words are the same.
    assert NUMBER.sub("#", said) == NUMBER.sub("#", shown), "run: python docs/make_readme.py"
    numbers = [[float(each) for each in NUMBER.findall(text)] for text in (said, shown)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.1, abs=0.02)


def test_the_lines_for_scores():
    _, second = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    namespace = {"tb": topbin}
    exec(second, namespace)
    assert namespace["est"].alpha == pytest.approx(0.5, abs=0.05)
    assert namespace["est"].interval[0] < 0.5 < namespace["est"].upper_bound


def test_the_first_thing_to_do_is_to_install():
    first, second = re.search(r"```\w*\n(.*)\n(.*)\n```", README).groups()
    assert first.startswith("pip install . ")  # what works today
    assert second.startswith("pip install topbin ")


def test_links_lead_to_files():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []
