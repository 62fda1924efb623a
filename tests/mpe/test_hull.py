"""The hull distance against its definition, and the laws that make bisection of its slope safe."""

import numpy as np
import pytest
from gaussians import gaussians
from plain_features import simplex_by_nnls

from topbin.core import InputError
from topbin.mpe import hull_curve, km
from topbin.mpe.km import Embedding, best_kernel, project
from topbin.mpe.samples import read_samples, standardize


def samples(alpha=0.3, n=120, **options):
    sample = gaussians(alpha, n, n + 30, **options)
    return sample.X_p, sample.X_u


def plain_distance(space, lam):
    n_p, n_u = space.n_p, len(space.kernel) - space.n_p
    target = np.r_[np.full(n_p, (1 - lam) / n_p), np.full(n_u, lam / n_u)]
    rest = target - simplex_by_nnls(space.kernel, space.kernel @ target)
    return np.sqrt(rest @ space.kernel @ rest)


@pytest.mark.parametrize("kappa", [0.2, 0.35, 0.6, 0.9])
@pytest.mark.parametrize("noise", [0, 3, 20])
def test_distance_and_slope_equal_the_definition(kappa, noise):
    space, lam = hull_curve(*samples(n=60, noise=noise)).space, 1 / (1 - kappa)
    point = project(space, kappa, np.arange(5))
    near, far = plain_distance(space, lam - 1e-3), plain_distance(space, lam + 1e-3)
    # d is convex: the slope lies between the difference quotients of both sides.
    middle = plain_distance(space, lam)
    assert point.distance == pytest.approx(middle, rel=1e-3, abs=2e-4)
    if point.slope > 0:
        assert point.slope == pytest.approx((far - near) / 2e-3, rel=0.03, abs=1e-3)


def test_the_distance_is_convex_and_its_slope_rises_to_the_largest():
    curve = hull_curve(*samples(noise=2))
    kappas = np.linspace(0.05, 0.95, 19)
    points = [project(curve.space, kappa, np.arange(100)) for kappa in kappas]
    lams, d = 1 / (1 - kappas), np.array([point.distance for point in points])
    slopes = np.array([point.slope for point in points])
    assert (np.diff(d) > -1e-3).all()
    assert (np.diff(slopes) > -1e-3).all()
    assert slopes[-1] == pytest.approx(curve.space.full_slope, rel=0.02)
    quotients = np.diff(d) / np.diff(lams)
    # Where d is next to nothing the slope is taken for 0.
    assert ((quotients <= slopes[1:] + 1e-3) | (slopes[1:] == 0)).all()
    assert (quotients >= slopes[:-1] - 1e-3).all()


def test_the_rows_a_program_starts_from_do_not_matter():
    space = hull_curve(*samples(noise=4)).space
    starts = (np.arange(3), np.arange(200, 270), np.arange(len(space.kernel)))
    points = [project(space, 0.4, rows) for rows in starts]
    for point in points[1:]:
        assert point.distance == pytest.approx(points[0].distance, rel=1e-4)
        assert point.slope == pytest.approx(points[0].slope, rel=1e-3)


def test_narrow_kernels_are_not_rewarded_when_both_samples_are_alike():
    X_p, X_u = samples(0.95, noise=4)
    pair = standardize(read_samples(X_p, X_u))
    assert best_kernel(pair)[1] == 1.0


def test_of_the_widths_the_one_that_sets_the_means_furthest_apart_is_taken():
    # Six spots each, side by side: only a narrow kernel tells the two samples apart.
    base = np.repeat(np.arange(0.0, 60, 10), 20)[:, None]
    pair = standardize(read_samples(base, base + 5))
    kernel, width = best_kernel(pair)
    assert width == 0.1
    assert kernel.shape == (240, 240)
    np.testing.assert_array_equal(np.diag(kernel), 1.0)


def test_noise_is_that_of_the_smaller_sample():
    assert Embedding.of(np.eye(20), 4).noise == Embedding.of(np.eye(20), 16).noise == 0.5


def test_a_program_without_solution_is_an_error(monkeypatch):
    class Broken:
        class settings:
            pass

        class result:
            x = np.full(3, np.nan)

        def setup(self, *args, **options): ...

        def solve(self): ...

    monkeypatch.setattr(km.piqp, "DenseSolver", Broken)
    with pytest.raises(InputError, match="TB014"):
        project(Embedding.of(np.eye(3), 1), 0.5, np.arange(3))
