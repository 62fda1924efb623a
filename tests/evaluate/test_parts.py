"""α of a part of the rows against the rest: the formula, laws, and parts that say little."""

import numpy as np
import pytest

from topbin.core import AlphaEstimate, Evidence
from topbin.core.posterior import LEVELS, AlphaPosterior
from topbin.evaluate.parts import Whole
from topbin.learn.probabilities import fit_probabilities


def scores(rng, positive):
    """Scores of rows that are positive or not."""
    return rng.normal(np.where(positive, 2.0, 0.0))


class Mixed:
    """Scores of positives and of unlabeled rows, the whole, and how parts of it are compared."""

    def __init__(self, p, u, alpha, posterior=None):
        self.p, self.u, evidence = p, u, Evidence.of(p, u)
        about = AlphaEstimate(
            alpha=alpha, n_p=p.size, n_u=u.size, method="known", posterior=posterior
        )
        self.whole, self.map = Whole.of(evidence, about), fit_probabilities(evidence, about)

    def compare(self, part, rest, **more):
        share = part.size / (part.size + rest.size)
        seen = (self.whole.seen(self.map(scores)) for scores in (part, rest))
        return self.whole.compare(*seen, share, 0.95, **more)


def mixed(sizes, shares, seed=0, n_p=2000, posterior=None):
    """A whole of parts with these shares of positives, and the scores of each part."""
    rng = np.random.default_rng(seed)
    parts = [scores(rng, rng.random(n) < share) for n, share in zip(sizes, shares, strict=True)]
    p, u = scores(rng, np.ones(n_p, bool)), np.concatenate(parts)
    alpha = float(np.average(shares, weights=sizes))
    known = AlphaPosterior.known(alpha) if posterior is None else posterior
    return Mixed(p, u, alpha, known), parts


def test_with_many_rows_and_a_known_whole_the_shares_are_found():
    whole, (part, rest) = mixed((40_000, 60_000), (0.3, 0.1), n_p=20_000)
    found = whole.compare(part, rest)
    assert found.alpha == pytest.approx(0.3, abs=0.01)
    assert found.difference == pytest.approx(0.2, abs=0.02)
    assert found.ratio == pytest.approx(3, abs=0.3)
    assert found.ratio_interval[0] < 3 < found.ratio_interval[1] < 3.5
    assert found.fit > 0.001
    assert not found.borrows


def test_the_contrast_is_its_definition():
    whole, (part, rest) = mixed((500, 700), (0.3, 0.2))
    f_part, f_rest, f_u, f_p = map(whole.map, (part, rest, whole.u, whole.p))
    expected = (f_part.mean() - f_rest.mean()) / (f_p.mean() - f_u.mean())
    found = whole.whole.contrast(whole.whole.seen(f_part), whole.whole.seen(f_rest))
    assert found.value == pytest.approx(expected)


def test_two_parts_mirror_each_other_and_their_mean_is_the_whole():
    whole, (part, rest) = mixed((400, 600), (0.35, 0.15), posterior=AlphaPosterior(
        tuple(0.1 + 0.3 * level for level in LEVELS)))  # fmt: skip
    one, two = whole.compare(part, rest), whole.compare(rest, part)
    assert one.ratio == pytest.approx(1 / two.ratio, rel=0.01)
    assert one.ratio_interval == pytest.approx(
        [1 / end for end in two.ratio_interval[::-1]], rel=0.02
    )
    assert one.difference == pytest.approx(-two.difference, abs=1e-3)
    assert one.p_value == pytest.approx(two.p_value, abs=1e-6)


def test_the_order_of_rows_does_not_matter():
    whole, (part, rest) = mixed((300, 300), (0.3, 0.1))
    assert whole.compare(part[::-1], rest) == whole.compare(part, rest)


def test_whether_a_part_differs_is_known_where_alpha_is_not():
    vague = AlphaPosterior(tuple(0.02 + 0.5 * level for level in LEVELS))
    whole, (part, rest) = mixed((2000, 2000), (0.4, 0.2), posterior=vague)
    found = whole.compare(part, rest)
    assert found.p_value < 1e-4
    assert found.interval[1] - found.interval[0] > 0.2


def test_equal_parts_are_rarely_called_different():
    called = []
    for seed in range(100):
        whole, (part, rest) = mixed((100, 300), (0.2, 0.2), seed, n_p=200)
        called.append(whole.compare(part, rest).p_value < 0.05)
    assert np.mean(called) <= 0.08


def test_a_part_of_one_row_is_nearly_the_whole_and_wide():
    whole, (_, rest) = mixed((1, 1000), (0.2, 0.2))
    for score in (-9.0, 9.0):
        found = whole.compare(np.array([score]), rest)
        assert found.borrows
        assert found.p_value > 0.05
        assert found.interval[0] < 0.1
        assert found.interval[1] > 0.25


def test_a_few_rows_that_look_alike_do_not_prove_that_all_do():
    whole, (_, rest) = mixed((10, 5000), (0.25, 0.25))
    found = whole.compare(np.full(10, -3.0), rest)  # none of ten: a chance of 6 %
    assert found.p_value > 0.02
    assert found.interval[1] > 0.15


def test_scores_without_a_signal_say_nothing_about_parts():
    rng = np.random.default_rng(0)
    p, u = np.linspace(-2, 2, 100), rng.permutation(np.linspace(-2, 2, 400))
    even = AlphaPosterior(LEVELS)
    found = Mixed(p, u, 0.5, even).compare(u[:200], u[200:])
    assert found.borrows
    assert found.p_value > 0.05
    assert found.interval[0] < 0.05
    assert found.interval[1] > 0.9
    assert found.ratio_interval[0] < 0.7
    assert found.ratio_interval[1] > 1.4


def test_parts_whose_classes_differ_are_doubted():
    rng = np.random.default_rng(1)
    whole, (part, rest) = mixed((2000, 2000), (0.2, 0.2))
    assert whole.compare(part, rest).fit > 0.01
    assert whole.compare(part + 0.7, rest).fit < 1e-4  # its negatives score higher
    own = np.arange(whole.p.size) < 1000
    assert whole.compare(part, rest, own_p=own).like_positives > 0.001
    shifted = Mixed(np.where(own, whole.p + 1, whole.p), whole.u, 0.2)
    assert shifted.compare(part, rest, own_p=own).like_positives < 1e-6
    assert whole.compare(rng.permutation(part)[:30], rest).fit is None  # too few rows


def test_parts_add_up_to_the_whole_however_wide_its_posterior_is():
    """As seen: α = .192 of all, and .166 and .154 of its two halves."""
    rng = np.random.default_rng(1)
    hidden = rng.random(3000) < 0.2
    p, u = rng.normal(2, 1, 250), rng.normal(2 * hidden, 1)
    skewed = AlphaPosterior(tuple(0.25 * np.sqrt(np.array(LEVELS))))  # much of it near 0
    mixed_up = Mixed(p, u, skewed.median, skewed)
    found = [mixed_up.compare(u[k::2], u[1 - k :: 2]).alpha for k in (0, 1)]
    assert np.mean(found) == pytest.approx(skewed.median, abs=0.01)
