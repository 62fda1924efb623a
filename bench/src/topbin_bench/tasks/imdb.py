"""IMDb reviews, positive against negative (Maas et al. 2011), as TF-IDF.

The 123 texts that are in both official parts are dropped from the second part, which gives the
hold-out and the test set. Models that cannot read sparse rows read their leading directions.
"""

import json
import lzma
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from topbin_bench.tasks.files import Source, data_file, fetch
from topbin_bench.tasks.split import Pool, Sizes, Split, Truth, draw, fitting, mapped
from topbin_bench.tasks.task import Task

FILE = "imdb/imdb.jsonl.xz"
SOURCE = Source(
    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    "md5:7c2ac02c03563afcf9b574c7e56c153a",
)
SIZES = Sizes(6_250, 5_000)
WORDS = 20_000


@cache
def load() -> tuple[Pool, Pool]:
    """Training and test texts; no text is in both."""
    path = data_file(FILE)
    rows = read_lines(path) if path else unpack(fetch(SOURCE))
    train = [row for row in rows if row["split"] == "train"]
    known = {row["text"] for row in train}
    test = [row for row in rows if row["split"] == "test" and row["text"] not in known]
    return _pool(train), _pool(test)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """One JSON object per line."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def unpack(archive: Path) -> list[dict[str, Any]]:
    """The official form: one file per review, in a folder named after its part and class."""
    rows = []
    with tarfile.open(archive) as tar:
        for member in tar:
            _, split, label, *_ = [*member.name.split("/"), "", ""]
            if member.isfile() and label in ("pos", "neg") and split in ("train", "test"):
                text = tar.extractfile(member).read().decode("utf-8")  # type: ignore[union-attr]
                rows.append({"split": split, "label": int(label == "pos"), "text": text})
    return rows


def _pool(rows: list[dict[str, Any]]) -> Pool:
    texts = np.array([row["text"] for row in rows], dtype=object)
    return Pool(texts, np.array([row["label"] == 1 for row in rows]))


def make(alpha: float, rng: np.random.Generator) -> tuple[Split, Truth]:
    """Training rows from the first official part; hold-out and test set from the second."""
    train, test = load()
    sizes = Sizes(
        fitting(Sizes(SIZES.train, 0), alpha, train).train,
        fitting(Sizes(0, SIZES.holdout), alpha, test).holdout,
    )
    return embed(*draw(train, sizes, alpha, rng, test=test, hold_out_of_test=True))


def embed(split: Split, truth: Truth) -> tuple[Split, Truth]:
    """Texts as sparse TF-IDF rows, with the words and weights of the training rows."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    tfidf = TfidfVectorizer(sublinear_tf=True, min_df=2, max_features=WORDS, dtype=np.float32)
    tfidf.fit(np.concatenate([split.X_p, split.X_u]))
    return mapped(split, truth, tfidf.transform)


IMDB = (Task("imdb", "imdb", "text", "IMDb: positive reviews, TF-IDF", make),)
