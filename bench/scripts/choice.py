"""Is the model that a fit chooses for text or vectors the better one? On data with true labels.

    TOPBIN_DATA=folder python bench/scripts/choice.py

Both models learn known positives against unlabeled rows. How good each is, is its AUC on new rows
by their true labels; the standard error is that of the difference, over bootstrap samples of these
rows. The rule of choice sees none of the true labels. LightGBM is hidden, as in a plain install.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from report import head, one_thread, save, table
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import roc_auc_score
from text import draw, reviews

import topbin as tb
from topbin.data import Batch, fit_features
from topbin.learn import text_models
from topbin_bench.tasks import cifar, mnist, uci

SPLITS, TESTED, SAMPLES = 3, 1_000, 200
MOST = 300  # known positives; fewer of small data sets, so that a third of the positives is new
COLUMNS = ["data", "split", "chosen", "better", "AUC, linear", "AUC, trees", "standard error",
           "right"]  # fmt: skip
NOTE = """{sets} data sets, at most {splits} draws each, α = .5, {p} known positives and {u}
unlabeled rows (fewer where a data set has fewer). The chosen model is the better one in
{best} of {runs} cases, and the better one or within one standard error of it in
**{right} of {runs}** ({share:.1f} %; the target is 95 %). In {clear} cases one model is better by
more than a standard error; the rule is right in {found} of these. The largest loss of AUC is
{loss:.3f}.

"""
Rowset = tuple[Any, Any]  # rows and whether they are positive


def pixels(images: Any) -> Any:
    return images.reshape(len(images), -1).astype(np.float32) / 255


def of_uci(name: str) -> Rowset:
    pool = uci.load(name)
    return np.asarray(pool.X, np.float64), np.asarray(pool.positive)


def of_digits(positive: Callable[[Any], Any]) -> Rowset:
    X, y = load_digits(return_X_y=True)
    return X, positive(y)


def of_images(load: Any, part: str, positive: tuple[int, ...], negative: tuple[int, ...]) -> Rowset:
    X, y = load(part)
    some = np.flatnonzero(np.isin(y, positive + negative))
    return pixels(np.asarray(X)[some]), np.isin(y[some], positive)


def of_cancer() -> Rowset:
    X, y = load_breast_cancer(return_X_y=True)
    return X, y == 1


def ring(seed: int = 0) -> Rowset:
    """Positives near the middle, which no linear model finds."""
    X = np.random.default_rng(seed).normal(size=(4_000, 8))
    return X, (X[:, :3] ** 2).sum(axis=1) < 2.37


def of_words() -> Rowset:
    return reviews()


def first_words() -> Rowset:
    """The first twenty words of each review."""
    texts, is_good = reviews()
    return np.array([" ".join(str(text).split()[:20]) for text in texts], object), is_good


DATA: Mapping[str, Callable[[], Rowset]] = {
    "spambase": lambda: of_uci("spambase"),
    "landsat": lambda: of_uci("landsat"),
    "pageblock": lambda: of_uci("pageblock"),
    "mushroom": lambda: of_uci("mushroom"),
    "digits, even": lambda: of_digits(lambda y: y % 2 == 0),
    "digits, 0 to 4": lambda: of_digits(lambda y: y < 5),
    "breast cancer": of_cancer,
    "MNIST, 3 or 8": lambda: of_images(mnist.load, "t10k", (3,), (8,)),
    "MNIST, even": lambda: of_images(mnist.load, "t10k", (0, 2, 4, 6, 8), (1, 3, 5, 7, 9)),
    "CIFAR pixels, cat–dog": lambda: of_images(cifar.load, "test", (3,), (5,)),
    "CIFAR pixels, animals": lambda: of_images(
        cifar.load, "test", (2, 3, 4, 5, 6, 7), (0, 1, 8, 9)
    ),
    "ring": ring,
    "IMDb, words": of_words,
    "IMDb, first 20 words": first_words,
}  # fmt: skip


def frame_of(X: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": list(X)})


def case(name: str, rows: Rowset, seed: int) -> list[str]:
    """One draw: which model is chosen, and how good both are on new rows."""
    X, is_p = rows
    n_p = min(MOST, is_p.sum() // 3, (~is_p).sum() // 2)
    n_u = 2 * n_p
    known, unlabeled, others = draw(is_p, (n_p, n_u), 0.5, seed)
    some = np.concatenate([known, unlabeled])
    frame = frame_of(X[some]).assign(known=np.arange(some.size) < n_p)
    notes = " ".join(tb.fit(frame, "known", budget="fast", seed=seed).estimate.notes)
    chosen = notes.partition("model chosen: ")[2].partition(" ")[0]
    new = others[:TESTED]
    features = fit_features(Batch.from_frame(frame[["x"]]))
    X_old, X_new = (features.encode(each) for each in (frame[["x"]], frame_of(X[new])))
    y, truth, models = frame["known"].to_numpy(int), is_p[new], text_models(X_old)
    scores = {k: model.fit(X_old, y).predict_proba(X_new)[:, 1] for k, model in models.items()}
    auc = {k: roc_auc_score(truth, each) for k, each in scores.items()}
    rng, off = np.random.default_rng(seed), []
    for _ in range(SAMPLES):
        i = rng.integers(new.size, size=new.size)
        two = [roc_auc_score(truth[i], each[i]) for each in scores.values()]
        off.append(two[0] - two[1])
    error, best = float(np.std(off)), max(auc, key=auc.__getitem__)
    right = auc[chosen] >= auc[best] - error
    return [name, str(seed), chosen, best, *(f"{one:.3f}" for one in auc.values()),
            f"{error:.3f}", "yes" if right else "no"]  # fmt: skip


def main() -> None:
    one_thread()
    sys.modules["lightgbm"] = None  # type: ignore[assignment]  # looked for when a model is made
    lines: list[list[str]] = []
    for name, load in DATA.items():
        rows = load()
        for seed in range(SPLITS):
            lines.append(case(name, rows, seed))
            print(lines[-1], flush=True)
    write_page(lines)


def write_page(lines: list[list[str]]) -> None:
    """The page of all cases."""
    gaps = [abs(float(line[4]) - float(line[5])) for line in lines]
    clear = [line for line, gap in zip(lines, gaps, strict=True) if gap > float(line[6])]
    wrong = [gap for line, gap in zip(lines, gaps, strict=True) if line[2] != line[3]]
    right = sum(line[7] == "yes" for line in lines)
    note = NOTE.format(
        sets=len({line[0] for line in lines}), splits=SPLITS, p=MOST, u=2 * MOST,
        best=len(lines) - len(wrong), runs=len(lines), right=right, share=100 * right / len(lines),
        clear=len(clear), found=sum(line[7] == "yes" for line in clear),
        loss=max(wrong, default=0.0),
    )  # fmt: skip
    save("choice.md", head("The chosen model", "python bench/scripts/choice.py") + note
         + table(COLUMNS, lines))  # fmt: skip


if __name__ == "__main__":
    main()
