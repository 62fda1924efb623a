"""What every verb shares: words that are safe to print, and readers that leave."""

import io
import sys

import click
import pytest
from click.testing import CliRunner

from topbin.cli import VERBS, main
from topbin.cli.verb import Verb, screen
from topbin.core.errors import InputError, option


def test_names_in_brackets_are_printed_as_they_are(capsys):
    screen().print("left out  [/b] [bold]x")
    assert capsys.readouterr().out == "left out  [/b] [bold]x\n"


def test_advice_is_in_the_words_of_the_command():
    @click.command(cls=Verb)
    def fails():
        advice = f"{option('positive', 2)} {option('negative', 'a b')} {option('force', True)}"
        raise InputError("TB002", f"the positive value: {advice} {option('image_size')}")

    said = CliRunner().invoke(fails, []).stderr
    assert said == (
        "TB002 the positive value: --positive 2 --negative 'a b' --force --image-size\n"
    )


def test_long_help_is_for_those_who_ask():
    short, long = (
        CliRunner().invoke(main, ["fit", word]).stdout for word in ("--help", "--help-all")
    )
    assert "--candidates" in short
    assert "--labeled-by" not in short
    assert "--help-all" in short
    assert "--labeled-by" in long
    assert short.count("\n  --") + short.count("\n  -o") <= 9  # those that most people need


@pytest.mark.parametrize("verb", VERBS)
def test_no_help_shows_more_than_a_screen(verb):
    short = CliRunner().invoke(main, [verb, "--help"]).stdout
    assert len(short.splitlines()) <= 42


def test_the_first_help_shows_what_to_type():
    first = CliRunner().invoke(main, ["--help"]).stdout
    assert first.index("topbin fit claims.csv --label is_fraud") < first.index("Verbs:")


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "bench"])  # that is a group
def test_the_help_begins_with_examples_and_ends_with_exit_codes(verb):
    usage, first, *_, last = CliRunner().invoke(main, [verb, "--help"]).stdout.split("\n\n")
    assert usage.startswith("Usage: ")
    assert last.strip().startswith("Exit codes: 0 done")
    lines = first.strip().splitlines()
    assert len(lines) >= 2
    assert all(line.strip().startswith(f"topbin {verb}") for line in lines)


def test_a_message_of_several_lines_is_indented():
    @click.command(cls=Verb)
    def fails():
        raise InputError("TB102", "first\nsecond")

    done = CliRunner().invoke(fails, [])
    assert (done.exit_code, done.stderr) == (1, "TB102 first\n      second\n")


@pytest.mark.parametrize(("code", "exit_code"), [("TB120", 2), ("TB136", 2), ("TB102", 1)])
def test_what_cannot_be_asked_for_is_wrong_use(code, exit_code):
    @click.command(cls=Verb)
    def fails():
        raise InputError(code, "no")

    assert CliRunner().invoke(fails, []).exit_code == exit_code


def test_a_reader_that_leaves_is_no_traceback(monkeypatch):
    held = []

    @click.command(cls=Verb)
    def talks():
        held.append(sys.stdout)  # click before 8.3.2 cannot read its own if nobody holds it
        raise BrokenPipeError

    monkeypatch.setattr("topbin.cli.verb.open", lambda *_: io.StringIO(), raising=False)
    done = CliRunner().invoke(talks, [])
    assert done.exit_code == 1
    assert done.output == ""
