import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "metrics.md"


def test_the_pages_examples_give_what_it_prints():
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 10
    assert result.failed == 0
