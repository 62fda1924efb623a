"""Every code that topbin can raise stands on the page of codes, and no other."""

import re
from pathlib import Path

from topbin.core.errors import CODES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/codes.md").read_text()


def test_every_error_code_is_explained_in_its_own_words():
    rows = dict(re.findall(r"^\| (TB\d+) \| (.*?) \|", PAGE, flags=re.MULTILINE))
    assert rows == CODES


def test_every_alarm_is_explained():
    listed = set(re.findall(r"^\| ([a-z][a-z-]+) \|", PAGE, flags=re.MULTILINE)) - {"code"}
    source = "".join(path.read_text() for path in (ROOT / "src/topbin").rglob("*.py"))
    raised = set(re.findall(r'Alarm\(\s*"([a-z-]+)"', source))
    assert raised <= listed | {"ties"}
    assert listed <= raised | {"ties"}
