"""All defaults of learning in one place: the model, the plans by size of the table, the presets.

They were chosen by measurement: see bench/results/tedn_uci_sklearn.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from topbin.core.checks import Floats, check_count
from topbin.core.labels import Mask
from topbin.core.optional import require
from topbin.data.features import BESIDE_TEXT
from topbin.data.images import Images
from topbin.learn.crossfit import Plan
from topbin.learn.risk import Learner
from topbin.mpe.samples import is_sparse

FEW_ROWS = 5_000  # above, a third repeat did not lower the error of α
SMALL_ROWS = 10_000  # up to here, a fifth of the rows is too few to read α from
LARGE_ROWS = 50_000
# Threads of LightGBM wait for each other up to four times per leaf, and they wait by spinning. Up
# to this many cells two threads used 3 to 5 times the CPU of one where other work ran.
ONE_THREAD_CELLS = 20_000_000
BINNED_ROWS = 20_000  # of a table; these show where its bins lie as well as all rows do
PRESETS: dict[str, Plan | None] = {
    "fast": Plan(outer=3, inner=3, repeats=1),
    "good": None,  # by the size of the table: see plan_for
    "best": Plan(outer=5, inner=3, repeats=6),
}
FIRST = Plan(outer=3, inner=1, repeats=1, warm=0, rounds=1)  # an estimate in seconds
# Of a net, `warm` are epochs of PvU and `rounds` those of (TED)ⁿ. bench/results/image_folders.md
# has how these were chosen.
NET_PRESETS = {
    "fast": Plan(outer=2, inner=1, repeats=1, warm=6, rounds=4),
    "good": Plan(outer=3, inner=1, repeats=1, warm=8, rounds=4),
    "best": Plan(outer=4, inner=1, repeats=2, warm=10, rounds=6),
}
NET_FIRST = Plan(outer=2, inner=1, repeats=1, warm=2, rounds=0)
NET_ROWS = 2_000  # with fewer to train on, a net gets more epochs, so that it takes enough steps
TEXT_C, VECTOR_C = 1.0, 0.05
# The share of a word's scale that follows its log odds, chosen with C on splits that are not
# reported (bench/results/word_settings.md).
WORD_MIX = 0.3
# A column that is not 0 in so many rows holds numbers: that it is there says nothing. It has the
# penalty that it would have with C = 2, as words had before they were scaled.
ALWAYS, NUMBER_SCALE = 0.9, 2**0.5
TREE_COLUMNS = 200  # of a sparse table, those that trees read
FEWEST_CALIBRATED = 10  # rows of a side; fewer cannot be calibrated


@dataclass(frozen=True, slots=True)
class NetPlan:
    """How a net is trained; what is None is as the net has it in `topbin.learn.NETS`.

    That is 200 epochs in batches of 200, or, for the fast net, 10 epochs of warm start and 6 more.

    Attributes
    ----------
    epochs, warm
        Epochs at most, and warm-start epochs of (TED)ⁿ. A warm start of no fixed length ends once
        PvU has run twice as long as it took to reach its lowest risk on held-out rows, or after
        half of `epochs`; the paper uses a number, `warm=100` for tables.
    batch, device, optim
        Rows of a batch, where to compute, and a `topbin.learn.Optim`.
    holdout, nets
        With several nets each holds out another part of the rows, so that α is read from all rows,
        and their mean logit scores new ones. There are three fast nets if α is to be estimated from
        at most 10,000 rows; a single one takes a third of the time, and holds out the share
        `holdout`.
    augment
        Maps a batch of images to an altered one.
    checkpoint
        A folder that keeps the net after every epoch, one file per fit: a fit that was killed
        continues from there when it is called again with the same rows and parameters.

    >>> NetPlan(epochs=20, batch=100).epochs
    20
    """

    epochs: int | None = None
    warm: int | None = None
    batch: int | None = None
    holdout: float = 0.2
    device: str = "auto"
    optim: Any = None
    augment: Callable[[Any], Any] | None = None
    checkpoint: str | None = None
    nets: int | None = None

    def turns(self, learner: Learner, net: Any, rows: int) -> int:
        """How many nets of this kind, a row of NETS, take turns in holding out some of the rows."""
        if self.nets is not None:
            return check_count(self.nets, "nets")
        return int(net.nets) if learner.estimates_alpha and rows <= SMALL_ROWS else 1

    def phases(self, learner: Learner, net: Any) -> tuple[int, int]:
        """Warm-start epochs before this learner, at most, and its own; `net` is a row of NETS."""
        two = learner.estimates_alpha or (learner.discard and net.warm is not None)
        usual = net.epochs if two or net.warm is None else net.warm
        epochs = usual if self.epochs is None else self.epochs
        fixed = net.warm if self.warm is None else self.warm
        return (epochs // 2 if fixed is None else fixed) if two else 0, epochs


def default_model(X: Any) -> Any:
    """A classifier for these rows: boosted trees, which take NaN; for a sparse table a linear one.

    For images it is a net.

    LightGBM where it is installed: on small tables scikit-learn's trees take 2 to 3 times as long.
    All but the largest tables get one thread. To use more cores, fit several folds at once
    (`n_jobs`): folds need not wait for each other.

    >>> from scipy.sparse import csr_array
    >>> default_model(csr_array((3, 2)))
    LogisticRegression(max_iter=1000)
    """
    if isinstance(X, Images):
        from topbin.learn.net_fitting import NetScorer  # which needs torch

        return NetScorer()
    if is_sparse(X):
        return linear_model(X)
    if find_spec("lightgbm") is None:  # of the plain trees, 63 bins take half the time of 255
        return HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=15, learning_rate=0.15, max_bins=63, early_stopping=False
        )
    return require("lightgbm", extra="boost", caller="the default model").LGBMClassifier(
        n_estimators=60,
        num_leaves=15,
        learning_rate=0.15,
        subsample_for_bin=BINNED_ROWS,
        n_jobs=1 if X.shape[0] * X.shape[1] <= ONE_THREAD_CELLS else None,
        deterministic=True,
        force_row_wise=True,
        verbose=-1,
    )


def linear_model(X: Any) -> Any:
    """Logistic regression; after a scaler where entries exceed 1, as raw counts of words do.

    On counts of 500,000 words the solver had not converged after 1,000 steps; scaled, it took 32.
    """
    linear = LogisticRegression(max_iter=1000)
    is_counts = X.nnz > 0 and np.abs(X.data).max() > 1
    return make_pipeline(MaxAbsScaler(), linear) if is_counts else linear


class WordRegression(LogisticRegression):  # type: ignore[misc]  # scikit-learn ships no types
    """Logistic regression whose penalty on a column is smaller, the more the column says alone.

    After Wang & Manning, "Baselines and Bigrams" (ACL 2012): each column is scaled by how much more
    often the word is in one class than in the other, mixed with the same scale for all.
    A table of words has more columns than rows, and most of them say nothing. How often a word is
    in each class is a first guess at which ones do. `coef_` is for the table as it is given.

    Parameters
    ----------
    C, max_iter, ...
        As in scikit-learn's `LogisticRegression`.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 1], [1, 0], [0, 1], [0, 0]])        # the first word is the class
    >>> model = WordRegression().fit(X, [1, 1, 0, 0])
    >>> plain = LogisticRegression().fit(X, [1, 1, 0, 0])
    >>> bool(model.coef_[0, 0] > plain.coef_[0, 0])
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to a sparse table and two classes."""
        scale = column_scale(X, np.asarray(y) == np.max(y), sample_weight)
        super().fit(X.multiply(scale).tocsr(), y, sample_weight)
        self.coef_: Floats = self.coef_ * scale
        return self


def column_scale(
    X: Any, is_positive: Mask, weight: Floats | None = None, *, mix: float = WORD_MIX
) -> Floats:
    """What each column is multiplied by: around 1, more where it separates the classes on its own.

    Parameters
    ----------
    X
        A sparse table.
    is_positive
        Which rows are of the positive class.
    weight
        Of each row.
    mix
        The share of the scale that follows how much more often a column is not 0 in one class than
        in the other; the rest is the same for all columns.

    Returns
    -------
    array
        One factor per column. A column that is hardly ever 0 holds numbers, and has one of its own.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 1, 0, 5], [0, 1, 0, 6], [0, 0, 1, 7], [0, 0, 1, 8]])
    >>> column_scale(X, np.array([True, True, False, False])).round(2)
    array([0.92, 1.04, 1.04, 1.41])
    """
    weight = np.ones(is_positive.size) if weight is None else np.asarray(weight, np.float64)
    present = (X != 0).T
    sides = (is_positive, ~is_positive)
    shares = [(present @ (weight * side) + 1) / (weight[side].sum() + 2) for side in sides]
    odds = np.abs(np.log(shares[0] / shares[1]))
    is_word = np.asarray(present.mean(axis=1)).ravel() < ALWAYS
    usual = odds[is_word].mean() if odds[is_word].any() else 1.0
    return np.where(is_word, 1 - mix + mix * odds / usual, NUMBER_SCALE)


def text_models(
    X: Any, plain: Sequence[int] = (), categories: Sequence[int] = ()
) -> dict[str, Any]:
    """Models for text or vectors, of which one is chosen: linear, boosted trees, for vectors both.

    "both" is the mean of their probabilities: on vectors it is rarely worse than the better one,
    and often better than either (bench/results/choice.md).

    Trees read the `plain` columns (numbers, dates) and of the others those that vary most, because
    words beyond a few hundred cost them much time. `categories` are those that the encoder made
    small beside text; trees are offered them as if their entries were 0 or 1.

    >>> list(text_models(np.zeros((9, 2))))
    ['linear', 'trees', 'both']
    """
    if not is_sparse(X):
        linear = LogisticRegression(C=VECTOR_C, max_iter=1000)
        models = {"linear": linear, "trees": default_model(X)}
        return {**models, "both": VotingClassifier([*models.items()], voting="soft")}
    power = np.asarray(X.multiply(X).sum(axis=0)).ravel()
    power[list(categories)] /= BESIDE_TEXT**2
    power[list(plain)] = np.inf
    kept = np.sort(np.argsort(-power, kind="stable")[: len(plain) + TREE_COLUMNS])
    columns = ColumnTransformer([("kept", "passthrough", kept.tolist())], sparse_threshold=0.0)
    trees = default_model(np.empty((X.shape[0], kept.size)))
    words = WordRegression(C=TEXT_C, max_iter=1000)
    return {"linear": words, "trees": make_pipeline(columns, trees)}


def calibrated_model(X: Any, is_positive: Mask) -> Any:
    """The default model with Platt's scaling, which a handful of rows cannot have.

    It is for methods that need probabilities: trees alone are too sure of themselves.
    """
    model = default_model(X)
    if min(is_positive.sum(), (~is_positive).sum()) < FEWEST_CALIBRATED:
        return model
    if isinstance(model, Pipeline):  # around it, the scaling would not pass row weights on
        return make_pipeline(model[0], CalibratedClassifierCV(model[1], method="sigmoid", cv=3))
    return CalibratedClassifierCV(model, method="sigmoid", cv=3)


def coarse(X: Any, model: Any) -> Any:
    """The table with no more values per column than the model's trees can distinguish.

    scikit-learn's histogram trees search their bins again in every fit, and with row weights that
    takes 10 to 25 times as long as the trees. The bins of a column with few values lie halfway
    between the values, so new rows need not be made coarse.

    >>> model = HistGradientBoostingClassifier(max_bins=2)
    >>> coarse(np.array([[1.0], [2.0], [8.0], [np.nan], [9.0]]), model).ravel()
    array([ 1.,  1.,  8., nan,  8.])
    """
    model = getattr(model, "estimator", model)
    if isinstance(model, VotingClassifier):
        model = dict(model.estimators).get("trees")
    if not isinstance(model, HistGradientBoostingClassifier):
        return X
    if hasattr(X, "select_dtypes"):  # pandas: the user's own model reads the frame as it came
        coarser = X.copy()
        for j in np.flatnonzero([kind.kind in "fiu" for kind in X.dtypes]):
            column = X.iloc[:, j].to_numpy(np.float64, na_value=np.nan)
            coarser.isetitem(j, _few_values(column, model.max_bins))
        return coarser
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiu":
        return np.column_stack([_few_values(column, model.max_bins) for column in X.T])
    return X


def _few_values(column: Any, count: int) -> Any:
    """The nearest of `count` quantiles for each value of a column with more values."""
    known = ~np.isnan(column)
    values = column[known]
    if np.unique(values).size <= count:
        return column
    shares = (np.arange(count) + 0.5) / count
    centers = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    few = column.copy()
    few[known] = centers[np.searchsorted((centers[1:] + centers[:-1]) / 2, values)]
    return few


def plan_for(learner: Learner, X: Any, plan: Plan | None = None) -> Plan:
    """The given plan, or one for a table of this size, reduced to what the learner can use.

    The more rows, the fewer repeats, and a large table gets fewer folds. A sparse one gets one
    round of discarding, because more did harm. A learner that discards nothing needs no inner
    folds, and fits once.

    >>> from topbin.learn.learners import TEDN
    >>> plan_for(TEDN, np.zeros((100_000, 2)))
    Plan(outer=3, inner=2, repeats=1, warm=1, rounds=2)
    """
    if plan is None:
        rows, rounds = X.shape[0], 1 if is_sparse(X) else 2
        repeats = 3 if rows <= FEW_ROWS else 2 if rows <= SMALL_ROWS else 1
        plan = Plan(repeats=repeats, rounds=rounds)
        plan = plan if rows <= LARGE_ROWS else replace(plan, outer=3, inner=2)
    return plan if learner.discard else replace(plan, inner=1, warm=0, rounds=1)


def net_plan(plan: Plan, rows: int) -> Plan:
    """The plan of nets with up to twice the epochs where there are few rows.

    >>> net_plan(NET_FIRST, 10_000).warm, net_plan(NET_FIRST, 100).warm
    (2, 4)
    """
    trained = rows * (plan.outer - 1) / plan.outer
    more = float(np.clip(NET_ROWS / max(1.0, trained), 1.0, 2.0))
    return replace(plan, warm=round(more * plan.warm), rounds=round(more * plan.rounds))
