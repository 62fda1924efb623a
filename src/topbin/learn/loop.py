"""The one training loop: algorithms 2 and 3 of Garg et al. 2021, and every plainer learner.

The loop chooses α, the rows of U to keep and the risk; a backend turns them into a better model.
It yields one record per epoch and stops only at its limit: the caller decides when to stop sooner.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, Protocol

import numpy as np

from topbin.core import Alarm, AlphaEstimate, Evidence, InputError, TopbinError
from topbin.core.checks import RowNumbers, Scores, check_count, check_fraction, check_scores
from topbin.learn.learners import PVU
from topbin.learn.risk import Learner, Risk, mean_risk
from topbin.learn.rows import n_rows
from topbin.mpe.registry import METHODS

WARM_START = "warm-start"
LEAST_WARM = 10  # epochs, however early PvU reached its best
TRACKED_BY = "bbe"  # the method of α̂ after each epoch, as in algorithm 3
ReadAlpha = Callable[[Evidence], AlphaEstimate]
NEAR_ONE = 0.95  # an estimate this high would discard nearly all of U; it says "not learned yet"


@dataclass(frozen=True, slots=True)
class EpochLoss:
    """The outcome of one epoch of training: mean loss, and error on P plus error on the kept U.

    >>> EpochLoss(loss=0.6, training_error=0.3).loss
    0.6
    """

    loss: float
    training_error: float


class Backend(Protocol):
    """A model that can score rows and improve itself by one epoch: any class with both methods.

    >>> class Fixed:      # a row's score is the row, and nothing is learned
    ...     scores = staticmethod(np.asarray)
    ...     epoch = staticmethod(lambda X_p, X_u, risk, kept=None: EpochLoss(0.5, 0.0))
    >>> model: Backend = Fixed()
    >>> model.scores([1.0, 0.0])
    array([1., 0.])
    """

    def scores(self, X: Any) -> Scores:
        """One logit per row, higher is more positive; nothing random, nothing learned."""

    def epoch(self, X_p: Any, X_u: Any, risk: Risk, kept: RowNumbers | None = None) -> EpochLoss:
        """Train once over P and the kept rows of U (all, if None).

        A backend whose loss is not finite goes back to where it was, and returns that loss.
        """


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch: `alpha` is what it trained with, `estimate` what the hold-out says after it.

    Attributes
    ----------
    epoch, phase
        Its number from 1, and the name of the learner, or "warm-start".
    loss, training_error, n_kept
        The outcome, and how many rows of U were not discarded.
    alpha, estimate
        The α that it trained with, and what the hold-out says after it.
    held_risk
        In a warm start, PvU's risk on the hold-out.
    settled, alarms
        Whether training has settled, and what went wrong.

    >>> Epoch(1, "pvu", loss=0.6, training_error=0.3, n_kept=100).settled
    False
    """

    epoch: int
    phase: str
    loss: float
    training_error: float
    n_kept: int
    alpha: float | None = None
    estimate: AlphaEstimate | None = None
    held_risk: float | None = None
    settled: bool = False
    alarms: tuple[Alarm, ...] = ()


@dataclass(frozen=True, slots=True)
class SettleRule:
    """When training has settled: means over two neighboring windows of epochs nearly agree.

    Learners without an estimate are judged by the training error alone. Warm-start epochs do not
    count.

    Attributes
    ----------
    window
        How many epochs a window has.
    error, alpha
        By how much the mean training error, and the mean α̂, may differ.

    >>> SettleRule(window=1).reached([Epoch(i, "pvu", 0.6, 0.3, n_kept=100) for i in (1, 2)])
    True
    """

    window: int = 20
    error: float = 0.005
    alpha: float = 0.005

    def reached(self, history: Sequence[Epoch]) -> bool:
        """Whether the last 2·window epochs after the warm start have settled."""
        last = [e for e in history[-2 * self.window :] if e.phase != WARM_START]
        if len(last) < 2 * self.window:
            return False
        errors = [e.training_error for e in last]
        alphas = [e.estimate.alpha for e in last if e.estimate is not None] or [0.0] * len(last)
        return self._moved(errors) <= self.error and self._moved(alphas) <= self.alpha

    def _moved(self, values: list[float]) -> float:
        return abs(float(np.mean(values[self.window :])) - float(np.mean(values[: self.window])))


class Diverged(TopbinError, ArithmeticError):
    """TB015: the loss is not finite; the model is as it was after the last good epoch.

    >>> issubclass(Diverged, ArithmeticError)
    True
    """


def train(
    model: Backend,
    learner: Learner,
    X_p: Any,
    X_u: Any,
    *,
    alpha: float | None = None,
    holdout: tuple[Any, Any] | None = None,
    epochs: int,
    warm_start: int = 0,
    warm_stop: bool = False,
    watch_warm: bool = True,
    estimator: ReadAlpha | None = None,
    settle: SettleRule = SettleRule(),
    least_kept: int = 10,
    done: Sequence[Epoch] = (),
) -> Iterator[Epoch]:
    """Run `warm_start` epochs of PvU, then `epochs` of the learner, yielding a record after each.

    Parameters
    ----------
    model, learner
        A `Backend`, and a row of `LEARNERS`.
    X_p, X_u
        Rows of P and of U, as the backend takes them.
    alpha
        For learners that need it, the share of positives among the unlabeled.
    holdout
        (P, U) rows kept from training; with it α is estimated after every epoch.
    epochs, warm_start
        Epochs of the learner, and those of PvU before them.
    warm_stop
        Whether the warm start ends once PvU `is_past_best_epoch`.
    watch_warm
        Without it the hold-out is read only from the end of the warm start on, which saves time.
    estimator, settle
        How α is read from the scores of the hold-out (None: BBE), and when training has settled.
    least_kept
        Rows of U that are never discarded.
    done
        The history of an interrupted run whose model state has been restored.

    Yields
    ------
    Epoch
        The record of each epoch.

    >>> class Fixed:      # a row's score is the row, and nothing is learned
    ...     scores = staticmethod(np.asarray)
    ...     epoch = staticmethod(lambda X_p, X_u, risk, kept=None: EpochLoss(0.5, 0.0))
    >>> from topbin.learn import find_learner
    >>> [epoch.loss for epoch in train(Fixed(), find_learner("pvu"), [1.0], [0.0], epochs=2)]
    [0.5, 0.5]
    """
    check_count(epochs, "epochs")
    check_count(warm_start, "warm_start", least=0)
    check_count(least_kept, "least_kept")
    _check_samples(X_p, X_u, holdout)
    _check_alpha(learner, alpha, holdout, warm_stop)
    estimator = estimator or METHODS[TRACKED_BY].read

    def run() -> Iterator[Epoch]:
        history = list(done)
        latest = history[-1].estimate if history else None
        warm = all(epoch.phase == WARM_START for epoch in history)
        for number in range(len(history) + 1, warm_start + epochs + 1):
            warm = warm and number <= warm_start and not (warm_stop and is_past_best_epoch(history))
            stage = replace(PVU, name=WARM_START, loss=learner.loss) if warm else learner
            if stage.estimates_alpha and latest is None:
                latest, _ = _read_holdout(model, holdout, estimator)
            used = latest.alpha if stage.estimates_alpha and latest is not None else alpha
            record = _one_epoch(model, stage, X_p, X_u, used, least_kept, number)
            held = holdout if watch_warm or not warm else None
            latest, held_risk = _read_holdout(model, held, estimator, stage if warm else None)
            history.append(replace(record, estimate=latest, held_risk=held_risk))
            history[-1] = replace(history[-1], settled=settle.reached(history))
            yield history[-1]

    return run()


def _one_epoch(
    model: Backend, stage: Learner, X_p: Any, X_u: Any, alpha: float | None, least: int, number: int
) -> Epoch:
    kept: RowNumbers | None = None
    alarms: tuple[Alarm, ...] = ()
    if stage.estimates_alpha and alpha is not None and alpha >= NEAR_ONE:
        words = (
            f"α̂ = {alpha:.3f} before epoch {number}, at or above {NEAR_ONE}: the model does not "
            "separate positives from the rest, or nearly all of U is positive. Nothing was "
            "discarded."
        )
        alarms = (Alarm("alpha-near-one", words, "up"),)
    elif stage.discard and alpha is not None:
        kept = keep_lowest(model.scores(X_u), min(1.0, max(0.0, alpha)), least=least)
    done = model.epoch(X_p, X_u, stage.at(alpha), kept)
    if not isfinite(done.loss):
        raise Diverged(
            "TB015",
            f"the loss is {done.loss} in epoch {number} ({stage.name}); the model is as it was "
            f"after epoch {number - 1}. Lower the learning rate, or look for extreme values in X.",
        )
    n_kept = n_rows(X_u) if kept is None else kept.size
    return Epoch(number, stage.name, done.loss, done.training_error, n_kept, alpha, alarms=alarms)


def keep_lowest(scores_u: Any, alpha: float, *, least: int = 1) -> RowNumbers:
    """Rows of U that remain when the top α by score are discarded, in row order.

    The loss of calling a row negative grows with its score, so ranking by score is the paper's
    ranking by loss. Of equal scores at the cut, the first ones remain.

    Parameters
    ----------
    scores_u, alpha
        One score for each row of U, and the share to discard.
    least
        At least so many rows remain.

    Returns
    -------
    ndarray
        Row numbers.

    >>> keep_lowest([0.9, 0.1, 0.8, 0.2], alpha=0.5)
    array([1, 3])
    """
    scores = check_scores(scores_u, "scores_u")
    check_fraction(alpha, "alpha", low_open=False, high_open=False)
    n_kept = max(min(least, scores.size), scores.size - round(alpha * scores.size))
    return np.sort(np.argsort(scores, kind="stable")[:n_kept])


def is_past_best_epoch(history: Sequence[Epoch]) -> bool:
    """Whether a warm start has run twice as long as to its lowest risk on held-out rows.

    From there on PvU memorizes: what it would learn about U are its labels.

    >>> best_at_6 = [Epoch(i, "", 0, 0, 0, held_risk=0.5 + abs(i - 6) / 8) for i in range(1, 13)]
    >>> is_past_best_epoch(best_at_6[:11]), is_past_best_epoch(best_at_6)
    (False, True)
    """
    risks = [inf if epoch.held_risk is None else epoch.held_risk for epoch in history]
    return len(risks) >= LEAST_WARM and len(risks) >= 2 * (1 + int(np.argmin(risks)))


def _read_holdout(
    model: Backend,
    holdout: tuple[Any, Any] | None,
    estimator: ReadAlpha,
    warm: Learner | None = None,
) -> tuple[AlphaEstimate | None, float | None]:
    """What the hold-out says: α̂ and, in a warm start, PvU's risk."""
    if holdout is None:
        return None, None
    scores_p, scores_u = (model.scores(X) for X in holdout)
    risk = None if warm is None else mean_risk(warm.at(None), scores_p, scores_u)
    return estimator(Evidence(scores_p, scores_u)), risk


def mean_alpha(history: Sequence[Epoch], *, last: int = 10) -> float:
    """Mean α̂ of the last epochs, as the paper reports it, because single ones vary with SGD.

    Parameters
    ----------
    history
        Records of `train`; at least one of the last must have an estimate.
    last
        How many of them.

    Returns
    -------
    float
        The mean.

    >>> both = [AlphaEstimate(alpha=alpha, n_p=9, n_u=9, method="bbe") for alpha in (0.25, 0.75)]
    >>> mean_alpha([Epoch(1, "tedn", 0.6, 0.3, n_kept=9, estimate=each) for each in both])
    0.5
    """
    alphas = [epoch.estimate.alpha for epoch in history[-last:] if epoch.estimate is not None]
    if not alphas:
        raise InputError(
            "TB001", "no epoch has an estimate of alpha; pass holdout=(X_p, X_u) to train."
        )
    return float(np.mean(alphas))


def _check_samples(X_p: Any, X_u: Any, holdout: tuple[Any, Any] | None) -> None:
    held_p, held_u = holdout or (X_p, X_u)
    samples = {"X_p": X_p, "X_u": X_u, "the hold-out of P": held_p, "the hold-out of U": held_u}
    for name, X in samples.items():
        if n_rows(X) == 0:
            raise InputError("TB001", f"{name} has no rows; pass at least one.")


def _check_alpha(learner: Learner, alpha: float | None, holdout: Any, warm_stop: bool) -> None:
    name = learner.name
    if alpha is not None:
        check_fraction(alpha, "alpha")
    elif learner.needs_alpha:
        raise InputError(
            "TB008",
            f"{name} needs alpha, the share of positives among the unlabeled; got None. "
            "Estimate it with topbin.estimate_alpha, or use tedn, which needs none.",
        )
    if learner.estimates_alpha and alpha is not None:
        raise InputError(
            "TB008", f"{name} estimates alpha itself; got {alpha!r}. Use cvir for a known α."
        )
    if holdout is None and (learner.estimates_alpha or warm_stop):
        what = f"{name} estimates alpha" if learner.estimates_alpha else "warm_stop compares epochs"
        raise InputError("TB001", f"{what} on rows kept from training; pass holdout=(P, U).")
