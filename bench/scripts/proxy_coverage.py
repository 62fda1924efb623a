"""Do audits with cheaper labels cover, and how much narrower are they? Drawn and real rows.

    TOPBIN_DATA=folder OMP_NUM_THREADS=1 python bench/scripts/proxy_coverage.py

Probabilities of real rows come from `TEDnClassifier(preset="fast")`, cross-fitted. Proxies are the
truth with errors, in these shares of rows: right ones, poor ones, noise, one that is mostly wrong.
Nothing was chosen on these rows.
"""

import tempfile
from pathlib import Path

import numpy as np
from audit_coverage import TABLES, drawn, real
from report import head, save, table

from topbin.evaluate import audit

ALPHAS, SIZES, REPEATS = (0.05, 0.3), (50, 100, 200), 25
PROXIES = {
    "none": (),
    "one, 5 % wrong": (0.05,),
    "one, 20 % wrong": (0.2,),
    "5 % and 10 % wrong": (0.05, 0.1),
    "noise": (0.5,),
    "90 % wrong": (0.9,),
}


def cheaper(truth, errors, rng):
    """A column for each share of errors."""
    return np.column_stack([(truth != (rng.random(truth.size) < e)) * 1.0 for e in errors])


def audits(scored, errors, n, rng):
    """Whether each audit held the truth, and its width."""
    for seed in range(REPEATS):
        proxies = cheaper(scored.truth, errors, rng) if errors else None
        sample = audit.draw_weighted(scored.f_u, n, seed=seed)
        said = np.where(scored.truth[sample.rows], "yes", "no")
        found = audit.judge(
            sample, said, scored.alpha, probabilities=scored.f_u, proxies=proxies, look=1
        )
        low, high = found.interval
        yield low <= scored.truth.mean() <= high, high - low


def main() -> None:
    folder = Path(tempfile.gettempdir()) / "audit_scores"
    folder.mkdir(exist_ok=True)
    cells: dict[tuple[str, float, int, str], list[tuple[bool, float]]] = {}
    for alpha in ALPHAS:
        rows = [("drawn", drawn("d = 2", alpha, seed)) for seed in range(5)]
        rows += [("real", real(name, alpha, 0, folder)) for name in TABLES]
        for kind, scored in rows:
            for name, errors in PROXIES.items():
                rng = np.random.default_rng([len(errors), round(100 * alpha)])
                for n in SIZES:
                    cells.setdefault((kind, alpha, n, name), []).extend(
                        audits(scored, errors, n, rng)
                    )
    lines = []
    for (kind, alpha, n, name), found in cells.items():
        held, widths = zip(*found, strict=True)
        plain = np.mean([width for _, width in cells[kind, alpha, n, "none"]])
        ratio = np.mean(widths) / plain
        shown = f"{np.mean(held):.3f}", f"{np.mean(widths):.3f}", f"{ratio:.2f}"
        lines.append([kind, alpha, n, name, len(found), *shown])
    every = [held for found in cells.values() for held, _ in found]
    with_proxy = [held for key, found in cells.items() if key[-1] != "none" for held, _ in found]
    text = head(
        "Audits with cheaper labels", "TOPBIN_DATA=… python bench/scripts/proxy_coverage.py"
    )
    text += (
        f"{len(every):,} audits at 95 %, {len(with_proxy):,} of them with proxies: these cover "
        f"{np.mean(with_proxy):.3f}. The first look at the result, which uses 4 of the 5 % of "
        "doubt. The last column is the width, divided by that of the same audits without a "
        "proxy.\n\n"
    )
    columns = ["rows", "α", "labels", "proxies", "audits", "covers", "width", "ratio"]
    save("proxy_coverage.md", text + table(columns, lines))


if __name__ == "__main__":
    main()
