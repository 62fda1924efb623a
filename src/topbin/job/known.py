"""The known positives of a job, as what candidates are compared with."""

import re
from typing import Any

import numpy as np

from topbin.job.prepare import Prepared
from topbin.learn.nearest import KnownPositives

TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s+[\w-]+\s*=[^<>]*)?\s*/?>")  # <br />, <a href="…">
PASSAGE = 160  # letters of a text; its beginning, which every encoder reads


def known_positives(data: Prepared) -> KnownPositives | None:
    """Their names and vectors; None if no model reads vectors, or labels are known classes."""
    where = np.flatnonzero(data.labels.is_positive)
    if data.classes is not None or not data.encoder.vector_columns:
        return None
    vectors = data.encoder.vectors(data.X[where])
    return KnownPositives.of(_names(data, where), vectors, data.request.certainty.seed)


def _names(data: Prepared, where: Any) -> list[str]:
    """How people find each row: the path of its image, its id or its number, and how it begins."""
    rows = data.table.take(where)
    if data.image is not None:
        return [str(path) for path in rows.frame[data.image.name]]
    if data.id is not None:
        names = [str(one) for one in rows.frame[data.id]]
    elif data.label is None:  # in a source of their own
        names = [f"known positive {i + 1}" for i in range(rows.rows)]
    else:
        names = [f"row {place + 1}" for place in rows.places]
    texts = [f.name for f in data.encoder.features if f.kind == "text" or f.encoder]
    if not texts:
        return names
    return [f"{n}: {passage(text)}" for n, text in zip(names, rows.frame[texts[0]], strict=True)]


def passage(text: Any) -> str:
    """How a text begins, without tags.

    >>> passage("A gem<br /> of a film. " * 10)[-32:]
    ' film. A gem of a film. A gem o…'
    """
    words = " ".join(TAG.sub(" ", str(text or "")).split())
    return words if len(words) <= PASSAGE else f"{words[:PASSAGE]}…"
