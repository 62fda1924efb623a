"""Fully connected nets (Garg et al. 2021): 5000-5000-50 for images, 512-512 for tables."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from topbin.learn.backends.needs_torch import nn


def mlp(shape: Sequence[int], hidden: Sequence[int] = (5000, 5000, 50)) -> nn.Sequential:
    """ReLU layers of the given widths over a flattened row of this shape, then two outputs.

    >>> [layer.out_features for layer in mlp((4,), (3, 5)) if isinstance(layer, nn.Linear)]
    [3, 5, 2]
    """
    widths = (prod(shape), *hidden)
    layers: list[nn.Module] = [nn.Flatten()]
    for wide_in, wide_out in pairwise(widths):
        layers += [nn.Linear(wide_in, wide_out), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], 2))


def uci_mlp(shape: Sequence[int], hidden: Sequence[int] = (512, 512)) -> nn.Sequential:
    """The 512-512 net of the paper's tabular experiments."""
    return mlp(shape, hidden)
