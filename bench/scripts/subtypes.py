"""Labels that depend on the row: (TED)ⁿ, `SubtypesClassifier` and `SAREMClassifier` against truth.

    python bench/scripts/subtypes.py run subtypes      # rows of a csv, one per fit; can be resumed
    python bench/scripts/subtypes.py run sites
    python bench/scripts/subtypes.py run test
    python bench/scripts/subtypes.py                   # the table, from the rows

One subtype of the positives is labeled with probability .75 and all others with .15 ("biased"), or
all with the same probability, so that as many are labeled ("random"). Settings were chosen on the
data sets in TUNED. "Sites": three sites label positives with probabilities .8, .3 and .1.
"""

import gzip
import sys
from collections.abc import Callable
from time import process_time

import numpy as np
import pandas as pd
from report import RESULTS, head, one_thread, save, table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import homogeneity_score

import topbin as tb
from topbin_bench.tasks.files import data_file, missing

ROWS, SITE_ROWS = RESULTS / "subtypes.csv", RESULTS / "subtypes_sites.csv"
TEST_ROWS = RESULTS / "subtypes_test.csv"
MOST_ROWS = 2_500
OFTEN, RARELY, SITES = 0.75, 0.15, (0.8, 0.3, 0.1)
Loaded = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, which are positive, and their subtypes


def read(name: str) -> pd.DataFrame:
    path = data_file(f"{name}/{name}.csv.gz")
    if path is None:
        raise missing(f"{name}/{name}.csv.gz")
    return pd.read_csv(path)


def digits(positive: tuple[int, ...]) -> Loaded:
    found = load_digits()
    return found.data, np.isin(found.target, positive), found.target


def mnist() -> Loaded:
    """Test images as 7 × 7 means; positives are 0 to 4."""
    paths = [data_file(f"mnist/t10k-{kind}-ubyte.gz") for kind in ("images-idx3", "labels-idx1")]
    images, labels = (np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8) for path in paths)
    X = images[16:].reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)
    return X, labels[8:] < 5, labels[8:].astype(int)


def landsat() -> Loaded:
    found = read("landsat")
    kind = found["class"].to_numpy()
    return found.filter(regex="^x").to_numpy(float), kind > 3, kind


def pageblock() -> Loaded:
    """Lines are one subtype of blocks that are not text, all other kinds the second one."""
    found = read("pageblock")
    kind = found["class"].to_numpy()
    return found.drop(columns="class").to_numpy(float), kind != 1, np.minimum(kind, 3)


def mushroom() -> Loaded:
    """Poisonous mushrooms; a foul odor is one subtype, and the odor is not among the columns."""
    found = read("mushroom")
    columns = found.drop(columns=["class", "odor"])
    X = np.column_stack([pd.factorize(columns[name], sort=True)[0] for name in columns])
    return X.astype(float), (found["class"] == "p").to_numpy(), (found["odor"] == "f").to_numpy()


def spambase() -> Loaded:
    """A table without subtypes: they are made by k-means of the logarithms of the positives."""
    found = read("spambase")
    X, is_positive = found.drop(columns="class").to_numpy(float), found["class"].to_numpy() == 1
    Z = np.log1p(np.abs(X))
    Z = (Z - Z.mean(axis=0)) / (Z.std(axis=0) + 1e-9)
    kind = KMeans(3, n_init=5, random_state=0).fit(Z[is_positive]).predict(Z)
    return X, is_positive, kind


def letters(seed: int, classes: int = 26, positives: int = 10, spread: float = 2.0) -> Loaded:
    """Like the letter data of UCI: 26 letters, 16 whole numbers from 0 to 15 for each row."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, classes, 4_000)
    centers = rng.normal(7.5, 3.0, (classes, 16))
    X = np.clip(np.rint(centers[kind] + rng.normal(0, spread, (kind.size, 16))), 0, 15)
    return X, kind < positives, kind // 2


SETS: dict[str, Callable[[], Loaded]] = {
    "digits 0-4": lambda: digits((0, 1, 2, 3, 4)),
    "landsat": landsat,
    "letters, drawn (tuning)": lambda: letters(1),
    "letters, drawn": lambda: letters(2),
    "mnist 0-4": mnist,
    "digits, odd": lambda: digits((1, 3, 5, 7, 9)),
    "mushroom": mushroom,
    "pageblock": pageblock,
    "spambase, k-means": spambase,
}
TUNED = tuple(SETS)[:3]
SITE_SETS = ("landsat", "letters, drawn", "mnist 0-4", "digits, odd", "mushroom")


def draw(name: str, seed: int) -> tuple[Loaded, np.random.Generator]:
    """At most 2,500 rows of a data set."""
    rng = np.random.default_rng(seed)
    found = SETS[name]()
    rows = rng.permutation(found[0].shape[0])[:MOST_ROWS]
    return tuple(part[rows] for part in found), rng


def by_subtype(name: str, seed: int, labels: str) -> dict[str, object]:
    (X, is_positive, kind), rng = draw(name, seed)
    often = rng.choice(np.unique(kind[is_positive]))
    chance = np.where(kind == often, OFTEN, RARELY)
    if labels == "random":
        chance[:] = chance[is_positive].mean()
    y = is_positive & (rng.random(y_size := is_positive.size) < chance)
    truth = is_positive[~y]
    shared = {"preset": "fast", "random_state": seed}
    start = process_time()
    plain = tb.TEDnClassifier(**shared).fit(X, y)
    between = process_time()
    found = tb.SubtypesClassifier(**shared).fit(X, y)
    end = process_time()
    parts = found.labeling_.parts
    return {
        "data set": name, "labels": labels, "seed": seed, "rows": y_size, "n_p": int(y.sum()),
        "alpha": truth.mean(), "tedn": plain.alpha_, "subtypes": found.alpha_,
        "sum": sum(part.alpha for part in parts),
        "union": union(X, y, found, seed) if seed == 0 else np.nan,
        "parts": len(parts), "merged": found.labeling_.merged,
        "homogeneity": homogeneity_score(kind[y], found.labeling_.members),
        "low": found.estimate_.interval[0], "high": found.estimate_.interval[1],
        "gamma": found.labeling_.gamma, "gamma_low": found.labeling_.gamma_interval[0],
        "p_value": found.labeling_.test.p_value, "power": found.labeling_.test.power,
        "brier_tedn": np.mean((plain.oof_proba_[~y] - truth) ** 2),
        "brier": np.mean((found.oof_proba_[~y] - truth) ** 2),
        "seconds_tedn": between - start, "seconds": end - between,
    }  # fmt: skip


def by_test(name: str, seed: int, labels: str) -> dict[str, object]:
    """Only the test of random labels, with other seeds than those on which it was adjusted."""
    (X, is_positive, kind), rng = draw(name, 100 + seed)
    chance = np.full(is_positive.size, (OFTEN + RARELY) / 3)
    if labels == "tilted":  # odds of one half of the positives, by their subtypes, are doubled
        odds = (
            2.0 ** (rng.permutation(10 + kind.max())[kind.astype(int)] % 2) * chance / (1 - chance)
        )
        chance = odds / (1 + odds)
    y = is_positive & (rng.random(is_positive.size) < chance)
    found = tb.subtypes(X, y, random_state=seed).test
    return {
        "data set": name, "labels": labels, "seed": seed, "n_p": int(y.sum()),
        "likely_p": found.n_p, "likely_u": found.n_u, "p_value": found.p_value,
        "power": found.power,
    }  # fmt: skip


def union(X: np.ndarray, y: np.ndarray, found: tb.SubtypesClassifier, seed: int) -> float:
    """The mean of 1 − Π(1 − p_k), with p_k from each subtype against all unlabeled rows."""
    rows, unlabeled, missed = np.flatnonzero(y), np.flatnonzero(~y), 1.0
    plan = tb.learn.Plan(outer=3, repeats=1)
    for k in range(len(found.labeling_.parts)):
        taken = np.r_[rows[found.labeling_.members == k], unlabeled]
        one = tb.PvUClassifier(plan=plan, random_state=seed, confidence=None)
        one.fit(X[taken], y[taken])
        missed = missed * (1 - one.oof_proba_[-unlabeled.size :])
    return float(np.mean(1 - missed))


def by_site(name: str, seed: int, prevalence: str) -> dict[str, object]:
    """Positives choose among three sites evenly, or go mostly to the one that labels least."""
    (X, is_positive, _), rng = draw(name, seed)
    weight = {"even": (1, 1, 1), "least": (1, 1, 3)}[prevalence]
    share = np.array(weight) / sum(weight)
    site = np.where(is_positive, rng.choice(3, y_size := is_positive.size, p=share), 0)
    site = np.where(is_positive, site, rng.integers(0, 3, y_size))
    y = is_positive & (rng.random(y_size) < np.array(SITES)[site])
    X = np.column_stack([X, site])
    truth, shared = is_positive[~y], {"preset": "fast", "random_state": seed}
    plain = tb.TEDnClassifier(**shared).fit(X, y)
    start = process_time()
    found = tb.SAREMClassifier(labeled_by=[X.shape[1] - 1], **shared).fit(X, y)
    end = process_time()
    return {
        "data set": name, "labels": prevalence, "seed": seed, "rows": y_size, "n_p": int(y.sum()),
        "alpha": truth.mean(), "tedn": plain.alpha_, "sarem": found.alpha_,
        "low": found.labeling_.low, "high": found.labeling_.high,
        "rounds": found.labeling_.rounds, "converged": found.labeling_.converged,
        "brier_tedn": np.mean((plain.oof_proba_[~y] - truth) ** 2),
        "brier": np.mean((found.oof_proba_[~y] - truth) ** 2), "seconds": end - start,
    }  # fmt: skip


WHAT = {  # the file, how one fit is made, of which data sets and labels, and with how many seeds
    "subtypes": (ROWS, by_subtype, tuple(SETS), ("biased", "random"), 5),
    "sites": (SITE_ROWS, by_site, SITE_SETS, ("even", "least"), 3),
    "test": (TEST_ROWS, by_test, tuple(SETS)[3:], ("random", "tilted"), 5),
}


def run(what: str) -> None:
    """Fit what is missing in the csv; a row is written as soon as it is known."""
    path, make, names, kinds, seeds = WHAT[what]
    done = set()
    if path.exists():
        known = pd.read_csv(path)
        done = set(zip(known["data set"], known["labels"], known["seed"], strict=True))
    for seed in range(seeds):
        for name in names:
            for kind in kinds:
                tuned = what == "subtypes" and name in TUNED and seed > 0
                if (name, kind, seed) not in done and not tuned:
                    pd.DataFrame([make(name, seed, kind)]).to_csv(
                        path, mode="a", index=False, header=not path.exists(), float_format="%.6g"
                    )


def error(rows: pd.DataFrame, method: str) -> float:
    return float((rows[method].clip(upper=1) - rows["alpha"]).abs().mean())


def error_table(rows: pd.DataFrame, names: list[str], methods: list[str]) -> str:
    """Mean absolute errors of α for each data set, biased and random labels apart."""
    lines = []
    for name in [*names, "mean"]:
        own = (
            rows[rows["data set"] == name] if name != "mean" else rows[rows["data set"].isin(names)]
        )
        line: list[object] = [name]
        for kind in ("biased", "random"):
            some = own[own["labels"] == kind]
            line += [f"{some['alpha'].mean():.2f}", *(f"{error(some, m):.3f}" for m in methods)]
        lines.append(line)
    columns = [
        "data set",
        *(f"{m}, {kind}" for kind in ("biased", "random") for m in ["α", *methods]),
    ]
    return table(columns, lines)


def other_figures(rows: pd.DataFrame) -> str:
    """What else the fits say, one sentence per line."""
    biased, random = (rows[rows["labels"] == kind] for kind in ("biased", "random"))
    lines = []
    for kind, some in (("biased", biased), ("random", random)):
        tested = some["p_value"].dropna()
        covers = ((some["low"] <= some["alpha"]) & (some["alpha"] <= some["high"])).mean()
        lines.append(
            f"- {kind} labels, {len(some)} fits: the test raises an alarm in "
            f"{(tested < 0.05).sum()} of {len(tested)} (stated power against Γ = 2: "
            f"{some['power'].mean():.2f} on average); "
            f"the 95 % interval covers in {covers:.2f}, mean width "
            f"{(some['high'] - some['low']).mean():.2f}; Γ lower end above 1 in "
            f"{(some['gamma_low'] > 1).sum()}; Brier score of the probabilities "
            f"{some['brier'].mean():.3f}, (TED)ⁿ {some['brier_tedn'].mean():.3f}; CPU seconds "
            f"{some['seconds'].mean():.1f}, (TED)ⁿ {some['seconds_tedn'].mean():.1f}."
        )
    return "\n".join(lines)


def test_figures(rows: pd.DataFrame) -> str:
    """How often the test raises an alarm, for each kind of labels."""
    lines: list[list[object]] = []
    for name in [*rows["data set"].unique(), "all"]:
        own = rows if name == "all" else rows[rows["data set"] == name]
        line: list[object] = [name]
        for kind in ("random", "tilted"):
            some = own[own["labels"] == kind].dropna(subset=["p_value"])
            line.append(f"{(some['p_value'] < 0.05).sum()} of {len(some)}")
        lines.append([*line, f"{own['power'].mean():.2f}"])
    return table(["data set", "alarms, random", "alarms, tilted", "stated power"], lines)


def site_table(rows: pd.DataFrame) -> str:
    lines = []
    for (name, kind), own in rows.groupby(["data set", "labels"], sort=False):
        worst = float((own["sarem"] - own["alpha"]).abs().max())
        lines.append([
            name, kind, len(own), f"{own['alpha'].mean():.2f}", f"{error(own, 'tedn'):.3f}",
            f"{error(own, 'sarem'):.3f}", f"{worst:.3f}", f"{own['low'].mean():.2f}",
            f"{own['high'].mean():.2f}", f"{own['rounds'].mean():.0f}",
            f"{own['seconds'].mean():.1f}",
        ])  # fmt: skip
    total = [error(rows, method) for method in ("tedn", "sarem")]
    lines.append(["mean", "", len(rows), "", *(f"{value:.3f}" for value in total), *[""] * 5])
    columns = ["data set", "positives go to", "fits", "α", "(TED)ⁿ", "SAR-EM", "SAR-EM, worst"]
    return table([*columns, "lowest e", "highest e", "rounds", "CPU s"], lines)


def page() -> None:
    rows, sites = pd.read_csv(ROWS), pd.read_csv(SITE_ROWS)
    reported = [name for name in SETS if name not in TUNED]
    methods = ["tedn", "subtypes", "sum", "union"]
    checked = rows[rows["data set"].isin(reported)]
    text = head("Labels that depend on the row", "python bench/scripts/subtypes.py")
    text += (__doc__ or "").partition("\n\n")[2].partition("\n\n")[2] + "\n"
    text += (
        "Mean |α̂ − α| over the seeds. *tedn* is `TEDnClassifier`, *subtypes* `SubtypesClassifier` "
        "(one estimate with weighted positives), both with the preset fast. *sum* is Σ α_k over "
        "the same clusters, capped at 1, as PULSNAR does; *union* is the mean of 1 − Π(1 − p_k), "
        "which counts shared rows once (seed 0 only).\n\n"
    )
    text += (
        "## Subtypes: data sets on which nothing was chosen\n\n"
        "But for the allowance of the test (see the last section), which was raised from 1.15 to "
        "1.3 after earlier fits of these seeds had been seen. *digits, odd* has the images of a "
        "tuning set. With the test of other fits (alarms.md), which leaves out the direction of "
        "negatives, 22 of the 30 with biased labels raised an alarm, and intervals covered .73.\n\n"
    )
    text += error_table(rows, reported, methods) + "\n\n" + other_figures(checked)
    text += "\n\n## Subtypes: data sets on which settings were chosen\n\n"
    text += error_table(rows, list(TUNED), methods)
    text += (
        "\n\n## SAR-EM: the site is named\n\nThe three sites label positives with probabilities "
        f"{', '.join(map(str, SITES))}. That α is Σ (1 − e)/e was chosen on seeds 7 and 8 of the "
        "tuning sets and of mushroom.\n\n"
    )
    text += site_table(sites)
    text += (
        "\n\n## The test of random labels\n\nSeeds that were not used when its allowance was "
        "chosen. *random*: all positives are labeled with probability .3. *tilted*: for half of "
        "the subtypes the odds are twice as high. An alarm is p < .05. The stated power is that "
        "against such a tilt along a random direction, by the test's own simulation; "
        "tilts by subtype are found less often, so the summary calls it the best case.\n\n"
    )
    save("subtypes.md", text + test_figures(pd.read_csv(TEST_ROWS)) + "\n")


if __name__ == "__main__":
    one_thread()
    run(sys.argv[2]) if sys.argv[1:2] == ["run"] else page()
