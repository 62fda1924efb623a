"""IMDb by words, 1,500 known positives and 3,000 unlabeled reviews: ten splits, each on its own.

    TOPBIN_DATA=folder python bench/scripts/imdb_words.py

LightGBM is hidden, as in `pip install topbin`. How texts are read was chosen on other splits.
"""

import sys

from report import head, one_thread, save, table
from text import COLUMNS, MEDIUM, reviews, words

SPLITS, TARGET = 10, 83.0  # per cent of the reviews, on every split
LARGE, LARGE_SPLITS = (6_250, 6_250), 2
NOTE = """`tb.fit(frame, "known")` with default settings, α = .5. The target is an accuracy of
{target:g} % on every split: it is reached on {hit} of {runs} (unlabeled reviews) and on {new} of
{runs} (5,000 new ones). The lowest are {low:.1f} and {low_new:.1f} %. The mean error of α̂ is
{error:.3f}, the largest {worst:.3f}; the interval holds .5 in {held} of {runs}.

"""
LARGE_NOTE = """
## 6,250 known positives and 6,250 unlabeled reviews

The targets are 87 % and an error of .02. The mean accuracy is {right:.1f} % (unlabeled reviews) and
{new:.1f} % (new ones), the mean error of α̂ {error:.3f}.

"""

SETTINGS = """
How words are weighed was chosen on other splits: [word_settings.md](word_settings.md).
"""


def large_section(lines: list[list[str]]) -> str:
    """The same with more reviews."""
    error, right, new = (sum(float(line[k]) for line in lines) / len(lines) for k in (2, 6, 7))
    return LARGE_NOTE.format(error=error, right=right, new=new) + table(COLUMNS, lines)


def main() -> None:
    one_thread()
    sys.modules["lightgbm"] = None  # type: ignore[assignment]  # looked for when a model is made
    texts, is_good = reviews()
    lines: list[list[str]] = []
    for seed in range(SPLITS):
        lines.append(words(texts, is_good, seed, MEDIUM))
        print(lines[-1], flush=True)
    error, right, new = ([float(line[k]) for line in lines] for k in (2, 6, 7))
    ends = [[float(end) for end in line[3].split("–")] for line in lines]
    note = NOTE.format(
        target=TARGET, runs=SPLITS, hit=sum(one >= TARGET for one in right),
        new=sum(one >= TARGET for one in new), low=min(right), low_new=min(new),
        error=sum(error) / SPLITS, worst=max(error),
        held=sum(low <= 0.5 <= high for low, high in ends),
    )  # fmt: skip
    command = "python bench/scripts/imdb_words.py"
    large = [words(texts, is_good, seed, LARGE) for seed in range(LARGE_SPLITS)]
    text = head("IMDb by words", command) + note + table(COLUMNS, lines) + large_section(large)
    save("imdb_words.md", text + SETTINGS)


if __name__ == "__main__":
    main()
