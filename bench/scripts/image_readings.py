"""How α is read from images of one kind among those of another: a fit of arrays by `topbin.fit`.

    TOPBIN_DATA=folder OMP_NUM_THREADS=1 python bench/scripts/image_readings.py cat-dog 750 1500 \
        0.5 100 --preset good

Known positives, unlabeled images, α and a seed. It prints BBE, the floor and α̂; κ, the share of the
negatives that score as high as the top tenth of the known positives, over that of all positives;
and the 95 % interval. bench/results/image_readings.csv has these columns and some of readings that
were given up. Only this file sees true labels.
"""

import argparse

import numpy as np
from image_folders import draw_images
from tilted_floor import tilted_floor

import topbin as tb
from topbin_bench.tasks import cifar, mnist

KINDS = {
    "cat-dog": (cifar, (3,), (5,)),
    "auto-truck": (cifar, (1,), (9,)),
    "plane-ship": (cifar, (0,), (8,)),
    "deer-horse": (cifar, (4,), (7,)),
    "low-high": (cifar, range(5), range(5, 10)),
    "4-9": (mnist, (4,), (9,)),
    "3-5": (mnist, (3,), (5,)),
    "even-odd": (mnist, range(0, 10, 2), range(1, 10, 2)),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=list(KINDS))
    for name, kind in (("n_p", int), ("n_u", int), ("alpha", float), ("seed", int)):
        parser.add_argument(name, type=kind)
    parser.add_argument("--preset", default="fast")
    given = vars(parser.parse_args())
    preset = given.pop("preset")
    X_p, X_u, truth = draw_images(KINDS[given["kind"]], *list(given.values())[1:])
    result = tb.fit(X_u, positives=X_p, budget=preset, seed=given["seed"])
    evidence, estimate = result.classifier.evidence_, result.estimate
    z_p, z_u = evidence.scores
    bbe = tb.estimate_alpha(z_p, z_u, method="bbe", confidence=None).alpha
    cut = np.quantile(z_p, 0.9)
    seen = (z_u[~truth] >= cut).mean() / (np.r_[z_p, z_u[truth]] >= cut).mean()
    low, high = estimate.interval
    print(
        *given.values(), preset, f"BBE {bbe:.3f}", f"floor {tilted_floor(z_p, z_u):.3f}",
        f"α̂ {estimate.alpha:.3f}", f"κ seen {seen:.2f}",
        f"interval {low:.3f} to {high:.3f}", sep=", ",
    )  # fmt: skip


if __name__ == "__main__":
    main()
