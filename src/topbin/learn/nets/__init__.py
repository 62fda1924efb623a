"""Nets as a table, each with the settings that it is trained with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from topbin.core.checks import look_up
from topbin.core.errors import InputError
from topbin.learn.backends.needs_torch import Tensor, nn, torch
from topbin.learn.nets.fast import LARGE, MEDIUM, fast, pass_through, shift, whiten
from topbin.learn.nets.paper import allconv, crop_and_flip, mlp, resnet18, uci_mlp

__all__ = ["NETS", "Net", "build_net", "crop_and_flip", "mlp", "resnet18", "allconv", "uci_mlp"]


def xavier(layer: nn.Module) -> None:
    """Initial weights of the paper's nets."""
    if isinstance(layer, nn.Linear | nn.Conv2d):
        nn.init.xavier_uniform_(layer.weight)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


@dataclass(frozen=True, slots=True)
class Net:
    """How to build a net for rows of a shape, and how it is trained where a plan does not say so.

    `lr` is its learning rate, `optim` the other settings of its `Optim`. A net with a fixed `warm`
    start has one more phase of `epochs` for learners that discard; others train for `warm` epochs.
    `prepare` shows it training rows, without labels, before the first epoch. With `mirror` every
    image is mirrored in every other epoch. `last`: α is the mean over so many epochs. For a learner
    that estimates α from few rows, `nets` of them take turns in holding rows out.
    """

    build: Callable[..., nn.Module]
    lr: float
    images: bool = False
    size: Any = None
    init: Callable[[nn.Module], None] = xavier
    prepare: Callable[[nn.Module, Tensor], None] | None = None
    optim: Mapping[str, Any] = field(default_factory=dict)
    batch: int = 200
    epochs: int = 200
    warm: int | None = None
    last: int = 10
    augment: Callable[[Tensor], Tensor] | None = None
    mirror: bool = False
    nets: int = 1


_FAST = Net(
    fast, lr=1.0, images=True, init=pass_through, prepare=whiten,
    optim={"momentum": 0.85, "weight_decay": 1e-3, "nesterov": True, "biases": 8.0,
           "peaks": (1.0, 0.15)},
    batch=125, epochs=6, warm=10, last=2, augment=shift, mirror=True, nets=3,
)  # fmt: skip
NETS = {
    "mlp": Net(mlp, lr=0.05),
    "uci-mlp": Net(uci_mlp, lr=0.1),
    "allconv": Net(allconv, lr=0.1, images=True),
    "resnet18": Net(resnet18, lr=0.1, images=True),
    "fast": _FAST,
    "fast-medium": replace(_FAST, size=MEDIUM),
    "fast-large": replace(_FAST, size=LARGE),
}


def build_net(
    name: str, shape: Sequence[int], *, size: int | tuple[int, ...] | None = None, seed: int = 0
) -> nn.Module:
    """A net with its initial weights; the caller's random state is left alone.

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
    size = kind.size if size is None else size
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        net = kind.build(shape) if size is None else kind.build(shape, size)
        net.apply(kind.init)
    return net
