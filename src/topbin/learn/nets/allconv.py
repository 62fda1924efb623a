"""All-CNN-C of Springenberg et al. 2014, "Striving for Simplicity: The All Convolutional Net"."""

from collections.abc import Sequence

from topbin.learn.backends.needs_torch import nn

# Of each layer: its width in multiples of `width`, its kernel and its stride.
_LAYERS = ((1, 3, 1), (1, 3, 1), (1, 3, 2), (2, 3, 1), (2, 3, 1), (2, 3, 2), (2, 3, 1), (2, 1, 1))


def allconv(shape: Sequence[int], width: int = 96) -> nn.Sequential:
    """Nine convolutions, no pooling but the last mean, two outputs; shape is (channels, h, w).

    Batch norm replaces the dropout of the original: the learning rate of 0.1 that Garg et al. use
    for convolutions needs normalized activations.
    """
    layers: list[nn.Module] = []
    wide_in = shape[0]
    for times, kernel, stride in _LAYERS:
        wide_out = times * width
        layers += [*conv(wide_in, wide_out, kernel=kernel, stride=stride), nn.ReLU()]
        wide_in = wide_out
    head = [nn.Conv2d(wide_in, 2, kernel_size=1), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, *head)


def conv(wide_in: int, wide_out: int, *, kernel: int = 3, stride: int = 1) -> list[nn.Module]:
    """A square kernel padded to keep the image's size, divided by the stride; then batch norm."""
    body = nn.Conv2d(wide_in, wide_out, kernel, stride, padding=kernel // 2, bias=False)
    return [body, nn.BatchNorm2d(wide_out)]
