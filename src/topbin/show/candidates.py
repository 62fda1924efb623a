"""The candidates of a run as the report shows them: cells that people can read, and pictures."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from topbin.core.formatting import percent
from topbin.show.pictures import SMALL, Picture, open_pictures
from topbin.store.answer import Answer

TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s+[\w-]+\s*=[^<>]*)?\s*/?>")  # <br />, <a href="…">
PASSAGE = 160  # letters of a text; its beginning, which every encoder reads
SHOWN = 25
LONG, EXCERPT = 60, 140  # letters of a text, and of the part that the report shows
FOR = re.compile(r"= … (.+) … \(\+")  # a reason that speaks for the row
WHY = "reason_", "nearest_"  # how the columns begin that say something about a candidate


def shown_rows(frame: Any) -> list[dict[str, str]]:
    """The first rows and columns as people read them, and the reasons."""
    why = [name for name in frame.columns if str(name).startswith(WHY)]
    own = [name for name in frame.columns[:12] if name not in why]
    rows = frame[[*own, *why]].head(SHOWN).astype(object)
    rows = rows.where(rows.notna(), "")
    texts = [name for name in own if rows[name].map(lambda value: len(str(value))).max() > LONG]
    first = [*own[:3], *texts, *(name for name in own[3:4] if name not in texts)]
    order = [*first, *why, *(name for name in own if name not in first)]
    records = rows[order].to_dict("records")
    return [
        {str(key): _cell(v, [row[w] for w in why]) for key, v in row.items()} for row in records
    ]


def _cell(value: Any, reasons: Sequence[str]) -> str:
    """A value as people read it; of a long text, the part around the word that speaks for the row.

    >>> rain = "It rained. " * 20
    >>> _cell(f"{rain}A gem<br /> of a film. {rain}", ["text = … gem … (+1.2)"])
    '… It rained. ...It rained. A gem of a film. It rained...It rained. …'
    """
    if isinstance(value, float):
        return f"{value:g}"
    text = " ".join(str(value).split())
    if len(text) <= LONG:
        return text
    text = " ".join(TAG.sub(" ", text).split())
    words = [found[1] for reason in reasons if (found := FOR.search(str(reason)))]
    places = [text.lower().find(f" {word}") for word in words]
    middle = next((place for place in places if place >= 0), 0)
    start = max(0, min(middle - EXCERPT // 2, len(text) - EXCERPT))
    return _cut(text, start, start + EXCERPT)


def _cut(text: str, start: int, end: int) -> str:
    """The part of a text from start to end, cut at spaces, unless a word is as long as that."""
    if start > 0:
        space = text.find(" ", start - 1, end)
        start = start if space < 0 else space + 1
    if end < len(text):
        space = text.rfind(" ", start, end + 1)
        end = end if space <= start else space
    before, after = "… " * (start > 0), " …" * (end < len(text))
    return f"{before}{text[start:end].strip()}{after}"


def passage(text: Any) -> str:
    """How a text begins, without tags.

    >>> passage("A gem<br /> of a film. " * 10)[-32:]
    ' film. A gem of a film. A gem o…'
    """
    words = " ".join(TAG.sub(" ", str(text or "")).split())
    return words if len(words) <= PASSAGE else f"{words[:PASSAGE]}…"


def gallery_of(folder: Path, found: Answer, rows: Any) -> list[Picture]:
    """Small pictures of the first candidates, if the rows of the run are images."""
    image = found.data.image
    if image is None or image.column not in rows:
        return []
    pictures, column = open_pictures(folder, image.root or ""), image.column
    first = rows.head(SHOWN)
    near = [name for name in rows.columns if str(name).startswith("nearest_")]
    beside = [[str(path) for path in one if path] for one in first[near].fillna("").to_numpy()]
    told = zip(first["rank"], first["probability"], first[column], beside, strict=True)
    return [
        Picture(
            f"{rank} · {percent(likely)} %", str(path), pictures.of(str(path)),
            tuple(Picture("", one, pictures.of(one, SMALL)) for one in like),
        )
        for rank, likely, path, like in told
    ]  # fmt: skip
