"""Our encoder of tables against skrub's: α, accuracy, time, size, and saving without pickle.

    pip install skrub lightgbm
    TOPBIN_DATA=folder OMP_NUM_THREADS=1 python bench/scripts/encoder.py

Every encoder reads the same frames of P and U; then the same (TED)ⁿ, with the plan of
`preset="fast"`, reads its matrix. P and U have the same size and α = .5. Only this file sees true
labels.
"""

import argparse
import json
import string
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from report import head, save, table

import topbin as tb
from topbin.data import fit_features
from topbin.learn import Plan
from topbin_bench.tasks.imdb import load
from topbin_bench.tasks.uci import IS_POSITIVE, read_frame

FAST = Plan(outer=3, inner=3, repeats=1)
ALPHA = 0.5
BROUGHT = ("requests", "urllib3", "certifi", "idna", "charset-normalizer", "pydot", "cloudpickle")
ROWS = 6000
COLUMNS = [
    "table",
    "encoder",
    "columns",
    "error of α̂",
    "accuracy, %",
    "encode, CPU s",
    "fit, CPU s",
]
Task = tuple[pd.DataFrame, np.ndarray]


def uci(name: str) -> Task:
    frame, label = read_frame(name)
    return frame, IS_POSITIVE[name](label).to_numpy()


def imdb() -> Task:
    pool, _ = load()
    rows = np.random.default_rng(0).permutation(pool.positive.size)[:8000]
    return pd.DataFrame({"text": pool.X[rows]}), pool.positive[rows]


def moments(rng: np.random.Generator) -> "pd.Series[pd.Timestamp]":
    return pd.Series(
        pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 3 * 365 * 1440, ROWS), "min")
    )


def noisy(positive: Any, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(positive) ^ (rng.random(ROWS) < 0.03)


def days() -> Task:
    """Positives come on weekends, and on weekdays of summer."""
    rng = np.random.default_rng(1)
    when = moments(rng)
    positive = (when.dt.day_of_week >= 5) | when.dt.month.isin([6, 7])
    return pd.DataFrame({"when": when, "x": rng.normal(size=ROWS)}), noisy(positive, rng)


def hours() -> Task:
    """Positives come in office hours."""
    rng = np.random.default_rng(2)
    when = moments(rng)
    positive = when.dt.hour.between(8, 17)
    return pd.DataFrame({"when": when, "x": rng.normal(size=ROWS)}), noisy(positive, rng)


def towns() -> Task:
    """300 names that mean nothing; each has a class, and x says a little."""
    rng = np.random.default_rng(13)
    names = ["".join(rng.choice(list(string.ascii_lowercase), 8)) for _ in range(300)]
    of_town = rng.random(300) < 0.5
    town = rng.integers(0, 300, ROWS)
    positive = noisy(of_town[town], rng)
    x = rng.normal(size=ROWS) + positive
    return pd.DataFrame({"town": np.array(names, object)[town], "x": x}), positive


def jobs() -> Task:
    """About 2,600 titles made of a few words; one of the words decides."""
    rng = np.random.default_rng(14)
    stems = np.array(["officer", "driver", "nurse", "teacher", "clerk", "guard", "cook", "judge"])
    where = np.array(["police", "school", "transit", "health", "fire", "parks", "court", "zoo"])
    stem, place = rng.integers(0, 8, ROWS), rng.integers(0, 8, ROWS)
    level = rng.integers(1, 41, ROWS).astype(str)
    positive = noisy(stem < 4, rng)
    title = [f"{w} {s} {k}" for w, s, k in zip(where[place], stems[stem], level, strict=True)]
    return pd.DataFrame({"title": title, "x": rng.normal(size=ROWS) + positive}), positive


def noise() -> Task:
    """1,500 names that have nothing to do with the class, which x alone shows."""
    rng = np.random.default_rng(19)
    positive = rng.random(ROWS) < 0.5
    names = np.array(["".join(rng.choice(list("abcdefghij"), 8)) for _ in range(1500)], object)
    x = rng.normal(size=ROWS) + 2 * positive
    return pd.DataFrame({"name": names[rng.integers(0, 1500, ROWS)], "x": x}), positive


def ours(frame: pd.DataFrame) -> Any:
    text = [name for name in frame if name == "text"]
    return fit_features(frame, text=text).encode(frame)


def positions(frame: pd.DataFrame) -> Any:
    """Ours without the hashes of letters."""
    features = fit_features(frame)
    return features.encode(frame)[:, [" hash " not in name for name in features.names]]


def skrub_default(frame: pd.DataFrame) -> Any:
    from skrub import StringEncoder, TableVectorizer

    vectorizer = TableVectorizer(high_cardinality=StringEncoder(random_state=0))
    return vectorizer.fit_transform(frame).to_numpy(np.float64)


def skrub_100(frame: pd.DataFrame) -> Any:
    from skrub import StringEncoder, TableVectorizer

    vectorizer = TableVectorizer(high_cardinality=StringEncoder(n_components=100, random_state=0))
    return vectorizer.fit_transform(frame).to_numpy(np.float64)


def skrub_weekday(frame: pd.DataFrame) -> Any:
    from skrub import DatetimeEncoder, TableVectorizer

    vectorizer = TableVectorizer(datetime=DatetimeEncoder(add_weekday=True))
    return vectorizer.fit_transform(frame).to_numpy(np.float64)


BOTH: dict[str, Callable[[pd.DataFrame], Any]] = {
    "topbin `Features`": ours,
    "skrub `TableVectorizer`": skrub_default,
}
WITH_100 = BOTH | {"skrub, `StringEncoder(100)`": skrub_100}
WITH_WEEKDAY = BOTH | {"skrub, `add_weekday=True`": skrub_weekday}
WITH_POSITIONS = BOTH | {"topbin, positions only": positions}
TASKS: dict[str, tuple[Callable[[], Task], dict[str, Callable[[pd.DataFrame], Any]]]] = {
    **{name: (lambda name=name: uci(name), BOTH) for name in IS_POSITIVE},
    "IMDb, 4,000 texts": (imdb, WITH_100),
    "dates: weekday and month": (days, WITH_WEEKDAY),
    "dates: hour": (hours, WITH_WEEKDAY),
    "300 categories": (towns, WITH_POSITIONS),
    "2,560 titles of words": (jobs, WITH_POSITIONS),
    "1,500 names, all noise": (noise, WITH_POSITIONS),
}


def deal(task: Task, split: int, most: int = 2000) -> tuple[pd.DataFrame, int, np.ndarray]:
    """P's rows and then U's, how many are P's, and the truth of U."""
    frame, positive = task
    rng = np.random.default_rng(split)
    P, N = (rng.permutation(np.flatnonzero(positive == side)) for side in (True, False))
    n = min(P.size // 2, N.size, most)
    k = round(ALPHA * n)
    rows = np.concatenate([P[:n], P[n : n + k], N[: n - k]])
    return frame.iloc[rows].reset_index(drop=True), n, np.arange(n) < k


def run(task: Task, encode: Callable[[pd.DataFrame], Any], split: int) -> list[float]:
    """Columns, error of α̂, accuracy on U in percent, CPU seconds to encode and to fit."""
    frame, n, truth = deal(task, split)
    start = process_time()
    X = encode(frame)
    encoded = process_time()
    model = tb.TEDnClassifier(plan=FAST, random_state=split).fit_pu(X[:n], X[n:])
    done = process_time()
    hits = np.mean((model.oof_proba_[n:] > 0.5) == truth)
    return [X.shape[1], abs(model.alpha_ - ALPHA), 100 * hits, encoded - start, done - encoded]


def lines(splits: int) -> Iterator[list[object]]:
    for name, (make, encoders) in TASKS.items():
        task = make()
        for encoder, encode in encoders.items():
            runs = np.array([run(task, encode, split) for split in range(splits)])
            wide, error, hits, encoding, fitting = runs.mean(axis=0)
            spread = f"{hits:.1f} ± {runs[:, 2].std():.1f}"
            yield [name, encoder, f"{wide:.0f}", f"{error:.3f}", spread, f"{encoding:.2f}",
                   f"{fitting:.1f}"]  # fmt: skip
            print(name, encoder, *runs.mean(axis=0).round(3), file=sys.stderr, flush=True)


def megabytes(package: str) -> float:
    files = metadata.files(package) or []
    return sum(path.locate().stat().st_size for path in files if path.locate().exists()) / 1e6


def import_seconds(module: str) -> float:
    code = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    found = [subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(3)]
    return min(map(float, found))


def saving() -> Iterator[list[object]]:
    """A fitted encoder of a table with every kind of column, saved without pickle."""
    import skops.io
    from skrub import TableVectorizer

    frame = pd.concat([days()[0], towns()[0].drop(columns="x"), jobs()[0].title], axis=1)
    stored = json.dumps(fit_features(frame).to_dict()).encode()
    yield ["topbin `Features`", "JSON of plain values", f"{len(stored) / 1e3:.0f}", "0"]
    fitted = TableVectorizer().fit(frame)
    try:
        content = skops.io.dumps(fitted)
        outside = skops.io.get_untrusted_types(data=content)
        again = skops.io.loads(content, trusted=outside).transform(frame)
        same = np.array_equal(again.to_numpy(), fitted.transform(frame).to_numpy())
        how = "skops; reads back " + ("the same" if same else "differently")
        size = f"{len(content) / 1e3:.0f}"
    except Exception as error:  # whatever a saver of others raises is the result
        how, size, outside = f"skops fails: {type(error).__name__}: {error}"[:160], "–", ["?"]
    yield ["skrub `TableVectorizer`", how, size, str(len(outside))]
    print(outside, file=sys.stderr)


NOTE = """
P and U have the same size, at most 2,000 rows each, and α = .5. Shown are means over {splits}
splits, and the standard deviation of the accuracy. (TED)ⁿ uses the default model (LightGBM for
dense matrices, logistic regression for sparse ones), 3 outer and 3 inner folds, one repeat and one
thread. Accuracy is that of out-of-fold probabilities on U. The last five tables are drawn by the
script. On the two of dates the class depends on the date, on "300 categories" and "titles" on the
string and weakly on a number, each with 3 % of the labels turned around; on "noise" on a number
only.

What was chosen after a look: a first run on the table of hours made us add the hour. The number of
hashes (16 of 16, 32, 64) and their length (3 to 4 letters, against 2 to 4) were chosen on earlier
draws of the three tables of strings; the draws below are new. skrub has its defaults, or the one
setting that is named.

"""
OUTCOME = """
skrub {version} is {size:.1f} MB and adds {others} ({other_size:.1f} MB); `import skrub` takes
{skrub_import:.1f} CPU s, `import topbin.data` with pandas {own_import:.1f}.

"""
DECISION = """
We keep ours. On the five tables the two are equal within the noise. On texts ours is 4 points more
accurate and five times faster to encode; the errors of α̂ do not differ clearly over three splits.
On dates skrub misses the weekday unless asked for it. On 300 strings without meaning skrub wins
by 7 points of accuracy; on titles made of words the two are close. Hashes have a
price where strings say nothing: the error of α̂ rises from .049 to .081 (skrub: .071). Ours needs no
further package and is stored as plain JSON; skrub can do without pickle too, but would add 25
types to those that a model folder may build.
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--splits", type=int, default=3)
    o = options.parse_args()
    body = table(COLUMNS, list(lines(o.splits)))
    there = [name for name in BROUGHT if _installed(name)]
    outcome = OUTCOME.format(
        version=metadata.version("skrub"), size=megabytes("skrub"), others=", ".join(there),
        other_size=sum(map(megabytes, there)), skrub_import=import_seconds("skrub"),
        own_import=import_seconds("topbin.data.features"),
    )  # fmt: skip
    stored = table(["encoder", "saved as", "kB", "types that skops does not trust"], list(saving()))
    title = head("Encoders of tables", "python bench/scripts/encoder.py")
    save(
        "encoder.md",
        title + NOTE.format(splits=o.splits).lstrip() + body + outcome + stored + DECISION,
    )


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
