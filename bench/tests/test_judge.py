"""Measuring by the definition: the risk on the hold-out, the top bin, positive calls."""

from math import log

import numpy as np
import pytest

from topbin import AlphaEstimate, Tails
from topbin.learn import Epoch, find_learner
from topbin.mpe import bbe
from topbin_bench.judge import WARM_START, Look, Point, measure, summary, top_bin
from topbin_bench.methods import CONTENDERS, find_contender
from topbin_bench.tasks import Truth
from topbin_bench.trainers import Fitted

P = np.array([3.0, 2.0, 1.5, 1.0, 0.5, 2.5, 1.2, 0.8])
U = np.linspace(-3, 3, 40)
Y = U > 0.6  # 16 of 40 are positive
ALPHA = 0.4


def fitted(name, *, alpha_hat=0.25, phase=None):
    found = AlphaEstimate(alpha=alpha_hat, n_p=8, n_u=40, method="bbe")
    epoch = Epoch(7, phase or name, 0.5, 0.25, 30, alpha=alpha_hat, estimate=found)
    return Fitted(epoch, find_learner(name), lambda X: np.asarray(X, float), P, U)


def truth(alpha=ALPHA):
    return Truth(alpha, None, Y, X_test=np.array([-2.0, -0.5, 0.5, 1.2]), y_test=Y[[5, 9, 30, 35]])


def log_loss(z):
    return np.mean([log(1 + np.exp(-value)) for value in z])


@pytest.mark.parametrize(
    ("name", "kept"), [("pvu", 40), ("tedn", 30), ("cvir", 24)]
)  # all; all but a quarter, which (TED)ⁿ guesses; all but α
def test_the_risk_on_the_hold_out(name, kept):
    """½·L⁺(P) + ½·L⁻(the kept U), CVIR's weighted by α: the rows kept are the lowest."""
    weight = ALPHA if name == "cvir" else 0.5
    by_hand = weight * log_loss(P) + (1 - weight) * log_loss(-np.sort(U)[:kept])
    assert fitted(name).risk(ALPHA) == pytest.approx(by_hand)


def test_the_top_bin_by_a_loop():
    size, purity = top_bin(fitted("pvu"), truth())
    cut = bbe(Tails.from_scores(P, U)).cut
    inside = [positive for z, positive in zip(U, Y, strict=True) if z >= cut]
    assert size == len(inside) / 40
    assert purity == sum(inside) / len(inside)
    assert np.isnan(top_bin(fitted("pvu"), Truth(None, None, None))[1])


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("pvu", -log(2 * ALPHA)),  # P and U weigh the same: p(P | x) ≥ ½ is f_p ≥ f_u
        ("cvir", 0.0),  # its weights are those of the population
        ("tedn", -log(0.25 / 0.75)),  # by its own α̂
    ],
)
def test_who_is_called_positive(name, cut):
    look = Look.at(fitted(name), truth())
    called = [z > cut for z in (-2.0, -0.5, 0.5, 1.2)]
    y = truth().y_test
    of_p = np.mean([c for c, positive in zip(called, y, strict=True) if positive])
    of_n = np.mean([not c for c, positive in zip(called, y, strict=True) if not positive])
    point = measure(look, find_contender(name))
    assert point.accuracy == pytest.approx(ALPHA * of_p + (1 - ALPHA) * of_n)
    assert (point.epoch, point.n_kept, point.phase) == (7, 30, name)


@pytest.mark.parametrize("name", [c.name for c in CONTENDERS.values() if c.trainer == "pvu"])
def test_an_estimate_does_not_know_the_true_alpha(name):
    a, b = (measure(Look.at(fitted("pvu"), truth(x)), find_contender(name)) for x in (0.4, 0.9))
    assert repr(a.alpha_hat) == repr(b.alpha_hat)


def path(*points):
    return [Point("tedn", i, *point) for i, point in enumerate(points, 1)]


def test_nobody_stops_in_a_warm_start():
    """The warm start has the lowest risk, the best α̂ and the best accuracy, and is not taken."""
    points = path(
        (WARM_START, 0.0, 0.0, 0.1, ALPHA, 0.99),
        ("tedn", 0.0, 0.0, 0.4, 0.5, 0.75),
        ("tedn", 0.0, 0.0, 0.3, 0.75, 0.5),
    )
    found = summary(points, truth(), last=1)
    assert (found["epoch_pu"], found["alpha_pu"], found["accuracy_pu"]) == (3.0, 0.75, 0.5)
    assert found["alpha_error_oracle"] == pytest.approx(0.1)
    assert found["accuracy_oracle"] == 0.75


def test_a_learner_of_true_negatives_has_no_pu_stop():
    points = path(("pvn", 0.0, 0.0, 0.4, 0.5, 0.75), ("pvn", 0.0, 0.0, 0.3, 0.75, 0.5))
    found = summary(points, truth(), last=1, pu_stop=False)
    assert "accuracy_pu" not in found
    assert found["accuracy_oracle"] == 0.75
