"""What letters add is told as words; the sum stays the score."""

import numpy as np
import pandas as pd
import pytest

from topbin.data import fit_features
from topbin.learn.defaults import linear_model
from topbin.learn.explain import explain


@pytest.fixture(scope="module")
def told():
    rng = np.random.default_rng(1)
    words = np.array(["roof", "storm", "bill", "tree", "cellar", "garage"])
    texts = [" ".join([*rng.choice(words, 4), "fraud" if k % 2 else "water"]) for k in range(200)]
    frame = pd.DataFrame({"note": texts})
    features = fit_features(frame, text=["note"])
    X = features.encode(frame)
    model = linear_model(X).fit(X, np.arange(200) % 2)
    new = pd.DataFrame({"note": ["Frauds, in the cellar!", "fraud fraud", "", None]})
    return model, features, new, explain([model], features.encode(new), features, new)


def test_a_word_of_a_new_form_gets_what_its_letters_add(told):
    _, features, _, found = told
    assert features.features[0].letters
    assert not any("~" in name for name in found.names)
    assert [row[0].value for row in found.reasons()[:2]] == ["… frauds …", "… fraud …"]
    assert found.reasons()[2:] == [[], []]


def test_the_parts_add_up_to_the_score(told):
    model, features, new, found = told
    np.testing.assert_allclose(found.score, model.decision_function(features.encode(new)))


def test_sequences_keep_their_groups_of_letters():
    rng = np.random.default_rng(2)
    plain = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 30)) for _ in range(200)]
    frame = pd.DataFrame(
        {"chain": [s[:9] + "WWCWW" * (k % 2) + s[9:] for k, s in enumerate(plain)]}
    )
    features = fit_features(frame)
    assert features.features[0].terms == ()
    X = features.encode(frame)
    model = linear_model(X).fit(X, np.arange(200) % 2)
    found = explain([model], X[[1]], features, frame[1:2])
    assert "w" in found.reasons()[0][0].value
    np.testing.assert_allclose(found.score, model.decision_function(X[[1]]))
