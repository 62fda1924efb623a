"""The table of methods: a method is a value, and every room finds it here.

A `Method` says all that the rest of the package needs to know about an estimator, so no other list
of method names is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from topbin.core import Evidence, InputError, Tails
from topbin.core.checks import look_up
from topbin.core.estimate import AlphaEstimate, Bias
from topbin.core.options import DEFAULT_METHOD as DEFAULT_METHOD
from topbin.mpe.alphamax import alphamax
from topbin.mpe.bbe import bbe, bbe_bracket, bbe_cp
from topbin.mpe.dedpul import dedpul
from topbin.mpe.elkan_noto import elkan_noto
from topbin.mpe.km import km1, km2
from topbin.mpe.overlap import overlap
from topbin.mpe.scott import scott, scott_bracket
from topbin.mpe.tice import tice

Needs = Literal["tails", "scores", "probabilities", "features"]
Cuts = Literal["all", "best", "ranks"]

IMPURE_TOP = "if the top bin is impure, the truth is lower than α"
ERRS: dict[Bias, str] = {
    "up": "α may be too high",
    "down": "α may be too low",
    "either": "α may be too high or too low",
}


@dataclass(frozen=True, slots=True)
class Method:
    """An estimator, what it reads, and how people see it.

    >>> METHODS["bbe"].read(Evidence.of([1.0] * 9, [1.0, 0.0])).alpha
    0.5
    """

    # Takes what `needs` says: tails; two samples of scores; two samples of probabilities of being
    # labeled, and `share_p`; or two tables of features.
    estimate: Callable[..., AlphaEstimate]
    needs: Needs
    source: str  # where the method comes from
    label: str = ""  # how tables and figures show it
    color: str = "#333333"
    errs: Bias = "either"
    why: str = ""  # the sentence that says which way it errs
    # Of tails, which cuts decide the answer: all; the one with the smallest bound of BBE; or those
    # of the geometric ranks (`core.tails`). Thinned tails that keep these give the same answer.
    cuts: Cuts = "all"
    # Whether it is told how many independent rows the rows are worth.
    reads_effective: bool = False
    # From tails at some of the cuts, the smallest and the largest answer that all cuts can give.
    bracket: Callable[[Tails], tuple[float, float]] | None = None
    compared: bool = True  # shown beside the main method, if it reads tails or scores
    referee: bool = False  # `AlphaEstimator` shows beside its own α what this method says

    def read(self, evidence: Evidence, **settings: Any) -> AlphaEstimate:
        """Apply the method, with settings of its own; nothing else in the package applies one.

        The estimate has no interval and no alarms: see `topbin.mpe.estimate`.
        """
        self.check(evidence)
        if self.needs == "probabilities":
            settings = {"share_p": evidence.share_p, **settings}
        if self.reads_effective:
            settings = {"effective": evidence.effective, **settings}
        estimate = self.estimate(*self._samples(evidence), **settings)
        # Weighted positives are worth fewer in tails, but there are as many of them.
        n_p = estimate.n_p if evidence.weight_p is None else len(evidence.weight_p)
        return replace(estimate, caution=self.caution, n_p=n_p)

    def can_read(self, evidence: Evidence) -> bool:
        """Whether the evidence contains what the method reads."""
        if self.needs == "features":
            return evidence.X_p is not None
        if self.needs != "tails" and evidence.weight_p is not None:
            return False  # scores alone do not say how much a positive counts
        return evidence.has_scores or (self.needs == "tails" and evidence.counted is not None)

    def check(self, evidence: Evidence) -> None:
        """Refuse evidence that the method cannot read, and say what it reads (TB007)."""
        if not self.can_read(evidence):
            name = repr(getattr(self.estimate, "__name__", self.label))
            says = "cannot be computed from counts alone; pass the scores of both samples."
            if self.needs == "features":
                says = f"reads features, not scores; use topbin.AlphaEstimator(method={name})."
            raise InputError("TB007", f"{name} {says}")

    @property
    def reads_scores(self) -> bool:
        """Whether it reads scores on any scale, or their tails."""
        return self.needs in ("tails", "scores")

    @property
    def caution(self) -> str:
        """Which way it errs, as a sentence."""
        return self.why or ERRS[self.errs]

    def _samples(self, evidence: Evidence) -> tuple[Any, ...]:
        if self.needs == "features":
            return evidence.X_p, evidence.X_u
        if self.needs != "tails":
            return evidence.scores
        return (evidence.tails,)


METHODS = {
    "overlap": Method(
        overlap, "tails", "the median of α under a prior over overlap",
        label="Overlap", color="#d55e00",
        why="α may be too high or too low where classes overlap in a way not seen before",
        cuts="ranks", reads_effective=True,
    ),
    "bbe": Method(
        bbe, "tails", "Garg et al. 2021, algorithm 1", label="BBE", color="#0072b2",
        errs="up", why=IMPURE_TOP, cuts="best", bracket=bbe_bracket, referee=True,
    ),
    "bbe_cp": Method(
        bbe_cp, "tails", "the same idea with exact binomial limits", label="BBE-CP",
        color="#56b4e9", errs="up", why=IMPURE_TOP, cuts="ranks", referee=True,
    ),
    "scott": Method(
        scott, "tails", "Scott 2015, as in the appendix of Garg et al. 2021", label="Scott",
        color="#aa4499", errs="up", why=IMPURE_TOP, bracket=scott_bracket,
    ),
    "elkan_noto": Method(
        elkan_noto, "probabilities", "Elkan & Noto 2008", label="EN", color="#8c564b",
        errs="up", why="where the classes overlap, the truth is lower than α",
    ),
    "dedpul": Method(dedpul, "scores", "Ivanov 2020", label="DEDPUL", color="#009e73"),
    "alphamax": Method(
        alphamax, "scores", "Jain et al. 2016", label="AlphaMax", color="#882255",
        compared=False,  # its elbow is the coarsest reading: off by up to .12 where α is large
    ),
    "km1": Method(
        km1, "features", "Ramaswamy, Scott & Tewari 2016", label="KM1", color="#ddcc77"
    ),
    "km2": Method(
        km2, "features", "Ramaswamy, Scott & Tewari 2016", label="KM2", color="#999933"
    ),
    "tice": Method(
        tice, "features", "Bekker & Davis 2018", label="TIcE", color="#777777", errs="up",
        why="α comes from a lower bound of the label frequency, so the truth is usually lower",
    ),
}  # fmt: skip


def find_method(name: str) -> Method:
    """Look up a method by name, or say which names exist.

    Parameters
    ----------
    name
        Such as "bbe".

    Returns
    -------
    Method
        The estimator, and what it reads; TB007 if there is none.

    Examples
    --------
    >>> find_method("bbe").needs
    'tails'
    """
    return look_up(name, METHODS, "method")


def cost_of_thinning(tails: Tails, distinct: int, method: str) -> tuple[str, ...]:
    """What to say about an estimate from thinned tails; nothing if all cuts were kept."""
    if tails.cuts.size == distinct:
        return ()
    cuts = f"{tails.cuts.size:,} of {distinct:,} cuts were counted"
    chosen = find_method(method)
    if chosen.cuts == "ranks":
        return (f"{cuts}, among them all that {method} and the interval read: no error from that",)
    if chosen.bracket is None:
        return (f"{cuts}; with all of them {method} may give another α",)
    low, high = chosen.bracket(tails)
    return (f"{cuts}; with all of them {method} would give α between {low:.6f} and {high:.6f}",)
