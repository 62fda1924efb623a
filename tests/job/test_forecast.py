"""The width of an interval before any fit: what a fit would have, by the same rules."""

import numpy as np
import pytest
from scipy.special import ndtri

from topbin.core.evidence import Evidence
from topbin.job.forecast import AUCS, expected_evidence
from topbin.mpe.estimate import estimate_alpha


def width(evidence):
    low, high = estimate_alpha(evidence).interval
    return high - low


@pytest.mark.parametrize(("n_p", "n_u"), [(100, 469), (1000, 5000)])
@pytest.mark.parametrize("auc", AUCS)
def test_it_is_about_the_mean_width_of_random_scores(n_p, n_u, auc):
    gap, hidden = np.sqrt(2) * ndtri(auc), round(0.25 * n_u)
    widths = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        scores_u = np.r_[rng.normal(gap, 1, hidden), rng.normal(0, 1, n_u - hidden)]
        widths.append(width(Evidence.of(rng.normal(gap, 1, n_p), scores_u, crossfitted=True)))
    assert width(expected_evidence(n_p, n_u, auc)) == pytest.approx(np.mean(widths), rel=0.3)


def test_more_rows_and_better_models_make_it_narrower():
    by_rows = [width(expected_evidence(n, 10 * n, 0.9)) for n in (30, 100, 1000, 10_000)]
    assert by_rows == sorted(by_rows, reverse=True)
    by_auc = [width(expected_evidence(300, 3000, auc)) for auc in AUCS]
    assert by_auc == sorted(by_auc)


def test_no_table_is_too_large_for_it():
    assert expected_evidence(10**9, 10**10, 0.9).tails.n_p == 50_000
