"""What a table can say before anything is fitted: reasons for doubt, and how wide an interval is.

The width depends on how many rows there are, which is known, and on how well a model will separate
the classes, which is not. So it is computed for normal scores at several AUCs, without luck: the
scores are evenly spaced quantiles, and α is read from them as a fit reads it from its own.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from topbin.core.checks import Floats
from topbin.core.defaults import CONFIDENCE
from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.figures import counted, figure
from topbin.job.prepare import Prepared
from topbin.mpe.alarms import few_positives
from topbin.mpe.estimate import estimate_alpha

AUCS = (0.99, 0.9, 0.8)  # of positives against negatives: of models that are very good, good, fair
ALPHA = 0.25
MOST_ROWS = 50_000  # more make the interval hardly narrower, and take time
NO_ALARMS = "no alarms (this does not prove the table right)"


@dataclass(frozen=True, slots=True)
class Checkup:
    """Reasons to doubt any estimate from a table, and the width of its interval by AUC."""

    alarms: tuple[Alarm, ...]
    widths: dict[float, float]
    confidence: float = CONFIDENCE

    def lines(self) -> list[str]:
        """The same as text."""
        each = ", ".join(f"{figure(width)} at AUC {auc:g}" for auc, width in self.widths.items())
        widths = f"expect a width of about {each}, if α is near {ALPHA:g}"
        codes = [alarm.code for alarm in self.alarms]
        verdict = f"{counted(len(codes), 'alarm')} to look into before a fit: {', '.join(codes)}"
        # A leak is noticed with its column, and with what to do about it.
        shown = (alarm for alarm in self.alarms if alarm.code != "leak")
        return [
            f"{f'{100 * self.confidence:g} % interval':<16}{widths}",
            *(f"alarm           {alarm.code}: {alarm.message}" for alarm in shown),
            f"verdict         {verdict if codes else NO_ALARMS}",
        ]


def check_up(data: Prepared) -> Checkup:
    """What is known about the rows of a table; TB003 if there are too few of them to fit."""
    data.check_enough()
    n_p, n_u = _independent(data)
    level = data.request.certainty.confidence
    evidence = {auc: without_luck(n_p, n_u, auc) for auc in AUCS}
    found = {auc: estimate_alpha(each, confidence=level) for auc, each in evidence.items()}
    first = found[AUCS[0]]
    if (n_p, n_u) != (data.labels.n_p, data.n_u):
        first = replace(first, n_p=data.labels.n_p, worth=(n_p, n_u))
    few = few_positives(first, evidence[AUCS[0]].tails)
    return Checkup((*data.alarms, *few), {auc: _width(each) for auc, each in found.items()}, level)


def without_luck(n_p: int, n_u: int, auc: float, alpha: float = ALPHA) -> Evidence:
    """Cross-fitted normal scores with this AUC, as evenly spaced as they can be.

    >>> round(estimate_alpha(without_luck(1000, 1000, 0.99)).alpha, 2)
    0.25
    """
    n_p, n_u = min(n_p, MOST_ROWS), min(n_u, MOST_ROWS)
    gap, hidden = sqrt(2) * float(ndtri(auc)), round(alpha * n_u)
    scores_u = np.concatenate([_spaced(hidden) + gap, _spaced(n_u - hidden)])
    return Evidence.of(_spaced(n_p) + gap, scores_u, crossfitted=True)


def _width(estimate: AlphaEstimate) -> float:
    low, high = estimate.interval or (0.0, 1.0)
    return high - low


def _spaced(n: int) -> Floats:
    """Quantiles of the normal distribution, evenly spaced in probability."""
    return np.asarray(ndtri((np.arange(n) + 0.5) / n), np.float64)


def _independent(data: Prepared) -> tuple[int, int]:
    """How many positives and unlabeled rows there are; of rows that belong together, groups."""
    labels = data.labels
    if data.folds.together is None:
        return labels.n_p, data.n_u
    groups: Any = data.folds.together.groups
    n_p, n_u = (np.unique(groups[side]).size for side in (labels.is_positive, labels.is_unlabeled))
    return int(n_p), int(n_u)
