"""ResNet-18 of He et al. 2016, in its form for 32 × 32 images: a 3 × 3 stem and no max-pooling."""

from collections.abc import Sequence

from topbin.learn.backends.needs_torch import Tensor, nn
from topbin.learn.nets.allconv import conv


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
