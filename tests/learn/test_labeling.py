"""Labels that depend on the row: weights of positives, clusters, subtypes, propensities, a test."""

import numpy as np
import pandas as pd
import pytest
from coded import fails
from sklearn.naive_bayes import GaussianNB

import topbin as tb
from topbin.core import Evidence, Tails
from topbin.learn.fitting import FitOptions, fit_table
from topbin.learn.labeling.propensity import attributes, labeling_chance
from topbin.learn.labeling.scar import (
    ScarTest,
    find_clusters,
    merge_small,
    project,
    scar_test,
    toward_positives,
)
from topbin.learn.labeling.subtypes import random_labels_test, shrunken
from topbin.learn.learners import TEDN
from topbin.learn.probabilities import RatioMap
from topbin.learn.rows import TrainingTable

TINY = tb.learn.Plan(outer=3, inner=2, repeats=1, rounds=1)
FAST = {"plan": TINY, "random_state": 0}


def two_kinds(rates=(0.8, 0.2), seed=0, rows=200):
    """Positives at +6 and −6, negatives at 0; the two kinds are labeled at these rates."""
    rng = np.random.default_rng(seed)
    kind = np.repeat([0, 1, 2], rows)
    X = rng.normal(np.array([6.0, -6.0, 0.0])[kind])[:, None]
    y = rng.random(kind.size) < np.array([*rates, 0.0])[kind]
    return X, y, (kind < 2)[~y].mean()


def test_weighted_tails_equal_the_definition():
    rng = np.random.default_rng(0)
    p, u, w = rng.normal(1, 1, 30).round(1), rng.normal(0, 1, 50).round(1), rng.random(30) + 0.1
    tails = Tails.weighted(p, u, w)
    assert tails.n_p == round(w.sum() ** 2 / (w**2).sum())
    for cut, q_p, q_u in zip(tails.cuts, tails.q_p, tails.q_u, strict=True):
        assert q_p == pytest.approx(w[p >= cut].sum() / w.sum())
        assert q_u == pytest.approx((u >= cut).mean())


def test_equal_weights_change_nothing():
    rng = np.random.default_rng(0)
    p, u = rng.normal(2, 1, 60), rng.normal(0, 1, 90)
    plain, weighted = Evidence(p, u), Evidence(p, u, weight_p=np.full(60, 3.0))
    assert tb.estimate_alpha(weighted).alpha == pytest.approx(tb.estimate_alpha(plain).alpha)
    one, two = RatioMap.of(p, u), RatioMap.of(p, u, np.full(60, 3.0))
    assert two.ratio == pytest.approx(one.ratio)


def test_an_estimate_of_weighted_positives_counts_all_of_them():
    rng = np.random.default_rng(0)
    found = Evidence(rng.normal(2, 1, 60), rng.normal(0, 1, 90), weight_p=rng.random(60))
    assert found.tails.n_p < 60
    assert tb.estimate_alpha(found, method="bbe", confidence=None).n_p == 60
    with fails("TB007"):
        tb.estimate_alpha(found, method="dedpul")


def test_units_are_of_no_matter_however_large():
    X, y, _ = two_kinds()
    X = np.hstack([X, np.where(X > 5, np.nan, 2 * X)])
    for power in (-900, -1, 1000):
        np.testing.assert_array_equal(project(X * 2.0**power, y), project(X, y))


def test_small_clusters_are_merged_into_the_nearest_and_counted():
    rows = np.array([[0.0], [0.1], [0.2], [9.0], [8.0], [8.1], [8.2]])
    found = merge_small(rows, np.array([0, 0, 0, 1, 2, 2, 2]), least=2)
    assert found.members.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert found.merged == 1
    assert find_clusters(rows, most=8, least=4).sizes.tolist() == [7]


def test_a_cluster_in_one_group_is_merged():
    rows, members = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    assert merge_small(rows, members, 2, np.repeat([0, 1, 2], [4, 2, 2])).merged == 1
    assert merge_small(rows, members, 2, np.repeat([0, 1, 2, 3], 2)).merged == 0


def test_shrinking_leaves_nothing_of_noise_and_all_of_a_clear_difference():
    noise = shrunken(np.array([0.1, -0.1, 0.0]), np.full(3, 0.5))
    assert np.ptp(noise) == 0
    assert shrunken(np.array([1.0]), np.array([0.1])).tolist() == [1.0]


def test_subtypes_find_how_often_each_kind_is_labeled():
    X, y, alpha = two_kinds()
    found = tb.subtypes(X, y, most=2)
    assert sorted(round(part.labeled, 1) for part in found.parts) == [0.2, 0.8]
    assert found.gamma_interval[0] < found.gamma < found.gamma_interval[1]
    assert found.test.is_alarm
    assert found.test.alarms()[0].code == "biased-labels"
    assert sum(part.n_p for part in found.parts) == y.sum()
    assert sum(part.alpha for part in found.parts) == pytest.approx(alpha, abs=0.1)
    plain = found.to_dict()
    assert plain["limit"] in found.summary()
    assert [part["n_p"] for part in plain["parts"]] == [part.n_p for part in found.parts]


def test_with_enough_known_positives_the_interval_of_gamma_excludes_1():
    X, y, _ = two_kinds(rows=600)  # 119 of the second kind are known, instead of 37
    found = tb.subtypes(X, y, most=2)
    assert 1 < found.gamma_interval[0] < 16 < found.gamma_interval[1]  # (.8/.2)/(.2/.8)


def test_subtypes_do_not_depend_on_the_order_of_rows():
    X, y, _ = two_kinds()
    order = np.random.default_rng(1).permutation(y.size)
    one, two = tb.subtypes(X, y), tb.subtypes(X[order], y[order])
    assert one.to_dict() == two.to_dict()
    back = dict(zip(X[y, 0], one.members, strict=True))
    assert [back[x] for x in X[order][y[order], 0]] == two.members.tolist()


def test_the_classifier_is_near_the_truth_where_tedn_is_not():
    errors, more_than_sum = [], []
    for seed in range(4):
        X, y, alpha = two_kinds(seed=seed)
        plain, found = tb.TEDnClassifier(**FAST).fit(X, y), tb.SubtypesClassifier(**FAST).fit(X, y)
        errors.append(abs(found.alpha_ - alpha))
        assert abs(plain.alpha_ - alpha) > 0.3
        more_than_sum.append(found.alpha_ - sum(part.alpha for part in found.labeling_.parts))
        assert found.oof_proba_[~y].mean() == pytest.approx(found.alpha_, abs=0.01)
        assert any("never labeled" in note for note in found.estimate_.notes)
        assert found.estimate_.n_p == y.sum()
        low, high = found.estimate_.interval
        assert low <= alpha <= high
        assert found.estimate_.upper_bound is None
    assert np.mean(errors) < 0.06
    assert np.mean(more_than_sum) < 0.05  # the sum counts twice what subtypes share


def test_one_subtype_is_the_ordinary_estimate():
    X, y, _ = two_kinds()
    plain, found = tb.TEDnClassifier(**FAST), tb.SubtypesClassifier(most=1, **FAST)
    plain, found = plain.fit(X, y), found.fit(X, y)
    assert found.alpha_ == plain.alpha_
    assert found.estimate_.interval == plain.estimate_.interval
    assert (found.oof_proba_ == plain.oof_proba_).all()
    assert "one subtype, so nothing to compare" in found.labeling_.summary()
    assert "Γ" not in found.labeling_.summary()


def test_overlapping_clusters_are_not_counted_twice():
    """Two clusters of one kind, labeled at random: the sum counts rows twice, the estimate not."""
    rng = np.random.default_rng(0)
    is_positive = np.arange(900) < 500
    X = rng.normal(np.where(is_positive, 4.0, 0.0))[:, None]
    y = is_positive & (rng.random(900) < 0.4)
    options = FitOptions(GaussianNB(), TINY)
    halves = np.where(rng.random(y.sum()) < 0.5, 1.3, 0.7)  # clusters that are the same
    tables = (TrainingTable(X, y), TrainingTable(X, y, weight_p=halves))
    one, two = (fit_table(rows, options, TEDN).estimate.alpha for rows in tables)
    assert two == pytest.approx(one, abs=0.05)


def test_too_few_positives_for_subtypes():
    X, y, _ = two_kinds(rows=60, rates=(0.4, 0.2))
    with fails("TB125", "at least 50"):
        tb.subtypes(X, y)
    with fails("TB125"):
        tb.SAREMClassifier(labeled_by=[0]).fit(X, y)


def at_sites(seed=0):
    rng = np.random.default_rng(seed)
    is_positive, site = np.arange(800) < 500, np.array(["north", "south"])[np.arange(800) % 2]
    frame = pd.DataFrame({"x": rng.normal(np.where(is_positive, 5.0, 0.0)), "site": site})
    y = is_positive & (rng.random(800) < np.where(site == "north", 0.8, 0.2))
    return frame, y, is_positive[~y].mean()


def test_sar_em_finds_alpha_and_the_chance_of_each_site():
    frame, y, alpha = at_sites()
    found = tb.SAREMClassifier(labeled_by="site", **FAST).fit(frame, y)
    plain = tb.TEDnClassifier(**FAST).fit(frame, y)
    assert abs(found.alpha_ - alpha) < 0.05 < abs(plain.alpha_ - alpha)
    assert found.labeling_.low == pytest.approx(0.2, abs=0.06)
    assert found.labeling_.high == pytest.approx(0.8, abs=0.06)
    assert found.labeling_.converged
    assert found.alpha_ == found.labeling_.alpha
    assert found.oof_proba_[~y].mean() == pytest.approx(found.alpha_, abs=0.01)
    assert found.estimate_.interval is None
    assert any('only on "site"' in note for note in found.estimate_.notes)


def test_the_propensity_of_sure_positives_is_the_share_that_is_labeled():
    A = np.eye(2)[np.repeat([0, 1], [40, 60])]
    y = np.r_[np.arange(40) < 30, np.arange(60) < 15]
    chance = labeling_chance(A, y, np.ones(100))
    assert chance[[0, 99]] == pytest.approx([0.75, 0.25], abs=0.01)


def test_misuse_of_labeled_by():
    frame, y, _ = at_sites()
    with fails("TB103", "site"):
        tb.SAREMClassifier(labeled_by=["sit"], **FAST).fit(frame, y)
    with fails("TB126", "empty"):
        tb.SAREMClassifier(**FAST).fit(frame, y)
    with pytest.warns(UserWarning, match="does not read"), fails("TB126", "same in every row"):
        tb.SAREMClassifier(labeled_by="land", **FAST).fit(frame.assign(land="NL"), y)
    with fails("TB126", "positions"):
        tb.SAREMClassifier(labeled_by="site", **FAST).fit(np.ones((800, 2)), y)
    with fails("TB103"):
        tb.SAREMClassifier(labeled_by=[7], **FAST).fit(frame[["x"]].to_numpy(), y)
    with fails("TB126", "same value"):
        attributes(np.ones((9, 1)), [0], ["site"])


def test_a_frame_that_is_not_encoded_is_refused():
    frame, y, _ = at_sites()
    with fails("TB013", "as numbers"):
        tb.SubtypesClassifier(GaussianNB(), **FAST).fit(frame, y)


def test_the_test_has_its_size_and_power():
    alarms, found = 0, 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(160, 3))
        alarms += scar_test(rows, rng.random(160) < 0.5, seed=seed).is_alarm
        odds = np.where(rows[:, 0] > 0, 6.0, 1.0)
        found += scar_test(rows, rng.random(160) < odds / (1 + odds), seed=seed).is_alarm
    assert alarms <= 3  # 5 % promised; fewer because of the allowance for cross-fitting
    assert found >= 22
    assert scar_test(np.ones((30, 1)), np.arange(30) < 15).p_value is None


def test_negatives_among_likely_positives_are_no_bias():
    """Overlapping classes: unlabeled likely rows lie toward the negatives, whatever the labels."""
    alarms = plain = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = rng.random(2_500) < 0.3
        X = rng.normal(y[:, None] * np.array([1.5, 1.0, 0.0]))
        is_p = y & (rng.random(2_500) < 0.3)
        scores = X @ [1.5, 1.0, 0.0] + rng.normal(size=2_500)  # of a model that errs
        alarms += random_labels_test(X, is_p, scores, seed=seed).is_alarm
        likely = scores > np.quantile(scores, 0.75)
        plain += scar_test(X[likely], is_p[likely], likely=scores[likely], seed=seed).is_alarm
    assert alarms <= 3  # of 20 with random labels; more than 3 have a chance of 1.6 % at 5 %
    assert plain >= 4  # what the direction of the negatives is left out for


def test_without_likely_positives_there_is_no_test():
    space, none = np.zeros((9, 2)), np.zeros(9, bool)
    toward = toward_positives(space, np.zeros(9, np.intp), none, ~none)
    found = scar_test(space[none], none[none], likely=np.zeros(0), toward=toward)
    assert found.p_value is None


def test_a_test_without_power_says_so():
    weak, strong = (ScarTest(0.4, power, 2.0, 30, 20) for power in (0.02, 0.5))
    assert weak.sentence.startswith("the test could not show anything (p = 0.400")
    assert strong.sentence.startswith("no sign of biased labels")
    assert not ScarTest(0.01, 0.02, 2.0, 30, 20).says_nothing  # it found something all the same


def test_a_fitted_classifier_can_be_saved(tmp_path):
    X, y, _ = two_kinds()
    found = tb.SubtypesClassifier(GaussianNB(), **FAST).fit(X, y)
    tb.save(found, tmp_path / "model")
    again = tb.load(tmp_path / "model")
    assert (again.predict_proba(X) == found.predict_proba(X)).all()
    assert again.labeling_.to_dict() == found.labeling_.to_dict()
    assert again.evidence_.tails == found.evidence_.tails


def test_rows_in_groups_are_not_tested_and_count_the_same():
    X, y, _ = two_kinds()
    groups = np.arange(y.size) // 2
    found = tb.SubtypesClassifier(**FAST).fit(X, y, groups=groups)
    assert (found.labeling_.weight_p == 1).all()
    assert found.labeling_.alarms() == ()
    assert found.labeling_.test.sentence.startswith("not tested: rows are in groups")
    assert any("could not be tested" in note for note in found.estimate_.notes)
    assert not any("no sign of bias" in note for note in found.estimate_.notes)


def test_subtypes_are_read_where_a_kind_is_in_one_or_two_groups():
    X, y, _ = two_kinds()
    groups = np.arange(y.size)
    groups[y & (X[:, 0] < 0)] = -1
    assert len(tb.subtypes(X, y, groups=groups, most=2).parts) == 1
    groups[np.flatnonzero(groups == -1)[::2]] = -2
    assert len(tb.subtypes(X, y, groups=groups, most=2).parts) == 2
