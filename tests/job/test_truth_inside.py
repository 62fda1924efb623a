"""Ten jobs on real rows with hidden labels: the true share lies in nine of ten intervals."""

import pytest
from tumours import TRUTH, means

from topbin.core.options import read_request
from topbin.job.fit import fit_prepared
from topbin.job.prepare import prepare


def settings_of(seed, folder):
    """One table or two files, csv or parquet, by turns."""
    frame = means(seed)
    ending, two = ("csv", "parquet")[seed % 2], seed // 2 % 2
    parts = {"all": frame}
    if two:
        parts = {k: frame[frame["known"] == k].drop(columns="known") for k in (1, 0)}
    for name, part in parts.items():
        path = str(folder / f"{name}.{ending}")
        part.to_csv(path, index=False) if ending == "csv" else part.to_parquet(path)
    if two:
        sides = {"positives": 1, "unlabeled": 0}
        return {key: str(folder / f"{k}.{ending}") for key, k in sides.items()} | {"id": "case"}
    return {"source": [str(folder / f"all.{ending}")], "label": "known", "id": "case"}


@pytest.mark.slow
def test_the_truth_lies_in_the_interval(tmp_path):
    inside = 0
    for seed in range(10):
        settings = {**settings_of(seed, tmp_path), "preset": "fast", "seed": seed}
        estimate = fit_prepared(prepare(read_request(settings))).estimate
        assert (estimate.n_p, estimate.n_u) == (100, 469)
        inside += estimate.interval[0] <= TRUTH <= estimate.interval[1]
    assert inside >= 9
