"""DEDPUL's curve against the posterior it was read from."""

import numpy as np
from gaussians import gaussians

from topbin.learn.classifiers import dedpul_curve
from topbin.learn.probabilities import TILT
from topbin.mpe.dedpul import dedpul_posterior


def test_the_curve_is_the_posterior_but_for_its_tilt():
    scores_p, scores_u = gaussians(0.3, 300, 300).scores()
    wanted = dedpul_posterior(scores_p, scores_u, alpha=0.3)
    found = dedpul_curve(scores_p, scores_u, 0.3)(scores_u)
    assert np.abs(found - wanted).max() <= TILT
    new = np.linspace(0, 1, 50)
    at = dedpul_posterior(scores_p, scores_u, at=new, alpha=0.3)
    assert np.abs(dedpul_curve(scores_p, scores_u, 0.3)(new) - at).max() <= TILT


def test_equal_scores_everywhere_are_no_trouble():
    curve = dedpul_curve(np.ones(5), np.ones(5), 0.4)
    assert curve([1.0])[0] == np.float64(0.4 * (1 - TILT) + TILT / 2)
