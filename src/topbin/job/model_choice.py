"""A model for text and vectors: linear or boosted trees, whichever separates held-out rows better.

The AUC of known positives against unlabeled rows orders models as the AUC of the classes does: it
is (1 − α) of that and α/2, whatever the model. So it needs no estimate of α, and unlike the
smallest bound it does not reward a model that is sure of a few rows. The choice is made once, by a
short cross-fit of both.
"""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topbin.evaluate.metrics import pu_auc
from topbin.job.prepare import Prepared
from topbin.learn.crossfit import RunOptions, crossfit
from topbin.learn.defaults import FIRST, plan_for, text_models
from topbin.learn.learners import PVU
from topbin.learn.risk import Learner

MOST_ROWS = 12_000  # for the choice
CLEARLY = 0.01  # by which another model must be better than the one that is easier to explain
NUMBERS = ("number", "boolean", "date")


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A model, its name, and how well each model separates known positives from unlabeled rows."""

    name: str
    model: Any
    auc: Mapping[str, float]

    @property
    def note(self) -> str:
        """What a reader must know.

        >>> print(Choice("linear", None, {"linear": 0.75, "trees": 0.7}).note)
        model chosen: linear (in a short cross-fit a known positive scores above an unlabeled row
        in 75.0 % of pairs; trees 70.0 %)
        """
        others = [f"{n} {100 * value:.1f} %" for n, value in self.auc.items() if n != self.name]
        return (
            f"model chosen: {self.name} (in a short cross-fit a known positive scores above an "
            f"unlabeled row in {100 * self.auc[self.name]:.1f} % of pairs; {', '.join(others)})"
        )

    def tell(self, classifier: Any) -> None:
        """Add the note to the estimate of a fitted classifier."""
        told = classifier.estimate_
        classifier.estimate_ = replace(told, notes=(*told.notes, self.note))


def choose_model(data: Prepared, memory: MutableMapping[str, Any]) -> Choice | None:
    """The better model in a short cross-fit; None where there is nothing to choose.

    For words, trees must be clearly better than the linear model.

    Large tables are judged by some of their rows, drawn at random.
    """
    if not data.encoder.scaled:
        return None
    rows, seed = np.flatnonzero(~data.labels.is_negative), data.request.certainty.seed
    if rows.size > MOST_ROWS:
        rows = np.sort(np.random.default_rng(seed).permutation(rows)[:MOST_ROWS])
    X, is_positive = data.X[rows], data.labels.is_positive[rows]
    plain = data.encoder.places(lambda feature: feature.kind in NUMBERS)
    small = data.encoder.places(lambda feature: feature.kind == "string" and feature.scale)
    models = text_models(data.X, plain, small)
    plan, held = plan_for(PVU, X, FIRST), {}
    if data.kept is not None:
        plan, held = data.kept.plan(plan, data.labels), data.kept.at(rows).arrays
    auc = {}
    for name, model in models.items():
        learner: Learner = replace(PVU, name=f"{PVU.name}-{name}")
        fit = crossfit(
            model, X, is_positive, learner, plan=plan, seed=seed, new_rows=False,
            run=RunOptions(n_jobs=data.request.budget.threads, memory=memory), **held,
        )  # fmt: skip
        auc[name] = pu_auc(*fit.evidence(is_positive).scores).value
    # Of words, the first model is the easier to explain, so another one must be clearly better.
    first, best = next(iter(auc)), max(auc, key=auc.__getitem__)
    enough = auc[first] + CLEARLY * data.encoder.sparse
    best = best if auc[best] > enough else first
    return Choice(best, models[best], auc)
