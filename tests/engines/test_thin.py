"""Thinned cuts: what reads geometric ranks does not change, and the rest stays within its bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_files import scored, write

from topbin import Tails, estimate_alpha
from topbin.engines import Local, count_from
from topbin.mpe import bbe, thinning
from topbin.mpe.bbe import upper_confidence
from topbin.mpe.registry import cost_of_thinning, find_method
from topbin.mpe.thinning import STEP, kept_ranks, thin

COLUMNS = {"score": "score", "label": "label"}


@pytest.fixture
def coarse(monkeypatch):
    """Thinning that already shows on small samples: steps of a tenth above 10 cuts."""
    monkeypatch.setattr(thinning, "MANY", 10)
    monkeypatch.setattr(thinning, "STEP", 0.1)


def samples(seed, n_p, n_u, ties):
    rng = np.random.default_rng(seed)
    scores = rng.normal(2, 1, n_p), np.append(rng.normal(2, 1, n_u // 3), rng.normal(0, 1, n_u))
    return tuple(np.round(z * ties) / ties for z in scores)


@pytest.mark.parametrize("n_p", [1, 9_999, 10_001, 54_321, 3_000_000])
def test_ranks_are_at_most_a_step_apart(n_p):
    ranks = kept_ranks(n_p)
    assert ranks[0] == 1
    assert ranks[-1] == n_p
    # Between neighbours j < k a bin holds at most k − 1 positives, against j in the kept one.
    assert ((ranks[1:] - 1) / ranks[:-1]).max(initial=1.0) <= 1 + STEP * 1.0001


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 999), st.integers(30, 400), st.integers(50, 900), st.sampled_from([3, 1e6]))
def test_the_bound_holds(seed, n_p, n_u, ties):
    full = Tails.from_scores(*samples(seed, n_p, n_u, ties))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thinning, "MANY", 10)
        patch.setattr(thinning, "STEP", 0.1)
        some = thin(full)
    reached, best = (upper_confidence(tails).min() for tails in (some, full))
    assert best <= reached <= 1.1001 * best
    for method in ("bbe", "scott"):
        low, high = find_method(method).bracket(some)
        alpha = estimate_alpha(full, method=method, confidence=None).alpha
        assert low - 1e-12 <= alpha <= high + 1e-12
    exact = [estimate_alpha(tails, confidence=None) for tails in (some, full)]
    assert exact[0] == exact[1]


def test_few_cuts_stay_as_they_are():
    full = Tails.from_scores(*samples(0, 500, 500, 1e6))
    assert thin(full) is full
    assert cost_of_thinning(full, full.cuts.size, "bbe") == ()


def test_a_thinned_count_is_that_of_the_kept_cuts_and_says_what_it_cost(tmp_path, coarse):
    table = scored(ties=10**6)
    counted = count_from(Local(), write(tmp_path, table), **COLUMNS)
    is_p = table["label"] == 1
    full = Tails.from_scores(table["score"][is_p], table["score"][~is_p])
    found = counted.tails[None]
    assert found.cuts.size < full.cuts.size / 3
    kept = np.isin(full.cuts, found.cuts)
    assert found == full.at(kept)
    told = counted.estimates("bbe")[None].notes[-1]
    assert told.startswith(f"{found.cuts.size} of {full.cuts.size} cuts were counted; with all")
    low, high = find_method("bbe").bracket(found)
    assert f"between {low:.6f} and {high:.6f}" in told
    assert low <= bbe(full).alpha <= high
    for method in ("overlap", "bbe_cp"):
        plain = counted.estimates(method)[None]
        assert f"all that {method} and the interval read: no error from that" in plain.notes[-1]
        assert plain.alpha == estimate_alpha(full, method=method).alpha
        assert plain.interval == estimate_alpha(full).interval


def test_a_million_positives_cost_less_than_a_thousandth():
    rng = np.random.default_rng(0)
    scores_p = rng.normal(2, 1, 1_000_000)
    scores_u = np.append(rng.normal(2, 1, 300_000), rng.normal(-1, 1, 700_000))
    full = Tails.from_scores(scores_p, scores_u)
    some = thin(full)
    assert some.cuts.size < 60_000
    low, high = find_method("bbe").bracket(some)
    assert high - low < 1e-3
    assert low <= bbe(full).alpha <= high
