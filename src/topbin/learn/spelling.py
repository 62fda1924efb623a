"""Reasons that people can read: what groups of letters add to a score, told as words.

A group of letters never crosses a space, so each of its occurrences belongs to one word of the
text. What the group adds is divided among these occurrences, and every word gets the sum of its
groups: the total stays the same. Sequences without words keep their groups.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from topbin.core.checks import Floats
from topbin.data.features import Feature, Features
from topbin.data.words import letters_of

ABSENT = "other letters"
EDGES = re.compile(r"^\W+|\W+$")


def told_as_words(
    names: Sequence[str], parts: Any, features: Features, rows: Any
) -> tuple[list[str], Any]:
    """The same parts, with those of letters added to the words of each row that contain them."""
    names = list(names)
    for feature in features.features:
        if feature.letters and feature.terms:
            names, parts = _one_column(names, parts, feature, rows[feature.name].tolist())
    return names, parts


def _one_column(
    names: list[str], parts: Any, feature: Feature, texts: Sequence[Any]
) -> tuple[list[str], Any]:
    first = names.index(f"{feature.name}: ~{feature.letters[0]}~")
    last = first + len(feature.letters)
    parts = csr_array(parts)
    kept = names[:first] + names[last:]
    place = {name: j for j, name in enumerate(kept)}
    cells: defaultdict[tuple[int, int], float] = defaultdict(float)
    for i, (text, own) in enumerate(zip(texts, parts[:, first:last], strict=True)):
        row = own.tocoo()
        added = {feature.letters[int(j)]: v for j, v in zip(row.coords[-1], row.data, strict=True)}
        for word, part in spread(str(text or ""), added).items():
            cells[i, place.setdefault(f"{feature.name}: {word}", len(place))] += part
    coords = np.array([*cells], np.intp).reshape(-1, 2).T
    values: Floats = np.array([*cells.values()], np.float64)
    words: Any = csr_array((values, (coords[0], coords[1])), shape=(parts.shape[0], len(place)))
    rest = hstack([parts[:, :first], parts[:, last:]], format="csr")
    rest.resize((parts.shape[0], len(place)))
    return list(place), rest + words


def spread(text: str, added: dict[str, float]) -> dict[str, float]:
    """What each word of a text adds, from what each group of its letters adds.

    To trees, it also says something that a group is not there.

    >>> spread("No refund, refund!", {"ref": 1.0, "no ": 0.5, "zzz": 0.25})
    {'no': 0.5, 'refund': 1.0, 'other letters': 0.25}
    """
    seen = [(EDGES.sub("", word), letters_of(word)) for word in text.lower().split()]
    counts = Counter(group for _, groups in seen for group in groups)
    found: defaultdict[str, float] = defaultdict(float)
    for word, groups in seen:
        share = sum(added.get(group, 0.0) / counts[group] for group in groups)
        if share:
            found[word or "…"] += share
    if absent := sum(part for group, part in added.items() if group not in counts):
        found[ABSENT] += absent
    return dict(found)
