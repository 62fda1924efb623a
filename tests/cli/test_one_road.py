"""One road: the same file gives the same sentence, and the same labels, through every verb."""

import re

import numpy as np
import pandas as pd
import pytest
from claims import claims, small_run
from click.testing import CliRunner

from topbin.cli import main
from topbin.data import write_table
from topbin.job import files
from topbin.job.fit import fit
from topbin.learn import Plan
from topbin.learn.defaults import PRESETS

BROKEN = {
    "ragged.csv": ("x,score,known\n1,2,1\n3,4,0\n5,6\n", "line 4 has 2 fields; the header has 3"),
    "bytes.csv": (b"x,score,known\n1,2,1\n3,\x81,0\n", "byte 0x81 in line 3"),
    "cut.parquet": (b"PAR1 nonsense", "cannot be read"),
    "cut.jsonl": ('{"x": 1, "score": 2, "known": 1}\n{"x"', "cannot be read"),
    "empty.csv": ("", "is empty (0 bytes)"),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setitem(fit.__globals__, "FIRST", Plan(outer=2, inner=1, warm=0, rounds=1))
    tiny = Plan(outer=2, inner=2, repeats=1, rounds=1)
    monkeypatch.setitem(PRESETS, "fast", tiny)
    monkeypatch.setattr(files, "page", lambda *_: "drawing it takes most of a small run's time")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("fitted") / "run")


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def roads(path, run, out):
    """Every way to hand over a file of rows."""
    fit_, scored = ("fit", path, "--label", "known", "--preset", "fast", "-o", out), ("-o", out)
    return {
        "fit": fit_,
        "fit on a sample": (*fit_, "--sample", 20),
        "fit by an engine": (*fit_, "--engine", "local"),
        "alpha": ("alpha", path, "--score", "score", "--label", "known"),
        "score": ("score", run, path, "-o", f"{out}.csv"),
        "score by an engine": ("score", run, path, *scored, "--engine", "local"),
    }


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_the_same_sentence_everywhere(run, tmp_path, name):
    content, words = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = set()
    for arguments in roads(path, run, tmp_path / "out").values():
        done = call(*arguments)
        assert done.exit_code == 1, done.output
        assert words in done.stderr
        said.add(done.stderr.strip().partition(" Fix or remove the file, or leave it out")[0])
    assert len(said) == 1
    assert said.pop().startswith(f'TB102 "{path}" ')


def test_a_missing_file_and_a_missing_column_are_the_same_sentence_everywhere(run, tmp_path):
    said = {call(*given).stderr for given in roads(tmp_path / "no.csv", run, "out").values()}
    assert said == {f'TB101 there is no file "{tmp_path}/no.csv".\n'}
    frame = pd.DataFrame({"x": range(40), "score": range(40), "known_": [1, 0] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = roads(tmp_path / "t.csv", run, tmp_path / "out")
    said = {call(*given).stderr for name, given in found.items() if not name.startswith("score")}
    assert said == {
        f'TB103 "{tmp_path}/t.csv" has no column "known". Did you mean "known_"? '
        'The columns are "x", "score", "known_".\n'
    }


LABELS = {
    "numbers": ([1, 0], ()),
    "truth": ([True, False], ()),
    "one and blank": ([1, None], ()),
    "a word and blank": (["ja", None], ()),
    "strings of numbers": (["1", "0 "], ("--positive", "1")),
    "words": (["Yes", "No"], ("--positive", "yes")),
    "words and blank": (["yes", "no", None], ("--positive", "YES", "--negative", "no")),
    "numbers as typed": ([2.0, 3.0], ("--positive", "2")),
    "truth as typed": ([True, False], ("--positive", "true")),
}


def labeled(values):
    """Rows of which the first 60 have the first label; half of the others have the last one."""
    rng = np.random.default_rng(0)
    is_p = np.arange(200) < 60
    known = np.array([values[-1]] * 200, object)
    known[is_p], known[~is_p & (np.arange(200) % 2 == 1)] = values[0], values[1]
    score = rng.normal(size=200) + 3 * is_p
    return pd.DataFrame({"x": score, "y": rng.normal(size=200), "score": score, "known": known})


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("case", LABELS)
def test_labels_mean_the_same_on_every_road(tmp_path, case, ending):
    values, options = LABELS[case]
    path = tmp_path / f"t.{ending}"
    write_table(path, labeled(values))
    notes = {}
    is_whole = case == "words and blank"  # else the rows are read and no model is fitted
    for name, arguments in roads(path, None, tmp_path / "run").items():
        if name.startswith("score"):
            continue
        more = ("--force",) if is_whole else ("--dry-run",)
        done = call(*arguments, *options, *(() if name == "alpha" else more))
        assert done.exit_code == 0, (name, done.output)
        # In memory, whole numbers with gaps are floats.
        notes[name] = re.search("^labels +(.*)$", done.output, re.MULTILINE)[1].replace(".0", "")
    assert len(set(notes.values())) == 1, notes
    assert " = positive (60 rows)" in notes["alpha"]


def test_what_labels_do_not_say_is_asked_on_every_road(tmp_path):
    write_table(tmp_path / "t.csv", labeled(["yes", "no"]))
    for name, arguments in roads(tmp_path / "t.csv", None, tmp_path / "run").items():
        if not name.startswith("score"):
            done = call(*arguments)
            assert done.exit_code == 1
            assert done.stderr.startswith(
                "TB002 column \"known\" has 2 values: 'yes' (60), 'no' (140).\n"
                '      Which means "positive"? Likely: --positive yes'
            ), name


def test_rows_of_a_csv_and_of_parquet_give_the_same_sampled_fit(tmp_path):
    frame = claims(1500, seed=4)
    found = {}
    for ending in ("csv", "parquet", "jsonl"):
        write_table(tmp_path / f"t.{ending}", frame)
        given = "fit", tmp_path / f"t.{ending}", "--label", "known", "--id", "case", "--preset"
        done = call(*given, "fast", "--sample", 200, "--engine", "local", "-o", tmp_path / ending)
        assert done.exit_code == 0, done.output
        assert "trained on 200 of" in done.output
        found[ending] = (tmp_path / ending / "candidates.csv").read_text()
    assert found["csv"] == found["parquet"] == found["jsonl"]
