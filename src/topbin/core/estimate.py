"""The answer to "how many": a small frozen value that explains itself."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from topbin.core.defaults import RANGE_ONLY
from topbin.core.typed import from_plain

Bias = Literal["up", "down", "either"]
DIRECTION: dict[Bias, str] = {"up": "too high", "down": "too low", "either": "off either way"}
TOO_FEW = "positives are too few for one number"
INTERVAL_ASSUMES = "if some top bin holds only positives"
BOUND_ASSUMES = "one-sided; if rows are independent and positives are labeled at random"


@dataclass(frozen=True, slots=True)
class Alarm:
    """A reason to doubt an estimate: a code, a sentence, and which way the estimate would err.

    >>> print(Alarm("ties", "40% of the scores share 3 values.", "up"))
    ties: 40% of the scores share 3 values. (estimate may be too high)
    """

    code: str
    message: str
    bias: Bias

    def __str__(self) -> str:
        return f"{self.code}: {self.message} (estimate may be {DIRECTION[self.bias]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaEstimate:
    """α, the share of positives among the unlabeled, and how far to trust it.

    `interval` is two-sided and assumes that some top bin contains (nearly) only positives.
    `upper_bound` is one-sided and does not need that; like the interval it assumes that rows are
    independent and that the labeled positives are a random sample of all positives. Both are at
    `confidence`. `interval_assumes` names the top bin, and `caution` says which way the method
    errs.

    >>> est = AlphaEstimate(alpha=0.25, n_p=100, n_u=300, method="bbe")
    >>> est.pi                 # (100 + 0.25 * 300) / 400
    0.4375
    """

    alpha: float
    n_p: int
    n_u: int
    method: str
    cut: float | None = None
    interval: tuple[float, float] | None = None
    upper_bound: float | None = None
    confidence: float | None = None
    alarms: tuple[Alarm, ...] = ()
    notes: tuple[str, ...] = ()
    caution: str | None = None
    interval_assumes: str = INTERVAL_ASSUMES

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "AlphaEstimate":
        """The estimate that `to_dict` made, also when it has been to JSON and back.

        >>> est = AlphaEstimate(alpha=0.25, n_p=100, n_u=300, method="bbe", interval=(0.2, 0.3))
        >>> AlphaEstimate.from_dict(est.to_dict()) == est
        True
        """
        known = {field.name for field in fields(cls)}
        found: AlphaEstimate = from_plain(cls, {k: v for k, v in stored.items() if k in known})
        return found

    def moved_to(self, alpha: float) -> "AlphaEstimate":
        """The same estimate with another α; the interval is stretched to contain it.

        >>> last = AlphaEstimate(alpha=0.5, n_p=9, n_u=9, method="bbe", interval=(0.25, 0.5))
        >>> last.moved_to(0.625).interval
        (0.25, 0.625)
        """
        ends = self.interval
        held = None if ends is None else (min(ends[0], alpha), max(ends[1], alpha))
        return replace(self, alpha=alpha, interval=held)

    @property
    def pi(self) -> float:
        """The share of positives among ALL rows, labeled ones included."""
        return self.pi_at(self.alpha)

    def pi_at(self, alpha: float, *, n_u: int | None = None, negatives: int = 0) -> float:
        """π if α had this value.

        `n_u` is the number of all unlabeled rows, if α was estimated from only some of them, and
        `negatives` the number of rows known to be negative.

        >>> est = AlphaEstimate(alpha=0.25, n_p=100, n_u=300, method="bbe")
        >>> est.pi_at(0.25, negatives=100)         # (100 + 0.25 * 300) / 500
        0.35
        """
        n_u = self.n_u if n_u is None else n_u
        return (self.n_p + alpha * n_u) / (self.n_p + n_u + negatives)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {**asdict(self), "pi": self.pi}

    def summary(self, *, n_u: int | None = None, negatives: int = 0) -> str:
        """The answer in the order people ask: how many, ± what, biased which way, trust it?

        `n_u` and `negatives` are as in `pi_at`.
        """
        lines = [self._headline(), self._share_of_all(self.n_u if n_u is None else n_u, negatives)]
        if self.interval is not None and self.confidence is not None:
            level = f"{100 * self.confidence:g} %"
            low, high = self.interval
            lines.append(f"{level} interval   {low:.3f} to {high:.3f}   {self.interval_assumes}")
            if self.upper_bound is not None:
                lines.append(f"{level} bound      α ≤ {self.upper_bound:.3f}   {BOUND_ASSUMES}")
        if self.caution is not None:
            lines.append(f"bias            {self.caution}")
        lines += [f"note            {note}" for note in self.notes]
        lines += [f"alarm           {alarm}" for alarm in self.alarms]
        if not self.alarms:
            lines.append("alarms          no alarm (which is not a proof)")
        return "\n".join(lines)

    def _headline(self) -> str:
        if self.n_p >= RANGE_ONLY:
            return (
                f"α = {self.alpha:.3f} of the {self.n_u:,} unlabeled are positive "
                f"(about {self.alpha * self.n_u:,.0f} rows), by {self.method}"
            )
        if self.interval is None:
            return f"{self.n_p} {TOO_FEW}; ask for an interval"
        low, high = self.interval
        return (
            f"α between {low:.2f} and {high:.2f} of the {self.n_u:,} unlabeled are positive; "
            f"{self.n_p} {TOO_FEW}"
        )

    def _share_of_all(self, n_u: int, negatives: int) -> str:
        rows, labeled = f"of all {self.n_p + n_u + negatives:,} rows", self.n_p + negatives
        ends = (self.alpha,) if self.n_p >= RANGE_ONLY else self.interval or ()
        shares = [self.pi_at(alpha, n_u=n_u, negatives=negatives) for alpha in ends]
        if not shares:
            return f"π unknown, {rows}"
        if len(shares) == 1:
            return f"π = {shares[0]:.3f} {rows}, the {labeled:,} labeled ones included"
        return f"π between {shares[0]:.2f} and {shares[1]:.2f} {rows}, labeled ones included"
