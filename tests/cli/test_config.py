"""`topbin fit --config`: options from a file, checked like those of the command."""

import json
import os

import pytest
from claims import claims
from click.testing import CliRunner

import topbin as tb
from topbin.cli import main
from topbin.core import InputError

pytestmark = pytest.mark.usefixtures("quick_fits")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    claims(200).to_csv("t.csv", index=False)
    return tmp_path


def call(text, *more):
    with open("a.toml", "w", encoding="utf-8") as handle:
        handle.write(text)
    return CliRunner().invoke(main, ["fit", "--config", "a.toml", *more])


def test_a_run_can_be_asked_for_again_by_its_settings(folder):
    asked = ["fit", "t.csv", "--label", "known", "--id", "case", "--preset", "fast", "-o", "one"]
    assert CliRunner().invoke(main, asked).exit_code == 0
    text = (folder / "one" / "run.toml").read_text()
    done = call(text, "--candidates", "7", "-o", "two", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["schema"] == "topbin-result-1"
    assert found["candidates"]["rows"] == 7
    first = json.loads((folder / "one" / "result.json").read_text())
    assert found["estimate"] == first["estimate"]
    assert (folder / "two" / "run.toml").read_text() == text + "candidates = 7\n"


def test_settings_that_never_end_are_refused_and_links_are_followed(folder):
    os.mkfifo("pipe.toml")
    (folder / "endless.toml").symlink_to("/dev/zero")
    for name in ("pipe.toml", "endless.toml"):
        done = CliRunner().invoke(main, ["fit", "--config", name, "--dry-run"])
        assert done.stderr.startswith("TB008"), done.stderr
        assert "not a regular file" in done.stderr
    (folder / "kept").mkdir()
    (folder / "kept" / "a.toml").write_text('source = ["t.csv"]\nlabel = "known"\n')
    (folder / "link.toml").symlink_to(folder / "kept" / "a.toml")
    assert CliRunner().invoke(main, ["fit", "--config", "link.toml", "--dry-run"]).exit_code == 0
    read, write = os.pipe()
    os.write(write, b'source = ["t.csv"]\nlabel = "known"\n')
    os.close(write)
    shell = ["fit", "--config", f"/dev/fd/{read}", "--dry-run"]  # as in bash: --config <(…)
    assert CliRunner().invoke(main, shell).exit_code == 0
    os.close(read)


def test_what_the_command_says_counts_more(folder):
    done = call('source = ["gone.csv"]\nlabel = "nope"\n', "t.csv", "--label", "known", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "nothing was written" in done.output


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("label = ", [], "cannot be read as TOML"),
        ("[[label]]", [], "--label must be text"),
        ("label = 3", ["t.csv"], "--label must be text; got 3"),
        ('source = "t.csv"', [], "name a table and its --label"),
        ('label = "known"', [], "name a table and its --label"),
        ('positives = 3', ["--unlabeled", "t.csv"], "--positives must be text"),
        ('positives = "t.csv"', ["--unlabeled", "t.csv"], "TB139"),
        ('grup = "case"', ["t.csv", "--label", "known"], "Did you mean --group?"),
        ('engine = "bogus"', ["t.csv", "--label", "known"], "--engine must be one of local, dask"),
        ('sql = "select 1"', ["t.csv", "--label", "known"], "TB113"),
        ('source = ["t.csv"]\npositives = ["t.csv"]\nunlabeled = ["u"]', [], "name a table"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_said_and_nothing_is_written(folder, text, more, words):
    done = call(text, *more)
    assert done.exit_code in (1, 2), done.output
    assert words in done.output
    assert "Traceback" not in done.output
    assert sorted(path.name for path in folder.iterdir()) == ["a.toml", "t.csv"]


def test_a_query_in_a_file_runs_only_if_it_is_repeated(folder):
    text = 'sql = "select * from data where 1 = 0"\nlabel = "known"\n'
    query = "select * from data"
    done = call(text, "t.csv", "--sql", query, "--dry-run")
    assert done.exit_code == 0, done.output


def test_an_engine_can_be_named_in_python_too(folder):
    found = tb.fit("t.csv", "known", id="case", budget=tb.Budget(preset="fast", engine="local"))
    assert found.estimate.n_u == 180
    with pytest.raises(
        InputError, match="TB008 engine= must be one of local, dask, spark; got 'bogus'"
    ):
        tb.fit("t.csv", "known", budget=tb.Budget(engine="bogus"))


def test_values_of_another_kind_are_said():
    with pytest.raises(InputError, match=r"TB008 read= takes a topbin\.Read; got {'text': 'x'}"):
        tb.fit("t.csv", "known", read={"text": "x"})
    with pytest.raises(InputError, match="TB008 sql= reads one table"):
        tb.fit("u.csv", positives="p.csv", read=tb.Read(sql="select 1"))
