"""What a net minimizes, and how: its logits, their mean losses, and the optimizer's settings.

The settings of Garg et al. 2021 (appendix) are the defaults.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from topbin.core.checks import check_above_zero, look_up
from topbin.core.errors import InputError
from topbin.learn.backends.needs_torch import Tensor, nn, torch
from topbin.learn.nets import NETS
from topbin.learn.risk import Loss

# Loss of a margin: the logit for L⁺, minus the logit for L⁻.
LOSSES: dict[Loss, Callable[[Tensor], Tensor]] = {
    "logistic": lambda margin: -nn.functional.logsigmoid(margin),
    "sigmoid": lambda margin: torch.sigmoid(-margin),
}


def mean_losses(
    z_p: Tensor, z_u: Tensor, loss: Loss, weights: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """L⁺(P), L⁻(P) and L⁻(U) of a mini-batch of logits, in the order that Risk takes them.

    `weights` multiply the losses of the rows of P and of U.
    """
    of = LOSSES[loss]
    w_p, w_u = weights or (1, 1)
    return (of(z_p) * w_p).mean(), (of(-z_p) * w_p).mean(), (of(-z_u) * w_u).mean()


def logit_of(out: Any, n: int) -> Tensor:
    """One logit per row from a net's output: two columns (negative, positive), or one.

    Cross-entropy on two outputs is the logistic loss of their difference.

    >>> logit_of(torch.tensor([[1.0, 3.0], [0.0, 0.5]]), 2)
    tensor([2.0000, 0.5000])
    """
    shape = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
    if shape not in ((n, 2), (n,), (n, 1)):
        raise InputError(
            "TB013",
            f"the net gives {shape} for {n} rows. It must give one logit per row, shape (n,) or "
            "(n, 1), or two outputs per row, (negative, positive).",
        )
    logits: Tensor = out[:, 1] - out[:, 0] if shape == (n, 2) else out.reshape(n)
    return logits


@dataclass(frozen=True, slots=True)
class Optim:
    """An optimizer and its constants; only SGD uses `momentum` and `nesterov`.

    `biases` multiplies the rate of biases and divides their weight decay. With `peaks` the rate
    rises and falls once in each phase of training, up to lr · peak; without, it stays the same.
    """

    name: Literal["sgd", "adam", "adamw"] = "sgd"
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    nesterov: bool = False
    biases: float = 1.0
    peaks: tuple[float, ...] = ()

    def build(self, net: nn.Module, device: torch.device) -> torch.optim.Optimizer:
        """The torch optimizer over a net's parameters."""
        check_above_zero(self.lr, "lr")
        fused = device.type in ("cpu", "cuda")
        shared: dict[str, Any] = {"lr": self.lr, "weight_decay": self.weight_decay, "fused": fused}
        if self.name == "sgd":
            shared |= {"momentum": self.momentum, "nesterov": self.nesterov}
        kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
        kind: Callable[..., torch.optim.Optimizer] = look_up(self.name, kinds, "optimizer")
        return kind(self._groups(net), **shared)

    def _groups(self, net: nn.Module) -> Any:
        if self.biases == 1:
            return net.parameters()
        lr, decay = self.lr * self.biases, self.weight_decay / self.biases
        weights = [p for p in net.parameters() if p.ndim > 1]
        biases = [p for p in net.parameters() if p.ndim <= 1]
        return [{"params": weights}, {"params": biases, "lr": lr, "weight_decay": decay}]

    def rate(self, done: float, phases: Sequence[int]) -> float:
        """The share of `lr` after `done` epochs of training in phases of these many epochs.

        >>> one = Optim(peaks=(1.0, 0.4))
        >>> [one.rate(done, (8, 4)) for done in (0, 2, 9, 12)]
        [0.2, 1.0, 0.4, 0.012]
        """
        if not self.peaks or not phases:
            return 1.0
        ends = np.cumsum(phases)
        number = min(int(np.searchsorted(ends, done, side="right")), len(phases) - 1)
        share = 1 - (ends[number] - done) / phases[number]
        return self.peaks[min(number, len(self.peaks) - 1)] * one_cycle(share)


def one_cycle(t: float) -> float:
    """A triangle over t from 0 to 1: from 0.2 up to 1 at a quarter, then down to 0.03.

    >>> one_cycle(0.0), one_cycle(0.25), one_cycle(1.0)
    (0.2, 1.0, 0.03)
    """
    return float(np.interp(t, [0, 0.25, 1], [0.2, 1, 0.03]))


def default_optim(loss: Loss, net: str | None) -> Optim:
    """The paper's optimizer for a loss and one of its nets; a small rate for a user's net.

    >>> default_optim("logistic", "mlp").lr, default_optim("sigmoid", "mlp").name
    (0.05, 'adam')
    """
    if net is None or (loss == "sigmoid" and not NETS[net].optim):
        return Optim("adam", lr=1e-4)
    return Optim("sgd", lr=NETS[net].lr, **NETS[net].optim)
