"""Speed and memory of counting: BBE and tails from raw scores, tails from chunks, the bootstrap.

Times are CPU seconds of one thread, which other work on the machine disturbs less; every ratio is
the median over repeats in which both sides take turns.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
from report import answer, apart, cpu_seconds, head, one_thread, peak_mb, save, table

from topbin import Tails
from topbin.mpe import bbe, bootstrap, thin_tails

ROWS = 10_000_000
REPEATS = 7
ALPHA = 0.3
Pair = tuple[np.ndarray, np.ndarray]


def logits(rows: int, seed: int = 0) -> Pair:
    """Gaussians 3σ apart."""
    rng = np.random.default_rng(seed)
    scores_p = rng.standard_normal(rows, np.float32) + np.float32(3)
    scores_u = rng.standard_normal(rows, np.float32)
    scores_u[rng.random(rows, np.float32) < ALPHA] += np.float32(3)
    return scores_p, scores_u


def uniform(rows: int) -> Pair:
    """A fifth of the range is pure; both samples have 24-bit probabilities."""
    rng = np.random.default_rng(0)
    scores_p, scores_u = rng.random(rows, np.float32), rng.random(rows, np.float32)
    scores_u[rng.random(rows, np.float32) >= ALPHA] *= np.float32(0.8)
    return scores_p, scores_u


def mapped(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[int], Pair]:
    return lambda rows: tuple(function(scores) for scores in logits(rows))


KINDS = {
    "logits": logits,
    "probabilities": mapped(lambda x: 1 / (1 + np.exp(-x))),
    "uniform, top fifth pure": uniform,
    "a third exactly 0 or 1": mapped(lambda x: np.clip(x / 3.5, np.float32(0), np.float32(1))),
    "rounded to 0.01": mapped(lambda x: np.round(x, 2)),
}


def sort_both(scores_p: np.ndarray, scores_u: np.ndarray) -> None:
    np.sort(scores_p)
    np.sort(scores_u)


def plain_tails(scores_p: np.ndarray, scores_u: np.ndarray) -> Tails:
    """Two sorts and a look-up."""
    ranked = np.sort(scores_p)
    first = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
    above_u = scores_u.size - np.searchsorted(np.sort(scores_u), ranked[first])
    return Tails(ranked[first], ranked.size - first, above_u, scores_p.size, scores_u.size)


def thinned(scores_p: np.ndarray, scores_u: np.ndarray) -> object:
    return bbe(thin_tails(scores_p, scores_u))


def thinned_with_ranks(scores_p: np.ndarray, scores_u: np.ndarray) -> object:
    return bbe(
        thin_tails(scores_p, scores_u, ranks=np.geomspace(1, scores_p.size, 290).astype(int))
    )


WAYS = {
    "BBE by `thin_tails`": (thinned, 1.0),
    "the same with 290 ranks": (thinned_with_ranks, None),
    "full `Tails.from_scores`": (Tails.from_scores, 1.6),
    "plain: sort, `searchsorted`": (plain_tails, None),
}


def speed() -> str:
    rows = []
    for kind, make in KINDS.items():
        pair = make(ROWS)
        ratios: dict[str, list[float]] = {way: [] for way in WAYS}
        floors = []
        for _ in range(REPEATS):
            for way, (call, _) in WAYS.items():
                floors.append(cpu_seconds(sort_both, *pair))
                ratios[way].append(cpu_seconds(call, *pair) / floors[-1])
        same = bbe(thin_tails(*pair)) == bbe(Tails.from_scores(*pair)) == bbe(plain_tails(*pair))
        rows.append(
            [kind, f"{median(floors):.3f}", *(f"{median(ratios[way]):.2f}" for way in WAYS), same]
        )
    targets = [f"≤ {target}" if target else "" for _, target in WAYS.values()]
    rows.append(["target", "", *targets, "True"])
    return table(["scores", "np.sort of both, s", *WAYS, "α̂, cut: same bits"], rows)


def memory() -> str:
    """Peaks of fresh processes that load both samples and do one thing."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("logits", "probabilities"):
            pair = KINDS[kind](ROWS)
            files = [str(Path(folder) / f"{side}.npy") for side in "pu"]
            for file, scores in zip(files, pair, strict=True):
                np.save(file, scores)
            size = sum(scores.nbytes for scores in pair) / 2**20
            distinct = np.unique(pair[0]).size / ROWS
            for way in WAYS:
                grown = apart(__file__, "peak", way, *files)
                rows.append([kind, f"{distinct:.0%}", way, f"{size:.0f}", f"{grown:.0f}",
                             f"{grown / size:.2f}", f"{1 + grown / size:.2f}"])  # fmt: skip
    columns = ["scores", "distinct positives", "what", "input MiB", "added MiB"]
    return table([*columns, "added : input", "(input + added) : input"], rows)


def grown_by(call: Callable[..., object], *given: object) -> float:
    before = peak_mb()
    call(*given)
    return peak_mb() - before


def pool(rows: int = 1_000_000) -> list[np.ndarray]:
    return [logits(rows, seed)[1] for seed in range(4)]


def cycle(chunks: list[np.ndarray], number: int) -> Iterator[np.ndarray]:
    return (chunks[i % len(chunks)] for i in range(number))


def chunks() -> str:
    """n_p = 1e5; chunks of 1e6 unlabeled rows, or of 1e4, out of a few that repeat."""
    scores_p, made = logits(100_000, 9)[0], pool()
    small = [part for chunk in made for part in np.split(chunk, 100)]
    rows = []
    for label, source, number in (
        ("1e7 in chunks of 1e6", made, 10),
        ("1e8 in chunks of 1e6", made, 100),
        ("1e8 in chunks of 1e4", small, 10_000),
    ):
        took = cpu_seconds(Tails.from_chunks, scores_p, cycle(source, number))
        floor = sum(cpu_seconds(np.sort, chunk) for chunk in cycle(source, number))
        added = apart(__file__, "chunks", len(source[0]), number)
        rows.append([label, f"{took:.2f}", f"{took / floor:.2f}", f"{added:.1f}"])
    columns = ["n_u", "seconds", "× np.sort of the chunks", "added MiB"]
    return table(columns, rows)


def grown_by_chunks(length: int, number: int) -> float:
    scores_p, made = logits(100_000, 9)[0], pool()
    parts = [part for chunk in made for part in np.split(chunk, chunk.size // length)]
    return grown_by(Tails.from_chunks, scores_p, cycle(parts, number))


def resampling(n: int = 100_000, drawn: int = 20) -> str:
    scores_p, scores_u = logits(n)
    rng = np.random.default_rng(0)

    def resample_and_sort(count: Callable[..., Tails]) -> None:
        for _ in range(drawn):
            bbe(count(rng.choice(scores_p, n), rng.choice(scores_u, n)))

    tails = Tails.from_scores(scores_p, scores_u)
    fast = median(cpu_seconds(bootstrap, tails) for _ in range(REPEATS))
    rows = [["`bootstrap` from tails", f"{fast:.3f}", "1"]]
    for label, count in (("np.sort, searchsorted", plain_tails), ("ours", Tails.from_scores)):
        slow = median(cpu_seconds(resample_and_sort, count) for _ in range(3)) * 1000 / drawn
        rows.append([f"resample, count by {label}", f"{slow:.2f}", f"{slow / fast:.0f}"])
    return table(["1,000 replicates at n_p = n_u = 1e5", "seconds", "× `bootstrap`"], rows)


def main() -> None:
    one_thread()
    text = head("Speed and memory of counting", "python bench/scripts/speed_tails.py")
    text += (
        f"CPU seconds of one thread; ratios are medians of {REPEATS} repeats that take turns with "
        "the floor, in one run. Gaussians 3σ apart unless stated otherwise, α = 0.3.\n\n"
        f"## {ROWS:,} + {ROWS:,} float32: time as a multiple of np.sort of both\n\n{speed()}\n"
        f"## Peak memory of the same\n\nResident memory of a fresh process, beyond the loaded "
        f"input. The result of full tails alone takes 20 bytes per distinct positive, against 8 "
        f"bytes of input per row of both samples.\n\n{memory()}\n"
        f"## n_p = 1e5, unlabeled rows in chunks\n\n{chunks()}\n"
        f"## Bootstrap\n\nResampling was timed for 20 replicates and multiplied.\n\n{resampling()}"
    )
    save("speed_tails.md", text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["peak"]:
        call, given = WAYS[sys.argv[2]][0], [np.load(file) for file in sys.argv[3:]]
        answer(grown_by(call, *given))
    elif sys.argv[1:2] == ["chunks"]:
        answer(grown_by_chunks(*map(int, sys.argv[2:])))
    else:
        main()
