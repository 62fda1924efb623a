"""Decimal commas and separated thousands are numbers, read in one way that is said and stored."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from coded import fails

import topbin as tb
from topbin.cli import main
from topbin.core.errors import InputError
from topbin.core.labels import read_labels
from topbin.data import open_pair, open_table, read_table

pytestmark = pytest.mark.usefixtures("quick_fits")

BOTH = ["26,571", "980", "1,204", ""]  # thousands, or three decimals


def write(path, values, separator=",", **more):
    frame = pd.DataFrame({"pay": values, "n": range(len(values)), **more})
    frame.to_csv(path, index=False, sep=separator)
    return path


def pay(source, **how):
    return read_table(source, **how).frame["pay"].dropna().tolist()


def run(*given):
    return CliRunner().invoke(main, list(map(str, given)))


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1.234,56", "7", "-0,5"], [1234.56, 7, -0.5]),
        (["1 234,5", "12"], [1234.5, 12]),
        (["1\u202f234,5", "1\u00a0234,5"], [1234.5, 1234.5]),
        (["26,571.5", "980"], [26571.5, 980]),
        (["1,204,000", "26,571"], [1_204_000, 26_571]),
        (["1.204.000", "571"], [1_204_000, 571]),
        (["1'000", "2’500"], [1000, 2500]),
        (["1 000", "2 500"], [1000, 2500]),
    ],
)
def test_numbers_with_one_reading_need_no_option(tmp_path, values, numbers):
    path = write(tmp_path / "a.csv", values, ";" if "," in values[0] else ",")
    assert pay(path) == numbers
    assert pay(path, decimal="text") == values
    (line,) = open_table(path).decimal_lines
    assert "say --decimal" not in line


@pytest.mark.parametrize("values", [["1,5", "high"], ["007", "1,5"], ["1,2,3", "4"], ["1.2.3", "4"],
                                    ["1,5", "1.5"], ["12,34.5"], ["$ 5", "$ 7,5"]])  # fmt: skip
def test_a_column_in_which_one_value_does_not_fit_is_text(tmp_path, values):
    table = open_table(write(tmp_path / "a.csv", values))
    assert (table.types["pay"], table.decimals) == ("VARCHAR", {})


def test_both_readings_are_said_and_the_delimiter_or_the_option_decides(tmp_path):
    comma, semicolon = write(tmp_path / "a.csv", BOTH), write(tmp_path / "b.csv", BOTH, ";")
    assert pay(comma) == [26571, 980, 1204]
    assert pay(semicolon) == [26.571, 980, 1.204]
    said = '"pay" has separated thousands: 26,571 is 26571; if it is 26.571, say --decimal , '
    assert open_table(comma).decimal_lines[0].startswith(said)
    assert pay(comma, decimal=",") == pay(semicolon)
    assert pay(semicolon, decimal=".") == pay(comma)
    assert open_table(comma, decimal=",").decimal_lines == [
        '"pay" has a decimal comma: 26,571 is 26.571'
    ]
    with fails("TB008", "decimal must be one of"):
        read_table(comma, decimal="comma")


def test_the_other_columns_decide_before_the_delimiter(tmp_path):
    """1.234 in a file with decimal commas is a thousand and more, also if it looks plain."""
    path = write(tmp_path / "a.csv", ["1.234", "980"], ";", rate=["3,5", "7"])
    assert pay(path) == [1234, 980]
    path = write(tmp_path / "b.csv", ["1,234", "980"], ";", rate=["3.5", "7"])
    assert pay(path) == [1234, 980]
    plain = write(tmp_path / "c.csv", ["1.234", "980"], ";", rate=["3.5", "7"])
    assert pay(plain) == [1.234, 980]
    assert open_table(plain).decimal_lines == []
    alone = open_table(write(tmp_path / "d.csv", ["1.234", "980"], ";"))
    assert alone.decimal_lines == [
        '"pay" has a decimal point: 1.234 is 1.234; if it is 1234, say --decimal , (decimal=",")'
    ]


def test_files_decide_together_and_files_that_differ_are_refused(tmp_path):
    clear, unclear = write(tmp_path / "1.csv", ["1,5", "2"]), write(tmp_path / "2.csv", BOTH)
    assert pay([clear, unclear]) == [1.5, 2, 26.571, 980, 1.204]
    assert [t.decimals for t in open_pair(unclear, clear)] == [{"pay": ","}] * 2
    point, words = write(tmp_path / "3.csv", ["1.5", "2"]), write(tmp_path / "4.csv", ["a", "1,5"])
    with fails("TB150", "1,5 in", "1.5 in", "Make them equal"):
        read_table([clear, point])
    assert pay([clear, words]) == ["1,5", "2", "a", "1,5"]


def test_a_value_far_down_decides_too(tmp_path):
    assert pay(write(tmp_path / "a.csv", ["1,234"] * 30_000 + ["1,5"]))[-1] == 1.5
    assert pay(write(tmp_path / "a.csv", ["1,234"] * 30_000 + ["none"]))[0] == "1,234"


def claims(n=300, seed=0):
    rng = np.random.default_rng(seed)
    is_positive = rng.random(n) < 0.5
    amount = np.round(rng.gamma(2, 900 + 2500 * is_positive), 2)
    return pd.DataFrame({
        "amount": amount,
        "town": np.where(is_positive & (rng.random(n) < 0.7), "Ulm", "Rom"),
        "known": (is_positive & (rng.random(n) < 0.5)).astype(int),
    })  # fmt: skip


def german(frame, path):
    text = [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in frame["amount"]]
    frame.assign(amount=text).to_csv(path, sep=";", index=False)
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run on a file as a German spreadsheet writes it."""
    folder = tmp_path_factory.mktemp("german")
    path = german(claims(), folder / "a.csv")
    done = run("fit", path, "--label", "known", "--preset", "fast", "-o", folder / "run")
    assert done.exit_code == 0, done.output
    return folder, done.stdout


def test_a_german_file_gives_the_answer_of_its_numbers(made):
    folder, told = made
    stored = json.loads((folder / "run" / "result.json").read_text())["estimate"]["alpha"]
    assert tb.fit(claims(), "known", budget="fast").estimate.alpha == stored
    assert 'numbers         "amount" has a decimal comma: ' in told
    assert "numbers-as-text" not in told
    encoder = json.loads((folder / "run" / "model" / "encoder.json").read_text())
    assert encoder["decimals"] == {"amount": ","}


def test_new_rows_are_read_as_in_the_fit(made, tmp_path):
    """Alone, 1.234 is a plain number, and 220 rows would have got another probability."""
    folder, _ = made
    frame = claims().assign(amount=lambda f: np.floor(f["amount"]) + 1000)
    plain = frame.assign(amount=[f"{v:,.0f}".replace(",", ".") for v in frame["amount"]])
    plain.to_csv(tmp_path / "new.csv", sep=";", index=False)
    frame.to_parquet(tmp_path / "new.parquet")
    out = {}
    for name in ("new.csv", "new.parquet"):
        done = run("score", folder / "run", tmp_path / name, "-o", tmp_path / f"{name}.out.csv")
        assert done.exit_code == 0, done.output
        out[name] = pd.read_csv(tmp_path / f"{name}.out.csv")["topbin_probability"]
    assert out["new.csv"].equals(out["new.parquet"])
    asked = ("--engine", "local", "-o", tmp_path / "parts")
    assert run("score", folder / "run", tmp_path / "new.csv", *asked).exit_code == 0
    (part,) = (tmp_path / "parts").glob("*.parquet")
    assert pd.read_parquet(part)["topbin_probability"].round(12).equals(out["new.csv"].round(12))


@pytest.mark.parametrize("engine", [(), ("--engine", "local")])
def test_score_says_which_columns_tell_the_model_nothing(made, tmp_path, engine):
    folder, _ = made
    new = claims().assign(amount=np.nan, town="Paris")
    for i, half in enumerate((new[:150], new[150:])):
        half.to_parquet(tmp_path / f"{i}.parquet")
    out = tmp_path / ("parts" if engine else "scored.csv")
    done = run("score", folder / "run", tmp_path / "0.parquet", tmp_path / "1.parquet",
               "-o", out, *engine)  # fmt: skip
    assert 'note            "amount" is empty in all 300 rows' in done.output, done.output
    assert 'note            "town" has only values that the model has never seen' in done.output
    claims()[:150].to_parquet(tmp_path / "1.parquet")  # half of the rows tell something
    done = run("score", folder / "run", tmp_path / "0.parquet", tmp_path / "1.parquet",
               "-o", out, "--force", *engine)  # fmt: skip
    assert "note" not in done.output, done.output


@pytest.mark.parametrize("words", [("yes", ""), ("TRUE", "FALSE"), (1, 0), ("ja", "nein")])
def test_alpha_understands_the_labels_of_fit(tmp_path, words):
    frame = claims()
    is_known = frame["known"] == 1
    frame = frame.assign(known=np.where(is_known, *map(str, words)))
    score = [f"{v:.3f}".replace(".", ",") for v in frame["amount"] / 1000]
    frame.assign(score=score).to_csv(tmp_path / "a.csv", index=False, sep=";")
    found = run("alpha", tmp_path / "a.csv", "--score", "score", "--label", "known", "--json")
    expected = tb.data.read_table(tmp_path / "a.csv").frame["known"]
    try:
        labels = read_labels(expected)
    except InputError as error:
        assert found.exit_code == 1
        assert error.code in found.stderr
        return
    told = json.loads(found.stdout)
    assert (
        (told["n_p"], told["n_u"])
        == (labels.n_p, labels.n_u)
        == (is_known.sum(), 300 - is_known.sum())
    )
    assert any('"score" has a decimal comma' in note for note in told["notes"])
