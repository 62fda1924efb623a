"""DEDPUL: α and posteriors from the ratio of two estimated score densities.

Ivanov, "DEDPUL: Difference-of-Estimated-Densities-based Positive-Unlabeled Learning", ICMLA 2020
(arXiv 1902.06965).
"""

from typing import Any, Literal

import numpy as np
from scipy.ndimage import gaussian_filter1d, median_filter

from topbin.core import AlphaEstimate, InputError
from topbin.core.checks import Floats, Scores, check_above_zero, check_fraction, check_scores

Rule = Literal["auto", "em", "bend"]

BANDWIDTH = 0.2  # in standard deviations of the positives
FINE = 16  # grid points per bandwidth
REACH = 6  # bandwidths after which the kernel is zero
ROUNDING = 1e-9  # any number above the errors of rounding
STEPS = 1000  # values of α that are tried; far finer than its error
FAR = 0.05  # a bend counts only where the gap is smaller


def dedpul(
    scores_p: Any, scores_u: Any, *, rule: Rule = "auto", bandwidth: float = BANDWIDTH
) -> AlphaEstimate:
    """Estimate α from r = p_p/p_u, the density ratio at the unlabeled scores.

    A row is positive with probability min(1, α r), so α should be the mean of that:
    D(α) = α − mean min(1, α r) is zero up to the true α if r is exact, and grows after it.

    "em"    the limit of EM that starts at α = 1 and sets α to the mean posterior: the largest root
            of D. If mean r < 1 the only root is 0, which says nothing, and is refused.
    "bend"  the sharpest bend of D: its largest second difference over steps of 0.001, where
            D < 0.05.
    "auto"  em if D has a root above 0, else bend: the default, as in the paper.

    On 2,000 + 2,000 rows of Gaussians 4σ apart, scored by Bayes' rule, auto errs by less than .02;
    em has no answer in up to half of the samples, and bend errs by up to .3 where α is large.
    With 100 positives and overlapping classes auto errs by up to .45.

    Parameters
    ----------
    scores_p, scores_u
        Scores of the known positives and of the unlabeled rows; higher is more positive.
    rule
        "auto", "em" or "bend".
    bandwidth
        Of both kernels, in standard deviations of the positives.

    Returns
    -------
    AlphaEstimate
        α, without an interval.

    Examples
    --------
    >>> dedpul(np.ones(1000), np.repeat([1.0, 0.0], 500)).alpha  # half score like positives
    0.5
    """
    scores_p, scores_u = check_scores(scores_p, "scores_p"), check_scores(scores_u, "scores_u")
    _, ratio = density_ratio(scores_p, scores_u, bandwidth=bandwidth)
    alpha, note = _solve(ratio, rule)
    return AlphaEstimate(
        alpha=alpha, n_p=scores_p.size, n_u=scores_u.size, method="dedpul", notes=(note,)
    )


def dedpul_posterior(
    scores_p: Any,
    scores_u: Any,
    *,
    at: Any = None,
    alpha: float | None = None,
    rule: Rule = "auto",
    bandwidth: float = BANDWIDTH,
) -> Floats:
    """The probability of being positive, min(1, α r), of each unlabeled score in its given order.

    Equal scores get equal probabilities, higher scores no smaller ones.

    Parameters
    ----------
    scores_p, scores_u
        Scores of the known positives and of the unlabeled rows; higher is more positive.
    at
        Other scores of the same scorer to ask for instead; between unlabeled scores the ratio is
        interpolated.
    alpha
        The share, if it is known; None: it is estimated.
    rule, bandwidth
        As in `dedpul`.

    Returns
    -------
    ndarray
        One probability per score.

    Examples
    --------
    >>> dedpul_posterior(np.ones(1000), np.repeat([1.0, 0.0], 500))[[0, -1]]
    array([1., 0.])
    """
    sorted_u, ratio = density_ratio(scores_p, scores_u, bandwidth=bandwidth)
    if alpha is None:
        alpha, _ = _solve(ratio, rule)
    check_fraction(alpha, "alpha", low_open=False, high_open=False)
    wanted = check_scores(scores_u if at is None else at, "at", allow_empty=at is not None)
    return capped(alpha, np.interp(wanted, *without_ties(sorted_u, ratio)))


def capped(alpha: float, ratio: Floats) -> Floats:
    """min(1, α r), the probability of being positive where the density ratio is r."""
    return np.minimum(1.0, alpha * ratio)


def without_ties(sorted_u: Floats, ratio: Floats) -> tuple[Floats, Floats]:
    """The distinct scores and the density ratio at each."""
    distinct, first = np.unique(sorted_u, return_index=True)
    return distinct, ratio[first]


def density_ratio(
    scores_p: Any, scores_u: Any, *, bandwidth: float = BANDWIDTH
) -> tuple[Floats, Floats]:
    """The sorted unlabeled scores and p_p/p_u at each, smoothed and rising as in the paper.

    Both densities are Gaussian kernel estimates, of logits if all scores lie in [0, 1] and of the
    scores themselves if not. A rolling median removes spikes; above the midpoint of both means
    the ratio must not fall; a wide rolling median and a final sort make it rise throughout.

    Unlike the paper, one `bandwidth` serves both densities, in standard deviations of the
    positives: then the smoothed densities are still mixtures with the same α, and ties stay exact.
    """
    p = np.sort(check_scores(scores_p, "scores_p").astype(np.float64))
    u = np.sort(check_scores(scores_u, "scores_u").astype(np.float64))
    if check_above_zero(bandwidth, "bandwidth") < 0.01:
        raise InputError("TB008", f"bandwidth must be at least 0.01; got {bandwidth!r}.")
    z_p, z_u = _spread_out(p, u)
    ratio = _kernel_ratio(z_p, z_u, bandwidth)
    ratio = _rolling_median(ratio, 5)
    upper = np.searchsorted(z_u, (z_p.mean() + z_u.mean()) / 2)
    ratio[upper:] = np.maximum.accumulate(ratio[upper:])
    ratio = np.sort(_rolling_median(ratio, u.size // 20))
    return u, _level_ties(u, ratio)


def _spread_out(p: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Logits of probabilities; other scores are only divided by a factor.

    >>> [z.round(2) for z in _spread_out(np.array([0.5, 1.0]), np.array([0.0]))]
    [array([0.  , 1.39]), array([-1.39])]
    """
    low, high = min(p[0], u[0]), max(p[-1], u[-1])
    if low < 0 or high > 1:
        size = max(-low, high)  # squares of huge or tiny scores would leave the range of floats
        return p / size, u / size
    both = np.concatenate([p, u])
    # 0 and 1 have no logit: they are put at half the distance of the score closest to them.
    floor = 0.5 * both.min(initial=1.0, where=both > 0)
    ceiling = 0.5 * (1 - both).min(initial=1.0, where=both < 1)
    z = np.log(np.maximum(both, floor)) - np.log(np.maximum(1 - both, ceiling))
    return z[: p.size], z[p.size :]


def _kernel_ratio(z_p: Floats, z_u: Floats, bandwidth: float) -> Floats:
    """p_p/p_u at z_u: counts on a grid around the positives, smoothed by the same kernel."""
    width = bandwidth * (_deviation(z_p) or _deviation(np.sort(np.concatenate([z_p, z_u]))))
    if width == 0:
        return np.ones(z_u.size)  # every score is the same
    low = z_p[0] - 2 * REACH * width
    size = int((z_p[-1] - low) / width + 2 * REACH) * FINE + 2
    where = (z_u - low) / width * FINE
    near = (where >= 0) & (where <= size - 1)
    density_p, density_u = (_smooth((z - low) / width * FINE, size) / z.size for z in (z_p, z_u))
    ratio = np.zeros(z_u.size)  # beyond the kernel's reach no positive scores
    grid = np.arange(size)
    ratio[near] = np.interp(where[near], grid, density_p) / np.interp(where[near], grid, density_u)
    return ratio


def _deviation(z: Floats) -> float:
    """The standard deviation of sorted values; exactly 0 if they are equal, rounding or not."""
    return float(z.std()) if z[0] < z[-1] else 0.0


def _smooth(where: Floats, size: int) -> Floats:
    """Share each point between its two neighbors on the grid, then blur."""
    where = where[(where >= 0) & (where <= size - 1)]
    left = np.minimum(where.astype(np.int64), size - 2)
    share = where - left
    counts = np.bincount(left, 1 - share, size) + np.bincount(left + 1, share, size)
    return np.asarray(gaussian_filter1d(counts, FINE, mode="constant", truncate=REACH))


def _rolling_median(ratio: Floats, reach: int) -> Floats:
    size = 2 * min(reach, (ratio.size - 1) // 2) + 1
    return np.asarray(median_filter(ratio, size=size, mode="nearest"))


def _level_ties(scores: Scores, ratio: Floats) -> Floats:
    """Give equal scores the mean of their ratios, which rise."""
    _, first, size = np.unique(scores, return_index=True, return_counts=True)
    level = np.maximum.accumulate(np.add.reduceat(ratio, first) / size)  # against rounding
    return np.repeat(level, size)


def _solve(ratio: Floats, rule: Rule) -> tuple[float, str]:
    if rule not in ("auto", "em", "bend"):
        raise InputError("TB008", f"rule must be 'auto', 'em' or 'bend'; got {rule!r}.")
    if ratio[-1] == 0:
        return 0.0, "no unlabeled score lies near a positive one"
    root = _largest_root(ratio)
    if rule == "em" and root is None:
        raise InputError(
            "TB014",
            f"EM only finds α = 0, as the density ratio averages {ratio.mean():.3g}, below 1. "
            "Use rule='auto' or rule='bend'.",
        )
    if root is not None and rule != "bend":
        return root, "α is the mean posterior (EM)"
    return _sharpest_bend(ratio), "α is the sharpest bend of D"


def _largest_root(ratio: Floats) -> float | None:
    """The limit of EM in closed form, for a sorted ratio: the largest α with D(α) = 0.

    With t = 1/α the root is the smallest t ≥ 1 with mean min(r, t) = 1. That mean is linear in t
    between neighboring ratios, so cumulative sums show the piece and the piece shows t.
    """
    n = ratio.size
    below = np.cumsum(ratio) - ratio
    enough = (below + (n - np.arange(n)) * ratio) / n >= 1 - ROUNDING
    if not enough.any():
        return None
    i = int(np.argmax(enough))
    t = (n - float(below[i])) / (n - i)
    return 1 / max(1.0, t)


def _sharpest_bend(ratio: Floats) -> float:
    alphas = np.arange(STEPS + 1) / STEPS
    # The mean of min(1, α r) for a sorted ratio, of which the first `free` are not cut to 1.
    free = np.searchsorted(ratio, 1 / np.maximum(alphas, np.finfo(float).tiny))
    total = np.concatenate([[0.0], np.cumsum(ratio)])
    gap = alphas - (alphas * total[free] + ratio.size - free) / ratio.size
    bend = np.where(gap[1:-1] < FAR, np.diff(gap, 2), 0.0)
    # Without a bend no posterior is cut off at 1 before α is.
    return float(alphas[1 + np.argmax(bend)]) if bend.max() > ROUNDING else 1.0
