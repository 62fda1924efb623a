"""Requests and fits from options by name, whichever value they are fields of."""

from dataclasses import replace

import topbin as tb
from topbin.core.options import PLACES, Listing, Request, options


def asked(source=None, label=None, **given):
    """The request of a fit; like `topbin.fit`, but with every option by its own name."""
    named = "source" if given.get("positives") is None else "unlabeled"
    flat = {named: source, "label": label, **given}
    place = {each.name: each.place for each in options()}
    parts = {name: {} for name in PLACES}
    for name, value in flat.items():
        parts[place.get(name, "budget")][name] = value
    return Request(**{name: kind(**parts[name]) for name, kind in PLACES.items()})


def fit(source, label=None, **given):
    """`topbin.fit` with every option by its own name."""
    request = asked(source, label, **given)
    flat = ("label", "positives", "positive", "negative", "id", "drop", "group")
    rows = {name: getattr(request.rows, name) for name in flat}
    return tb.fit(
        source, **rows, read=request.read, labeling=request.labeling, budget=request.budget,
        candidates=request.listing, confidence=request.certainty.confidence,
        seed=request.certainty.seed,
    )  # fmt: skip


def listing(result, **given):
    """The result, as if other candidates had been asked for."""
    request = replace(result.request, listing=Listing(**given))
    return replace(result, data=replace(result.data, request=request))
