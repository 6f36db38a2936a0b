"""The product of two tails: exact by enumeration, and near what a fine grid finds."""

import math

import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.bounds.tail_products import product_p_value
from tests.statistics.test_exact_levels import binomials, most_excess


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.7, 0.0), (0.7, 0.1), (2.0, 0.02)])
def test_no_p_value_comes_oftener_than_it_says_and_hardly_more_is_asked(epsilon: float, delta: float) -> None:
    trials, product = 9, 0.0
    for q in np.linspace(0.02, (1.0 - delta) * math.exp(-epsilon), 15):
        most = min(math.exp(epsilon) * q + delta, 1.0 - math.exp(-epsilon) * (1.0 - q - delta))
        outcomes = list(binomials(trials, most, q))
        x, y = np.array([found for found, _ in outcomes]).T
        masses = [mass for _, mass in outcomes]
        p_values = product_p_value(x, y, trials, [(epsilon, delta)])
        product = max(product, most_excess(zip(p_values.tolist(), masses, strict=True)))
        # Not above what a fine grid finds of the largest product, by more than a step of 2 %.
        grid = np.linspace(0.0, 1.0, 4001)
        allowed = np.minimum(math.exp(epsilon) * grid + delta, 1.0 - math.exp(-epsilon) * (1.0 - grid - delta))
        tails = stats.binom.sf(x[:, None] - 1, trials, np.clip(allowed, 0.0, 1.0)) * stats.binom.cdf(
            y[:, None], trials, grid
        )
        largest = tails.max(axis=1)
        exact = np.minimum(largest * (1.0 - np.log(np.maximum(largest, 1e-300))), 1.0)
        assert (p_values >= exact * (1.0 - 1e-9)).all()
        assert (p_values[(p_values < 1.0) & (exact > 1e-6)] <= 1.03 * exact[(p_values < 1.0) & (exact > 1e-6)]).all()
    assert 0.05 < product <= 1.0 + 1e-9
