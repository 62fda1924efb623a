"""UPUClassifier and NNPUClassifier: risks with a negative weight, which only nets can minimise.

du Plessis, Niu & Sugiyama 2014, 2015; Kiryo, Niu, du Plessis & Sugiyama, NeurIPS 2017.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from topbin.core.errors import InputError
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.crossfit import Progress
from topbin.learn.nnpu import nnpu
from topbin.learn.risk import Learner, Loss
from topbin.learn.upu import UPU


class UPUClassifier(PUClassifier):
    """The unbiased PU risk, minimised by a net (extra `torch`).

    A flexible net drives this risk below zero by memorising U; NNPUClassifier does not.

    Parameters
    ----------
    estimator
        An `nn.Module` or the name of a net; None: one that suits the rows. A scikit-learn model
        is refused: it has no gradient to follow.
    plan, method, confidence, positive, negative, random_state, time_limit, n_jobs, on_event
        As in every classifier here: see `topbin.learn.classifiers.base.PUClassifier`.
    alpha
        The share of positives among the unlabeled. None: it is estimated first, by (TED)ⁿ, and
        `estimate_.notes` says so.
    loss
        "sigmoid", as in the papers, or "logistic".
    """

    _default_net = "auto"

    def __init__(
        self,
        estimator: Any = None,
        *,
        alpha: float | None = None,
        loss: Loss = "sigmoid",
        plan: Any = None,
        method: str = "bbe",
        confidence: float | None = 0.95,
        positive: Any = None,
        negative: Any = None,
        random_state: Any = 0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        on_event: Callable[[Progress], object] | None = None,
    ) -> None:
        super().__init__(
            estimator,
            plan=plan,
            method=method,
            confidence=confidence,
            positive=positive,
            negative=negative,
            random_state=random_state,
            time_limit=time_limit,
            n_jobs=n_jobs,
            on_event=on_event,
        )
        self.alpha = alpha
        self.loss = loss

    def _learner(self) -> Learner:
        return replace(UPU, loss=check_loss(self.loss))

    def _net(self) -> Any:
        return net_only(self)


class NNPUClassifier(PUClassifier):
    """The non-negative PU risk, minimised by a net (extra `torch`).

    Parameters
    ----------
    estimator, alpha, loss
        As in UPUClassifier.
    plan, method, confidence, positive, negative, random_state, time_limit, n_jobs, on_event
        As in every classifier here: see `topbin.learn.classifiers.base.PUClassifier`.
    beta, gamma
        How far below zero the negative part may fall, and the size of the step back.
    """

    _default_net = "auto"

    def __init__(
        self,
        estimator: Any = None,
        *,
        alpha: float | None = None,
        beta: float = 0.0,
        gamma: float = 1.0,
        loss: Loss = "sigmoid",
        plan: Any = None,
        method: str = "bbe",
        confidence: float | None = 0.95,
        positive: Any = None,
        negative: Any = None,
        random_state: Any = 0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        on_event: Callable[[Progress], object] | None = None,
    ) -> None:
        super().__init__(
            estimator,
            plan=plan,
            method=method,
            confidence=confidence,
            positive=positive,
            negative=negative,
            random_state=random_state,
            time_limit=time_limit,
            n_jobs=n_jobs,
            on_event=on_event,
        )
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.loss = loss

    def _learner(self) -> Learner:
        return nnpu(beta=self.beta, gamma=self.gamma, loss=check_loss(self.loss))

    def _net(self) -> Any:
        return net_only(self)


def net_only(face: PUClassifier) -> Any:
    """The face's net, a default one if it names none; a scikit-learn model is refused."""
    if face.estimator is None:
        return face._default_net
    net = PUClassifier._net(face)
    if net is None:
        raise InputError(
            "TB013",
            f"{type(face).__name__} has a negative weight in its risk, so it needs a gradient "
            f"model; {type(face.estimator).__name__} cannot follow one. Pass a net (pip install "
            '"topbin[torch]"), or use TEDnClassifier or CVIRClassifier, which take this model.',
        )
    return net


def check_loss(loss: Any) -> Loss:
    """One of the two losses.

    >>> check_loss("sigmoid")
    'sigmoid'
    """
    if loss not in ("sigmoid", "logistic"):
        raise InputError("TB008", f'loss must be "sigmoid" or "logistic"; got {loss!r}.')
    return "sigmoid" if loss == "sigmoid" else "logistic"
