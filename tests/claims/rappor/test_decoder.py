"""The exact error of debiased bits, and what the decoder makes of it."""

import math

import numpy as np
import pytest

from dpverify.claims.rappor.decoder import bit_variance, deviation, least_holders
from protocols.rappor.decoder import BitCounts, decode
from protocols.rappor.response import Rappor
from tests.refusals import refused

MECHANISM = Rappor(32, 2, cohorts=64, f=0.25, p=0.25, q=0.75)


def test_the_variance_of_a_bit_is_that_of_its_enumerated_law() -> None:
    mechanism = Rappor(2, 1, f=0.5, p=0.25, q=0.875)
    zero, one = mechanism.report_probabilities
    for holders in range(5):
        law = np.ones(1)
        for user in range(4):
            chance = one if user < holders else zero
            law = np.convolve(law, [1 - chance, chance])
        estimates = (np.arange(5) - 4 * zero) / (one - zero)
        assert law @ estimates == pytest.approx(holders)
        assert float(bit_variance(mechanism, 4, holders)) == pytest.approx(law @ (estimates - holders) ** 2)
    counts = BitCounts.sample(mechanism, {"a": 4}, np.random.default_rng(1))
    np.testing.assert_allclose(counts.noise, bit_variance(mechanism, 4, np.clip(counts.debiased, 0, 4)))


def test_holders_are_checked() -> None:
    with refused("holders=5"):
        bit_variance(MECHANISM, 4, 5)


@pytest.mark.long
def test_a_string_of_the_least_holders_is_named_half_the_time() -> None:
    users, listed = 50_000, [f"word {index}" for index in range(50)]
    holders = round(least_holders(MECHANISM, users, len(listed)))
    rng, named, spread = np.random.default_rng(2), 0, []
    for run in range(200):
        rare = f"rare {run}"
        found = decode(BitCounts.sample(MECHANISM, {listed[0]: users - holders, rare: holders}, rng), [*listed, rare])
        named += rare in found.found()
        spread.append(found.deviations[-1])
    # The frequent string's bits, and the rare one's own chance of being drawn, add a little to the noise.
    assert np.mean(spread) == pytest.approx(deviation(MECHANISM, users), rel=0.1)
    assert 60 <= named <= 130


def test_more_holders_are_needed_for_more_power_and_candidates() -> None:
    least = least_holders(MECHANISM, 10**5, 100)
    assert least < least_holders(MECHANISM, 10**5, 1000) < least_holders(MECHANISM, 10**5, 1000, power=0.9)
    assert least_holders(MECHANISM, 4 * 10**5, 100) == pytest.approx(2 * least)
    assert deviation(Rappor(2, 2, f=0.5, p=0.25, q=0.5), 10) == math.inf
