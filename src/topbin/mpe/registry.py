"""The table of methods: a method is a value, and every room finds it here."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.mpe.bbe import bbe

Needs = Literal["tails", "scores", "features"]


@dataclass(frozen=True, slots=True)
class Method:
    """A named estimator and what it reads: tails, two score samples, or two feature tables."""

    estimate: Callable[..., AlphaEstimate]
    needs: Needs
    source: str


METHODS = {
    "bbe": Method(bbe, "tails", "Garg et al. 2021, algorithm 1"),
}


def find_method(name: str) -> Method:
    """Look a method up, or say which ones there are.

    >>> find_method("bbe").needs
    'tails'
    """
    try:
        return METHODS[name]
    except (KeyError, TypeError):
        near = get_close_matches(str(name), METHODS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(
            "TB007", f"no method is called {name!r}; there are {', '.join(METHODS)}.{hint}"
        ) from None
