"""Coverage and width of the bound and the interval, where they hold and where they do not."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
from pathlib import Path
from time import process_time

import numpy as np
from machine import head, save, table
from scipy.special import betaincinv

from topbin.core import Tails
from topbin.mpe import calibration
from topbin.mpe.bbe_cp import at_ranks, bbe_cp, geometric_ranks
from topbin.mpe.intervals import interval, upper_bound

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from roc_models import MODELS, draw_tails  # the same models that the tests use

SIZES = ((30, 300), (100, 1000), (1000, 1000), (1000, 10_000), (10_000, 100_000))
ALPHAS = (0.01, 0.05, 0.3, 0.7, 0.95)
REPEATS = 400
TARGET = 0.93
COSTS = ((10, 100), (1000, 10_000), (10**6, 10**6), (10**7, 10**8), (100, 10**8), (10**6, 100))


def smallest_limit(tails: Tails) -> float:
    """A plainer lower end: the smallest limit of the bins from n_p/10 or a quarter of the best."""
    read = at_ranks(tails, geometric_ranks(tails.n_p))
    x, y = read.above_p, read.above_u
    coarse = at_ranks(tails, calibration.calibrated_ranks(tails.n_p))
    high = np.array([upper_bound(tails, 0.975)])
    best = coarse.above_p[np.argmin(calibration.cut_deviations(coarse, high))]
    share = np.where(y > 0, betaincinv(np.maximum(y, 1), x + 1, 0.025), 0.0)
    limits = tails.n_p / tails.n_u * share / (1 - share)
    return float(limits[x >= min(tails.n_p, max(5, min(best / 4, tails.n_p / 10)))].min())


def measure(model: str, n_p: int, n_u: int, alpha: float) -> dict[str, float]:
    found = []
    for tails in draw_tails(model, n_p, n_u, alpha, repeats=REPEATS, seed=1):
        ends = [interval(tails, level) for level in (0.9, 0.95, 0.99)]
        plain = min(smallest_limit(tails), ends[1][1])
        found.append([*np.ravel(ends), upper_bound(tails), bbe_cp(tails).alpha, plain])
    low90, high90, low, high, low99, high99, bound, point, plain = np.transpose(found)
    return {
        "90": np.mean((low90 <= alpha) & (alpha <= high90)),
        "95": np.mean((low <= alpha) & (alpha <= high)),
        "99": np.mean((low99 <= alpha) & (alpha <= high99)),
        "low": np.mean(low > alpha),
        "high": np.mean(high < alpha),
        "bound": np.mean(bound < alpha),
        "mean low": low.mean(),
        "mean high": high.mean(),
        "mean bound": bound.mean(),
        "inside": np.mean((low <= point) & (point <= high)),
        "plain low": np.mean(plain > alpha),
        "plain": np.mean((plain <= alpha) & (alpha <= high)),
        "plain mean": plain.mean(),
    }


def by_model(cells: dict) -> str:
    rows = []
    for model in MODELS:
        own = {key: found for key, found in cells.items() if key[0] == model and key[1] >= 100}
        covered = np.array([found["95"] for found in own.values()])
        plain = np.array([found["plain"] for found in own.values()])
        rows.append(
            [
                model,
                f"{covered.mean():.3f}",
                f"{covered.min():.2f}",
                f"{(covered < TARGET).sum()} of {covered.size}",
                f"{plain.min():.2f}",
                f"{(plain < TARGET).sum()} of {plain.size}",
                f"{np.mean([f['mean low'] / k[3] for k, f in own.items()]):.2f}",
                f"{np.mean([f['plain mean'] / k[3] for k, f in own.items()]):.2f}",
                f"{np.mean([f['mean high'] / k[3] for k, f in own.items()]):.2f}",
                f"{max(f['bound'] for f in own.values()):.3f}",
                f"{np.mean([f['inside'] for f in own.values()]):.2f}",
            ]
        )
    columns = ["model", "mean 95 %", "worst", f"cells < {TARGET}", "worst, plain", "cells, plain"]
    columns += ["low/α", "low/α, plain", "high/α", "bound misses, worst", "α̂ inside"]
    return table(columns, rows)


def every_cell(cells: dict) -> str:
    rows = [
        [
            model,
            f"{n_p:,} / {n_u:,}",
            alpha,
            *[f"{found[level]:.3f}" for level in ("90", "95", "99")],
            f"{found['low']:.3f}",
            f"{found['high']:.3f}",
            f"{found['mean low']:.4f} to {found['mean high']:.4f}",
            f"{found['bound']:.3f}",
            f"{found['mean bound']:.4f}",
            f"{found['inside']:.2f}",
            f"{found['plain']:.3f}",
        ]
        for (model, n_p, n_u, alpha), found in cells.items()
    ]
    columns = ["model", "n_p / n_u", "α", "90 %", "95 %", "99 %", "low > α", "high < α"]
    columns += ["mean 95 % interval", "bound < α", "mean bound", "α̂ inside", "95 %, plain"]
    return table(columns, rows)


def costs() -> str:
    rows = []
    for n_p, n_u in COSTS:
        tails = next(draw_tails("Gaussians 3σ", n_p, n_u, 0.1, repeats=1, seed=0))
        calibration.worst_shortfalls.cache_clear()
        seconds = []
        for _ in range(2):
            start = process_time()
            interval(tails)
            upper_bound(tails)
            seconds.append(process_time() - start)
        simulated = calibration.worst_shortfalls.cache_info().currsize
        rows.append(
            [f"{n_p:,}", f"{n_u:,}", simulated, f"{seconds[0]:.2f}", f"{1000 * seconds[1]:.1f}"]
        )
    return table(["n_p", "n_u", "values of α simulated", "first, s", "again, ms"], rows)


def main() -> None:
    start = process_time()
    keys = [(model, *sizes, alpha) for model in MODELS for sizes in SIZES for alpha in ALPHAS]
    cells = {key: measure(*key) for key in keys}
    minutes = (process_time() - start) / 60
    text = head("Coverage of the interval and the bound", "python bench/scripts/coverage.py")
    text += (
        f"{REPEATS} samples a cell (standard error .011 at .95); {minutes:.0f} CPU minutes. The "
        "curves and levels are in `tests/roc_models.py`. *Plain* is a simpler lower end with the "
        "same upper end: the smallest limit over all bins with at least n_p/10 positives, or a "
        "quarter of the best bin's. *α̂ inside*: how often the interval holds the estimate of "
        "bbe_cp.\n\n## By model, 100 positives or more\n\n"
        f"{by_model(cells)}\n## Every cell\n\n{every_cell(cells)}\n"
        f"## Cost of interval and bound together, CPU time\n\n{costs()}"
    )
    save("coverage.md", text)


if __name__ == "__main__":
    main()
