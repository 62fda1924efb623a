"""The examples of the page on distributed counts give what it prints."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/explanation/distributed.md"


def test_the_pages_examples_give_what_it_prints():
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted >= 6
    assert result.failed == 0
