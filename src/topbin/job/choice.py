"""A model for text and vectors: linear or boosted trees, whichever the held-out scores favor.

For every scorer the bound on α holds, so the lower of two bounds is the better model's
(Garg et al. 2021: α is what the best scorer's bound comes down to). Choosing by the same rows costs
certainty: the lower of two bounds misses more often than one. So the choice is made once, by a
short cross-fit of both, and the interval and the bound of the chosen model are then read at a level
that would hold for both models at once (Bonferroni): it holds whichever was chosen, and however.
"""

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topbin.core.figures import figure
from topbin.data.features import Feature, Features
from topbin.job.prepare import Prepared
from topbin.learn.crossfit import crossfit
from topbin.learn.defaults import FIRST, plan_for, text_models
from topbin.learn.learners.pvu import PVU
from topbin.learn.risk import Learner
from topbin.mpe.estimate import estimate_alpha
from topbin.mpe.intervals import upper_bound

MOST_ROWS = 12_000  # for the choice
CLEARLY = 0.95
NUMBERS = ("number", "boolean", "date")


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A model, its name, and the bound that each model reached."""

    name: str
    model: Any
    bounds: Mapping[str, float]

    @property
    def note(self) -> str:
        """What a reader must know.

        >>> print(Choice("linear", None, {"linear": 0.5, "trees": 0.6}).note)
        model chosen: linear (bound 0.500; trees 0.600, in a short cross-fit); the interval and the
        bound allow for the choice
        """
        others = [f"{n} {figure(bound)}" for n, bound in self.bounds.items() if n != self.name]
        own = f"bound {figure(self.bounds[self.name])}; {', '.join(others)}, in a short cross-fit"
        return f"model chosen: {self.name} ({own}); the interval and the bound allow for the choice"

    def notes(self, alpha: float) -> tuple[str, ...]:
        """The note, and another if the estimate contradicts the bound that it names.

        >>> print(Choice("linear", None, {"linear": 0.5, "trees": 0.6}).notes(0.7)[1])
        α here is above 0.500, the bound of the short cross-fit: the models of the full one, which
        give α, the interval and the bound, separate less well; the true α is probably lower than
        this estimate
        """
        bound = self.bounds[self.name]
        if alpha <= bound:
            return (self.note,)
        doubt = (
            f"α here is above {figure(bound)}, the bound of the short cross-fit: the models of the "
            "full one, which give α, the interval and the bound, separate less well; the true α is "
            "probably lower than this estimate"
        )
        return self.note, doubt

    def allow(self, classifier: Any) -> None:
        """Read the limits of a fitted classifier again, at the level that allows for the choice."""
        told = classifier.estimate_.notes
        evidence = replace(classifier.evidence_, chosen_of=len(self.bounds))
        how = {"method": classifier.method, "confidence": classifier.confidence}
        classifier.evidence_ = evidence
        found = estimate_alpha(evidence, **how)
        classifier.estimate_ = replace(found, notes=(*told, *self.notes(found.alpha)))


def choose_model(
    data: Prepared, seed: int, memory: MutableMapping[str, Any], n_jobs: int | None = None
) -> Choice | None:
    """The model with the lowest bound in a short cross-fit; None where there is nothing to choose.

    For words, trees must be clearly better than the linear model.

    Large tables are judged by some of their rows, drawn at random.
    """
    if not data.encoder.scaled:
        return None
    rows = np.flatnonzero(~data.labels.is_negative)
    if rows.size > MOST_ROWS:
        rows = np.sort(np.random.default_rng(seed).permutation(rows)[:MOST_ROWS])
    X, is_positive = data.X[rows], data.labels.is_positive[rows]
    plain = columns_of(data.encoder, lambda feature: feature.kind in NUMBERS)
    small = columns_of(data.encoder, lambda feature: feature.kind == "string" and feature.scale)
    models = text_models(data.X, plain, small)
    plan, held = plan_for(PVU, X, FIRST), {}
    if data.kept is not None:
        plan, held = data.kept.plan(plan, data.labels), data.kept.at(rows).arrays
    bounds = {}
    for name, model in models.items():
        learner: Learner = replace(PVU, name=f"{PVU.name}-{name}")
        fit = crossfit(
            model, X, is_positive, learner, plan=plan, seed=seed, n_jobs=n_jobs, memory=memory,
            new_rows=False, **held,
        )  # fmt: skip
        bounds[name] = upper_bound(fit.evidence(is_positive).independent, crossfitted=True)
    # Of words, the first model is the easier to explain, so another one must be clearly better.
    first, best = next(iter(bounds)), min(bounds, key=bounds.__getitem__)
    enough = CLEARLY * bounds[first] if data.encoder.sparse else bounds[first]
    best = best if bounds[best] < enough else first
    return Choice(best, models[best], bounds)


def columns_of(encoder: Features, wanted: Callable[[Feature], object]) -> list[int]:
    """The columns of the matrix that are made of some columns of the table."""
    found: list[int] = []
    start = 0
    for feature in encoder.features:
        size = len(feature.names(scaled=encoder.scaled))
        if wanted(feature):
            found += range(start, start + size)
        start += size
    return found
