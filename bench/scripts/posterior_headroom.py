"""How near the net of `topbin.mpe.overlap` is to the exact posterior, and what other priors do.

    python bench/scripts/posterior_headroom.py page SCORES   # bench/results/posterior_headroom.md

The exact posterior weighs draws from the prior by the likelihood of the counts. That likelihood is
taken as normal: counts above cuts vary as a bridge does, and the shares of the positives there as
another. `SCORES` is a folder of crossfit_coverage.py with the part large.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from posterior import fold_of
from report import head, one_thread, save, table
from train_overlap import (
    GRID,
    Overlaps,
    Prior,
    Simulated,
    logit_of,
    shares_read,
    true_shares,
)

from topbin.core import LEVELS, Tails
from topbin.mpe import alpha_posterior, bbe, load_net

FEWEST = (
    0.035  # of the positives, between two cuts that are compared: below that no count is normal
)
MANY, SOME, BLOCK = 60_000, 20_000, 400  # draws from the prior
REGIMES = ((250, 250), (1000, 1000), (250, 2000), (1000, 5000), (2500, 3000))
SIZES = ((100, 1000), (300, 3000), (1000, 3000))  # of known positives and unlabeled rows
SPREAD = 1.3
PRIORS: dict[str, dict[str, object]] = {
    "as it is": {},
    "lower = 0": {"lower": 0.0},
    "lower = 0, uneven = .04": {"lower": 0.0, "uneven": 0.04},
    "half of the curves of any α and n_p": {"tied": 0.5},
    "40 % drawn curves": {"share_drawn": (0.6, 0.4)},
    "α = 0 or 1 twice as often": {"ends": 0.18},
    "lower = 0, 40 % drawn": {"lower": 0.0, "share_drawn": (0.6, 0.4)},
    "lower = 0, half of any α and n_p": {"lower": 0.0, "tied": 0.5},
}


class Size(NamedTuple):
    """The independent rows of a sample, and how many times as many rows there are."""

    n: float
    m: int
    spread: float

    def share(self, size: int = 1) -> np.ndarray:
        return shares_read(np.full(size, self.n), np.full(size, self.spread))


class Sample(NamedTuple):
    """Samples of one size: true α, overlaps, counts."""

    size: Size
    alpha: np.ndarray
    overlaps: Overlaps
    counts: Simulated

    @property
    def auc(self) -> np.ndarray:
        return 1 - np.trapezoid(self.overlaps.curves, GRID, axis=1)


def draw(prior: Prior, size: Size, alpha: np.ndarray, rng: np.random.Generator) -> Overlaps:
    one = np.ones(alpha.size)
    return prior.draw_overlaps(alpha, size.n * one, size.spread * one, rng)


def count(size: Size, alpha: np.ndarray, overlaps: Overlaps, rng: np.random.Generator) -> Sample:
    """Counts of samples that overlap so."""
    one, share = np.ones(alpha.size), size.share(alpha.size)
    hidden = np.rint(alpha * size.m).astype(np.int64)
    t = true_shares(size.n * one, share, rng)
    y = overlaps.counts(t, hidden, np.full(alpha.size, size.m), rng)
    sizes = (value * one for value in size)
    return Sample(size, hidden / size.m, overlaps, Simulated(y, share, *sizes, hidden / size.m))


# --- the exact posterior ---


def exact(
    prior: Prior, size: Size, counts: np.ndarray, rng: np.random.Generator, draws: int
) -> tuple[np.ndarray, float]:
    """The quantiles of α for each row of counts, and the median number of draws that weigh."""
    alpha = np.sort(np.rint(prior.draw_alpha(draws, rng) * size.m) / size.m)
    overlaps = draw(prior, size, alpha, rng)
    kept = _cuts(size)
    likely = np.concatenate([
        _log_likelihood(
            size, kept, alpha[a : a + BLOCK, None], Overlaps(*(x[a : a + BLOCK] for x in overlaps)),
            counts[:, kept] / size.m,
        )
        for a in range(0, draws, BLOCK)
    ])  # fmt: skip
    weight = np.exp(likely - likely.max(axis=0))
    weight /= weight.sum(axis=0)
    place = [np.searchsorted(np.cumsum(one), LEVELS).clip(0, draws - 1) for one in weight.T]
    return alpha[np.array(place)], float(np.median(1 / (weight**2).sum(axis=0)))


def _cuts(size: Size) -> np.ndarray:
    """The cuts that are compared: so far apart that counts between them are nearly normal."""
    kept, last = [], 0.0
    for k, share in enumerate(size.share()[0][:-1]):
        if share - last >= max(FEWEST, 5 / size.n):
            kept.append(k)
            last = share
    return np.array(kept)


def _log_likelihood(
    size: Size, kept: np.ndarray, alpha: np.ndarray, overlaps: Overlaps, q_u: np.ndarray
) -> np.ndarray:
    """Of each sample's shares of unlabeled rows (columns) for each draw from the prior (rows)."""
    s = size.share()[0][kept] * size.n / (size.n + 1)
    var = s * (1 - s) / (size.n + 1)
    step = np.minimum(0.3 * np.minimum(s, 1 - s), 0.5 * np.sqrt(var))
    at, after, before = (
        overlaps.above(np.tile(x, (alpha.size, 1))) for x in (s, s + step, s - step)
    )
    hidden, negative = at
    mixed = [alpha * own + (1 - alpha) * other for own, other in (after, at, before)]
    slope = (mixed[0] - mixed[2]) / (2 * step)
    bent = (mixed[0] - 2 * mixed[1] + mixed[2]) / step**2
    spread = slope[:, :, None] * slope[:, None, :] * _bridge(s[None]) / (size.n + 1)
    weight = alpha[:, :, None] / size.m
    spread = spread + weight * _bridge(hidden) + (1 / size.m - weight) * _bridge(negative)
    spread = spread + 0.3 / size.m**2 * np.eye(s.size)
    inverse = np.linalg.inv(np.linalg.cholesky(spread))
    off = q_u[None] - (mixed[1] + 0.25 * bent * var)[:, None]
    z = np.matmul(off, inverse.transpose(0, 2, 1))
    scale = np.log(np.einsum("nii->ni", inverse)).sum(axis=1)
    return scale[:, None] - (z**2).sum(axis=2) / 2


def _bridge(p: np.ndarray) -> np.ndarray:
    """The covariance of shares of one row above cuts, of which it is above each with p."""
    return np.minimum(p[:, :, None], p[:, None, :]) - p[:, :, None] * p[:, None, :]


# --- tables ---

COLUMNS = ["", "", "samples", "pinball loss", "error", "bias", "high < α", "low > α", "width/α"]
LEVEL = {level: LEVELS.index(level) for level in (0.025, 0.5, 0.975)}
SLIGHT = 1e-9


def row(name: str, who: str, found: np.ndarray, truth: np.ndarray, m: np.ndarray) -> list[object]:
    off = logit_of(truth, m)[:, None] - logit_of(found, m[:, None])
    loss = np.maximum(np.array(LEVELS) * off, (np.array(LEVELS) - 1) * off).mean()
    low, point, high = (found[:, k] for k in LEVEL.values())
    width = np.median(((high - low) / np.maximum(truth, SLIGHT))[truth > 0])
    return [
        name, who, truth.size, f"{loss:.4f}", f"{np.mean(abs(point - truth)):.4f}",
        f"{np.mean(point - truth):+.4f}", f"{np.mean(high < truth - SLIGHT):.3f}",
        f"{np.mean(low > truth + SLIGHT):.3f}", f"{width:.2f}",
    ]  # fmt: skip


def under_the_prior(samples: int = 400) -> list[list[object]]:
    """The net and the exact posterior, on samples of the prior itself."""
    prior, net, rows = Prior.load(), load_net(), []
    for n, m in REGIMES:
        for spread in (1.0, SPREAD):
            size, rng = Size(float(n), m, spread), np.random.default_rng([n, m])
            alpha = np.append(prior.draw_alpha(samples, rng), rng.uniform(0.7, 0.97, samples // 2))
            own = count(size, alpha, draw(prior, size, alpha, rng), rng)
            best, decide = exact(prior, size, own.counts.above_u, rng, MANY)
            answers = {
                "net": net.quantiles(*own.counts.inputs(), own.counts.n_u),
                f"exact ({decide:.0f} draws)": best,
            }
            high = np.arange(alpha.size) >= samples
            parts = {"all": ~high, "AUC > .95": ~high & (own.auc > 0.95),
                     "α .7–.97, AUC > .9": high & (own.auc > 0.9)}  # fmt: skip
            for part, at in parts.items():
                name = f"{n:,} / {m:,}, spread {spread:g}: {part}"
                rows += [
                    row(name, who, found[at], own.alpha[at], own.counts.n_u[at])
                    for who, found in answers.items()
                ]
    return rows


def left_out(samples: int = 60) -> Iterator[tuple[tuple[str, ...], Sample]]:
    """Counts from the curves of each fold's data sets, at their own α; hidden score like known."""
    whole, part = Prior.load(), fold_of(sorted(set(Prior.load().names)))
    for fold in sorted(set(part.values())):
        names = tuple(name for name, own in part.items() if own == fold)
        for n_p, n_u in SIZES:
            rng = np.random.default_rng([fold, n_p])
            rows = np.flatnonzero(np.isin(whole.names, names) & (whole.n_p == n_p))
            few = np.array([1 / np.sum(whole.names[rows] == name) for name in whole.names[rows]])
            rows = rng.choice(rows, min(samples, rows.size), replace=False, p=few / few.sum())
            one = np.ones((rows.size, 1))
            size = Size(n_p / SPREAD, round(n_u / SPREAD), SPREAD)
            yield names, count(size, whole.alpha[rows], Overlaps(whole.curves[rows], one, one), rng)


# The smallest and the largest α and AUC of samples that are shown together.
PARTS = {
    "all": (0.0, 1.0, 0.0, 1.0),
    "α ≤ .1": (0.0, 0.101, 0.0, 1.0),
    "α ≥ .7": (0.699, 1.0, 0.0, 1.0),
    "α ≥ .7, AUC > .88": (0.699, 1.0, 0.88, 1.0),
    "AUC > .98": (0.0, 1.0, 0.98, 1.0),
    "AUC < .7, α ≤ .5": (0.0, 0.501, 0.0, 0.7),
}


def of_other_priors() -> list[list[object]]:
    """Exact posteriors under other priors, whole data sets left out; the net has seen them all."""
    samples = list(left_out())
    truth, auc = (
        np.concatenate([getattr(own, what) for _, own in samples]) for what in ("alpha", "auc")
    )
    m = np.concatenate([own.counts.n_u for _, own in samples])
    found = {"the net (has seen them)": np.concatenate(
        [load_net().quantiles(*own.counts.inputs(), own.counts.n_u) for _, own in samples]
    )}  # fmt: skip
    for name, settings in PRIORS.items():
        found[name] = np.concatenate([
            exact(Prior.load(without=names, **settings), own.size, own.counts.above_u,
                  np.random.default_rng(0), SOME)[0]
            for names, own in samples
        ])  # fmt: skip
    return [
        row(part, name, each[at], truth[at], m[at])
        for part, (least, most, worst, best) in PARTS.items()
        for at in [(least <= truth) & (truth <= most) & (worst <= auc) & (auc <= best)]
        for name, each in found.items()
    ]


def of_fits(folder: Path) -> list[list[object]]:
    """Real cross-fits: where hidden positives score, and what net, exact posterior and BBE say."""
    rows = []
    for file in sorted((folder / "fast").glob("*-1000-3000-70.npz")):
        fit = np.load(file)
        truth = fit["truth"].astype(bool)
        tails = Tails.from_scores(fit["scores_p"], fit["scores_u"])
        own = alpha_posterior(tails, effective=(tails.n_p / SPREAD, tails.n_u / SPREAD)).quantiles
        known = np.sort(fit["scores_p"])
        above = 1 - (np.searchsorted(known, fit["scores_u"][truth]) + 0.5) / (known.size + 1)
        power = -np.log(np.mean(-np.log(above)))
        name, alpha, n_p, n_u, _ = file.stem.rsplit("-", 4)
        chance = np.sqrt(SPREAD * (1 / tails.n_p + 1 / truth.sum()))
        rows.append((f"α = {alpha}, {n_p} / {n_u}", power, chance, own[LEVEL[0.5]] - truth.mean(),
                     bbe(tails).alpha - truth.mean()))  # fmt: skip
    found = []
    for name in sorted({one[0] for one in rows}):
        power, chance, own, best = np.array([one[1:] for one in rows if one[0] == name]).T
        found.append([
            name, power.size, f"{power.mean():+.3f} ± {power.std() / power.size**0.5:.3f}",
            f"{power.std():.3f}", f"{chance.mean():.3f}", f"{abs(own).mean():.3f}",
            f"{own.mean():+.3f}", f"{abs(best).mean():.3f}", f"{best.mean():+.3f}",
        ])  # fmt: skip
    return found


FIT_COLUMNS = [
    "",
    "fits",
    "log power",
    "its sd",
    "by chance",
    "error",
    "bias",
    "of BBE",
    "its bias",
]


def main() -> None:
    one_thread()
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("verb", choices=("page",))
    options.add_argument("scores", type=Path, help="a folder of crossfit_coverage.py")
    given = options.parse_args()
    text = head(
        "The net against the exact posterior, and other priors",
        "python bench/scripts/posterior_headroom.py page scores",
    )
    text += f"{WORDS}## Under its own prior\n\n{table(COLUMNS, under_the_prior())}\n"
    text += f"## Other priors\n\n{OTHER_WORDS}{table(COLUMNS, of_other_priors())}\n"
    text += f"## Where hidden positives score\n\n{FIT_WORDS}"
    save("posterior_headroom.md", text + table(FIT_COLUMNS, of_fits(given.scores)))


WORDS = (
    "Intervals are said to be too wide where classes part, α̂ too low at α ≥ .7, and lower ends "
    "too high for weak data. Is it the net, which may not have learned its prior, or the prior? "
    "Here the net is held against the exact posterior under the same prior. *pinball loss* is "
    "what the net was trained by (in logits of α; less is better), *error* the mean of |α̂ − α|, "
    "*high < α* and *low > α* the misses of the ends of the 95 % interval, *width/α* a median.\n\n"
    "**At α ≥ .7 it is the prior.** Where classes part there, the bias of the exact posterior is "
    "within .006 of the net's in eight of ten settings, and lower by .010 and .016 in the other "
    "two. The exact posterior has clearly less to lose only for cross-fitted scores with about "
    "1,000 positives or more: there its loss is 4 to 10 % smaller, and 3 to 28 % where AUC > "
    ".95. With 2,500 positives its intervals miss more than twice as often as they should: few "
    "draws decide (their number is in brackets), and counts are only nearly normal. A larger net "
    "or a longer training can win at most that part, and what is won by knowing the curves of 63 "
    "data sets need not hold for others (second table).\n\n"
)
OTHER_WORDS = (
    "Counts are drawn from curves of data sets that the prior lacks (four folds), at their own "
    "α, with 100, 300 and 1,000 known positives; all but the first line of each part are exact "
    "posteriors. The net was trained on all these data sets, so its lines flatter it. What lifts "
    "α̂ at α ≥ .7 (hidden positives that score like known ones, more drawn curves) also lifts it "
    "where classes hardly part and it is too high already: the error there rises from .295 to "
    ".31 or .33. One setting is better at both: curves that are less tied to fits of a similar α "
    "and n_p. Where classes hardly part, 8 % of the lower ends are too high instead of 18 %, and "
    "where they part the error at α ≥ .7 is .037 instead of .040. Its price: at α ≥ .7 in all "
    "the error is .080 instead of .075, and intervals are a tenth wider.\n\n"
)
FIT_WORDS = (
    "Fits of sixteen data sets, the fast plan, 1,000 known positives and 3,000 unlabeled rows. "
    "The prior takes hidden positives to score lower by a power of t whose logarithm is .05·(1 − "
    "2α), give or take .06; that was measured with 100 and 300 positives at α ≤ .7. With 1,000 "
    "it is +.017 and −.023 instead of −.03 and −.04, and varies as by chance alone. *error* and "
    "*bias* are those of the net; these data sets are in its prior.\n\n"
)

if __name__ == "__main__":
    main()
