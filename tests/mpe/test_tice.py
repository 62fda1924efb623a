"""tice against its definition, its laws, and how far off it is on Gaussians."""

import numpy as np
import pytest
import scipy.sparse as sp
from gaussians import ALPHAS, gaussians
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_features import plain_tice

from topbin.core import InputError
from topbin.mpe import tice
from topbin.mpe.samples import read_samples, unit_range
from topbin.mpe.tice import label_frequency


def folds(n_p, n_u, seed=0):
    """Fifths of each sample, drawn apart."""
    draws = [np.random.default_rng([seed, i]).permutation(n) for i, n in enumerate((n_p, n_u))]
    return np.concatenate(draws) % 5


def plain(pair, seed=0, **options):
    n_p, n_u = len(pair.p), len(pair.u)
    labeled = np.arange(n_p + n_u) < n_p
    return plain_tice(pair.both, labeled, folds(n_p, n_u, seed), **options)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 120),
    st.integers(1, 150),
    st.sampled_from(["normal", "ties", "binary"]),
)
def test_equals_the_definition(seed, n_p, n_u, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_p + n_u, 4))
    X[: n_p + n_u // 3] += [3, 1, 0, 0]
    X = {"normal": X, "ties": np.round(X), "binary": (X > 1).astype(float)}[kind]
    pair = unit_range(read_samples(X[:n_p], X[n_p:]))
    assert label_frequency(pair, random_state=seed) == pytest.approx(plain(pair, seed), rel=1e-12)


@pytest.mark.parametrize("max_splits", [1, 2, 7])
def test_equals_the_definition_when_splits_run_out(max_splits):
    sample = gaussians(0.4, 200, 300, noise=3)
    pair = unit_range(read_samples(sample.X_p, sample.X_u))
    slow = plain(pair, max_splits=max_splits)
    assert label_frequency(pair, max_splits=max_splits) == pytest.approx(slow, rel=1e-12)


def test_alpha_follows_from_the_label_frequency():
    sample = gaussians(0.3, 400, 900)
    c = label_frequency(unit_range(read_samples(sample.X_p, sample.X_u)))
    assert tice(sample.X_p, sample.X_u).alpha == (400 / 900) * (1 - c) / c


@pytest.mark.parametrize(("n_p", "n_u"), [(3000, 300), (300, 3000)])
def test_alpha_is_the_share_among_the_unlabeled_whatever_the_sizes(n_p, n_u):
    # Sure that α is among U: the share among all rows would be .94 and .37 here.
    sample = gaussians(0.3, n_p, n_u)
    assert 0.3 <= tice(sample.X_p, sample.X_u).alpha <= 0.6


# The label frequency is a lower bound, so α̂ is too high: by this much at most on Gaussians 4σ
# apart with 1,000 + 1,000 rows, five seeds and 0, 1 or 4 columns of noise.
BIAS = {0.02: 0.06, 0.1: 0.09, 0.3: 0.11, 0.5: 0.13, 0.8: 0.15, 0.95: 0.06}


@pytest.mark.parametrize("alpha", ALPHAS)
def test_is_too_high_by_a_stated_amount(alpha):
    found = [
        tice(sample.X_p, sample.X_u).alpha
        for sample in (gaussians(alpha, seed=s, noise=k) for s in range(5) for k in (0, 1, 4))
    ]
    assert alpha < np.mean(found) < alpha + BIAS[alpha]
    assert min(found) > alpha - 0.06
    assert max(found) < alpha + BIAS[alpha]


@pytest.mark.slow
def test_errs_less_with_very_many_rows():
    errors = [tice(*samples(0.3, n)).alpha - 0.3 for n in (3000, 30000, 90000)]
    assert errors[0] > errors[1] > errors[2] > 0
    assert errors[2] < 0.04


def samples(alpha, n):
    sample = gaussians(alpha, n, n)
    return sample.X_p, sample.X_u


def test_row_order_copies_and_storage_change_no_bit():
    sample = gaussians(0.3, 300, 400, noise=60)
    known = tice(sample.X_p, sample.X_u)
    rng = np.random.default_rng(1)
    assert tice(rng.permutation(sample.X_p), rng.permutation(sample.X_u)) == known
    assert tice(sp.csr_array(sample.X_p), sp.csc_array(sample.X_u)) == known
    assert known.notes == ("50 principal components of 61 features",)


def test_units_constants_and_duplicates_of_columns_matter_no_more_than_the_seed():
    X_p, X_u = samples(0.3, 1000)
    constant = np.full((1000, 1), 5.0)
    for P, U in (
        (X_p * [1000, 0.001] + 7, X_u * [1000, 0.001] + 7),
        (np.c_[X_p, constant], np.c_[X_u, constant]),
        (np.c_[X_p, X_p], np.c_[X_u, X_u]),
    ):
        assert tice(P, U).alpha == pytest.approx(tice(X_p, X_u).alpha, abs=0.05)


def test_a_drawn_sample_is_noted_and_the_sizes_are_the_whole():
    sample = gaussians(0.3, 500, 900)
    found = tice(sample.X_p, sample.X_u, max_rows=400, random_state=2)
    assert (found.n_p, found.n_u, found.method) == (500, 900, "tice")
    assert found.notes == ("400 of 500 positives and 400 of 900 unlabeled rows, drawn with seed 2",)
    assert found.alpha == pytest.approx(0.4, abs=0.1)


@pytest.mark.parametrize(
    ("X_p", "X_u"),
    [
        (np.ones((30, 2)), np.ones((40, 2))),
        (np.eye(40)[:, :3], np.eye(40)[:, :3]),
        (np.ones((1, 1)), np.zeros((1, 1))),
        (np.ones((1, 1)), np.arange(9.0)[:, None]),
    ],
    ids=["constant features", "the same sample twice", "one row each", "one positive"],
)
def test_where_nothing_can_be_shown_all_may_be_positive(X_p, X_u):
    assert tice(X_p, X_u).alpha == pytest.approx(1.0, abs=1e-12)


def test_samples_that_lie_apart_share_no_positive():
    X = np.linspace(0, 1, 500)[:, None]
    assert tice(X + 5, X).alpha < 0.06


@pytest.mark.parametrize(
    "options",
    [{"delta": 0.0}, {"delta": 1.0}, {"delta": "x"}, {"max_splits": 0}, {"max_rows": 0},
     {"n_components": 0}, {"random_state": -1}],
)  # fmt: skip
def test_bad_parameters_are_refused(options):
    with pytest.raises(InputError, match="TB008"):
        tice(*samples(0.3, 20), **options)


def test_a_surer_bound_is_a_higher_alpha():
    X_p, X_u = samples(0.3, 500)
    assert tice(X_p, X_u, delta=0.01).alpha > tice(X_p, X_u, delta=0.2).alpha
