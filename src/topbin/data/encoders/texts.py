"""Texts as vectors of a frozen encoder, from a folder on this machine that the user names.

The folder has the format of Hugging Face or sentence-transformers. Nothing is downloaded, no code
from the folder runs, and weights are read as safetensors only, which cannot hold code.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.data.encoders import BLOCK, Vectors, encoder_errors, vectors_of
from topbin.data.paths import file_stamp

BATCH = 32  # texts that the encoder reads at once
LONGEST = 256  # tokens, unless the folder says otherwise
CONFIG, WEIGHTS, POOLING = "config.json", "model.safetensors", "1_Pooling/config.json"
KNOWN_STEPS = "Transformer", "Pooling", "Normalize"


@dataclass(frozen=True)
class Encoder:
    """A frozen encoder in a folder; `digest` says which one it is."""

    folder: str

    def __post_init__(self) -> None:
        _check_folder(Path(self.folder))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the names and bytes of all files that the encoder consists of."""
        kinds, root = (".json", ".txt", ".model"), Path(self.folder)
        small = sorted(p for p in root.rglob("*") if p.suffix in kinds and p.is_file())
        return _digest(root, tuple((path, file_stamp(path)) for path in (*small, root / WEIGHTS)))

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One vector per text; those that were encoded before come from the disk."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]

        def encode(places: list[int]) -> Vectors:
            return _load(self.folder, self.digest).encode([texts[place] for place in places])

        with _bar(len(texts)) as tell:
            return vectors_of(self.digest, keys, encode, tell)


# A model of many gigabytes is read once, however many tables are encoded.
@lru_cache(maxsize=1)
def _digest(root: Path, files: tuple[tuple[Path, object], ...]) -> str:
    """Of files with their stamps; the last one has the weights."""
    whole = hashlib.sha256()
    *small, (weights, _) = files
    for path, _ in small:
        whole.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    with open(weights, "rb") as handle:
        whole.update(hashlib.file_digest(handle, "sha256").digest())
    return whole.hexdigest()


@lru_cache(maxsize=1)
def _load(folder: str, digest: str) -> "_Loaded":
    """The encoder of this folder, as long as its files are those of the digest."""
    return _Loaded(folder)


class _Loaded:
    """The encoder in memory."""

    def __init__(self, folder: str) -> None:
        self.torch = require("torch", extra="text", caller="--encoder")
        hub = require("transformers", extra="text", caller="--encoder")
        safe = {"local_files_only": True, "trust_remote_code": False}
        with encoder_errors(f'the encoder in "{folder}" cannot be loaded'):
            self.tokenizer = hub.AutoTokenizer.from_pretrained(folder, **safe)
            self.model = hub.AutoModel.from_pretrained(folder, use_safetensors=True, **safe).eval()
        root = Path(folder)
        self.pooling, self.normalized = _steps(root)
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
            vectors = hidden[:, 0]
        else:  # the mean over tokens; padding does not count
            vectors = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
        if self.normalized:
            vectors = self.torch.nn.functional.normalize(vectors, dim=1)
        return np.asarray(vectors.float().numpy(), np.float32)


def _steps(root: Path) -> tuple[dict[str, Any], bool]:
    """How the vectors of tokens become one, and whether it is scaled to length 1.

    modules.json says so; a folder without one has a pooling of its own, or takes the mean.
    """
    listed = _json(root / "modules.json")
    if listed is None:
        return _read(root / POOLING), any(p.name.endswith("_Normalize") for p in root.iterdir())
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise InputError("TB143", f'"{root / "modules.json"}" is not a list of steps.')
    steps = [str(one.get("type", "")).rpartition(".")[2] for one in listed]
    if strange := [step for step in steps if step not in KNOWN_STEPS]:
        raise InputError(
            "TB143",
            f'the encoder in "{root}" has a step {strange[0]!r}; {", ".join(KNOWN_STEPS)} are '
            "understood. Encode the texts yourself, and give the vectors with embeddings.",
        )
    return _read(root / POOLING), "Normalize" in steps


def _check_folder(folder: Path) -> None:
    """TB143 if this is no encoder that can be loaded safely."""
    if not (folder / CONFIG).is_file():
        seen = f"has no {CONFIG}" if folder.is_dir() else "is not a folder"
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


def _json(path: Path) -> Any:
    """What a file says; None if there is none."""
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("TB143", f'"{path}" cannot be read: {error}.') from error


def _read(path: Path) -> dict[str, Any]:
    content = _json(path)
    return content if isinstance(content, dict) else {}


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int, int], object]]:
    """A bar on a terminal, for texts that take more than a moment."""
    from rich.console import Console
    from rich.progress import Progress

    hidden = total <= BLOCK or not sys.stderr.isatty()
    progress = Progress(console=Console(stderr=True), disable=hidden, transient=True)
    with nullcontext() if hidden else progress:  # rich before 14.3 ends it with a line
        task = progress.add_task("reading texts", total=total)
        yield lambda done, total: progress.update(task, completed=done, total=total)
