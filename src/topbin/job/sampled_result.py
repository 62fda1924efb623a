"""What a sampled fit found: a `Result` whose counts and candidates are those of all rows."""

from dataclasses import dataclass, replace
from typing import Any

from topbin.core.evidence import Evidence
from topbin.core.tails import Tails
from topbin.evaluate.measure import Share
from topbin.evaluate.threshold import precision_from_shares, recall, threshold_for_precision
from topbin.job.result import Picked, Result
from topbin.job.sweep import Best
from topbin.learn.posterior import fit_posterior


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SampledResult(Result):
    """The answer of a sampled fit: counts of all rows in `tails`, and the best rows of all.

    `data` and the classifier's scores are those of the positives and the sample.
    """

    tails: Tails
    best: Best
    n_u: int
    n_n: int = 0  # known negatives, which are in no sample

    @property
    def evidence(self) -> Evidence:
        """Tails of all rows, and the held-out scores of the positives and the sample."""
        sample: Evidence = self.classifier.evidence_
        return replace(sample, counted=self.tails)

    def _among(self) -> dict[str, int]:
        return {"n_u": self.n_u, "negatives": self.n_n}

    def picked(self, n: int | None = None, *, min_precision: float | None = None) -> Picked:
        """The top n of all unlabeled rows, or all down to a precision, as far as they are kept."""
        if n is None and min_precision is None and self.min_precision is not None:
            return self._picked_as_asked(self.min_precision)
        held = self.best.scores
        if min_precision is None:
            rows = min(self._wanted(n), held.size)
            threshold, why = float(held[rows - 1]), f"the {rows:,} highest probabilities"
        else:
            choice = threshold_for_precision(
                self.evidence, precision=min_precision, **self._alpha()
            )
            rows = min(int((held >= choice.threshold).sum()), held.size)
            threshold = max(choice.threshold, float(held[rows - 1]))
            why = f"estimated precision at least {min_precision:g}, by the interval's low end"
            if choice.n_picked > rows:
                why += f"; {choice.n_picked:,} rows reach it, and only the first are listed"
        hit = recall(self.evidence.scores_p, threshold=threshold).value
        return Picked(rows, threshold, *self._precision(threshold), hit, why)

    def candidates(self, n: int | None = None, *, min_precision: float | None = None) -> Any:
        """The unlabeled rows of all files most likely positive, best first, as a pandas table."""
        rows = self.picked(n, min_precision=min_precision).rows
        probability = fit_posterior(*self.evidence.scores, self.estimate.alpha)(
            self.best.scores[:rows]
        )
        numbers = self.best.rows.places[:rows] + 1
        return self._listed(self.best.rows.take(slice(rows)).frame, numbers, probability)

    def to_dict(self) -> dict[str, Any]:
        """The content of result.json, with the size of the sample."""
        found = Result.to_dict(self)
        sample = {"rows": self.data.labels.n_u, "of": self.n_u, "seed": self.seed}
        rows = self.data.labels.n_p + self.n_u + self.n_n
        found["data"] |= {"rows": rows, "n_u": self.n_u, "sample": sample}
        return found

    def _precision(self, threshold: float) -> tuple[float | None, float | None]:
        if threshold == self.estimate.cut:
            return None, None  # 1 by construction, where α was read from
        above = int((self.best.scores >= threshold).sum())
        shares = (
            Share.at_least(self.evidence.scores[0], threshold),
            Share(above / self.n_u, self.n_u),
        )
        found = precision_from_shares(*shares, threshold=threshold, **self._alpha())
        return found.value, found.interval[0]
