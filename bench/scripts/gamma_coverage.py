"""Coverage of the interval for Γ where labels are selective by that Γ, in the worst ways."""

from time import process_time

import numpy as np
from report import head, one_thread, save, table
from samples import draw_tails, tilted

from topbin.mpe import alpha_posterior

GAMMAS = (1.0, 1.5, 2.0, 3.0)
MODELS = (
    "separated", "Gaussians 4σ", "Gaussians 3σ", "Gaussians 2σ", "Beta(8,2)/(2,8)", "pure 20 %",
    "3σ, 20 probability levels", "Gaussians 1σ",
)  # fmt: skip
IMPURE = "Gaussians 1σ"  # no pure top bin of any size
SIZES = ((100, 1000), (1000, 10_000))
ALPHAS = (0.05, 0.3, 0.7)
# Where the density of hidden positives jumps: the share of labeled positives above that score.
TOPS = {True: (0.2, 0.6, 0.95), False: (0.02, 0.2, 0.6)}
REPEATS = 200
AGAIN, NEW = 8, 1000
WAYS = {True: "rare on top", False: "frequent on top"}


def measure(model: str, sizes: tuple[int, int], alpha: float, gamma: float, tilt: tuple,
            repeats: int = REPEATS, seed: int = 13) -> list[float]:  # fmt: skip
    """Coverage, how often each end misses, coverage of the interval of Γ = 1, and the mean ends."""
    hidden = tilted(gamma, tilt[1], rare=tilt[0])
    found = []
    for tails in draw_tails(model, *sizes, alpha, repeats=repeats, seed=seed, hidden=hidden):
        both = (alpha_posterior(tails, gamma=one).interval(0.95) for one in (gamma, 1.0))
        found.append(np.ravel([*both]))
    low, high, low_1, high_1 = np.transpose(found)
    return [
        np.mean((low <= alpha) & (alpha <= high)),
        np.mean(low > alpha),
        np.mean(high < alpha),
        np.mean((low_1 <= alpha) & (alpha <= high_1)),
        low.mean(),
        high.mean(),
    ]


def row(told: list, cells: dict) -> list:
    """One row of a table: the mean and the worst of these cells."""
    found = np.array(list(cells.values()))
    shares = [found[:, 0].mean(), found[:, 0].min()]
    misses = [found[:, 1].max(), found[:, 2].max(), found[:, 3].mean(), found[:, 3].min()]
    return [*told, len(found), *[f"{x:.3f}" for x in shares + misses]]


COLUMNS = ["cells", "mean coverage", "worst cell", "low > α, worst", "high < α, worst"]
COLUMNS += ["as if Γ = 1: mean", "as if Γ = 1: worst"]


def by_gamma(cells: dict, pure: bool) -> str:
    rows = []
    for gamma in GAMMAS:
        own = {k: f for k, f in cells.items() if k[3] == gamma and (k[0] != IMPURE) == pure}
        if gamma == 1:
            rows.append(row(["1", "labeled at random"], own))
            continue
        for rare, told in WAYS.items():
            part = {k: f for k, f in own.items() if k[4][0] == rare}
            rows.append(row([f"{gamma:g}", told], part))
    return table(["Γ", "hidden positives are", *COLUMNS], rows)


def by_model(cells: dict) -> str:
    rows = [
        row(
            [model, f"{gamma:g}"],
            {k: f for k, f in cells.items() if (k[0], k[3]) == (model, gamma)},
        )
        for model in MODELS
        for gamma in GAMMAS
    ]
    return table(["model", "Γ", *COLUMNS], rows)


def worst_again(cells: dict) -> str:
    """The cells that covered least, with new samples: chance made some of them the worst."""
    pure = [key for key in cells if key[0] != IMPURE]
    rows = []
    for key in sorted(pure, key=lambda key: cells[key][0])[:AGAIN]:
        model, (n_p, n_u), alpha, gamma, (rare, top) = key
        again = measure(*key, repeats=NEW, seed=14)
        way = "labeled at random" if gamma == 1 else f"{WAYS[rare]}, jump at q_p = {top}"
        rows.append([model, f"{n_p:,} / {n_u:,}", alpha, f"{gamma:g}", way, f"{cells[key][0]:.3f}",
                     f"{again[0]:.3f}", f"{again[4]:.3f} to {again[5]:.3f}"])  # fmt: skip
    columns = ["model", "n_p / n_u", "α", "Γ", "hidden positives are", "coverage", "again"]
    return table([*columns, "mean interval"], rows)


def main() -> None:
    one_thread()
    start = process_time()
    tilts = [(rare, top) for rare, tops in TOPS.items() for top in tops]
    cells = {}
    for sizes in SIZES:
        for gamma in GAMMAS:
            for alpha in ALPHAS:
                for model in MODELS:
                    for tilt in tilts[:1] if gamma == 1 else tilts:
                        key = model, sizes, alpha, gamma, tilt
                        cells[key] = measure(*key)
    again = worst_again(cells)
    minutes = (process_time() - start) / 60
    command = "python bench/scripts/gamma_coverage.py"
    text = head("Coverage of the interval under selective labels", command)
    text += (
        f"{REPEATS} samples per cell (standard error .015 at .95), {len(cells)} cells: 100 / 1,000 "
        "and 1,000 / 10,000 known positives and unlabeled rows, α = .05, .3 and .7; "
        f"{minutes:.0f} CPU minutes. The curves are in `tests/roc_models.py`. The density of "
        "hidden positives over that of labeled ones takes two values, Γ times apart: the worst "
        "that Γ allows for the bin that ends where it jumps. Hidden positives are *rare on top* if "
        "the clearest cases get labeled (the jump leaves .2, .6 or .95 of the labeled positives "
        "above it), and *frequent on top* if the unclear ones do (.02, .2 or .6). *As if Γ = 1* is "
        "the interval that assumes random labels.\n\n"
        "## Where negatives become rarer toward the top\n\n"
        f"{by_gamma(cells, True)}\n"
        f"The {AGAIN} cells that covered least, with {NEW:,} new samples each:\n\n{again}\n"
        f"## Where they do not: {IMPURE}\n\n{by_gamma(cells, False)}\n"
        f"## By model\n\n{by_model(cells)}"
    )
    save("gamma_coverage.md", text)


if __name__ == "__main__":
    main()
