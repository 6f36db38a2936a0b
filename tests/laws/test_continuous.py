"""Laws with a density against numerical integration of it."""

import numpy as np
import pytest
from scipy import integrate

from dpverify.laws.continuous import Cells, Gaussian, Laplace
from dpverify.statistics.bounds.rare import rare_events
from tests.refusals import refused


@pytest.mark.parametrize("law", [Laplace(0.0, 1.0), Laplace(-3.0, 0.25), Laplace(2.0, 7.0)])
def test_the_density_integrates_to_the_distribution_function(law: Laplace) -> None:
    for y in (law.location - 2.0 * law.scale, law.location, law.location + 0.5 * law.scale):
        below = integrate.quad(lambda t: float(np.exp(law.log_density(t))), law.location - 60.0 * law.scale, y)[0]
        assert float(law.cdf(y)) == pytest.approx(below, rel=1e-8)
    assert float(law.cdf(np.inf)) == 1.0


def test_rare_reports_keep_their_digits() -> None:
    assert float(Laplace(0.0, 1.0).cdf(-700.0)) == pytest.approx(0.5 * np.exp(-700.0), rel=1e-12)


def test_a_law_needs_a_positive_scale() -> None:
    with refused("scale=0.0"):
        Laplace(1.0, 0.0)


@pytest.mark.parametrize("law", [Gaussian(0.0, 1.0), Gaussian(-3.0, 0.25)])
def test_the_gaussian_density_integrates_to_the_distribution_function(law: Gaussian) -> None:
    for y in (law.mean - 2.0 * law.sigma, law.mean, law.mean + 0.5 * law.sigma):
        below = integrate.quad(lambda t: float(np.exp(law.log_density(t))), law.mean - 12.0 * law.sigma, y)[0]
        assert float(law.cdf(y)) == pytest.approx(below, rel=1e-8)
        assert float(law.survival(y)) == pytest.approx(1.0 - below, rel=1e-8)
    assert float(law.survival(law.mean + 30.0 * law.sigma)) == pytest.approx(4.906713927148187e-198, rel=1e-9)
    with refused("sigma=0.0"):
        Gaussian(1.0, 0.0)


def test_classes_of_cells_show_coarse_floats() -> None:
    law, rng = Laplace(0.3, 1.0), np.random.default_rng(4)
    cells, plain = Cells(0.3, 0.25, 80, 8), Cells(0.3, 0.25, 80)
    draws = 0.3 + rng.laplace(size=40_000)
    masses = cells.law(law)
    np.testing.assert_array_equal(cells.number(draws) // 8, plain.number(draws))
    assert masses.points[0] == -640
    assert masses.atoms == 1280

    def p_value(numbers: np.ndarray) -> float:
        return rare_events(masses, numbers)[0]

    assert p_value(cells.number(draws)) > 1e-3
    assert p_value(cells.number(draws.astype(np.float16).astype(float))) < 1e-12
    assert p_value(cells.number(draws.astype(np.float32).astype(float))) < 1e-12
