"""The loop with a model small enough to follow: phases, α, discarding, settling, resuming."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from topbin.core.errors import InputError, TopbinError
from topbin.core.estimate import AlphaEstimate
from topbin.learn import (
    LEARNERS,
    Diverged,
    Epoch,
    EpochLoss,
    SettleRule,
    cvir,
    mean_alpha,
    mean_risk,
    train,
)
from topbin.learn.loop import WARM_START


class Recorder:
    """Scores are given; an epoch only notes what it was asked to do."""

    def __init__(self, losses=()):
        self.asked = []
        self.losses = list(losses)

    def scores(self, X):
        return np.asarray(X, float)

    def epoch(self, X_p, X_u, risk, kept=None):
        self.asked.append((risk, kept))
        return EpochLoss(self.losses.pop(0) if self.losses else 0.5, 0.25)


class Exact:
    """Ridge logistic regression on P against the kept U, minimised to the end every epoch."""

    def __init__(self, ridge=1e-3, seed=0):
        self.theta, self.ridge = np.random.default_rng(seed).normal(size=3), ridge

    def scores(self, X):
        return X @ self.theta[:-1] + self.theta[-1]

    def objective(self, theta, X_p, X_u, risk):
        self.theta = theta
        return mean_risk(risk, self.scores(X_p), self.scores(X_u)) + self.ridge * theta @ theta

    def gradient(self, theta, X_p, X_u, risk):
        self.theta = theta
        P, U = (np.column_stack([X, np.ones(len(X))]) for X in (X_p, X_u))
        down = risk.p_pos * P.T @ -expit(-self.scores(X_p)) / len(P)
        return down + risk.u_neg * U.T @ expit(self.scores(X_u)) / len(U) + 2 * self.ridge * theta

    def epoch(self, X_p, X_u, risk, kept=None):
        rows = (X_p, X_u if kept is None else X_u[kept], risk)
        start = self.theta
        found = minimize(self.objective, start, rows, "BFGS", self.gradient, options={"gtol": 1e-9})
        self.theta = found.x
        wrong = np.mean(self.scores(rows[0]) <= 0) + np.mean(self.scores(rows[1]) > 0)
        return EpochLoss(float(found.fun), float(wrong))


P, U = np.arange(10.0, 20.0), np.arange(20.0)
HELD = (np.arange(10.0, 20.0), np.arange(20.0))  # BBE: all P in the top half of U, α̂ = ½


def test_warm_start_then_the_learner():
    model = Recorder()
    history = list(train(model, LEARNERS["tedn"], P, U, holdout=HELD, epochs=2, warm_start=3))
    assert [e.phase for e in history] == [WARM_START] * 3 + ["tedn"] * 2
    assert [e.epoch for e in history] == [1, 2, 3, 4, 5]
    assert [e.alpha for e in history] == [None] * 3 + [0.5] * 2
    assert [e.n_kept for e in history] == [20, 20, 20, 10, 10]
    assert [e.estimate.alpha for e in history] == [0.5] * 5
    assert [kept is None for _, kept in model.asked] == [True, True, True, False, False]
    assert model.asked[-1][1].tolist() == list(range(10))
    assert {risk for risk, _ in model.asked} == {LEARNERS["pvu"].at(None)}


def test_no_warm_start_estimates_before_the_first_epoch():
    model = Recorder()
    (first,) = train(model, LEARNERS["tedn"], P, U, holdout=HELD, epochs=1)
    assert (first.phase, first.alpha, first.n_kept) == ("tedn", 0.5, 10)


def test_known_alpha_is_used_as_given():
    model = Recorder()
    (first,) = train(model, LEARNERS["cvir"], P, U, alpha=0.2, epochs=1)
    assert (first.alpha, first.n_kept, first.estimate) == (0.2, 16, None)
    assert model.asked == [(LEARNERS["cvir"].at(0.2), pytest.approx(np.arange(16)))]


@pytest.mark.parametrize("name", ["pvu", "upu", "nnpu", "pvn"])
def test_the_others_discard_nothing(name):
    model, alpha = Recorder(), 0.3 if LEARNERS[name].needs_alpha else None
    (first,) = train(model, LEARNERS[name], P, U, alpha=alpha, epochs=1)
    assert model.asked == [(LEARNERS[name].at(alpha), None)]
    assert first.n_kept == 20


class Fading(Recorder):
    """Logits of ±1 after `best` epochs, smaller before and after; ±1.1 would be PvU's optimum."""

    def __init__(self, best):
        super().__init__()
        self.best = best

    def scores(self, X):
        return (1 - 0.02 * abs(len(self.asked) - self.best)) * np.sign(np.asarray(X) - 9.5)


@pytest.mark.parametrize(("best", "warm"), [(2, 10), (5, 10), (6, 12), (9, 18), (13, 25), (40, 25)])
def test_a_warm_start_ends_at_twice_its_best_epoch(best, warm):
    run = partial(
        train, learner=LEARNERS["tedn"], X_p=P, X_u=U, holdout=HELD, epochs=5, warm_start=25,
        warm_stop=True,
    )  # fmt: skip
    history = list(run(Fading(best)))
    assert [e.phase for e in history] == [WARM_START] * warm + ["tedn"] * (30 - warm)
    risks = [e.held_risk for e in history]
    assert np.argmin(risks[:warm]) + 1 == min(best, warm)
    assert risks[warm:] == [None] * (30 - warm)
    # and an interrupted run ends it at the same epoch
    for cut in (5, warm, warm + 1):
        model = Fading(best)
        model.asked = [None] * cut
        assert list(run(model, done=history[:cut])) == history[cut:]


def test_a_warm_start_that_ends_by_itself_needs_a_holdout():
    with pytest.raises(InputError, match=r"TB001.*warm_stop"):
        train(Recorder(), LEARNERS["cvir"], P, U, alpha=0.2, epochs=1, warm_stop=True)


def test_a_warm_start_keeps_the_learners_loss():
    model = Recorder()
    list(train(model, LEARNERS["nnpu"], P, U, alpha=0.3, epochs=1, warm_start=1))
    warm = model.asked[0][0]
    assert (warm.p_pos, warm.p_neg, warm.u_neg, warm.loss) == (0.5, 0.0, 0.5, "sigmoid")


def test_rows_are_never_all_discarded():
    (first,) = train(Recorder(), LEARNERS["cvir"], P, U, alpha=0.99, epochs=1)
    assert first.n_kept == 10
    (second,) = train(Recorder(), LEARNERS["cvir"], P, U, alpha=0.99, epochs=1, least_kept=1)
    assert second.n_kept == 1


@pytest.mark.parametrize("alpha", [0.95, 1.0])
def test_an_estimate_near_one_discards_nothing_and_says_so(alpha):
    def estimator(tails):
        return AlphaEstimate(alpha=alpha, n_p=10, n_u=20, method="fixed")

    model = Recorder()
    (first,) = train(
        model, LEARNERS["tedn"], P, U, holdout=HELD, epochs=1, estimator=estimator
    )  # fmt: skip
    assert model.asked[0][1] is None
    assert first.n_kept == 20
    assert [alarm.code for alarm in first.alarms] == ["alpha-near-one"]
    assert "Nothing was discarded" in first.alarms[0].message


def test_a_loss_that_is_not_finite_stops_with_the_epoch():
    epochs = train(Recorder([0.7, np.nan]), LEARNERS["pvu"], P, U, epochs=5)
    assert next(epochs).loss == 0.7
    with pytest.raises(Diverged, match=r"TB015 the loss is nan in epoch 2 \(pvu\).*after epoch 1"):
        next(epochs)
    assert issubclass(Diverged, TopbinError)


def test_resuming_goes_on_where_it_stopped():
    whole = list(train(Recorder(), LEARNERS["tedn"], P, U, holdout=HELD, epochs=3, warm_start=2))
    rest = train(
        Recorder(), LEARNERS["tedn"], P, U, holdout=HELD, epochs=3, warm_start=2, done=whole[:3]
    )
    assert list(rest) == whole[3:]


def record(number, error, alpha, phase="tedn"):
    estimate = None if alpha is None else AlphaEstimate(alpha=alpha, n_p=9, n_u=9, method="bbe")
    return Epoch(number, phase, 0.5, error, 20, estimate=estimate)


@pytest.mark.parametrize(
    ("errors", "alphas", "settled"),
    [
        ([0.3] * 6, [0.5] * 6, True),
        ([0.3] * 6, [None] * 6, True),
        ([0.2, 0.3, 0.4, 0.4, 0.3, 0.2], [0.5] * 6, True),
        ([0.3] * 3 + [0.31] * 3, [0.5] * 6, False),
        ([0.3] * 6, [0.5] * 3 + [0.51] * 3, False),
        ([0.3] * 5, [0.5] * 5, False),
    ],
)
def test_settled_means_two_windows_agree(errors, alphas, settled):
    history = [record(i, e, a) for i, (e, a) in enumerate(zip(errors, alphas, strict=True))]
    assert SettleRule(window=3).reached(history) is settled


def test_warm_start_epochs_do_not_count_as_settled():
    warm = [record(i, 0.3, 0.5, WARM_START) for i in range(6)]
    assert not SettleRule(window=3).reached(warm)


def test_the_loop_marks_the_settled_epoch_and_goes_on():
    settle = SettleRule(window=2)
    history = list(train(Recorder(), LEARNERS["pvu"], P, U, epochs=6, settle=settle))
    assert [e.settled for e in history] == [False, False, False, True, True, True]


def test_mean_alpha_is_of_the_last_epochs():
    history = [record(i, 0.3, a) for i, a in enumerate([0.9, 0.4, 0.6])]
    assert mean_alpha(history, last=2) == 0.5
    with pytest.raises(InputError, match="TB001 no epoch has an estimate"):
        mean_alpha([record(1, 0.3, None)])


def two_clusters(n, rng, gap):
    X_p = rng.normal(size=(n, 2)) + [gap, 0]
    truth = rng.random(2 * n) < 0.4
    return X_p, rng.normal(size=(2 * n, 2)) + np.where(truth, gap, -gap)[:, None] * [1, 0], truth


@pytest.mark.parametrize("learner", [LEARNERS["cvir"], cvir(weights="half")])
@pytest.mark.parametrize("seed", range(5))
def test_cvir_taken_exactly_never_increases_its_objective(learner, seed):
    X_p, X_u, _ = two_clusters(60, np.random.default_rng(seed), gap=0.7)
    losses = [e.loss for e in train(Exact(seed=seed), learner, X_p, X_u, alpha=0.4, epochs=12)]
    assert np.all(np.diff(losses) <= 1e-9)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("seed", range(5))
def test_cvir_on_separable_data_makes_no_error(seed):
    X_p, X_u, truth = two_clusters(60, np.random.default_rng(seed), gap=6.0)
    model = Exact(seed=seed)
    alpha = float(truth.mean())
    history = list(train(model, LEARNERS["cvir"], X_p, X_u, alpha=alpha, epochs=8))
    assert history[-1].training_error == 0
    assert np.array_equal(model.scores(X_u) > 0, truth)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": None}, "TB008 cvir needs alpha, the share.*got None"),
        ({"alpha": 0.0}, r"TB008 alpha must be a number in \(0, 1\); got 0.0"),
        ({"alpha": 1.0}, r"TB008 alpha must be a number in \(0, 1\); got 1.0"),
        ({"alpha": np.nan}, r"TB008 alpha must be a number in \(0, 1\); got nan"),
        ({"warm_start": -1}, "TB008 warm_start must be a whole number ≥ 0; got -1"),
        ({"epochs": 0}, "TB008 epochs must be a whole number ≥ 1; got 0"),
        ({"least_kept": 0}, "TB008 least_kept"),
        ({"X_p": []}, "TB001 X_p has no rows"),
        ({"X_u": np.zeros(0)}, "TB001 X_u has no rows"),
        ({"holdout": (P, [])}, "TB001 the hold-out of U has no rows"),
        ({"learner": LEARNERS["tedn"]}, "TB008 tedn estimates alpha itself; got 0.5"),
        ({"learner": LEARNERS["tedn"], "alpha": None}, "TB001 tedn estimates alpha on rows kept"),
    ],
)
def test_bad_input_is_refused_before_the_first_epoch(change, message):
    good = {"learner": LEARNERS["cvir"], "X_p": P, "X_u": U, "alpha": 0.5, "epochs": 1}
    with pytest.raises(InputError, match=message):
        train(Recorder(), **(good | change))


def test_records_are_values():
    first = record(1, 0.3, 0.5)
    assert replace(first, settled=True) != first
    assert first == record(1, 0.3, 0.5)
