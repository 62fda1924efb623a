"""Nets as a table, each with the settings that it is trained with.

Fully connected ones (5000-5000-50 for images, 512-512 for tables), All-CNN-C of Springenberg et al.
2014, "Striving for Simplicity: The All Convolutional Net", and ResNet-18 of He et al. 2016 in its
form for 32 × 32 images (a 3 × 3 stem and no max-pooling), with random crops, are those of Garg et
al. 2021.

The fast one is a small net for images that a laptop trains in minutes, after Jordan 2024 (arXiv
2404.00498). Its first convolution is not learned: it makes the pixels of small patches
uncorrelated, as they are in the training images (of P and of U alike, so no label is used). The
rest learns much faster then.

torch enters here, for every file that needs it: without it, importing one of them names the extra.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from topbin.core.checks import check_above_zero, look_up
from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.learn.risk import Loss

if TYPE_CHECKING:
    import torch as torch
    from torch import Tensor as Tensor
    from torch import nn as nn
    from torch.utils.data import Dataset as Dataset
else:
    torch = require("torch", extra="torch", caller="a net")
    nn, Tensor, Dataset = torch.nn, torch.Tensor, torch.utils.data.Dataset

NetLike = str | nn.Module  # a name in NETS, or a net of the user's
# Of each layer: its width in multiples of `width`, its kernel and its stride.
_LAYERS = ((1, 3, 1), (1, 3, 1), (1, 3, 2), (2, 3, 1), (2, 3, 1), (2, 3, 2), (2, 3, 1), (2, 1, 1))
# Of the fast net.
SMALL, MEDIUM, LARGE = (24, 64, 96), (32, 128, 128), (64, 256, 256)
SIDE = 32  # larger images are read in steps of several pixels, so that about as many places remain
LONGEST_STEP = 4
LARGE_SIDE = 48  # places left after these steps; from here on there is a fourth block
MOST_PATTERNS = 24
NOISE = 5e-4  # share of the variance that patterns without signal are measured against
COOL = 9.0  # logits are divided by it, so that a high learning rate does not make them extreme


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
        layers += [ResidualBlock(wide_in, wide_out, stride), ResidualBlock(wide_out, wide_out, 1)]
        wide_in = wide_out
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide_in, 2)]
    return nn.Sequential(*layers, *head)


class ResidualBlock(nn.Module):
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


class Whitening(nn.Module):
    """A frozen convolution: the main patterns of small patches, each with variance 1, and −each.

    Until `fit` has seen images its patterns are the single pixels of a patch.
    """

    weight: Tensor
    bias: Tensor

    def __init__(self, channels: int, step: int) -> None:
        super().__init__()
        self.step, self.kernel = step, 2 * step
        n_pixels = channels * self.kernel**2
        pixels = torch.eye(min(n_pixels, MOST_PATTERNS), n_pixels)
        self.register_buffer("weight", self._filters(pixels, channels))
        self.register_buffer("bias", torch.zeros(2 * len(pixels)))

    def _filters(self, patterns: Tensor, channels: int) -> Tensor:
        both = torch.cat([patterns, -patterns])
        return both.reshape(-1, channels, self.kernel, self.kernel)

    def forward(self, images: Tensor) -> Tensor:
        """How strongly each pattern is present at each place."""
        return nn.functional.conv2d(images, self.weight, self.bias, self.step)

    @torch.no_grad()
    def fit(self, images: Tensor) -> None:
        """Eigenvectors of the patches' covariance, the largest first, divided by their spread."""
        n_pixels = self.weight[0].numel()
        total = squares = torch.zeros((), dtype=torch.float64)
        n = 0
        for some in torch.split(images, 25):
            patches = nn.functional.unfold(some.double(), self.kernel, stride=self.step)
            patches = patches.transpose(0, 1).flatten(1)
            total, n = total + patches.sum(1), n + patches.shape[1]
            squares = squares + patches @ patches.T
        mean = total / n
        covariance = squares / n - torch.outer(mean, mean)
        noise = (NOISE * covariance.trace() / n_pixels).clamp(min=1e-10)  # images may be blank
        spread, vectors = torch.linalg.eigh(covariance)
        best = torch.arange(n_pixels).flip(0)[: len(self.bias) // 2]
        patterns = (vectors[:, best] / (spread[best].clamp(min=0) + noise).sqrt()).T
        self.weight.copy_(self._filters(patterns, images.shape[1]))
        self.bias.copy_(torch.cat([-patterns @ mean, patterns @ mean]))


class FastNet(nn.Module):
    """Whitening, blocks that halve the image, the strongest response of each feature, two outputs.

    The score of a photograph is the mean over it and its mirror image. Images of one channel
    (digits, letters, scans) are not mirrored: their left and right differ.
    """

    def __init__(self, shape: Sequence[int], widths: Sequence[int]) -> None:
        super().__init__()
        channels, side = shape[0], min(shape[1:])
        step = min(LONGEST_STEP, max(1, side // SIDE))
        self.mirror = channels > 1
        self.whitening = Whitening(channels, step)
        side = (side - 2 * step) // step + 1
        wide_in = len(self.whitening.bias)
        layers: list[nn.Module] = []
        fourth = widths[-1:] if side >= LARGE_SIDE else ()
        for wide_out in (*widths, *fourth):
            layers += _fast_block(wide_in, wide_out, halve=side > 1)
            wide_in, side = wide_out, max(1, side // 2)
        last = [nn.AdaptiveMaxPool2d(1), nn.Flatten()]
        self.blocks = nn.Sequential(nn.ReLU(inplace=True), *layers, *last)
        self.head = nn.Linear(wide_in, 2, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        """Two outputs per image."""
        out = self._once(images)
        if self.training or not self.mirror:
            return out
        return (out + self._once(images.flip(-1))) / 2

    def _once(self, images: Tensor) -> Tensor:
        placed = images.contiguous(memory_format=torch.channels_last)
        out: Tensor = self.head(self.blocks(self.whitening(placed))) / COOL
        return out


def fast(shape: Sequence[int], widths: int | Sequence[int] = SMALL) -> nn.Module:
    """The net for images of this shape; a single width is that of the first block.

    >>> fast((3, 32, 32))(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 2])
    """
    if isinstance(widths, int):
        widths = (widths, 8 * widths // 3, 4 * widths)
    # With this layout of the weights, convolutions on a CPU take 70 to 85 % of the time.
    net: nn.Module = FastNet(shape, widths).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return net


def _fast_block(wide_in: int, wide_out: int, *, halve: bool) -> list[nn.Module]:
    def conv(wide: int) -> nn.Module:
        return nn.Conv2d(wide, wide_out, 3, padding=1, bias=False)

    def norm() -> list[nn.Module]:
        layer = nn.BatchNorm2d(wide_out, momentum=0.4)
        layer.weight.requires_grad_(False)
        return [layer, nn.ReLU(inplace=True)]

    halved = [nn.MaxPool2d(2)] if halve else []
    return [conv(wide_in), *halved, *norm(), conv(wide_out), *norm()]


def pass_through(layer: nn.Module) -> None:
    """Initial weights: as torch draws them, but the first filters pass their input on."""
    if isinstance(layer, nn.Conv2d):
        nn.init.dirac_(layer.weight[: layer.in_channels].detach())


def whiten(net: nn.Module, images: Tensor) -> None:
    """Fit the first convolution of a net of `fast` to training images, P and U together."""
    assert isinstance(net, FastNet)
    net.whitening.fit(images)


def crop_and_flip(images: Tensor, padding: int = 4) -> Tensor:
    """Shift each image by up to `padding` pixels, zeros coming in; mirror half of them.

    Parameters
    ----------
    images
        A tensor of shape (n, channels, height, width).
    padding
        The largest shift.

    Returns
    -------
    Tensor
        Images of the same shape.

    >>> crop_and_flip(torch.ones(2, 3, 8, 8)).shape
    torch.Size([2, 3, 8, 8])
    """
    rows, columns = _shifts(images, padding)
    mirrored = torch.rand(len(images), 1).to(images.device) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    return _pick(nn.functional.pad(images, [padding] * 4), rows, columns).contiguous()


def shift(images: Tensor) -> Tensor:
    """Shift each image by up to two pixels; what comes in mirrors what is at the border.

    >>> shift(torch.ones(2, 3, 8, 8)).shape
    torch.Size([2, 3, 8, 8])
    """
    padding = min(2, images.shape[2] - 1, images.shape[3] - 1)
    padded = nn.functional.pad(images, [padding] * 4, mode="reflect")
    return _pick(padded, *_shifts(images, padding))


def _shifts(images: Tensor, padding: int) -> tuple[Tensor, Tensor]:
    """For each image, which rows and columns of the padded one to take."""
    n, _, height, width = images.shape
    top, left = torch.randint(0, 2 * padding + 1, (2, n, 1)).to(images.device)
    down, across = (torch.arange(size, device=images.device) for size in (height, width))
    return top + down, left + across


def _pick(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """These rows and columns of each image."""
    each = torch.arange(len(images), device=images.device)[:, None, None]
    return images[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


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

    Parameters
    ----------
    name, shape
        A name in `NETS`, and the shape of a row.
    size
        Its width (convolutions) or the widths of its hidden layers, if not the paper's.
    seed
        Decides the weights.

    Returns
    -------
    nn.Module
        A net with two outputs per row.

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


@dataclass(frozen=True, slots=True)
class Optim:
    """An optimizer and its constants.

    Attributes
    ----------
    name, lr, weight_decay
        "sgd", "adam" or "adamw", its rate and its weight decay.
    momentum, nesterov
        Only SGD uses them.
    biases
        Multiplies the rate of biases and divides their weight decay.
    peaks
        With them the rate rises and falls once in each phase of training, up to lr · peak; without,
        it stays the same.

    >>> Optim("adam", lr=1e-3).lr
    0.001
    """

    name: Literal["sgd", "adam", "adamw"] = "sgd"
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    nesterov: bool = False
    biases: float = 1.0
    peaks: tuple[float, ...] = ()

    def build(self, net: nn.Module, device: torch.device) -> torch.optim.Optimizer:
        """The torch optimizer over a net's parameters."""
        check_above_zero(self.lr, "lr")
        fused = device.type in ("cpu", "cuda")
        shared: dict[str, Any] = {"lr": self.lr, "weight_decay": self.weight_decay, "fused": fused}
        if self.name == "sgd":
            shared |= {"momentum": self.momentum, "nesterov": self.nesterov}
        kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
        kind: Callable[..., torch.optim.Optimizer] = look_up(self.name, kinds, "optimizer")
        return kind(self._groups(net), **shared)

    def _groups(self, net: nn.Module) -> Any:
        if self.biases == 1:
            return net.parameters()
        lr, decay = self.lr * self.biases, self.weight_decay / self.biases
        weights = [p for p in net.parameters() if p.ndim > 1]
        biases = [p for p in net.parameters() if p.ndim <= 1]
        return [{"params": weights}, {"params": biases, "lr": lr, "weight_decay": decay}]

    def rate(self, done: float, phases: Sequence[int]) -> float:
        """The share of `lr` after `done` epochs of training in phases of these many epochs.

        >>> one = Optim(peaks=(1.0, 0.4))
        >>> [one.rate(done, (8, 4)) for done in (0, 2, 9, 12)]
        [0.2, 1.0, 0.4, 0.012]
        """
        if not self.peaks or not phases:
            return 1.0
        ends = np.cumsum(phases)
        number = min(int(np.searchsorted(ends, done, side="right")), len(phases) - 1)
        share = 1 - (ends[number] - done) / phases[number]
        return self.peaks[min(number, len(self.peaks) - 1)] * one_cycle(share)


def one_cycle(t: float) -> float:
    """A triangle over t from 0 to 1: from 0.2 up to 1 at a quarter, then down to 0.03.

    >>> one_cycle(0.0), one_cycle(0.25), one_cycle(1.0)
    (0.2, 1.0, 0.03)
    """
    return float(np.interp(t, [0, 0.25, 1], [0.2, 1, 0.03]))


def default_optim(loss: Loss, net: str | None) -> Optim:
    """The paper's optimizer for a loss and one of its nets; a small rate for a user's net.

    Parameters
    ----------
    loss, net
        The loss of a row, and a name in `NETS`; None for a user's own net.

    Returns
    -------
    Optim
        The optimizer.

    >>> default_optim("logistic", "mlp").lr, default_optim("sigmoid", "mlp").name
    (0.05, 'adam')
    """
    if net is None or (loss == "sigmoid" and not NETS[net].optim):
        return Optim("adam", lr=1e-4)
    return Optim("sgd", lr=NETS[net].lr, **NETS[net].optim)
