"""An option is one field: Python, the command, run.toml, its schema and the reference read it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import click
import jsonschema
import pytest
from asked import asked
from click.testing import CliRunner
from coded import fails
from make_api import answer_schema, options_page, settings_schema

from topbin.cli.verb import Verb, given, request_options
from topbin.core import InputError
from topbin.core.options import PLACES, Preset, Read, opt, options, read_request, settle
from topbin.data.formats.written import ISO, ORDERS
from topbin.learn.defaults import PRESETS

ROOT = Path(__file__).parents[2]

WRONG = [None, True, -1, 0, 1.5, 10**30, float("nan"), float("inf"), "", "x", [], [1], ["a"], {},
         {"a": 1}, [["a"]], b"x"]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneMore(Read):
    sheet: str | None = opt(None, "The sheet of a workbook.", usual=True)

    def __post_init__(self):
        settle(self)


def test_one_line_adds_an_option_everywhere(monkeypatch):
    assert "sheet" not in {each.name for each in options()}
    monkeypatch.setitem(PLACES, "read", OneMore)
    assert OneMore(sheet="May").sheet == "May"
    with fails("TB008", "sheet= must be text; got 3"):
        OneMore(sheet=3)
    seen = {}

    @click.command(cls=Verb)
    @request_options()
    def job(**values):
        seen.update(given(values))

    assert "The sheet of a workbook." in CliRunner().invoke(job, ["--help"]).stdout
    assert CliRunner().invoke(job, ["--sheet", "May"]).exit_code == 0
    assert read_request(seen).settings() == seen == {"sheet": "May"}
    jsonschema.validate(seen, settings_schema())
    assert settings_schema()["properties"]["sheet"]["description"] == "The sheet of a workbook."
    assert "| `--sheet` | `tb.Read(sheet=…)` | text |" in options_page(options())


def test_the_words_of_an_option_are_those_of_its_room():
    assert get_args(Preset) == tuple(PRESETS)
    dates = next(each for each in options() if each.name == "dates")
    assert get_args(dates.plain) == (*ORDERS, ISO)


def test_the_pages_are_those_of_the_package():
    reference = ROOT / "docs/reference"
    assert (reference / "options.md").read_text() == options_page(options())
    stored = json.loads((reference / "run.schema.json").read_text())
    assert stored == json.loads(json.dumps(settings_schema()))
    stored = json.loads((reference / "result.schema.json").read_text())
    assert stored == json.loads(json.dumps(answer_schema()))


@pytest.mark.parametrize("name", [each.name for each in options()])
def test_a_wrong_value_is_a_coded_error_that_names_the_option(name):
    right = 0
    judge = jsonschema.Draft202012Validator(settings_schema()["properties"][name])
    for value in WRONG:
        try:
            found = read_request({name: value}).settings()
        except InputError as error:
            assert error.code in ("TB008", "TB126")
            assert f"{name}=" in error.message
        else:
            right += 1
            json.dumps(found)
            assert judge.is_valid(found.get(name)) or name not in found
    assert right < len(WRONG)


def test_unknown_options_are_named_with_the_nearest():
    with fails("TB008", "no option is called 'grup'", "group="):
        read_request({"grup": "patient"})


def test_settings_of_0_2_are_read():
    old = {"source": ["a.csv"], "label": "y", "review": 7, "method": "subtypes", "positives": None}
    now = read_request({**old, "scheduler": "tcp://head:8786", "seed": 0})
    assert now.settings() == {
        "source": ["a.csv"], "label": "y", "subtypes": "correct", "candidates": 7,
    }  # fmt: skip
    assert read_request({"subtypes": True}).labeling.subtypes == "report"
    with fails("TB008", "method"):
        read_request({"method": "pulsnar"})


def test_settings_come_back():
    request = asked(
        ["a.csv"], "y", drop=("a", "b"), gamma="1.5,2", at_most=0.2, time_limit=3, engine="dask",
        image_size=64, partitions=True, negative="no", sample=50, confidence=0.9,
    )  # fmt: skip
    again = read_request(json.loads(json.dumps(request.settings())))
    assert again.settings() == request.settings()
    assert again.labeling.gamma == (1.5, 2.0)
    jsonschema.validate(request.settings(), settings_schema())
