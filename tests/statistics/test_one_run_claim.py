import math

import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.bounds.claims import GaussianDP
from dpverify.statistics.one_run_claim import OneRunClaim, right_by_response, right_of_surest


def test_the_surest_guesses_under_gaussian_noise_are_right_as_often_as_planned() -> None:
    rng = np.random.default_rng(5)
    secrets = rng.integers(0, 2, 40_000)
    noise = secrets - 0.5 + rng.normal(size=secrets.size) / 1.5
    for share in (0.1, 0.5, 1.0):
        surest = np.argsort(-np.abs(noise))[: int(share * secrets.size)]
        right = int(((noise > 0.0) == secrets)[surest].sum())
        assert abs(right / surest.size - right_of_surest(1.5, share)) < 5.0 * 0.5 / surest.size**0.5


def test_a_guess_of_one_bit_is_as_good_as_the_claim_allows() -> None:
    assert right_by_response(OneRunClaim.of(GaussianDP(1.0), ()).epsilon) == pytest.approx(stats.norm.cdf(0.5))
    pure = OneRunClaim.of(("0.7", 0), [(1, "1e-3")])
    assert (pure.epsilon, pure.delta, pure.words) == (0.7, 0.0, "0.7 and 1 more points")
    assert pure.fault(0.5, 0.1)[0] == pytest.approx(1.0 / (1.0 + math.exp(-1.05)))
    curve = OneRunClaim.of(GaussianDP(1.0), ())
    assert curve.fault(0.5, 1.0)[0] == pytest.approx(stats.norm.cdf(0.75))
    assert curve.fault(0.5, 0.1)[0] > 0.95
