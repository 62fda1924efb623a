"""Run folders: what was asked (run.toml), what happened (events.jsonl), what was found.

A run holds the folder's lock while it works. Events are appended and flushed one by one, so a run
that was killed can be read up to its last whole line; result.json is an `Answer`.
"""

import json
import os
import shlex
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import tomli_w

import topbin
from topbin.core.atomic import (
    LOCK,
    PART,
    PathLike,
    lock,
    new_file,
    read_file,
    refuse_existing,
    remove,
    remove_parts,
    write_errors,
    write_text,
)
from topbin.core.errors import InputError, MissingExtra, option
from topbin.core.hashing import sha256_of
from topbin.core.options import Request, options, read_request
from topbin.data.features import Features
from topbin.learn.explain import KnownPositives
from topbin.store.answer import Answer, plain

SETTINGS, EVENTS, RESULT, STAGES = "run.toml", "events.jsonl", "result.json", "stages"
ROWS, IMAGES, PROBABILITIES = "unlabeled.parquet", "images", "probabilities.parquet"
PROXIES, KNOWN = "proxies.parquet", "known.json"
CANDIDATES, REPORT, MODEL, REFIT = "candidates.csv", "report.html", "model", "refit"
# What a run leaves beside SETTINGS.
LEFT = (
    EVENTS, RESULT, STAGES, ROWS, IMAGES, PROBABILITIES, PROXIES, KNOWN, CANDIDATES, REPORT, MODEL,
    REFIT,
)  # fmt: skip
SCHEMA = "topbin-result-1"
LoggedEvent = Mapping[str, Any]  # a line of events.jsonl: what happened, and when
WAIT = 60.0  # seconds for another process to be done with the same run
TEXT_BYTES = 256 << 20  # of a file that people read, at most
MAY_CHANGE = frozenset({"time_limit"})  # how long to work; what is found by then is the same


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run folder that this process holds."""

    folder: Path
    resumed: bool = False

    def log(self, event: LoggedEvent) -> None:
        """Append one event; it is on the disk when this returns."""
        append_lines(self.folder / EVENTS, event)


@contextmanager
def open_run(
    folder: PathLike, request: Request, *, force: bool = False, resume: bool = False
) -> Iterator[RunFolder]:
    """Start a run in a new folder, start over in an old one (`force`), or go on (`resume`).

    A folder with anything in it is refused without one of these. `resume` wants the request that
    the run was started with, but for the time limit; `force` removes what runs leave, and nothing
    else.
    """
    path = Path(folder)
    if os.path.isfile(path):
        refuse_existing(path)
    if resume and not os.path.exists(path / SETTINGS):
        raise InputError(
            "TB114", f'there is no run in "{path}" to resume; leave out {option("resume")}.'
        )
    with write_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    with lock(path):
        if resume:
            refuse_links(path)
            _refuse_other_settings(path, request)
            remove_parts(path)
            cut_torn_line(path / EVENTS)
        else:
            _make_room(path, force=force)
        write_text(path / SETTINGS, tomli_w.dumps(request.settings()), force=True)
        try:
            yield RunFolder(path, resume)
        except (InputError, MissingExtra):
            # Settings alone would stand in the way of the same command, corrected.
            if {p.name for p in path.iterdir()} <= {SETTINGS, LOCK, IMAGES}:
                remove(path / IMAGES)
                remove(path / SETTINGS)
            raise


def read_asked(folder: PathLike) -> Request:
    """What a run was asked to do; TB114 if its file does not say it."""
    text, path = read_text(Path(folder), SETTINGS), Path(folder) / SETTINGS
    try:
        return read_request(tomllib.loads(text))
    except InputError as error:
        raise damaged(path, error.marked.removesuffix(".")) from error
    except (ValueError, RecursionError) as error:
        raise damaged(path, repr(error)) from error


def read_result(folder: PathLike) -> Answer:
    """What a run found; TB112 if it was written in a form that this version does not know.

    A file that does not fit the types of an `Answer`, or not its own sum, is damaged: TB114.

    Parameters
    ----------
    folder
        A run folder.

    Returns
    -------
    Answer
        All that the run found.
    """
    path = Path(folder) / RESULT
    refuse_links(Path(folder))
    text = read_text(Path(folder), RESULT)
    try:
        content = dict(msgspec.json.decode(text))
        form = content["schema"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(path, repr(error)) from error
    if form != SCHEMA:
        raise InputError(
            "TB112",
            f'"{path}" has the form {form!r} of topbin '
            f"{content.get('topbin', '?')}; this is topbin {topbin.__version__}, which reads "
            f"{SCHEMA!r}. Use the version that wrote it, or run again.",
        )
    try:
        answer = Answer.from_dict(content)
    except ValueError as error:
        raise damaged(path, f"it does not fit its schema: {error}") from error
    if content.pop("sum", None) not in (None, _sum_of(content)):
        raise damaged(path, "it is not as it was written: its sum differs")
    return answer


def write_result(folder: Path, answer: Answer) -> None:
    """Replace result.json; its sum shows damage, not forgery."""
    content = {"schema": SCHEMA, **answer.to_dict()}
    write_text(folder / RESULT, to_json({**content, "sum": _sum_of(content)}), force=True)


def _sum_of(content: Mapping[str, Any]) -> str:
    return sha256_of(to_json(content))


class StoredKnown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Known positives on the disk; the vectors as bytes of float32, one after the other."""

    names: tuple[str, ...]
    vectors: bytes
    reach: Annotated[float, msgspec.Meta(ge=0)]


def write_known(run: Path, known: KnownPositives) -> None:
    """Leave the known positives of a run, which new rows are compared with."""
    stored = StoredKnown(known.names, known.vectors.astype("<f4").tobytes(), known.reach)
    write_text(run / KNOWN, msgspec.json.encode(stored).decode(), force=True)


def read_known(run: Path, features: Features) -> KnownPositives | None:
    """The known positives of a run, if it has any; TB114 if its model reads no such vectors."""
    if not os.path.lexists(run / KNOWN):
        return None
    try:
        stored = msgspec.json.decode(read_text(run, KNOWN), type=StoredKnown)
        vectors = np.frombuffer(stored.vectors, "<f4")
        vectors = vectors.reshape(len(stored.names), len(features.vector_columns))
        if not (vectors.size and np.isfinite(vectors).all()):
            raise ValueError("numbers that are not finite, or none")
    except (ValueError, RecursionError) as error:
        raise damaged(run / KNOWN, repr(error)) from error
    return KnownPositives(stored.names, vectors, stored.reach)


def to_json(content: Any) -> str:
    """Indented JSON of plain values, with a line end."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def damaged(path: Path, why: str) -> InputError:
    """The refusal of a file of a run, and the way out."""
    return InputError(
        "TB114",
        f'"{path}" is damaged: {why}. Copy the folder again, or run again with '
        f"{option('force', True)}.",
    )


def append_lines(path: Path, *events: LoggedEvent) -> None:
    """Append one line of JSON per event; they are on the disk when this returns."""
    lines = [json.dumps(plain(event), ensure_ascii=False, allow_nan=False) for event in events]
    with write_errors(path), path.open("ab") as handle:
        handle.write("".join(f"{line}\n" for line in lines).encode())
        handle.flush()
        os.fsync(handle.fileno())


def read_events(path: Path) -> list[LoggedEvent]:
    """All events; a last line that a kill tore is left out, a torn line before it is TB114."""
    if not os.path.lexists(path):
        return []
    *events, last = map(_event, _read(path).split(b"\n"))
    if None in events:
        raise InputError("TB114", f'line {events.index(None) + 1:,} of "{path}" is damaged.')
    return [event for event in (*events, last) if event is not None]


def _event(line: bytes) -> LoggedEvent | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def cut_torn_line(path: Path) -> None:
    """Remove what follows the last line end, so that the next event begins a line."""
    if os.path.lexists(path):
        whole, end, torn = _read(path).rpartition(b"\n")
        if torn:
            with new_file(path, force=True) as part:
                part.write_bytes(whole + end)


def _refuse_other_settings(path: Path, request: Request) -> None:
    usual = {each.name: each.default for each in options()}
    before, now = usual | read_asked(path).settings(), usual | request.settings()
    for key in sorted((before.keys() | now.keys()) - MAY_CHANGE):
        if before[key] != now[key]:
            raise InputError(
                "TB114",
                f'the run in "{path}" was started with {key} = {before[key]!r}, now it is '
                f"{now[key]!r}. Resume with the same settings, or start over with "
                f"{option('force', True)}.",
            )


def check_room(path: Path, *, force: bool) -> None:
    """Refuse a folder with files in it, unless `force` may remove them because a run left them."""
    if not os.path.isdir(path):
        return
    there = {p.name for p in path.iterdir() if p.name != LOCK and p.suffix != PART}
    if there and SETTINGS not in there:
        some = ", ".join(sorted(there)[:3])
        message = f'the folder "{path}" holds other files ({some}). Choose a new name for the run.'
        raise InputError("TB104", message)
    if there and not force and _is_unfinished(path):
        raise InputError(
            "TB104",
            f'the folder "{path}" is there already, with a run that is not finished. Continue it '
            f"with the same command and {option('resume', True)}, which keeps the work that is "
            f"done. Or choose another name, or start over with {option('force', True)}, which "
            "discards that work.",
        )
    if there:
        refuse_existing(path, force=force)


def _is_unfinished(path: Path) -> bool:
    """Whether a run was stopped before it had a result, or with the best so far."""
    try:
        return read_result(path).stopped is not None
    except InputError:
        return not os.path.lexists(path / RESULT)


def _make_room(path: Path, *, force: bool) -> None:
    """Remove what runs leave, and only that, if `check_room` permits it.

    The settings stay until they are replaced: they mark the folder as a run, so that a `force` that
    is killed half-way can be given again.
    """
    check_room(path, force=force)
    with write_errors(path):
        remove_parts(path)
        for name in LEFT:
            remove(path / name)


def refuse_links(folder: Path) -> None:
    """TB114 if folders of a run hold a link, pipe or device: a run leaves files and folders only.

    Through a link we would read, or remove, what belongs to somebody else.
    """
    for top in (STAGES, IMAGES, MODEL, REFIT):
        # One by one: below a link we do not look.
        for place, folders, names in chain([(str(folder), [top], [])], os.walk(folder / top)):
            for path in (Path(place, name) for name in (*folders, *names)):
                mode = os.lstat(path).st_mode if os.path.lexists(path) else stat.S_IFDIR
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    kind = "a link" if stat.S_ISLNK(mode) else "not a regular file"
                    raise InputError("TB114", f'"{path}" is {kind}, which no run leaves.')


def read_text(folder: Path, name: str) -> str:
    """A text file of a run folder; TB114 if there is none, or it cannot be read."""
    try:
        return _read(folder / name).decode()
    except UnicodeDecodeError as error:
        raise InputError("TB114", f'"{folder / name}" cannot be read: {error}.') from error


def _read(path: Path) -> bytes:
    try:
        return read_file(path, TEXT_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError("TB114", _why_not(path.parent, path.name)) from None
    except OSError as error:
        raise InputError("TB114", f'"{path}" cannot be read: {error.strerror or error}.') from error


def _why_not(folder: Path, name: str) -> str:
    if os.path.isfile(folder):
        return f'"{folder}" is a file, not a run folder; the run comes first, then the files.'
    if os.path.exists(folder / SETTINGS):
        return (
            f'the run in "{folder}" is not complete. Continue it with the command that began it: '
            f"topbin fit … -o {shlex.quote(str(folder))} --resume"
        )
    return f'"{folder}" is not a run folder: it has no {name}.'
