"""`estimate_alpha`: one door for scores and tails, with interval, bound and alarms."""

import numpy as np
import pytest
from gaussians import gaussians

import topbin as tb
from topbin.core import Evidence, InputError, Tails
from topbin.core.evidence import VARIANCE_FACTOR
from topbin.core.posterior import AlphaPosterior
from topbin.mpe import METHODS, alpha_posterior, upper_bound

SCORE_METHODS = [name for name, method in METHODS.items() if method.needs != "features"]


@pytest.mark.parametrize("name", SCORE_METHODS)
def test_every_score_method_comes_with_interval_and_bound(name):
    sample = gaussians(0.3, 500, 800)
    est = tb.estimate_alpha(*sample.scores(), method=name)
    low, high = est.interval
    assert 0 <= low <= 0.3 <= high <= 1
    assert est.upper_bound >= 0.3
    assert (est.confidence, est.method) == (0.95, name)


def test_without_confidence_there_is_no_interval():
    est = tb.estimate_alpha([1.0, 2.0], [0.0, 1.0], confidence=None)
    assert est.interval is None
    assert est.upper_bound is None


def test_tails_and_scores_give_the_same_answer():
    scores = gaussians(0.3, 500, 800).scores()
    assert tb.estimate_alpha(Tails.from_scores(*scores)) == tb.estimate_alpha(*scores)


def test_only_the_order_of_scores_matters():
    scores_p, scores_u = gaussians(0.3, 500, 800).scores()
    est = tb.estimate_alpha(scores_p, scores_u)
    moved = tb.estimate_alpha(100 * scores_p**3 - 7, 100 * scores_u**3 - 7)
    assert (moved.alpha, moved.interval) == (est.alpha, est.interval)


def test_a_balanced_scorer_says_so():
    sample = gaussians(0.3, 500, 2000)
    balanced = sample.scores(share_p=0.5)
    est = tb.estimate_alpha(*balanced, method="elkan_noto", share_p=0.5)
    assert est.alpha == pytest.approx(0.3, abs=0.06)


def test_big_inputs_are_thinned_to_the_same_answer(monkeypatch):
    scores_p, scores_u = gaussians(0.3, 3000, 5000).scores()
    methods = ("overlap", "bbe", "bbe_cp")
    whole = [tb.estimate_alpha(scores_p, scores_u, method=m) for m in methods]
    monkeypatch.setattr("topbin.mpe.thinning.FEW", 100)
    assert [tb.estimate_alpha(scores_p, scores_u, method=m) for m in methods] == whole


@pytest.mark.parametrize(
    ("arguments", "options", "code"),
    [
        (([1.0], [0.0]), {"method": "nope"}, "TB007"),
        (([1.0], [0.0]), {"method": "km2"}, "TB007"),
        ((Tails.from_scores([1.0], [0.0]), [0.0]), {}, "TB007"),
        ((Tails.from_scores([1.0], [0.0]),), {"method": "dedpul"}, "TB007"),
        (([1.0], [0.0]), {"confidence": 1.5}, "TB008"),
        (([1.0], [0.0]), {"confidence": 0}, "TB008"),
        (([], [0.0]), {}, "TB001"),
        (([1.0], []), {}, "TB001"),
        (([1.0], None), {}, "TB001"),
        (([np.nan], [0.0]), {}, "TB004"),
        (([1.0], [np.inf]), {}, "TB004"),
        (([[1.0, 2.0]], [0.0]), {}, "TB005"),
        (([[1.0], [2.0, 3.0]], [0.0]), {}, "TB005"),
        ((["a"], [0.0]), {}, "TB006"),
        (([1j], [0.0]), {}, "TB006"),
        ((np.array([object()]), [0.0]), {}, "TB006"),
        (([2.0], [0.5]), {"method": "elkan_noto"}, "TB009"),
    ],
)
def test_bad_input_is_refused_by_code(arguments, options, code):
    with pytest.raises(InputError) as caught:
        tb.estimate_alpha(*arguments, **options)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("scores_p", "scores_u", "alpha"),
    [
        (np.full(1000, 0.5), np.full(1000, 0.5), 1.0),  # all equal: nothing tells them apart
        (np.ones(1000), np.zeros(1000), 0.0),  # no unlabeled row scores like a positive
        (np.ones(10**6), np.repeat([1.0, 0.0], 5 * 10**5), 0.5),  # a million ties
        (np.array([-5.0, 40.0] * 500), np.array([-50.0, -5.0, 40.0, -50.0] * 250), 0.5),
        (np.array([1, 1, 1], object), np.array([0, 1, 0], object), 1 / 3),
    ],
)
def test_extreme_input_has_its_right_answer(scores_p, scores_u, alpha):
    est = tb.estimate_alpha(scores_p, scores_u, method="bbe_cp")
    assert est.alpha == pytest.approx(alpha)
    assert est.upper_bound >= alpha
    # Tied rows need not be pure, so the posterior is below. Its upper end is where all of them are;
    # there it has a lump, which the quantiles of a net miss by up to a hundredth.
    assert est.interval[0] <= alpha <= est.interval[1] + 0.01


def test_labels_in_place_of_scores_are_refused_with_the_way_to_split():
    rng = np.random.default_rng(0)
    scores, labels = rng.random(50), np.arange(50) % 2
    for wrong in (labels, labels == 1, labels.astype(float)):
        with pytest.raises(InputError, match=r"TB007 .*scores\[labels == 1\], scores\[labels == 0"):
            tb.estimate_alpha(scores, wrong)
    tb.estimate_alpha(scores[labels == 1], scores[labels == 0])
    tb.estimate_alpha(labels[::-1], labels)  # classes instead of probabilities
    tb.estimate_alpha(scores[1:], labels)


@pytest.mark.parametrize("alpha", [0.0, 0.4])
def test_reversed_scores_are_noticed(alpha):
    scores_p, scores_u = gaussians(alpha, 500, 800).scores()
    found = {alarm.code for alarm in tb.estimate_alpha(-scores_p, -scores_u).alarms}
    assert "reversed-scores" in found
    assert "indistinguishable" not in found
    right = {alarm.code for alarm in tb.estimate_alpha(scores_p, scores_u).alarms}
    assert not {"reversed-scores", "indistinguishable"} & right


# --- the answer is read from one posterior ---


def bounded(posterior, tails, confidence=0.95):
    """The posterior as an estimate has it: at most the bound, whose risk is that of one end."""
    return posterior.at_most(max(posterior.median, upper_bound(tails, (1 + confidence) / 2)))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_default_point_and_interval_are_those_of_the_posterior(confidence):
    tails = Tails.from_scores(*gaussians(0.3, 500, 800).scores())
    est, posterior = tb.estimate_alpha(tails, confidence=confidence), alpha_posterior(tails)
    assert est.method == "overlap"
    assert est.alpha == posterior.median
    assert est.posterior == bounded(posterior, tails, confidence)
    assert est.interval == est.posterior.interval(confidence)
    assert tb.estimate_alpha(tails, confidence=None).posterior == posterior


def test_intervals_of_a_larger_confidence_contain_those_of_a_smaller_one():
    tails = Tails.from_scores(*gaussians(0.3, 60, 200).scores())
    found = [tb.estimate_alpha(tails, confidence=c).interval for c in (0.01, 0.5, 0.9, 0.95, 0.999)]
    low, high = np.transpose(found)
    assert np.all(np.diff(low) <= 0)
    assert np.all(np.diff(high) >= 0)


@pytest.mark.parametrize("seed", range(5))
def test_no_quantile_is_above_the_bound_that_any_overlap_allows(seed):
    rng = np.random.default_rng(seed)
    scores_u = np.append(rng.normal(3, 1, 3), rng.normal(0, 1, 97))
    tails = Tails.from_scores(rng.normal(3, 1, 30), scores_u)
    est = tb.estimate_alpha(tails)
    assert max(est.posterior.quantiles) <= max(est.alpha, upper_bound(tails, 0.975))


@pytest.mark.parametrize("name", SCORE_METHODS)
def test_every_method_has_the_same_interval_and_bound_beside_its_point(name):
    scores = gaussians(0.3, 500, 800).scores()
    est, other = tb.estimate_alpha(*scores), tb.estimate_alpha(*scores, method=name)
    assert (other.interval, other.posterior) == (est.interval, est.posterior)
    assert other.upper_bound == upper_bound(Tails.from_scores(*scores))


def test_cross_fitted_scores_count_as_the_independent_rows_that_they_are_worth():
    scores = gaussians(0.3, 500, 800).scores()
    evidence = Evidence(*scores, crossfitted=True)
    est, plain = tb.estimate_alpha(evidence), tb.estimate_alpha(*scores)
    effective = 500 / VARIANCE_FACTOR, 800 / VARIANCE_FACTOR
    assert evidence.effective == effective
    own = alpha_posterior(evidence.tails, effective=effective)
    assert est.posterior == bounded(own, evidence.independent)
    assert est.upper_bound == upper_bound(evidence.independent) > plain.upper_bound
    assert est.worth is None  # said only of groups


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("shift", [0.0, 1.0, 3.0])
def test_the_bound_never_contradicts_the_point_beside_it(seed, shift):
    rng = np.random.default_rng(seed)
    scores_p = rng.normal(shift, 1, 40)
    scores_u = np.append(rng.normal(shift, 1, 3), rng.normal(0, 1, 60))
    est = tb.estimate_alpha(scores_p, scores_u)
    assert est.upper_bound == pytest.approx(
        max(upper_bound(Tails.from_scores(scores_p, scores_u)), est.alpha)
    )


@pytest.mark.parametrize("name", ["overlap", "bbe_cp"])
def test_without_a_signal_all_rows_may_be_positive(name):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=300), rng.normal(size=500)
    est = tb.estimate_alpha(*scores, method=name)
    assert est.has_no_signal
    assert est.interval == (0, 1)  # noise does not exclude a low share either
    assert est.posterior == AlphaPosterior.unknown()
    if name == "overlap":
        assert est.alpha == est.posterior.median == est.upper_bound == 1
    bare = tb.estimate_alpha(*scores, method=name, confidence=None)
    assert bare.interval is None
    assert bare.upper_bound is None
