"""Drawing the rows of an audit: at random among the unlabeled, or at random within score strata.

A simple draw never sees a score. A stratified draw cuts the unlabeled into strata of equal size by
score and takes the same share of each. Giving more rows to the strata that vary most (Neyman) would
sharpen the point, but the strata that are left with few rows then widen any valid interval:
in simulations with n = 100 the equal share had the narrowest valid interval everywhere.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.checks import check_count, check_scores
from topbin.core.errors import InputError

Rows = NDArray[np.int64]
STRATA = 10
LEAST_PER_STRATUM = 5


@dataclass(frozen=True, slots=True, eq=False)
class AuditSample:
    """Which unlabeled rows to label: positions, in an order that says nothing about their score.

    `stratum` is the stratum of each drawn row, `sizes` how many unlabeled rows each stratum has.
    """

    rows: Rows
    stratum: Rows
    sizes: tuple[int, ...]
    seed: int

    @property
    def n(self) -> int:
        """How many rows are to be labeled."""
        return int(self.rows.size)

    @property
    def kind(self) -> str:
        """ "simple" or "stratified"."""
        return "simple" if len(self.sizes) == 1 else "stratified"

    @property
    def drawn(self) -> Rows:
        """How many rows were drawn from each stratum."""
        return np.bincount(self.stratum, minlength=len(self.sizes)).astype(np.int64)

    @property
    def shares(self) -> NDArray[np.float64]:
        """The weight of each stratum: its share of the unlabeled."""
        return np.asarray(self.sizes) / sum(self.sizes)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; do not show them to the person who labels."""
        return {
            "rows": self.rows.tolist(),
            "stratum": self.stratum.tolist(),
            "sizes": list(self.sizes),
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "AuditSample":
        """The sample that `to_dict` stored."""
        rows, stratum = (np.asarray(stored[key], np.int64) for key in ("rows", "stratum"))
        sizes = tuple(int(size) for size in stored["sizes"])
        return cls(rows, stratum, sizes, int(stored["seed"]))


def draw(n_u: int, n: int, *, seed: int = 0) -> AuditSample:
    """Draw n of n_u unlabeled rows, each equally likely, without looking at anything else.

    >>> draw(1000, 3, seed=1).n, draw(1000, 3).sizes
    (3, (1000,))
    """
    _check_size(n_u, n)
    rows = np.random.default_rng(seed).choice(n_u, n, replace=False)
    return AuditSample(rows.astype(np.int64), np.zeros(n, np.int64), (int(n_u),), seed)


def draw_stratified(
    scores_u: Any, n: int, *, strata: int | None = None, seed: int = 0
) -> AuditSample:
    """Draw n unlabeled rows, the same share from each stratum of equally many rows by score.

    Tied scores go to neighboring strata at random. By default there are ten strata, or fewer so
    that each gives at least five rows.

    >>> sample = draw_stratified(np.arange(100.0), 10, strata=2)
    >>> sample.sizes, sample.drawn                      # rows 0–49 and rows 50–99
    ((50, 50), array([5, 5]))
    """
    scores = check_scores(scores_u, "scores_u")
    _check_size(scores.size, n)
    wanted = max(1, min(STRATA, n // LEAST_PER_STRATUM)) if strata is None else strata
    if check_count(wanted, "strata") > n:
        raise InputError("TB008", f"{n} rows cannot be drawn from {strata} strata; draw more rows.")
    random = np.random.default_rng(seed)
    shuffled = random.permutation(scores.size)
    ranked = shuffled[np.argsort(scores[shuffled], kind="stable")]
    parts = np.array_split(ranked, wanted)
    # array_split gives the first parts the row that is left over, in both splits alike.
    counts = [part.size for part in np.array_split(np.arange(n), wanted)]
    rows = np.concatenate(
        [random.choice(part, count, False) for part, count in zip(parts, counts, strict=True)]
    )
    order = random.permutation(n)
    stratum = np.repeat(np.arange(wanted), counts)
    sizes = tuple(part.size for part in parts)
    return AuditSample(rows[order].astype(np.int64), stratum[order], sizes, seed)


def _check_size(n_u: int, n: int) -> None:
    check_count(n_u, "n_u")
    if check_count(n, "n") > n_u:
        raise InputError(
            "TB008",
            f"{n:,} rows cannot be drawn from {n_u:,} unlabeled ones; draw {n_u:,} or fewer.",
        )
