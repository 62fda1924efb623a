"""Which score-level method has the smallest error, over score models, sizes and α."""

from collections.abc import Callable
from itertools import product
from time import process_time

import numpy as np
from report import head, one_thread, save, table
from scipy.special import expit

from topbin import Tails, estimate_alpha
from topbin.mpe import METHODS, bbe_cp

Sampler = Callable[[np.random.Generator, int], np.ndarray]


def gauss(sigmas: float, levels: int | None = None) -> tuple[Sampler, Sampler]:
    """p(positive | x) of Gaussians this far apart, cut into levels if asked."""

    def scores(mean: float) -> Sampler:
        def draw(rng: np.random.Generator, n: int) -> np.ndarray:
            found = expit(sigmas * (rng.normal(mean, 1, n) - sigmas / 2))
            return found if levels is None else np.floor(levels * found) / levels

        return draw

    return scores(sigmas), scores(0.0)


def pure_region(share: float) -> tuple[Sampler, Sampler]:
    return (lambda rng, n: rng.random(n)), (lambda rng, n: (1 - share) * rng.random(n))


MODELS = {
    "Gaussians 4σ": gauss(4),
    "Gaussians 3σ": gauss(3),
    "Gaussians 2σ": gauss(2),
    "Gaussians 1σ": gauss(1),
    "Beta(8,2)/(2,8)": (lambda rng, n: rng.beta(8, 2, n), lambda rng, n: rng.beta(2, 8, n)),
    "pure 20 %": pure_region(0.2),
    "pure 5 %": pure_region(0.05),
    "3σ, 20 levels": gauss(3, 20),
}
SIZES = ((100, 100), (100, 1000), (1000, 1000), (1000, 10_000), (10_000, 10_000))
ALPHAS = (0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9)
REGISTERED = [name for name, method in METHODS.items() if method.needs in ("tails", "scores")]
LEVELS = (5e-5, 5e-3, 0.05)
NAMES = [*REGISTERED, *[f"bbe_cp, level {level:g}" for level in LEVELS]]
REPEATS = 100


def errors(model: str, n_p: int, n_u: int, alpha: float) -> np.ndarray:
    """One row per sample, one column per method."""
    draw_p, draw_n = MODELS[model]
    rng = np.random.default_rng([list(MODELS).index(model), n_p, n_u, int(1000 * alpha)])
    found = []
    for _ in range(REPEATS):
        hidden = rng.binomial(n_u, alpha)
        scores_p = draw_p(rng, n_p)
        scores_u = np.concatenate([draw_p(rng, hidden), draw_n(rng, n_u - hidden)])
        tails = Tails.from_scores(scores_p, scores_u)
        registered = (
            estimate_alpha(scores_p, scores_u, method=name, confidence=None) for name in REGISTERED
        )
        found.append(
            [estimate.alpha for estimate in registered]
            + [bbe_cp(tails, level=level).alpha for level in LEVELS]
        )
    return np.array(found) - alpha


def summary(rmse: dict, keys: list) -> str:
    """Against bbe, over these cells: geometric mean, how often better, the worst and the best."""
    base = np.array([rmse[key][NAMES.index("bbe")] for key in keys])
    rows = []
    for i, name in enumerate(NAMES):
        own = np.array([rmse[key][i] for key in keys])
        ratio = own / base
        worst = keys[int(np.argmax(ratio))]
        rows.append(
            [
                name,
                f"{np.exp(np.log(ratio).mean()):.2f}",
                f"{100 * np.mean(ratio < 1):.0f} %",
                f"{ratio.max():.1f} ({worst[0]}, {worst[1]:,}/{worst[2]:,}, α = {worst[3]})",
                f"{own.mean():.3f}",
                f"{np.quantile(own, 0.9):.3f}",
            ]
        )
    columns = [
        "method",
        "RMSE : bbe",
        "better in",
        "worst ratio",
        "mean RMSE",
        "90 % of cells below",
    ]
    return table(columns, rows)


def split(rmse: dict, bias: dict, keys: list, axis: int) -> str:
    """Mean RMSE and mean error by one axis of the grid."""
    rows = []
    for value in dict.fromkeys(key[axis] for key in keys):
        own = [key for key in keys if key[axis] == value]
        cells = zip(
            np.mean([rmse[key] for key in own], axis=0),
            np.mean([bias[key] for key in own], axis=0),
            strict=True,
        )
        rows.append([value, *[f"{r:.3f} ({b:+.3f})" for r, b in cells]])
    return table(["", *NAMES], rows)


def decision(rmse: dict, keys: list, rare: list, apart: list) -> str:
    """What the tables say about the default, in two paragraphs."""

    def against_bbe(name: str, own: list) -> float:
        logs = [np.log(rmse[k][NAMES.index(name)] / rmse[k][NAMES.index("bbe")]) for k in own]
        return float(np.exp(np.mean(logs)))

    ranked = sorted(REGISTERED, key=lambda name: against_bbe(name, keys))
    first = ranked[0]
    mean = {name: np.mean([rmse[key][NAMES.index(name)] for key in keys]) for name in REGISTERED}
    others = ", ".join(f"{name} {against_bbe(name, keys):.2f}" for name in ranked[1:])
    lowest = min(mean, key=mean.__getitem__)
    return (
        f"**Decision: {first}.** Its error is {against_bbe(first, keys):.2f} times that of bbe "
        f"(geometric mean over the settings; {others}), and {against_bbe(first, rare):.2f} times "
        f"for rare positives; its mean RMSE is {mean[first]:.3f}, that of bbe {mean['bbe']:.3f}."
        f"\n\nThe smallest mean RMSE is that of {lowest}, {mean[lowest]:.3f}. Gaussians 1σ and "
        "pure 5 % contribute most to that mean; without them the errors relative to bbe are "
        + ", ".join(f"{name} {against_bbe(name, apart):.2f}" for name in ranked)
        + ". The last rows of the tables are bbe_cp at other levels: laxer levels gain if hardly "
        "any bin is pure and lose otherwise; stricter levels do the opposite.\n\n"
    )


def main() -> None:
    one_thread()
    start = process_time()
    keys = [(model, *sizes, alpha) for model, sizes, alpha in product(MODELS, SIZES, ALPHAS)]
    found = {key: errors(*key) for key in keys}
    rmse = {key: np.sqrt(np.mean(e**2, axis=0)) for key, e in found.items()}
    bias = {key: np.mean(e, axis=0) for key, e in found.items()}
    minutes = (process_time() - start) / 60
    rare = [key for key in keys if key[3] <= 0.1]
    apart = [key for key in keys if key[0] not in ("Gaussians 1σ", "pure 5 %")]
    text = head("The default method", "python bench/scripts/default_method.py")
    text += (
        f"{len(keys)} settings, {REPEATS} samples each, {minutes:.0f} CPU minutes. Score-level "
        "methods that need no calibrated probability.\n\n"
        f"{decision(rmse, keys, rare, apart)}## All settings\n\n{summary(rmse, keys)}\n"
        f"## Rare positives, α ≤ .1\n\n{summary(rmse, rare)}\n"
        "## Without Gaussians 1σ and pure 5 %, where no method can find α\n\n"
        f"{summary(rmse, apart)}\n"
        f"## Mean RMSE (and mean error) by model\n\n{split(rmse, bias, keys, 0)}\n"
        f"## By positives\n\n{split(rmse, bias, keys, 1)}\n"
        f"## By α\n\n{split(rmse, bias, keys, 3)}"
    )
    save("default_method.md", text)


if __name__ == "__main__":
    main()
