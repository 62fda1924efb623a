"""Model folders: `save` and `load` without pickle.

    model.json      class, parameters, fitted values, versions
    arrays.npz      arrays (read with allow_pickle=False)
    boosters.json   LightGBM, XGBoost and CatBoost models: the trees, in their own text formats
    tensors.safetensors   weights of nets
    encoder.json    how a table becomes features, if the model was fitted from one
    SHA256SUMS      of all of these; `sha256sum -c` checks it too

Files are read only if SHA256SUMS names them and they are one of these; anything else that lies in
the folder is never opened. Links out of the folder, pipes and devices are refused.

The sums show damage, not forgery: whoever changes a file can write its sum again. Three things
protect against forgery. Only the types of `topbin.store.safe` are ever built. No value can
take the place of a method. Trees, boosters, sparse arrays and nearest neighbors are checked, so
that compiled code stays inside its arrays. What a model says is not verified: a forged model can
give any probability, so load models only from people whom you trust to be right.
"""

import functools
import json
import os
import platform
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

import topbin
from topbin.core.atomic import LIMIT, PathLike, new_folder, read_file
from topbin.core.errors import InputError, TopbinError
from topbin.core.formatting import line
from topbin.core.hashing import sha256_of
from topbin.core.optional import require
from topbin.store.safe import FACES, VALUES
from topbin.store.safe.packing import Attachments, is_own, name_of, pack, refused, unpack

FORMAT = 2
READ = (1, 2)
STORED = {**FACES, "Chain": VALUES["Chain"]}  # models, and the steps of one that is being fitted
SUMS = "SHA256SUMS"
DESCRIPTION_FILE, ARRAYS, BOOSTERS = "model.json", "arrays.npz", "boosters.json"
TENSORS, ENCODER = "tensors.safetensors", "encoder.json"
SKOPS = "parts.skops"  # scikit-learn models of format 1
OF_A_RUN = ("run.toml", "result.json")
FILES = (DESCRIPTION_FILE, ARRAYS, BOOSTERS, TENSORS, ENCODER, SKOPS)
PACKAGES = (
    "numpy", "scipy", "scikit-learn", "lightgbm", "xgboost", "xgboost-cpu", "catboost", "torch",
)  # fmt: skip


class Description(msgspec.Struct, frozen=True):
    """What model.json says; `model` is that of `topbin.store.safe.packing.pack`."""

    format: Any
    kind: Any = msgspec.field(name="class")
    versions: dict[str, str | None]
    topbin: Any = None
    model: Any = None


def save(model: Any, folder: PathLike, *, encoder: Any = None, force: bool = False) -> None:
    """Save a fitted classifier or `AlphaEstimator` as a folder, all of it or nothing.

    `encoder` is the `topbin.data.Features` that made the model's matrix. A model that holds a type
    outside the list of safe ones is refused by name (TB111).

    Parameters
    ----------
    model
        A fitted classifier or `AlphaEstimator` of topbin.
    folder
        Where to; it must not exist, unless `force`.
    encoder
        The `topbin.data.Features` that made the model's matrix, if any.
    force
        Replace a folder that is there.
    """
    if not is_own(model, STORED):
        raise _other_way(model) or refused(name_of(model))
    about = {"format": FORMAT, "topbin": topbin.__version__, "class": type(model).__name__}
    attached = Attachments()
    about |= {"versions": _versions(), "model": pack(model, attached)}
    contents = {DESCRIPTION_FILE: _json(about), **_attached_files(attached)}
    if encoder is not None:
        contents[ENCODER] = _json(encoder.to_dict())
    with new_folder(folder, force=force) as part:
        for name, content in contents.items():
            (part / name).write_bytes(content)
        sums = [f"{sha256_of(content)}  {name}\n" for name, content in contents.items()]
        (part / SUMS).write_text("".join(sums), encoding="ascii")


def _other_way(model: Any) -> InputError | None:
    """How else to store a result, or a pipeline that ends in one of our models; None: unknown."""
    if hasattr(model, "answer") and hasattr(model, "save"):
        return InputError("TB111", "a result of topbin.fit is saved as a run: result.save(folder).")
    last = model.steps[-1][1] if getattr(model, "steps", None) else None
    if not is_own(last, STORED):
        return None
    outer, name = type(model).__name__, type(last).__name__
    inside = f"{name}(make_pipeline(...)) with a classifier as its last step, and fit that."
    message = f"a {outer} that ends in {name} is not stored. Put the pipeline inside, {inside}"
    return InputError("TB111", message)


def load(folder: PathLike, *, net: Any = None, encoder: Any = None) -> Any:
    """Load a model folder; `net` is needed if it was trained with a net of your own.

    Of a run folder, a `Scorer` comes back: `load("run1").score(new)` does what `topbin score` does.
    `encoder` is the folder of the encoder that reads its texts, if it is elsewhere now; or the
    function that was the encoder.

    Damaged or changed files are TB110, types outside the list TB111 and nothing is built, formats
    of other versions TB112.

    Parameters
    ----------
    folder
        A model folder or a run folder.
    net
        A net of the same shape, if the model was trained with one of yours.
    encoder
        For a run folder: where the encoder of its texts is now, or the function that it was.

    Returns
    -------
    object
        The model; for a run folder, its `Scorer`.
    """
    path = Path(folder)
    if os.path.isfile(path):  # which is false, not an error, if the path cannot be looked at
        raise InputError("TB110", f'"{path}" is a file; name the folder of a run or of a model.')
    if any(os.path.exists(path / name) for name in OF_A_RUN):
        from topbin.store.scorer import read_scorer

        return read_scorer(path, net=net, encoder=encoder)
    return open_model(path).model(net)


def load_encoder(folder: PathLike) -> Any:
    """The `Features` saved with a model, or None if the model was fitted without one.

    Parameters
    ----------
    folder
        A model folder.

    Returns
    -------
    Features or None
        None if the model was fitted without one.
    """
    return open_model(folder).encoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAbout:
    """What a model folder says of itself: its class, the version that saved it, and its files.

    `versions` are those of packages, and `files` the size of each file in bytes.
    """

    kind: str
    topbin: str
    format: int
    versions: Mapping[str, str | None]
    files: Mapping[str, int]

    def lines(self) -> list[str]:
        """The same as text."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        files = ", ".join(f"{name} ({size:,} bytes)" for name, size in self.files.items())
        return [
            line("model", self.kind),
            line("saved by", f"topbin {self.topbin} (format {self.format}), {versions}"),
            line("files", files),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        about = asdict(self)
        return {"class": about.pop("kind"), **about}


def inspect_model(folder: PathLike) -> ModelAbout:
    """What a model folder says of itself, without building anything from it.

    Parameters
    ----------
    folder
        A model folder.

    Returns
    -------
    ModelAbout
        Class, version of topbin, format, versions of packages, and sizes of files; `lines()`,
        `to_dict()`.
    """
    opened = open_model(folder)
    about = opened.about
    return ModelAbout(
        kind=str(about.kind), topbin=about.topbin, format=about.format, versions=about.versions,
        files={name: len(content) for name, content in opened.contents.items()},
    )  # fmt: skip


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        text = json.dumps(value, allow_nan=False)  # half a letter, which only an escape can hold
    return f"{text}\n".encode()


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **versions_of(PACKAGES)}


@functools.cache  # a job saves each of its steps, and a look takes as long as a small step
def versions_of(packages: tuple[str, ...]) -> Mapping[str, str]:
    """The versions of those packages that are installed."""
    versions = {}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


def _attached_files(attached: Attachments) -> dict[str, bytes]:
    contents = {}
    if attached.arrays:
        buffer = BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **attached.arrays)
        contents[ARRAYS] = buffer.getvalue()
    if attached.boosters:
        contents[BOOSTERS] = _json(attached.boosters)
    if attached.tensors:
        safetensors = require("safetensors.torch", extra="torch", caller="save")
        contents[TENSORS] = safetensors.save(attached.tensors)
    return contents


@dataclass(frozen=True, slots=True, eq=False)
class OpenedModel:
    """A model folder whose files were read and checked; nothing is built yet."""

    folder: Path
    contents: Mapping[str, bytes]
    about: Description

    def model(self, net: Any = None) -> Any:
        """The model; `net` as in `load`."""
        contents = self.contents
        with reading(self.folder, self.about.versions):
            attached = Attachments(
                arrays=_arrays(contents[ARRAYS]) if ARRAYS in contents else {},
                boosters=json.loads(contents.get(BOOSTERS, b"[]")),
                tensors=_tensors(contents[TENSORS]) if TENSORS in contents else {},
                net=net,
            )
            model = unpack(self.about.model, attached)
            if not is_own(model, STORED):
                raise _damaged(self.folder / DESCRIPTION_FILE, "holds no model.")
            return model

    def encoder(self) -> Any:
        """The `Features` saved with the model, or None."""
        from topbin.data.features import Features

        if ENCODER not in self.contents:
            return None
        with reading(self.folder, self.about.versions):
            return Features.from_dict(json.loads(self.contents[ENCODER]))


def open_model(folder: PathLike) -> OpenedModel:
    """The checked files of a model folder, if this version can read such a model."""
    folder = Path(folder)
    contents = _verified(folder)
    try:
        about = msgspec.json.decode(contents[DESCRIPTION_FILE], type=Description)
    except (ValueError, RecursionError) as error:
        raise _damaged(folder / DESCRIPTION_FILE, f"is damaged: {error!r}.") from error
    if about.format not in READ or isinstance(about.format, bool):
        raise InputError(
            "TB112",
            f'"{folder}" was saved by topbin {about.topbin} in format {about.format}; this '
            f"is topbin {topbin.__version__}, which reads format {FORMAT}. Load it with the "
            "version that saved it, or fit again.",
        )
    if SKOPS in contents:
        raise InputError(
            "TB112",
            f'"{folder}" keeps scikit-learn models in {SKOPS}, as the first format did. They are '
            "no longer read because a forged one could corrupt memory. Fit again.",
        )
    if str(about.kind) not in STORED:
        raise refused(repr(about.kind))
    return OpenedModel(folder, contents, about)


def _verified(folder: Path) -> dict[str, bytes]:
    """The files that SHA256SUMS names, if each is one of ours and is as it was written."""
    contents = {}
    for entry in _read(folder, SUMS).decode("ascii", errors="replace").splitlines():
        digest, _, name = entry.partition("  ")
        if name not in FILES:
            said = f"names a file that does not belong to a model: {entry!r}."
            raise _damaged(folder / SUMS, said)
        contents[name] = _read(folder, name)
        if sha256_of(contents[name]) != digest:
            raise _damaged(
                folder / name,
                "is not as it was saved: it was cut short or changed. "
                "Copy the folder again, or save the model again.",
            )
    if DESCRIPTION_FILE not in contents:
        raise _damaged(folder, f"is not a model folder: {SUMS} names no {DESCRIPTION_FILE}.")
    return contents


def _read(folder: Path, name: str) -> bytes:
    try:
        return read_file(folder / name)
    except FileNotFoundError:
        if os.path.exists(folder):
            raise _damaged(folder, f"is not a model folder: it has no {name}.") from None
        message = f'"{folder}" is not a model folder: there is no folder.'
        raise InputError("TB101", message) from None
    except OSError as error:
        raise _damaged(folder / name, f"cannot be read: {error.strerror}.") from error


def _damaged(path: PathLike, what: str) -> InputError:
    return InputError("TB110", f'"{os.fspath(path)}" {what}')


@contextmanager
def reading(folder: PathLike, versions: Mapping[str, str | None] | None = None) -> Iterator[None]:
    """One sentence for whatever goes wrong with stored values, with versions that may be the cause.

    Decoders of foreign files raise errors of many kinds; all of them mean the same here.
    """
    try:
        yield
    except TopbinError:
        raise
    except Exception as error:
        now, why = _versions(), f"cannot be loaded: {type(error).__name__}: {error}."
        saved = (versions or {}).items()
        other = [f"{k} {v} (here {now.get(k, 'none')})" for k, v in saved if now.get(k) != v]
        if other:
            why += f" It was saved with {', '.join(other)}, which may be why."
        raise _damaged(folder, why) from error


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file, each as long as it says, and all of them of a size."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        if sum(info.file_size for info in archive.infolist()) > LIMIT:
            raise InputError("TB110", f"{ARRAYS} unpacks to more than {LIMIT:,} bytes.")
        files = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    read = np.lib.format.read_array
    return {name: read(BytesIO(file), allow_pickle=False) for name, file in files.items()}


def _tensors(content: bytes) -> Any:
    require("torch", extra="torch", caller="load")
    return require("safetensors.torch", extra="torch", caller="load").load(content)
