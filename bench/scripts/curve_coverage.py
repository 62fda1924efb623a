"""How often the bands of the precision-recall and the ROC curve contain the true curves."""

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time

import numpy as np
from numpy.typing import NDArray
from report import head, one_thread, save, table
from scipy.stats import beta, norm

from topbin.core import Evidence
from topbin.evaluate import pu_curves

Floats = NDArray[np.float64]
REPEATS = 200
SLIGHT = 1e-9


@dataclass(frozen=True)
class Scores:
    """Scores of positives and of negatives, and the shares of both above a threshold."""

    positive: object
    negative: object
    levels: int | None = None  # scores are rounded to so many, if to any

    def draw(self, rng: np.random.Generator, n: int, *, positive: bool) -> Floats:
        drawn = (self.positive if positive else self.negative).rvs(n, random_state=rng)
        return drawn if self.levels is None else np.floor(drawn * self.levels) / self.levels

    def above(self, at: Floats) -> tuple[Floats, Floats]:
        at = at if self.levels is None else np.ceil(at * self.levels) / self.levels
        return self.positive.sf(at), self.negative.sf(at)


MODELS = {
    "Gaussians 3σ": Scores(norm(3), norm(0)),
    "Gaussians 2σ": Scores(norm(2), norm(0)),
    "Gaussians 1σ": Scores(norm(1), norm(0)),
    "Beta(8,2)/(2,8)": Scores(beta(8, 2), beta(2, 8)),
    "Beta(8,2)/(2,8), 20 levels": Scores(beta(8, 2), beta(2, 8), 20),
}
IMPURE = {"Gaussians 1σ"}  # no pure top bin: α's lower end is too high, and so are the bands
SIZES = ((50, 500, 0.2), (100, 1000, 0.3), (300, 3000, 0.7), (1000, 10_000, 0.05))


def inside(band: Callable, x: Floats, y: Floats) -> bool:
    low, high = band(x)
    return bool(np.all((low <= y + SLIGHT) & (y <= high + SLIGHT)))


def true_curve(model: Scores, alpha: float) -> tuple[Floats, Floats, Floats]:
    """Recall, precision and false positive rate of the population, at 800 thresholds."""
    ends = model.negative.ppf(1e-4), model.positive.ppf(1 - 1e-6)
    recall, fpr = model.above(np.linspace(*ends, 800))
    recall, fpr = recall[recall > 0], fpr[recall > 0]
    return recall, alpha * recall / (alpha * recall + (1 - alpha) * fpr), fpr


def hidden_curve(scores: Floats, is_positive: Floats) -> tuple[Floats, Floats, Floats]:
    """The same among the unlabeled rows, with their hidden labels, at each distinct score."""
    order = np.argsort(-scores)
    ranked, hits = scores[order], np.cumsum(is_positive[order])
    last = np.append(ranked[1:] != ranked[:-1], True)
    rows = np.arange(1, scores.size + 1)[last]
    hits = hits[last]
    return hits / hits[-1], hits / rows, (rows - hits) / max(1, scores.size - hits[-1])


def one_repeat(model: Scores, sizes: tuple[int, int, float], seed: int) -> list[float]:
    n_p, n_u, alpha = sizes
    rng = np.random.default_rng([seed, n_p, n_u])
    is_positive = rng.random(n_u) < alpha
    scores_p = model.draw(rng, n_p, positive=True)
    drawn = (model.draw(rng, n_u, positive=kind) for kind in (True, False))
    scores_u = np.where(is_positive, *drawn)
    evidence, found = Evidence.of(scores_p, scores_u), []
    truths = true_curve(model, alpha), hidden_curve(scores_u, is_positive)
    # A known α is that of the population, or that of the rows, as the curve is.
    for known in ((alpha, is_positive.mean()), (None, None)):
        for one, (recall, precision, fpr) in zip(known, truths, strict=True):
            curves = pu_curves(evidence, alpha=one)
            found.append(inside(curves.precision_band, recall, precision))
            found.append(inside(curves.tpr_band, fpr, recall))
        low, high = curves.precision_band([0.2, 0.5, 0.8])
        found += (high - low).tolist()
    return found


def main() -> None:
    one_thread()
    start, rows = process_time(), []
    for name, model in MODELS.items():
        for sizes in SIZES:
            found = np.mean([one_repeat(model, sizes, seed) for seed in range(REPEATS)], axis=0)
            n_p, n_u, alpha = sizes
            for known, part in (("known", found[:7]), ("estimated", found[7:])):
                shares = [f"{x:.3f}" for x in part[:4]]
                widths = " / ".join(f"{x:.2f}" for x in part[4:])
                rows.append([name, f"{n_p:,} / {n_u:,}", alpha, known, *shares, widths])
    minutes = (process_time() - start) / 60
    good = [[float(x) for x in row[4:8]] for row in rows if row[0] not in IMPURE]
    least = np.min(good, axis=0)
    text = head("Coverage of the bands of curves", "python bench/scripts/curve_coverage.py")
    text += (
        f"{REPEATS} samples per row (standard error .015 at .95); {minutes:.0f} CPU minutes. A "
        "band covers if the whole curve is inside: at each of 800 thresholds for the curve of the "
        "*population*, and at each distinct score for the curve of these unlabeled rows with their "
        "*hidden labels*. α is known (that of the population, or of these rows, as the curve is), "
        "or estimated with its interval. *Width* is the mean width of the precision's band at "
        "recall .2, .5 and .8.\n\n"
        "Where some top bin is pure (all but Gaussians 1σ), the least coverage of the population's "
        f"curve is {least[0]:.3f} (precision-recall) and {least[1]:.3f} (ROC); of the curve with "
        f"hidden labels {least[2]:.3f} and {least[3]:.3f}.\n\n"
    )
    columns = ["scores", "n_p / n_u", "α", "α is", "PR", "ROC", "PR, hidden labels"]
    columns += ["ROC, hidden labels", "width"]
    save("curve_coverage.md", text + table(columns, rows))


if __name__ == "__main__":
    main()
