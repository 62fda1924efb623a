"""All-CNN-C of Springenberg et al. 2014, "Striving for Simplicity: The All Convolutional Net"."""

from collections.abc import Sequence

from topbin.learn.backends.needs_torch import nn


def allconv(shape: Sequence[int], width: int = 96) -> nn.Sequential:
    """Nine convolutions, no pooling but the last mean, two outputs; shape is (channels, h, w).

    Batch norm replaces the dropout of the original: the learning rate of 0.1 that Garg et al. use
    for convolutions needs normalized activations.
    """
    w, w2 = width, 2 * width
    return nn.Sequential(
        *_layer(shape[0], w),
        *_layer(w, w),
        *_layer(w, w, stride=2),
        *_layer(w, w2),
        *_layer(w2, w2),
        *_layer(w2, w2, stride=2),
        *_layer(w2, w2),
        *_layer(w2, w2, kernel=1),
        nn.Conv2d(w2, 2, kernel_size=1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )


def conv(wide_in: int, wide_out: int, *, kernel: int = 3, stride: int = 1) -> nn.Conv2d:
    """A square kernel padded to keep the image's size, divided by the stride; no bias."""
    return nn.Conv2d(wide_in, wide_out, kernel, stride, padding=kernel // 2, bias=False)


def _layer(wide_in: int, wide_out: int, *, kernel: int = 3, stride: int = 1) -> list[nn.Module]:
    body = conv(wide_in, wide_out, kernel=kernel, stride=stride)
    return [body, nn.BatchNorm2d(wide_out), nn.ReLU()]
