"""The twin of the trusted curator's mean, and equation 9.1."""

import math

import numpy as np
import pytest

from dpverify.claims.local.baselines import CentralLaplaceMeanClaims
from dpverify.guarantee import ThreatModel
from dpverify.planning.account import account
from protocols.local.baselines import CentralLaplaceMean
from protocols.local.laplace import LaplaceMean

CLAIMS, CURATOR = CentralLaplaceMeanClaims(), CentralLaplaceMean(50, 0.7, 2.0)


def test_equation_9_1_fails_with_probability_1_over_e() -> None:
    bound = 2.0 / (50 * 0.7)
    assert CLAIMS.exceeds(CURATOR, bound) == pytest.approx(math.exp(-1.0), rel=1e-12)
    assert CLAIMS.mean_absolute_error(CURATOR) == pytest.approx(bound, rel=1e-15)
    assert CLAIMS.rmse(CURATOR) == pytest.approx(math.sqrt(2.0) * bound, rel=1e-15)


def test_the_published_mean_has_the_stated_law() -> None:
    values, rng = np.linspace(0.0, 2.0, 50), np.random.default_rng(8)
    law = CLAIMS.estimate_density(CURATOR, values)
    found = np.array([CURATOR.run(values, rng) for _ in range(20_000)])
    for quantile in (law.location - law.scale, law.location, law.location + 2.0 * law.scale):
        assert float(np.mean(found <= quantile)) == pytest.approx(float(law.cdf(quantile)), abs=0.02)


@pytest.mark.parametrize("instances", [1, 40])
def test_its_privacy_is_that_of_one_report_of_the_same_epsilon(instances: int) -> None:
    found = account(CURATOR, instances=instances, delta="1e-6")
    assert found.epsilon == account(LaplaceMean(0.7), instances=instances, delta="1e-6").epsilon
    assert found.guarantee.threat_model is ThreatModel.CENTRAL
    assert found.epsilon == account(CURATOR, instances=instances, delta="1e-6", honest=7).epsilon
    assert found.notes == ("attained by a user whose value goes from one end to the other",)
    assert account(CURATOR, instances=instances, delta=0).epsilon.upper == pytest.approx(0.7 * instances, rel=1e-12)
