"""A small net for images that a laptop trains in minutes, after Jordan 2024 (arXiv 2404.00498).

The first convolution is not learned: it makes the pixels of small patches uncorrelated, as they are
in the training images (of P and of U alike, so no label is used). The rest learns much faster then.
"""

from collections.abc import Sequence

from topbin.learn.backends.needs_torch import Tensor, nn, torch
from topbin.learn.nets.paper import pick

SMALL, MEDIUM, LARGE = (24, 64, 96), (32, 128, 128), (64, 256, 256)
SIDE = 32  # larger images are read in steps of several pixels, so that about as many places remain
LONGEST_STEP = 4
LARGE_SIDE = 48  # places left after these steps; from here on there is a fourth block
MOST_PATTERNS = 24
NOISE = 5e-4  # share of the variance that patterns without signal are measured against
COOL = 9.0  # logits are divided by it, so that a high learning rate does not make them extreme


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
            layers += _block(wide_in, wide_out, halve=side > 1)
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


def _block(wide_in: int, wide_out: int, *, halve: bool) -> list[nn.Module]:
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


def shift(images: Tensor, padding: int = 2) -> Tensor:
    """Shift each image by up to `padding` pixels; what comes in mirrors what is at the border.

    >>> shift(torch.ones(2, 3, 8, 8)).shape
    torch.Size([2, 3, 8, 8])
    """
    n, _, height, width = images.shape
    padding = min(padding, height - 1, width - 1)
    padded = torch.nn.functional.pad(images, [padding] * 4, mode="reflect")
    top, left = torch.randint(0, 2 * padding + 1, (2, n, 1)).to(images.device)
    down, across = (torch.arange(size, device=images.device) for size in (height, width))
    return pick(padded, top + down, left + across)
