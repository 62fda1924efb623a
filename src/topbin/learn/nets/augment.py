"""Random crop and horizontal flip on a batch of image tensors (Garg et al. 2021, appendix)."""

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
    each = torch.arange(n, device=images.device)[:, None, None]
    cropped = padded[each, :, (top + down)[:, :, None], (left + across)[:, None, :]]
    return cropped.permute(0, 3, 1, 2).contiguous()
