"""What a net minimizes, and how: its logits, their mean losses, and the optimizer's settings.

The settings of Garg et al. 2021 (appendix) are the defaults.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

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
    """An optimizer and its constants; only SGD uses `momentum`."""

    name: Literal["sgd", "adam", "adamw"] = "sgd"
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4

    def build(self, net: nn.Module, device: torch.device) -> torch.optim.Optimizer:
        """The torch optimizer over a net's parameters."""
        check_above_zero(self.lr, "lr")
        fused = device.type in ("cpu", "cuda")
        shared: dict[str, Any] = {"lr": self.lr, "weight_decay": self.weight_decay, "fused": fused}
        if self.name == "sgd":
            shared["momentum"] = self.momentum
        kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
        kind: Callable[..., torch.optim.Optimizer] = look_up(self.name, kinds, "optimizer")
        return kind(net.parameters(), **shared)


def default_optim(loss: Loss, net: str | None) -> Optim:
    """The paper's optimizer for a loss and one of its nets; a small rate for a user's net.

    >>> default_optim("logistic", "mlp").lr, default_optim("sigmoid", "mlp").name
    (0.05, 'adam')
    """
    if loss == "sigmoid" or net is None:
        return Optim("adam", lr=1e-4)
    return Optim("sgd", lr=NETS[net].lr)
