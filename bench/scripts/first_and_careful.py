"""What the first estimate adds to the careful one: rules that combine two intervals of one table.

The scores of careful fits are those of crossfit_coverage.py, which must have run into the same
folder; here the first estimate of the same rows is fitted beside each. Both read the same rows, so
their intervals miss together or not, and a rule that takes the better end of both must pay for it:
the rules below were fixed before any was looked at.
"""

import argparse
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from crossfit_coverage import Cell
from crossfit_sets import CHECKED
from report import head, one_thread, save, table

from topbin import PvUClassifier, estimate_alpha
from topbin.core import Evidence
from topbin.learn import Plan

FIRST = Plan(outer=3, inner=1, repeats=1, warm=0, rounds=1)  # as `topbin fit` begins
SLOW = {"imdb", "cifar"}
Ends = tuple[float, float]
# A rule names the confidence at which each estimate is read; both ends are then intersected.
RULES: dict[str, tuple[float | None, float | None]] = {
    "the careful one alone": (None, 0.95),
    "the first one alone": (0.95, None),
    "both at .975 (Bonferroni)": (0.975, 0.975),
    "first at .99, careful at .96": (0.99, 0.96),
    "both at .95 (no promise)": (0.95, 0.95),
}


@dataclass(frozen=True)
class Pair:
    """The evidence of both estimates of one cell."""

    cell: Cell
    first: Evidence
    careful: Evidence

    def read(self, rule: str) -> Ends:
        """The interval of a rule; where both exclude each other, that of the careful one."""
        read = [
            estimate_alpha(evidence, method="bbe", confidence=confidence).interval
            for evidence, confidence in zip((self.first, self.careful), RULES[rule], strict=True)
            if confidence is not None
        ]
        low, high = max(ends[0] for ends in read), min(ends[1] for ends in read)
        return (low, high) if low <= high else read[-1]


def run(careful: Path, kept: Path, seeds: list[int]) -> None:
    """Fit the first estimate of every cell that has none."""
    load = cache(lambda name: CHECKED[name]())
    for file in sorted(careful.glob("*[0-9].npz")):
        cell, target = _cell(file), kept / file.name
        if cell.name in SLOW or cell.name not in CHECKED or cell.seed not in seeds:
            continue
        if target.exists():
            continue
        X, y = load(cell.name)
        p, u = cell.draw(y)
        plan = {"plan": FIRST, "random_state": cell.seed, "confidence": None}
        found = PvUClassifier(**plan).fit_pu(X[p], X[u])
        kept.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part.npz")
        np.savez_compressed(part, scores_p=found.scores_p_, scores_u=found.scores_u_)
        part.rename(target)
        sys.stderr.write(f"{file.name}\n")


def _cell(file: Path) -> Cell:
    name, alpha, n_p, n_u, seed = file.stem.rsplit("-", 4)
    return Cell(name, float(alpha), int(n_p), int(n_u), int(seed))


def pairs(careful: Path, kept: Path) -> list[Pair]:
    """All cells that have both estimates."""
    found = []
    for file in sorted(kept.glob("*[0-9].npz")):
        read = [np.load(folder / file.name) for folder in (kept, careful)]
        both = [Evidence(one["scores_p"], one["scores_u"], crossfitted=True) for one in read]
        found.append(Pair(_cell(file), *both))
    return found


def section(found: list[Pair]) -> str:
    """The rules on all cells, and why the careful interval is sometimes wider than the first."""
    ends = {rule: np.array([pair.read(rule) for pair in found]).T for rule in RULES}
    first, careful = ends["the first one alone"], ends["the careful one alone"]
    wider = np.diff(careful, axis=0)[0] > 1.05 * np.diff(first, axis=0)[0]
    (fell,), (rose,) = (first - careful)[:1, wider], (careful - first)[1:, wider]
    why = (
        f"Of the {wider.sum()} careful intervals that are wider, {(fell > rose).sum()} are so "
        f"mostly because the lower end fell, {(rose >= fell).sum()} because the upper end rose; "
        f"of the first intervals of the same rows, {_missed(found, first, wider)} missed, of the "
        f"careful ones {_missed(found, careful, wider)}."
    )
    return f"{table(COLUMNS, rows(found, ends))}\n{why}\n"


def _missed(found: list[Pair], ends: np.ndarray, where: np.ndarray) -> int:
    alpha = np.array([pair.cell.alpha for pair in found])
    return int(((ends[0] > alpha) | (ends[1] < alpha))[where].sum())


def rows(found: list[Pair], ends: dict[str, np.ndarray]) -> list[list[object]]:
    """One row per rule: misses of both ends, coverage, width, and what gets wider."""
    alpha = np.array([pair.cell.alpha for pair in found])
    first = np.subtract(*ends["the first one alone"][::-1])
    told = []
    for rule, (low, high) in ends.items():
        width = high - low
        told.append([
            rule, len(found), int((high < alpha).sum()), int((low > alpha).sum()),
            f"{np.mean((low <= alpha) & (alpha <= high)):.3f}", f"{np.median(width / alpha):.2f}",
            f"{np.mean(width / alpha):.2f}", f"{100 * np.mean(width > 1.05 * first):.0f} %",
        ])  # fmt: skip
    return told


COLUMNS = ["rule", "fits", "high < α", "low > α", "covers", "median width/α", "mean width/α",
           "wider than the first by 5 %"]  # fmt: skip


def main() -> None:
    one_thread()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("careful", type=Path, help="the folder of crossfit_coverage.py")
    options.add_argument("kept", type=Path, help="where scores of first estimates are kept")
    options.add_argument("--run", nargs="*", type=int, help="fit these seeds of what is missing")
    given = options.parse_args()
    if given.run is not None:
        for plan in ("good", "fast"):
            run(given.careful / plan, given.kept / plan, given.run)
        return
    command = "python bench/scripts/first_and_careful.py scores first --run 0, then without --run"
    text = head("The first and the careful interval of one table", command) + INTRODUCTION
    for plan, title in (("good", "The default plan"), ("fast", "The fast plan")):
        found = pairs(given.careful / plan, given.kept / plan)
        text += f"\n## {title}\n\n{section(found)}" if found else ""
    save("first_and_careful.md", text)


INTRODUCTION = (
    "`topbin fit` makes a first estimate (positive against unlabeled, three folds) and a careful "
    "one ((TED)ⁿ). Both read the same rows. 95 % intervals, data sets and cells are those of "
    "crossfit_coverage.md. A rule reads each estimate at a confidence and keeps the larger of the "
    "lower ends and the smaller of the upper ends; by the union bound, its coverage is promised if "
    "the two risks add up to 5 %. Where the two exclude each other, the careful one is kept.\n"
)

if __name__ == "__main__":
    main()
