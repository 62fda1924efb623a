"""Files and folders that appear whole or not at all, and a lock for a folder in use.

Everything is written beside its target under a hidden name, flushed to the disk and then renamed
(`os.replace` is atomic on POSIX and Windows), so a reader never sees half a file.

Files of a folder that somebody else may have made are read only if they are regular ones, inside
it, of a size. A pipe would make the reader wait for ever, a device would never end, and a link
could bring in a file of the reader's that the folder's maker was never shown.
"""

import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from topbin.core.errors import FileError, InputError, TopbinError, option

PathLike = str | os.PathLike[str]
LOCK = ".lock"
HANDOVER = 0.2  # seconds: the run that held a lock may be removing its file just now
PART = ".part"
OWNER = re.compile(r"\.([0-9a-f]{8})-(\d{1,9})-[0-9a-f]{12}\.")
LIMIT = 4 << 30  # bytes; a model of this size takes minutes to load
REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than allowed",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.ENAMETOOLONG: "the name is too long for the disk",
}


@contextmanager
def new_file(path: PathLike, *, force: bool = False) -> Iterator[Path]:
    """Yield a path to write to; it becomes `path` when the block ends without an error.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "answer.txt"
    >>> with new_file(target) as part:
    ...     size = part.write_text("0.5")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('0.5', 1)
    """
    target = Path(os.path.abspath(path))
    part = _beside(target)
    with write_errors(target):
        refuse_existing(target, force=force)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            yield part
            for written in (*part.rglob("*"), part):
                _flush(written)
            _put(part, target)
            _flush(target.parent)
        finally:
            remove(part)


@contextmanager
def new_folder(path: PathLike, *, force: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill; it becomes `path` when the block ends without an error.

    With `force` an older folder is set aside first and removed last, so that at every moment
    either the old or the new one is on the disk, whole.
    """
    with new_file(path, force=force) as part:
        part.mkdir()
        yield part


def write_text(path: PathLike, text: str, *, force: bool = False) -> None:
    """Write a UTF-8 text file atomically, with the line ends as given."""
    with new_file(path, force=force) as part:
        part.write_bytes(text.encode())


def refuse_existing(path: Path, *, force: bool = False) -> None:
    """Raise TB104 if something is at `path` already, unless `force`."""
    if not force and os.path.lexists(path):
        kind = "folder" if os.path.isdir(path) else "file"
        raise InputError(
            "TB104",
            f'the {kind} "{path}" is there already and is left as it was. '
            f"Choose another name, or replace it with {option('force', True)}.",
        )


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system says about writing `path` into one coded sentence."""
    try:
        yield
    except TopbinError:
        raise
    except OSError as error:
        reason = REASONS.get(error.errno or 0, error.strerror or str(error))
        raise FileError(
            "TB105",
            f'cannot write "{path}": {reason}. Nothing was left half-written. '
            "Choose another place, or make room there.",
        ) from error


@contextmanager
def lock(folder: PathLike, *, wait: float = 0.0) -> Iterator[None]:
    """Hold `folder` for this run; a second run into it is refused with TB107 after `wait` seconds.

    The operating system drops the lock when the process ends, however it ends, so a killed run
    leaves nothing that must be cleaned up by hand.
    """
    from filelock import FileLock, Timeout  # here, because importing it takes a tenth of a second

    path = Path(folder) / LOCK
    held = FileLock(path, timeout=max(wait, HANDOVER))
    with write_errors(path):
        os.stat(path.parent)  # which would be made otherwise
        try:
            held.acquire()
        except Timeout as error:
            raise FileError(
                "TB107",
                f'another run is writing to "{path.parent}". Wait for it to end, '
                "or choose another output folder.",
            ) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        held.release()


def remove_parts(folder: Path) -> None:
    """Remove what a killed run left unfinished; call it only while holding the lock."""
    for part in folder.glob(f".*{PART}"):
        remove(part)


def remove_stale(target: Path) -> None:
    """Remove what killed writers of this very file left; parts of a live process stay."""
    for part in target.parent.glob(f".{escape(target.name[:40])}.*{PART}"):
        owner = OWNER.search(part.name)
        if owner and owner[1] == _host() and not _is_alive(int(owner[2])):
            remove(part)


def _beside(target: Path) -> Path:
    # Cut, because a name of 255 bytes is legal and the hidden one must not be longer.
    owner = f"{_host()}-{os.getpid()}-{secrets.token_hex(6)}"
    return target.parent / f".{target.name[:40]}.{owner}{PART}"


def _host() -> str:
    """This machine: folders are shared, and the number of a process means nothing elsewhere."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":
        return True  # there, asking with a signal would end the process
    try:
        os.kill(process, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True


def _put(part: Path, target: Path) -> None:
    old = _beside(target)
    if part.is_dir() and target.exists():
        os.replace(target, old)  # only files are replaced in one step
    try:
        os.replace(part, target)
    except OSError:
        if old.exists():
            os.replace(old, target)
        raise
    remove(old)


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it; nothing there is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    if path.is_dir() and sys.platform == "win32":
        return  # Windows cannot open a folder to flush it
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_regular(path: Path, limit: int = LIMIT) -> Path:
    """The file itself, links inside its folder followed; OSError if it cannot be one of ours."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(path.parent)):
        raise OSError(errno.EPERM, "it is a link out of its folder")
    about = os.stat(real)
    if stat.S_ISDIR(about.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EPERM, "it is not a regular file")
    if about.st_size > limit:
        raise OSError(errno.EFBIG, f"it has {about.st_size:,} bytes, and {limit:,} is the most")
    return real


def read_file(path: Path, limit: int = LIMIT) -> bytes:
    """The content of a file that `check_regular` lets pass."""
    with check_regular(path, limit).open("rb") as handle:
        return handle.read(os.fstat(handle.fileno()).st_size)
