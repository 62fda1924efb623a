"""Coverage and width of the bound and the interval, where they hold and where they do not."""

from time import process_time

import numpy as np
from report import cpu_seconds, head, one_thread, save, table
from samples import MODELS, draw_tails

from topbin.mpe import alpha_posterior, bbe_cp, upper_bound

SIZES = ((30, 300), (100, 1000), (1000, 1000), (1000, 10_000), (10_000, 100_000))
ALPHAS = (0.01, 0.05, 0.3, 0.7, 0.95)
REPEATS = 400
TARGET = 0.93
COSTS = ((10, 100), (1000, 10_000), (10**6, 10**6), (10**7, 10**8), (100, 10**8), (10**6, 100))


def measure(model: str, n_p: int, n_u: int, alpha: float) -> dict[str, float]:
    found = []
    for tails in draw_tails(model, n_p, n_u, alpha, repeats=REPEATS, seed=1):
        posterior = alpha_posterior(tails)
        ends = [posterior.interval(level) for level in (0.9, 0.95, 0.99)]
        found.append([*np.ravel(ends), upper_bound(tails), bbe_cp(tails).alpha])
    low90, high90, low, high, low99, high99, bound, point = np.transpose(found)
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
    }


def by_model(cells: dict) -> str:
    rows = []
    for model in MODELS:
        own = {key: found for key, found in cells.items() if key[0] == model and key[1] >= 100}
        covered = np.array([found["95"] for found in own.values()])
        rows.append(
            [
                model,
                f"{covered.mean():.3f}",
                f"{covered.min():.2f}",
                f"{(covered < TARGET).sum()} of {covered.size}",
                f"{np.mean([f['mean low'] / k[3] for k, f in own.items()]):.2f}",
                f"{np.mean([f['mean high'] / k[3] for k, f in own.items()]):.2f}",
                f"{max(f['bound'] for f in own.values()):.3f}",
                f"{np.mean([f['inside'] for f in own.values()]):.2f}",
            ]
        )
    columns = ["model", "mean 95 %", "worst", f"cells < {TARGET}"]
    columns += ["low/α", "high/α", "bound misses, worst", "α̂ inside"]
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
        ]
        for (model, n_p, n_u, alpha), found in cells.items()
    ]
    columns = ["model", "n_p / n_u", "α", "90 %", "95 %", "99 %", "low > α", "high < α"]
    columns += ["mean 95 % interval", "bound < α", "mean bound", "α̂ inside"]
    return table(columns, rows)


def costs() -> str:
    """The first call simulates a calibration; later calls of the same sizes remember it."""

    def both(tails: object) -> None:
        alpha_posterior(tails)
        upper_bound(tails)

    rows = []
    for n_p, n_u in COSTS:
        tails = next(draw_tails("Gaussians 3σ", n_p, n_u, 0.1, repeats=1, seed=0))
        first, again = (cpu_seconds(both, tails) for _ in range(2))
        rows.append([f"{n_p:,}", f"{n_u:,}", f"{first:.2f}", f"{1000 * again:.1f}"])
    return table(["n_p", "n_u", "first, s", "again, ms"], rows)


def main() -> None:
    one_thread()
    start = process_time()
    first_and_again = costs()  # before anything else is computed and remembered
    keys = [(model, *sizes, alpha) for model in MODELS for sizes in SIZES for alpha in ALPHAS]
    cells = {key: measure(*key) for key in keys}
    minutes = (process_time() - start) / 60
    text = head(
        "Coverage of the interval and the bound", "python bench/scripts/interval_coverage.py"
    )
    text += (
        f"{REPEATS} samples per cell (standard error .011 at .95); {minutes:.0f} CPU minutes. The "
        "curves and levels are in `tests/roc_models.py`. *α̂ inside*: how often the interval "
        "contains the estimate of bbe_cp.\n\n## By model, 100 positives or more\n\n"
        f"{by_model(cells)}\n## Every cell\n\n{every_cell(cells)}\n"
        f"## Cost of interval and bound together, CPU time\n\n{first_and_again}"
    )
    save("coverage.md", text)


if __name__ == "__main__":
    main()
