"""The order of rows and columns changes nothing: folds and fits depend on the content of rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import topbin as tb
from topbin.learn.crossfit import Plan

pytestmark = pytest.mark.usefixtures("quick_fits")

FEW = Plan(outer=2, inner=2, repeats=1)
WORDS = ["late payment", "no answer", "paid in full", "payment refused"]


def table(n=240, seed=0):
    rng = np.random.default_rng(seed)
    is_positive = rng.random(n) < 0.5
    x = rng.normal(1.5 * is_positive[:, None], 1, (n, 3)).round(2)
    town = np.where(rng.random(n) < 0.6, np.where(is_positive, "Ulm", "Bern"), "Rom")
    frame = pd.DataFrame({"b": x[:, 0], "a": x[:, 1], "c": x[:, 2], "town": town})
    frame["note"] = rng.choice(WORDS, n)
    frame["known"] = (is_positive & (rng.random(n) < 0.5)).astype(int)
    return pd.concat([frame, frame[:20]], ignore_index=True)  # some rows are equal


def shuffled(frame, seed):
    rng = np.random.default_rng(seed)
    return frame.iloc[rng.permutation(len(frame)), rng.permutation(frame.shape[1])]


def told(result):
    found = result.estimate
    best = result.candidates(30)
    return found.alpha, found.interval, found.upper_bound, sorted(best["probability"])


@pytest.mark.parametrize("text", [[], ["note"]], ids=["trees", "words"])
def test_three_orders_give_the_same_answer(text):
    """The interval began at .160, .229 and .135 for three orders of the same rows."""
    frame = table()
    first, *others = (
        told(tb.fit(f, "known", read=tb.Read(text=text), budget="fast"))
        for f in (frame, shuffled(frame, 1), shuffled(frame, 2))
    )
    for other in others:
        assert other[:3] == first[:3]
        assert other[3] == pytest.approx(first[3], rel=1e-12)


def test_rows_in_any_order_keep_their_own_scores():
    frame = table().drop_duplicates()
    X, y = frame[["a", "b", "c"]].to_numpy(), frame["known"].to_numpy()
    order = np.random.default_rng(3).permutation(len(X))
    weight = np.random.default_rng(4).random(len(X))
    for model in (None, LogisticRegression()):
        one, two = (
            tb.TEDnClassifier(model, plan=FEW, random_state=0).fit(
                X[rows], y[rows], sample_weight=weight[rows]
            )
            for rows in (np.arange(len(X)), order)
        )
        np.testing.assert_array_equal(one.evidence_.tails.above_u, two.evidence_.tails.above_u)
        np.testing.assert_allclose(one.oof_proba_[order], two.oof_proba_, rtol=1e-12)
        new = one.predict_proba(X)[:, 1]
        np.testing.assert_allclose(two.predict_proba(X)[:, 1], new, rtol=1e-12)


def test_a_frame_for_a_model_of_the_user_too():
    frame = table()
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"),
        LogisticRegression(),
    )
    one, two = (
        tb.PvUClassifier(model, plan=Plan(outer=3, inner=1, repeats=1, warm=0, rounds=1))
        .fit(f[["a", "b", "town"]], f["known"])
        .estimate_
        for f in (frame, frame.sample(frac=1, random_state=0))
    )
    assert (one.alpha, one.interval) == (two.alpha, two.interval)
