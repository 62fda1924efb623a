"""UPUClassifier and NNPUClassifier: risks with a negative weight, which only nets can minimize.

du Plessis, Niu & Sugiyama 2014, 2015; Kiryo, Niu, du Plessis & Sugiyama, NeurIPS 2017.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from topbin.core.errors import InputError
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.nnpu import nnpu
from topbin.learn.risk import Learner, Loss
from topbin.learn.upu import UPU


@dataclass(eq=False, repr=False, kw_only=True)
class UPUClassifier(PUClassifier):
    """The unbiased PU risk, minimized by a net (extra `torch`).

    A flexible net drives this risk below zero by memorizing U; NNPUClassifier does not.

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

    _default_net: ClassVar[str | None] = "auto"

    alpha: float | None = None
    loss: Loss = "sigmoid"

    def _learner(self) -> Learner:
        return replace(UPU, loss=check_loss(self.loss))

    def _net(self) -> Any:
        """The net, a default one if none is named; a scikit-learn model is refused."""
        if self.estimator is None:
            return self._default_net
        net = super()._net()
        if net is None:
            raise InputError(
                "TB013",
                f"{type(self).__name__} has a negative weight in its risk, so it needs a gradient "
                f"model; {type(self.estimator).__name__} cannot follow one. Pass a net (pip "
                'install "topbin[torch]"), or use TEDnClassifier or CVIRClassifier, which take '
                "this model.",
            )
        return net


@dataclass(eq=False, repr=False, kw_only=True)
class NNPUClassifier(UPUClassifier):
    """The non-negative PU risk, minimized by a net (extra `torch`).

    Parameters
    ----------
    estimator, alpha, loss
        As in UPUClassifier.
    plan, method, confidence, positive, negative, random_state, time_limit, n_jobs, on_event
        As in every classifier here: see `topbin.learn.classifiers.base.PUClassifier`.
    beta, gamma
        How far below zero the negative part can fall, and the size of the step back.
    """

    beta: float = 0.0
    gamma: float = 1.0

    def _learner(self) -> Learner:
        return nnpu(beta=self.beta, gamma=self.gamma, loss=check_loss(self.loss))


def check_loss(loss: Any) -> Loss:
    """One of the two losses.

    >>> check_loss("sigmoid")
    'sigmoid'
    """
    if loss not in ("sigmoid", "logistic"):
        raise InputError("TB008", f'loss must be "sigmoid" or "logistic"; got {loss!r}.')
    return "sigmoid" if loss == "sigmoid" else "logistic"
