"""Model folders of 0.1.0 and 0.2.0, whose fields had other names or are gone; they still load."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import topbin as tb
from topbin.store.safe.packing import Attachments, pack, unpack


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


def as_in_0_2(node):
    """What 0.2.0 would have stored for a fitted model: no posterior of α, and other names."""
    name, params, fitted = node["$face"]
    if name == "AlphaEstimator":
        params |= {"kappa": 0.0, "pure_fraction": None}
    fitted["evidence_"]["$value"][1].update(chosen_of=2, kappa=0.1)
    fitted["estimate_"]["$value"][1].pop("posterior")
    if "probability_map_" in fitted:
        likely = fitted.pop("probability_map_")
        likely["$value"][0] = "Posterior"
        fitted["posterior_"] = likely
    return node


@pytest.mark.parametrize("face", [tb.AlphaEstimator, tb.PvUClassifier])
def test_fields_of_0_2_that_are_gone_or_renamed_do_no_harm(face):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model, attached = face(estimator=LogisticRegression()).fit(X, y), Attachments()
    again = unpack(as_in_0_2(pack(model, attached)), attached)
    assert again.alpha_ == model.alpha_
    assert again.estimate_.interval == model.estimate_.interval
    assert again.estimate_.posterior is None
    assert again.evidence_.tails == model.evidence_.tails
    assert not {"posterior_", "kappa"} & set(vars(again))
    if face is tb.PvUClassifier:
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    kept = Attachments()
    assert unpack(pack(again, kept), kept).alpha_ == model.alpha_  # and can be saved anew


def test_what_classified_images_is_the_classifier_of_today():
    pytest.importorskip("torch", reason='needs pip install "topbin[torch]"')
    from topbin.data.images import Images

    plan = tb.learn.Plan(outer=2, inner=1, repeats=1, warm=1, rounds=1)
    images = Images.of(np.random.default_rng(0).integers(0, 255, (24, 12, 12), np.uint8))
    model, attached = tb.TEDnClassifier(plan=plan).fit(images, np.arange(24) % 2), Attachments()
    node = pack(model, attached)
    node["$face"][0] = "ImageClassifier"
    node["$face"][1]["is_first"] = False
    node["$face"][2]["row_shape_"] = [1, 12, 12]
    again = unpack(node, attached)
    assert type(again) is tb.TEDnClassifier
    np.testing.assert_array_equal(again.predict_proba(images), model.predict_proba(images))
