"""What to expect of a fit: reasons for doubt, how wide its interval will be, and how long it takes.

The width of an interval depends on how many rows there are, which is known, and on how well a model
will separate the classes, which is not. So `check_up` computes it for normal scores at several
AUCs, without luck: the scores are evenly spaced quantiles, and α is read from them as a fit reads
it from its own.
"""

from dataclasses import dataclass, replace
from math import sqrt
from time import monotonic
from typing import Any

import numpy as np
from scipy.special import ndtri

from topbin.core.checks import Floats
from topbin.core.estimate import Alarm
from topbin.core.evidence import Evidence
from topbin.core.formatting import counted, figure
from topbin.core.options import CONFIDENCE
from topbin.job.models import classifier_for, timed_plans
from topbin.job.prepare import Prepared
from topbin.learn.crossfit import Plan
from topbin.learn.defaults import default_model
from topbin.mpe.alarms import few_positives
from topbin.mpe.estimate import estimate_alpha

AUCS = (0.99, 0.9, 0.8)  # of positives against negatives: of models that are very good, good, fair
ALPHA = 0.25
WIDTH_ROWS = 50_000  # more make the interval hardly narrower, and take time
NO_ALARMS = "no alarms (this does not prove the table right)"


@dataclass(frozen=True, slots=True)
class Checkup:
    """Reasons to doubt any estimate from a table, and the width of its interval by AUC."""

    alarms: tuple[Alarm, ...]
    widths: dict[float, float]
    confidence: float = CONFIDENCE

    def lines(self) -> list[str]:
        """The widths, the alarms and a verdict, as text."""
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
    evidence = {auc: expected_evidence(n_p, n_u, auc) for auc in AUCS}
    estimates = {auc: estimate_alpha(each, confidence=level) for auc, each in evidence.items()}
    first = estimates[AUCS[0]]
    if (n_p, n_u) != (data.labels.n_p, data.n_u):
        first = replace(first, n_p=data.labels.n_p, worth=(n_p, n_u))
    few = few_positives(first, evidence[AUCS[0]].tails)
    ends = {auc: each.interval or (0.0, 1.0) for auc, each in estimates.items()}
    widths = {auc: high - low for auc, (low, high) in ends.items()}
    return Checkup((*data.alarms, *few), widths, level)


def expected_evidence(n_p: int, n_u: int, auc: float) -> Evidence:
    """Cross-fitted normal scores with this AUC, as evenly spaced as they can be.

    >>> round(estimate_alpha(expected_evidence(1000, 1000, 0.99)).alpha, 2)
    0.25
    """
    n_p, n_u = min(n_p, WIDTH_ROWS), min(n_u, WIDTH_ROWS)
    gap, hidden = sqrt(2) * float(ndtri(auc)), round(ALPHA * n_u)
    scores_u = np.concatenate([_spaced(hidden) + gap, _spaced(n_u - hidden)])
    return Evidence.of(_spaced(n_p) + gap, scores_u, crossfitted=True)


def _spaced(n: int) -> Floats:
    """Quantiles of the normal distribution, evenly spaced in probability."""
    return np.asarray(ndtri((np.arange(n) + 0.5) / n), np.float64)


def _independent(data: Prepared) -> tuple[int, int]:
    """How many positives and unlabeled rows there are; of rows that belong together, groups."""
    labels = data.labels
    if data.folds.row_groups is None:
        return labels.n_p, data.n_u
    groups: Any = data.folds.row_groups.groups
    n_p, n_u = (np.unique(groups[side]).size for side in (labels.is_positive, labels.is_unlabeled))
    return int(n_p), int(n_u)


def foresee(data: Prepared) -> float:
    """Seconds that the fit of these rows will take, from the time that one model takes now.

    What is not training (encoding, counting, writing) is not in it; a cross-fit fits one model
    more per repeat, for new rows. Of a net it is an epoch on some of the rows.
    """
    data.check_enough()
    X, is_p, (quick, careful) = data.X, data.labels.is_positive, timed_plans(data)
    classifier_for(data, data.request.labeling)  # which refuses columns that explain nothing
    model, share = default_model(X), 1.0
    if data.by_net:
        some = np.union1d(np.arange(0, len(X), max(1, len(X) // 500)), np.flatnonzero(is_p)[:10])
        X, is_p, share = X[some], is_p[some], some.size / len(X)
        model.set_params(warm=1)
        model.fit(X[:64], is_p[:64].astype(int))  # the first also loads what it runs on
    began = monotonic()
    model.fit(X, is_p.astype(int))
    more = 1.0
    if not data.by_net:  # an epoch of a net is followed by the next one, and scores no row
        model.predict_proba(X)
        more += 1 / careful.outer
    return (monotonic() - began) / share * (work_of(quick) + work_of(careful) * more)


@dataclass(slots=True)
class Forecast:
    """When the careful estimate will be ready.

    At first from what the first estimate took, then from the steps that were run. `steps_before`
    were done before and took no time.
    """

    began: float
    steps_before: int = 0

    def after_first(self, first: Plan, careful: Plan) -> float | None:
        """Seconds for the careful plan, the first one being done; from here on steps are timed."""
        taken, self.began = monotonic() - self.began, monotonic()
        return None if self.steps_before else taken * work_of(careful) / work_of(first)

    def after_step(self, done: int, total: int) -> float | None:
        """Seconds for the steps that are not done."""
        ran = done - self.steps_before
        return (monotonic() - self.began) * (total - done) / ran if ran > 0 else None


def work_of(plan: Plan) -> float:
    """How many fits of all rows a plan is worth; a fit without a fold's rows is worth less.

    >>> work_of(Plan(outer=3, inner=2, repeats=1, warm=1, rounds=2))     # 3 × (3 · ⅔ + 1)
    9.0
    """
    per_round = plan.inner - 1 if plan.inner > 1 else 1
    return float(plan.repeats * (plan.warm + plan.rounds) * per_round * plan.outer)
