"""Optimizer settings as a value, with those of Garg et al. 2021 (appendix) as defaults."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from topbin.core.checks import check_above_zero, look_up
from topbin.learn.backends.needs_torch import nn, torch
from topbin.learn.nets import NETS
from topbin.learn.risk import Loss


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
    """The paper's optimizer for a loss and one of its nets; the gentlest one for a user's net.

    >>> default_optim("logistic", "mlp").lr, default_optim("sigmoid", "mlp").name
    (0.05, 'adam')
    """
    if loss == "sigmoid" or net is None:
        return Optim("adam", lr=1e-4)
    return Optim("sgd", lr=NETS[net].lr)
