import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.hidden import World
from topbin.core import InputError
from topbin.evaluate.metrics import lee_liu, pu_risk

tied = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=20)


@given(tied, tied, st.floats(0, 1), st.integers(0, 5))
def test_risks_are_their_definitions(scores_p, scores_u, alpha, threshold):
    missed = sum(p < threshold for p in scores_p) / len(scores_p)
    negatives = sum(u >= threshold for u in scores_u) / len(scores_u) - alpha * (1 - missed)
    at = {"threshold": threshold, "alpha": alpha}
    unbiased = pu_risk(scores_p, scores_u, non_negative=False, **at)
    clamped = pu_risk(scores_p, scores_u, **at)
    assert unbiased.value == pytest.approx(alpha * missed + negatives, abs=1e-12)
    assert clamped.value == pytest.approx(
        alpha * missed + min(1 - alpha, max(0, negatives)), abs=1e-12
    )
    assert 0 <= clamped.interval[0] <= clamped.interval[1] <= 1
    assert np.isfinite(unbiased.interval).all()


def test_the_unbiased_risk_may_be_negative_and_the_other_may_not():
    at = {"threshold": 1.0, "alpha": 0.5}
    assert pu_risk([1.0], [1.0, 0.0, 0.0, 0.0], non_negative=False, **at).value == -0.25
    assert pu_risk([1.0], [1.0, 0.0, 0.0, 0.0], **at).value == 0
    assert pu_risk([0.0], [1.0], non_negative=False, **at).value == 1.5
    assert pu_risk([0.0], [1.0], **at).value == 1


def test_risk_is_the_error_rate_of_the_hidden_labels():
    scores_p, scores_u, y = World(0.4, 2, 1).draw(50_000, 50_000, 3)
    found = pu_risk(scores_p, scores_u, threshold=1, alpha=float(y.mean()))
    assert found.value == pytest.approx(np.mean((scores_u >= 1) != y), abs=0.008)  # 3 SE


def test_the_lowest_risk_is_at_the_best_threshold():
    world = World(0.4, 2, 1)
    scores_p, scores_u, _ = world.draw(50_000, 50_000, 4)
    grid = np.linspace(-1, 3, 41)
    risks = [pu_risk(scores_p, scores_u, threshold=t, alpha=0.4).value for t in grid]
    best = 1 + np.log(0.6 / 0.4) / 2  # where both densities, weighted, are equal
    assert grid[np.argmin(risks)] == pytest.approx(best, abs=0.25)


@given(tied, tied, st.integers(0, 5))
def test_lee_liu_is_its_definition(scores_p, scores_u, threshold):
    q_p = sum(p >= threshold for p in scores_p) / len(scores_p)
    q_u = sum(u >= threshold for u in scores_u) / len(scores_u)
    if q_u == 0 < q_p:
        with pytest.raises(InputError, match=r"^TB003 .*recall² over 0 is undefined"):
            lee_liu(scores_p, scores_u, threshold=threshold)
        return
    found = lee_liu(scores_p, scores_u, threshold=threshold)
    assert found.value == pytest.approx(q_p**2 / q_u if q_u else 0)
    assert 0 <= found.interval[0] <= found.value + 1e-9
    assert np.isfinite(found.interval[1])
    assert bool(found.notes) == (q_u == 0)


def test_lee_liu_is_precision_times_recall_over_alpha():
    scores_p, scores_u, y = World(0.3, 2, 1).draw(50_000, 50_000, 5)
    picked = scores_u >= 1
    true = (picked & y).sum() ** 2 / picked.sum() / y.sum() / y.mean()
    found = lee_liu(scores_p, scores_u, threshold=1)
    assert found.value == pytest.approx(true, abs=0.05)  # 3 standard errors
