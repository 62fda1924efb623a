"""Train the net of `topbin.mpe.overlap`: simulate counts under a prior over overlap, and learn.

    python bench/scripts/train_overlap.py curves SCORES   # overlap curves of the fits in a folder
    python bench/scripts/train_overlap.py train           # from these curves to overlap.npz

`SCORES` is a folder of crossfit_coverage.py, with the parts fresh, check, calibrate, default, more
and sizes. The curves are committed (bench/results/overlap_curves.npz), so that `train` needs
nothing else; on one machine it gives the same bytes again.
"""

import argparse
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import torch
from crossfit_sets import CALIBRATED, CHECKED, FRESH, MORE
from report import RESULTS, ROOT, one_thread
from scipy.stats import norm
from sklearn.cluster import KMeans

from topbin.core import LEVELS
from topbin.mpe import (
    LIKELY,
    SHARES,
    SIZES_P,
    SIZES_U,
    SPREADS,
    OverlapNet,
    misfit,
    net_inputs,
    ranks_read,
)

CURVES = RESULTS / "overlap_curves.npz"
WEIGHTS = ROOT / "src" / "topbin" / "mpe" / "overlap.npz"
MIDDLE = LEVELS.index(0.5)
APART = 0.15  # of the drawn curves: no negative scores as high as any positive
# The shares t of the positives at which an overlap curve H(t) is kept.
GRID = np.concatenate([[0.0], np.geomspace(0.001, 0.5, 45), np.linspace(0.51, 1, 50)])


# --- overlap curves ---


def overlap_curve(scores_p: np.ndarray, scores_u: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The share of the negatives above the cut that contains a share t of all positives."""
    positives = np.sort(np.concatenate([scores_p, scores_u[truth]]))[::-1]
    negatives = np.sort(scores_u[~truth])
    ranks = np.arange(1, positives.size + 1)
    cuts = np.interp(GRID * (positives.size + 1), ranks, positives)
    share = 1 - np.searchsorted(negatives, cuts) / negatives.size
    share[0] = 0
    return smoothed(np.maximum.accumulate(share), positives.size, negatives.size)


def smoothed(curve: np.ndarray, n_pos: int, n_neg: int, width: float = 0.35) -> np.ndarray:
    """A curve without the noise of its own rows: local lines of probit(H) over probit(t).

    Where no negative was seen any more, the last line is continued. A curve of which fewer than
    three points are not 0 stays as it is.
    """
    t = GRID[1:-1]
    seen, x = curve[1:-1] * n_neg, norm.ppf(t)
    if (seen >= 0.5).sum() < 3:
        return curve
    h = np.clip((seen + 0.3) / (n_neg + 0.6), 1e-9, 1 - 1e-9)
    y = norm.ppf(h)
    own = h * (1 - h) / n_neg / norm.pdf(y) ** 2 + t * (1 - t) / n_pos / norm.pdf(x) ** 2
    weight = np.where(seen < 0.5, 0.0, 1 / own)
    empty = np.flatnonzero(seen < 0.5)
    if empty.size:
        weight[empty[-1]] = 0.3 / own[empty[-1]]
    weight[seen > n_neg - 0.5] *= 0.1
    line = np.array([_local_line(x, y, weight, at, width) for at in x])
    found = np.concatenate([[0.0], norm.cdf(line), curve[-1:]])
    return np.maximum.accumulate(found)


def _local_line(x: np.ndarray, y: np.ndarray, weight: np.ndarray, at: float, width: float) -> float:
    """The value of a line through the points nearby, more of them where they say too little."""
    for wide in (width, 2 * width, 4 * width, 9.0):
        w = weight * np.exp(-0.5 * ((x - at) / wide) ** 2)
        if w.sum() > 20:
            break
    mean_x, mean_y = (w @ x) / w.sum(), (w @ y) / w.sum()
    ridge = 0.02  # toward a slope of 1, that of equal variances
    slope = (w @ ((x - mean_x) * (y - mean_y)) / w.sum() + ridge) / (
        w @ (x - mean_x) ** 2 / w.sum() + ridge
    )
    return float(mean_y + np.clip(slope, 0.5, 4) * (at - mean_x))


def keep_curves(folder: Path) -> None:
    """Read the fits of all data sets of the prior, and keep their curves."""
    prior = CALIBRATED | CHECKED | FRESH | MORE
    names, curves, about = [], [], []
    for file in sorted(folder.glob("*/*[0-9].npz")):
        name, alpha, n_p = file.stem.rsplit("-", 4)[:3]
        if name in prior:
            fit = np.load(file)
            truth = fit["truth"].astype(bool)
            names.append(name)
            about.append((float(alpha), int(n_p)))
            curves.append(overlap_curve(fit["scores_p"], fit["scores_u"], truth))
    kept = np.round(np.array(curves) * 65535).astype(np.uint16)
    alpha, n_p = np.array(about).T
    np.savez_compressed(CURVES, names=np.array(names), curves=kept, alpha=alpha, n_p=n_p)
    print(f"{len(names):,} curves of {len(set(names))} data sets, {CURVES.stat().st_size:,} bytes")


def drawn_curves(size: int, rng: np.random.Generator) -> np.ndarray:
    """Curves that no data set has: unequal variances, hard negatives, two kinds of positives."""
    t, found = np.clip(GRID, 1e-9, 1 - 1e-9), []

    def normal(distance: float, ratio: float = 1.0) -> np.ndarray:
        return norm.cdf(ratio * norm.ppf(t) - distance)

    for kind in rng.integers(0, 3, size):
        if kind == 0:
            near = rng.random() < 0.4  # classes that hardly part
            curve = normal(
                rng.uniform(0, 1) if near else rng.uniform(0.5, 6), np.exp(rng.normal(0.1, 0.4))
            )
        elif kind == 1:
            hard = rng.beta(1, 12)
            curve = (1 - hard) * normal(rng.uniform(1, 5)) + hard * normal(rng.uniform(0, 2))
        else:
            easy, z = rng.uniform(0.1, 0.9), np.linspace(-8, 12, 2001)
            kept = easy * norm.sf(z - rng.uniform(2.5, 6))
            kept = kept + (1 - easy) * norm.sf(z - rng.uniform(0.2, 2))
            curve = np.interp(t, kept[::-1], norm.sf(z)[::-1])
        curve = np.maximum.accumulate(np.clip(curve, 0, 1))
        curve[0] = 0
        found.append(curve * (rng.random() > APART))
    return np.array(found)


# --- the prior, and counts that follow from it ---


class Simulated(NamedTuple):
    """Counts above the cuts, shares of the positives there, sizes, and the true α of the rows."""

    above_u: np.ndarray
    share_p: np.ndarray
    n_p: np.ndarray
    n_u: np.ndarray
    spread: np.ndarray
    alpha: np.ndarray

    def inputs(self) -> tuple[np.ndarray, np.ndarray]:
        """What the net reads."""
        return net_inputs(*self[:5])


@dataclass(frozen=True)
class Prior:
    """Overlap curves by data set, and how α, sizes and curves are drawn."""

    names: np.ndarray
    curves: np.ndarray
    alpha: np.ndarray  # of the fit that has this curve
    n_p: np.ndarray
    drawn: np.ndarray
    # Of scores that users bring, and of cross-fitted ones: the former can overlap in any way, the
    # latter as those of the data sets.
    share_drawn: tuple[float, float] = (0.6, 0.25)
    apart: float = 0.2  # of scores that users bring: no negative scores as high as any positive
    near: tuple[float, float] = (0.8, 0.8)  # how alike fits are, in logits of α and in log n_p
    tied: float = 1.0
    warp: float = 0.12
    uniform: float = 0.85  # of α; the others are uniform in log α
    ends: float = 0.09  # α is 0 or 1
    ties: float = 0.06  # positives have few distinct scores
    lower: float = 0.05  # log of the power by which hidden positives score lower, if cross-fitted
    uneven: float = 0.06  # the same by chance

    @classmethod
    def load(cls, without: tuple[str, ...] = (), seed: int = 0, **settings: float) -> "Prior":
        kept = np.load(CURVES)
        inside = ~np.isin(kept["names"], without)
        drawn = drawn_curves(1500, np.random.default_rng(seed))
        found = (kept[name][inside] for name in ("names", "curves", "alpha", "n_p"))
        names, curves, alpha, n_p = found
        return cls(names, curves / 65535, alpha, n_p, drawn, **settings)

    @cached_property
    def by_set(self) -> list[np.ndarray]:
        return [np.flatnonzero(self.names == name) for name in np.unique(self.names)]

    @cached_property
    def pool(self) -> np.ndarray:
        return np.concatenate([self.curves, self.drawn])

    def draw_curves(
        self, alpha: np.ndarray, n: np.ndarray, brought: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Numbers of curves: every data set is as likely as any other.

        Of its fits, those with a similar α and a similar number of positives are more likely,
        because models learn less from few positives, and from unlabeled rows that are positive.
        """
        found = len(self.curves) + rng.integers(0, len(self.drawn), alpha.size)
        free = rng.random(alpha.size) >= self.tied
        sets = rng.integers(0, len(self.by_set), alpha.size)
        real = rng.random(alpha.size) >= np.where(brought, *self.share_drawn)
        for number, own in enumerate(self.by_set):
            rows = np.flatnonzero((sets == number) & real)
            off = (logit(alpha[rows])[:, None] - logit(self.alpha[own])) / self.near[0]
            far = np.log(n[rows][:, None] / self.n_p[own]) / self.near[1]
            weight = np.where(free[rows][:, None], 1.0, np.exp(-(off**2 + far**2) / 2) + 1e-12)
            below = np.cumsum(weight, axis=1)
            place = (below < rng.random((rows.size, 1)) * below[:, -1:]).sum(axis=1)
            found[rows] = own[place]
        return found

    def draw_alpha(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """So many values of α."""
        alpha = np.where(rng.random(size) < self.uniform, rng.random(size),
                         np.exp(rng.uniform(np.log(0.0005), 0, size)))  # fmt: skip
        return np.where(rng.random(size) < self.ends, rng.integers(0, 2, size), alpha)

    def draw_overlaps(
        self, alpha: np.ndarray, n: np.ndarray, spread: np.ndarray, rng: np.random.Generator
    ) -> "Overlaps":
        """How classes overlap, for samples of these α, sizes and spreads."""
        brought, size = spread == 1, alpha.size
        own = self.pool[self.draw_curves(alpha, n, brought, rng)]
        own = own * ~(brought & (rng.random(size) < self.apart))[:, None]
        warp = np.exp(rng.normal(0, self.warp, (size, 1)))
        # Unlabeled positives train models as negatives do, so those that are held out score lower.
        lower = self.lower * (1 - 2 * alpha) + rng.normal(0, self.uneven, size)
        return Overlaps(own, warp, np.exp(np.where(spread > 1, lower, 0.0))[:, None])

    def simulate(self, size: int, rng: np.random.Generator) -> "Simulated":
        """Counts of so many samples."""
        n = np.exp(rng.uniform(*np.log(SIZES_P), size))
        m = np.maximum(1, np.exp(rng.uniform(*np.log(SIZES_U), size)).round()).astype(np.int64)
        alpha = self.draw_alpha(size, rng)
        spread = np.where(rng.random(size) < 0.5, SPREADS[1], SPREADS[0])
        share = shares_read(n, spread)
        t = true_shares(n, share, rng)
        hidden = np.rint(alpha * m).astype(np.int64)
        y = self.draw_overlaps(alpha, n, spread, rng).counts(t, hidden, m, rng)
        for i in np.flatnonzero(rng.random(size) < self.ties):
            ends = np.append(np.sort(rng.choice(SHARES.size, rng.integers(1, 8))), SHARES.size - 1)
            to = ends[np.searchsorted(ends, np.arange(SHARES.size))]
            y[i], share[i] = y[i][to], share[i][to]
        return Simulated(y, share, n, m.astype(float), spread, hidden / m)


class Overlaps(NamedTuple):
    """Curves, how each is bent, and the powers of t that say where hidden positives score."""

    curves: np.ndarray
    warp: np.ndarray
    power: np.ndarray

    def above(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The shares of hidden positives and of negatives above cuts with these shares of known."""
        return t**self.power, _along(self.curves, t**self.warp)

    def counts(
        self, t: np.ndarray, hidden: np.ndarray, m: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Of m unlabeled rows, how many fall above each cut."""
        numbers = hidden, m - hidden
        return sum(_rows_above(*one, rng) for one in zip(numbers, self.above(t), strict=True))


def shares_read(n: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """The shares of the known positives at the ranks that are read."""
    rows = (spread * n).round().clip(1)
    return ranks_read(rows[:, None]) / rows[:, None]


def true_shares(n: np.ndarray, share: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What shares of all positives are above the cuts at these sampled ranks."""
    t = np.cumsum(rng.gamma(np.maximum(np.diff(n[:, None] * share, prepend=0), 1e-9)), axis=1)
    return t / (t[:, -1:] + rng.gamma(np.ones((n.size, 1))))


def _along(curves: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The values of these curves, one per row, at the places of that row."""
    place = np.searchsorted(GRID, t, side="right").clip(1, GRID.size - 1)
    part = ((t - GRID[place - 1]) / (GRID[place] - GRID[place - 1])).clip(0, 1)
    below, above = (np.take_along_axis(curves, place - k, axis=1) for k in (1, 0))
    return below * (1 - part) + above * part


def logit(alpha: np.ndarray) -> np.ndarray:
    """In which α near 0 and near 1 are told apart, to a hundredth."""
    kept = np.clip(alpha, 0.01, 0.99)
    return np.log(kept / (1 - kept))


def _rows_above(count: np.ndarray, above: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Of so many rows, how many fall above each cut."""
    rings = np.diff(above, axis=1, prepend=0, append=1).clip(0)
    drawn = rng.multinomial(count, rings / rings.sum(axis=1, keepdims=True))
    return np.cumsum(drawn, axis=1)[:, :-1].astype(float)


# --- the net ---


class Quantiles(torch.nn.Module):
    """The net as torch trains it; `OverlapNet` is what it becomes."""

    def __init__(self, mean: torch.Tensor, sd: torch.Tensor, hidden: int, depth: int = 3) -> None:
        super().__init__()
        sizes = [len(mean), *[hidden] * depth, len(LEVELS)]
        self.layers = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in pairwise(sizes))
        self.mean, self.sd = mean, sd

    def forward(self, x: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
        z = ((x - self.mean) / self.sd).clip(-8, 8)
        for layer in self.layers[:-1]:
            z = torch.nn.functional.silu(layer(z))
        out = self.layers[-1](z)
        steps = torch.nn.functional.softplus(out)
        middle = (anchor + out[:, MIDDLE])[:, None]
        down = torch.cumsum(steps[:, :MIDDLE].flip(1), 1).flip(1)
        up = torch.cumsum(steps[:, MIDDLE + 1 :], 1)
        return torch.cat([middle - down, middle, middle + up], 1)

    def plain(self) -> OverlapNet:
        layers = tuple(
            (
                layer.weight.detach().numpy().T.astype(float),
                layer.bias.detach().numpy().astype(float),
            )
            for layer in self.layers
        )
        scale = self.mean.numpy().astype(float), self.sd.numpy().astype(float)
        return OverlapNet(*scale, layers, np.zeros((1, SHARES.size)), np.inf)


def logit_of(alpha: np.ndarray, m: np.ndarray) -> np.ndarray:
    """What the net learns: α in logits, none and all a quarter of a row away from 0 and 1."""
    end = np.maximum(0.25 / m, 1e-5)
    kept = np.clip(alpha, end, 1 - end)
    return np.log(kept / (1 - kept)).astype(np.float32)


def train(
    prior: Prior, *, rounds: int = 60, size: int = 200_000, passes: int = 2, hidden: int = 136,
    batch: int = 2048, seed: int = 0, tell: bool = True,
) -> OverlapNet:  # fmt: skip
    """Learn quantiles by the pinball loss, from new simulations in each round."""
    began, rng = process_time(), np.random.default_rng(seed)
    torch.manual_seed(seed)
    levels, net = torch.tensor(LEVELS), None
    for number in range(rounds):
        drawn = prior.simulate(size, rng)
        z = torch.tensor(logit_of(drawn.alpha, drawn.n_u))
        x, anchor = (torch.tensor(one, dtype=torch.float32) for one in drawn.inputs())
        if net is None:
            net = Quantiles(x.mean(0), x.std(0) + 1e-3, hidden)
            optimizer = torch.optim.AdamW(net.parameters(), weight_decay=1e-4)
            steps = rounds * passes * (size // batch) + 1
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
        for _ in range(passes):
            for rows in torch.randperm(size)[: size // batch * batch].split(batch):
                off = z[rows][:, None] - net(x[rows], anchor[rows])
                loss = torch.maximum(levels * off, (levels - 1) * off).mean()
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                schedule.step()
        if tell:
            sys.stderr.write(f"round {number}: {loss:.4f}, {process_time() - began:.0f} CPU s\n")
    return net.plain()


def with_check(net: OverlapNet, prior: Prior, *, curves: int = 256, size: int = 4000) -> OverlapNet:
    """The net with curves of all kinds, and the misfit that one in two hundred samples exceeds."""
    pool = np.array([np.interp(SHARES, GRID, curve) for curve in prior.pool])
    near = KMeans(curves, n_init=1, random_state=0).fit(norm.ppf(np.clip(pool, 1e-4, 1 - 1e-4)))
    net = replace(net, curves=norm.cdf(near.cluster_centers_))
    drawn = prior.simulate(size, np.random.default_rng(1))
    q_u, likely = drawn.above_u / drawn.n_u[:, None], net.quantiles(*drawn.inputs(), drawn.n_u)
    counts = q_u, drawn.share_p, drawn.n_p, drawn.n_u, likely[:, LIKELY]
    found = [misfit(*one, net.curves) for one in zip(*counts, strict=True)]
    return replace(net, most_misfit=float(np.quantile(found, 0.995)))


def main() -> None:
    one_thread()
    torch.set_num_threads(1)
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("verb", choices=("curves", "train"))
    options.add_argument("scores", type=Path, nargs="?", help="for curves: a folder of scores")
    given = options.parse_args()
    if given.verb == "curves":
        keep_curves(given.scores)
        return
    prior = Prior.load()
    stored = with_check(train(prior), prior).to_bytes()
    WEIGHTS.write_bytes(stored)
    print(
        f"{WEIGHTS}: {len(stored):,} bytes; SHA256 in mpe/overlap.py: {sha256(stored).hexdigest()}"
    )


if __name__ == "__main__":
    main()
