"""UPUClassifier and NNPUClassifier: risks with a negative weight, which only nets can minimize."""

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

    A flexible net drives this risk below zero by memorizing U; NNPUClassifier does not. Other
    parameters are those of every classifier: see `topbin.learn.classifiers.base`.

    Parameters
    ----------
    estimator
        An `nn.Module` or the name of a net; None: one that suits the rows. A scikit-learn model
        is refused: it has no gradient to follow.
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

    `beta` is how far below zero the negative part can fall, and `gamma` the size of the step back.
    Other parameters are those of UPUClassifier.
    """

    beta: float = 0.0
    gamma: float = 1.0

    def _learner(self) -> Learner:
        return nnpu(beta=self.beta, gamma=self.gamma, loss=check_loss(self.loss))


def check_loss(loss: Loss) -> Loss:
    """The loss, if it is one of the two."""
    if loss not in ("sigmoid", "logistic"):
        raise InputError("TB008", f'loss must be "sigmoid" or "logistic"; got {loss!r}.')
    return loss
