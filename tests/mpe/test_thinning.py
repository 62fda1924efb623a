"""Thinned tails must give what full tails give, to the bit."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from coded import fails
from hard_scores import LARGE, large, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from topbin.core import Tails
from topbin.core.tails import at_ranks, geometric_ranks
from topbin.mpe import bbe, bbe_cp, thin_tails, thinning

ROWS = thinning.FEW  # of each sample: more than enough to be thinned


@contextmanager
def tiny_cells(first):
    """Thin even the smallest samples, through splits as coarse as can be."""
    constants = {"FEW": 0, "SPARSE": 1000, "FIRST": first, "SPLIT": 2}
    with ExitStack() as stack:
        for name, value in constants.items():
            stack.enter_context(patch.object(thinning, name, value))
        yield


@settings(deadline=None)
@given(samples(60), st.sampled_from([1, 2, 16]), st.data())
def test_the_same_bits_as_full_tails(pair, first, data):
    full = Tails.from_scores(*pair)
    ranks = data.draw(st.lists(st.integers(1, full.n_p), max_size=5))
    delta, gamma = data.draw(st.sampled_from([(0.1, 0.01), (0.5, 0.0), (0.01, 2.0)]))
    with tiny_cells(first):
        thin = thin_tails(*pair, delta=delta, gamma=gamma, ranks=ranks)
    assert bbe(thin, delta=delta, gamma=gamma) == bbe(full, delta=delta, gamma=gamma)
    assert thin.cuts.size <= len(ranks) + 1
    assert (thin.cuts[1:] > thin.cuts[:-1]).all()
    assert set(thin.cuts.tolist()) <= set(full.cuts.tolist())
    assert thin.cuts.dtype == full.cuts.dtype
    assert at_ranks(thin, np.array(ranks, int)) == at_ranks(full, np.array(ranks, int))


@pytest.mark.parametrize("kind", sorted(LARGE))
def test_large_samples_of_every_kind(kind):
    scores_p, scores_u = large(kind, ROWS)
    full = Tails.from_scores(scores_p, scores_u)
    thin = thin_tails(scores_p, scores_u)
    assert thin.cuts.size == 1
    assert bbe(thin) == bbe(full)
    assert repr(bbe(thin).cut) == repr(bbe(full).cut)  # 0.0 is not −0.0
    ranks = geometric_ranks(scores_p.size)
    ranked = thin_tails(scores_p, scores_u, ranks=ranks)
    assert at_ranks(ranked, ranks) == at_ranks(full, ranks)
    assert bbe(ranked) == bbe(full)
    assert bbe_cp(ranked) == bbe_cp(full)


@pytest.mark.parametrize("alpha", [0.0, 0.003, 0.5, 1.0])
def test_any_share_of_positives(alpha):
    rng = np.random.default_rng(7)
    scores_p = rng.normal(2, 1, ROWS)
    scores_u = np.where(rng.random(ROWS) < alpha, rng.normal(2, 1, ROWS), rng.normal(0, 1, ROWS))
    for pair in ((scores_p, scores_u), (scores_p, scores_u - 50), (scores_p, scores_u + 50)):
        assert bbe(thin_tails(*pair)) == bbe(Tails.from_scores(*pair))


def test_row_order_and_monotone_change():
    scores_p, scores_u = large("logits", ROWS)
    thin = thin_tails(scores_p, scores_u)
    assert thin_tails(scores_p[::-1], np.roll(scores_u, 5)) == thin
    assert bbe(thin_tails(scores_p * 8, scores_u * 8)).alpha == bbe(thin).alpha


def test_the_same_sample_twice_and_one_positive():
    scores_p, scores_u = large("logits", ROWS)
    assert bbe(thin_tails(scores_u, scores_u)).alpha == 1.0
    for few in (1, 1000):
        thin = thin_tails(scores_p[:few], np.append(scores_u, scores_u), ranks=[1])
        assert thin == Tails.from_scores(scores_p[:few], np.append(scores_u, scores_u))
    few = thin_tails(np.append(scores_p, scores_p), scores_u[:1])
    assert bbe(few) == bbe(Tails.from_scores(np.append(scores_p, scores_p), scores_u[:1]))


def test_small_samples_are_not_thinned():
    assert thin_tails([1.0, 2.0], [0.0, 2.0]) == Tails.from_scores([1.0, 2.0], [0.0, 2.0])


@pytest.mark.parametrize("ranks", [(), (1,)])
@pytest.mark.parametrize("rows", [3, ROWS])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(ranks, rows, bad):
    fine, broken = np.arange(float(rows)), np.append(np.arange(float(rows)), bad)
    with fails("TB004", "scores_p", f"1 of {rows + 1:,}"):
        thin_tails(broken, fine, ranks=ranks)
    with fails("TB004", "scores_u", f"1 of {rows + 1:,}"):
        thin_tails(fine, broken, ranks=ranks)


@pytest.mark.parametrize(
    ("bad", "code"),
    [([], "TB001"), ([[1.0, 2.0]], "TB005"), ([[1], [1, 2]], "TB005"), (["a"], "TB006")],
)
def test_what_are_not_scores_is_refused(bad, code):
    with fails(code, "scores_p"):
        thin_tails(bad, [1.0])
    with fails(code, "scores_u"):
        thin_tails([1.0], bad)


@pytest.mark.parametrize("ranks", [[0], [3], [1.5], [-1], ["a"], [True]])
def test_ranks_are_checked(ranks):
    with fails("TB008", "ranks", "n_p = 2"):
        thin_tails([1.0, 2.0], [1.0], ranks=ranks)


def test_parameters_are_checked():
    pair = large("logits", ROWS)
    with fails("TB008", "delta"):
        thin_tails(*pair, delta=2)
    with fails("TB008", "gamma"):
        thin_tails(*pair, gamma=-1)


def test_inputs_are_left_alone():
    pair = large("with zeros", ROWS)
    before = [scores.tobytes() for scores in pair]
    for scores in pair:
        scores.setflags(write=False)
    thin_tails(*pair)
    thin_tails(*pair, ranks=[1, 5])
    assert [scores.tobytes() for scores in pair] == before
