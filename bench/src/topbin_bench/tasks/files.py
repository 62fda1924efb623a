"""Where data files come from: the folder in TOPBIN_DATA, or their official source; both checked.

SUMS are the SHA-256 of the files in a data folder. A file from its official source may have another
form, and then has its own checksum.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pooch

from topbin_bench.errors import BenchError

FOLDER = "TOPBIN_DATA"

SUMS = {
    "cifar10/data_batch_1.webp": "d846d50982a25180a49f9d20f20bbca998c827af138dc6b873707d023a0eb602",
    "cifar10/data_batch_2.webp": "6b96dbaa3760025205087be748688ce4278f9d51fe70e6661b4bdb01f883d8ab",
    "cifar10/data_batch_3.webp": "004affa91ee7fc21c699ad0f00e30dfa7bbf76e9001c5b04d116b497ad3cf686",
    "cifar10/data_batch_4.webp": "35798d3cab157fd73981f3bd2fe058dedca553e0a6e256bf4672d3e044e95c57",
    "cifar10/data_batch_5.webp": "e0b08abdd991607043ec6995536e67d071af599b5544783a6e14cba72003977b",
    "cifar10/labels.npz": "b7817019a95f42df948eef86e70b736fb1fe56fea4c40a011acb9ed0abd9ffa3",
    "cifar10/test_batch.webp": "ea003cfab5c5696f07d1b2b189a3cd0984e8625cbd45f9d3574a5563b9ad10c5",
    "concrete/concrete.csv.gz": "bc638a6300b8bab97aa41a2dfd120b3da7ec898d3804d2e938a7097ea7fdc80f",
    "gsec_pu/gsec_pu.csv.gz": "f7fa769841cb288b0209d1cc9865fd3c9db82b154a617b880064172c265a77dc",
    "imdb/imdb.jsonl.xz": "cc1fdb7dee2c87faccd1664b0608cbfab916c2dc24f1cdc90a24136580b4cf8e",
    "landsat/landsat.csv.gz": "328536ba295cf16d1ce6f4ce45e5fc2bc86ef8b73cab13660df2fe9cc0f9ce7f",
    "mnist/t10k-images-idx3-ubyte.gz": (
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
    ),
    "mnist/t10k-labels-idx1-ubyte.gz": (
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
    ),
    "mnist/train-images-idx3-ubyte.gz": (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
    ),
    "mnist/train-labels-idx1-ubyte.gz": (
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
    ),
    "mushroom/mushroom.csv.gz": "f4b2f164b644e69a50e50bcde8f5b8c9293a369df1a67eb1ee40dec21b1c5eef",
    "pageblock/pageblock.csv.gz": (
        "0e2dbe48d0c8b576959c8994d05975af8e07b537504e3ab26026e72cbc342621"
    ),
    "spambase/spambase.csv.gz": "7ac497801717d8d3b6c04291742448d8a5633fbd44f3b516565fa45b956c1a9e",
}


@dataclass(frozen=True, slots=True)
class Source:
    """An official address and the checksum of its file, as pooch writes checksums."""

    url: str
    sum: str


def data_file(name: str) -> Path | None:
    """The file in the data folder, its checksum verified; None without a folder or the file."""
    folder = os.environ.get(FOLDER)
    if not folder or not (path := Path(folder) / name).exists():
        return None
    _verify(path, SUMS[name])
    return path


def fetch(source: Source) -> Path:
    """The file of an official source, downloaded once, its checksum verified."""
    name = source.url.rpartition("/")[2]
    pooch.get_logger().setLevel("WARNING")
    with unreachable(source.url):
        found = pooch.retrieve(
            source.url, known_hash=source.sum, fname=name, path=pooch.os_cache("topbin")
        )
    return Path(found)


@contextmanager
def unreachable(url: str) -> Iterator[None]:
    """Turn any failure to reach an address into one sentence."""
    try:
        yield
    except (OSError, ValueError) as error:  # requests raises kinds of OSError
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise BenchError(
            f"cannot fetch {url}: {reason}. Set {FOLDER} to a folder that has the data, or try "
            "again with a connection."
        ) from error


def missing(name: str) -> BenchError:
    """The error for data that is not in the folder and cannot be fetched."""
    folder = os.environ.get(FOLDER)
    seen = f"{FOLDER} is {folder!r}, which has no {name}" if folder else f"{FOLDER} is not set"
    return BenchError(f"{seen}. Set it to a folder with {name}; docs/results.md says how.")


@cache
def _verify(path: Path, wanted: str) -> None:
    with path.open("rb") as file:
        seen = hashlib.file_digest(file, "sha256").hexdigest()
    if seen != wanted:
        raise BenchError(
            f'"{path}" has SHA-256 {seen[:12]}… but {wanted[:12]}… was expected. '
            "It is damaged or another edition; get it again."
        )
