"""The classifiers over table models on five UCI tables: α, accuracy and probabilities.

    TOPBIN_DATA=folder python bench/scripts/tedn_uci_sklearn.py --splits 10

P and U have keep/2 rows each, keep = min(|P|, |N|); the rest is for the test. Each run is a row of
results/tedn_uci_sklearn.csv; runs that are there are not repeated. Only this file sees true labels.
There are two samples: U itself, scored by models that never saw the row (`oof_proba_`), and new
rows (`predict_proba`), weighted so that a share α of them is positive.
"""

import argparse
import csv
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from time import process_time
from unittest.mock import patch

import numpy as np
import pandas as pd
from report import RESULTS, head, save, table
from sklearn.ensemble import ExtraTreesClassifier

import topbin as tb
from topbin.learn import Plan
from topbin_bench.tasks.uci import IS_POSITIVE, read_frame

RUNS = RESULTS / "tedn_uci_sklearn.csv"
ALPHAS = (0.5, 0.1, 0.9)
METHODS: dict[str, tuple[str, Callable[[float], object]]] = {
    "tedn": ("(TED)ⁿ, default", lambda _: tb.TEDnClassifier()),
    "tedn-cvir": ('(TED)ⁿ, refit="cvir"', lambda _: tb.TEDnClassifier(refit="cvir")),
    "tedn-cp": ('(TED)ⁿ, method="bbe_cp"', lambda _: tb.TEDnClassifier(method="bbe_cp")),
    "tedn-hgb": (
        "(TED)ⁿ, default of a plain install (no LightGBM)",
        lambda _: tb.TEDnClassifier(),
    ),
    "tedn-trees": (
        "(TED)ⁿ, ExtraTrees",
        lambda _: tb.TEDnClassifier(ExtraTreesClassifier(50, min_samples_leaf=2)),
    ),
    "tedn-once": ("(TED)ⁿ, one repeat", lambda _: tb.TEDnClassifier(plan=Plan(repeats=1))),
    "pvu": ("PvU", lambda _: tb.PvUClassifier()),
    "cvir": ("CVIR, α known", lambda alpha: tb.CVIRClassifier(alpha=alpha)),
    "en": ("Elkan-Noto", lambda _: tb.ElkanNotoClassifier()),
    "en-w": ("Elkan-Noto, weighted", lambda _: tb.ElkanNotoClassifier(weighted=True)),
    "dedpul": ("DEDPUL", lambda _: tb.DEDPULClassifier()),
}


@dataclass(frozen=True)
class Run:
    dataset: str
    method: str
    alpha: float
    split: int
    rows: int
    estimate: float
    accuracy: float
    brier: float
    ece: float
    accuracy_new: float
    brier_new: float
    ece_new: float
    cpu_seconds: float


def deal(name: str, alpha: float, split: int) -> tuple[pd.DataFrame, ...]:
    """P, U, the truth of U, rows to test on and their truth."""
    frame, label = read_frame(name)
    positive = IS_POSITIVE[name](label).to_numpy()
    rng = np.random.default_rng([split, *name.encode()])
    P, N = (rng.permutation(np.flatnonzero(positive == side)) for side in (True, False))
    n = min(P.size, N.size) // 2
    k = round(alpha * n)
    u, test = np.concatenate([P[n : n + k], N[: n - k]]), np.concatenate([P[n + k :], N[n - k :]])
    if name == "mushroom":
        code_texts(frame)
    return frame.iloc[P[:n]], frame.iloc[u], positive[u], frame.iloc[test], positive[test]


def code_texts(frame: pd.DataFrame) -> None:
    """For models of scikit-learn, which do not read text; ours encode columns the same way."""
    for column in frame:
        frame[column] = pd.factorize(frame[column], sort=True)[0].astype(float)


def run(name: str, method: str, alpha: float, split: int) -> Run:
    X_p, X_u, y_u, X_new, y_new = deal(name, alpha, split)
    clf = METHODS[method][1](alpha)
    hidden = {"lightgbm": None} if method == "tedn-hgb" else {}  # as if it were not installed
    began = process_time()
    with patch.dict("sys.modules", hidden):
        clf.set_params(random_state=split).fit_pu(X_p, X_u)
    seconds = process_time() - began
    share = y_new.mean()
    weight = np.where(y_new, alpha / share, (1 - alpha) / (1 - share))
    return Run(
        name, method, alpha, split, len(X_p) + len(X_u), clf.alpha_,
        *judge(clf.oof_proba_[len(X_p) :], y_u, np.ones(y_u.size)),
        *judge(clf.predict_proba(X_new)[:, 1], y_new, weight),
        seconds,
    )  # fmt: skip


def judge(p: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float, float]:
    """Accuracy at ½, Brier score, and expected calibration error over ten bins."""
    weight = weight / weight.sum()
    bins = np.minimum((10 * p).astype(int), 9)
    ece = sum(abs((weight * (p - y))[bins == b].sum()) for b in range(10))
    return float(weight @ ((p > 0.5) == y)), float(weight @ (p - y) ** 2), float(ece)


def missing(methods: list[str], splits: int) -> Iterator[tuple[str, str, float, int]]:
    there = set()
    if RUNS.exists():
        frame = pd.read_csv(RUNS)
        there = set(zip(frame.dataset, frame.method, frame.alpha, frame.split, strict=True))
    for method in methods:
        for split in range(splits):
            for alpha in ALPHAS:
                for name in IS_POSITIVE:
                    if (name, method, alpha, split) not in there:
                        yield name, method, alpha, split


def append(result: Run) -> None:
    fresh = not RUNS.exists()
    with open(RUNS, "a", newline="") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Run)])
        if fresh:
            writer.writeheader()
        writer.writerow(
            {k: round(v, 5) if isinstance(v, float) else v for k, v in asdict(result).items()}
        )


def spread(values: pd.Series) -> str:
    """Mean ± standard error over splits, tables averaged within each split."""
    if values.empty:
        return "–"
    return f"{values.mean():.3f}" + (f" ± {values.sem():.3f}" if len(values) > 1 else "")


def targets(frame: pd.DataFrame) -> str:
    """The targets for the default, beside what was measured."""
    mine = frame[frame.method == "tedn"]
    error = (mine.estimate - mine.true_alpha).abs().groupby(mine.alpha).mean()
    right = mine[mine.alpha == 0.5].accuracy.mean()
    seconds = mine[mine["rows"] <= 2000].cpu_seconds.max()
    rows = [
        ["mean error of α̂ at α = 0.5", "≤ 0.03", f"{error[0.5]:.3f}"],
        ["at α = 0.1, 0.9", "≤ 0.04", f"{error[0.1]:.3f}, {error[0.9]:.3f}"],
        ["accuracy on U at α = 0.5", "≥ 0.91", f"{right:.3f}"],
        ["CPU s of the slowest fit up to 2,000 rows", "≤ 15", f"{seconds:.1f}"],
    ]
    return table(["(TED)ⁿ, default", "target", "measured"], rows)


def error_table(frame: pd.DataFrame) -> str:
    frame = frame.assign(error=(frame.estimate - frame.true_alpha).abs())
    rows = []
    for method, (title, _) in METHODS.items():
        mine = frame[frame.method == method]
        if mine.empty:
            continue
        cells = []
        for alpha in sorted(ALPHAS):
            part = mine[mine.alpha == alpha]
            bias = (part.estimate - part.true_alpha).mean()
            shown = spread(part.groupby("split").error.mean())
            cells.append(f"{shown} ({bias:+.3f})" if len(part) else shown)
        rows.append([title, mine.split.nunique(), *cells, f"{mine.cpu_seconds.mean():.1f}"])
    names = [f"α = {alpha}" for alpha in sorted(ALPHAS)]
    return table(["", "splits", *names, "CPU s per fit"], rows)


def per_table(frame: pd.DataFrame) -> str:
    mine = frame[frame.method == "tedn"].assign(error=lambda f: (f.estimate - f.true_alpha).abs())
    rows = []
    for name in IS_POSITIVE:
        part = mine[mine.dataset == name]
        cells = [spread(part[part.alpha == alpha].error) for alpha in sorted(ALPHAS)]
        half = part[part.alpha == 0.5]
        rows.append(
            [
                name,
                part["rows"].iloc[0],
                *cells,
                spread(half.accuracy),
                f"{part.cpu_seconds.mean():.1f}",
            ]
        )
    names = [f"α = {alpha}" for alpha in sorted(ALPHAS)]
    return table(["", "rows", *names, "accuracy on U, α = 0.5", "CPU s per fit"], rows)


def quality_table(frame: pd.DataFrame, columns: tuple[str, str, str]) -> str:
    rows = []
    for method, (title, _) in METHODS.items():
        mine = frame[frame.method == method]
        if not mine.empty:
            means = (mine[mine.alpha == a][list(columns)].mean() for a in sorted(ALPHAS))
            shown = (" · ".join(f"{value:.3f}" for value in m) for m in means)
            rows.append([title, *(cell.replace("nan · nan · nan", "–") for cell in shown)])
    return table(["", *(f"α = {alpha}" for alpha in sorted(ALPHAS))], rows)


def report(frame: pd.DataFrame) -> str:
    sides = frame["rows"] // 2
    frame = frame.assign(true_alpha=(frame.alpha * sides).round() / sides)
    command = "TOPBIN_DATA=folder python bench/scripts/tedn_uci_sklearn.py"
    parts = [
        head("The classifiers over table models, five UCI tables", command),
        "One row per run: tedn_uci_sklearn.csv. LightGBM, 60 trees of 15 leaves, unless stated "
        "otherwise.\n\n",
        targets(frame),
        "\n## |α̂ − α|: mean over the five tables ± standard error over splits (bias)\n\n",
        error_table(frame),
        "\n## (TED)ⁿ, default, by table\n\n",
        per_table(frame),
        "\n## On U, rows out of fold: accuracy at ½ · Brier score · calibration error\n\n",
        quality_table(frame, ("accuracy", "brier", "ece")),
        "\n## On new rows with the same α: accuracy at ½ · Brier score · calibration error\n\n",
        quality_table(frame, ("accuracy_new", "brier_new", "ece_new")),
    ]
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    asked = parser.parse_args()
    for name, method, alpha, split in missing(asked.methods, asked.splits):
        append(run(name, method, alpha, split))
    save("tedn_uci_sklearn.md", report(pd.read_csv(RUNS)))


if __name__ == "__main__":
    main()
