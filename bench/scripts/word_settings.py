"""How words are weighed by the linear model: C, and how far a penalty follows the log odds.

    TOPBIN_DATA=folder python bench/scripts/word_settings.py     # word_settings.md, ten minutes

Not whole fits: logistic regression of known against unlabeled reviews, and again without the
unlabeled reviews that scored highest out of fold, as many as are positive. The splits are not those
that imdb_words.py and text.py report.
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from report import head, one_thread, save, table
from scipy.stats import rankdata
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from text import draw, reviews

from topbin.learn import column_scale

SETTINGS = [(0.0, 2.0), (0.0, 1.0), (0.2, 1.0), (0.3, 0.5), (0.3, 1.0), (0.3, 2.0), (0.5, 0.5),
            (0.5, 1.0), (0.7, 1.0)]  # fmt: skip
SEEDS, TESTED = (100, 101), 4_000
NOTE = """A share `mix` of the scale of each column follows how much more often the word is in
known than in unlabeled reviews, or the other way round; 0 is plain logistic regression, which
was the model until this was measured, with C = 2. AUC and accuracy are of new reviews, by the
mean of the ranks of both rounds; the accuracy is that at the true share. Means over splits 100
and 101. Chosen: mix = 0.3, C = 1.

"""


class Case(NamedTuple):
    """Known and unlabeled reviews, of which a share α is positive."""

    name: str
    rows: tuple[int, int]
    alpha: float
    words: int | None = None  # of each review; None: all


CASES = (
    Case("1,500 + 3,000", (1_500, 3_000), 0.5),
    Case("200 + 400", (200, 400), 0.5),
    Case("300 + 3,000, α = .1", (300, 3_000), 0.1),
    Case("1,500 + 3,000, first 20 words", (1_500, 3_000), 0.5, 20),
)


class Scaled:
    """The model of topbin, with another mix."""

    def __init__(self, mix: float, c: float) -> None:
        self.mix, self.model = mix, LogisticRegression(C=c, max_iter=1000, class_weight="balanced")

    def fit(self, X: Any, y: Any) -> "Scaled":
        self.scale = column_scale(X, y, mix=self.mix)
        self.model.fit(X.multiply(self.scale).tocsr(), y)
        return self

    def scores(self, X: Any) -> Any:
        return self.model.decision_function(X.multiply(self.scale).tocsr())


def two_rounds(X: Any, y: Any, new: Any, alpha: float, setting: tuple[float, float]) -> Any:
    """Mean ranks of new reviews."""
    out = np.zeros(y.size)
    for train, rest in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        out[rest] = Scaled(*setting).fit(X[train], y[train]).scores(X[rest])
    kept = y | (out <= np.quantile(out[~y], 1 - alpha))
    first, second = Scaled(*setting).fit(X, y), Scaled(*setting).fit(X[kept], y[kept])
    return rankdata(first.scores(new)) + rankdata(second.scores(new))


def measure(case: Case, texts: Any, is_good: Any) -> dict[tuple[float, float], Any]:
    """AUC and accuracy of each setting, one pair per split."""
    if case.words is not None:
        texts = np.array([" ".join(text.split()[: case.words]) for text in texts], dtype=object)
    measured: dict[tuple[float, float], Any] = {setting: [] for setting in SETTINGS}
    for seed in SEEDS:
        known, unlabeled, others = draw(is_good, case.rows, case.alpha, seed)
        rows = np.concatenate([known, unlabeled])
        y = np.arange(rows.size) < known.size
        good, bad = (others[is_good[others] == side] for side in (True, False))
        hidden = round(case.alpha * TESTED)
        tested = np.concatenate([good[:hidden], bad[: TESTED - hidden]])
        terms = TfidfVectorizer(ngram_range=(1, 2), min_df=3, max_features=100_000,
                                sublinear_tf=True).fit(texts[rows])  # fmt: skip
        X, new, truth = (
            terms.transform(texts[rows]),
            terms.transform(texts[tested]),
            is_good[tested],
        )
        for setting in SETTINGS:
            ranks = two_rounds(X.tocsr(), y, new.tocsr(), case.alpha, setting)
            says = ranks > np.quantile(ranks, 1 - case.alpha)
            measured[setting].append((roc_auc_score(truth, ranks), (says == truth).mean()))
    return measured


def main() -> None:
    one_thread()
    texts, is_good = reviews()
    by_case = [measure(case, texts, is_good) for case in CASES]
    lines = []
    for mix, c in SETTINGS:
        line = [f"{mix:g}", f"{c:g}"]
        for measured in by_case:
            auc, right = np.mean(measured[mix, c], axis=0)
            line += [f"{auc:.4f}", f"{100 * right:.1f}"]
        lines.append(line)
    columns = ["mix", "C"]
    columns += [f"{kind}, {case.name}" for case, kind in product(CASES, ("AUC", "accuracy, %"))]
    text = head("How words are weighed", "python bench/scripts/word_settings.py")
    save("word_settings.md", text + NOTE + table(columns, lines))


if __name__ == "__main__":
    main()
