"""α under the prior over overlap: what the net reads, laws of its answers, its file, its alarm."""

import sys
from dataclasses import replace
from io import BytesIO
from math import asinh, ceil, exp, log, log1p, sqrt

import numpy as np
import pytest
from coded import fails
from hard_scores import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from roc_models import draw_tails

import topbin as tb
from topbin.core import LEVELS, Tails
from topbin.core.evidence import VARIANCE_FACTOR
from topbin.core.tails import at_ranks, geometric_ranks
from topbin.mpe import thin_tails
from topbin.mpe.overlap import (
    NEAR_ONE,
    SHARES,
    SIZES_P,
    SIZES_U,
    WEIGHTS,
    OverlapNet,
    alpha_posterior,
    load_net,
    misfit,
    net_inputs,
    overlap,
    ranks_read,
)
from topbin.mpe.thinning import kept_ranks, thin

MODULE = sys.modules["topbin.mpe.overlap"]  # the package has a function of the same name
CONFIDENCES = (1e-3, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9999, 1 - 1e-12)
OVERLAPS = ("Gaussians 3σ", "Gaussians 2σ", "Beta(8,2)/(2,8)")


def both(sample):
    """The posterior of two samples of scores."""
    return alpha_posterior(Tails.from_scores(*sample))


# --- what the net reads ----------------------------------------------------------------------


def plain_ranks(n_p, shares):
    """The first rank of the 5 % grid that holds each share of the positives, at most n_p."""
    found = []
    for share in shares:
        rank = 1
        step = 0
        while rank < n_p and rank < share * n_p - 1e-9:
            step += 1
            rank = ceil(1.05**step)
        found.append(min(rank, n_p))
    return found


@pytest.mark.parametrize("n_p", [1, 2, 3, 19, 20, 100, 101, 333, 1000, 54_321, 10**6])
def test_ranks_are_those_of_the_definition(n_p):
    assert ranks_read(n_p).tolist() == plain_ranks(n_p, SHARES)
    odd = np.array([1e-4, 0.0333, 0.5, 0.999])
    assert ranks_read(n_p, odd).tolist() == plain_ranks(n_p, odd)


@pytest.mark.parametrize("n_p", [1, 7, 100, 1000, 54_321, 10**7])
def test_all_ranks_that_are_read_are_kept_by_thinned_tails(n_p):
    assert set(ranks_read(n_p)) <= set(geometric_ranks(n_p))
    assert set(ranks_read(n_p)) <= set(kept_ranks(n_p))


def test_a_column_of_sizes_gives_the_ranks_of_each():
    sizes = np.array([5.0, 77.0, 4321.0])
    each = [ranks_read(int(n)) for n in sizes]
    np.testing.assert_array_equal(ranks_read(sizes[:, None]), each)


def plain_inputs(above_u, share_p, n_p, n_u, spread):
    """The inputs of one sample in plain Python, and the anchor in logits."""
    ratio, sd = [], []
    for y, t in zip(above_u, share_p, strict=True):
        r = (y + 0.5) / (n_u + 1) / t
        q = min(t, 1 - 1 / (n_p + 1))
        hidden = max(min(max(r, 1e-4), 1) * n_u, 1)
        ratio.append(log(r))
        sd.append(sqrt((1 - q) / q * (1 / n_p + 1 / hidden) + 1e-6))
    reached = [r + 1.5 * s for r, s in zip(ratio, sd, strict=True)]
    best = reached.index(min(reached))
    anchor = min(reached[best], NEAR_ONE)
    x = [r - anchor for r in ratio]
    x += [asinh((r - anchor) / s) for r, s in zip(ratio, sd, strict=True)]
    x += [log1p(-exp(min(r, NEAR_ONE))) - log1p(-exp(anchor)) for r in ratio]
    x += [log(s) for s in sd]
    x += [log(t / share) for t, share in zip(share_p, SHARES, strict=True)]
    x += [anchor, log(n_p), log(n_u), log(spread), log(sd[best]), SHARES[best]]
    return x, anchor - log1p(-exp(anchor))


def plain_bins(tails):
    """For each share the smallest bin with as many positives; with ties it may have more."""
    counts = list(zip(tails.above_p.tolist(), tails.above_u.tolist(), strict=True))
    bins = [min((x, y) for x, y in counts if x >= rank) for rank in plain_ranks(tails.n_p, SHARES)]
    return [y for _, y in bins], [x / tails.n_p for x, _ in bins]


@settings(max_examples=60)
@given(samples(max_size=60), st.sampled_from([1.0, VARIANCE_FACTOR]))
def test_inputs_equal_the_definition(sample, spread):
    tails = Tails.from_scores(*sample)
    above_u, share_p = plain_bins(tails)
    fewer = [y / spread for y in above_u]
    sizes = tails.n_p / spread, tails.n_u / spread, spread
    expected, anchor = plain_inputs(fewer, share_p, *sizes)
    arrays = (np.array([value]) for value in (fewer, share_p, *sizes))
    x, found = net_inputs(*arrays)
    np.testing.assert_allclose(x[0], expected, rtol=1e-9, atol=1e-9)
    assert found[0] == pytest.approx(anchor, rel=1e-9)


def plain_quantiles(net, x, anchor, n_u):
    """The forward pass of one row in plain Python."""
    z = [min(max((v - m) / s, -8), 8) for v, m, s in zip(x, net.mean, net.sd, strict=True)]
    for weight, bias in net.layers:
        out = [sum(z[i] * weight[i, j] for i in range(len(z))) + bias[j] for j in range(len(bias))]
        z = [v / (1 + exp(-v)) for v in out]
    middle = LEVELS.index(0.5)
    logits = [0.0] * len(LEVELS)
    logits[middle] = anchor + out[middle]
    for k in range(middle - 1, -1, -1):
        logits[k] = logits[k + 1] - log1p(exp(out[k]))
    for k in range(middle + 1, len(LEVELS)):
        logits[k] = logits[k - 1] + log1p(exp(out[k]))
    alpha, end = [1 / (1 + exp(-v)) for v in logits], max(0.5 / n_u, 2e-5)
    return [0.0 if a < end else 1.0 if a > 1 - end else a for a in alpha]


@pytest.mark.parametrize("model", ["Gaussians 2σ", "3σ, 20 probability levels"])
@pytest.mark.parametrize("spread", [1.0, VARIANCE_FACTOR])
def test_quantiles_are_those_of_a_plain_forward_pass(model, spread):
    tails = next(draw_tails(model, 120, 900, 0.2, repeats=1, seed=0))
    above_u, share_p = plain_bins(tails)
    sizes = 120 / spread, 900 / spread
    x, anchor = plain_inputs([y / spread for y in above_u], share_p, *sizes, spread)
    expected = plain_quantiles(load_net(), x, anchor, sizes[1])
    found = alpha_posterior(tails, effective=sizes).quantiles
    np.testing.assert_allclose(found, expected, rtol=1e-6)


# --- laws ------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(samples(max_size=60))
def test_quantiles_ascend_and_intervals_are_nested_around_the_point(sample):
    posterior = both(sample)
    assert np.all(np.diff(posterior.quantiles) >= 0)
    found = [posterior.interval(level) for level in CONFIDENCES]
    assert all(0 <= low <= posterior.median <= high <= 1 for low, high in found)
    lows, highs = np.transpose(found)
    assert np.all(np.diff(lows) <= 0)
    assert np.all(np.diff(highs) >= 0)


@settings(max_examples=40)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=50),
       st.lists(st.integers(-9, 9), min_size=1, max_size=50),
       st.randoms(use_true_random=False))  # fmt: skip
def test_row_order_and_monotone_rescaling_change_no_bit(scores_p, scores_u, random):
    first = overlap(Tails.from_scores(scores_p, scores_u))
    random.shuffle(scores_p)
    random.shuffle(scores_u)
    assert overlap(Tails.from_scores(np.exp(scores_p), np.exp(scores_u))) == first


@settings(max_examples=40)
@given(samples(max_size=60))
def test_tails_of_parts_and_thinned_tails_give_the_same_bits(sample):
    scores_p, scores_u = sample
    whole, empty = Tails.from_scores(*sample), Tails.of_positives(scores_p)
    parts = sum(empty.count(scores_u[i::3]) for i in range(3))
    kept = at_ranks(whole, geometric_ranks(whole.n_p))
    assert overlap(parts) == overlap(kept) == overlap(whole)
    for gamma in (1.3, 4.0):
        wide = alpha_posterior(whole, gamma=gamma)
        assert alpha_posterior(kept, gamma=gamma) == wide


@pytest.mark.parametrize("digits", [9, 2], ids=["distinct", "tied"])
def test_thinned_tails_of_many_positives_give_the_same_bits(digits, monkeypatch):
    rng = np.random.default_rng(0)
    scores_p = rng.normal(2, 1, 30_000).round(digits)
    scores_u = np.append(rng.normal(2, 1, 9_000), rng.normal(0, 1, 21_000)).round(digits)
    full = Tails.from_scores(scores_p, scores_u)
    monkeypatch.setattr("topbin.mpe.thinning.FEW", 10)
    monkeypatch.setattr("topbin.mpe.thinning.MANY", 10)
    pruned = thin_tails(scores_p, scores_u, ranks=geometric_ranks(scores_p.size))
    counted = thin(full)
    assert pruned.cuts.size < full.cuts.size
    assert counted.cuts.size < full.cuts.size or digits == 2
    assert overlap(pruned) == overlap(counted) == overlap(full)


def test_as_many_effective_rows_as_rows_change_no_bit_and_fewer_widen():
    tails = next(draw_tails("Gaussians 3σ", 500, 5000, 0.3, repeats=1, seed=0))
    assert overlap(tails, effective=(500.0, 5000.0)) == overlap(tails)
    widths = []
    for factor in (1, 2, 5, 20):
        low, high = alpha_posterior(tails, effective=(500 / factor, 5000 / factor)).interval(0.95)
        widths.append(high - low)
    assert np.all(np.diff(widths) > 0)


def test_a_larger_alpha_moves_the_whole_posterior_up():
    drawn = [
        next(draw_tails("Gaussians 3σ", 1000, 10_000, alpha, repeats=1, seed=2))
        for alpha in (0.02, 0.1, 0.3, 0.6, 0.9)
    ]
    quantiles = np.array([alpha_posterior(tails).quantiles for tails in drawn])
    assert np.all(np.diff(quantiles, axis=0) > 0)


# --- extremes --------------------------------------------------------------------------------

HARD = {
    "one positive": ([1.0], np.linspace(0, 2, 50)),
    "one unlabeled row": (np.linspace(0, 2, 50), [1.0]),
    "two rows": ([1.0], [0.0]),
    "two equal rows": ([1.0], [1.0]),
    "all tied": (np.ones(40), np.ones(90)),
    "one distinct positive score": (np.ones(300), np.linspace(0, 2, 800)),
    "all unlabeled rows above": (np.zeros(50), np.ones(70)),
    "all unlabeled rows below": (np.ones(50), np.zeros(70)),
    "many positives, one unlabeled row": (np.linspace(0, 1, 200_000), [0.5]),
    "one positive, many unlabeled rows": ([0.5], np.linspace(0, 1, 200_000)),
}


@pytest.mark.parametrize("case", HARD)
def test_hard_input_is_answered_in_range(case):
    found = tb.estimate_alpha(*HARD[case])
    low, high = found.interval
    assert 0 <= low <= found.alpha <= high <= 1
    assert found.alpha <= found.upper_bound <= 1
    assert found.alpha == found.posterior.median
    assert np.all(np.isfinite(found.posterior.quantiles))


def at_levels(n_p, n_u):
    """Tails at tied levels whose bins do not depend on the size: 5 % above none is a share."""
    levels = np.array([1.0, 0.82, 0.69, 0.55, 0.41, 0.29, 0.18, 0.11, 0.055, 0.025, 0.008])
    above_u = np.rint((0.3 * levels + 0.7 * levels**3) * 10**6).astype(np.int64) * (n_u // 10**6)
    above_p = np.rint(levels * 10**5).astype(np.int64) * (n_p // 10**5)
    return Tails(np.arange(11.0), above_p, above_u, n_p, n_u)


@pytest.mark.parametrize("size", [(10**6, 10**6), (10**5, 10**7), (10**7, 10**8), (10**9, 10**9)])
def test_more_rows_than_it_was_trained_for_are_read_as_so_many(size):
    limit = int(SIZES_P[1]), int(SIZES_U[1])
    assert alpha_posterior(at_levels(*size)) == alpha_posterior(at_levels(*limit))


def test_no_unlabeled_rows_is_refused():
    for function in (overlap, alpha_posterior):
        with fails("TB001", "scores_u is empty"):
            function(Tails.of_positives([1.0, 2.0]))


@pytest.mark.parametrize("model", ["separated", *OVERLAPS])
@pytest.mark.parametrize("size", [(100, 1000), (1000, 10_000)])
def test_an_interval_of_no_positives_at_all_starts_at_0(model, size):
    low = [
        alpha_posterior(tails).interval(0.95)[0]
        for tails in draw_tails(model, *size, 0.0, repeats=20, seed=4)
    ]
    assert np.mean(np.array(low) == 0) >= 0.9  # 95 % hold 0, with slack for 20 samples


def test_scores_without_a_signal_may_all_be_positive():
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found.append(tb.estimate_alpha(rng.normal(size=300), rng.normal(size=1000)))
    assert all(one.interval[1] == 1 for one in found)
    assert np.median([one.alpha for one in found]) >= 0.9


# --- the file --------------------------------------------------------------------------------


STORED = (MODULE.files("topbin.mpe") / WEIGHTS).read_bytes()
DAMAGED = {
    "missing": None,
    "empty": b"",
    "cut": STORED[:-100],
    "one bit": STORED[:999] + bytes([STORED[999] ^ 1]) + STORED[1000:],
    "another file": b"PK not weights",
}


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder from which the weights are read instead."""
    monkeypatch.setattr(MODULE, "files", lambda _: tmp_path)
    load_net.cache_clear()
    yield tmp_path
    load_net.cache_clear()


def test_the_weights_are_few_plain_arrays_and_are_stored_as_the_same_bytes():
    assert len(STORED) <= 300_000
    with np.load(BytesIO(STORED), allow_pickle=False) as arrays:
        assert {arrays[name].dtype for name in arrays.files} == {np.dtype("float32")}
    net = OverlapNet.from_bytes(STORED)
    assert net.to_bytes() == STORED
    assert net.layers[-1][1].shape == (len(LEVELS),)
    assert net.curves.shape[1] == SHARES.size


def test_the_net_is_loaded_once_and_from_wherever_the_package_is(elsewhere):
    (elsewhere / WEIGHTS).write_bytes(STORED)
    assert load_net() is load_net()
    assert load_net().to_bytes() == STORED


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_weights_are_refused_with_the_way_out(damage, elsewhere):
    if DAMAGED[damage] is not None:
        (elsewhere / WEIGHTS).write_bytes(DAMAGED[damage])
    scores = [1.0, 2.0], [0.0, 1.0]
    for _ in range(2):  # the refusal is not kept as if it were a net
        with fails("TB110", WEIGHTS, "missing, incomplete or was changed", "Install topbin again"):
            tb.estimate_alpha(*scores)
    assert tb.estimate_alpha(*scores, method="bbe_cp", confidence=None).alpha == 0.5


# --- the alarm -------------------------------------------------------------------------------


def codes(tails):
    return {alarm.code for alarm in overlap(tails).alarms}


@pytest.mark.parametrize("top", [0.3, 0.5])
@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_counts_that_no_overlap_of_the_prior_explains_raise_an_alarm(top, alpha):
    # A share `top` of the negatives scores above every positive, and the others below.
    rng, n_u = np.random.default_rng(0), 50_000
    hidden = round(alpha * n_u)
    high = round(top * (n_u - hidden))
    scores_u = np.concatenate(
        [rng.normal(size=hidden), np.full(high, 99.0), np.full(n_u - hidden - high, -99.0)]
    )
    tails = Tails.from_scores(rng.normal(size=20_000), scores_u)
    assert "unlike-prior" in codes(tails)
    found = tb.estimate_alpha(tails)
    (alarm,) = (one for one in found.alarms if one.code == "unlike-prior")
    assert alarm.bias == "either"
    assert "trust the bound" in alarm.message
    assert found.upper_bound >= alpha


@pytest.mark.parametrize("model", OVERLAPS)
@pytest.mark.parametrize("size", [(100, 1000), (1000, 10_000), (100_000, 1_000_000)])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.7])
def test_usual_overlaps_raise_none(model, size, alpha):
    drawn = list(draw_tails(model, *size, alpha, repeats=20, seed=0))
    raised = sum("unlike-prior" in codes(tails) for tails in drawn)
    assert raised <= 1  # one in two hundred is expected


def plain_misfit(q_u, share_p, n_p, n_u, alphas, curves):
    """The misfit in plain loops."""
    least = np.inf
    for curve in curves:
        for alpha in alphas:
            a, most = max(alpha, 0.5 / n_u), 0.0
            for y, t in zip(q_u, share_p, strict=True):
                h = np.interp(t, SHARES, curve)
                expected = a * t + (1 - a) * h
                variance = a * t * (1 - t) * (a / n_p + 1 / n_u) + (1 - a) * h * (1 - h) / n_u
                sd = sqrt(variance + (0.1 * expected) ** 2 + 1 / n_u**2)
                most = max(most, abs(y - expected) / sd)
            least = min(least, most)
    return least


def test_the_misfit_equals_the_definition():
    rng = np.random.default_rng(0)
    curves = np.sort(rng.random((7, SHARES.size)), axis=1)
    share_p = np.sort(rng.uniform(0.003, 1, 5))
    given = np.sort(rng.random(5)), share_p, 80.0, 700.0, np.array([0.0, 0.2, 0.7])
    assert misfit(*given, curves) == pytest.approx(plain_misfit(*given, curves), rel=1e-9)


def test_a_net_that_allows_no_misfit_always_raises_the_alarm(monkeypatch):
    strict = replace(load_net(), most_misfit=0.0)
    monkeypatch.setattr(MODULE, "load_net", lambda: strict)
    tails = next(draw_tails("Gaussians 3σ", 1000, 10_000, 0.3, repeats=1, seed=0))
    assert codes(tails) == {"unlike-prior"}


# --- training --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def training():
    """The script that trains the net, and its prior."""
    pytest.importorskip("torch")
    script = pytest.importorskip("train_overlap")
    return script, script.Prior.load()


@pytest.mark.slow
def test_a_small_net_trained_anew_reads_samples_much_like_the_one_of_this_package(training):
    script, prior = training
    net = script.train(prior, rounds=2, size=20_000, passes=1, hidden=48, tell=False)
    apart = [
        abs(alpha_posterior(tails, net=net).median - alpha_posterior(tails).median)
        for model in ("Gaussians 3σ", "Gaussians 2σ")
        for size in ((100, 1000), (1000, 10_000))
        for alpha in (0.05, 0.3, 0.7)
        for tails in draw_tails(model, *size, alpha, repeats=5, seed=0)
    ]
    assert len(apart) == 60
    assert np.mean(apart) <= 0.06


@pytest.mark.slow
def test_a_seed_trains_the_same_bytes_and_another_one_other_bytes(training):
    script, prior = training

    def trained(seed):
        tiny = {"rounds": 1, "size": 4_000, "passes": 1, "hidden": 8, "batch": 500}
        net = script.train(prior, **tiny, seed=seed, tell=False)
        return script.with_check(net, prior, curves=16, size=50).to_bytes()

    first = trained(0)
    assert trained(0) == first
    assert trained(1) != first
    assert np.isfinite(OverlapNet.from_bytes(first).most_misfit)
