"""The table of methods: a method is a value, and every room finds it here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from topbin.core.checks import look_up
from topbin.core.estimate import AlphaEstimate
from topbin.mpe.alphamax import alphamax
from topbin.mpe.bbe import bbe
from topbin.mpe.bbe_cp import bbe_cp
from topbin.mpe.dedpul import dedpul
from topbin.mpe.elkan_noto import elkan_noto
from topbin.mpe.km import km1, km2
from topbin.mpe.scott import scott
from topbin.mpe.tice import tice

Needs = Literal["tails", "scores", "probabilities", "features"]


@dataclass(frozen=True, slots=True)
class Method:
    """A named estimator and what it reads.

    Tails; two samples of scores; two samples of scores that are probabilities, with the
    `share_p` of the data that trained the scorer; or two tables of features. `thin` says that
    tails thinned to BBE's cut and the geometric ranks (`mpe.prune`) give it the same answer.
    """

    estimate: Callable[..., AlphaEstimate]
    needs: Needs
    source: str
    thin: bool = False


METHODS = {
    "bbe": Method(bbe, "tails", "Garg et al. 2021, algorithm 1", thin=True),
    "bbe_cp": Method(bbe_cp, "tails", "the same idea with exact binomial limits", thin=True),
    "scott": Method(scott, "tails", "Scott 2015, as in the appendix of Garg et al. 2021"),
    "elkan_noto": Method(elkan_noto, "probabilities", "Elkan & Noto 2008"),
    "dedpul": Method(dedpul, "scores", "Ivanov 2020"),
    "alphamax": Method(alphamax, "scores", "Jain et al. 2016"),
    "km1": Method(km1, "features", "Ramaswamy, Scott & Tewari 2016"),
    "km2": Method(km2, "features", "Ramaswamy, Scott & Tewari 2016"),
    "tice": Method(tice, "features", "Bekker & Davis 2018"),
}

# Chosen by measurement: bench/results/default_method.md.
DEFAULT_METHOD = "bbe_cp"


def find_method(name: str) -> Method:
    """Look a method up, or say which ones there are.

    >>> find_method("bbe").needs
    'tails'
    """
    return look_up(name, METHODS, "method")
