"""Model folders of 0.1.0 keep scores without the evidence around them; they still load."""

import numpy as np
from sklearn.linear_model import LogisticRegression

import topbin as tb
from topbin.store.safe.store import Attachments, pack, unpack


def test_scores_of_an_older_folder_become_evidence():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = tb.AlphaEstimator(estimator=LogisticRegression(), cv=2, repeats=1).fit(X, y)
    attached = Attachments()
    node = pack(model, attached)
    fitted = node["$face"][2]
    del fitted["evidence_"]
    fitted["scores_p_"], fitted["scores_u_"] = (
        pack(scores, attached) for scores in (model.scores_p_, model.scores_u_)
    )
    again = unpack(node, attached)
    assert again.evidence_.tails == model.evidence_.tails
    np.testing.assert_array_equal(again.scores_u_, model.scores_u_)
    assert "scores_p_" not in vars(again)
