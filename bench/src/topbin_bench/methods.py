"""The methods that take part: every registered estimator and learner, and what each needs.

Methods that read the same scores share one training: all score-level estimators read the PvU net,
as in Garg et al. 2021. A `trainer` names what is fitted.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from topbin.learn import LEARNERS
from topbin.mpe import DEFAULT_METHOD, METHODS
from topbin_bench.errors import look_up

SCORES_FROM = "pvu"
DEFAULT = "topbin"
BY_BBE = "topbin-bbe"  # the same fit, but its scores are read by BBE
# The default of 0.2, which read α by BBE. Its rows are kept to compare with; no code runs it.
OLD_DEFAULT = "topbin-0.2"
WARM_STARTS = (0, 10, 50)
GRAY = "#333333"

# Label and color of what is not an estimator in topbin's registry, from the same palettes.
LOOKS = {
    "tedn": ("(TED)ⁿ", "#ee3377"),
    DEFAULT: ("topbin (default)", "#000000"),
    BY_BBE: ("topbin, α by BBE", "#555555"),
    OLD_DEFAULT: ("topbin 0.2", "#888888"),
    "cvir": ("CVIR", "#e69f00"),
    "pvu": ("PvU", "#332288"),
    "nnpu": ("nnPU", "#cc79a7"),
    "upu": ("uPU", "#999999"),
    "pvn": ("PvN", "#444444"),
}
# The order of every table and legend: what we propose, the estimators, the learners.
FIRST = ("tedn", DEFAULT, BY_BBE, OLD_DEFAULT)
ORDER = {name: i for i, name in enumerate(dict.fromkeys((*FIRST, *METHODS, *LOOKS)))}


@dataclass(frozen=True, slots=True)
class Contender:
    """A method of the benchmark: what is fitted for it, and which of the two answers it gives.

    `bounds`: rows of results keep the interval of the fit beside its α.
    `known_alpha`: it is told the true α. `oracle`: it is shown true negatives.
    `warm_start` replaces that of the profile; with `warm_stop` the warm start ends by itself.
    `probabilities`: it reads p(labeled | x); other score-level methods read only the order.
    `alpha_by`: how our default reads α from its scores.
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
    probabilities: bool = False
    alpha_by: str = DEFAULT_METHOD

    @property
    def ablation(self) -> bool:
        """Whether it is another contender with one change; the comparisons skip it."""
        return self.warm_start is not None or self.warm_stop or self.alpha_by != DEFAULT_METHOD

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
            bounds=name in ("overlap", "bbe", "bbe_cp"),
            probabilities=method.needs in ("scores", "probabilities"),
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


def _fits() -> list[Contender]:
    """Our default and (TED)ⁿ with other warm starts: they give α, classify and have an interval."""
    complete = partial(Contender, estimates=True, classifies=True, bounds=True)
    by_bbe = Contender(
        BY_BBE,
        DEFAULT,
        "our default, its α by BBE",
        estimates=True,
        classifies=True,
        alpha_by="bbe",
    )
    fixed = [
        complete(f"tedn-w{w}", f"tedn-w{w}", f"(TED)ⁿ, W = {w}", warm_start=w) for w in WARM_STARTS
    ]
    return [
        complete(DEFAULT, DEFAULT, "our default: (TED)ⁿ over boosted trees or fast nets"),
        by_bbe,
        *fixed,
        complete("tedn-auto", "tedn-auto", "(TED)ⁿ, W ends by itself", warm_stop=True),
    ]


CONTENDERS = {contender.name: contender for contender in (*_estimators(), *_learners(), *_fits())}
# Ablations run only when they are asked for by name.
USUAL = tuple(name for name, c in CONTENDERS.items() if not c.ablation)


def find_contender(name: str) -> Contender:
    """Look up a method of the benchmark.

    >>> find_contender("bbe").trainer, find_contender("tedn-w10").learner
    ('pvu', 'tedn')
    """
    return look_up(name, CONTENDERS, "method")


def _look(method: str) -> tuple[str, str]:
    """Label and color of a method."""
    if method in METHODS:
        return METHODS[method].label, METHODS[method].color
    return LOOKS.get(method, (method, GRAY))


def plain_name(method: str) -> str:
    """The name that papers use.

    >>> plain_name("tedn-w10")
    '(TED)ⁿ W=10'
    """
    if method in LOOKS:
        return LOOKS[method][0]
    base, _, warm = method.partition("-")
    return _look(base)[0] + (f" W={warm.removeprefix('w')}" if warm else "")


def name_of(method: str) -> str:
    """The name that papers use, with a note if the method is told something.

    >>> name_of("cvir"), name_of("bbe")
    ('CVIR (known α)', 'BBE')
    """
    contender = CONTENDERS.get(method)
    if contender is None:
        return plain_name(method)
    note = "true negatives" if contender.oracle else "known α" if contender.known_alpha else ""
    return plain_name(method) + (f" ({note})" if note else "")


def color_of(method: str) -> str:
    """The color of a method in every figure."""
    return _look(method)[1]


def in_order(methods: Iterable[str]) -> list[str]:
    """Methods in the order of every table; unknown ones at the end.

    >>> in_order(["bbe", "other", "tedn"])
    ['tedn', 'bbe', 'other']
    """
    return sorted(methods, key=lambda method: (ORDER.get(method, len(ORDER)), method))
