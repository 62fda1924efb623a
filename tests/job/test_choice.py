"""Text gets a linear model or trees, whichever reaches the lower bound; limits allow for it."""

import numpy as np
import pandas as pd
import pytest

import topbin as tb
from topbin.mpe.intervals import interval, upper_bound

WORDS = [f"word{j}" for j in range(30)]


def notes(n, good, seed=0):
    """A table of notes: `good` rows speak of a refund."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 8)) for _ in range(n)]
    return [f"{text} {'refund' if g else 'hello'}" for text, g in zip(texts, good, strict=True)]


@pytest.fixture(scope="module")
def by_words():
    rng = np.random.default_rng(0)
    good = np.arange(500) % 2 == 0
    frame = pd.DataFrame({"note": notes(500, good), "x": rng.normal(size=500)})
    return tb.fit(frame.assign(known=good & (rng.random(500) < 0.5)), "known", preset="fast")


def chosen(result):
    (note,) = [note for note in result.estimate.notes if note.startswith("model chosen: ")]
    return note.split()[2]


def test_words_that_add_up_are_for_the_linear_model(by_words):
    assert chosen(by_words) == "linear"
    assert '1 text ("note")' in by_words.summary()
    assert abs(by_words.estimate.alpha - 1 / 3) < 0.12


def test_limits_are_read_at_a_level_that_holds_for_both(by_words):
    est, tails = by_words.estimate, by_words.evidence.tails
    assert est.confidence == 0.95
    assert est.upper_bound == upper_bound(tails, 0.975, crossfitted=True)
    assert est.interval == interval(tails, 0.975, crossfitted=True)


def test_what_no_linear_model_sees_is_for_trees(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    good = (x[:, 0] * x[:, 1] > 0) & (np.abs(x).min(axis=1) > 0.1)
    frame = pd.DataFrame({"note": notes(400, rng.random(400) < 0.5), "a": x[:, 0], "b": x[:, 1]})
    frame["known"] = good & (rng.random(400) < 0.5)
    result = tb.fit(frame, "known", preset="fast")
    assert chosen(result) == "trees"
    found = result.explain(20)
    np.testing.assert_allclose(
        found.score, found.base + np.asarray(found.parts.sum(axis=1)).ravel()
    )
    assert set(list(result.importance())[:2]) == {"a", "b"}
    loaded = tb.load(result.save(tmp_path / "run"))
    new = frame.drop(columns="known")[:50]
    pd.testing.assert_frame_equal(loaded.score(new), result.score(new))


def test_a_table_without_text_has_no_choice():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.normal(np.repeat([3, 0], 100)), "known": np.arange(200) < 60})
    assert not any(
        "chosen" in note for note in tb.fit(frame, "known", preset="fast").estimate.notes
    )
