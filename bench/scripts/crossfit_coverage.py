"""Coverage of the interval and the bound of cross-fitted scores, on data with known truth.

A fit is a draw of known positives and of unlabeled rows with a fixed share of positives, and a
cross-fit of both. Its scores are kept in a folder, so that the script can be stopped at any time
and continues where it was, and new rules for intervals can be compared in seconds.
"""

import argparse
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from crossfit_sets import (
    CALIBRATED,
    CHECKED,
    FRESH,
    HELD_BACK,
    HELD_BACK_AGAIN,
    MORE,
    READ_ONCE,
    Loaded,
)
from report import head, one_thread, save, table

from topbin import TEDnClassifier, estimate_alpha
from topbin.core import Evidence, Tails
from topbin.mpe import alpha_posterior, upper_bound

ALPHAS = (0.05, 0.1, 0.3, 0.5, 0.7)
SIZES = ((100, 1000), (300, 1000), (100, 3000), (300, 3000))
ALL_ALPHAS = (0.0, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9)
ALL_SIZES = ((30, 500), (100, 1000), (300, 1000), (1000, 2000))
LARGE = (
    "mnist_odd", "mnist_49", "waveform", "twonorm", "ringnorm", "cifar", "hastie", "clusters",
    "moons", "friedman", "mnist_35", "mnist_low", "cifar_animals", "imdb", "mnist_17", "mnist_79",
)  # fmt: skip
Sets = dict[str, Callable[[], Loaded]]


@dataclass(frozen=True)
class Part:
    """Some data sets with the seeds of their draws and the plan of their fits."""

    sets: Sets
    seeds: tuple[int, ...]
    preset: str = "fast"
    each: int = 1  # one of so many cells
    alphas: tuple[float, ...] = ALPHAS
    sizes: tuple[tuple[int, int], ...] = SIZES


PARTS = {
    "calibrate": Part(CALIBRATED, (0, 1)),
    "check": Part(CHECKED, (0, 1, 2)),
    "fresh": Part(FRESH, (10, 11)),
    "default": Part(FRESH, (12,), "good", each=5),
    # What only the prior of the posterior learns from: other data sets, and other sizes.
    "more": Part(MORE, (30,), "fast", 1, (0.1, 0.3, 0.5, 0.7, 0.9), ((100, 1000), (300, 1000))),
    "sizes": Part(
        CALIBRATED | CHECKED | FRESH | MORE,
        (31,),
        "fast",
        1,
        (0.1, 0.5, 0.9),
        ((30, 500), (1000, 1000), (1000, 3000)),
    ),
    # Where hidden positives score if α is large (posterior_headroom.py).
    "large": Part(
        {name: (CALIBRATED | CHECKED | FRESH)[name] for name in LARGE},
        (70,),
        "fast",
        1,
        (0.8, 0.9),
        ((1000, 3000),),
    ),
    "held_back": Part(HELD_BACK, (20,), "fast", 1, ALL_ALPHAS, ALL_SIZES),
    "held_back_default": Part(HELD_BACK, (21,), "good", 3, ALL_ALPHAS, ALL_SIZES),
    "again": Part(HELD_BACK_AGAIN, (40,), "fast", 1, ALL_ALPHAS, ALL_SIZES),
    "again_default": Part(HELD_BACK_AGAIN, (41,), "good", 3, ALL_ALPHAS, ALL_SIZES),
    "once": Part(READ_ONCE, (50,), "fast", 1, ALL_ALPHAS, ALL_SIZES),
}


@dataclass(frozen=True)
class Cell:
    """One draw from a data set."""

    name: str
    alpha: float
    n_p: int
    n_u: int
    seed: int

    def draw(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of both samples, without replacement."""
        words = zlib.crc32(self.name.encode()), int(1000 * self.alpha), self.n_p, self.n_u
        rng = np.random.default_rng([*words, self.seed])
        p, n = rng.permutation(np.flatnonzero(y)), rng.permutation(np.flatnonzero(~y))
        hidden = round(self.alpha * self.n_u)
        u = np.concatenate([p[self.n_p : self.n_p + hidden], n[: self.n_u - hidden]])
        return p[: self.n_p], rng.permutation(u)


@dataclass(frozen=True)
class Found:
    """What a cross-fit gave, with the intervals of cross-fitted and of other scores."""

    cell: Cell
    point: float
    own: tuple[float, float]
    plain: tuple[float, float]
    bound: float
    pure_bound_missed: bool


def cells(name: str, y: np.ndarray, seed: int, part: Part) -> Iterator[Cell]:
    """The cells for which the data set has enough rows of both classes, or one of `part.each`."""
    enough = [
        Cell(name, alpha, n_p, n_u, seed)
        for alpha in part.alphas
        for n_p, n_u in part.sizes
        if n_p + round(alpha * n_u) <= y.sum() and n_u - round(alpha * n_u) <= (~y).sum()
    ]
    yield from enough[zlib.crc32(name.encode()) % part.each :: part.each]


def run(part: Part, folder: Path, names: list[str]) -> None:
    """Fit every cell that has no scores yet."""
    load = cache(lambda name: part.sets[name]())
    for seed in part.seeds:
        for name in names or part.sets:
            X, y = load(name)
            for cell in cells(name, y, seed, part):
                file = folder / part.preset / _file_name(cell)
                if not file.exists():
                    _fit(cell, X, y, part.preset, file)
            sys.stderr.write(f"{seed} {name}\n")


def _file_name(cell: Cell) -> str:
    return f"{cell.name}-{cell.alpha}-{cell.n_p}-{cell.n_u}-{cell.seed}.npz"


def _fit(cell: Cell, X: object, y: np.ndarray, preset: str, file: Path) -> None:
    p, u = cell.draw(y)
    classifier = TEDnClassifier(preset=preset, random_state=cell.seed, confidence=None)
    scores = classifier.fit_pu(X[p], X[u])
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part.npz")
    np.savez_compressed(part, scores_p=scores.scores_p_, scores_u=scores.scores_u_, truth=y[u])
    part.rename(file)


def read(folder: Path, names: Sets) -> list[Found]:
    """The intervals of all scores in a folder."""
    found = []
    for file in sorted(folder.glob("*[0-9].npz")):
        name, alpha, n_p, n_u, seed = file.stem.rsplit("-", 4)
        if name in names:
            cell = Cell(name, float(alpha), int(n_p), int(n_u), int(seed))
            found.append(_judge(cell, np.load(file)))
    return found


def _judge(cell: Cell, kept: dict[str, np.ndarray]) -> Found:
    scores_p, scores_u, truth = kept["scores_p"], kept["scores_u"], kept["truth"]
    evidence = Evidence(scores_p, scores_u, crossfitted=True)
    estimate = estimate_alpha(evidence, method="bbe")
    # With all negatives below all positives, the bound has nothing to spare.
    pure = Tails.from_scores(scores_p, np.where(truth, scores_u, scores_p.min() - 1))
    return Found(
        cell,
        estimate.alpha,
        estimate.interval,
        alpha_posterior(evidence.tails).interval(0.95),
        estimate.upper_bound,
        upper_bound(pure, 0.975) < cell.alpha,
    )


def rows(found: list[Found], of: Callable[[Cell], object]) -> list[list[object]]:
    """One row per group of cells, and one for all."""
    groups: dict[object, list[Found]] = {}
    for one in found:
        groups.setdefault(of(one.cell), []).append(one)
    ordered = sorted(groups) if len({type(key) for key in groups}) == 1 else list(groups)
    return [_row(key, groups[key]) for key in ordered] + [_row("all", found)]


def _row(name: object, found: list[Found]) -> list[object]:
    alpha = np.array([one.cell.alpha for one in found])
    (low, high), (low_0, high_0) = (
        np.transpose([getattr(one, kind) for one in found]) for kind in ("own", "plain")
    )
    bound, point = (np.array([getattr(one, kind) for one in found]) for kind in ("bound", "point"))
    zero = (low == 0) & (point >= 0.1)
    return [
        name,
        len(found),
        (high < alpha).sum(),
        (low > alpha).sum(),
        f"{np.mean((low <= alpha) & (alpha <= high)):.3f}",
        (bound < alpha).sum(),
        zero.sum(),
        f"{np.median(low / alpha):.2f} to {np.median(high / alpha):.2f}",
        f"{np.median((high - low) / alpha):.2f}",
        (high_0 < alpha).sum(),
        (low_0 > alpha).sum(),
        ((low_0 == 0) & (point >= 0.1)).sum(),
        f"{np.median((high_0 - low_0) / alpha):.2f}",
    ]


COLUMNS = ["", "fits", "high < α", "low > α", "covers", "bound < α", "low = 0"]
COLUMNS += ["median/α", "width/α", "was high < α", "was low > α", "was low = 0", "was width/α"]


def section(title: str, found: list[Found]) -> str:
    """The tables of one part."""
    by = {
        "by data set": lambda cell: cell.name,
        "by α": lambda cell: cell.alpha,
        "by size": lambda cell: f"{cell.n_p} / {cell.n_u:,}",
    }
    pure = sum(one.pure_bound_missed for one in found)
    text = (
        f"## {title}\n\nWithout negatives among the positives, and as if the scores were "
        f"independent, {pure} of {len(found)} upper ends would have missed "
        f"({100 * pure / len(found):.1f} %; promised 2.5 %).\n\n"
    )
    return text + "\n".join(
        f"### {name}\n\n{table(COLUMNS, rows(found, of))}"
        for name, of in by.items()
        if len({of(one.cell) for one in found}) > 1
    )


def misses(found: list[Found]) -> str:
    """Every interval that misses."""
    missed = [one for one in found if not one.own[0] <= one.cell.alpha <= one.own[1]]
    return table(
        ["data set", "α", "n_p / n_u", "seed", "α̂", "interval"],
        [
            [c.name, c.alpha, f"{c.n_p} / {c.n_u:,}", c.seed, f"{one.point:.3f}",
             f"{one.own[0]:.3f} to {one.own[1]:.3f}"]
            for one in missed for c in [one.cell]
        ],
    )  # fmt: skip


def main() -> None:
    one_thread()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path, help="where scores are kept")
    options.add_argument("--run", choices=PARTS, help="fit what is missing; without it, only read")
    options.add_argument("--sets", nargs="*", default=[], help="only these data sets")
    given = options.parse_args()
    if given.run:
        run(PARTS[given.run], given.folder, given.sets)
        return
    fast, good = given.folder / "fast", given.folder / "good"
    fresh, default = read(fast, FRESH), read(good, FRESH)
    command = "crossfit_coverage.py scores --run fresh (and with default, then without --run)"
    text = head(
        "Coverage of the interval and the bound of cross-fitted scores",
        f"python bench/scripts/{command}",
    )
    text += INTRODUCTION + section("Fresh fits: the fast plan", fresh)
    text += f"\n### every miss\n\n{misses(fresh)}\n"
    text += section("Fresh fits: the default plan", default)
    text += f"\n### every miss of the default plan\n\n{misses(default)}\n"
    text += section("Fits on which the rule was chosen", read(fast, CALIBRATED | CHECKED))
    save("crossfit_coverage.md", text)


INTRODUCTION = (
    "`TEDnClassifier` cross-fits known positives and unlabeled rows that hold a fixed share α "
    "of positives; 95 % intervals. Data sets, classes and sources are in `crossfit_sets.py`; "
    "cells for which a data set has too few rows are left out. *high < α* and *low > α* count "
    "misses of the two ends (2.5 % each are promised), *bound < α* those of the one-sided bound "
    "(5 %), and *low = 0* the lower ends of 0 where α̂ ≥ .1. *was* is what the same scores get "
    "as scores that a user brings.\n\n"
    "The rule of the lower end was chosen on the data sets at the end of this page, which had "
    "all been looked at (their scores are from an earlier version of the plan). The fresh data "
    "sets and their seeds were named after that, in the commit that follows that of the rule, "
    "and most of them are hard on purpose: the classes overlap. The rule before it covers .920 "
    "of the same fresh fits: 39 lower ends are too high and two are 0, at a median width/α of "
    "1.09. One thing was changed after the fresh fits were read: one lower end was 0 (casp, α = "
    ".05, 300 / 1,000), because the deciding bin had no unlabeled row; such a bin is now read "
    "up to the first one. That lower end is now .0001, and no other interval of the fresh fits "
    "changed.\n\n"
)

if __name__ == "__main__":
    main()
