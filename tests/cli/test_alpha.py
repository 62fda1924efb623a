"""`topbin alpha`: the answer of estimate_alpha, from files, with its exit codes."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from score_files import scored, spoil, write

import topbin as tb
from topbin.cli import main

COLUMNS = ["--score", "score", "--label", "label"]


def run(*args):
    return CliRunner().invoke(main, ["alpha", *map(str, args)])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write(tmp_path_factory.mktemp("scored files"), scored())


@pytest.fixture(scope="module")
def expected():
    table = scored()
    is_p = table["label"] == 1
    return tb.estimate_alpha(table["score"][is_p], table["score"][~is_p])


def test_the_screen_is_the_summary(files, expected):
    result = run(files, *COLUMNS)
    assert result.exit_code == 0
    assert result.stdout.startswith("labels          1 = positive (")
    assert expected.summary() in result.stdout


def test_json_is_the_estimate_and_nothing_else(files, expected):
    result = run(files, *COLUMNS, "--json")
    answer = json.loads(result.stdout)
    assert answer.pop("labels").startswith("1 = positive")
    assert answer == json.loads(json.dumps(expected.to_dict()))
    assert "unlabeled are positive" in result.stderr


def test_groups_have_an_interval_each_and_a_word_on_their_number(files):
    result = run(files, *COLUMNS, "--by", "town", "--json", "--method", "bbe")
    answer = json.loads(result.stdout)
    assert [row["group"] for row in answer["groups"]] == ["Bern", "Lyon", "Ulm"]
    table = scored()
    for row in answer["groups"]:
        is_p, here = table["label"] == 1, table["town"] == row["group"]
        alone = tb.estimate_alpha(
            table["score"][is_p & here], table["score"][~is_p & here], method="bbe"
        )
        assert (row["alpha"], tuple(row["interval"])) == (alone.alpha, alone.interval)
    assert "3 groups: each interval misses" in answer["notes"][0]
    assert "Lyon" in result.stderr


@pytest.mark.parametrize(("limit", "code"), [(0.01, 3), (0.9, 0)])
def test_max_alpha_is_a_gate(files, limit, code):
    result = run(files, *COLUMNS, "--max-alpha", limit)
    assert result.exit_code == code
    assert ("the interval begins above 0.01" in result.stdout) == (code == 3)
    grouped = run(files, *COLUMNS, "--max-alpha", limit, "--by", "town")
    assert grouped.exit_code == code
    rows = json.loads(run(files, *COLUMNS, "--by", "town", "--json").stdout)["groups"]
    above = sum(row["interval"][0] > limit for row in rows)
    groups = f"{above} group{'s' * (above != 1)}"
    assert (f"the interval of {groups} begins above {limit}" in grouped.stdout) == (code == 3)
    assert (above > 0) == (code == 3)


def test_dropped_rows_and_skipped_files_are_said(tmp_path):
    table = scored()
    table["score"][5] = np.nan
    files = write(tmp_path, table)
    spoil(tmp_path / "part-3.parquet")
    assert run(files, *COLUMNS, "--skip-bad").exit_code == 1
    result = run(files, *COLUMNS, "--skip-bad", "--drop-nan")
    assert result.exit_code == 0
    assert "1 file skipped because it cannot be read" in result.stdout
    assert "1 of 1,501 rows was left out: no finite score" in result.stdout


def test_typed_values_are_numbers_where_the_column_has_numbers(files, expected):
    assert expected.summary() in run(files, *COLUMNS, "--positive", "1").stdout
    result = run(files, *COLUMNS, "--positive", "2")
    assert result.exit_code == 1
    assert "TB003 no row has the positive value '2'" in result.stderr


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--method", "km2"], 2, "TB007 'km2' does not read scores; overlap, bbe, "),
        (
            ["--method", "dedpul", "--by", "town"],
            2,
            "TB007 'dedpul' is not computed by group; overlap",
        ),
        (["--method", "bebe"], 2, "TB007 no method is called 'bebe'"),
        (["--confidence", "95"], 2, "TB008 --confidence must be a number in (0, 1); got 95.0."),
        (["--score", "scor"], 2, ' has no column "scor".'),
        (["--label", "town"], 1, 'TB002 column "town" has 3 values'),
        (["--engine", "ray"], 2, "Invalid value for '--engine'"),
    ],
)
def test_wrong_use_is_one_sentence(files, args, code, message):
    result = run(files, *COLUMNS, *args)
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_methods_that_read_every_score_are_labelled_as_binned(files):
    result = run(files, *COLUMNS, "--method", "dedpul", "--json")
    assert result.exit_code == 0
    answer, table = json.loads(result.stdout), scored()
    is_p = table["label"] == 1
    plain = tb.estimate_alpha(table["score"][is_p], table["score"][~is_p], method="dedpul")
    assert answer["method"] == "dedpul (binned)"
    assert answer["alpha"] == pytest.approx(plain.alpha, abs=1e-3)
    assert any("unlabeled scores binned to" in note for note in answer["notes"])


def test_a_missing_file_is_one_sentence():
    result = run("none.parquet", *COLUMNS)
    assert (result.exit_code, result.stderr.strip()) == (
        1,
        'TB101 there is no file "none.parquet".',
    )


def test_help_loads_no_engine():
    code = (
        "import sys\nfrom topbin.cli.alpha import alpha\n"
        "print({'pandas', 'duckdb', 'distributed', 'pyspark'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def text_of(path, score_at_7="0.5"):
    """A csv whose eighth score, in line 9, is this word."""
    table = scored(200)
    words = [str(value) for value in table["score"]]
    words[7] = score_at_7
    lines = [f"{word},{label}" for word, label in zip(words, table["label"], strict=True)]
    path.write_text("\n".join(["score,label", *lines]) + "\n")
    return path


def test_a_score_that_is_no_number_is_named_with_its_line(tmp_path):
    result = run(text_of(tmp_path / "s.csv", "high"), *COLUMNS)
    assert result.exit_code == 1
    assert "column \"score\" is not a number in line 9: 'high'." in result.stderr
    rows = [f'{{"score": {i}, "label": {i % 2}}}' for i in range(6)] + [
        '{"score": "x", "label": 1}'
    ]
    (tmp_path / "s.jsonl").write_text("\n".join(rows))
    result = run(tmp_path / "s.jsonl", *COLUMNS)
    assert 'column "score" is not a number in line 7: ' in result.stderr


@pytest.mark.parametrize("word", ["n/a", " None ", "#N/A", "-", ""])
def test_words_for_no_score_are_missing_scores(tmp_path, word):
    path = text_of(tmp_path / "s.csv", word)
    assert "TB004 1 of 200 scores are missing" in run(path, *COLUMNS).stderr
    result = run(path, *COLUMNS, "--drop-nan")
    assert result.exit_code == 0
    assert "1 of 200 rows was left out: no finite score" in result.stdout


def test_a_group_of_few_positives_gets_a_range_and_no_number(tmp_path):
    table = scored(300)
    table["town"] = np.where(np.arange(300) < 280, "Bern", "Ulm")
    files = write(tmp_path, table, ())
    few = json.loads(run(files, *COLUMNS, "--by", "town", "--json").stdout)["groups"][1]
    assert few["n_p"] < 25
    lines = run(files, *COLUMNS, "--by", "town").stdout.splitlines()
    (ulm,) = [line for line in lines if line.strip().startswith("Ulm")]
    assert "a range only" in ulm
    low, high = few["interval"]
    assert f"{low:.3f} to {high:.3f}" in ulm
    assert f"{few['alpha']:.3f} " not in ulm.partition("only")[0]


def test_selective_labels_are_answered_for_scores_too(tmp_path):
    rng = np.random.default_rng(0)
    score = np.r_[rng.normal(3, 1, 200), rng.normal(3, 1, 100), rng.normal(0, 1, 700)]
    frame = pd.DataFrame({"score": score, "known": np.arange(1000) < 200})
    frame.to_parquet(tmp_path / "s.parquet")
    given = ["alpha", str(tmp_path / "s.parquet"), "--score", "score", "--label", "known"]
    done = CliRunner().invoke(main, [*given, "--gamma", "2", "--at-most", "0.3", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["gamma"]["intervals"][0]["interval"] == found["interval"]
    assert found["gamma"]["conclusions"][0]["sentence"] in done.stderr
    for wrong, code in (("0.5", 2), ("two", 2)):
        refused = CliRunner().invoke(main, [*given, "--gamma", wrong])
        assert refused.exit_code == code
        assert "TB008 --gamma must be one or more numbers ≥ 1" in refused.output
    by = CliRunner().invoke(main, [*given, "--gamma", "2", "--by", "known"])
    assert by.exit_code == 2
    assert "leave out --by" in by.output


@pytest.mark.parametrize("limit", ["1.5", "-0.1"])
def test_a_threshold_that_is_no_share_is_refused(files, limit):
    done = run(files, *COLUMNS, "--max-alpha", limit)
    assert (done.exit_code, "0<=x<=1" in done.output) == (2, True)
