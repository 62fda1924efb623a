"""Do audits cover, and how narrow are they? Drawn scores and real tables, both kinds of audit.

    TOPBIN_DATA=folder OMP_NUM_THREADS=1 python bench/scripts/audit_coverage.py

Scores of real tables come from `TEDnClassifier(preset="fast")`, cross-fitted, and are kept in
`--scores` so that the audits can be run again without the fits. Audits are kept there too, so that
a stopped run continues with the next one. Only this file sees true labels: an audit asks it for
the rows that it drew.
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
MISLED = ("of other rows", "half unseen")  # probabilities that are wrong; see `misled`
FRESH = 2  # more fits per table and α, which took no part in any choice
RANDOM, PLAIN, TOP = "random", "random, equally likely", "top, q_p = 0.9"


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


def misled(name: str, alpha: float, seed: int) -> Scored:
    """Drawn scores whose probabilities are wrong: of other rows, or blind to every other positive.

    Scores are not needed for a random audit.
    """
    scored, rng = drawn("d = 3", alpha, seed), np.random.default_rng(seed)
    truth, f_u = scored.truth, scored.f_u
    if name == "of other rows":
        f_u = rng.permutation(f_u)
    else:
        truth = truth | (rng.random(truth.size) < alpha)
    return Scored(name, alpha, scored.scores_p, scored.scores_u, f_u, truth)


def random_audits(scored: Scored, n: int, seed: int) -> Iterator[tuple[str, Any, float]]:
    """The interval of a random audit, with and without unequal chances, and Clopper & Pearson's."""
    draws = {
        PLAIN: audit.draw(scored.truth.size, n, seed=seed),
        RANDOM: audit.draw_weighted(scored.f_u, n, seed=seed),
    }
    plain = binomtest(int(scored.truth[draws[PLAIN].rows].sum()), n).proportion_ci(0.95, "exact")
    for kind, sample in draws.items():
        said = scored.truth[sample.rows]
        found = audit.judge(sample, said, 0.5, probabilities=scored.f_u, look=1)
        yield kind, found.interval, plain.high - plain.low


def audits(
    scored: Scored, n: int, seed: int, shares: tuple[float, ...]
) -> Iterator[dict[str, Any]]:
    """Audits of n rows of each kind: whether the interval covers, and how wide it is."""
    truth, exact = scored.truth, scored.truth.mean()
    for kind, ends, plain in random_audits(scored, n, seed):
        yield _row(scored, n, kind, ends, exact, plain)
    for share in shares:
        top = audit.TopBin.at(scored.scores_p, scored.scores_u, share=share)
        above = np.flatnonzero(scored.scores_u >= top.cut)
        picked = above[audit.draw(above.size, min(n, above.size), seed=seed).rows]
        ends = audit.judge_top(top, truth[picked], 0.5, look=1).interval
        yield _row(scored, n, f"top, q_p = {share:g}", ends, exact, plain)


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
    parser.add_argument("--audits", type=int, default=15, help="per fit")
    parser.add_argument("--only-fit", action="store_true")
    asked = parser.parse_args()
    (asked.scores / "audits").mkdir(parents=True, exist_ok=True)
    seeds = range(asked.fits + FRESH)
    cells = [(real, name, alpha, s, asked.scores) for s in seeds for name in TABLES
             for alpha in ALPHAS]  # fmt: skip
    if asked.only_fit:
        for make, *given in cells:
            print(*given[:3], make(*given).accuracy, flush=True)
        return
    cells += [(drawn, name, a, s) for s in range(2 * asked.fits + 2 * FRESH) for name in APART
              for a in ALPHAS]  # fmt: skip
    cells += [(misled, name, a, 1000 + s) for s in range(4 * asked.fits) for name in MISLED
              for a in ALPHAS]  # fmt: skip
    parts = [audited(number, *cell, asked=asked) for number, cell in enumerate(cells)]
    write(pd.concat(parts), asked)


def audited(number: int, make: Any, *given: Any, asked: Any) -> pd.DataFrame:
    """All audits of a fit or a sample, from the folder if they are there."""
    path = asked.scores / "audits" / f"{make.__name__}-{'-'.join(map(str, given[:3]))}.parquet"
    if not path.exists():
        scored, seeds = make(*given), range(number * asked.audits, (number + 1) * asked.audits)
        is_misled = make is misled
        rows = [
            row for n in SIZES for seed in seeds
            for row in audits(scored, n, seed, () if is_misled else SHARES)
        ]  # fmt: skip
        fresh = not is_misled and given[2] >= asked.fits * (1 if make is real else 2)
        pd.DataFrame(rows).assign(fresh=fresh, misled=is_misled).to_parquet(path)
    return pd.read_parquet(path)


def write(found: pd.DataFrame, asked: Any) -> None:
    """The tables and the figure, from one row per audit."""
    found["scored"] = np.where(found["scores"].isin(list(APART)), "drawn", "real")
    wrong, found = found[found["misled"]], found[~found["misled"]]
    ours = found[found["audit"].isin([RANDOM, TOP])]
    used, fresh = ours[~ours["fresh"]], found[found["fresh"]]
    found = found[~found["fresh"]]
    text = head(
        "Audits: coverage and width", "TOPBIN_DATA=… python bench/scripts/audit_coverage.py"
    )
    text += (
        f'{len(found):,} audits at 95 %: {asked.fits} fits of `TEDnClassifier(preset="fast")` per '
        f"table and α ({', '.join(TABLES)}; 100–200 known positives, up to 2,000 unlabeled rows), "
        f"{2 * asked.fits} drawn samples per distance of two normal densities and α (300 and "
        f"3,000 rows; probabilities that believe in 1.2 α), {asked.audits} audits of each size on "
        "each. The first look at the result, which uses 4 of the 5 % of doubt. Random audits take "
        "rows that look like the rarer kind more often (`draw_weighted`); all rows were equally "
        f'likely before ("{PLAIN}").\n\n'
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
    text += widths(found)
    text += misled_part(wrong)
    text += cuts(found)
    text += fresh_part(fresh)
    save("audit_coverage.md", text + "\n")
    draw_figure(used[(used["scored"] == "real") & (used["accuracy"] >= 0.9)])


def widths(found: pd.DataFrame) -> str:
    """Mean widths, compared with the mean width without a model."""
    shown = found[found["audit"].isin([RANDOM, PLAIN, TOP])]
    shown = shown.assign(model=np.where(shown["accuracy"] >= 0.9, "accuracy ≥ .9", "below .9"))
    good = shown[(shown["accuracy"] >= 0.9) & (shown["labels"] == 100)]
    means = {kind: ratio(part, ["α"]) for kind, part in good.groupby("audit")}
    said = "; ".join(
        f"{kind} {part.mean():.2f} (α ≤ .05: {part[:2].mean():.2f}, α ≥ .3: {part[2:].mean():.2f})"
        for kind, part in means.items()
    )
    return (
        "\n\n## Mean width, as a multiple of Clopper & Pearson's on as many random rows\n\n"
        + shape(ratio(shown, ["model", "audit", "labels", "α"]), ["model", "audit", "labels"])
        + f"\n\nMeans over the four α at 100 labels where accuracy ≥ .9: {said}.\n\n"
        "The target is .6. Random audits reach it at α ≥ .3 and miss it at α ≤ .05. At α = .01 no "
        "valid interval reaches it: about 90 answers go to rows that look negative, and if none "
        "of these is positive, −ln(.036)/90 = 3.7 % of such rows may still be, at the doubt that "
        "the first look leaves the upper end. That and α itself are .047, Clopper & Pearson's mean "
        "width is .051, and a lower end above 0 takes off less than α. With equally likely rows "
        "half of the doubt goes to a lower end that is 0 anyway, and the few rows that look "
        "positive, which carry the lower end, get a handful of answers. Both kinds count that no "
        "row is drawn twice, which takes 2 to 5 % off at these sizes."
    )


def ratio(found: pd.DataFrame, by: list[str]) -> Any:
    """Mean width over the mean width of Clopper & Pearson, by group."""
    means = found.groupby(by)[["width", "plain"]].mean()
    return means["width"] / means["plain"]


def shape(values: Any, rows: list[str]) -> str:
    """A markdown table of values with the last level of their index, α, as columns."""
    wide = values.unstack()
    return table(
        [*rows, *(f"α = {alpha:g}" for alpha in wide.columns)],
        [
            [*(at if isinstance(at, tuple) else (at,)), *(f"{v:.3f}" for v in row)]
            for at, row in zip(wide.index, wide.values, strict=True)
        ],
    )


def misled_part(wrong: pd.DataFrame) -> str:
    """Random audits whose probabilities are wrong."""
    return (
        "\n\n## If the probabilities are wrong\n\n"
        'Drawn scores (d = 3). "Of other rows": the probabilities were shuffled. "Half '
        'unseen": as many positives again look like any row.\n\n'
        + pivot(wrong, ["scores", "audit", "labels"], "α", "covers")
        + "\n\nMean widths, as above:\n\n"
        + shape(ratio(wrong, ["scores", "audit", "labels", "α"]), ["scores", "audit", "labels"])
    )


def cuts(found: pd.DataFrame) -> str:
    """Top-bin audits by the cut."""
    tops = found[(found["scored"] == "real") & found["audit"].str.startswith("top")]
    chosen = tops.groupby(["audit", "labels"]).agg({"covers": "mean", "width": "mean"})
    return "\n\n## Which cut for the top bin (real tables)\n\n" + table(
        ["cut", "labels", "coverage", "mean width"],
        [
            [*at, f"{c:.3f}", f"{w:.3f}"]
            for at, (c, w) in zip(chosen.index, chosen.values, strict=True)
        ],
    )


def fresh_part(fresh: pd.DataFrame) -> str:
    """Fits and samples that took no part in any choice."""
    shown = fresh[fresh["audit"].isin([RANDOM, PLAIN, TOP])]
    good = shown[shown["accuracy"] >= 0.9]
    return (
        "\n\n## Fits and samples that took no part in any choice\n\n"
        "The cut of the top bin was chosen on the real fits above. How often rows are drawn "
        "follows from a formula; into how many strata they go was chosen on other drawn samples, "
        f"after a look at the real fits above. {FRESH} more fits per table and α and {2 * FRESH} "
        "more drawn samples per distance and α had no part in either. Coverage:\n\n"
        + pivot(shown, ["scored", "audit", "labels"], "α", "covers")
        + "\n\nMean widths where accuracy ≥ .9, as above:\n\n"
        + shape(ratio(good, ["audit", "labels", "α"]), ["audit", "labels"])
    )


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
        plain = here[here["audit"] == RANDOM].groupby("labels")["plain"].mean()
        ax.plot(plain.index, plain, color="#777777", ls="--", label="random rows, no model")
        for kind, color in ((RANDOM, "#0072b2"), (TOP, "#e69f00")):
            width = here[here["audit"] == kind].groupby("labels")["width"].mean()
            ax.plot(width.index, width, "o-", color=color, label=kind.partition(",")[0] + " audit")
        ax.set(title=f"α = {alpha:g}", xlabel="labels", ylim=(0, None))
    axes[0].set_ylabel("width of the 95 % interval")
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(ROOT / "docs" / "images" / "audit_width.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
