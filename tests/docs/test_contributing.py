"""The worked example of CONTRIBUTING.md works as printed."""

import doctest
import re
import sys
import types
from pathlib import Path

import pytest

from topbin.mpe import registry

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def blocks():
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def test_the_worked_example_is_a_file_a_line_and_a_test(blocks, monkeypatch):
    source, line, test = blocks
    module = types.ModuleType("topbin.mpe.tenth")
    monkeypatch.setitem(sys.modules, "topbin.mpe.tenth", module)
    exec(source, vars(module))
    assert doctest.testmod(module).failed == 0

    added = eval("{" + line + "}", vars(registry) | {"tenth": module.tenth})
    monkeypatch.setitem(registry.METHODS, "tenth", added["tenth"])
    from topbin.mpe.estimate import estimate_alpha

    assert estimate_alpha([1.0] * 40, [1.0, 0.0] * 20, method="tenth").alpha == 0.5

    namespace = {}
    exec(test, namespace)
    namespace["test_equals_the_definition"]()
