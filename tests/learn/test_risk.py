"""The risk's weights, clamp and thresholds, against the formulas written out row by row."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from topbin.core.errors import InputError
from topbin.learn import LEARNERS, Risk, cvir, find_learner, mean_risk, nnpu

logits = st.lists(st.floats(-30, 30), min_size=1, max_size=20)
alphas = st.floats(0.01, 0.99)


def naive_loss(kind, margin):
    return log(1 + exp(-margin)) if kind == "logistic" else 1 / (1 + exp(margin))


def naive_means(kind, z_p, z_u):
    pos_p = sum(naive_loss(kind, z) for z in z_p) / len(z_p)
    neg_p = sum(naive_loss(kind, -z) for z in z_p) / len(z_p)
    neg_u = sum(naive_loss(kind, -z) for z in z_u) / len(z_u)
    return pos_p, neg_p, neg_u


OBJECTIVES = {
    "pvu": lambda a, pos_p, neg_p, neg_u: pos_p / 2 + neg_u / 2,
    "pvn": lambda a, pos_p, neg_p, neg_u: pos_p / 2 + neg_u / 2,
    "tedn": lambda a, pos_p, neg_p, neg_u: pos_p / 2 + neg_u / 2,
    "cvir": lambda a, pos_p, neg_p, neg_u: a * pos_p + (1 - a) * neg_u,
    "upu": lambda a, pos_p, neg_p, neg_u: a * pos_p + neg_u - a * neg_p,
    "nnpu": lambda a, pos_p, neg_p, neg_u: a * pos_p + max(0.0, neg_u - a * neg_p),
}


def test_every_learner_has_its_objective_here():
    assert OBJECTIVES.keys() == LEARNERS.keys()


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("kind", ["logistic", "sigmoid"])
@given(z_p=logits, z_u=logits, alpha=alphas)
def test_value_is_the_papers_objective(name, kind, z_p, z_u, alpha):
    risk = LEARNERS[name].at(alpha)
    risk = Risk(risk.p_pos, risk.p_neg, risk.u_neg, risk.clamp, loss=kind)
    wanted = OBJECTIVES[name](alpha, *naive_means(kind, z_p, z_u))
    assert mean_risk(risk, z_p, z_u) == pytest.approx(wanted, abs=1e-9)


@given(
    pos_p=st.floats(0, 5),
    neg_p=st.floats(0, 5),
    neg_u=st.floats(0, 5),
    alpha=alphas,
    beta=st.floats(0, 1),
    gamma=st.floats(0, 1),
)
def test_the_clamp_changes_the_loss_and_the_step_together(pos_p, neg_p, neg_u, alpha, beta, gamma):
    risk = nnpu(beta=beta, gamma=gamma).at(alpha)
    part = neg_u - alpha * neg_p
    if part >= -beta:
        assert risk.value(pos_p, neg_p, neg_u) == risk.descent(pos_p, neg_p, neg_u)
        assert risk.value(pos_p, neg_p, neg_u) == pytest.approx(alpha * pos_p + part)
    else:
        assert risk.value(pos_p, neg_p, neg_u) == pytest.approx(alpha * pos_p - beta)
        assert risk.descent(pos_p, neg_p, neg_u) == pytest.approx(-gamma * part)


def test_without_a_clamp_the_risk_may_be_negative():
    assert mean_risk(LEARNERS["upu"].at(0.9), [-9.0], [-9.0]) == pytest.approx(0.9, abs=1e-3)
    assert mean_risk(LEARNERS["upu"].at(0.9), [9.0], [-9.0]) == pytest.approx(-0.9, abs=1e-3)


@given(alpha=alphas)
def test_thresholds_are_the_half_point_of_the_unlabeled(alpha):
    thresholds = {name: learner.threshold(alpha) for name, learner in LEARNERS.items()}
    assert expit(thresholds["pvu"]) == pytest.approx(1 / (1 + 2 * alpha))
    assert expit(thresholds["tedn"]) == pytest.approx(1 - alpha)
    assert expit(thresholds["pvn"]) == pytest.approx(1 - alpha)
    assert expit(cvir(weights="half").threshold(alpha)) == pytest.approx(1 - alpha)
    assert thresholds["cvir"] == thresholds["upu"] == thresholds["nnpu"] == 0


def test_thresholds_at_the_ends_call_all_or_nothing_positive():
    assert LEARNERS["tedn"].threshold(1.0) == -np.inf
    assert LEARNERS["tedn"].threshold(0.0) == np.inf
    assert LEARNERS["pvu"].threshold(0.0) == np.inf


def test_what_each_learner_says_about_itself():
    assert {n for n, each in LEARNERS.items() if each.needs_alpha} == {"upu", "nnpu", "cvir"}
    assert {n for n, each in LEARNERS.items() if each.estimates_alpha} == {"tedn"}
    assert {n for n, each in LEARNERS.items() if each.discard} == {"cvir", "tedn"}
    assert {n for n, each in LEARNERS.items() if each.oracle} == {"pvn"}
    assert {n for n, each in LEARNERS.items() if each.at(0.5).needs_gradient} == {"upu", "nnpu"}
    assert {n for n, each in LEARNERS.items() if each.loss == "sigmoid"} == {"upu", "nnpu"}


def test_cvir_by_halves():
    assert cvir(weights="half").at(0.2) == LEARNERS["pvu"].at(None)
    with pytest.raises(InputError, match='TB008 weights must be "alpha" or "half"; got'):
        cvir(weights="quarter")


@pytest.mark.parametrize("bad", [{"beta": -1.0}, {"gamma": 1.5}, {"gamma": -0.1}, {"beta": np.nan}])
def test_nnpu_constants_out_of_range(bad):
    with pytest.raises(InputError, match=r"TB008 (beta|gamma) must be"):
        nnpu(**bad)


def test_unknown_learner():
    with pytest.raises(InputError, match=r"TB007 no learner is called 'nnpv'.*Did you mean 'nnpu'"):
        find_learner("nnpv")
    with pytest.raises(InputError, match="TB007 no learner"):
        find_learner(["pvu"])


def test_mean_risk_refuses_bad_scores():
    with pytest.raises(InputError, match="TB004 scores_u"):
        mean_risk(Risk(0.5, 0, 0.5), [1.0], [np.nan])


@pytest.mark.parametrize("loss", ["hinge", None, ["sigmoid"]])
def test_a_loss_is_one_of_two(loss):
    with pytest.raises(InputError, match='TB008 loss must be "sigmoid" or "logistic"; got'):
        nnpu(loss=loss)
