"""The convolution that both image nets are made of: same size out, no bias before batch norm."""

from typing import TYPE_CHECKING

from topbin.core.optional import require

if TYPE_CHECKING:
    from torch import nn
else:
    nn = require("torch.nn", extra="torch", caller="topbin.learn.nets")


def conv(wide_in: int, wide_out: int, *, kernel: int = 3, stride: int = 1) -> "nn.Conv2d":
    """A square kernel padded to keep the image's size, divided by the stride."""
    return nn.Conv2d(wide_in, wide_out, kernel, stride, padding=kernel // 2, bias=False)
