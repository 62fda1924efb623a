"""Texts as vectors of a frozen encoder, from a folder on this machine that the user names.

The folder has the format of Hugging Face or sentence-transformers. Nothing is downloaded, no code
from the folder runs, and weights are read as safetensors only, which cannot hold code. Vectors are
made once: they are kept by block, so that a killed run continues, and then as one file
of NumPy that stays on the disk. A different encoder or other texts make another file.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.atomic import new_file, remove, write_errors
from topbin.core.errors import InputError
from topbin.core.optional import require

BLOCK = 256  # texts, encoded and kept at a time
BATCH = 32  # texts that the encoder reads at once
LONGEST = 256  # tokens, unless the folder says otherwise
CONFIG, WEIGHTS, POOLING = "config.json", "model.safetensors", "1_Pooling/config.json"
CACHE = "TOPBIN_CACHE"  # names the folder of vectors
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Encoder:
    """A frozen encoder in a folder; `digest` says which one it is."""

    folder: str

    def __post_init__(self) -> None:
        _check_folder(Path(self.folder))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the names and bytes of all files that the encoder consists of."""
        whole = hashlib.sha256()
        root = Path(self.folder)
        for path in sorted(p for p in root.rglob("*") if p.suffix in (".json", ".txt", ".model")):
            whole.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
        with open(root / WEIGHTS, "rb") as weights:
            whole.update(hashlib.file_digest(weights, "sha256").digest())
        return whole.hexdigest()

    def vectors(self, texts: Sequence[str]) -> Any:
        """One vector per text, from the disk if these texts were encoded before."""
        told = hashlib.sha256(self.digest.encode())
        for text in texts:
            told.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
        folder = cache_folder() / told.hexdigest()[:32]
        whole = folder.with_suffix(".npy")
        if not whole.exists():
            with write_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
                _keep(whole, np.concatenate(list(self._blocks(texts, folder))))
                remove(folder)
        return np.load(whole, mmap_mode="r", allow_pickle=False)

    def _blocks(self, texts: Sequence[str], folder: Path) -> Iterator[Vectors]:
        """The vectors of each block; those that are on the disk are not made again."""
        model = None
        with _bar(len(texts)) as told:
            for start in range(0, len(texts), BLOCK):
                path = folder / f"{start:09d}.npy"
                here = texts[start : start + BLOCK]
                if not path.exists():
                    model = model or _Loaded(self.folder)
                    _keep(path, model.encode(here))
                told(len(here))
                yield np.load(path, allow_pickle=False)


class _Loaded:
    """The encoder in memory."""

    def __init__(self, folder: str) -> None:
        self.torch = require("torch", extra="text", caller="--encoder")
        hub = require("transformers", extra="text", caller="--encoder")
        safe = {"local_files_only": True, "trust_remote_code": False}
        try:
            self.tokenizer = hub.AutoTokenizer.from_pretrained(folder, **safe)
            self.model = hub.AutoModel.from_pretrained(folder, use_safetensors=True, **safe).eval()
        except (OSError, ValueError, KeyError) as error:
            words = str(error).partition("\n")[0]
            raise InputError(
                "TB143", f'the encoder in "{folder}" cannot be loaded: {words}'
            ) from error
        root = Path(folder)
        self.pooling = _read(root / POOLING)
        self.normalized = any(p.name.endswith("_Normalize") for p in root.iterdir())
        asked = _read(root / "sentence_bert_config.json").get("max_seq_length") or LONGEST
        self.longest = int(min(asked, self.tokenizer.model_max_length))

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One vector per text."""
        parts = [self._batch(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)]
        return np.concatenate(parts)

    def _batch(self, texts: Sequence[str]) -> Vectors:
        tokens = self.tokenizer(
            list(texts), truncation=True, max_length=self.longest, padding=True, return_tensors="pt"
        )
        with self.torch.inference_mode():
            hidden = self.model(**tokens).last_hidden_state
        mask = tokens["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        if self.pooling.get("pooling_mode_cls_token"):
            found = hidden[:, 0]
        else:  # the mean over tokens; padding does not count
            found = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
        if self.normalized:
            found = self.torch.nn.functional.normalize(found, dim=1)
        return np.asarray(found.float().numpy(), np.float32)


def cache_folder() -> Path:
    """Where vectors are kept: what TOPBIN_CACHE names, or the user's cache."""
    usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(CACHE) or Path(usual) / "topbin") / "vectors"


def _check_folder(folder: Path) -> None:
    """TB143 if this is no encoder that can be loaded safely."""
    if not folder.is_dir() or not (folder / CONFIG).is_file():
        seen = "is not a folder" if not folder.is_dir() else f"has no {CONFIG}"
        raise InputError(
            "TB143",
            f'"{folder}" {seen}; name the folder of an encoder in the format of Hugging Face or '
            f"sentence-transformers, with {CONFIG}, {WEIGHTS} and a tokenizer.",
        )
    if "auto_map" in _read(folder / CONFIG):
        raise InputError(
            "TB143", f'the encoder in "{folder}" wants to run code of its own, which is refused.'
        )
    if not (folder / WEIGHTS).is_file():
        raise InputError(
            "TB143",
            f'"{folder}" has no {WEIGHTS}. Other weights can hold code and are not loaded; save '
            "the encoder again with safetensors: model.save_pretrained(folder).",
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError("TB143", f'"{path}" cannot be read: {error}.') from error
    return found if isinstance(found, dict) else {}


def _keep(path: Path, array: Any) -> None:
    """Write an array whole or not at all."""
    with new_file(path, force=True) as half, open(half, "wb") as handle:
        np.save(handle, array, allow_pickle=False)


class _bar:
    """A bar on a terminal, for texts that take more than a moment."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import Progress

        hidden = total <= BLOCK or not sys.stderr.isatty()
        self.progress = Progress(console=Console(stderr=True), disable=hidden, transient=True)
        self.task = self.progress.add_task("reading texts", total=total)

    def __enter__(self) -> Any:
        self.progress.start()
        return lambda rows: self.progress.advance(self.task, rows)

    def __exit__(self, *_: object) -> None:
        self.progress.stop()
