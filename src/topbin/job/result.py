"""What a job found: how many, how sure, which rows; as words, a table, a picture, files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.checks import check_count
from topbin.core.defaults import RANGE_ONLY
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.data.write import PICTURES, name_in_files
from topbin.evaluate.threshold import estimated_precision, recall, threshold_for_precision
from topbin.job.prepare import Prepared
from topbin.mpe.alarms import DISAGREE

PACKAGES = ("topbin", "numpy", "scipy", "scikit-learn", "lightgbm", "pandas", "duckdb")


@dataclass(frozen=True, slots=True)
class Picked:
    """Rows picked for review: how many, from which score on, and what to expect of them."""

    rows: int
    threshold: float
    precision: float | None
    precision_low: float | None
    recall: float
    why: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Result:
    """The answer of `topbin.fit`, in the order people ask for it.

    `stopped` says why the job ended early, if it did; the estimate is then the best so far.
    """

    data: Prepared
    classifier: Any
    first: AlphaEstimate
    methods: tuple[AlphaEstimate, ...]
    seed: int = 0
    preset: str = "good"
    review: int = 100
    min_precision: float | None = None
    stopped: str | None = None

    @property
    def estimate(self) -> AlphaEstimate:
        """α among the unlabeled, with interval, bound and alarms."""
        return self.data.doubted(self.classifier.estimate_)

    @property
    def evidence(self) -> Evidence:
        """What α was read from: held-out scores of both samples, and their tails."""
        found: Evidence = self.classifier.evidence_
        return found

    @property
    def pi(self) -> float:
        """The share of positives among all rows, those known to be negative included."""
        return self.estimate.pi_at(self.estimate.alpha, **self._among())

    def _alpha(self) -> dict[str, Any]:
        """What measures of candidates need to know: α, and the confidence of its interval."""
        return {"alpha": self.estimate, "confidence": self.estimate.confidence}

    def _among(self) -> dict[str, int]:
        """How many rows, other than known positives, π is a share of."""
        labels = self.data.labels
        return {"n_u": labels.n_u, "negatives": int(labels.is_negative.sum())}

    def _plain(self, estimate: AlphaEstimate) -> dict[str, Any]:
        """An estimate for result.json, π being that of the run."""
        return {**estimate.to_dict(), "pi": estimate.pi_at(estimate.alpha, **self._among())}

    @property
    def probabilities(self) -> Any:
        """p(positive) of each unlabeled row, by models that never saw it, in table order."""
        return self.classifier.oof_proba_[self.data.unlabeled_rows]

    def picked(self, n: int | None = None, *, min_precision: float | None = None) -> Picked:
        """The top n unlabeled rows, or all down to a precision whose LOW end is `min_precision`."""
        if n is None and min_precision is None and self.min_precision is not None:
            return self._picked_as_asked(self.min_precision)
        scores_p, scores_u = self.evidence.scores
        if min_precision is not None:
            choice = threshold_for_precision(
                self.evidence, precision=min_precision, **self._alpha()
            )
            threshold, rows = choice.threshold, choice.n_picked
            why = f"estimated precision at least {min_precision:g}, by the interval's low end"
        else:
            rows = min(self._wanted(n), scores_u.size)
            threshold = float(np.sort(scores_u)[-rows])
            why = f"the {rows:,} highest probabilities"
        found = self._precision(threshold)
        hit = recall(scores_p, threshold=threshold).value
        return Picked(rows, threshold, *found, hit, why)

    def _wanted(self, n: int | None) -> int:
        return self.review if n is None else check_count(n, "n")

    def _picked_as_asked(self, min_precision: float) -> Picked:
        """By the precision the job was asked for; by number where no threshold reaches it."""
        try:
            return self.picked(min_precision=min_precision)
        except InputError as error:
            if error.code != "TB008":
                raise
            instead = self.picked(self.review)
            return replace(instead, why=f"{error.message} Instead, {instead.why}")

    def candidates(self, n: int | None = None, *, min_precision: float | None = None) -> Any:
        """The unlabeled rows most likely positive, best first, as a pandas table."""
        picked = self.picked(n, min_precision=min_precision)
        order = np.argsort(-self.evidence.scores[1], kind="stable")[: picked.rows]
        frame = self.data.table.frame.iloc[self.data.unlabeled_rows[order]]
        return self._listed(frame, self.data.row_numbers[order], self.probabilities[order])

    def _listed(self, frame: Any, numbers: Any, probability: Any) -> Any:
        """These rows as people read them: rank, row, probability, id, and then their columns."""
        frame = frame.drop(columns=[self.data.label or ""], errors="ignore")
        frame = frame.reset_index(drop=True)
        if self.data.id is not None:
            frame.insert(0, self.data.id, frame.pop(self.data.id))
        ours = {
            "rank": np.arange(1, numbers.size + 1),
            "row": numbers,
            "probability": probability.round(4),
        }
        return in_front(frame, ours)

    def score(self, frame: Any) -> Any:
        """New rows with their probability, as `topbin score` and `topbin.load(run).score` do."""
        from topbin.store.scorer import Scorer

        return Scorer(self.classifier, self.data.encoder).score(frame)

    def sensitivity(self) -> list[dict[str, Any]]:
        """What follows if α is at the low or the high end of its interval, by size of α.

        The estimate may be outside: it reads one bin, while the interval's ends use all counts.
        """
        est = self.estimate
        low, high = est.interval or (est.alpha, est.alpha)
        point = "estimate" if low <= est.alpha <= high else "estimate, outside the interval"
        cases = ("low end", low), (point, est.alpha), ("high end", high)
        return [
            {
                "if": name,
                "alpha": a,
                "rows": round(a * est.n_u),
                "pi": est.pi_at(a, **self._among()),
            }
            for name, a in sorted(cases, key=lambda case: case[1])
        ]

    def agreement(self) -> str:
        """How other methods read the same scores, in words."""
        points = sorted((other.alpha, other.method) for other in self.methods)
        said = ", ".join(f"{method} {alpha:.3f}" for alpha, method in points)
        apart = points[-1][0] - points[0][0]
        word = "methods agree" if apart <= DISAGREE else "methods disagree"
        return f"{word}: {said}"

    def summary(self, *, data: bool = True) -> str:
        """The answer as text, in the order in which people ask; `data`: and how it was read."""
        picked = self.picked()
        lines = [f"stopped early   {self.stopped}; best so far:"] if self.stopped else []
        lines += [self.estimate.summary(**self._among()), f"agreement       {self.agreement()}"]
        lines += self.data.lines() if data else []
        lines.append(f"candidates      {picked.rows:,} rows: {_expectation(picked)}")
        if self.estimate.n_p >= RANGE_ONLY:
            ends = (f"{c['if']} {c['alpha']:.3f}: {c['rows']:,} rows" for c in self.sensitivity())
            lines.append(f"what if         {'; '.join(ends)}")
        lines.append("to be sure      label a random sample: topbin audit")
        return "\n".join(lines)

    def plot(self) -> Any:
        """The top-bin picture beside the score histograms; returns the figure."""
        from topbin.core.optional import require
        from topbin.show import ScoreDisplay, TopBinDisplay

        plt = require("matplotlib.pyplot", extra=None, caller="Result.plot")
        figure, axes = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained")
        TopBinDisplay.from_estimator(self.classifier).plot(axes[0])
        ScoreDisplay.from_estimator(self.classifier).plot(axes[1])
        return figure

    def to_dict(self) -> dict[str, Any]:
        """The content of result.json, without the stamps that writing adds."""
        data, picked = self.data, self.picked()
        return {
            "seed": self.seed,
            "preset": self.preset,
            "stopped": self.stopped,
            "data": {
                "source": list(data.sources),
                "hash": data.table.hash(),
                "rows": data.table.rows,
                "n_p": data.labels.n_p,
                "n_u": data.labels.n_u,
                "n_n": self._among()["negatives"],
                "label": data.label,
                "label_note": data.labels.note,
                "id": data.id,
                "features": data.encoder.columns,
                "dropped": [{"name": c.name, "reason": c.reason} for c in data.encoder.dropped],
                "findings": [finding.to_dict() for finding in data.findings],
            },
            "estimate": self._plain(self.estimate),
            "first": self._plain(self.first),
            "methods": [self._plain(other) for other in self.methods],
            "agreement": self.agreement(),
            "model": {"class": type(self.classifier).__name__},
            "history": [_epoch(epoch) for epoch in self.classifier.history_],
            "sensitivity": self.sensitivity(),
            "candidates": {
                "file": "candidates.csv",
                "rows": picked.rows,
                "threshold": picked.threshold,
                "precision": picked.precision,
                "precision_low": picked.precision_low,
                "recall": picked.recall,
            },
            "versions": packages(),
        }

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Leave a run folder: result.json, candidates.csv, report.html and the model.

        The unlabeled rows are kept too: an audit draws from them, and no file may contain them.
        """
        from topbin.job.files import write_files
        from topbin.store.runs import open_run

        settings = {"seed": self.seed, "preset": self.preset, "source": list(self.data.sources)}
        with open_run(folder, settings, force=force) as run:
            write_files(self, run, keep_rows=True)
        return Path(folder)

    def __repr__(self) -> str:
        # As much as fits on one line; the fields contain whole tables.
        est, model = self.estimate, type(self.classifier).__name__
        if est.n_p < RANGE_ONLY and est.interval is not None:
            alpha = "α between {:.2f} and {:.2f}".format(*est.interval)
        else:
            alpha = f"α = {est.alpha:.3f}"
        early = ", stopped early" if self.stopped else ""
        return (
            f"<{type(self).__name__}: {alpha} of {est.n_u:,} unlabeled rows, {len(est.alarms)} "
            f"alarms; {model}, preset {self.preset}, seed {self.seed}{early}; see .summary()>"
        )

    def _repr_html_(self) -> str:
        from topbin.show import fragment

        return fragment(self.to_dict(), self.classifier)

    def _precision(self, threshold: float) -> tuple[float | None, float | None]:
        """None where the figure would be 1 by construction: at the cut that α was read from."""
        try:
            found = estimated_precision(self.evidence, threshold=threshold, **self._alpha())
        except InputError as error:
            if error.code != "TB201":
                raise
            return None, None
        return found.value, found.interval[0]


def in_front(frame: Any, columns: Mapping[str, Any]) -> Any:
    """The frame with these columns first; its own columns of the same name get another.

    Names that a reader of files takes for the same, such as "Row" and "row", count as the same.

    >>> import pandas as pd
    >>> list(in_front(pd.DataFrame({"Row": [7], "x": [1]}), {"row": [1]}))
    ['row', 'Row of the table', 'x']
    """
    taken = {name_in_files(name) for name in columns}
    names = []
    for own in map(str, frame.columns):
        own = own.translate(PICTURES)
        name = own if name_in_files(own) not in taken else unused(f"{own} of the table", taken)
        names.append(name)
        taken.add(name_in_files(name))
    frame = frame.set_axis(names, axis=1)
    for place, (name, values) in enumerate(columns.items()):
        frame.insert(place, name, values)
    return frame


def unused(name: str, taken: Iterable[str]) -> str:
    """A name for a new column, with an underscore for each time it is taken."""
    known = {name_in_files(one) for one in taken}
    while name_in_files(name) in known:
        name += "_"
    return name


def packages() -> dict[str, str]:
    """The versions of what takes part in a job."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # LightGBM is an extra
            continue
    return found


def _expectation(picked: Picked) -> str:
    if picked.precision is None or picked.precision_low is None:
        return f"{picked.why}; their precision cannot be estimated from the same scores"
    return (
        f"{picked.why}; about {100 * picked.precision:.0f} % positive, "
        f"at least {100 * picked.precision_low:.0f} % if the interval's low end is right"
    )


def _epoch(epoch: Any) -> dict[str, Any]:
    alpha = epoch.alpha if epoch.estimate is None else epoch.estimate.alpha
    return {
        "epoch": epoch.epoch,
        "phase": epoch.phase,
        "loss": epoch.loss,
        "training_error": epoch.training_error,
        "alpha": alpha,
        "kept": epoch.n_kept,
    }
