"""ElkanNotoClassifier: the two classifiers of Elkan & Noto, KDD 2008, over any model.

They start from g(x), the probability that a row like x is labeled, and c, the labeled share of the
positives. The paper's f(x) = g(x)/c is for all rows; probabilities here are for the unlabeled ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from topbin.core.checks import Floats
from topbin.core.errors import InputError
from topbin.learn.backends.sklearn import seeded, weight_name
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.classifiers.fitting import (
    FitOptions,
    FittedModel,
    Recipe,
    TrainingTable,
    run_crossfit,
)
from topbin.learn.crossfit import Ensemble
from topbin.learn.defaults import calibrated_model
from topbin.learn.learners import PVU
from topbin.learn.probabilities import ProbabilityMap
from topbin.learn.risk import Learner, Risk
from topbin.mpe.estimate import estimate_alpha

NEVER_ONE = 1 - 1e-9


@dataclass(eq=False, repr=False, kw_only=True)
class ElkanNotoClassifier(PUClassifier):
    """Probabilities of being labeled, turned into probabilities of being positive.

    The model must give calibrated probabilities; the default one is wrapped in
    `CalibratedClassifierCV`, and your own may need it too. `weighted=True` trains once more, each
    unlabeled row counting as positive in part (section 3 of the paper); without it the first
    model is rescaled (section 2). Other parameters: see `topbin.learn.classifiers.base`.

    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> ElkanNotoClassifier().fit(X, y).predict([[1.0], [0.0]])   # half of the unlabeled are 1.0
    array([1, 0])
    """

    weighted: bool = False
    method: str = field(default="elkan_noto", init=False)  # no parameter: it is what the class is
    _nets = "never"

    def _recipe(self) -> Recipe:
        return Recipe(fit_table=partial(fit_elkan_noto, weighted=self.weighted))


def fit_elkan_noto(table: TrainingTable, options: FitOptions, *, weighted: bool) -> FittedModel:
    """Cross-fit g, read c from it, and turn g, or a second model, into probabilities."""
    is_p = table.is_positive
    if options.estimator is None:
        if table.together is not None:
            raise InputError(
                "TB122",
                "the default model of ElkanNotoClassifier is calibrated on folds that would "
                "split groups. Pass an estimator with probabilities of its own, or use "
                "TEDnClassifier.",
            )
        options = replace(options, estimator=calibrated_model(table.X, is_p))
    share_p = float(is_p.mean())
    fit = run_crossfit(table, natural_pvu(share_p), options, ranks=False)
    evidence = fit.evidence(is_p, share_p=share_p)
    estimate = estimate_alpha(evidence, method=options.method, confidence=options.confidence)
    c = labeled_share(estimate.alpha, share_p)
    model, curve = fit.ensemble, as_map(from_labeled, c)
    oof = curve(fit.scores)
    if weighted:
        w_u = from_labeled(evidence.scores_u, c)
        f = fit_weighted(options.estimator, table, w_u, seed=options.seed)
        model, curve = Ensemble(((f,),), ()), as_map(from_positive, c)
    return FittedModel(model, curve, estimate, fit.history, evidence, oof)


def natural_pvu(share_p: float) -> Learner:
    """P against U in the proportions they come in, so that the score is the probability g."""
    return replace(PVU, name="elkan_noto", risk=lambda _: Risk(share_p, 0.0, 1 - share_p))


def labeled_share(alpha: float, share_p: float) -> float:
    """c, the share of the positives that are labeled."""
    return share_p / (share_p + (1 - share_p) * alpha)


def from_labeled(g: Any, c: float) -> Floats:
    """p(positive | x, unlabeled) = (1 − c)/c · g/(1 − g), section 3 of the paper, cut to 1."""
    g = np.minimum(np.asarray(g, np.float64), NEVER_ONE)
    return np.asarray(np.minimum(1.0, (1 - c) / c * g / (1 - g)), np.float64)


def from_positive(f: Any, c: float) -> Floats:
    """p(positive | x, unlabeled) = (1 − c) f/(1 − c f), from f(x), that of all rows."""
    f = np.minimum(np.asarray(f, np.float64), NEVER_ONE)
    return np.asarray((1 - c) * f / (1 - c * f), np.float64)


def as_map(curve: Callable[[Any, float], Floats], c: float) -> ProbabilityMap:
    """One of the two maps above, on a fine grid of probabilities."""
    grid = np.linspace(0, 1, 2001)
    return ProbabilityMap(knots=grid, values=curve(grid, c), centre=0.5, width=0.25)


def fit_weighted(estimator: Any, table: TrainingTable, w_u: Floats, *, seed: int = 0) -> Any:
    """Fit f: each unlabeled row counts as positive with weight w, as negative with 1 − w."""
    name = weight_name(estimator)
    if name is None:
        raise InputError(
            "TB013",
            f"{type(estimator).__name__} takes no sample_weight, which the weighted variant needs; "
            "use weighted=False or another classifier.",
        )
    p, u = np.flatnonzero(table.is_positive), np.flatnonzero(~table.is_positive)
    rows = np.concatenate([p, u, u])
    weight = np.concatenate([np.ones(p.size), w_u, 1 - w_u])
    if table.weight is not None:
        weight = weight * table.weight[rows]
    y = (np.arange(rows.size) < p.size + u.size).astype(int)
    return seeded(estimator, seed).fit(_safe_indexing(table.X, rows), y, **{name: weight})
