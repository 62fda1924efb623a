# %% [markdown]
# # How many of these photographs show what we look for?
#
# Somebody has put photographs that show a thing into a folder. A second folder holds all the
# others, and nobody has looked through it. How many of them show it too, and which ones?
#
# No large photographs come with Python, so these are small tiles, cut from the three that do: a
# flower and a temple (scikit-learn), and a portrait (matplotlib). We look for tiles of the
# flower, be it petals or the dark leaves behind them.
# Which photograph a tile comes from is the truth, and its file name does not tell.

# %%
from pathlib import Path

import matplotlib.cbook
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_images

import topbin as tb

temple, flower = load_sample_images().images
with matplotlib.cbook.get_sample_data("grace_hopper.jpg") as file:
    portrait = np.asarray(Image.open(file))
side = 32
tiles, is_flower = [], []
for photograph in (temple, flower, portrait):
    for y in range(0, photograph.shape[0] - side + 1, side):
        for x in range(0, photograph.shape[1] - side + 1, side):
            tiles.append(photograph[y : y + side, x : x + side])
            is_flower.append(photograph is flower)
rng = np.random.default_rng(0)
order = rng.permutation(len(tiles))
known = rng.random(len(tiles)) < 0.45  # of the flower's tiles
truth = {}
for number, place in enumerate(order):
    folder = Path("flowers" if is_flower[place] and known[place] else "others")
    folder.mkdir(exist_ok=True)
    path = folder / f"{number:04d}.png"
    Image.fromarray(tiles[place]).save(path)
    truth[path.name] = is_flower[place]
others = sorted(path.name for path in Path("others").iterdir())
print(f"{len(list(Path('flowers').iterdir()))} known flowers, {len(others)} other tiles")

# %% [markdown]
# ## How many?
#
# Two folders are enough. A frozen encoder, which learned from photographs of a thousand things,
# turns each image into a vector; no GPU and no network is needed. From the command line: `topbin
# fit --positives flowers --unlabeled others`.

# %%
result = tb.fit("others", positives="flowers", budget="fast")
print(f"truth {np.mean([truth[name] for name in others]):.3f}")
result.estimate

# %% [markdown]
# ## Which ones?
#
# The first row is what was known. The second is what the model would show you first, the third
# what it would show you last. A red frame marks a mistake.

# %% tags=["thumbnail"]
ranked = result.candidates(len(others))
rows = {
    "known": sorted(Path("flowers").iterdir())[:9],
    "most likely": [Path("others", Path(name).name) for name in ranked["image"][:9]],
    "least likely": [Path("others", Path(name).name) for name in ranked["image"][-9:]],
}
figure, axes = plt.subplots(3, 9, figsize=(8, 3.4), layout="constrained")
for (name, paths), line in zip(rows.items(), axes, strict=True):
    line[0].set_ylabel(name)
    for path, axis in zip(paths, line, strict=True):
        axis.imshow(Image.open(path))
        wrong = truth[path.name] != (name != "least likely")
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set(color="#cc3311" if wrong else "#ffffff", linewidth=3 if wrong else 0)
_ = figure.suptitle("Known tiles, and what the model found among the others")

# %% [markdown]
# ## How many must be looked at to find nearly all?

# %%
found = np.cumsum([truth[Path(name).name] for name in ranked["image"]])
figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
axis.plot(np.arange(1, found.size + 1), found / found[-1], color="#0072b2", label="best first")
axis.plot([0, found.size], [0, 1], color="#888888", linewidth=1, label="in any order")
low, high = result.estimate.interval
ends = (low * found.size, high * found.size)
axis.axvspan(*ends, color="#0072b2", alpha=0.12, linewidth=0, label="how many there are, 95 %")
axis.set(
    xlim=(0, found.size),
    ylim=(0, 1.02),
    xlabel="tiles looked at",
    ylabel="share of the flowers found",
    title="What looking through the list brings",
)
axis.spines[["top", "right"]].set_visible(False)
_ = axis.legend(frameon=False, loc="lower right")

# %% [markdown]
# - **Tiles of one photograph are alike**, so real images are harder than these. For a series from
#   one camera, name the camera: [rows that belong together](../how-to/groups.md).
# - **Another encoder**, or a net that is trained: [images](../how-to/images.md).
# - **Check a random sample** by keyboard, one image at a time: `topbin review`.
#
# ## A sentence for the report

# %% tags=["sentence"]
best = int(np.ceil(high * len(others)))
print(
    f"Of {len(others):,} photographs that nobody had looked at, about {result.estimate.alpha:.0%} "
    f"show what we look for (95 % interval {low:.0%} to {high:.0%}, {low * len(others):.0f} "
    f"to {high * len(others):.0f} photographs), if they overlap with the others as in the data "
    f"sets that the prior was learned from. The first {best} of the list should hold nearly all."
)

# %% [markdown]
# And the truth:

# %%
print(f"{found[-1]} photographs show it; {found[best - 1]} of them are among the first {best}")
