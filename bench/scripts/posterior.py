"""The posterior of α against other methods, on the same cross-fitted scores of known truth.

    python bench/scripts/posterior.py before SCORES   # with src of 0.2 first on PYTHONPATH
    python bench/scripts/posterior.py folds SCORES    # nets whose prior lacks some data sets
    python bench/scripts/posterior.py uci SCORES      # the paper's five tables, the default plan
    python bench/scripts/posterior.py page SCORES     # bench/results/posterior.md

`SCORES` is a folder of crossfit_coverage.py with the parts fresh, check, calibrate (seeds 10, 0 and
0), held_back and held_back_default.
"""

import argparse
import csv
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from crossfit_sets import CALIBRATED, CHECKED, FRESH, HELD_BACK, HELD_BACK_AGAIN, READ_ONCE
from report import RESULTS, head, one_thread, save, table
from scipy.stats import rankdata

from topbin import estimate_alpha
from topbin.core import Evidence, Tails

BEFORE = RESULTS / "posterior_before.csv"
JUDGED = CALIBRATED | CHECKED | FRESH  # whole data sets are left out of the prior that judges them
SEED = dict.fromkeys(CALIBRATED | CHECKED, 0) | dict.fromkeys(FRESH, 10)
FOLDS, LISTS, BINS = 4, (50, 100, 500), 10
OTHERS = ("bbe", "bbe_cp", "dedpul")
UCI_ALPHAS = (0.1, 0.3, 0.5, 0.7, 0.9)


# --- the fits ---


def fits(folder: Path) -> Iterator[tuple[str, Path]]:
    """The kind of every fit that is judged, and its file."""
    for file in sorted((folder / "fast").glob("*[0-9].npz")):
        name, _, _, _, seed = file.stem.rsplit("-", 4)
        if name in READ_ONCE:
            yield "read once, fast", file
        elif name in HELD_BACK_AGAIN:
            yield "fresh, fast", file
        elif name in HELD_BACK:
            yield "held back, fast", file
        elif (
            name in JUDGED
            and int(seed) == SEED[name]
            and ("1000" in file.stem or "3000" in file.stem)
        ):
            yield "left out", file
    for seed, kind in ((41, "fresh, default"), (21, "held back, default")):
        for file in sorted((folder / "good").glob(f"*-{seed}.npz")):
            yield kind, file


def read(file: Path) -> tuple[Evidence, np.ndarray]:
    fit = np.load(file)
    return Evidence(fit["scores_p"], fit["scores_u"], crossfitted=True), fit["truth"].astype(bool)


def fold_of(names: Sequence[str]) -> dict[str, int]:
    """In which fold a data set is left out."""
    order = np.random.default_rng(3).permutation(sorted(names))
    return {str(name): k % FOLDS for k, name in enumerate(order)}


def train_folds(folder: Path) -> None:
    """One net for each fold, whose prior has none of its data sets."""
    import torch
    from train_overlap import Prior, train

    torch.set_num_threads(1)
    part = fold_of(list(JUDGED))
    (folder / "nets").mkdir(exist_ok=True)
    for fold in range(FOLDS):
        file = folder / "nets" / f"{fold}.npz"
        if not file.exists():
            left_out = tuple(name for name, own in part.items() if own == fold)
            file.write_bytes(train(Prior.load(without=left_out)).to_bytes())


def keep_before(folder: Path) -> None:
    """What an earlier version says of the same scores: point and interval."""
    with BEFORE.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["fit", "alpha", "low", "high", "bound"])
        for _, path in fits(folder):
            found = estimate_alpha(read(path)[0], method="bbe")
            ends = (*found.interval, found.upper_bound)
            name = f"{path.parent.name}/{path.stem}"
            rows.writerow([name, *(f"{x:.6g}" for x in (found.alpha, *ends))])


def fit_uci(folder: Path) -> None:
    """The five UCI tables in the sizes of the paper, two splits of each."""
    from tedn_uci_sklearn import deal

    from topbin import TEDnClassifier
    from topbin_bench.tasks.uci import IS_POSITIVE

    (folder / "uci").mkdir(exist_ok=True)
    for name in IS_POSITIVE:
        for alpha in UCI_ALPHAS:
            for split in (100, 101):
                file = folder / "uci" / f"{name}-{alpha}-{split}.npz"
                if file.exists():
                    continue
                X_p, X_u, truth, *_ = deal(name, alpha, split)
                scores = TEDnClassifier(confidence=None, random_state=split).fit_pu(X_p, X_u)
                np.savez(file, scores_p=scores.scores_p_, scores_u=scores.scores_u_, truth=truth)


def uci_section(folder: Path) -> str:
    """Errors of the default by α, and coverage."""
    found = []
    for file in sorted((folder / "uci").glob("*.npz")):
        evidence, truth = read(file)
        own = estimate_alpha(evidence)
        others = [estimate_alpha(evidence, method=one, confidence=None).alpha for one in OTHERS]
        found.append(
            (float(file.stem.rsplit("-", 2)[1]), truth.mean(), own.alpha, *own.interval, *others)
        )
    alpha, truth, point, low, high, *others = np.array(found).T
    rows = []
    for one in (*UCI_ALPHAS, None):
        at = np.ones(alpha.size, bool) if one is None else alpha == one
        errors = [f"{np.mean(abs(x - truth)[at]):.3f}" for x in (point, *others)]
        inside = np.mean(((low <= truth) & (truth <= high))[at])
        width = np.median(((high - low) / truth)[at])
        rows.append(
            ["all" if one is None else one, at.sum(), *errors, f"{inside:.2f}", f"{width:.2f}"]
        )
    names = ["α", "fits", "posterior", "BBE", "BBE-CP", "DEDPUL", "covers", "width/α"]
    return table(names, rows)


# --- one fit, judged ---


@dataclass(frozen=True)
class Judged:
    """What is known of one fit: truth, what methods say, lists and calibration of both."""

    kind: str
    name: str
    alpha: float
    n_p: int
    auc: float
    truth: float
    low: float
    point: float
    high: float
    bound: float
    others: dict[str, float]
    before: tuple[float, float, float]
    lists: dict[int, tuple[float, ...]]  # true, claimed, low, high, claimed by BBE
    calibration: np.ndarray  # of the posterior and of BBE: rows, claims and truth by bin
    alarmed: bool


def judge(task: tuple[str, str, str, tuple[float, float, float]]) -> Judged:
    from topbin.core import AlphaEstimate
    from topbin.evaluate import list_precision
    from topbin.learn import fit_probabilities
    from topbin.mpe import METHODS, OverlapNet, alpha_posterior, upper_bound

    kind, path, net_file, before = task
    file = Path(path)
    evidence, truth = read(file)
    name, alpha, n_p, _, _ = file.stem.rsplit("-", 4)
    net = OverlapNet.from_bytes(Path(net_file).read_bytes()) if net_file else None
    posterior = alpha_posterior(evidence.tails, effective=evidence.effective, net=net)
    posterior = posterior.at_most(max(upper_bound(evidence.independent, 0.975), posterior.median))
    low, high = posterior.interval(0.95)
    n_u = truth.size
    found = AlphaEstimate(
        alpha=posterior.median, n_p=int(n_p), n_u=n_u, method="overlap", interval=(low, high),
        confidence=0.95, posterior=posterior,
    )  # fmt: skip
    others = {other: METHODS[other].read(evidence).alpha for other in OTHERS}
    known = AlphaEstimate(alpha=others["bbe"], n_p=int(n_p), n_u=n_u, method="bbe")
    order = np.argsort(-evidence.scores_u, kind="stable")
    ranked, hit = evidence.scores_u[order], np.cumsum(truth[order])
    own = list_precision(evidence, found, ranked)
    plain = np.cumsum(fit_probabilities(evidence, known)(ranked))
    lists = {
        k: (hit[k - 1] / k, own.value[k - 1], own.low[k - 1], own.high[k - 1], plain[k - 1] / k)
        for k in LISTS
        if k <= n_u
    }
    maps = (fit_probabilities(evidence, one)(evidence.scores_u) for one in (found, known))
    calibration = np.array([_bins(likely, truth) for likely in maps])
    alarmed = bool(METHODS["overlap"].read(evidence).alarms)
    return Judged(
        kind, name, float(alpha), int(n_p), _auc(evidence, truth), float(truth.mean()), low,
        found.alpha, high, upper_bound(evidence.independent), others, before, lists, calibration,
        alarmed,
    )  # fmt: skip


def _auc(evidence: Evidence, truth: np.ndarray) -> float:
    """Of the classes, known positives included; NaN without negatives or positives among U."""
    is_p = np.append(np.ones(evidence.scores_p.size, bool), truth)
    if is_p.all():
        return float("nan")
    ranks = rankdata(np.append(evidence.scores_p, evidence.scores_u))
    wins = ranks[is_p].sum() - is_p.sum() * (is_p.sum() + 1) / 2
    return float(wins / (is_p.sum() * (~is_p).sum()))


def _bins(likely: np.ndarray, truth: np.ndarray) -> np.ndarray:
    place = np.minimum((likely * BINS).astype(int), BINS - 1)
    return np.array([np.bincount(place, w, BINS) for w in (np.ones(truth.size), likely, truth)])


def judge_all(folder: Path) -> list[Judged]:
    part, before = fold_of(list(JUDGED)), {}
    with BEFORE.open(newline="") as file:
        for row in csv.DictReader(file):
            before[row["fit"]] = tuple(float(row[name]) for name in ("alpha", "low", "high"))
    tasks = []
    for kind, file in fits(folder):
        name = file.stem.rsplit("-", 4)[0]
        net = str(folder / "nets" / f"{part[name]}.npz") if kind == "left out" else ""
        tasks.append((kind, str(file), net, before[f"{file.parent.name}/{file.stem}"]))
    with Pool(int(os.environ.get("TOPBIN_JOBS", "1"))) as pool:
        return pool.map(judge, tasks, chunksize=8)


# --- tables ---

COLUMNS = [
    "",
    "fits",
    "error",
    "BBE",
    "BBE-CP",
    "DEDPUL",
    "bias",
    "BBE",
    "covers",
    "0.2",
    "high < α",
]
COLUMNS += ["low > α", "width/α", "0.2", "bound < α"]
SLIGHT = 1e-9


def row(name: object, found: Sequence[Judged]) -> list[object]:
    truth = np.array([one.truth for one in found])
    low, point, high = np.transpose([(one.low, one.point, one.high) for one in found])
    was, was_low, was_high = np.transpose([one.before for one in found])
    errors = [
        f"{np.mean(abs(np.array([one.others[name] for one in found]) - truth)):.3f}"
        for name in OTHERS
    ]

    def covers(a: np.ndarray, b: np.ndarray) -> str:
        return f"{np.mean((a <= truth + SLIGHT) & (truth <= b + SLIGHT)):.3f}"

    some = truth > 0
    widths = [
        f"{np.median((b - a)[some] / truth[some]):.2f}" if some.any() else "–"
        for a, b in ((low, high), (was_low, was_high))
    ]
    bound = np.mean(np.array([one.bound for one in found]) < truth - SLIGHT)
    return [
        name, len(found), f"{np.mean(abs(point - truth)):.3f}", *errors,
        f"{np.mean(point - truth):+.3f}", f"{np.mean(was - truth):+.3f}", covers(low, high),
        covers(was_low, was_high), f"{np.mean(high < truth - SLIGHT):.3f}",
        f"{np.mean(low > truth + SLIGHT):.3f}", *widths, f"{bound:.3f}",
    ]  # fmt: skip


def groups(found: Sequence[Judged], of: Callable[[Judged], object]) -> list[list[object]]:
    names = sorted({of(one) for one in found})
    return [row(name, [one for one in found if of(one) == name]) for name in names]


def section(title: str, found: Sequence[Judged]) -> str:
    rows = [row("all", found)]
    rows += [row("α ≤ .1", [one for one in found if one.alpha <= 0.1])]
    rows += [["**α**"] + [""] * (len(COLUMNS) - 1), *groups(found, lambda one: one.alpha)]
    rows += [["**n_p**"] + [""] * (len(COLUMNS) - 1), *groups(found, lambda one: one.n_p)]
    apart = [one for one in found if one.auc >= 0.99]
    rows += [row("AUC ≥ .99", apart)] if apart else []
    rows += [["**data set**"] + [""] * (len(COLUMNS) - 1), *groups(found, lambda one: one.name)]
    return f"## {title}\n\n{table(COLUMNS, rows)}\n"


def lists_section(found: Sequence[Judged]) -> str:
    """Precision of lists, and calibration of all probabilities."""
    rows = []
    for kind in dict.fromkeys(one.kind for one in found):
        own = [one for one in found if one.kind == kind]
        for k in LISTS:
            claims = np.array([one.lists[k] for one in own if k in one.lists])
            true, claimed, low, high, bbe = claims.T
            rows.append([
                kind, k, len(claims), f"{true.mean():.3f}", f"{claimed.mean():.3f}",
                f"{bbe.mean():.3f}", f"{np.mean(abs(claimed - true)):.3f}",
                f"{np.mean(abs(bbe - true)):.3f}",
                f"{np.mean((low <= true + SLIGHT) & (true <= high + SLIGHT)):.3f}",
                f"{np.mean(high - low):.2f}",
            ])  # fmt: skip
    names = ["", "rows", "fits", "true", "claimed", "by BBE", "error", "of BBE", "interval covers"]
    text = table([*names, "width"], rows)
    rows = []
    for kind in dict.fromkeys(one.kind for one in found):
        own = [one for one in found if one.kind == kind]
        rows.append(
            [kind, *(f"{np.mean([_ece(one.calibration[k]) for one in own]):.3f}" for k in (0, 1))]
        )
    text += "\n" + table(["mean expected calibration error", "posterior", "BBE"], rows)
    return f"## Precision of the best rows, and calibration\n\n{text}\n"


def _ece(bins: np.ndarray) -> float:
    rows, claims, truth = bins
    return float(abs(claims - truth).sum() / rows.sum())


# --- score families whose truth is known ---

FAMILIES: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]] = {
    **{
        f"Gaussians {s}σ": (lambda r, n, s=s: r.normal(s, 1, n), lambda r, n: r.normal(0, 1, n))
        for s in (1, 2, 3, 4)
    },
    "positives wider, N(2, 2²)": (lambda r, n: r.normal(2, 2, n), lambda r, n: r.normal(0, 1, n)),
    "negatives wider, N(0, 2²)": (lambda r, n: r.normal(3, 1, n), lambda r, n: r.normal(0, 2, n)),
    "Beta(8,2) and (2,8)": (lambda r, n: r.beta(8, 2, n), lambda r, n: r.beta(2, 8, n)),
    "Student's t (3), 3 apart": (
        lambda r, n: 3 + r.standard_t(3, n),
        lambda r, n: r.standard_t(3, n),
    ),
    "half easy, half hard": (
        lambda r, n: r.normal(np.where(r.random(n) < 0.5, 4, 1), 1),
        lambda r, n: r.normal(0, 1, n),
    ),
    "3σ, 10 levels": (
        lambda r, n: r.normal(3, 1, n).round().clip(-3, 6),
        lambda r, n: r.normal(0, 1, n).round().clip(-3, 6),
    ),
    "3σ, one cut": (
        lambda r, n: (r.normal(3, 1, n) > 1.5) * 1.0,
        lambda r, n: (r.normal(0, 1, n) > 1.5) * 1.0,
    ),
}
SAMPLES = ((30, 500, 40), (100, 1000, 40), (1000, 10_000, 20), (200_000, 400_000, 2))
SHARES_OF = (0.0, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9)


def family(name: str) -> list[list[object]]:
    rows = []
    positive, negative = FAMILIES[name]
    for n_p, n_u, repeats in SAMPLES:
        rng = np.random.default_rng([n_p, len(name)])
        found = []
        for alpha in SHARES_OF:
            hidden = round(alpha * n_u)
            for _ in range(repeats):
                scores_u = np.append(positive(rng, hidden), negative(rng, n_u - hidden))
                tails = Tails.from_scores(positive(rng, n_p), scores_u)
                own = estimate_alpha(tails)
                bbe = estimate_alpha(tails, method="bbe", confidence=None).alpha
                found.append((hidden / n_u, own.alpha, *own.interval, bbe, own.upper_bound))
        truth, point, low, high, bbe, bound = np.array(found).T
        few, some = truth <= 0.1, truth > 0
        rows.append([
            name, f"{n_p:,} / {n_u:,}", len(truth), f"{np.mean(abs(point - truth)):.3f}",
            f"{np.mean(abs(bbe - truth)):.3f}", f"{np.mean(abs(point - truth)[few]):.3f}",
            f"{np.mean(abs(bbe - truth)[few]):.3f}", f"{np.mean(point - truth):+.3f}",
            f"{np.mean((low <= truth + SLIGHT) & (truth <= high + SLIGHT)):.3f}",
            f"{np.mean(high < truth - SLIGHT):.3f}", f"{np.mean(low > truth + SLIGHT):.3f}",
            f"{np.median(((high - low) / np.maximum(truth, SLIGHT))[some]):.2f}",
            f"{np.mean(bound < truth - SLIGHT):.3f}",
        ])  # fmt: skip
    return rows


def families_section() -> str:
    names = ["scores", "n_p / n_u", "samples", "error", "BBE", "α ≤ .1", "BBE", "bias", "covers"]
    names += ["high < α", "low > α", "width/α", "bound < α"]
    return table(names, [one for name in FAMILIES for one in family(name)])


def main() -> None:
    one_thread()
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("verb", choices=("before", "folds", "uci", "page"))
    options.add_argument("scores", type=Path, help="a folder of crossfit_coverage.py")
    given = options.parse_args()
    if given.verb == "before":
        return keep_before(given.scores)
    if given.verb == "folds":
        return train_folds(given.scores)
    if given.verb == "uci":
        return fit_uci(given.scores)
    found = judge_all(given.scores)
    text = head(
        "One posterior of α, and what is read from it",
        "python bench/scripts/posterior.py page scores",
    )
    text += INTRODUCTION
    kinds = {
        "read once, fast": "Sixteen data sets that were read once: the fast plan",
        "fresh, fast": "Sixteen fresh data sets: the fast plan",
        "fresh, default": "The same data sets: the default plan, one cell in three",
        "held back, fast": "Sixteen data sets held back: the fast plan",
        "held back, default": "The same data sets: the default plan, one cell in three",
        "left out": "Thirty-eight data sets, left out of the prior that judges them: the fast plan",
    }
    for kind, title in kinds.items():
        text += section(title, [one for one in found if one.kind == kind]) + "\n"
    text += lists_section(found)
    raised = {kind: [one.alarmed for one in found if one.kind == kind] for kind in kinds}
    told = ", ".join(f"{np.sum(each)} of {len(each)} ({kind})" for kind, each in raised.items())
    text += f"\nThe alarm unlike-prior was raised in {told}.\n\n"
    text += f"## The paper's five UCI tables, default plan\n\n{uci_section(given.scores)}\n"
    save("posterior.md", f"{text}## Score families\n\n{FAMILY_WORDS}{families_section()}")


INTRODUCTION = (
    "`TEDnClassifier` cross-fits known positives and unlabeled rows that hold a fixed share α of "
    "positives. All methods read the same scores. *error* is the mean of |α̂ − α|, *covers* how "
    "often the 95 % interval contains α, *0.2* what the interval of version 0.2 did on the same "
    "scores (bench/results/posterior_before.csv), *high < α* and *low > α* the misses of its two "
    "ends, *width/α* a median, and *bound < α* the misses of the one-sided bound (5 % are "
    "promised).\n\n"
    "**How the settings were chosen.** The net, its inputs and its prior were chosen on the "
    "thirty-eight data sets, each left out of the prior that judged it. Then sixteen data sets "
    "were held back (named in a commit before they were fitted). They showed that the prior knew "
    "too few classes that hardly part: it covered .844 of these fits, and 15 % of the lower ends "
    "were too high. So ten data sets with weak signal were added to the prior, and more drawn "
    "curves of that kind; the held-back sets no longer count as fresh. Sixteen others were named "
    "before that change and fitted after it: *fresh* below. With the changed prior .927 of them "
    "were covered, and most misses were at α = 0, so the share of simulations in which α is 0 or "
    "1 was raised from 4 to 9 %. That was the only change after they were read, besides one that "
    "was tried and taken back (fewer hard negatives: .942 instead of .950).\n\n"
    "Then the prior was changed for scores that users bring (more drawn curves, and a fifth "
    "with classes that are fully apart), because their intervals missed too often where "
    "classes part, and training was made five times as long. This was chosen on score "
    "families and the thirty-eight data sets (error .055 instead of .056, covers .970 instead "
    "of .959). Last, sixteen data sets were named, fitted and *read once*; nothing was "
    "changed after that. The other groups had been read up to four times, so their figures "
    "are slightly optimistic.\n\n"
    "**Tried after that, and not taken.** A prior with the curves of all these data sets, in which "
    "α is 0 twice as often, judged by whole data sets left out: of the fits that were read once it "
    "covers .905 instead of .884 (error .161 instead of .173), of the fresh ones .962 instead of "
    ".953 (.142 instead of .149). But where classes part it is worse: on the UCI tables the error "
    "is .038 instead of .032, on the thirty-eight .057 instead of .055, and of a hundred positives "
    "that are fully apart .82 of the intervals contain α = .05 instead of .93. The data sets that "
    "were added have weak signal, and one net serves both kinds.\n\n"
    "**Tried again, and not taken.** Is it the net or the prior? Held against the exact "
    "posterior under the same prior ([posterior_headroom.md](posterior_headroom.md)), the net is "
    "as good at α ≥ .7: where classes part the exact posterior is about as low, because the same "
    "counts come from a smaller α and a few more high negatives, and among fits with a large α "
    "the prior knows few whose classes part (of its curves at α = .9 two thirds have an AUC "
    "below .7). Eight priors were compared by exact posteriors, whole data sets left out. One "
    "seemed better at both ends: half of the curves of any α and n_p. As a net (11 rounds "
    "instead of 60, one fold left out, beside one trained alike with the prior as it is) it was "
    "not: its loss is .108 instead of .104, lower ends of weak data miss as often, and on 66 "
    "fits of the UCI tables, which had no part in the choice, it errs by .042 instead of .039 "
    "(BBE .024). On the twenty of them with α = .7 or .9 the exact posterior errs by .050, the "
    "net by .080 and BBE by .032; more than half of the first difference is one fit (`concrete`, "
    ".57 and .20 for .70). So the net is the old one.\n\n"
    "**What is missed.** Of the fits that were read once .884 are covered, not .94 (0.2: "
    ".585): 11.6 % of the lower ends are too high and none of the upper ends is too low. Most "
    "of these misses are in `working`, whose family income tells who earns, and `medpar`, "
    "where classes hardly part; `married` and `unionized` are panels whose rows belong "
    "together, which nobody told the fit. At α ≤ .1 the error is .59 to .65 of BBE's on the "
    "three groups, not .5 (on the thirty-eight it is .38): where classes hardly part no "
    "method knows α. Intervals are wider than those of 0.2, and where AUC ≥ .99 width/α is "
    ".75 to 1.2, not .5. Worse than BBE by more than .015 are data sets whose classes part "
    "well, with large α (see the tables). On the UCI tables the error is larger than BBE's at "
    "α = .3, .5 and .9. The claimed precision of lists errs by .10 on the thirty-eight sets, "
    "by .16 to .26 on the next two groups and by .21 to .35 on those read once (BBE's by .15, "
    ".24 to .44 and .32 to .52). Two kinds of positives, half easy and half hard, still give "
    "an α that is .03 too low, heavy tails a lower end that is too high at α ≤ .1, and two "
    "hundred thousand positives of Beta scores upper ends that are too low by .002.\n\n"
)
FAMILY_WORDS = (
    "Scores that a user brings: independent rows, no cross-fit. Where negatives are wider than "
    "positives, the highest scores are negatives: no bin is pure, the ratio falls and rises again, "
    "and no method can know α from these counts. With one cut there is a single number to read.\n\n"
)

if __name__ == "__main__":
    main()
