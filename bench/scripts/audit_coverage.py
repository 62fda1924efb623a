"""Do audits cover, and how narrow are they? Drawn scores and real tables, both kinds of audit.

    TOPBIN_DATA=folder OMP_NUM_THREADS=1 python bench/scripts/audit_coverage.py

Scores of real tables come from `TEDnClassifier(preset="fast")`, cross-fitted, and are kept in
`--scores` so that the audits can be run again without the fits. Only this file sees true labels:
an audit asks it for the rows that it drew.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from report import ROOT, head, save, table
from scipy.stats import binomtest

import topbin as tb
from topbin.evaluate import audit
from topbin_bench.tasks.uci import IS_POSITIVE, read_frame

ALPHAS = (0.01, 0.05, 0.3, 0.7)
SIZES = (30, 50, 100, 200)
TABLES = ("spambase", "landsat", "pageblock", "mushroom", "concrete")
APART = {"d = 2": 2.0, "d = 3": 3.0, "d = 4": 4.0}  # two normal densities, so far apart
SHARES = (0.5, 0.7, 0.9)
FRESH = 2  # more fits per table and α, which took no part in the choice of the cut


@dataclass(frozen=True)
class Scored:
    """Scores of known positives and unlabeled rows, probabilities and truth of the latter."""

    name: str
    alpha: float
    scores_p: Any
    scores_u: Any
    f_u: Any
    truth: Any

    @property
    def accuracy(self) -> float:
        return float(((self.f_u > 0.5) == self.truth).mean())


def drawn(name: str, alpha: float, seed: int) -> Scored:
    """Independent scores of 300 known positives and 3,000 unlabeled rows."""
    rng, apart = np.random.default_rng([seed, round(1000 * alpha)]), APART[name]
    truth = np.arange(3000) < round(3000 * alpha)
    scores_p, scores_u = rng.normal(apart, 1, 300), rng.normal(size=3000) + apart * truth
    # The probabilities believe in an α that is off by a fifth, as estimates are.
    odds = 1.2 * alpha / (1 - alpha) * np.exp(apart * scores_u - apart**2 / 2)
    return Scored(name, alpha, scores_p, scores_u, odds / (1 + odds), truth)


def real(name: str, alpha: float, seed: int, folder: Path) -> Scored:
    """Cross-fitted scores of a real table, from the folder or by a fit."""
    path = folder / f"{name}-{alpha}-{seed}.npz"
    if not path.exists():
        frame, label = read_frame(name)
        positive = IS_POSITIVE[name](label).to_numpy()
        rng = np.random.default_rng([seed, round(1000 * alpha)])
        pos, neg = (rng.permutation(np.flatnonzero(positive == side)) for side in (True, False))
        n_p = 100 if pos.size < 1000 else 200
        n_u = int(min(2000, (pos.size - n_p) / alpha, neg.size / (1 - alpha)))
        k = round(alpha * n_u)
        rows = np.concatenate([pos[: n_p + k], neg[: n_u - k]])
        clf = tb.TEDnClassifier(preset="fast", random_state=seed)
        clf.fit(frame.iloc[rows].reset_index(drop=True), np.arange(rows.size) < n_p)
        scores_p, scores_u = clf.evidence_.scores
        f_u = clf.oof_proba_[n_p:]
        np.savez(path, p=scores_p, u=scores_u, f=f_u, y=positive[rows[n_p:]])
    kept = np.load(path)
    return Scored(name, alpha, kept["p"], kept["u"], kept["f"], kept["y"])


def audits(scored: Scored, n: int, seeds: range) -> Iterator[dict[str, Any]]:
    """Audits of n rows of each kind: whether the interval covers, and how wide it is."""
    truth, exact = scored.truth, scored.truth.mean()
    for seed in seeds:
        sample = audit.draw(truth.size, n, seed=seed)
        said = truth[sample.rows]
        found = audit.judge(sample, said, 0.5, probabilities=scored.f_u, look=1)
        plain = binomtest(int(said.sum()), n).proportion_ci(0.95, "exact")
        yield _row(scored, n, "random", found.interval, exact, plain.high - plain.low)
        for share in SHARES:
            top = audit.TopBin.at(scored.scores_p, scored.scores_u, share=share)
            above = np.flatnonzero(scored.scores_u >= top.cut)
            picked = above[audit.draw(above.size, min(n, above.size), seed=seed).rows]
            ends = audit.judge_top(top, truth[picked], 0.5, look=1).interval
            yield _row(scored, n, f"top, q_p = {share:g}", ends, exact, plain.high - plain.low)


def _row(
    scored: Scored, n: int, kind: str, ends: tuple[float, float], truth: float, plain: float
) -> dict[str, Any]:
    return {
        "scores": scored.name, "α": scored.alpha, "accuracy": scored.accuracy, "labels": n,
        "audit": kind, "covers": ends[0] <= truth <= ends[1], "width": ends[1] - ends[0],
        "plain": plain,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scores", type=Path, default=Path("/tmp/audit_scores"))
    parser.add_argument("--fits", type=int, default=4, help="per table and α")
    parser.add_argument("--audits", type=int, default=25, help="per fit")
    parser.add_argument("--only-fit", action="store_true")
    asked = parser.parse_args()
    asked.scores.mkdir(parents=True, exist_ok=True)
    seeds = range(asked.fits + FRESH)
    cells = [(real, name, alpha, s, asked.scores) for s in seeds for name in TABLES
             for alpha in ALPHAS]  # fmt: skip
    if asked.only_fit:
        for make, *given in cells:
            print(*given[:3], make(*given).accuracy, flush=True)
        return
    cells += [(drawn, name, a, s) for s in range(2 * asked.fits) for name in APART for a in ALPHAS]
    rows = []
    for number, (make, *given) in enumerate(cells):
        scored = make(*given)
        start = number * asked.audits
        fresh = make is real and given[2] >= asked.fits
        for n in SIZES:
            found = audits(scored, n, range(start, start + asked.audits))
            rows += [{**row, "fresh": fresh} for row in found]
    found = pd.DataFrame(rows)
    found.to_parquet(asked.scores / "audits.parquet")
    write(found, asked)


def write(found: pd.DataFrame, asked: Any) -> None:
    """The tables and the figure, from one row per audit."""
    found["scored"] = np.where(found["scores"].isin(list(APART)), "drawn", "real")
    ours = found[found["audit"].isin(["random", "top, q_p = 0.9"])]
    used, found = ours[~ours["fresh"]], found[~found["fresh"]]
    text = head(
        "Audits: coverage and width", "TOPBIN_DATA=… python bench/scripts/audit_coverage.py"
    )
    text += (
        f'{len(found):,} audits at 95 %: {asked.fits} fits of `TEDnClassifier(preset="fast")` per '
        f"table and α ({', '.join(TABLES)}; 100–200 known positives, up to 2,000 unlabeled rows), "
        f"{2 * asked.fits} drawn samples per distance of two normal densities and α (300 and "
        f"3,000 rows; probabilities that believe in 1.2 α), {asked.audits} audits of each size on "
        "each. The first look at the result, which uses 4 of the 5 % of doubt.\n\n"
        "## Coverage\n\n"
    )
    text += pivot(used, ["scored", "audit", "labels"], "α", "covers")
    text += "\n\nThe worst cells (a table or distance, α, labels):\n\n"
    cells = used.groupby(["audit", "scores", "α", "labels"])["covers"].agg(["mean", "size"])
    worst = cells.sort_values("mean").head(8).reset_index()
    text += table(
        ["audit", "scores", "α", "labels", "coverage", "audits"],
        [[*row[:4], f"{row[4]:.3f}", row[5]] for row in worst.itertuples(index=False)],
    )
    text += "\n\n## Width, as a multiple of Clopper & Pearson's on as many random rows\n\n"
    relative = used.assign(
        relative=used["width"] / used["plain"],
        model=np.where(used["accuracy"] >= 0.9, "accuracy ≥ .9", "below .9"),
    )
    text += pivot(relative, ["model", "audit", "labels"], "α", "relative")
    good = relative[(relative["accuracy"] >= 0.9) & (relative["labels"] == 100)]
    means = good.groupby("audit")["relative"].mean()
    common = good[good["α"] >= 0.3].groupby("audit")["relative"].mean()
    text += "\n\nMeans at 100 labels where accuracy ≥ .9: " + "; ".join(
        f"{kind} {value:.2f} (α ≥ .3: {common[kind]:.2f})" for kind, value in means.items()
    )
    text += (
        "\n\nA rare positive is the limit of a random audit: at α ≤ .05, 100 random rows meet a "
        "handful of positives, and without an assumption no interval rules out a few percent that "
        "nobody met."
    )
    text += "\n\n## Which cut for the top bin (real tables)\n\n"
    tops = found[(found["scored"] == "real") & (found["audit"] != "random")]
    chosen = tops.groupby(["audit", "labels"]).agg({"covers": "mean", "width": "mean"})
    text += table(
        ["cut", "labels", "coverage", "mean width"],
        [
            [*at, f"{c:.3f}", f"{w:.3f}"]
            for at, (c, w) in zip(chosen.index, chosen.values, strict=True)
        ],
    )
    text += (
        "\n\nThe cut was chosen on these fits, so its coverage above is not an independent check. "
        f"{FRESH} more fits per table and α, which took no part in the choice:\n\n"
    )
    text += pivot(ours[ours["fresh"]], ["audit", "labels"], "α", "covers")
    save("audit_coverage.md", text + "\n")
    draw_figure(used[(used["scored"] == "real") & (used["accuracy"] >= 0.9)])


def pivot(found: pd.DataFrame, rows: list[str], column: str, value: str) -> str:
    """A markdown table of means."""
    means = found.pivot_table(index=rows, columns=column, values=value, aggfunc="mean")
    return table(
        [*rows, *(f"α = {alpha:g}" for alpha in means.columns)],
        [
            [*at, *(f"{v:.3f}" for v in values)]
            for at, values in zip(means.index, means.values, strict=True)
        ],
    )


def draw_figure(used: pd.DataFrame) -> None:
    """Mean width against labels, one panel per α."""
    figure, axes = plt.subplots(1, len(ALPHAS), figsize=(12, 3.2), layout="constrained")
    for alpha, ax in zip(ALPHAS, axes, strict=True):
        here = used[used["α"] == alpha]
        plain = here[here["audit"] == "random"].groupby("labels")["plain"].mean()
        ax.plot(plain.index, plain, color="#777777", ls="--", label="random rows, no model")
        for kind, color in (("random", "#0072b2"), ("top, q_p = 0.9", "#e69f00")):
            width = here[here["audit"] == kind].groupby("labels")["width"].mean()
            ax.plot(width.index, width, "o-", color=color, label=kind.partition(",")[0] + " audit")
        ax.set(title=f"α = {alpha:g}", xlabel="labels", ylim=(0, None))
    axes[0].set_ylabel("width of the 95 % interval")
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(ROOT / "docs" / "images" / "audit_width.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
