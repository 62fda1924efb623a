"""How a table was read is said, and what was probably misread is a warning."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from coded import fails

import topbin as tb
from topbin.cli import main
from topbin.data.features import fit_features
from topbin.show.page import headline


def table(n=300):
    rng = np.random.default_rng(0)
    positive = np.arange(n) % 3 == 0
    return pd.DataFrame(
        {
            "x": rng.normal(3.0 * positive),
            "town": np.where(positive, "Ulm", rng.choice(["Rom", "Ulm"], n)),
            "pay": [f"{v:,}" for v in rng.integers(900, 90_000, n)],
            "same": 1,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="D"),
            "known": positive & (rng.random(n) < 0.5),
        }
    )


@pytest.fixture(scope="module")
def result():
    return tb.fit(table().assign(pay=lambda f: f["pay"].where(f.index % 2 == 0, "1,000")), "known",
                  budget="fast")  # fmt: skip


def test_the_screen_says_how_columns_were_read(result):
    assert "columns         2 numbers, 1 date, 1 category, 1 left out" in result.summary()


def test_numbers_with_separators_are_read_and_noticed(result):
    assert 'noticed         odd-cells: "pay" is read as numbers: ' in result.summary()
    assert ' say --decimal , (decimal=",")' in result.summary()  # "1,000" could be 1
    assert [finding.code for finding in result.data.findings] == ["odd-cells"]


@pytest.mark.parametrize(
    ("texts", "is_number"),
    [
        (["26,571", "980", "1,204,000"], True),
        (["3,5", "12,25", "7,0"], True),
        (["$ 5", "$7.50", "$ 6"], True),
        (["12 %", "3.5 %", "0 %"], True),
        (["1'000", "2'500", "7"], True),
        (["Ulm", "Rom, 5", "6"], False),
        (["007", "012", "044"], False),  # codes: no mark, and a leading zero
        (["A-12", "B-7", "C-1"], False),
    ],
)
def test_what_looks_like_a_number(texts, is_number):
    features = fit_features({"x": np.array(texts, object)}).features
    assert (features[0].kind == "number") == is_number


def test_scoring_warns_of_columns_that_say_nothing(result, recwarn):
    new = table()[:30]
    result.score(new)
    assert not recwarn.list
    with pytest.warns(UserWarning, match='"x" is empty in all 30 rows'):
        result.score(new.assign(x=np.nan))
    with pytest.warns(UserWarning, match='"town" has only values that the model has never seen'):
        result.score(new.assign(town="Paris"))


def test_no_signal_leads_the_summary():
    rng = np.random.default_rng(2)
    found = tb.estimate_alpha(rng.normal(size=120), rng.normal(size=280))
    assert found.has_no_signal
    why = "these scores do not separate positives from unlabeled rows"
    assert found.summary().startswith(f"α is unknown: {why}")
    assert headline(found) == f"The share is unknown: {why}."
    assert found.interval == (0, 1)


def test_reversed_scores_have_no_share():
    rng = np.random.default_rng(2)
    scores_p, scores_u = rng.normal(2, 1, 200), rng.normal(size=800)
    for given in ((scores_u, scores_p), (-scores_p, -scores_u)):  # swapped, or reversed
        found = tb.estimate_alpha(*given)
        assert found.in_short == "α is unknown"
        assert found.interval == (0, 1)
        assert "positives score lower" in found.summary().splitlines()[0]


def test_without_signal_nothing_is_promised_of_the_candidates():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": rng.normal(size=400), "known": np.arange(400) < 120})
    found = tb.fit(frame, "known", budget="fast")
    assert found.estimate.has_no_signal
    assert found.picked().precision is None
    assert "their precision cannot be estimated" in found.summary()
    assert "of the positives among the unlabeled" not in found._repr_html_()
    with fails("TB008"):
        found.picked(min_precision=0.5)


def test_by_is_given_once(tmp_path):
    pd.DataFrame({"s": [1.0, 0.0], "known": [1, 0], "a": "x", "b": "y"}).to_csv(tmp_path / "t.csv")
    given = ["alpha", str(tmp_path / "t.csv"), "--score", "s", "--label", "known"]
    done = CliRunner().invoke(main, [*given, "--by", "a", "--by", "b"])
    assert done.exit_code == 2
    assert "--by takes one column" in done.output
