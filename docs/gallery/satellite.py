# %% [markdown]
# # How much of this region is irrigated, if all we have is vectors from a satellite model?
#
# A model has turned each tile of a satellite image into a vector. Field workers have confirmed
# some irrigated tiles; nobody has visited the others. What share of the region is irrigated, and
# where?
#
# The region of this page is *made*: smooth hidden fields stand for wetness, slope and cover, and a
# vector mixes them with noise, as those of a satellite model do. Bring your own vectors as an
# array with one line per tile; topbin does not need to know where they come from.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter

import topbin as tb

rng = np.random.default_rng(3)
height, width, length = 60, 80, 48
fields = [gaussian_filter(rng.normal(size=(height, width)), 4, mode="wrap") for _ in range(6)]
hidden = np.stack([field / field.std() for field in fields], axis=-1)
irrigated = hidden[..., 0] + 0.5 * hidden[..., 1] > 1.2  # only we know
nature = np.concatenate([hidden, 2.6 * irrigated[..., None]], axis=-1)
vectors = nature @ rng.normal(size=(nature.shape[-1], length))
vectors = np.tanh(0.3 * (vectors + rng.normal(0, 1.5, vectors.shape))).astype("float32")
confirmed = irrigated & (rng.random(irrigated.shape) < 0.25)
y, x = np.indices(irrigated.shape)
tiles = pd.DataFrame(
    {
        "tile": [f"{a:02d}-{b:02d}" for a, b in zip(y.ravel(), x.ravel(), strict=True)],
        "scene": [f"{a // 5}-{b // 5}" for a, b in zip(y.ravel(), x.ravel(), strict=True)],
        "confirmed": confirmed.ravel(),
    }
)
print(f"{len(tiles):,} tiles with {length} numbers each; {confirmed.sum()} confirmed")

# %% [markdown]
# ## What share?
#
# Adjacent tiles are alike, so they do not count as independent: `group` keeps the tiles of a scene
# together, in folds and in intervals.

# %%
result = tb.fit(
    tiles,
    label="confirmed",
    id="tile",
    group="scene",
    read=tb.Read(embeddings=vectors.reshape(-1, length)),
    budget="fast",
)
print(f"truth {irrigated[~confirmed].mean():.3f}")
result.estimate

# %% [markdown]
# ## Where?
#
# Every tile has a probability, by models that never saw its scene. Here they are as a map, beside
# what was confirmed and the truth.

# %% tags=["thumbnail"]
chance = np.ones(irrigated.shape)
chance[~confirmed] = result.probabilities
figure, axes = plt.subplots(1, 3, figsize=(10, 3.1), layout="constrained")
maps = {"Confirmed": confirmed, "Probability": chance, "Truth": irrigated}
for axis, (name, values) in zip(axes, maps.items(), strict=True):
    shown = axis.imshow(values, cmap="YlGnBu", vmin=0, vmax=1)
    axis.set(title=name, xticks=[], yticks=[])
_ = figure.colorbar(shown, ax=axes, shrink=0.8, label="irrigated")

# %% [markdown]
# ## Can the probabilities be believed?
#
# Where the model says one half, about half of the tiles should be irrigated. Only a made region,
# or an audit, can show it.

# %%
bins = pd.cut(result.probabilities, [0, 0.05, 0.2, 0.5, 0.8, 0.95, 1], include_lowest=True)
checked = pd.DataFrame(
    {"bin": bins, "said": result.probabilities, "true": irrigated[~confirmed]}
).groupby("bin", observed=True)
table = checked.mean().round(2)
table.insert(0, "tiles", checked.size())
table

# %% [markdown]
# - **Vectors in files**: a .npy file beside the table, or a column of vectors in parquet:
#   [embeddings](../how-to/embeddings.md).
# - **Audit some tiles** to make the interval narrower:
#   [what two hundred audited tiles say](../how-to/image-tiles.md).
# - **Workers confirm what is near a road?** Then the confirmed tiles are not like the others:
#   [biased labels](biased.md).
#
# ## A sentence for the report

# %% tags=["sentence"]
low, high = result.estimate.interval
share = [(confirmed.sum() + end * (~confirmed).sum()) / irrigated.size for end in (low, high)]
print(
    f"Of {len(tiles):,} tiles, {confirmed.sum()} are confirmed as irrigated. Of the others, "
    f"{low:.1%} to {high:.1%} are irrigated too (95 % interval; tiles of one scene count "
    f"together), which makes {share[0]:.1%} to {share[1]:.1%} of the region."
)

# %% [markdown]
# And the truth:

# %%
print(f"{irrigated.mean():.1%} of the region")
