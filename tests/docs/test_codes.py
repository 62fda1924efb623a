"""Every code has a section: what it means, an example of the message, what to do."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/codes.md").read_text()
SECTION = re.compile(
    r"^### (\S+)\n\n\*\*(.+)\*\*\n\n    (.+(?:\n    .+)*)\n\n(\S(?:.|\n)*?)\n(?=\n#|\Z)", re.M
)
SECTIONS = {code: rest for code, *rest in SECTION.findall(PAGE)}
ALARMS = {code: rest for code, rest in SECTIONS.items() if not code.startswith("TB")}


def test_every_section_has_all_its_parts():
    assert list(SECTIONS) == re.findall(r"^### (\S+)", PAGE, re.M)


def test_every_error_code_is_explained_and_no_other():
    source = "".join(path.read_text() for path in (ROOT / "src/topbin").rglob("*.py"))
    assert set(SECTIONS) - set(ALARMS) == set(re.findall(r'"(TB\d{3})"', source))


@pytest.mark.parametrize("code", SECTIONS)
def test_the_example_is_of_this_code_and_the_advice_is_a_sentence(code):
    _, example, advice = SECTIONS[code]
    assert example.startswith(f"{code}: " if code in ALARMS else f"{code} ")
    assert advice.rstrip().endswith(".")


def test_every_alarm_is_explained():
    source = "".join(path.read_text() for path in (ROOT / "src/topbin").rglob("*.py"))
    raised = set(re.findall(r'Alarm\(\s*"([a-z-]+)"', source))
    assert set(ALARMS) == raised | {"steep-start"}
