"""Nets of the paper as a table, with the learning rate each was trained with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from topbin.core.checks import look_up
from topbin.core.errors import InputError
from topbin.learn.backends.needs_torch import nn, torch
from topbin.learn.nets.allconv import allconv
from topbin.learn.nets.augment import crop_and_flip
from topbin.learn.nets.mlp import mlp, uci_mlp
from topbin.learn.nets.resnet18 import resnet18

__all__ = ["NETS", "Net", "build_net", "crop_and_flip", "mlp", "resnet18", "allconv", "uci_mlp"]


@dataclass(frozen=True, slots=True)
class Net:
    """How to build a net for rows of a shape, and the SGD learning rate of the paper for it."""

    build: Callable[..., nn.Module]
    lr: float
    images: bool = False


NETS = {
    "mlp": Net(mlp, lr=0.05),
    "uci-mlp": Net(uci_mlp, lr=0.1),
    "allconv": Net(allconv, lr=0.1, images=True),
    "resnet18": Net(resnet18, lr=0.1, images=True),
}


def build_net(
    name: str, shape: Sequence[int], *, size: int | tuple[int, ...] | None = None, seed: int = 0
) -> nn.Module:
    """A net with Xavier weights and zero biases; the caller's random state is left alone.

    `size` is its width (convolutions) or the widths of its hidden layers, if not the paper's.

    >>> build_net("uci-mlp", (8,))(torch.zeros(3, 8)).shape
    torch.Size([3, 2])
    """
    kind = look_up(name, NETS, "net")
    if kind.images and len(shape) != 3:
        raise InputError(
            "TB005", f"{name} takes rows of shape (channels, height, width); got {tuple(shape)}."
        )
    if kind.images and shape[2] in (1, 3) and shape[0] > 3:
        raise InputError(
            "TB005",
            f"a row of shape {tuple(shape)} looks channels-last; {name} takes channels first. "
            "Use X.transpose(0, 3, 1, 2).",
        )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        net = kind.build(shape) if size is None else kind.build(shape, size)
        net.apply(_xavier)
    return net


def _xavier(layer: nn.Module) -> None:
    if isinstance(layer, nn.Linear | nn.Conv2d):
        nn.init.xavier_uniform_(layer.weight)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
