"""Speed of the score-level estimators against plain code written straight from the definitions."""

from collections.abc import Callable

import numpy as np
from report import best, head, one_thread, save, table
from samples import gaussians
from scipy.optimize import LinearConstraint, minimize
from scipy.special import bdtr, bdtrc, logit

from topbin import Tails
from topbin.mpe import alphamax, dedpul, elkan_noto, scott

ALPHA = 0.3
LARGE = 1_000_000


def plain_scott(scores_p: np.ndarray, scores_u: np.ndarray, delta: float = 0.1) -> float:
    """Both binomial limits by bisection of the binomial distribution, cut by cut."""
    n_p, n_u, best = scores_p.size, scores_u.size, 1.0
    for cut in scores_p:
        x, y = np.count_nonzero(scores_p >= cut), np.count_nonzero(scores_u >= cut)
        upper = 1.0 if y == n_u else largest(lambda q, y=y: bdtr(y, n_u, q) >= delta)
        lower = largest(lambda q, x=x: bdtrc(x - 1, n_p, q) <= delta)
        best = min(best, upper / lower)
    return best


def largest(holds: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return (low + high) / 2


def plain_dedpul(scores_p: np.ndarray, scores_u: np.ndarray) -> float:
    """Kernel sums over every pair, one median per window, EM and the grid over every row."""
    z_p, z_u = np.sort(logit(scores_p)), np.sort(logit(scores_u))
    width = 0.2 * z_p.std()
    ratio = np.array(
        [
            np.exp(-(((z - z_p) / width) ** 2) / 2).mean()
            / np.exp(-(((z - z_u) / width) ** 2) / 2).mean()
            for z in z_u
        ]
    )
    ratio = plain_rolling_median(ratio, 5)
    upper = z_u >= (z_p.mean() + z_u.mean()) / 2
    ratio[upper] = np.maximum.accumulate(ratio[upper])
    ratio = plain_rolling_median(ratio, z_u.size // 20)
    alpha, before = 1.0, 2.0
    while before - alpha > 1e-7:
        before, alpha = alpha, np.minimum(1, alpha * ratio).mean()
    grid = np.arange(1001) / 1000
    gap = np.array([a - np.minimum(1, a * ratio).mean() for a in grid])
    bend = np.where(gap[1:-1] < 0.05, np.diff(gap, 2), -np.inf)
    return float(alpha if ratio.mean() >= 1 else grid[1 + np.argmax(bend)])


def plain_rolling_median(values: np.ndarray, reach: int) -> np.ndarray:
    padded = np.pad(values, reach, mode="edge")
    return np.array([np.median(padded[i : i + 2 * reach + 1]) for i in range(values.size)])


def plain_alphamax(scores_p: np.ndarray, scores_u: np.ndarray) -> float:
    """The same elbow rule, with a general solver for each of the 299 convex problems."""
    n = min(scores_p.size, scores_u.size)
    p, w = plain_histograms(np.sort(scores_p), np.sort(scores_u), max(4, round(n ** (1 / 3))))
    c = 2 * (p.size - 1) * (1 / scores_p.size + 1 / scores_u.size)
    alphas = np.sin(np.pi / 600 * np.arange(1, 300)) ** 2
    f = np.append(np.zeros(30), [general_drop(p, w, alpha) for alpha in alphas])
    bend = (f[60:] - 2 * f[30:-30] + f[:-60]) / (f[30:-30] + c)
    return float(alphas[np.argmax(bend)])


def plain_histograms(p: np.ndarray, u: np.ndarray, bins: int) -> list[np.ndarray]:
    """Shares of both sorted samples in bins by the mean of a score's two ranks."""
    both = np.concatenate([p, u])
    ranks = [
        [np.searchsorted(s, both, side) / s.size for side in ("left", "right")] for s in (p, u)
    ]
    number = np.unique((np.mean(ranks, axis=(0, 1)) * bins).astype(int), return_inverse=True)[1]
    sides = number[: p.size], number[p.size :]
    counts = [np.maximum(np.bincount(side, minlength=number.max() + 1), 0.5) for side in sides]
    return [count / count.sum() for count in counts]


def general_drop(p: np.ndarray, w: np.ndarray, alpha: float) -> float:
    fits = np.minimum(alpha * p, w)
    return minimize(
        lambda v: -(p @ np.log(v / (alpha * p)) + w @ np.log((alpha * p + w - v) / w)),
        fits + (w - fits) * (alpha - fits.sum()) / (1 - fits.sum()),
        jac=lambda v: -(p / v - w / (alpha * p + w - v)),
        bounds=[(1e-12, share) for share in w],
        constraints=LinearConstraint(np.ones((1, p.size)), alpha, alpha),
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    ).fun


def plain_elkan_noto(scores_p: np.ndarray, scores_u: np.ndarray) -> float:
    c = sum(scores_p.tolist()) / scores_p.size
    return (1 - c) / c * scores_p.size / scores_u.size


def our_scott(scores_p: np.ndarray, scores_u: np.ndarray) -> float:
    return scott(Tails.from_scores(scores_p, scores_u)).alpha


CASES = [
    ("scott", 10_000, our_scott, plain_scott, 100),
    ("dedpul", 20_000, lambda p, u: dedpul(p, u).alpha, plain_dedpul, 20),
    ("alphamax", 20_000, lambda p, u: alphamax(p, u).alpha, plain_alphamax, None),
    ("elkan_noto", 20_000, lambda p, u: elkan_noto(p, u).alpha, plain_elkan_noto, None),
]


def against_plain() -> str:
    rows = []
    for name, n, ours, plain, target in CASES:
        scores = gaussians(ALPHA, n, n).scores()
        fast, answer = best(lambda call=ours, scores=scores: call(*scores), 5)
        slow, reference = best(lambda call=plain, scores=scores: call(*scores))
        rows.append(
            [name, f"{n:,}", f"{answer:.5f}", f"{reference:.5f}", f"{abs(answer - reference):.1e}",
             f"{fast:.4f}", f"{slow:.3g}", f"**{slow / fast:.0f}**" if slow > fast else
             f"{slow / fast:.1f}", f"≥ {target}" if target else "none"]
        )  # fmt: skip
    columns = ["method", "n_p = n_u", "our α̂", "plain α̂", "difference"]
    return table([*columns, "ours s", "plain s", "times faster", "target"], rows)


def at_scale() -> str:
    scores = gaussians(ALPHA, LARGE, LARGE, noise=0).scores()
    floor, _ = best(lambda: [np.sort(side) for side in scores], 3)
    tails = Tails.from_scores(*scores)
    calls = {name: lambda ours=ours: ours(*scores) for name, _, ours, _, _ in CASES}
    calls["scott, tails given"] = lambda: scott(tails).alpha
    rows = [["np.sort of both", "", f"{floor:.2f}", "1.0"]]
    for name, call in calls.items():
        seconds, answer = best(call, 3)
        rows.append([name, f"{answer:.5f}", f"{seconds:.2f}", f"{seconds / floor:.1f}"])
    return table(["method", "α̂", "seconds", "× np.sort"], rows)


def main() -> None:
    one_thread()
    text = head("Speed of the score-level estimators", "python bench/scripts/speed_scores.py")
    text += (
        f"Gaussians 4σ apart, α = {ALPHA}, scores p(labeled | x) in float64, one thread. Ours from "
        "raw scores, best of 5; plain once, in the same run. Plain means: a bisection per limit "
        "and cut (scott); kernel sums over all pairs, a median per window, EM and a grid over all "
        "rows (dedpul); a general solver (SLSQP) for each α (alphamax); a Python sum "
        "(elkan_noto).\n\n"
    )
    text += against_plain()
    text += f"\n{LARGE:,} + {LARGE:,} scores, best of 3, against sorting them:\n\n{at_scale()}"
    save("speed_scores.md", text)


if __name__ == "__main__":
    main()
