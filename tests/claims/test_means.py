"""What the twins of estimators of a mean share."""

import numpy as np
import pytest

from dpverify.claims.local.baselines import CentralLaplaceMeanClaims
from dpverify.claims.means import MeanClaims
from dpverify.claims.shuffled_mean import ShuffledMeanClaims
from protocols.local.baselines import CentralLaplaceMean
from protocols.shuffled_mean import ShuffledMean


def test_nothing_of_it_is_optional() -> None:
    assert MeanClaims.__abstractmethods__ == {"curve", "most", "estimate_law"}


def test_continuous_estimates_are_read_by_cells() -> None:
    claims, curator = CentralLaplaceMeanClaims(), CentralLaplaceMean(4, 1.0, 2.0)
    law = claims.estimate_law(curator, [0.0, 2.0, 0.0, 0.0])
    estimates = [curator.run([0.0, 2.0, 0.0, 0.0], np.random.default_rng(seed)) for seed in range(2000)]
    read = claims.readable_estimate(curator, np.array(estimates))
    assert abs(read.mean() - law.mean) < 5.0 * np.sqrt(law.variance / 2000)
    assert claims.most(curator) == 2.0


def test_bits_are_counted() -> None:
    claims, mean = ShuffledMeanClaims(), ShuffledMean(3, 0.5)
    assert claims.estimate_law(mean, [0, 1, 0]).mean == pytest.approx(1 / 3, rel=1e-12)
    assert claims.most(mean) == 1.0
    with pytest.raises(ValueError, match=r"^values has 2 entries, but must have one for each of users=3\.$"):
        claims.estimate_law(mean, [0, 1])
