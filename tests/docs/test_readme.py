"""The README's snippets run as printed, and its links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_five_lines_give_a_result(capsys):
    first, second = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(first.strip().splitlines()) == 5
    namespace = {}
    exec(first, namespace)
    said = capsys.readouterr().out
    assert "of the 469 unlabeled are positive" in said
    assert float(re.search(r"α = ([\d.]+)", said)[1]) == pytest.approx(0.239, abs=0.08)
    exec(second, namespace)
    assert namespace["est"].alpha == 0.5


def test_links_lead_to_files():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []
