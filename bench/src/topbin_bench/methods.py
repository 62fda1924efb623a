"""Who takes part: every estimator and learner registered, and what each needs to be fitted.

Methods that read the same scores share one training: all score-level estimators read the PvU net,
as in Garg et al. 2021. A `trainer` names what is fitted.
"""

from dataclasses import dataclass

from topbin.core.errors import InputError
from topbin.learn.registry import LEARNERS
from topbin.mpe.registry import METHODS

SCORES_FROM = "pvu"
DEFAULT = "topbin"
WARM_STARTS = (0, 10, 50)
ALL = (True, True, True)  # estimates, classifies, bounds


@dataclass(frozen=True, slots=True)
class Contender:
    """A method of the benchmark: what is fitted for it, and which of the two answers it gives.

    `bounds` says that our interval is its own: it is made from BBE's top bins.
    `known_alpha` says that it is told the true α, `oracle` that it is shown true negatives.
    `warm_start` stands for that of the profile; with `warm_stop` it ends by itself, sooner.
    """

    name: str
    trainer: str
    source: str
    estimates: bool = False
    classifies: bool = False
    bounds: bool = False
    known_alpha: bool = False
    oracle: bool = False
    warm_start: int | None = None
    warm_stop: bool = False

    @property
    def ablation(self) -> bool:
        """Whether it is another contender with one thing changed, left out of the comparisons."""
        return self.warm_start is not None or self.warm_stop

    @property
    def learner(self) -> str | None:
        """The learner that a net is trained with, if the trainer is one."""
        name = self.trainer.partition("-")[0]
        return name if name in LEARNERS else None


def _estimators() -> list[Contender]:
    return [
        Contender(
            name,
            trainer=name if method.needs == "features" else SCORES_FROM,
            source=method.source,
            estimates=True,
            classifies=name == "dedpul",
            bounds=name in ("bbe", "bbe_cp"),
        )
        for name, method in METHODS.items()
    ]


def _learners() -> list[Contender]:
    return [
        Contender(
            name,
            trainer=name,
            source=learner.source,
            estimates=learner.estimates_alpha,
            classifies=True,
            bounds=learner.estimates_alpha,
            known_alpha=not learner.estimates_alpha,
            oracle=learner.oracle,
        )
        for name, learner in LEARNERS.items()
    ]


def _warm_starts() -> list[Contender]:
    fixed = [
        Contender(f"tedn-w{w}", f"tedn-w{w}", f"(TED)ⁿ, W = {w}", *ALL, warm_start=w)
        for w in WARM_STARTS
    ]
    itself = Contender("tedn-auto", "tedn-auto", "(TED)ⁿ, W by itself", *ALL, warm_stop=True)
    return [*fixed, itself]


CONTENDERS = {
    contender.name: contender
    for contender in (
        *_estimators(),
        *_learners(),
        Contender(DEFAULT, DEFAULT, "our default: nested (TED)ⁿ over boosted trees", *ALL),
        *_warm_starts(),
    )
}
# Ablations run when they are asked for by name.
USUAL = tuple(name for name, c in CONTENDERS.items() if not c.ablation)


def find_contender(name: str) -> Contender:
    """Look a method of the benchmark up, or say which ones there are.

    >>> find_contender("bbe").trainer, find_contender("tedn-w10").learner
    ('pvu', 'tedn')
    """
    if name not in CONTENDERS:
        raise InputError(
            "TB007", f"no method is called {name!r}; there are {', '.join(CONTENDERS)}."
        )
    return CONTENDERS[name]
