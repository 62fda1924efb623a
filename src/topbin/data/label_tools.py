"""Audits as plain files of labeling tools: rows go out as tasks, and an export comes back.

Label Studio imports a list of `{"data": …}` and exports it with `annotations`; Argilla (2.x) reads
and writes a list of records with `fields` and `responses` (`records.to_json`). Both show one text
per row, called `shown`, and ask one question, called `is_positive`, with yes, no and ? as choices.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from topbin.core.atomic import read_file
from topbin.core.errors import InputError

ANSWER, SHOWN = "is_positive", "shown"
UNSURE = "?"


class _Choices(Struct):
    choices: list[str] = []


class _Part(Struct):
    from_name: str
    value: _Choices


class _Annotation(Struct):
    result: list[_Part]
    was_cancelled: bool = False


class _RowNumber(Struct):
    row: int


class _Task(Struct):
    """A task of Label Studio, as its export has it."""

    data: _RowNumber
    annotations: list[_Annotation]

    @property
    def answered(self) -> tuple[int, set[str]]:
        done = (part for each in self.annotations if not each.was_cancelled for part in each.result)
        return self.data.row, {c for part in done if part.from_name == ANSWER
                               for c in part.value.choices}  # fmt: skip


class _Response(Struct):
    value: str


class _Record(Struct):
    """A record of Argilla."""

    id: str
    responses: dict[str, list[_Response]]

    @property
    def answered(self) -> tuple[int, set[str]]:
        return int(self.id), {response.value for response in self.responses.get(ANSWER, ())}


def _task(row: int, shown: str) -> object:
    return {"data": {"row": row, SHOWN: shown}}


def _record(row: int, shown: str) -> object:
    return {"id": str(row), "fields": {SHOWN: shown}, "metadata": {}, "suggestions": {},
            "responses": {}, "vectors": {}}  # fmt: skip


TOOLS: dict[str, Callable[[int, str], object]] = {"label-studio": _task, "argilla": _record}
# What only the exports of a tool have.
EXPORTS: dict[str, Any] = {"annotations": list[_Task], "responses": list[_Record]}


def tasks_of(frame: Any, rows: Iterable[int], tool: str) -> str:
    """The rows of a frame, each as one text with a line per column that has a value."""
    if tool not in TOOLS:
        raise InputError("TB008", f"tool must be one of {', '.join(TOOLS)}; got {tool!r}.")
    known = frame.astype(object).where(frame.notna(), None)
    texts = (
        "\n".join(f"{name}: {v}" for name, v in values.items() if v is not None)
        for values in known.to_dict("records")
    )
    made = [TOOLS[tool](row, text) for row, text in zip(rows, texts, strict=True)]
    return msgspec.json.format(msgspec.json.encode(made), indent=1).decode()


def read_export(path: str | Path) -> Mapping[int, str] | None:
    """The answers of an export by row number; None if the file is not one of a labeling tool.

    Rows without an answer are blank. Where people disagree, or one chose twice, the row is unsure.
    """
    if Path(path).suffix.lower() != ".json":
        return None
    try:
        found = msgspec.json.decode(read_file(Path(os.path.realpath(path))))
    except (OSError, ValueError, RecursionError):
        return None  # a table that is missing or damaged, in the words of its reader
    first = found[0] if isinstance(found, list) and found else None
    kinds = [EXPORTS[key] for key in EXPORTS if isinstance(first, dict) and key in first]
    if not kinds:
        return None
    try:
        answered = [each.answered for each in msgspec.convert(found, kinds[0], strict=False)]
    except ValueError as error:
        raise InputError(
            "TB117",
            f'"{path}" is not an export of an audit: {error}. Export the tasks that topbin audit '
            "wrote, as JSON, with all their fields.",
        ) from error
    rows = [row for row, _ in answered]
    if len(set(rows)) < len(rows):
        twice = next(row for row in rows if rows.count(row) > 1)
        raise InputError("TB117", f'"{path}" has row {twice} twice; keep each row once.')
    return {row: said.pop() if len(said) == 1 else UNSURE if said else "" for row, said in answered}
