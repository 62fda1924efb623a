"""The one cross-fit: any learner over any scikit-learn classifier, every row scored out of fold.

The hold-out of Garg et al. 2021, algorithm 3, costs a table a fifth of its rows. Here every row
is held out once: for each outer fold the whole loop runs on the other folds only, ranks U by
models of inner folds, and then scores the fold that it has not touched. Folds shared between
rounds would leak (which rows were kept reveals their labels) and push α̂ down. A learner
that discards nothing needs no inner folds: its cross-fit is the ordinary one. Rows are put in an
order that depends on their content alone, so that the answer does not depend on theirs.
"""

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from math import inf
from time import monotonic
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from topbin.core import Evidence, InputError
from topbin.core.binomial import ranks_of, share_below
from topbin.core.checks import Floats, RowNumbers
from topbin.core.labels import Mask
from topbin.learn.backends.sklearn import FoldedModels, mean_score
from topbin.learn.folds import folds_of, order_of
from topbin.learn.loop import TRACKED_BY, Epoch, train
from topbin.learn.risk import Learner
from topbin.learn.rows import Together, TrainingTable, pick, read_together
from topbin.mpe.registry import METHODS

# Below this many cells a model runs faster on one thread than it can wake a second one.
SMALL_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """How much work a cross-fit is: folds, inner folds (1: none), repeats, rounds of refitting.

    Attributes
    ----------
    outer, inner
        Folds that are held out, and folds inside each that rank U (1: none).
    repeats
        Shuffled cross-fits, whose scores are averaged.
    warm, rounds
        Fits of PvU, and then rounds of refitting.

    >>> Plan(outer=3, inner=3, repeats=1)
    Plan(outer=3, inner=3, repeats=1, warm=1, rounds=2)
    """

    outer: int = 5
    inner: int = 3
    repeats: int = 3
    warm: int = 1
    rounds: int = 2


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """One run of the loop: the rows it never touched (none: for new rows), and its models."""

    repeat: int
    held_out: RowNumbers
    scores: tuple[Floats, ...]
    models: tuple[Any, ...]
    history: tuple[Epoch, ...]

    @property
    def is_for_new_rows(self) -> bool:
        """Whether it was trained on all rows."""
        return not self.held_out.size

    def __repr__(self) -> str:
        held = f"{self.held_out.size:,} rows held out"
        return f"<Chain: repeat {self.repeat}, {held}, {len(self.models)} models>"

    @property
    def mean_scores(self) -> Floats:
        """One score per held-out row: the mean over the rounds, warm start included.

        Measured on five tables, the mean gave a smaller error of α than any single round.
        """
        return np.asarray(np.mean(self.scores, axis=0), np.float64)

    def score(self, X: Any) -> Floats:
        """The scores of other rows that these models never saw, on the scale of `mean_scores`."""
        return mean_score(self.models, X)


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Models for new rows, one group per repeat, and the out-of-fold scores to compare with."""

    groups: tuple[tuple[Any, ...], ...]
    references: tuple[Floats, ...]

    def scores(self, X: Any) -> Floats:
        """The mean over groups of the share of out-of-fold scores below, or of the plain score."""
        with threadpool_limits(limits=1 if is_small(X) else None):
            scores = [mean_score(group, X) for group in self.groups]
        if self.references:
            scores = [share_below(z, k) for k, z in zip(self.references, scores, strict=True)]
        return np.asarray(np.mean(scores, axis=0), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class CrossFit:
    """A finished cross-fit: out-of-fold scores of all rows, and models that score new ones.

    Attributes
    ----------
    scores
        One score per row, by models that never saw it.
    ensemble, history
        The models for new rows, and one `Epoch` for each round.
    chains
        The models of each fold, kept on request. Other rows can then be scored by the models of a
        single fold, as the held-out rows were: `fit.folds[repeat][k].score(X)`.
    groups
        Those of the rows, if rows belong together.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from topbin.learn import find_learner
    >>> X, is_positive = np.repeat([[1.0], [-1.0]], 10, axis=0), np.repeat([True, False], 10)
    >>> fit = crossfit(LogisticRegression(), X, is_positive, find_learner("pvu"), keep_chains=True)
    >>> fit.score(X).shape, len(fit.folds), len(fit.folds[0])
    ((20,), 3, 5)
    """

    scores: Floats
    ensemble: Ensemble
    history: tuple[Epoch, ...]
    chains: tuple[Chain, ...] = ()
    groups: RowNumbers | None = None

    def __repr__(self) -> str:
        return f"<CrossFit: {self.scores.size:,} rows, {len(self.chains):,} chains kept>"

    def score(self, X: Any) -> Floats:
        """Scores of new rows, on the scale of the out-of-fold scores."""
        if not self.ensemble.groups:
            raise InputError(
                "TB013", "this cross-fit has no models for new rows; run it with new_rows=True."
            )
        return self.ensemble.scores(X)

    def evidence(self, is_positive: Mask, *, share_p: float | None = None) -> Evidence:
        """The out-of-fold scores of both samples, as scores of rows that trained one another."""
        p, u = is_positive, ~is_positive
        evidence = Evidence(self.scores[p], self.scores[u], share_p, crossfitted=True)
        if self.groups is None:
            return evidence
        return replace(evidence, groups_p=self.groups[p], groups_u=self.groups[u])

    @property
    def folds(self) -> tuple[tuple[Chain, ...], ...]:
        """For each repeat, the chains that held rows out, in the order of the folds."""
        return _by_repeat(self.chains)


def _by_repeat(chains: Iterable[Chain]) -> tuple[tuple[Chain, ...], ...]:
    """The chains that held rows out, repeat by repeat."""
    outer = (chain for chain in chains if not chain.is_for_new_rows)
    return tuple(tuple(own) for _, own in groupby(outer, key=lambda chain: chain.repeat))


class OutOfTime(Exception):
    """Time was up before every row had a score."""


@dataclass(frozen=True, slots=True)
class Progress:
    """An event of training: `done` of `total` steps, and the record of the last epoch.

    >>> Progress(done=3, total=12).epoch is None
    True
    """

    done: int
    total: int
    epoch: Epoch | None = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a fit is run: none of this changes what it finds, unless time runs out.

    Attributes
    ----------
    n_jobs
        How many folds are fitted at once.
    deadline
        A reading of `time.monotonic`: after it nothing begins that is not needed to score every
        row.
    memory
        Keeps finished steps by name, for a fit that is interrupted and run again.
    on_event
        Is called with a `Progress` after each step.

    >>> RunOptions(n_jobs=2).deadline
    inf
    """

    n_jobs: int | None = None
    deadline: float = inf
    memory: MutableMapping[str, Any] | None = None
    on_event: Callable[[Progress], object] | None = None


def crossfit(
    estimator: Any,
    X: Any,
    is_positive: Mask,
    learner: Learner,
    *,
    alpha: float | None = None,
    plan: Plan = Plan(),
    ranks: bool = True,
    seed: int = 0,
    sample_weight: Floats | None = None,
    groups: Any = None,
    times: Any = None,
    new_rows: bool | Literal["lean", "folds"] = True,
    keep_chains: bool | Literal["first"] = False,
    run: RunOptions = RunOptions(),
) -> CrossFit:
    """Run a learner once for each outer fold and once on all rows, `repeats` times.

    Parameters
    ----------
    estimator, X, is_positive
        A scikit-learn classifier, a table that it takes, and which rows are known to be positive.
    learner, alpha
        A row of `LEARNERS`, and the α that it may need.
    plan
        Folds, repeats and rounds.
    ranks
        Whether a row's score is its rank within its fold, averaged over repeats, or the score of
        the models.
    seed, sample_weight
        Seed of folds and models, and weights of rows in the models.
    groups, times
        Rows with the same group are held out together. With times (dates or numbers) folds are
        blocks of time; as these are always the same, there is one repeat, and no ranks.
    new_rows
        Whether models for new rows are made; if "lean", `one_per_round` scores them, and with
        "folds" the models of all folds do.
    keep_chains
        Whether models of chains that held rows out are kept: none, all, or those of the "first"
        repeat.
    run
        Jobs, deadline, memory and events. Chains that its memory has, by their `chain_name`, are
        taken from it; others are put there unless the deadline cut them short.

    Returns
    -------
    CrossFit
        Scores of all rows, and models for new ones.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from topbin.learn import find_learner
    >>> X, is_positive = np.repeat([[1.0], [-1.0]], 10, axis=0), np.repeat([True, False], 10)
    >>> learner, plan = find_learner("pvu"), Plan(inner=1, warm=0)
    >>> fit = crossfit(LogisticRegression(), X, is_positive, learner, plan=plan)
    >>> bool(fit.scores[is_positive].min() > fit.scores[~is_positive].max())
    True
    """
    together = read_together(groups, times, is_positive.size)
    return crossfit_table(
        estimator, TrainingTable(X, is_positive, sample_weight, together), learner, alpha=alpha,
        plan=plan, ranks=ranks, seed=seed, new_rows=new_rows, keep_chains=keep_chains, run=run,
    )  # fmt: skip


def crossfit_table(
    estimator: Any,
    table: TrainingTable,
    learner: Learner,
    *,
    alpha: float | None = None,
    plan: Plan = Plan(),
    ranks: bool = True,
    seed: int = 0,
    new_rows: bool | Literal["lean", "folds"] = True,
    keep_chains: bool | Literal["first"] = False,
    run: RunOptions = RunOptions(),
) -> CrossFit:
    """Run `crossfit` on a table that has its weights and groups."""
    # The rows of a table may be some of those whose groups were read.
    together = None if table.together is None else table.together.at(slice(None))
    grouped = None if together is None else together.grouped
    if together is not None and together.times is not None:
        # Blocks of time differ in their share of positives, so ranks would too.
        plan, ranks = replace(plan, repeats=1), False
    elif grouped is None:
        together = None
    weight = table.row_weight
    order = order_of(table.X, table.is_positive, weight, together)
    table = TrainingTable(table.X, table.is_positive, weight, together).at(order)
    chain = partial(
        run_chain, estimator, table, learner, alpha=alpha, plan=plan, deadline=run.deadline
    )
    by_folds = new_rows == "folds"
    repeats_kept = {False: 0, True: plan.repeats, "first": 1}[by_folds or keep_chains]
    on_all = bool(new_rows) and not by_folds
    tasks = list(chain_tasks(table, learner, plan, seed, on_all))
    chains = []
    with threadpool_limits(limits=1 if is_small(table.X) else None):
        for done in _run_chains(tasks, chain, run, repeats_kept, plan.warm + plan.rounds):
            chains.append(done)
            if run.on_event is not None:
                run.on_event(Progress(len(chains), len(tasks), done.history[-1]))
    fit = _gather(chains, table.is_positive, ranks=ranks, new_rows=new_rows)
    # The same cross-fit, with its rows in the order in which they were given.
    own = (one for one in chains if one.repeat < repeats_kept)
    held = tuple(replace(one, held_out=order[one.held_out]) for one in own)
    return replace(fit, scores=fit.scores[np.argsort(order)], chains=held, groups=grouped)


class ChainTask(NamedTuple):
    """A chain that is to be run: its name in a memory, and what is its own."""

    name: str
    repeat: int
    seed: int
    held_out: RowNumbers


def chain_tasks(
    table: TrainingTable, learner: Learner, plan: Plan, seed: int, new_rows: bool
) -> Iterator[ChainTask]:
    """In each repeat one chain for each outer fold and, for new rows, one that holds none out."""
    least = 2 if plan.inner == 1 else 3  # one of them is held out before the inner folds
    for repeat in range(plan.repeats):
        start = seed + 1000 * repeat
        folds = folds_of(table.is_positive, plan.outer, start, least=least, together=table.together)
        all_held = [held_out for _, held_out in folds]
        for k, held_out in enumerate(all_held):
            yield ChainTask(chain_name(learner, repeat, k), repeat, start + 10 * (k + 1), held_out)
        if new_rows:
            name = chain_name(learner, repeat, len(all_held))
            yield ChainTask(name, repeat, start, np.zeros(0, np.intp))


def _run_chains(
    tasks: Iterable[ChainTask],
    chain: Callable[..., Chain],
    run: RunOptions,
    kept_repeats: int,
    rounds: int,
) -> Iterator[Chain]:
    """The chains in order, repeat by repeat: those in memory, and those that are run now.

    All models of the first `kept_repeats` repeats are kept. A chain that was not cut short has so
    many `rounds`.
    """
    memory = {} if run.memory is None else run.memory
    for repeat, group in groupby(tasks, key=lambda task: task.repeat):
        known = [(task, memory.get(task.name)) for task in group]
        if keep_models := repeat < kept_repeats:
            known = [(task, done if done and done.models else None) for task, done in known]
        missing = [task for task, done in known if done is None]
        if repeat and missing and monotonic() > run.deadline:
            return
        start = delayed(partial(chain, keep_models=keep_models))
        calls = (start(task.held_out, task.repeat, seed=task.seed) for task in missing)
        runs = Parallel(n_jobs=run.n_jobs, return_as="generator")(calls)
        for task, done in known:
            new = next(runs) if done is None else done
            if done is None and len(new.history) == rounds:
                memory[task.name] = new
            yield new


def is_small(X: Any) -> bool:
    """Whether a second thread would cost more time than it saves."""
    return bool(X.shape[0] * X.shape[1] <= SMALL_CELLS)


def chain_name(learner: Learner, repeat: int, k: int) -> str:
    """The name of a chain in a memory: the k-th of a repeat."""
    return f"{learner.name}-{repeat}-{k}"


def run_chain(
    estimator: Any,
    table: TrainingTable,
    learner: Learner,
    held_out: RowNumbers,
    repeat: int,
    *,
    alpha: float | None,
    plan: Plan,
    seed: int,
    deadline: float,
    keep_models: bool,
) -> Chain:
    """The whole loop on the rows that are not held out; each round scores those that are."""
    is_p = table.is_positive
    fold = inner_folds(is_p, held_out, plan.inner, seed, table.together)
    model = FoldedModels(
        estimator, table.X, fold, seed=seed, sample_weight=table.weight, is_positive=is_p
    )
    rows_p, rows_u = (np.flatnonzero((fold >= 0) & side) for side in (is_p, ~is_p))
    rounds = []
    for epoch in train(
        model, learner, rows_p, rows_u,
        alpha=alpha, holdout=(rows_p, rows_u) if plan.inner > 1 else None, epochs=plan.rounds,
        warm_start=plan.warm, least_kept=least_kept(rows_u.size),
    ):  # fmt: skip
        rounds.append((epoch, model.scores(held_out), model.models))
        if monotonic() > deadline:
            break
    history, scores, models = zip(*rounds, strict=True)
    is_kept = keep_models or not held_out.size
    own = tuple(model for each in models for model in each) if is_kept else ()
    return Chain(repeat, held_out, scores, own, history)


def inner_folds(
    is_positive: Mask, held_out: RowNumbers, folds: int, seed: int, together: Together | None = None
) -> RowNumbers:
    """The inner fold of each row; −1 for the rows held out."""
    fold = np.zeros(is_positive.size, np.intp)
    fold[held_out] = -1
    inside = np.flatnonzero(fold == 0)
    if folds > 1:
        splits = folds_of(is_positive[inside], folds, seed, together=pick(together, inside))
        for k, (_, own) in enumerate(splits):
            fold[inside[own]] = k
    return fold


def least_kept(n_u: int) -> int:
    """The floor under discarding: 20 rows, or a twentieth of U if that is more."""
    return max(20, n_u // 20)


def _gather(
    chains: Sequence[Chain], is_positive: Mask, *, ranks: bool, new_rows: bool | str = True
) -> CrossFit:
    outer = [chain for chain in chains if not chain.is_for_new_rows]
    raw, ranked = np.zeros((2, 1 + chains[-1].repeat, is_positive.size))
    for chain in outer:
        own, score = (chain.repeat, chain.held_out), chain.mean_scores
        raw[own], ranked[own] = score, ranks_of(score)
    references = tuple(np.sort(scores) for scores in raw) if ranks else ()
    if new_rows == "folds":
        repeats = _by_repeat(chains)
        groups = tuple(tuple(m for chain in own for m in chain.models) for own in repeats)
    else:
        whole = [chain for chain in chains if chain.is_for_new_rows]
        groups = tuple(one_per_round(c) if new_rows == "lean" else c.models for c in whole)
    rounds = range(min(len(chain.history) for chain in outer))
    history = tuple(_mean_epoch(outer, t, is_positive) for t in rounds)
    return CrossFit((ranked if ranks else raw).mean(axis=0), Ensemble(groups, references), history)


def one_per_round(chain: Chain) -> tuple[Any, ...]:
    """One model of each round, each of the next inner fold, so that together they saw every row.

    They score new rows three times as fast as all models of three folds. With boosted trees the
    probabilities are as good within a standard error (bench/results/large_tables.md). Models that
    are too sure of themselves, such as naive Bayes, need the mean of all.
    """
    rounds = len(chain.history)
    folds = len(chain.models) // rounds
    return tuple(chain.models[t * folds + t % folds] for t in range(rounds))


def _mean_epoch(outer: Sequence[Chain], t: int, is_positive: Mask) -> Epoch:
    """The record of a round: means over chains, and α̂ from the rows that they held out."""
    epochs = [chain.history[t] for chain in outer]
    alphas = [epoch.alpha for epoch in epochs if epoch.alpha is not None]
    scores = np.zeros(is_positive.size)
    for chain in outer:
        scores[chain.held_out] += ranks_of(chain.scores[t])
    return replace(
        epochs[0],
        loss=float(np.mean([epoch.loss for epoch in epochs])),
        training_error=float(np.mean([epoch.training_error for epoch in epochs])),
        n_kept=round(float(np.mean([epoch.n_kept for epoch in epochs]))),
        alpha=float(np.mean(alphas)) if alphas else None,
        estimate=METHODS[TRACKED_BY].read(Evidence(scores[is_positive], scores[~is_positive])),
        alarms=tuple({alarm.code: alarm for e in epochs for alarm in e.alarms}.values()),
    )
