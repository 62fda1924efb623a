"""The convolution that both image nets are made of: same size out, no bias before batch norm."""

from topbin.learn.backends.needs_torch import nn


def conv(wide_in: int, wide_out: int, *, kernel: int = 3, stride: int = 1) -> nn.Conv2d:
    """A square kernel padded to keep the image's size, divided by the stride."""
    return nn.Conv2d(wide_in, wide_out, kernel, stride, padding=kernel // 2, bias=False)
