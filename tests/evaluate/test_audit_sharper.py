"""α from answers and probabilities: the definition, special cases that are exact, and coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from topbin import AlphaEstimate
from topbin.evaluate.audit import compare_labels, draw, draw_weighted, judge, verdict_words
from topbin.evaluate.audit.limits import (
    FOLDS,
    TRUST,
    fold_factors,
    limits_of_mean,
    risk_of_look,
)


def population(alpha, apart, rng, n_u=10_000):
    """Truth and calibrated probabilities of unlabeled rows."""
    y = np.arange(n_u) < round(alpha * n_u)
    x = rng.normal(size=n_u) + apart * y
    odds = alpha / (1 - alpha) * np.exp(apart * x - apart**2 / 2)
    return y, odds / (1 + odds)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_each_answer_is_corrected_by_the_slope_of_the_other_folds(rows):
    y, f = (np.array(column, float) for column in zip(*rows, strict=True))
    f_u = np.append(f, [0.0, 1.0])
    factor = fold_factors(y, f[:, None], f_u[:, None], np.ones(y.size))
    for i in range(len(factor)):
        others = [j for j in range(y.size) if j % FOLDS != i]
        mean_y = sum(y[j] for j in others) / max(1, len(others))
        mean_f = sum(f[j] for j in others) / max(1, len(others))
        cov = sum((y[j] - mean_y) * (f[j] - mean_f) for j in others)
        var = sum((f[j] - mean_f) ** 2 for j in others)
        slope = (cov + TRUST * f_u.var()) / (var + TRUST * f_u.var())
        assert factor[i] == pytest.approx([min(1, max(0, slope))])


def test_several_columns_count_as_least_squares_say():
    rng = np.random.default_rng(3)
    z_u = rng.random((500, 3))
    z, w = z_u[:40], np.ones(40)
    y = (z[:, 0] + z[:, 1] > rng.random(40) + 0.5) * 1.0
    others = np.arange(40) % FOLDS != 2
    a, b = z[others] - z[others].mean(0), y[others] - y[others].mean()
    trusted = np.diag(TRUST * z_u.var(0))
    by_hand = np.linalg.solve(a.T @ a + trusted, a.T @ b + trusted @ [1, 0, 0]).clip(0, 1)
    np.testing.assert_allclose(fold_factors(y, z, z_u, w)[2], by_hand)


def proxies_of(y, rng, *errors):
    """Cheaper labels that are wrong in these shares of rows."""
    return np.column_stack([(y != (rng.random(y.size) < wrong)) * 1.0 for wrong in errors])


def test_good_proxies_narrow_the_interval_and_bad_ones_do_no_harm():
    rng = np.random.default_rng(0)
    y, f = population(0.2, 1.0, rng)
    widths: dict[str, list[float]] = {"none": [], "good": [], "two": [], "noise": [], "wrong": []}
    given = {
        "none": None, "good": proxies_of(y, rng, 0.05), "two": proxies_of(y, rng, 0.05, 0.1),
        "noise": rng.random((y.size, 1)), "wrong": proxies_of(~y, rng, 0.05),
    }  # fmt: skip
    for seed in range(40):
        sample = draw_weighted(f, 150, seed=seed)
        said = np.where(y[sample.rows], "yes", "no")
        for name, proxies in given.items():
            found = judge(sample, said, 0.2, probabilities=f, proxies=proxies)
            widths[name].append(found.interval[1] - found.interval[0])
    mean = {name: np.mean(several) for name, several in widths.items()}
    assert mean["good"] < 0.75 * mean["none"]
    assert mean["two"] < mean["good"]
    assert mean["noise"] < 1.03 * mean["none"]
    assert mean["wrong"] < 1.03 * mean["none"]


@pytest.mark.slow
@pytest.mark.parametrize("errors", [(0.02,), (0.3, 0.1), (0.5,), (0.9,)])
def test_with_proxies_of_any_worth_the_interval_holds(errors):
    rng = np.random.default_rng(5)
    y, f = population(0.15, 1.0, rng, n_u=4000)
    proxies, missed = proxies_of(y, rng, *errors), 0
    for seed in range(200):
        sample = draw_weighted(f, 80, seed=seed)
        said = np.where(y[sample.rows], "yes", "no")
        low, high = judge(sample, said, 0.15, probabilities=f, proxies=proxies).interval
        missed += not low <= y.mean() <= high
    assert missed <= 18  # of 200 at 95 %: more has a probability below 1 %


@pytest.mark.parametrize(("k", "n"), [(0, 30), (1, 50), (13, 50), (50, 50), (400, 1000)])
def test_limits_of_zeros_and_ones_are_clopper_and_pearson(k, n):
    values = np.repeat([1.0, 0.0], [k, n - k])
    exact = binomtest(k, n).proportion_ci(0.95, "exact")
    found = limits_of_mean(values, values, (0.0, 1.0))(0.025)
    assert found == pytest.approx((exact.low, exact.high), abs=0.004)


def test_probabilities_that_say_nothing_change_nothing():
    said = np.repeat(["yes", "no"], [30, 70])
    plain = judge(draw(9000, 100), said, 0.3)
    flat = judge(draw(9000, 100), said, 0.3, probabilities=np.full(9000, 0.3))
    assert flat.alpha == plain.alpha
    assert flat.interval == pytest.approx(plain.interval, abs=0.006)


def test_perfect_probabilities_leave_only_the_surprises_that_were_not_seen():
    rng = np.random.default_rng(0)
    y, _ = population(0.3, 3, rng)
    sample = draw(y.size, 100)
    found = judge(sample, np.where(y[sample.rows], "yes", "no"), 0.3, probabilities=y.astype(float))
    assert found.alpha == pytest.approx(0.3, abs=0.02)
    assert found.interval[1] - found.interval[0] < 0.08  # Clopper & Pearson: .18


def test_open_rows_widen_the_interval_on_both_sides():
    rng = np.random.default_rng(0)
    y, f = population(0.3, 3, rng)
    sample = draw(y.size, 100)
    said = np.where(y[sample.rows], "yes", "no").astype(object)
    clear = judge(sample, said, 0.3, probabilities=f)
    said[:10] = "?"
    doubtful = judge(sample, said, 0.3, probabilities=f)
    assert doubtful.interval[0] < clear.interval[0]
    assert doubtful.interval[1] > clear.interval[1]
    assert "(10 unsure, counted whichever way is worse)" in doubtful.sentence


@pytest.mark.parametrize("said", [["yes"], ["no"], ["yes"] * 20, ["no"] * 20])
def test_one_answer_and_answers_of_one_kind_give_wide_intervals(said):
    rng = np.random.default_rng(0)
    _, f = population(0.3, 2, rng, 500)
    found = judge(draw(500, len(said)), said, 0.3, probabilities=f)
    low, high = found.interval
    assert 0 <= low <= found.alpha <= high <= 1
    assert high - low > 0.1 if len(said) == 20 else high - low > 0.9


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3, 0.7])
@pytest.mark.parametrize("n", [30, 100])
def test_the_interval_covers_and_is_narrower_where_the_model_is_good(alpha, n):
    rng = np.random.default_rng([round(100 * alpha), n])
    y, f = population(alpha, 3.3, rng)
    inside, widths, plain = [], [], []
    for seed in range(60):
        sample = draw(y.size, n, seed=seed)
        said = np.where(y[sample.rows], "yes", "no")
        found = judge(sample, said, alpha, probabilities=f, look=1)
        inside.append(found.interval[0] <= alpha <= found.interval[1])
        widths.append(found.interval[1] - found.interval[0])
        ends = judge(sample, said, alpha).interval
        plain.append(ends[1] - ends[0])
    assert np.mean(inside) >= 0.94
    assert np.mean(widths) <= (0.6 if (alpha, n) in {(0.3, 100), (0.7, 100)} else 1.1) * np.mean(
        plain
    )


def test_wrong_probabilities_never_make_the_interval_wrong():
    """Half of the positives look like negatives, and α̂ is half the truth."""
    rng = np.random.default_rng(0)
    seen, f = population(0.15, 4, rng)
    y = seen | (np.arange(seen.size) % 6 == 5)  # and as many that no score shows
    claim = AlphaEstimate(
        alpha=0.15, n_p=200, n_u=y.size, method="bbe", interval=(0.13, 0.17), confidence=0.95
    )
    found = []
    for seed in range(60):
        sample = draw(y.size, 100, seed=seed)
        said = np.where(y[sample.rows], "yes", "no")
        found.append(judge(sample, said, claim, probabilities=f))
    assert np.mean([one.interval[0] <= y.mean() <= one.interval[1] for one in found]) >= 0.93
    assert np.mean([one.verdict == "contradicts" for one in found]) >= 0.8


def test_an_interval_that_excludes_the_estimate_does_not_agree():
    claim = AlphaEstimate(
        alpha=0.368, n_p=200, n_u=9000, method="bbe", interval=(0.25, 0.40), confidence=0.95
    )
    found = judge(draw(9000, 600), ["yes"] * 182 + ["no"] * 418, claim)
    assert found.interval[1] < 0.368 < claim.interval[1]
    assert found.verdict == "contradicts"
    assert "The ranges overlap, but the audit's excludes the estimate" in found.sentence
    # What disagrees is said in the same words everywhere.
    assert found.excludes == "point"
    assert found.sentence.startswith("The audit contradicts the estimate's α, not its interval: ")
    assert verdict_words(found.verdict, found.excludes) in found.sentence
    outside = judge(draw(9000, 600), ["yes"] * 282 + ["no"] * 318, claim)
    assert (outside.verdict, outside.excludes) == ("contradicts", "interval")
    assert outside.sentence.startswith("The audit contradicts the estimate: ")
    assert judge(draw(9000, 600), ["yes"] * 200 + ["no"] * 400, claim).excludes is None


def test_all_looks_together_use_the_doubt_of_one():
    assert sum(risk_of_look(0.05, k) for k in range(1, 60)) == pytest.approx(0.05)


def test_looking_until_the_width_is_reached_still_covers():
    rng = np.random.default_rng(3)
    y, f = population(0.2, 2.5, rng)
    inside = []
    for _ in range(60):
        order, within, look = rng.permutation(y.size), (0.0, 1.0), 0
        while look < 4 and within[1] - within[0] > 0.12:
            look += 1
            sample = draw(y.size, 50 * 2 ** (look - 1))
            rows = order[: sample.n]
            sample = type(sample)(rows, sample.stratum, sample.sizes, 0)
            said = np.where(y[rows], "yes", "no")
            seen = judge(sample, said, 0.2, probabilities=f, look=look, within=within).interval
            assert seen[1] - seen[0] <= within[1] - within[0]  # more answers never widen it
            within = seen
        inside.append(within[0] <= 0.2 <= within[1])
    assert np.mean(inside) >= 0.94


def test_labels_that_differ_are_noticed_and_others_are_not():
    rng = np.random.default_rng(0)
    labeled = rng.normal(2, 1, 200)
    assert "no sign of biased labels" in compare_labels(labeled, rng.normal(2, 1, 30))
    assert "score lower than the labeled ones" in compare_labels(labeled, rng.normal(0, 1, 30))
    assert "positives that the audit found are too few (4)" in compare_labels(labeled, labeled[:4])
