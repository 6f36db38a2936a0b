import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from protocols.bitsum import (
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    CentralGaussian,
    CentralSum,
    LocalRandomizedResponse,
)
from protocols.kde import KernelDensityProtocol
from protocols.lsq import GaussianFeatures
from tests.contracts import BitsumContract
from tests.samples import FALSE_ALARM, assert_law, assert_mean, assert_variance

CENTRAL: list[tuple[CentralSum, float]] = [
    (CentralGaussian(6, 2.5), 2.5**2),
    (CentralDiscreteLaplace(6, 0.6), 2 * 0.6 / 0.4**2),
    (CentralDiscreteGaussian(6, 3.0), 9.0),
]


class TestLocalRandomizedResponse(BitsumContract):
    protocol = LocalRandomizedResponse(users=4, flip_probability=0.3)

    def variance(self, ones: int, participants: int) -> float:
        return participants * 0.3 * 0.7 / 0.4**2


@pytest.mark.parametrize(("protocol", "variance"), CENTRAL)
@pytest.mark.parametrize("participants", [6, 3])
def test_central_sums_are_unbiased(protocol: CentralSum, variance: float, participants: int) -> None:
    ones = np.full(100_000, 2)
    estimates = protocol.analyze(protocol.sample_view(ones, np.random.default_rng(71), participants=participants))
    assert_mean(estimates, 2, variance)
    assert_variance(estimates, 2, variance)


@pytest.mark.parametrize(
    ("protocol", "weight"),
    [
        (CentralDiscreteLaplace(6, 0.6), lambda z: 0.6 ** abs(z)),
        (CentralDiscreteGaussian(6, 2.3), lambda z: math.exp(-z * z / (2 * 2.3**2))),
        (CentralDiscreteGaussian(6, 0.4), lambda z: math.exp(-z * z / (2 * 0.4**2))),
    ],
)
def test_discrete_noise_has_its_law(protocol: CentralSum, weight: Callable[[int], float]) -> None:
    total = sum(weight(z) for z in range(-200, 201))
    pmf = {z: weight(z) / total for z in range(-8, 9)}
    pmf[99] = max(0.0, 1.0 - sum(pmf.values()))
    noise = protocol.analyze(protocol.sample_view(np.full(50_000, 4), np.random.default_rng(72))) - 4
    assert_law([int(z) if abs(z) <= 8 else 99 for z in noise], {z: mass for z, mass in pmf.items() if mass > 0})


def test_gaussian_noise_is_normal() -> None:
    protocol = CentralGaussian(6, 2.5)
    noise = protocol.analyze(protocol.sample_view(np.full(20_000, 1), np.random.default_rng(73))) - 1
    assert stats.kstest(noise, stats.norm(0, 2.5).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("protocol", "_"), CENTRAL)
def test_there_are_no_messages(protocol: CentralSum, _: float) -> None:
    rng = np.random.default_rng(74)
    for call in (lambda: protocol.randomize([1, 0], rng), lambda: protocol.view([1, 0])):
        with pytest.raises(TypeError, match="has no messages: a trusted curator holds the bits"):
            call()
    assert isinstance(protocol.run([1, 0, 1], rng, participants=3), float)


@pytest.mark.parametrize(("protocol", "_"), CENTRAL)
def test_views_are_checked(protocol: CentralSum, _: float) -> None:
    assert protocol.analyze([[1], [-3]]).tolist() == [1.0, -3.0]
    with pytest.raises(ValueError, match=r"^view has shape \(2,\), but must have shape \(\.\.\., 1\)\.$"):
        protocol.analyze([1, 2])
    with pytest.raises(ValueError, match=r"^view contains nan"):
        protocol.analyze([float("nan")])


@pytest.mark.parametrize(("protocol", "variance"), CENTRAL)
def test_kernel_densities_take_them_as_bitsums(protocol: CentralSum, variance: float) -> None:
    rng = np.random.default_rng(75)
    features = GaussianFeatures(2).sample(5000, rng)
    points = np.zeros((protocol.users, 2))
    private = KernelDensityProtocol(protocol, features)
    # Rounding f to bits has the variance of a sum of Bernoulli bits, and the noise adds to it.
    share = (1 + features.f(points[:1]).ravel() / features.family.R) / 2
    sums = (private.simulate(points, rng).published.ravel() / features.family.R + protocol.users) / 2
    standard = (sums - protocol.users * share) / np.sqrt(protocol.users * share * (1 - share) + variance)
    assert_mean(standard, 0.0, 1.0)
    assert_mean(standard**2, 1.0)
    with pytest.raises(TypeError, match="has no messages"):
        private.randomize(points, rng)
