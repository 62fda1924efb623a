"""α under a prior over how classes overlap, learned from data sets whose truth is known.

With t the share of the positives above a cut and H(t) that of the negatives, a share
α·t + (1 − α)·H(t) of the unlabeled rows is above it. Counts alone cannot tell α from H, so every
estimator assumes something about H. BBE assumes that H is 0 for some t, a pure top bin. Here H is
drawn from a prior: the overlap of dozens of real data sets, cross-fitted, and curves between them.
α, H and counts were simulated twelve million times, and a small net learned the quantiles of α
given the counts (neural posterior estimation; Papamakarios & Murray, NeurIPS 2016). Only its
weights are needed here; bench/scripts/train_overlap.py makes them again.
"""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from topbin.core.checks import Floats
from topbin.core.errors import InputError
from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.core.evidence import VARIANCE_FACTOR
from topbin.core.posterior import LEVELS, AlphaPosterior
from topbin.core.tails import Tails, geometric_ranks
from topbin.mpe.bound import check_gamma

# Of the positives; the tails are read at the cuts that contain these shares of them.
SHARES = np.array(
    [
        0.003, 0.006, 0.01, 0.02, 0.03, 0.045, 0.065, 0.09, 0.12, 0.16, 0.2, 0.25, 0.31,
        0.37, 0.43, 0.5, 0.57, 0.64, 0.71, 0.78, 0.84, 0.89, 0.93, 0.96, 0.98, 1.0,
    ]
)  # fmt: skip
# The sizes for which the net was trained. More rows are read as if they were so many, which makes
# the answer a little wider than it need be; fewer say next to nothing.
SIZES_P, SIZES_U = (1.5, 1e5), (5.0, 1e6)
SPREADS = (1.0, VARIANCE_FACTOR)  # rows per independent row; of cross-fitted ones
# Quantiles nearer to 0 or 1 than half a row are 0 or 1.
HALF_A_ROW, NEAR_END = 0.5, 2e-5
WEIGHTS = "overlap.npz"
SHA256 = "a9287d19829035e2d85ceeea665fb6967e333e05dad48c9e859866cdad549373"
MIDDLE = LEVELS.index(0.5)
NEAR_ONE = float(np.log(0.998))
LIKELY = [LEVELS.index(level) for level in (0.025, 0.2, 0.5, 0.8, 0.975)]


def overlap(tails: Tails, *, effective: tuple[float, float] | None = None) -> AlphaEstimate:
    """Estimate α by the median of its posterior under the prior over overlap.

    `effective` says how many independent positives and unlabeled rows these are worth, if not as
    many as they are.

    >>> scores_p, scores_u = np.linspace(2, 3, 1000), np.linspace(1, 3, 2000)
    >>> round(overlap(Tails.from_scores(scores_p, scores_u)).alpha, 1)  # half score like positives
    0.5
    """
    posterior = alpha_posterior(tails, effective=effective)
    return AlphaEstimate(
        alpha=posterior.median,
        n_p=tails.n_p,
        n_u=tails.n_u,
        method="overlap",
        posterior=posterior,
        alarms=_unlike_prior(tails, Sizes.of(tails, effective), posterior),
    )


def alpha_posterior(
    tails: Tails,
    *,
    effective: tuple[float, float] | None = None,
    gamma: float = 1.0,
    net: "OverlapNet | None" = None,
) -> AlphaPosterior:
    """The posterior of α given these tails, by the net of this package or by another.

    With `gamma`, labeled positives need not be like the others: a bin with a share q of them may
    have any share from q/(q + Γ(1 − q)) to Γq/(Γq + 1 − q) of the hidden ones. Quantiles below the
    median are those of the largest shares, quantiles above it those of the smallest.

    >>> tails = Tails.from_scores(np.linspace(2, 3, 1000), np.linspace(1, 3, 2000))
    >>> plain, wide = (alpha_posterior(tails, gamma=g).interval(0.95) for g in (1.0, 2.0))
    >>> wide[0] < plain[0] < 0.5 < plain[1] < wide[1]
    True
    """
    check_gamma(gamma)
    tails.require_unlabeled()
    sizes = Sizes.of(tails, effective)
    net = net or load_net()
    own = _read(net, tails, sizes, 1.0)
    if gamma == 1:
        return AlphaPosterior(own)
    # A share of labeled positives varies, as a share of hidden ones, up to Γ times as much, so its
    # variance up to Γ² times. The worst cases of all cuts at once are no curve that classes can
    # have, so they are also read as cross-fitted scores, of whose curves the net is less sure.
    fewer = sizes._replace(n_p=max(SIZES_P[0], sizes.n_p / gamma**2))
    both = [fewer, fewer._replace(spread=SPREADS[1])]
    # Also those of Γ = 1, because a net need not widen where it reads of fewer rows.
    most, plain, least = (
        [_read(net, tails, one, g) for one in both] for g in (gamma, 1.0, 1 / gamma)
    )
    low, high = map(min, own, *most, *plain), map(max, own, *least, *plain)
    return AlphaPosterior((*[*low][:MIDDLE], own[MIDDLE], *[*high][MIDDLE + 1 :]))


class Sizes(NamedTuple):
    """The numbers of independent rows that the net reads, and how many rows there are for each."""

    n_p: float
    n_u: float
    spread: float = 1.0

    @classmethod
    def of(cls, tails: Tails, effective: tuple[float, float] | None) -> "Sizes":
        """At most as many as it was trained for."""
        n_p, n_u = (float(tails.n_p), float(tails.n_u)) if effective is None else effective
        return cls(_inside(n_p, SIZES_P), _inside(n_u, SIZES_U), _inside(tails.n_p / n_p, SPREADS))


def _inside(value: float, ends: tuple[float, float]) -> float:
    return min(ends[1], max(ends[0], value))


def _unlike_prior(tails: Tails, sizes: Sizes, posterior: AlphaPosterior) -> tuple[Alarm, ...]:
    """An alarm if no overlap of the prior explains the counts, for any likely α."""
    bins, net = tails.at(_bins(tails, SHARES)), load_net()
    alpha = np.array(posterior.quantiles)[LIKELY]
    off = misfit(bins.q_u, bins.q_p, sizes.n_p, sizes.n_u, alpha, net.curves)
    if off <= net.most_misfit:
        return ()
    message = (
        "the classes overlap unlike those of all data sets that the interval was learned from; "
        "trust the bound, and label a random sample."
    )
    return (Alarm("unlike-prior", message, "either"),)


def misfit(
    q_u: Floats, share_p: Floats, n_p: float, n_u: float, alpha: Floats, curves: Floats
) -> float:
    """How far shares of the unlabeled rows are from those of the nearest of these overlap curves.

    In standard deviations, at the cut where it is farthest; a tenth of what is expected there is
    allowed for curves between these.
    """
    place = np.clip(np.searchsorted(SHARES, share_p), 1, SHARES.size - 1)
    part = np.clip((share_p - SHARES[place - 1]) / (SHARES[place] - SHARES[place - 1]), 0, 1)
    h = (curves[:, place - 1] * (1 - part) + curves[:, place] * part)[:, None]
    a = np.maximum(alpha, HALF_A_ROW / n_u)[:, None]
    expected = a * share_p + (1 - a) * h
    spread = a * share_p * (1 - share_p) * (a / n_p + 1 / n_u) + (1 - a) * h * (1 - h) / n_u
    sd = np.sqrt(spread + (0.1 * expected) ** 2 + 1 / n_u**2)
    return float((np.abs(q_u - expected) / sd).max(axis=-1).min())


def _read(net: "OverlapNet", tails: Tails, sizes: Sizes, gamma: float) -> tuple[float, ...]:
    """The quantiles, if bins hold `gamma` times the odds of hidden positives as of labeled ones."""
    labeled = SHARES / (gamma + (1 - gamma) * SHARES)  # that hold these shares of the hidden ones
    bins = tails.at(_bins(tails, labeled))
    share = gamma * bins.q_p / (1 + (gamma - 1) * bins.q_p)
    one = (np.array([size]) for size in (sizes.n_p, sizes.n_u, sizes.spread))
    x, anchor = net_inputs(bins.q_u[None] * sizes.n_u, share[None], *one)
    found = net.quantiles(x, anchor, np.array([sizes.n_u]))[0]
    return tuple(map(float, found))


def _bins(tails: Tails, shares: Floats) -> Any:
    """For each share the smallest bin that contains as much of the positives, at a rank we read."""
    smaller_bins = np.searchsorted(tails.above_p[::-1], ranks_read(tails.n_p, shares))
    return np.maximum(tails.above_p.size - 1 - smaller_bins, 0)


def ranks_read(n_p: Any, shares: Floats = SHARES) -> Any:
    """The ranks of the bins that contain these shares of n_p positives, for one n_p or a column.

    They are geometric ranks, which thinned tails keep, so that these give the same answer.

    >>> ranks_read(100)[[0, 10, 15, -1]]                         # 0.3 %, 20 %, 50 % and all
    array([  1,  20,  50, 100])
    """
    grid = geometric_ranks(10**12)
    wanted = np.maximum(1, np.ceil(shares * n_p - 1e-9))
    return np.minimum(grid[np.searchsorted(grid, wanted)], n_p)


def net_inputs(
    above_u: Floats, share_p: Floats, n_p: Floats, n_u: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """What the net reads, one row per sample: log ratios and how sure they are; and an anchor.

    All ratios r are relative to the anchor, the least one plus 1.5 of its standard deviations: as
    log r, in standard deviations, and as log(1 − r), which tells large ones apart. The net says how
    far α is from the anchor, in logits.
    """
    n_p, n_u = n_p[:, None], n_u[:, None]
    ratio = np.log((above_u + 0.5) / (n_u + 1) / share_p)
    q = np.clip(share_p, 0, 1 - 1 / (n_p + 1))
    hidden = np.maximum(np.clip(np.exp(ratio), 1e-4, 1) * n_u, 1)
    # Of these very rows, with a fixed number of hidden positives: no binomial variance of α.
    sd = np.sqrt((1 - q) / q * (1 / n_p + 1 / hidden) + 1e-6)
    reached, rows = ratio + 1.5 * sd, np.arange(len(ratio))
    best = np.argmin(reached, axis=1)
    anchor = np.minimum(reached[rows, best], NEAR_ONE)
    off = ratio - anchor[:, None]
    x = np.column_stack(
        [
            off,
            np.arcsinh(off / sd),
            np.log1p(-np.exp(np.minimum(ratio, NEAR_ONE))) - np.log1p(-np.exp(anchor))[:, None],
            np.log(sd),
            np.log(share_p / SHARES),  # not 0 where scores are tied
            anchor,
            np.log(n_p),
            np.log(n_u),
            np.log(spread),
            np.log(sd[rows, best]),
            SHARES[best],
        ]
    )
    return x, anchor - np.log1p(-np.exp(anchor))


@dataclass(frozen=True, slots=True, eq=False)
class OverlapNet:
    """A net of dense layers, from inputs to the quantiles of α at `LEVELS`."""

    mean: Floats
    sd: Floats
    layers: tuple[tuple[Floats, Floats], ...]
    curves: Floats  # overlap curves at `SHARES`, of all kinds that the prior has
    most_misfit: float  # that one in two hundred samples of the prior exceeds

    def quantiles(self, x: Floats, anchor: Floats, n_u: Floats) -> Floats:
        """The quantiles of each row, ascending: softplus steps up and down from the median."""
        z = np.clip((x - self.mean) / self.sd, -8, 8)
        for weight, bias in self.layers[:-1]:
            z = z @ weight + bias
            z = z * expit(z)
        weight, bias = self.layers[-1]
        out = z @ weight + bias
        steps = np.logaddexp(0, out)
        middle = (anchor + out[:, MIDDLE])[:, None]
        down = np.cumsum(steps[:, :MIDDLE][:, ::-1], axis=1)[:, ::-1]
        up = np.cumsum(steps[:, MIDDLE + 1 :], axis=1)
        alpha = expit(np.column_stack([middle - down, middle, middle + up]))
        end = np.maximum(HALF_A_ROW / n_u, NEAR_END)[:, None]
        return np.where(alpha < end, 0.0, np.where(alpha > 1 - end, 1.0, alpha))

    @classmethod
    def from_bytes(cls, stored: bytes) -> "OverlapNet":
        """The net that `to_bytes` stored."""
        with np.load(BytesIO(stored), allow_pickle=False) as arrays:
            found = {name: arrays[name].astype(np.float64) for name in arrays.files}
        depth = sum(name.startswith("weight") for name in found)
        layers = tuple((found[f"weight{k}"], found[f"bias{k}"]) for k in range(depth))
        return cls(found["mean"], found["sd"], layers, found["curves"], float(found["most_misfit"]))

    def to_bytes(self) -> bytes:
        """Plain arrays of float32; the same net is always the same bytes."""
        named: dict[str, Any] = {"mean": self.mean, "sd": self.sd, "curves": self.curves}
        named["most_misfit"] = np.array(self.most_misfit)
        for k, (weight, bias) in enumerate(self.layers):
            named |= {f"weight{k}": weight, f"bias{k}": bias}
        file = BytesIO()
        small: dict[str, Any] = {name: array.astype(np.float32) for name, array in named.items()}
        np.savez(file, **small)
        return file.getvalue()


@cache
def load_net() -> OverlapNet:
    """The net of this package; TB110 if its file is not the one that was released."""
    file = files("topbin.mpe") / WEIGHTS
    stored = file.read_bytes() if file.is_file() else b""
    if sha256(stored).hexdigest() != SHA256:
        raise InputError(
            "TB110",
            f'"{file}" is not as it was released: it is missing, incomplete or was changed. '
            "Install topbin again. Until then there is no interval, only a point by another "
            'method: method="bbe_cp", confidence=None.',
        )
    return OverlapNet.from_bytes(stored)
