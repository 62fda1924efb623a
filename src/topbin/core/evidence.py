"""Evidence: all that an estimate is read from, gathered once.

Counts above each cut are enough for most methods and for intervals, alarms and pictures; some
methods also read the scores of the rows, or their features, where these are in memory.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from topbin.core.binomial import design_effect
from topbin.core.checks import Scores, check_scores
from topbin.core.errors import InputError
from topbin.core.tails import Tails

CUTS = 200  # at which it is measured how much the rows of a group are alike
# A row trains the models that score the others, so cross-fitted scores are not independent: two
# similar positives rise together if both are labeled, fall together if both are not, and move apart
# otherwise. The gap between the shares of labeled and of hidden positives above a cut then varies
# like that of fewer independent rows: its variance is so many times as large, on average over the
# data sets of bench/results/crossfit_coverage.md.
VARIANCE_FACTOR = 1.3


@dataclass(frozen=True, eq=False)
class Evidence:
    """Two samples as an estimate sees them: held-out scores, their tails, or features.

    >>> evidence = Evidence.of([1.0, 2.0], [0.0, 1.5, 3.0])
    >>> evidence.tails.ratio.round(3), evidence.tails is evidence.tails
    (array([0.667, 0.667]), True)
    """

    # By models that did not train on these rows; None where only counts exist.
    scores_p: Scores | None = None
    scores_u: Scores | None = None
    # For methods that read probabilities: the share of positives in the data that trained the
    # scorer. None means the share in these two samples.
    share_p: float | None = None
    counted: Tails | None = None  # counted elsewhere, for example over files larger than memory
    X_p: Any = None  # features, for methods that read no scores
    X_u: Any = None
    # Whether these rows trained the models that scored the others of them (VARIANCE_FACTOR).
    crossfitted: bool = False
    # How much each positive counts, where the labeled positives are not like the others: the
    # inverse of the odds that it was labeled. None: all count the same.
    weight_p: Any = None
    # Rows that belong together, by a number: of the positives and of the unlabeled. A group may
    # have rows of both kinds. None: all rows are independent.
    groups_p: Any = None
    groups_u: Any = None

    def __repr__(self) -> str:
        kinds = {"scores": self.scores_p, "counts": self.counted, "features": self.X_p}
        held = ", ".join(name for name, value in kinds.items() if value is not None)
        return f"<Evidence: {held or 'nothing'}{', crossfitted' if self.crossfitted else ''}>"

    @classmethod
    def of(
        cls,
        scores_p: Any,
        scores_u: Any = None,
        *,
        share_p: float | None = None,
        crossfitted: bool = False,
    ) -> "Evidence":
        """Evidence from two samples of scores, checked; Tails or Evidence alone are taken as is."""
        if isinstance(scores_p, Evidence | Tails):
            if scores_u is not None:
                kind = type(scores_p).__name__
                raise InputError(
                    "TB007",
                    f"{kind} already covers both samples, but scores_u was passed too. "
                    f"Pass the {kind} alone, or two samples of scores.",
                )
            given = cls(counted=scores_p) if isinstance(scores_p, Tails) else scores_p
            if crossfitted:
                given = replace(given, crossfitted=True)
            return given if share_p is None else replace(given, share_p=share_p)
        if scores_u is None:
            raise InputError("TB001", "scores_u is missing; pass the scores of the unlabeled rows.")
        scores_p, scores_u = check_scores(scores_p, "scores_p"), check_scores(scores_u, "scores_u")
        return cls(scores_p, scores_u, share_p, crossfitted=crossfitted)

    @cached_property
    def tails(self) -> Tails:
        """The counts above each cut: those counted elsewhere, or counted here at the first use."""
        if self.counted is not None:
            return self.counted
        if self.weight_p is not None:
            return Tails.weighted(*self.scores, self.weight_p)
        return Tails.from_scores(*self.scores)

    @cached_property
    def grouped(self) -> tuple[float, float]:
        """How many independent positives and unlabeled rows these are worth, because of groups.

        >>> scores, groups = np.repeat([3.0, 2.0, 1.0, 0.0], 5), np.repeat([0, 1, 2, 3], 5)
        >>> Evidence(scores, scores, groups_p=groups, groups_u=groups).grouped   # copies
        (4.0, 4.0)
        """
        tails = self.tails
        if self.groups_p is None or self.groups_u is None:
            return float(tails.n_p), float(tails.n_u)
        scores_p, scores_u = self.scores
        read = np.unique(tails.cuts[:: max(1, tails.cuts.size // CUTS)])
        return (
            max(1.0, tails.n_p / design_effect(scores_p, self.groups_p, read)),
            max(1.0, tails.n_u / design_effect(scores_u, self.groups_u, read)),
        )

    @property
    def effective(self) -> tuple[float, float]:
        """How many independent rows of both kinds say as much, for groups and cross-fitting.

        >>> Evidence.of([1.0] * 13, [0.0] * 26, crossfitted=True).effective
        (10.0, 20.0)
        """
        n_p, n_u = self.grouped
        return (n_p / VARIANCE_FACTOR, n_u / VARIANCE_FACTOR) if self.crossfitted else (n_p, n_u)

    @cached_property
    def independent(self) -> Tails:
        """The tails of as many independent rows: the same shares, fewer rows.

        The bound, bands and tests read these. Without groups and without cross-fitting they are
        the tails themselves.
        """
        tails = self.tails
        n_p, n_u = (max(1, round(n)) for n in self.effective)
        if (n_p, n_u) == (tails.n_p, tails.n_u):
            return tails
        above: tuple[Any, Any] = tails.q_p * n_p, tails.q_u * n_u  # need not be whole numbers
        return Tails(tails.cuts, *above, n_p, n_u)

    @property
    def has_scores(self) -> bool:
        """Whether the scores of both samples are in memory."""
        return self.scores_p is not None and self.scores_u is not None

    @property
    def scores(self) -> tuple[Scores, Scores]:
        """The scores of both samples; TB007 where only counts or features exist."""
        if self.scores_p is None or self.scores_u is None:
            raise InputError(
                "TB007", "this needs the scores of both samples; got only counts or features."
            )
        return self.scores_p, self.scores_u
