"""Formulas for the baselines: what they promise, against the laws themselves."""

import math

import numpy as np
import pytest

from dpverify.formulas.protocols import baselines
from tests.formulas.agreement import assert_one_number

VALUES = np.arange(-400, 401)


@pytest.mark.parametrize("epsilon0", [0.05, 0.7, 3.0])
def test_pure_losses_are_epsilon0(epsilon0: float) -> None:
    p = assert_one_number(baselines.discrete_laplace_p, {"epsilon0": epsilon0})
    law = p ** np.abs(VALUES[300:501]).astype(float)
    assert np.log(law[1:] / law[:-1]).max() == pytest.approx(epsilon0, rel=1e-12)
    flip = assert_one_number(baselines.local_flip_probability, {"epsilon0": epsilon0})
    assert math.log((1 - flip) / flip) == pytest.approx(epsilon0, rel=1e-12)


@pytest.mark.parametrize(("epsilon0", "delta0"), [(0.7, 1e-6), (0.05, 1e-2), (4.0, 0.3)])
def test_discrete_gaussian_noise_is_private_at_its_sigma(epsilon0: float, delta0: float) -> None:
    sigma = assert_one_number(baselines.discrete_gaussian_sigma, {"epsilon0": epsilon0, "delta0": delta0})
    rho = 1 / (2 * sigma**2)
    assert rho + 2 * math.sqrt(rho * math.log(1 / delta0)) == pytest.approx(epsilon0, rel=1e-12)
    law = np.exp(-(VALUES**2) / (2 * sigma**2))
    law /= law.sum()
    assert np.maximum(law[:-1] - math.exp(epsilon0) * law[1:], 0.0).sum() <= delta0
