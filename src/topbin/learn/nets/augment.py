"""Random crops and flips of a batch of image tensors; the first is that of Garg et al. 2021."""

from topbin.learn.backends.needs_torch import Tensor, torch


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
    return _pick(padded, top + down, left + across).contiguous()


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
    return _pick(padded, top + down, left + across)


def _pick(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """These rows and columns of each image."""
    each = torch.arange(len(images), device=images.device)[:, None, None]
    return images[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
