"""Measuring: the answers of a fitted model against the truth that it never saw.

A `Point` is one method after one epoch. Three ways to stop are kept apart: the mean over the last
epochs, the epoch with the lowest objective on the hold-out (no true label), and the best epoch by
true labels, which is called an oracle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from topbin import AlphaEstimate, Tails, estimate_alpha, mpe
from topbin_bench.methods import Contender
from topbin_bench.tasks.split import Truth
from topbin_bench.trainers import Answer, Fitted, Floats

Bools = NDArray[np.bool_]
NAN = float("nan")
WARM_START = "warm-start"  # the phase of such epochs in the records of `topbin.learn.train`


@dataclass(frozen=True, slots=True)
class Point:
    """One method after one epoch; NaN for an answer that it does not give."""

    method: str
    epoch: int
    phase: str
    loss: float = NAN
    training_error: float = NAN
    risk: float = NAN
    alpha_hat: float = NAN
    accuracy: float = NAN
    n_kept: int = 0
    top_size: float = NAN
    top_purity: float = NAN


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """A net after one epoch, and what all methods that read it share."""

    fitted: Fitted
    truth: Truth
    tested: Floats | None
    top_size: float
    top_purity: float

    @classmethod
    def at(cls, fitted: Fitted, truth: Truth) -> "Look":
        """Score the test rows once."""
        tested = None if truth.X_test is None else fitted.scores(truth.X_test)
        return cls(fitted, truth, tested, *top_bin(fitted, truth))


def measure(look: Look, contender: Contender) -> Point:
    """What one method makes of this net."""
    fitted, epoch = look.fitted, look.fitted.epoch
    alpha_hat = estimate(fitted, contender)
    return Point(
        method=contender.name,
        epoch=epoch.epoch,
        phase=epoch.phase,
        loss=epoch.loss,
        training_error=epoch.training_error,
        risk=fitted.risk(look.truth.alpha),
        alpha_hat=alpha_hat,
        accuracy=classify(fitted, contender, look.tested, alpha_hat, look.truth),
        n_kept=epoch.n_kept,
        top_size=look.top_size,
        top_purity=look.top_purity,
    )


def estimate(fitted: Fitted, contender: Contender) -> float:
    """α̂ of a score-level estimator on the hold-out, or of a learner that estimates it."""
    if not contender.estimates:
        return NAN
    if contender.name not in mpe.METHODS:
        assert fitted.epoch.estimate is not None
        return fitted.epoch.estimate.alpha
    scores: tuple[Any, Any] = fitted.scores_p, fitted.scores_u
    if contender.probabilities:
        scores = expit(scores[0]), expit(scores[1])
    # The net is trained with equal weight on P and on U, so the share of P is one half.
    found = estimate_alpha(*scores, method=contender.name, confidence=None, share_p=0.5)
    return found.alpha


def classify(
    fitted: Fitted, contender: Contender, tested: Any, alpha_hat: float, truth: Truth
) -> float:
    """Accuracy on test rows, in a population with a share α of positives."""
    if not contender.classifies or tested is None or truth.alpha is None:
        return NAN
    if contender.name in mpe.METHODS:
        p, u = expit(fitted.scores_p), expit(fitted.scores_u)
        called = mpe.dedpul_posterior(p, u, at=expit(tested), alpha=alpha_hat) >= 0.5
    else:
        alpha = truth.alpha if contender.known_alpha else alpha_hat
        called = np.asarray(tested) > fitted.learner.threshold(min(1.0, alpha))
    return accuracy(called, truth)


def accuracy(called: Bools, truth: Truth) -> float:
    """α·(share of positives called positive) + (1 − α)·(share of negatives called negative).

    It does not depend on how many rows of each class are left for the test.

    >>> truth = Truth(0.25, None, None, y_test=np.array([True, True, False, False]))
    >>> accuracy(np.array([True, False, False, False]), truth)     # ½ of P, all of N
    0.875
    """
    if truth.alpha is None or truth.y_test is None:
        return NAN
    right = called == truth.y_test
    of_p, of_n = right[truth.y_test].mean(), right[~truth.y_test].mean()
    return float(truth.alpha * of_p + (1 - truth.alpha) * of_n)


def top_bin(fitted: Fitted, truth: Truth) -> tuple[float, float]:
    """BBE's top bin: its size as a share of the held-out U, and the share of positives in it."""
    cut = mpe.bbe(Tails.from_scores(fitted.scores_p, fitted.scores_u)).cut
    inside = fitted.scores_u >= (np.inf if cut is None else cut)
    if truth.y_held_u is None or not inside.any():
        return float(inside.mean()), NAN
    return float(inside.mean()), float(truth.y_held_u[inside].mean())


def answer_point(answer: Answer, contender: Contender, truth: Truth) -> Point:
    """The point of a method that has no epochs."""
    right = NAN
    if answer.posterior is not None and truth.X_test is not None:
        right = accuracy(answer.posterior(truth.X_test) >= 0.5, truth)
    return Point(contender.name, 0, "answer", alpha_hat=answer.estimate.alpha, accuracy=right)


def summary(
    points: Sequence[Point], truth: Truth, last: int, *, pu_stop: bool = True
) -> dict[str, float]:
    """The columns of a cell for the three ways to stop; without epochs there is one way.

    No way stops in a warm start, not even the oracle's. A learner that is shown true negatives has
    no PU-validated stop, because its objective is not that of the hold-out.

    >>> path = [Point("bbe", e, "pvu", risk=r, alpha_hat=a) for e, r, a in
    ...         ((1, 0.5, 0.75), (2, 0.25, 0.625), (3, 0.375, 0.5))]
    >>> found = summary(path, Truth(0.5, None, None), last=1)
    >>> found["alpha_last"], found["alpha_pu"], found["alpha_error_pu"]
    (0.5, 0.625, 0.125)
    """
    alpha = NAN if truth.alpha is None else truth.alpha
    errors = np.array([abs(p.alpha_hat - alpha) for p in points])
    accuracies = np.array([p.accuracy for p in points])
    alphas = np.array([p.alpha_hat for p in points])
    found = {
        "alpha_last": float(alphas[-last:].mean()),
        "alpha_error_last": float(errors[-last:].mean()),
        "accuracy_last": float(accuracies[-last:].mean()),
    }
    if len(points) == 1:
        return found
    trained = [i for i, p in enumerate(points) if p.phase != WARM_START]
    found |= {
        "alpha_error_oracle": float(errors[trained].min()),
        "accuracy_oracle": float(accuracies[trained].max()),
    }
    if not pu_stop:
        return found
    stop = min(trained, key=lambda i: points[i].risk)
    return found | {
        "alpha_pu": float(alphas[stop]),
        "alpha_error_pu": float(errors[stop]),
        "accuracy_pu": float(accuracies[stop]),
        "epoch_pu": float(points[stop].epoch),
    }


def interval_columns(found: AlphaEstimate, alpha: float) -> dict[str, float]:
    """The interval and the bound as columns.

    The interval comes from the scores of the last epoch and is widened to hold α̂, which is a mean
    over epochs.

    >>> last = AlphaEstimate(
    ...     alpha=0.5, n_p=9, n_u=9, method="bbe", interval=(0.25, 0.5), upper_bound=0.5
    ... )
    >>> interval_columns(last, alpha=0.625)
    {'low': 0.25, 'high': 0.625, 'upper_bound': 0.5}
    """
    interval, bound = found.moved_to(alpha).interval, found.upper_bound
    assert interval is not None
    assert bound is not None
    return {"low": interval[0], "high": interval[1], "upper_bound": bound}
