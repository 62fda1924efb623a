"""What a job found: how many, how sure, which rows; as words, a table, a picture, files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.checks import Scores, check_count
from topbin.core.defaults import RANGE_ONLY
from topbin.core.errors import InputError
from topbin.core.estimate import INTERVAL_ASSUMES, AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.data.write import PICTURES, name_in_files
from topbin.evaluate.audit import NEEDS_RANDOM
from topbin.evaluate.measure import Share
from topbin.evaluate.threshold import AtThreshold, recall, threshold_for_precision
from topbin.job.prepare import Prepared
from topbin.job.sweep import Best
from topbin.learn.posterior import fit_posterior
from topbin.mpe.alarms import DISAGREE
from topbin.store.models import versions_of

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

    `stopped` says why the job ended early, if it did; the estimate is then the best so far. `best`
    are the best rows of all files, if the rows in memory are a sample.
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
    best: Best | None = None

    @property
    def estimate(self) -> AlphaEstimate:
        """α among the unlabeled, with interval, bound and alarms."""
        return self.data.with_alarms(self.classifier.estimate_)

    @property
    def evidence(self) -> Evidence:
        """What α was read from: tails, and the held-out scores of the rows in memory."""
        found: Evidence = self.classifier.evidence_
        return found

    @property
    def pi(self) -> float:
        """The share of positives among all rows, those known to be negative included."""
        return self._pi_at(self.estimate.alpha)

    @property
    def probabilities(self) -> Any:
        """p(positive) of each unlabeled row in memory, by models that never saw it, in order."""
        return self.classifier.oof_proba_[self.data.unlabeled_rows]

    def _alpha(self) -> dict[str, Any]:
        """What measures of candidates need to know: α, and the confidence of its interval."""
        return {"alpha": self.estimate, "confidence": self.estimate.confidence}

    def _pi_at(self, alpha: float) -> float:
        """π if α had this value."""
        return self.estimate.pi_at(alpha, n_u=self.data.n_u, negatives=self.data.n_n)

    def _plain(self, estimate: AlphaEstimate) -> dict[str, Any]:
        """An estimate for result.json; its π is a share of all rows of the run."""
        return {**estimate.to_dict(), "pi": self._pi_at(estimate.alpha)}

    def picked(self, n: int | None = None, *, min_precision: float | None = None) -> Picked:
        """The top n unlabeled rows, or all down to a precision whose LOW end is `min_precision`."""
        if n is None and min_precision is None and self.min_precision is not None:
            return self._picked_as_asked(self.min_precision)
        ranked, of = self._ranked()
        if min_precision is None:
            rows = min(self.review if n is None else check_count(n, "n"), ranked.size)
            threshold, why = float(ranked[rows - 1]), f"the {rows:,} highest probabilities"
        else:
            sure = {"precision": min_precision, **self._alpha()}
            choice = threshold_for_precision(self.evidence, **sure)
            threshold, rows = choice.threshold, int((ranked >= choice.threshold).sum())
            why = f"estimated precision at least {min_precision:g}, by the interval's low end"
            if rows == ranked.size < of:  # rows beyond these reach it too, but were not kept
                threshold = float(ranked[-1])
            if choice.n_picked > rows:
                why += f"; {choice.n_picked:,} rows reach it, and only the first are listed"
        found = recall(self.evidence.scores[0], threshold=threshold).value
        return Picked(rows, threshold, *self._precision(threshold), found, why)

    def _picked_as_asked(self, min_precision: float) -> Picked:
        """By the precision the job was asked for; by number where no threshold reaches it."""
        try:
            return self.picked(min_precision=min_precision)
        except InputError as error:
            if error.code != "TB008":
                raise
            instead = self.picked(self.review)
            return replace(instead, why=f"{error.message} Instead, {instead.why}")

    def _ranked(self) -> tuple[Scores, int]:
        """The highest scores of unlabeled rows, best first, and of how many rows they are."""
        if self.best is not None:
            return self.best.scores, self.data.n_u
        scores = self.evidence.scores[1]
        return np.sort(scores)[::-1], scores.size

    def _precision(self, threshold: float) -> tuple[float | None, float | None]:
        """None where the figure would be 1 by construction: at the cut that α was read from."""
        cut, shares = self.estimate.cut, self._shares(threshold)
        if cut is not None and [s.value for s in shares] == [s.value for s in self._shares(cut)]:
            return None, None
        found = AtThreshold(threshold, *shares).precision(**self._alpha())
        return found.value, found.interval[0]

    def _shares(self, threshold: float) -> tuple[Share, Share]:
        """The shares of positives and of unlabeled rows at or above a threshold."""
        ranked, of = self._ranked()
        above = int((ranked >= threshold).sum())
        return Share.at_least(self.evidence.scores[0], threshold), Share(above / of, of)

    def candidates(self, n: int | None = None, *, min_precision: float | None = None) -> Any:
        """The unlabeled rows most likely positive, best first, as a pandas table."""
        rows = self.picked(n, min_precision=min_precision).rows
        if self.best is None:
            order = np.argsort(-self.evidence.scores[1], kind="stable")[:rows]
            listed = self.data.table.take(self.data.unlabeled_rows[order])
        else:
            listed = self.best.rows.take(slice(rows))
        to_probability = fit_posterior(*self.evidence.scores, self.estimate.alpha)
        frame = listed.frame.drop(columns=[self.data.label or ""], errors="ignore")
        if self.data.id is not None:
            frame.insert(0, self.data.id, frame.pop(self.data.id))
        likely = to_probability(self._ranked()[0][:rows]).round(4)
        ours = {"rank": np.arange(1, rows + 1), "row": listed.places + 1, "probability": likely}
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
            {"if": name, "alpha": a, "rows": round(a * est.n_u), "pi": self._pi_at(a)}
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
        return summarize(self.to_dict(), self.data.lines() if data else [])

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
        from topbin.show.history import record

        return {
            "seed": self.seed,
            "preset": self.preset,
            "stopped": self.stopped,
            "data": self.data.to_dict(),
            "estimate": self._plain(self.estimate),
            "first": self._plain(self.first),
            "methods": [self._plain(other) for other in self.methods],
            "agreement": self.agreement(),
            "model": {"class": type(self.classifier).__name__},
            "history": [record(epoch) for epoch in self.classifier.history_],
            "sensitivity": self.sensitivity(),
            "candidates": {"file": "candidates.csv", **asdict(self.picked())},
            "versions": packages(),
        }

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Leave a run folder: result.json, candidates.csv, report.html and the model.

        Unlabeled rows in memory are kept too: an audit draws from them, and perhaps no file
        contains them. For a sample, the settings name the files to draw from.
        """
        from topbin.job.files import write_files
        from topbin.store.runs import open_run

        settings = {"seed": self.seed, "preset": self.preset, **self.data.named}
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


def summarize(found: Mapping[str, Any], read: Sequence[str] = ()) -> str:
    """The content of result.json as text; `read` are lines about how the data was read."""
    estimate, data, picked = (found[key] for key in ("estimate", "data", "candidates"))
    among = {"n_u": data["n_u"], "negatives": data["n_n"]}
    lines = audit_lines(found)
    lines += [f"stopped early   {found['stopped']}; best so far:"] if found["stopped"] else []
    lines.append(AlphaEstimate.from_dict(estimate).summary(**among))
    lines += [f"agreement       {found['agreement']}", *read]
    lines.append(f"candidates      {picked['rows']:,} rows: {_expectation(picked)}")
    if estimate["n_p"] >= RANGE_ONLY:
        ends = (f"{c['if']} {c['alpha']:.3f}: {c['rows']:,} rows" for c in found["sensitivity"])
        lines.append(f"what if         {'; '.join(ends)}")
    if not found.get("audit"):
        lines.append("to be sure      label a random sample: topbin audit")
    return "\n".join(lines)


def audit_lines(found: Mapping[str, Any]) -> list[str]:
    """α with the audit and without it, and what each needs; nothing if there was no audit."""
    told, first = found.get("audit"), found["estimate"]
    if not told or told["alpha"] is None:
        return []
    low, high = told["interval"]
    n_u, level = found["data"]["n_u"], f"{100 * told['confidence']:g} %"
    lines = [
        f"with the audit  α = {told['alpha']:.3f} of the {n_u:,} unlabeled are positive "
        f"(about {told['alpha'] * n_u:,.0f} rows)",
        f"{level} interval   {low:.3f} to {high:.3f}   {told.get('assumes', NEEDS_RANDOM)}",
    ]
    if "upper_bound" in told:
        lines.append(f"{level} bound      α ≤ {told['upper_bound']:.3f}   one-sided")
    ends = "" if first["interval"] is None else "; {:.3f} to {:.3f}".format(*first["interval"])
    lines.append(f"without it      α = {first['alpha']:.3f}{ends}   {INTERVAL_ASSUMES}")
    lines.append(f"audit           {told['sentence']}")
    lines += [f"labels          {told['labels']}"] if told.get("labels") else []
    lines += [f"recall          {told['recall']['sentence']}"] if told.get("recall") else []
    return lines + [f"also            {other['sentence']}" for other in told.get("others", ())]


def _expectation(picked: Mapping[str, Any]) -> str:
    why, precision = picked["why"], picked["precision"]
    if precision is None:
        return f"{why}; their precision cannot be estimated from the same scores"
    return (
        f"{why}; about {100 * precision:.0f} % positive, "
        f"at least {100 * picked['precision_low']:.0f} % if the interval's low end is right"
    )


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
    return versions_of(PACKAGES)
