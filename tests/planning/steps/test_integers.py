"""Noise of integers: two steps against sums over all outcomes, for each adjacency and kind of sample."""

import math

import numpy as np
import pytest

from dpverify.guarantee import Adjacency, CapacityError
from dpverify.planning.steps.integers import DiscreteLaplaceStep, IntegerNoise, IntegerStep
from dpverify.planning.steps.sampling import Sampling
from dpverify.planning.steps.step import Steps

Law = np.ndarray
ADD, REPLACE, ZERO = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT
REACH, FIXED = 200, Sampling.FIXED_SIZE
Z = np.arange(-REACH, REACH + 1)


def law_of(step: IntegerStep | DiscreteLaplaceStep) -> Law:
    if isinstance(step, DiscreteLaplaceStep):
        return np.asarray(np.exp(-step.parameter * np.abs(Z)) * math.tanh(0.5 * step.parameter))
    if step.law is IntegerNoise.DISCRETE_GAUSSIAN:
        weights = np.exp(-0.5 * (Z / step.noise) ** 2)
        return np.asarray(weights / weights.sum())
    # The mean of e^(v (cos t - 1)) cos(z t): a trapezoidal rule, which is exact up to aliasing.
    t = np.arange(2048) * (2.0 * np.pi / 2048)
    return np.maximum(np.fft.fft(np.exp(step.noise**2 * (np.cos(t) - 1.0))).real[np.abs(Z)] / 2048, 0.0)


CASES: list[tuple[IntegerStep | DiscreteLaplaceStep, Adjacency, tuple[int, int, int]]] = [
    (DiscreteLaplaceStep(0.2, 3, 0.3), ADD, (0, 3, 0)),
    (DiscreteLaplaceStep(0.3, 2), REPLACE, (-2, 2, -2)),
    (DiscreteLaplaceStep(0.3, 2, 1e-3), ZERO, (0, 2, 0)),
    (DiscreteLaplaceStep(0.3, 2, 0.4), REPLACE, (0, 2, -2)),
    (DiscreteLaplaceStep(0.3, 2, 0.4, FIXED), ADD, (-2, 2, -2)),
    (IntegerStep(3.0), ADD, (0, 1, 0)),
    (IntegerStep(3.0, 4, 0.2), ZERO, (0, 4, 0)),
    (IntegerStep(3.0, 2, 0.2, IntegerNoise.SKELLAM), REPLACE, (0, 2, -2)),
    (IntegerStep(5.0, 2, 0.2, IntegerNoise.SKELLAM, FIXED), ADD, (-2, 2, -2)),
    (IntegerStep(2.0, 1, 1.0, IntegerNoise.SKELLAM), REPLACE, (-1, 1, -1)),
]


@pytest.mark.parametrize(("step", "adjacency", "places"), CASES, ids=lambda case: str(case)[:60])
def test_two_steps_are_the_sum_over_all_outcomes(
    step: IntegerStep | DiscreteLaplaceStep, adjacency: Adjacency, places: tuple[int, int, int]
) -> None:
    base, one, other = (np.roll(law_of(step), at) for at in places)
    p, q = ((1.0 - step.rate) * base + step.rate * law for law in (one, other))
    curve = Steps([(step, 2)], adjacency).curve(1e-5, 1e-3)
    for epsilon in (0.0, 0.11, 0.4, 0.9, 1.5):
        exact = max(
            float(np.maximum(np.outer(x, x) - math.exp(epsilon) * np.outer(y, y), 0.0).sum())
            for x, y in ((p, q), (q, p))
        )
        found = curve.delta(epsilon)
        assert found.lower - 1e-13 <= exact <= found.upper + 1e-13
        assert found.width <= 0.02 * found.upper + 1e-8


def test_either_way_is_an_upper_bound_on_each_mix_of_directions() -> None:
    # In batches of fixed size one record may stand above the others in one step, and its substitute below in the next.
    step = DiscreteLaplaceStep(0.4, 1, 0.5, FIXED)
    low, high = (np.roll(law_of(step), at)[REACH - 40 : REACH + 41] for at in (0, 2))
    mixed = 0.5 * low + 0.5 * high
    curve = Steps([(step, 2)], REPLACE).curve(1e-5, 1e-3)
    pairs = ((mixed, low), (low, mixed))
    # What dominates both: the losses above 0 of the one, those below 0 of the other, and the rest at 0.
    loss = np.log(mixed / low)
    losses = np.concatenate([loss[loss > 0], -loss[loss > 0], [0.0]])
    masses = np.concatenate([mixed[loss > 0], low[loss > 0]])
    masses = np.append(masses, 1.0 - masses.sum())
    for epsilon in (0.0, 0.2, 0.5, 0.8):
        found = curve.delta(epsilon)
        sums = [
            float(np.maximum(np.outer(p, r) - math.exp(epsilon) * np.outer(q, s), 0.0).sum())
            for p, q in pairs
            for r, s in pairs
        ]
        either = float(masses @ np.maximum(-np.expm1(epsilon - np.add.outer(losses, losses)), 0.0) @ masses)
        assert max(sums) <= either + 1e-6  # what the window cuts
        assert either - 1e-6 <= found.upper <= 1.01 * either + 1e-6
        assert found.lower - 1e-6 <= max(sums[0], sums[3]) <= found.lower * 1.01 + 1e-6


def test_the_largest_losses() -> None:
    loss = DiscreteLaplaceStep(0.2, 3, 0.3).largest_loss(REPLACE)
    assert abs(loss.midpoint - math.log((0.7 + 0.3 * math.exp(0.6)) / (0.7 + 0.3 * math.exp(-0.6)))) < 1e-15
    assert loss.width < 1e-14
    fixed = DiscreteLaplaceStep(0.2, 3, 0.3, FIXED).largest_loss(REPLACE)
    assert abs(fixed.midpoint - math.log(0.7 + 0.3 * math.exp(1.2))) < 1e-15
    assert IntegerStep(1.0).largest_loss(ADD).lower == math.inf


def test_limits_are_refused() -> None:
    with pytest.raises(CapacityError, match=r"has losses of 900, and floats hold up to 700; more noise has less\.$"):
        DiscreteLaplaceStep(300.0, 3).pair(ADD, 1e-9)
    with pytest.raises(CapacityError, match=r"has losses of 600, and floats hold up to 300"):
        DiscreteLaplaceStep(300.0, 2, 0.5).pair(REPLACE, 1e-9)
    with pytest.raises(CapacityError, match=r"^a law of 266\d+ atoms is needed"):
        IntegerStep(1e6).pair(ADD, 1e-40)
    with pytest.raises(ValueError, match=r"^law='cauchy' must be one of discrete-gaussian, skellam"):
        IntegerStep(1.0, law="cauchy")  # type: ignore[arg-type]
