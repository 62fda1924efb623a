"""What the first screen says about 29 small tables whose truth is known, and whether it misleads.

    python bench/scripts/first_screen.py run              # rows of a csv, one per table
    python bench/scripts/first_screen.py run FILE         # the same, elsewhere: of another version
    python bench/scripts/first_screen.py                  # the page, from first_screen.csv and
                                                          # first_screen_before.csv

A screen misleads if it says "quote it" and its interval misses the truth, or if it says "at most"
without a condition and the truth is higher. A version without verdicts says "quote it" if it has no
alarm. Recipes marked * were used when rules were chosen.
"""

import sys
from collections.abc import Callable
from time import process_time

import numpy as np
import pandas as pd
from report import RESULTS, head, one_thread, save, table
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

import topbin as tb

ROWS, BEFORE = RESULTS / "first_screen.csv", RESULTS / "first_screen_before.csv"
CONDITION = "if the labeled positives are like the others"
Made = tuple[pd.DataFrame, np.ndarray, np.ndarray]  # columns, who is positive, who is labeled
Rng = np.random.Generator


def at_random(X: np.ndarray, is_positive: np.ndarray, rng: Rng, share: float = 0.4) -> Made:
    return _frame(X), is_positive, is_positive & (rng.random(is_positive.size) < share)


def _frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(np.asarray(X, float), columns=[f"x{j}" for j in range(X.shape[1])])


def bundled(load: Callable[[], object], positive: Callable[[np.ndarray], np.ndarray]) -> Callable:
    def make(rng: Rng) -> Made:
        found = load()
        return at_random(found.data, positive(found.target), rng)

    return make


def gaussians(n: int, alpha: float, shift: float, columns: int = 8, own: int = 4) -> Callable:
    """Positives are shifted in `own` of the columns."""

    def make(rng: Rng, share: float = 0.4) -> Made:
        is_positive = rng.random(n) < alpha
        X = rng.normal(size=(n, columns))
        X[:, :own] += shift * is_positive[:, None]
        return at_random(X, is_positive, rng, share)

    return make


def few(known: int) -> Callable:
    def make(rng: Rng) -> Made:
        frame, is_positive, _ = gaussians(1_000, 0.3, 1.5)(rng)
        labeled = np.zeros(is_positive.size, bool)
        labeled[rng.choice(np.flatnonzero(is_positive), known, replace=False)] = True
        return frame, is_positive, labeled

    return make


def kinds(often: float, rarely: float) -> Callable:
    """Three kinds of positives, of which one is labeled `often` and the others `rarely`."""

    def make(rng: Rng) -> Made:
        kind = rng.integers(0, 8, 3_000)
        X = rng.normal(0, 2.2, (8, 10))[kind] + rng.normal(size=(3_000, 10))
        is_positive = kind < 3
        return (
            _frame(X),
            is_positive,
            is_positive & (rng.random(kind.size) < np.where(kind == 0, often, rarely)),
        )

    return make


def digits_unequally(rng: Rng) -> Made:
    """Even digits are sought; 0 and 2 are labeled five times as often as 4, 6 and 8."""
    found = load_digits()
    is_positive = found.target % 2 == 0
    chance = np.where(found.target < 3, 0.75, 0.15)
    return _frame(found.data), is_positive, is_positive & (rng.random(chance.size) < chance)


def severe(is_hard: bool) -> Callable:
    """Severe cases are labeled: all above a limit, or the more severe the likelier."""

    def make(rng: Rng) -> Made:
        is_positive = rng.random(3_000) < 0.28
        severity = rng.gamma(2, 1, is_positive.size) * is_positive
        X = rng.normal(size=(is_positive.size, 8))
        X[:, :4] += 0.8 * severity[:, None]
        if is_hard:
            return _frame(X), is_positive, severity > np.quantile(severity[is_positive], 0.7)
        chance = np.clip((severity / 4) ** 2, 0, 0.95)
        return _frame(X), is_positive, is_positive & (rng.random(chance.size) < chance)

    return make


def large_tumors(rng: Rng) -> Made:
    """Of the malignant tumors, the larger half is labeled."""
    found = load_breast_cancer()
    is_positive = found.target == 0
    area = found.data[:, 3]
    return _frame(found.data), is_positive, is_positive & (area > np.median(area[is_positive]))


def leak(strength: float) -> Callable:
    def make(rng: Rng) -> Made:
        frame, is_positive, labeled = gaussians(3_000, 0.3, 1.0)(rng)
        frame["seen"] = rng.normal(size=labeled.size) + strength * labeled
        return frame, is_positive, labeled

    return make


def leaking_date(rng: Rng) -> Made:
    """A date of review, which 7 in 10 labeled rows have, and 1 in 20 others."""
    frame, is_positive, labeled = gaussians(3_000, 0.3, 1.0)(rng)
    days = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 300, labeled.size), "D")
    has = rng.random(labeled.size) < np.where(labeled, 0.7, 0.05)
    frame["reviewed"] = np.where(has, days.strftime("%Y-%m-%d"), None)
    return frame, is_positive, labeled


def visits(name: str | None) -> Callable:
    """Three similar visits per patient, all labeled or none; the patient may not be a column."""

    def make(rng: Rng) -> Made:
        frame, is_positive, labeled = gaussians(1_200, 0.3, 1.2)(rng)
        frame = frame.loc[frame.index.repeat(3)].reset_index(drop=True)
        frame += 0.05 * rng.normal(size=frame.shape)
        if name is not None:
            frame[name] = np.repeat(1000 + rng.permutation(1_200), 3)
        return frame, np.repeat(is_positive, 3), np.repeat(labeled, 3)

    return make


def shared(rng: Rng) -> Made:
    """A third of the known positives are listed again as unlabeled."""
    frame, is_positive, labeled = gaussians(2_000, 0.3, 1.5)(rng)
    again = np.flatnonzero(labeled)[::3]
    frame = pd.concat([frame, frame.iloc[again]], ignore_index=True)
    more = np.ones(again.size, bool)
    return frame, np.append(is_positive, more), np.append(labeled, ~more)


def claims(rng: Rng) -> Made:
    """Amounts, categories and missing values."""
    n = 2_500
    is_positive = rng.random(n) < 0.15
    kind = np.where(is_positive, rng.choice(4, n, p=[0.1, 0.2, 0.3, 0.4]), rng.choice(4, n))
    frame = pd.DataFrame(
        {
            "amount": np.exp(rng.normal(5 + 1.5 * is_positive, 1)).round(2),
            "kind": np.array(["car", "home", "health", "travel"])[kind],
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(50 - 12 * is_positive, 12)),
            "calls": rng.poisson(1 + 3 * is_positive),
        }
    )
    return frame, is_positive, is_positive & (rng.random(n) < 0.4)


TABLES: dict[str, Callable[[Rng], Made]] = {
    "tumors, malignant": bundled(load_breast_cancer, lambda y: y == 0),
    "tumors, benign": bundled(load_breast_cancer, lambda y: y == 1),
    "digits, eights": bundled(load_digits, lambda y: y == 8),
    "digits, odd": bundled(load_digits, lambda y: y % 2 == 1),
    "digits, 0 to 3": bundled(load_digits, lambda y: y < 4),
    "wine, grower 1": bundled(load_wine, lambda y: y == 0),
    "iris, virginica": bundled(load_iris, lambda y: y == 2),
    "diabetes, worst third": bundled(load_diabetes, lambda y: y > np.quantile(y, 2 / 3)),
    "gaussians, close *": gaussians(3_000, 0.3, 1.0),
    "gaussians, apart": gaussians(2_000, 0.25, 2.5),
    "gaussians, rare": gaussians(6_000, 0.03, 2.0),
    "gaussians, common": gaussians(2_000, 0.8, 1.5),
    "no signal": gaussians(1_500, 0.3, 0.0),
    "one strong column": gaussians(2_500, 0.3, 3.0, own=1),
    "15 known positives": few(15),
    "40 known positives": few(40),
    "claims": claims,
    "kinds, at random": kinds(0.3, 0.3),
    "kinds, one often *": kinds(0.75, 0.12),
    "digits, unequally": digits_unequally,
    "severe only *": severe(is_hard=True),
    "severe first *": severe(is_hard=False),
    "large tumors only": large_tumors,
    "leak, hard": leak(6.0),
    "leak, soft *": leak(0.8),
    "leak, a date": leaking_date,
    "visits, patient named": visits("patient_id"),
    "visits, not named": visits(None),
    "shared rows": shared,
}


def screen(name: str, seed: int) -> dict[str, object]:
    """The first screen of a fit with the preset fast."""
    frame, is_positive, labeled = TABLES[name](np.random.default_rng(seed))
    truth, start = float(is_positive[~labeled].mean()), process_time()
    found = tb.fit(frame.assign(known=labeled.astype(int)), "known", budget="fast")
    text, estimate = found.summary(data=False), found.estimate
    cpu, remedy = process_time() - start, getattr(found, "remedy", None)
    low, high = estimate.interval
    most = estimate.leading_bound
    verdict = getattr(found, "verdict", None)
    say = ("quote it" if not estimate.alarms else "alarms") if verdict is None else verdict.say
    bound = estimate.upper_bound if say == "quote only the bound" else most
    is_bare = bound is not None and bound < truth and CONDITION not in text
    return {
        "table": name, "rows": len(frame), "known": int(labeled.sum()), "truth": truth,
        "answer": f"≤ {most:.3f}" if most is not None else f"{estimate.alpha:.3f}",
        "low": low, "high": high, "verdict": say,
        "why": "" if verdict is None else verdict.reason,
        "alarms": " ".join(alarm.code for alarm in estimate.alarms),
        "remedy": "" if remedy is None else f"{remedy.what}: {remedy.estimate.alpha:.3f}",
        "misled": is_bare or (say == "quote it" and not low <= truth <= high), "cpu": cpu,
    }  # fmt: skip


def run(path: object) -> None:
    rows = []
    for seed, name in enumerate(TABLES):
        rows.append(screen(name, seed))
        print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(path, index=False)


def page() -> str:
    now, before = (pd.read_csv(path, keep_default_na=False) for path in (ROWS, BEFORE))
    shown = []
    for new, old in zip(now.itertuples(), before.itertuples(), strict=True):
        ends = f"{new.low:.3f} to {new.high:.3f}"
        shown.append(
            [new.table, new.rows, new.known, f"{new.truth:.3f}", f"{old.answer}, {old.verdict}",
             "misled" if old.misled else "", new.answer, ends, new.verdict, new.remedy,
             "misled" if new.misled else ""]
        )  # fmt: skip
    quoted = now[now.verdict == "quote it"]
    return (
        head("What the first screen says", "python bench/scripts/first_screen.py")
        + __doc__.split("\n\n", 1)[1].split("\n\n", 1)[1]
        + f"\nPreset fast, seed 0; {now.cpu.sum():.0f} CPU seconds, {before.cpu.sum():.0f} before. "
        f"Misled: {now.misled.sum()} of {len(now)} screens, {before.misled.sum()} before. "
        f'{len(quoted)} screens say "quote it", and {int(quoted.misled.sum())} of their intervals '
        "miss the truth.\n\n"
        + table(
            [
                "table",
                "rows",
                "known",
                "truth",
                "before",
                "",
                "answer",
                "interval",
                "verdict",
                "remedy",
                "",
            ],
            shown,
        )
    )


if __name__ == "__main__":
    one_thread()
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2] if len(sys.argv) > 2 else ROWS)
    else:
        save("first_screen.md", page())
