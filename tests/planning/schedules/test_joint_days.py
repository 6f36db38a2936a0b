"""Days whose bits change jointly, next to each other and to days that change fully."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from dpverify.guarantee import Interval
from dpverify.planning.account import account
from dpverify.planning.schedules.result import ScheduleResult
from protocols.bitsum import CentralGaussian, Poisson, RandomizedResponse
from protocols.kde import KernelDensityProtocol
from protocols.lsq import LaplacianBinning, LinearMap
from protocols.sums.vectors import UnaryVectorSum

CROWD = RandomizedResponse(2_000, 0.2)
DENSITY = KernelDensityProtocol(CROWD, LinearMap(24, "haar", 0.4, 24, radius=1.0).sample(1, np.random.default_rng(0)))
MORE = dataclasses.replace(DENSITY, bitsum=RandomizedResponse(2_001, 0.2))


def spent(days: list[Any], **options: Any) -> Interval:
    return account(days, delta=1e-6, **options).epsilon


@pytest.mark.long
def test_two_densities_cost_what_two_runs_of_one_do() -> None:
    twice = account(DENSITY, instances=2, delta=1e-6).epsilon
    once = account(DENSITY, delta=1e-6).epsilon
    found = spent([(DENSITY, 1), (MORE, 1)])
    assert once.upper < found.lower < found.upper
    assert found.upper == pytest.approx(twice.upper, rel=2e-3)
    # One more user is never worse, so that the true epsilons are in this order. Of lower ends no two need be near each
    # other, as each is that of points which a climb has found: only how wide an interval is can be asked for.
    assert account(MORE, instances=2, delta=1e-6).epsilon.lower <= found.upper
    assert found.lower <= twice.upper
    assert found.width < 0.015 * found.upper
    assert spent([(DENSITY, 1), (DENSITY, 1)]) == twice


@pytest.mark.long
def test_a_density_beside_full_changes_costs_less_than_its_bits_in_full() -> None:
    found = account([(DENSITY, 1), (RandomizedResponse(900, 0.25), 4)], delta=1e-6)
    assert isinstance(found, ScheduleResult)
    without = account(RandomizedResponse(900, 0.25), instances=4, delta=1e-6).epsilon
    in_full = spent([(CROWD, 24), (RandomizedResponse(900, 0.25), 4)])
    assert without.upper < found.epsilon.lower < found.epsilon.upper < 0.8 * in_full.lower
    assert found.epsilon.width < 0.05 * found.epsilon.upper
    assert found.epsilon.upper < found.schedule.basic_epsilon(1e-6)
    (_, first), (_, last) = found.cumulative([1, 5])
    alone = account(DENSITY, delta=1e-6).epsilon
    assert max(first.lower, alone.lower) <= min(first.upper, alone.upper)
    assert last.upper == pytest.approx(found.epsilon.upper, rel=1e-3)
    (_, only) = account([(CROWD, 2), (DENSITY, 1)], delta=1e-6).cumulative([2])[0]  # type: ignore[attr-defined]
    assert only.lower <= account(CROWD, instances=2, delta=1e-6).epsilon.upper
    assert only.upper >= account(CROWD, instances=2, delta=1e-6).epsilon.lower
    assert only.width < 1e-3 * only.upper


@pytest.mark.long
def test_a_vector_beside_full_changes_and_others_of_another_length() -> None:
    """Within what is attained at once and what both add up to; all views of one coordinate and a bit are below it."""
    vector = UnaryVectorSum(Poisson(2_000, 500.0), 64, 4.0)
    alone, bits = account(vector, delta=1e-6).epsilon, [(Poisson(2_000, 900.0), 3)]
    assert spent([(vector, 1)]).upper == pytest.approx(alone.upper, rel=1e-9)
    found = account([(vector, 1), *bits], delta=1e-6)
    assert isinstance(found, ScheduleResult)
    assert alone.upper < found.epsilon.lower < found.epsilon.upper < alone.upper + spent(bits).upper
    assert found.epsilon.width < 0.03 * found.epsilon.upper
    (guess,) = [found.schedule.curve(1e-6, guess=True).epsilon(1e-6).upper]
    assert guess == pytest.approx(found.epsilon.upper, rel=0.03)
    two = spent([(vector, 1), (UnaryVectorSum(Poisson(2_000, 500.0), 16, 4.0), 1)])
    twice = spent([(vector, 2)])
    assert twice.upper * 0.97 < two.upper < twice.upper * 1.03
    one, bit = UnaryVectorSum(Poisson(2, 9.0), 1, 1.3, 1.0), Poisson(2, 9.0)
    noise = np.exp(np.arange(60) * math.log(9.0) - 9.0 - [math.lgamma(k + 1.0) for k in range(60)])
    steps = {0: [1.0], 1.3: [0.0, 0.7, 0.3], 0.8: [0.2, 0.8]}
    for before, after in ((1.3, -1.3), (0.8, -1.3), (1.3, 0)):
        laws = []
        for v, held in ((before, [0.0, 1.0]), (after, [1.0])):
            up, down = (np.convolve(noise, steps[max(side * v, 0)])[:40] for side in (1, -1))
            laws.append(np.multiply.outer(np.multiply.outer(up[:40], down[:40]), np.convolve(noise, held)[:40]))
        for epsilon in (0.3, 1.2):
            most = account([(one, 1), (bit, 1)], epsilon=epsilon).delta.upper
            for first, second in (laws, laws[::-1]):
                assert np.maximum(first - math.exp(epsilon) * second, 0.0).sum() <= most
    assert most < account([(one, 1), (bit, 2)], epsilon=epsilon).delta.upper


@pytest.mark.long
def test_honest_users_of_a_density_among_others() -> None:
    fewer = dataclasses.replace(DENSITY, bitsum=RandomizedResponse(1_500, 0.2))
    found = spent([(DENSITY, 1, 1_500), (CROWD, 2)])
    assert found == spent([(fewer, 1), (CROWD, 2)])


@pytest.mark.long
def test_sparse_features_mix_and_those_without_a_law_are_charged_in_full() -> None:
    rng = np.random.default_rng(3)
    cells = KernelDensityProtocol(CROWD, LaplacianBinning(2, 1.0, 8, False).sample(4, rng))
    found = spent([(cells, 1), (CROWD, 2)])
    alone, in_full = account(cells, delta=1e-6).epsilon, spent([(CROWD, 8), (CROWD, 2)])
    assert alone.lower <= found.upper <= 1.2 * in_full.upper
    assert found.lower >= account(CROWD, instances=2, delta=1e-6).epsilon.lower * (1.0 - 1e-3)
    curator = KernelDensityProtocol(CentralGaussian(2_000, 20.0), DENSITY.features)
    central = spent([(curator, 1), (CentralGaussian(2_000, 30.0), 1)])
    assert account(curator, delta=1e-6).epsilon.lower <= central.upper < 1.0


@pytest.mark.long
def test_joint_changes_are_met_in_all_runs() -> None:
    with pytest.raises(
        ValueError, match=r"^at_most=1 must be omitted: the joint changes of kde are met in all runs\.$"
    ):
        spent([(DENSITY, 1), (CROWD, 1)], at_most=1)
    assert spent([(DENSITY, 3)], at_most=1) == account(DENSITY, delta=1e-6).epsilon
