"""The nets of Garg et al. 2021 and their random crops.

Fully connected ones (5000-5000-50 for images, 512-512 for tables), All-CNN-C of Springenberg et al.
2014, "Striving for Simplicity: The All Convolutional Net", and ResNet-18 of He et al. 2016 in its
form for 32 × 32 images: a 3 × 3 stem and no max-pooling.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from topbin.learn.backends.needs_torch import Tensor, nn, torch

# Of each layer: its width in multiples of `width`, its kernel and its stride.
_LAYERS = ((1, 3, 1), (1, 3, 1), (1, 3, 2), (2, 3, 1), (2, 3, 1), (2, 3, 2), (2, 3, 1), (2, 1, 1))


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


def resnet18(shape: Sequence[int], width: int = 64) -> nn.Sequential:
    """Four stages of two residual blocks, `width` to 8·width channels, two outputs."""
    layers: list[nn.Module] = [*conv(shape[0], width), nn.ReLU()]
    wide_in = width
    for wide_out, stride in ((width, 1), (2 * width, 2), (4 * width, 2), (8 * width, 2)):
        layers += [Block(wide_in, wide_out, stride), Block(wide_out, wide_out, 1)]
        wide_in = wide_out
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide_in, 2)]
    return nn.Sequential(*layers, *head)


class Block(nn.Module):
    """Two 3 × 3 convolutions beside a shortcut, which is projected when the shape changes."""

    def __init__(self, wide_in: int, wide_out: int, stride: int) -> None:
        super().__init__()
        first, second = conv(wide_in, wide_out, stride=stride), conv(wide_out, wide_out)
        self.body = nn.Sequential(*first, nn.ReLU(), *second)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or wide_in != wide_out:
            self.shortcut = nn.Sequential(*conv(wide_in, wide_out, kernel=1, stride=stride))

    def forward(self, x: Tensor) -> Tensor:
        """relu(body(x) + shortcut(x))."""
        return nn.functional.relu(self.body(x) + self.shortcut(x))


def crop_and_flip(images: Tensor, padding: int = 4) -> Tensor:
    """Shift each image by up to `padding` pixels, zeros coming in; mirror half of them.

    >>> crop_and_flip(torch.ones(2, 3, 8, 8)).shape
    torch.Size([2, 3, 8, 8])
    """
    n, _, height, width = images.shape
    padded = torch.nn.functional.pad(images, [padding] * 4)
    top, left = torch.randint(0, 2 * padding + 1, (2, n, 1)).to(images.device)
    mirrored = torch.rand(n, 1).to(images.device) < 0.5
    down = torch.arange(height, device=images.device)
    across = torch.arange(width, device=images.device).expand(n, width)
    across = torch.where(mirrored, across.flip(1), across)
    return pick(padded, top + down, left + across).contiguous()


def pick(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """These rows and columns of each image."""
    each = torch.arange(len(images), device=images.device)[:, None, None]
    return images[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
