"""Do scores and answers together cover where labels are biased, and is that narrower?

    OMP_NUM_THREADS=1 python bench/scripts/audit_together.py

Three data sets choose how much of α's prior is flat when answers come in (the least whose
intervals cover under each kind of labels), six others are reported; both lists were fixed before
any audit was drawn. Positives are labeled at random, in
file order (the first 40 %), or the more extreme the likelier. Fits are kept in `--kept`, so that
audits can be run again without them. Only this file sees true labels.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from first_screen import TABLES
from report import head, one_thread, save, table
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import topbin as tb
from topbin.core import AlphaPosterior
from topbin.evaluate import audit

CHOOSE = ("tumors, malignant", "digits, odd", "gaussians, close *")
REPORT = (
    "tumors, benign", "digits, 0 to 3", "digits, eights", "wine, grower 1", "gaussians, apart",
    "claims",
)  # fmt: skip
KEPT = 0.4  # of the positives are labeled
SIZES = (30, 60, 100, 200)
FLAT = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
ALONE = "answers alone"
SCORES = "scores alone"


def at_random(rank: Any, rng: np.random.Generator) -> Any:
    return rng.random(rank.size) < KEPT


def in_file_order(rank: Any, rng: np.random.Generator) -> Any:
    return np.arange(rank.size) < KEPT * rank.size


def a_little(rank: Any, rng: np.random.Generator) -> Any:
    """The most extreme positive is labeled three times as often as the least."""
    return rng.random(rank.size) < KEPT * (0.5 + rank)


def extreme(rank: Any, rng: np.random.Generator) -> Any:
    """The most extreme positives are nearly all labeled, the least extreme hardly ever."""
    return rng.random(rank.size) < np.minimum(0.95, 3 * KEPT * rank**2)


LABELED: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "at random": at_random, "in file order": in_file_order,
    "extreme, a little more often": a_little, "extreme, far more often": extreme,
}  # fmt: skip


@dataclass(frozen=True)
class Fitted:
    """What a fit says of the unlabeled rows, and the truth."""

    data: str
    labels: str
    estimate: tb.AlphaEstimate
    f_u: Any
    scores: tuple[Any, Any]
    truth: Any


def fitted(data: str, labels: str, seed: int, folder: Path) -> Fitted:
    """A fit of `TEDnClassifier(preset="fast")`, from the folder if it is there."""
    rng = np.random.default_rng([seed, len(data)])
    frame, is_positive, _ = TABLES[data](rng)
    where = np.flatnonzero(is_positive)
    known = np.zeros(is_positive.size, bool)
    known[where] = LABELED[labels](_extremity(frame, is_positive)[where].argsort().argsort()
                                   / (where.size - 1), rng)  # fmt: skip
    path = folder / f"{data}-{labels}-{seed}.npz"
    if not path.exists():
        clf = tb.TEDnClassifier(preset="fast", random_state=seed).fit(frame, known)
        p, u = clf.evidence_.scores
        found = clf.estimate_
        np.savez(path, p=p, u=u, f=clf.oof_proba_[~known], q=found.posterior.quantiles,
                 i=found.interval, a=found.alpha)  # fmt: skip
    kept = np.load(path)
    estimate = tb.AlphaEstimate(
        alpha=float(kept["a"]), n_p=int(known.sum()), n_u=int((~known).sum()), method="overlap",
        interval=tuple(map(float, kept["i"])), confidence=0.95,
        posterior=AlphaPosterior(tuple(map(float, kept["q"]))),
    )  # fmt: skip
    return Fitted(data, labels, estimate, kept["f"], (kept["p"], kept["u"]), is_positive[~known])


def _extremity(frame: pd.DataFrame, is_positive: Any) -> Any:
    """How much a row looks positive to a model that knows the truth."""
    numbers = pd.get_dummies(frame).fillna(frame.median(numeric_only=True)).to_numpy(float)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return cross_val_predict(model, numbers, is_positive, method="decision_function")


def audits(found: Fitted, seed: int, repeats: int) -> Iterator[dict[str, Any]]:
    """Coverage and width of every way to combine, for audits of each size."""
    said, truth = found.estimate, found.truth.mean()
    for n in (n for n in SIZES if n < found.truth.size):
        for k in range(repeats):
            sample = audit.draw_weighted(found.f_u, n, seed=1000 * seed + k)
            judged = audit.judge(
                sample, found.truth[sample.rows], said, probabilities=found.f_u, look=1
            )
            ends = {ALONE: judged.interval, SCORES: said.interval}
            for flat in FLAT:
                alone = judged.excludes == "interval"
                both = audit.update(
                    said, judged.alpha, judged.interval, 0.95, alone=alone, flat=flat
                )
                ends[f"{flat:g} flat"] = both.interval
            for rule, (low, high) in ends.items():
                yield {"data": found.data, "labels": found.labels, "n": n, "rule": rule,
                       "covers": low <= truth <= high, "width": high - low}  # fmt: skip


def page(rows: pd.DataFrame, chosen: str, asked: argparse.Namespace) -> str:
    def shown(part: pd.DataFrame, by: str, rules: list[str]) -> str:
        mean = part.groupby(["labels", by, "rule"], sort=False)[["covers", "width"]].mean()
        cells = [
            [labels, value, *(f"{mean.covers[labels, value, rule]:.3f}, "
             f"{mean.width[labels, value, rule]:.3f}" for rule in rules)]
            for labels, value in dict.fromkeys((one[0], one[1]) for one in mean.index)
        ]  # fmt: skip
        return table(["labels", by, *rules], cells)

    rules = [SCORES, *(f"{flat:g} flat" for flat in FLAT), ALONE]
    few = [SCORES, "0.05 flat", chosen, ALONE]
    is_choice = rows.data.isin(CHOOSE)
    return (
        head("Scores and answers together", "python bench/scripts/audit_together.py")
        + __doc__.split("\n\n", 2)[2]
        + f"\nEach cell: coverage of 95 % intervals, mean width. {asked.fits} fits per data set "
        f"and kind of labels, {asked.audits} audits of each size on each: "
        f"{len(rows) // rows.rule.nunique():,} audits. 0.05 flat is what was used before; "
        f"{chosen} is used now.\n\n## The choice\n\n"
        + shown(rows[is_choice].assign(audits="all sizes"), "audits", rules)
        + "\n\n## Other data sets\n\n" + shown(rows[~is_choice], "n", few)
        + "\n\n" + shown(rows[~is_choice], "data", few)
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fits", type=int, default=4)
    parser.add_argument("--audits", type=int, default=4)
    parser.add_argument("--kept", type=Path, default=Path("together_fits"))
    asked = parser.parse_args()
    one_thread()
    asked.kept.mkdir(exist_ok=True)
    chosen = f"{signature(audit.update).parameters['flat'].default:g} flat"
    found = pd.DataFrame([
        row for seed in range(asked.fits) for data in (*CHOOSE, *REPORT) for labels in LABELED
        for row in audits(fitted(data, labels, seed, asked.kept), seed, asked.audits)
    ])  # fmt: skip
    save("audit_together.md", page(found, chosen, asked))
