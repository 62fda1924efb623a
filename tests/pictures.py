"""Tiny images of two kinds: a bright bar across (positive), or along."""

from pathlib import Path

import numpy as np
from PIL import Image


def bars(n, across, seed=0, side=12, channels=3):
    """An array (n, side, side, channels) of images with a bar, across or along."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 60, (n, side, side, channels))
    for image, place in zip(pixels, rng.integers(1, side - 3, n), strict=True):
        (image if across else image.transpose(1, 0, 2))[place : place + 2] += 180
    return pixels.astype(np.uint8)


def folders(root, n_p=40, n_u=80, alpha=0.5):
    """Two folders of such images, `known` and `rest`; returns which of the rest are positive."""
    root, k = Path(root), round(alpha * n_u)
    known, yes, no = bars(n_p, True, 1), bars(k, True, 2), bars(n_u - k, False, 3)
    order = np.random.default_rng(0).permutation(n_u)
    for name, images in (("known", known), ("rest", np.concatenate([yes, no])[order])):
        (root / name).mkdir(parents=True)
        for i, image in enumerate(images):
            Image.fromarray(image).save(root / name / f"é {i:03d}.png")
    return (np.arange(n_u) < k)[order]


def write_photos(root):
    """The folders and the table that the how-to page about images speaks of."""
    folders(root)
    for old, new in (("known", "cats"), ("rest", "rest")):
        (root / old).rename(root / new)
    (root / "new").mkdir()
    Image.fromarray(bars(1, True)[0]).save(root / "new" / "a.png")
    paths = [p for name in ("cats", "rest") for p in sorted((root / name).iterdir())]
    lines = [f"{p.relative_to(root)},{int(p.parent.name == 'cats')}" for p in paths]
    (root / "table.csv").write_text("\n".join(["path,is_cat", *lines]), encoding="utf-8")
