"""Scott's estimator against its definition, its laws and its stated error."""

import sys

import numpy as np
import pytest
from gaussians import ALPHAS, gaussians
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import bdtr, bdtrc

from topbin.core import InputError, Tails
from topbin.mpe import scott
from topbin.mpe.bbe import ratio_limit

few_scores = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=14)


def bisect(holds):
    """The largest q in [0, 1] for which `holds`, which is true at 0."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def upper_limit(count, n, level):
    return 1.0 if count == n else bisect(lambda q: bdtr(count, n, q) >= level)


def lower_limit(count, n, level):
    return bisect(lambda q: bdtrc(count - 1, n, q) <= level)


def by_definition(scores_p, scores_u, delta, union_bound):
    """The smallest ratio over every threshold that separates any two scores, positive or not."""
    n_p, n_u = len(scores_p), len(scores_u)
    level_p, level_u = (delta / n_p, delta / n_u) if union_bound else (delta, delta)
    ratios = {}
    for cut in sorted({*scores_p, *scores_u, max(*scores_p, *scores_u) + 1}):
        x, y = sum(z >= cut for z in scores_p), sum(z >= cut for z in scores_u)
        if x:
            ratios[cut] = upper_limit(y, n_u, level_u) / lower_limit(x, n_p, level_p)
    return ratios


@given(few_scores, few_scores, st.sampled_from([0.01, 0.1, 0.5]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_is_the_smallest_ratio_over_every_threshold(scores_p, scores_u, delta, union_bound):
    ratios = by_definition(scores_p, scores_u, delta, union_bound)
    found = scott(Tails.from_scores(scores_p, scores_u), delta=delta, union_bound=union_bound)
    assert found.alpha == pytest.approx(min(1.0, *ratios.values()), rel=1e-9)
    assert found.cut in scores_p
    assert ratios[found.cut] == pytest.approx(min(ratios.values()), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("union_bound", [False, True])
def test_dropping_cuts_changes_nothing(alpha, union_bound):
    sample = gaussians(alpha, 1500, 2500)
    tails = Tails.from_scores(sample.X_p[:, 0].round(3), sample.X_u[:, 0].round(3))
    levels = (0.1 / 2500, 0.1 / 1500) if union_bound else (0.1, 0.1)
    bounds = ratio_limit(tails, *levels)
    found = scott(tails, union_bound=union_bound)
    assert found.alpha == min(1.0, bounds.min())
    assert found.cut == tails.cuts[bounds.argmin()]


def test_few_cuts_are_evaluated(monkeypatch):
    seen = []

    def counting(tails, *levels):
        seen.append(tails.cuts.size)
        return ratio_limit(tails, *levels)

    monkeypatch.setattr(sys.modules["topbin.mpe.scott"], "ratio_limit", counting)
    sample = gaussians(0.3, 100_000, 100_000, noise=0)
    scott(Tails.from_scores(sample.X_p[:, 0], sample.X_u[:, 0]))
    assert sum(seen) < 10_000


@given(few_scores, few_scores, st.randoms())
def test_only_the_order_of_scores_matters(scores_p, scores_u, random):
    found = scott(Tails.from_scores(scores_p, scores_u))
    random.shuffle(scores_p)
    random.shuffle(scores_u)
    shuffled = Tails.from_scores(np.exp(scores_p), np.exp(scores_u))
    assert scott(shuffled).alpha == found.alpha
    assert scott(shuffled).cut == np.exp(found.cut)


def test_parts_of_the_unlabeled_add_up():
    sample = gaussians(0.3, 300, 400)
    p, u = sample.X_p[:, 0], sample.X_u[:, 0]
    parts = [u[:100].astype("f4"), u[100:].astype("f4")]
    whole = scott(Tails.from_scores(p.astype("f4"), u.astype("f4")))
    assert scott(Tails.from_chunks(p.astype("f4"), parts)) == whole


@pytest.mark.parametrize("alpha", ALPHAS)
def test_union_bound_is_too_high_by_less_than_its_stated_error(alpha):
    tails = Tails.from_scores(*gaussians(alpha, 2000, 2000).scores())
    error = scott(tails, union_bound=True).alpha - alpha
    assert 0 < error <= 0.075
    assert scott(tails).alpha < scott(tails, union_bound=True).alpha


@pytest.mark.parametrize("alpha", ALPHAS)
def test_without_union_bound_the_average_error_is_as_stated(alpha):
    errors = [
        abs(
            scott(Tails.from_scores(*gaussians(alpha, 2000, 2000, seed=seed).scores())).alpha
            - alpha
        )
        for seed in range(20)
    ]
    assert np.mean(errors) <= 0.045
    assert np.median(errors) <= 0.03


@pytest.mark.parametrize(
    ("scores_p", "scores_u", "alpha"),
    [
        ([1.0], [1.0], 1.0),
        (np.full(50, 0.5), np.full(70, 0.5), 1.0),
        # Nothing of U reaches a positive: 1 − .1^(1/1000) over .1^(1/1000).
        (np.full(1000, 2.0), np.full(1000, 1.0), 0.1**-0.001 - 1),
    ],
)
def test_extremes(scores_p, scores_u, alpha):
    assert scott(Tails.from_scores(scores_p, scores_u)).alpha == pytest.approx(alpha)


def test_the_note_says_which_limits_were_used():
    tails = Tails.from_scores([1.0], [1.0])
    assert "each cut separately, δ = 0.1" in scott(tails).notes[0]
    assert "union bound" in scott(tails, union_bound=True).notes[0]


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, float("nan"), "0.1"])
def test_delta_must_be_a_probability(delta):
    with pytest.raises(InputError, match=r"TB008 delta must be a number in \(0, 1\)"):
        scott(Tails.from_scores([1.0], [1.0]), delta=delta)


def test_without_unlabeled_rows_there_is_no_answer():
    with pytest.raises(InputError, match="TB001 scores_u is empty"):
        scott(Tails.of_positives([1.0]))
