"""The files that a run was made from: their sums, and whether they may be read again.

A run folder may come from somebody else. So what it names is opened only if it is on this machine
and has the size and the SHA-256 that the run keeps; anything else the user has to name again.
"""

import hashlib
import os
import stat
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from glob import glob, has_magic
from itertools import chain
from pathlib import Path
from typing import Any

from topbin.core.errors import NEXT, InputError, option
from topbin.core.options import Request
from topbin.data.paths import TXT, find_files, is_remote
from topbin.data.table import FORMATS
from topbin.store import runs
from topbin.store.answer import DataRead, FileSum, NamedBy

SUMMED_BYTES = 1 << 30  # at most; for more than that, a person names the files faster
LISTED_NAMES = 200_000  # at most in a folder, so that no folder makes us walk through a whole disk
NO_ADDRESS = "topbin opens no address that only a file names"
ENDINGS = {"encoder": (".txt", ".json", ".model", ".safetensors")}  # of what is read in a folder


def file_sums(request: Request) -> tuple[FileSum, ...]:
    """The files of this machine that a request names; without sums if they are large."""
    named = ((n, path) for n, value in _named_files(request).items() for path in _local(n, value))
    measured = [(name, path, _measure(path, name)) for name, path in named]
    is_small = sum(sum(files.values()) for *_, files in measured) <= SUMMED_BYTES
    return tuple(
        FileSum(option=name, path=path, size=size, sum=_sum(path, files) if is_small else None)
        for name, path, files in measured
        if (size := sum(files.values()))
    )


def read_again(folder: Path, data: DataRead, sources: Request) -> Request:
    """What a run was asked, with files that may be opened: as they were, or named as `sources`.

    TB151 if the folder names something that it cannot vouch for, TB117 if it has changed. A query
    is not run: TB113, unless the user gives one.
    """
    asked = runs.read_asked(folder)
    rows, before, now = asked.rows, _named_files(asked), _named_files(sources)
    is_named = rows.main is not None and (rows.label is not None or rows.positives is not None)
    if not is_named or any(value in ("", ()) for value in before.values()):
        raise runs.damaged(
            folder / runs.SETTINGS, "it does not name the files that the run was made from"
        )
    if asked.read.sql is not None and sources.read.sql is None:
        raise InputError(
            "TB113",
            f'"{folder}" was made from a query, and a query in a folder is never run. If you '
            f"trust it, give it again: {option('sql', asked.read.sql)}",
        )
    main: NamedBy = "source" if rows.unlabeled is None else "unlabeled"
    now[main] = sources.rows.main  # the unlabeled rows too can be named like a table
    for name, value in now.items():
        if value is not None and before[name] is None and name not in ("source", "unlabeled"):
            raise InputError("TB008", f'"{folder}" was made without {option(name)}; leave it out.')
    unsaid = {n: v for n, v in before.items() if v is not None and now[n] is None}
    named: dict[NamedBy, Any] = {**now, **_vouched(folder, unsaid, data.files)}
    # Images are in the run folder itself; paths to others are not followed.
    read = replace(
        asked.read, sql=sources.read.sql, image=None, image_root=None,
        embeddings=named["embeddings"], encoder=named["encoder"],
    )  # fmt: skip
    files = {name: named[name] for name in ("source", "positives", "unlabeled") if before[name]}
    return replace(asked, rows=replace(rows, **files), read=read)


def refuse_addresses(config: Path, request: Request, named: Container[str]) -> None:
    """TB151 for addresses that a file of settings names, and the user does not."""
    files: Mapping[Any, Any] = {**_named_files(request), "image_root": request.read.image_root}
    for name, value in files.items():
        if name not in named and any(map(is_remote, paths_of(value))):
            raise not_vouched_for(config, {name: value}, NO_ADDRESS)


def paths_of(source: Any) -> list[str]:
    """The files that a source names, as they were written; a frame names none.

    >>> paths_of("days/*.csv"), paths_of(["a.csv", "b.csv"]), paths_of(None), paths_of([[0.5]])
    (['days/*.csv'], ['a.csv', 'b.csv'], [], [])
    """
    if isinstance(source, str | os.PathLike):
        return [os.fspath(source)]
    several = source if isinstance(source, list | tuple) else ()
    return [os.fspath(path) for path in several if isinstance(path, str | os.PathLike)]


def _named_files(request: Request) -> dict[NamedBy, Any]:
    rows, read = request.rows, request.read
    return {
        "source": rows.source, "positives": rows.positives, "unlabeled": rows.unlabeled,
        "embeddings": read.embeddings, "encoder": read.encoder,
    }  # fmt: skip


def _local(name: str, value: Any) -> Iterator[str]:
    """The files and folders that these names stand for; none if one of them is elsewhere."""
    names = paths_of(value)
    if any(map(is_remote, names)):
        return
    for path in names:
        with suppress(InputError):  # of a file that is gone, and the result must not be
            yield from [path] if name == "encoder" else find_files(path, FORMATS)


def _measure(path: str, name: str) -> dict[str, int]:
    """The sizes of the regular files that a name stands for; of a folder, of those that are read.

    Nothing is opened. A folder with too many names counts as one without files.
    """
    if not os.path.isdir(path):
        return _sized([path])
    files: list[str] = []
    seen = 0
    for place, folders, names in os.walk(path):
        seen += len(folders) + len(names)
        if seen > LISTED_NAMES:
            return {}
        folders[:] = [folder for folder in folders if not folder.startswith(".")]
        read = (file for file in names if file.lower().endswith(ENDINGS.get(name, TXT)))
        files += [os.path.join(place, file) for file in read]
    return _sized(sorted(files))


def _sized(paths: Sequence[str]) -> dict[str, int]:
    sizes = {}
    for path in paths:
        try:
            about = os.stat(path)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(about.st_mode):
            sizes[path] = about.st_size
    return sizes


def _sum(path: str, files: Mapping[str, int]) -> str | None:
    """The SHA-256 of a file; of a folder, that of the names and sums of its files.

    None if one of them cannot be read.
    """
    whole = hashlib.sha256()
    for name, size in files.items():
        if not size:
            continue  # files of the system say so, and may never end
        try:
            with open(name, "rb") as handle:
                digest = hashlib.file_digest(handle, "sha256").hexdigest()
        except OSError:
            return None
        if name == path:
            return digest
        whole.update(
            f"{os.path.relpath(name, path)}\0{digest}\n".encode("utf-8", "surrogateescape")
        )
    return whole.hexdigest()


def _vouched(
    folder: Path, named: Mapping[NamedBy, Any], sums: Sequence[FileSum]
) -> dict[NamedBy, str | list[str]]:
    """The files that a run was made from, by option, after all were compared with their sums."""
    by_option: dict[NamedBy, list[FileSum]] = {name: [] for name in named}
    for file in sums:
        by_option.get(file.option, []).append(file)
    for name, value in named.items():
        names = [*paths_of(value), *(file.path for file in by_option[name])]
        if any(map(is_remote, names)):
            raise not_vouched_for(folder, named, NO_ADDRESS)
        if not by_option[name] or any(file.sum is None for file in by_option[name]):
            why = "the folder has no sum that shows whether this is what the run was made from"
            raise not_vouched_for(folder, named, why)
    for file in chain.from_iterable(by_option.values()):
        _refuse_changed(file)
    paths = {name: [file.path for file in files] for name, files in by_option.items()}
    single = ("embeddings", "encoder")
    return {name: several[0] if name in single else several for name, several in paths.items()}


def not_vouched_for(folder: Path, named: Mapping[Any, Any], why: str) -> InputError:
    """TB151 for what a folder, or a file of settings, names and the user does not."""
    names = ", ".join(f'"{path}"' for value in named.values() for path in paths_of(value))
    marks = NEXT.join(option(name, paths_of(value)) for name, value in named.items())
    return InputError(
        "TB151",
        f'"{folder}" refers to {names}; {why}. If you trust it, give the same command with {marks}',
    )


def _refuse_changed(file: FileSum) -> None:
    """Refuse a file that is not the one that the run was made from; another size is not opened."""
    files = _measure(file.path, file.option)
    if not files:
        raise InputError(
            "TB101",
            f'there is no file "{file.path}", which the run was made from. If it is elsewhere '
            f"now, give the same command with {option(file.option, ['NEW_PLACE'])}",
        )
    if sum(files.values()) != file.size or _sum(file.path, files) != file.sum:
        raise changed([file.path])


def changed(names: Sequence[str]) -> InputError:
    """TB117 for files that are not as they were."""
    return InputError(
        "TB117",
        f"the data has changed since the run ({', '.join(names)}). Run topbin fit again.",
    )


def fitted_rows_note(run: Path, source: Sequence[str]) -> str | None:
    """A sentence if some of these files or folders were part of what the run was fitted on.

    Its models saw those rows: they score unlabeled ones too low, and known positives too high.
    Names are compared as they were given, from where this runs; a frame or an array has none.
    """
    data = runs.read_result(run).data
    named = [file.path for file in data.files] or data.source
    here = [path for path in named if not is_remote(path) and os.path.exists(path)]
    fitted = [Path(os.path.realpath(path)) for path in here]
    file = runs.PROBABILITIES if os.path.exists(run / runs.PROBABILITIES) else runs.CANDIDATES
    globbed = (glob(path, recursive=True) if has_magic(path) else [path] for path in source)
    for given in chain.from_iterable(globbed):
        path = Path(os.path.realpath(given))
        if any(path.is_relative_to(seen) or seen.is_relative_to(path) for seen in fitted):
            return (
                f'"{given}" was part of the fit. Models that were trained on a row score it too '
                "low if it was unlabeled, and too high if it was a known positive. Of unlabeled "
                f"rows, {file} of the run has probabilities by models that did not see them."
            )
    return None
