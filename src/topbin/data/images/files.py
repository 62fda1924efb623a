"""Which image files a folder, a pattern or a list names.

Folders are searched to the bottom. Links to files are followed, links to folders are not, so that a
loop of links ends. Hidden files, and those that a system leaves there, are no rows. Whether a file
is an image is decided by its content (`topbin.data.images.decode`); the endings here only tell a
folder of images from other sources.
"""

import os
from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from topbin.core.errors import InputError, option
from topbin.data.find import is_address

OF_SYSTEMS = ("Thumbs.db", "desktop.ini")  # files that Windows leaves in folders
ENDINGS = (".jpg", ".jpeg", ".jpe", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif")


def is_image_name(path: str | os.PathLike[str]) -> bool:
    """Whether a name ends as those of images do.

    >>> is_image_name("cats/1.JPG"), is_image_name("cats.csv")
    (True, False)
    """
    return os.fspath(path).lower().endswith(ENDINGS)


def names_images(source: Any) -> bool:
    """Whether a source is a folder, a pattern or a list of image files, by their endings.

    A folder counts if at least half of its files do, so a picture beside texts or tables does not.

    >>> names_images(["a.jpg", "b.PNG"]), names_images("claims.csv"), names_images(None)
    (True, False, False)
    """
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if os.path.isdir(path):
            named_so = [is_image_name(name) for name in _walk(path)]
            return any(named_so) and 2 * sum(named_so) >= len(named_so)
        return is_image_name(path)
    parts = list(source) if isinstance(source, list | tuple) else []
    named = bool(parts) and all(isinstance(part, str | os.PathLike) for part in parts)
    return (
        named
        and all(is_image_name(part) or os.path.isdir(part) for part in parts)
        and any(map(names_images, parts))
    )


def find_images(source: Any) -> list[str]:
    """All files that a source names, in order; TB130 if there are none.

    >>> find_images("no/such folder")
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB130 there is no file or folder "no/such folder".
    """
    parts = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not parts:
        raise InputError("TB130", "the list of images is empty; name files or a folder.")
    found = [path for part in parts for path in _files(os.fspath(part))]
    if not found:
        named = ", ".join(f'"{os.fspath(part)}"' for part in parts[:3])
        raise InputError("TB130", f"there is no image in {named}. Name a folder with images.")
    return found


def inside(path: str, root: str, column: str) -> str:
    """A path of a table, from the folder that it is relative to; TB133 if it leads out of it.

    >>> inside("cats/a.jpg", "photos", "path") == os.path.join("photos", "cats/a.jpg")
    True
    """
    whole = os.path.join(root, path)
    if not Path(os.path.realpath(whole)).is_relative_to(os.path.realpath(root)):
        raise InputError(
            "TB133",
            f'column "{column}" names "{path}", which is outside the folder "{root}". A table can '
            "name images in its own folder only. If they are elsewhere and you trust the table, "
            f"name the folder that holds them: {option('image_root')}.",
        )
    return whole


def paths_from(values: Any, column: str, root: str | None) -> list[str]:
    """A column of paths, from the folder that they are relative to, if there is one; "" if missing.

    >>> import pandas as pd
    >>> paths_from(pd.Series(["a.jpg", None]), "path", None)
    ['a.jpg', '']
    """
    both = zip(values, values.isna(), strict=True)
    paths = ["" if missing else str(path) for path, missing in both]
    return paths if root is None else [path and inside(path, root, column) for path in paths]


def _files(path: str) -> Sequence[str]:
    if is_address(path):
        raise InputError("TB101", f'"{path}" is an address; images are read from a disk only.')
    if os.path.isdir(path):
        return sorted(_walk(path))
    if os.path.lexists(path):
        return [path]  # also when its name looks like a pattern
    found = sorted(glob(path, recursive=True)) if has_magic(path) else []
    if not found:
        what = "no file fits the pattern" if has_magic(path) else "there is no file or folder"
        raise InputError("TB130", f'{what} "{path}".')
    return [name for one in found for name in _files(one)]


def _walk(folder: str) -> Iterator[str]:
    """The files in a folder and below it, without hidden ones."""
    for here, folders, names in os.walk(folder, onerror=_cannot_search):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(here, name)
            if not name.startswith(".") and name not in OF_SYSTEMS and not os.path.isdir(path):
                yield path


def _cannot_search(error: OSError) -> None:
    raise InputError(
        "TB130", f'"{error.filename}" cannot be searched: {error.strerror}.'
    ) from error
