import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from evaluate.hidden import World
from topbin import AlphaEstimate
from topbin.core import InputError
from topbin.evaluate.metrics import auc_difference, estimated_auc, pu_auc

tied = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=20)


def naive_auc(scores_p, scores_u):
    wins = [(p > u) + (p == u) / 2 for p in scores_p for u in scores_u]
    return sum(wins) / len(wins)


@given(tied, tied)
def test_pu_auc_is_the_share_of_pairs_won(scores_p, scores_u):
    found = pu_auc(scores_p, scores_u)
    assert found.value == pytest.approx(naive_auc(scores_p, scores_u), abs=1e-12)
    low, high = found.interval
    assert 0 <= low <= found.value + 1e-9
    assert found.value - 1e-9 <= high <= 1


@given(tied, tied, st.floats(0, 0.99))
def test_estimated_auc_is_finite_and_in_the_unit_interval(scores_p, scores_u, alpha):
    found = estimated_auc(scores_p, scores_u, alpha=alpha)
    raw = (naive_auc(scores_p, scores_u) - alpha / 2) / (1 - alpha)
    assert found.value == pytest.approx(min(1, max(0, raw)), abs=1e-9)
    assert all(0 <= end <= 1 for end in found.interval)


def test_weights_are_those_of_scikit_learn_and_whole_ones_are_copies():
    rng = np.random.default_rng(0)
    scores_p, scores_u = rng.integers(0, 6, 30) + 1.0, rng.integers(0, 6, 50) + 0.0
    weights_p, weights_u = rng.integers(0, 4, 30), rng.integers(1, 4, 50)
    found = pu_auc(scores_p, scores_u, weights_p=weights_p, weights_u=weights_u)
    theirs = roc_auc_score(
        np.repeat([1, 0], [30, 50]),
        np.concatenate([scores_p, scores_u]),
        sample_weight=np.concatenate([weights_p, weights_u]),
    )
    assert found.value == pytest.approx(theirs, abs=1e-12)
    copies = pu_auc(np.repeat(scores_p, weights_p), np.repeat(scores_u, weights_u))
    assert copies.value == pytest.approx(found.value, abs=1e-12)
    # Copies would claim more rows than there are; weights must not.
    assert found.interval[1] - found.interval[0] > copies.interval[1] - copies.interval[0]


def test_equal_weights_change_nothing():
    scores_p, scores_u, _ = World(0.3, 2, 1).draw(40, 90, 0)
    plain = pu_auc(scores_p, scores_u)
    equal = pu_auc(scores_p, scores_u, weights_p=np.full(40, 2), weights_u=np.full(90, 7))
    assert equal.value == pytest.approx(plain.value, abs=1e-12)
    assert equal.interval == pytest.approx(plain.interval, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_row_order_and_rescaling_change_no_bit_and_inputs_stay(weighted):
    scores_p, scores_u, _ = World(0.3, 2, 1).draw(40, 90, 1)
    scores_p, scores_u = scores_p.round(1), scores_u.round(1)
    rng = np.random.default_rng(2)
    weights_p, weights_u = rng.random(40), rng.random(90)
    mixed_p, mixed_u = rng.permutation(40), rng.permutation(90)
    before = scores_p.copy()

    def measured(p, u):
        weights = {"weights_p": weights_p[p], "weights_u": weights_u[u]} if weighted else {}
        return pu_auc(scores_p[p], scores_u[u], **weights)

    first = measured(np.arange(40), np.arange(90))
    assert measured(mixed_p, mixed_u) == first
    assert np.array_equal(scores_p, before)
    if not weighted:
        assert pu_auc(np.exp(scores_p), np.exp(scores_u)) == first


def test_constant_scores_know_nothing():
    assert pu_auc(np.ones(10), np.ones(30)).value == 0.5
    found = estimated_auc(np.ones(10), np.ones(30), alpha=0.4, weights_u=np.full(30, 0.1))
    assert found.value == pytest.approx(0.5)
    assert found.interval[0] < 0.4
    assert found.interval[1] > 0.6


def test_perfect_scores_still_have_an_interval():
    found = pu_auc([2.0, 3.0, 4.0], [0.0, 1.0])
    assert found.value == 1
    assert found.interval == pytest.approx((0.025**0.5, 1.0))  # as if 2 of 2 were seen


def test_an_impossible_pu_auc_says_that_alpha_is_too_high():
    found = estimated_auc(np.ones(50) * 2, np.ones(50), alpha=0.4)
    assert found.value == 1
    assert "above its ceiling 1 − α/2 = 0.800" in found.notes[-1]


def test_alphas_own_interval_widens_this_one_even_up_to_one():
    scores_p, scores_u, _ = World(0.5, 2, 1).draw(300, 600, 3)
    est = AlphaEstimate(
        alpha=0.5, n_p=300, n_u=600, method="x", interval=(0.3, 1.0), confidence=0.95
    )
    known, unsure = (estimated_auc(scores_p, scores_u, alpha=a) for a in (0.5, est))
    assert unsure.interval[0] < known.interval[0]
    assert unsure.interval[1] == 1
    flat = estimated_auc(np.ones(9), np.ones(9), alpha=est)
    assert flat.value == 0.5
    below = estimated_auc(scores_p - 4, scores_u, alpha=est)
    assert below.interval[0] == 0


def test_alpha_zero_leaves_pu_auc_as_it_is_and_alpha_one_has_no_auc():
    scores_p, scores_u, _ = World(0.0, 1, 1).draw(50, 50, 4)
    plain = pu_auc(scores_p, scores_u)
    assert estimated_auc(scores_p, scores_u, alpha=0.0).value == plain.value
    with pytest.raises(InputError, match=r"^TB008 alpha is 1: no unlabeled row is negative"):
        estimated_auc(scores_p, scores_u, alpha=1.0)


@pytest.mark.parametrize(
    ("scores_p", "scores_u", "code"),
    [([], [1.0], "TB001"), ([1.0], [], "TB001"), ([np.nan], [1.0], "TB004"), ([1.0], "a", "TB00")],
)
def test_bad_scores_are_refused(scores_p, scores_u, code):
    with pytest.raises(InputError, match=f"^{code}"):
        pu_auc(scores_p, scores_u)


@st.composite
def two_models(draw):
    """Scores of the same rows by two models, with ties."""
    n_p, n_u = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    scores = st.lists(st.integers(0, 5).map(float), min_size=n_p + n_u, max_size=n_p + n_u)
    both = [np.array(draw(scores)) for _ in range(2)]
    return [(one[:n_p], one[n_p:]) for one in both]


@given(two_models())
def test_the_difference_of_aucs_and_its_error_follow_the_definition(models):
    def wins(model):
        return np.array([[(p > u) + (p == u) / 2 for u in model[1]] for p in model[0]])

    def variance_of_mean(values):  # of one row, the largest that values from -1 to 1 can have
        return values.var(ddof=1) / values.size if values.size > 1 else 1.0

    gain = wins(models[0]) - wins(models[1])  # of every pair
    by_p, by_u = gain.mean(axis=1), gain.mean(axis=0)
    found = auc_difference(*models)
    assert found.value == pytest.approx(naive_auc(*models[0]) - naive_auc(*models[1]), abs=1e-12)
    variance = variance_of_mean(by_p) + variance_of_mean(by_u) if gain.any() else 0.0
    assert found.error == pytest.approx(np.sqrt(variance), abs=1e-9)


@pytest.mark.parametrize("other", [([np.nan], [1.0]), ([1.0], [0.0, 1.0]), ([], [1.0])])
def test_bad_scores_of_either_model_are_refused(other):
    good = [1.0], [0.0]
    for models in ((good, other), (other, good)):
        with pytest.raises(InputError, match=r"^TB00[145]"):
            auc_difference(*models)


@given(two_models())
def test_the_difference_of_aucs_turns_with_its_models_and_reads_ranks_only(models):
    one, other = models
    found, back = auc_difference(one, other), auc_difference(other, one)
    assert (back.value, back.error) == pytest.approx((-found.value, found.error), abs=1e-12)
    assert auc_difference(tuple(np.exp(side) for side in one), other) == found
    same = auc_difference(one, one)
    assert (same.value, same.error) == (0, 0)


def test_the_error_of_the_difference_is_its_spread_over_samples():
    rng = np.random.default_rng(2)

    def sample():
        shared = rng.normal(np.repeat([1.0, 0.0], [60, 120]))
        models = (shared + rng.normal(0, size, 180) for size in (0.5, 1.0))
        return auc_difference(*((one[:60], one[60:]) for one in models))

    found = [sample() for _ in range(400)]
    spread = np.std([each.value for each in found])
    assert np.mean([each.error for each in found]) == pytest.approx(spread, rel=0.15)
