"""Evidence: all that an estimate is read from, gathered once.

Counts above each cut are enough for most methods and for intervals, alarms and pictures; some
methods also read the scores of the rows, or their features, where these are in memory.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from topbin.core.checks import Scores, check_scores
from topbin.core.errors import InputError
from topbin.core.shares import design_effect
from topbin.core.tails import Tails

CUTS = 200  # at which it is measured how much the rows of a group are alike


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
    # Whether these rows trained the models that scored the others of them. Such scores are not
    # independent: intervals allow for that.
    crossfitted: bool = False
    # How much each positive counts, where the labeled positives are not like the others: the
    # inverse of the odds that it was labeled. None: all count the same.
    weight_p: Any = None
    # Rows that belong together, by a number: of the positives and of the unlabeled. A group may
    # have rows of both kinds. None: all rows are independent.
    groups_p: Any = None
    groups_u: Any = None
    # Of how many models the one that scored was chosen, by these very rows. Limits are then read at
    # a level that would hold for all of them at once (Bonferroni).
    chosen_of: int = 1
    # How often negatives may score among the best positives, as a share of how often positives do,
    # where that is known of the models. Lower ends allow for it.
    kappa: float = 0.0

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
            given = (
                scores_p
                if isinstance(scores_p, Evidence)
                else cls(counted=scores_p, crossfitted=crossfitted)
            )
            return given if share_p is None else replace(given, share_p=share_p)
        if scores_u is None:
            raise InputError("TB001", "scores_u is missing; pass the scores of the unlabeled rows.")
        scores_p, scores_u = check_scores(scores_p, "scores_p"), check_scores(scores_u, "scores_u")
        return cls(scores_p, scores_u, share_p, crossfitted=crossfitted)

    def level(self, confidence: float) -> float:
        """The level at which to read limits that are to hold with this confidence.

        >>> Evidence.of([1.0], [0.0]).level(0.95), Evidence(chosen_of=2).level(0.95)
        (0.95, 0.975)
        """
        return confidence if self.chosen_of == 1 else 1 - (1 - confidence) / self.chosen_of

    @cached_property
    def tails(self) -> Tails:
        """The counts above each cut: those counted elsewhere, or counted here at the first use."""
        if self.counted is not None:
            return self.counted
        if self.weight_p is not None:
            return Tails.weighted(*self.scores, self.weight_p)
        return Tails.from_scores(*self.scores)

    @cached_property
    def independent(self) -> Tails:
        """The tails of as many independent rows as these are worth: the same shares, fewer rows.

        Limits and tests read these. Without groups they are the tails themselves.

        >>> scores, groups = np.repeat([3.0, 2.0, 1.0, 0.0], 5), np.repeat([0, 1, 2, 3], 5)
        >>> copies = Evidence(scores, scores, groups_p=groups, groups_u=groups)
        >>> copies.independent.n_p, copies.independent.above_u
        (4, array([4., 3., 2., 1.]))
        """
        tails = self.tails
        if self.groups_p is None or self.groups_u is None:
            return tails
        scores_p, scores_u = self.scores
        read = np.unique(tails.cuts[:: max(1, tails.cuts.size // CUTS)])
        sides = (tails.n_p, scores_p, self.groups_p), (tails.n_u, scores_u, self.groups_u)
        n_p, n_u = (
            max(1, int(count / design_effect(scores, groups, read)))
            for count, scores, groups in sides
        )
        above: tuple[Any, Any] = tails.q_p * n_p, tails.q_u * n_u  # need not be whole numbers
        return Tails(tails.cuts, *above, n_p, n_u)

    @property
    def has_tails(self) -> bool:
        """Whether the tails are known already, so that reading them costs nothing."""
        return self.counted is not None or "tails" in vars(self)

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
