"""Optimizer settings as a value, with those of Garg et al. 2021 (appendix) as defaults."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from topbin.core.checks import check_above_zero
from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.learn.nets import NETS
from topbin.learn.risk import Loss

if TYPE_CHECKING:
    import torch
    from torch import nn
else:
    torch = require("torch", extra="torch", caller="the torch backend")


@dataclass(frozen=True, slots=True)
class Optim:
    """An optimizer and its constants; only SGD uses `momentum`."""

    name: Literal["sgd", "adam", "adamw"] = "sgd"
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4

    def build(self, net: "nn.Module", device: "torch.device") -> "torch.optim.Optimizer":
        """The torch optimizer over a net's parameters."""
        check_above_zero(self.lr, "lr")
        fused = device.type in ("cpu", "cuda")
        shared: dict[str, Any] = {"lr": self.lr, "weight_decay": self.weight_decay, "fused": fused}
        if self.name == "sgd":
            return torch.optim.SGD(net.parameters(), momentum=self.momentum, **shared)
        if self.name == "adam":
            return torch.optim.Adam(net.parameters(), **shared)
        if self.name == "adamw":
            return torch.optim.AdamW(net.parameters(), **shared)
        raise InputError("TB007", f"no optimizer is called {self.name!r}; sgd, adam or adamw.")


def default_optim(loss: Loss, net: str | None) -> Optim:
    """The paper's optimizer for a loss and one of its nets; the gentlest one for a user's net.

    >>> default_optim("logistic", "mlp").lr, default_optim("sigmoid", "mlp").name
    (0.05, 'adam')
    """
    if loss == "sigmoid" or net is None:
        return Optim("adam", lr=1e-4)
    return Optim("sgd", lr=NETS[net].lr)
