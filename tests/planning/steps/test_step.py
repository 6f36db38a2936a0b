"""Steps of a trusted curator: what they are, what is refused, and which adjacency costs what."""

import math
from unittest import mock

import numpy as np
import pytest

from dpverify.guarantee import Adjacency, CapacityError
from dpverify.planning.steps import step as step_module
from dpverify.planning.steps.integers import IntegerNoise, IntegerStep
from dpverify.planning.steps.listed import ResponseStep
from dpverify.planning.steps.sampling import Sampling
from dpverify.planning.steps.step import NoiseLaw, NoisyStep, Step, Steps
from dpverify.privacy_loss.windows.gaussian import NormalNoiseCurve


def test_equal_steps_are_counted_together() -> None:
    steps = Steps([(NoisyStep(1.0, 0.1), 3), (NoisyStep(2.0), 1), (NoisyStep(1.0, 0.1), 4)])
    assert steps.parts == ((NoisyStep(1.0, 0.1), 7), (NoisyStep(2.0), 1))
    assert steps.number == 8
    assert steps.adjacency is Adjacency.ADD_REMOVE


def test_replacing_a_record_moves_the_sum_twice_as_far() -> None:
    step = NoisyStep(4.0)
    replaced, zeroed = (Steps([(step, 30)], word).curve().epsilon(1e-5) for word in ("replace-one", "zero-out"))
    assert replaced == NormalNoiseCurve(2.0, 30).epsilon(1e-5)
    assert zeroed == NormalNoiseCurve(4.0, 30).epsilon(1e-5) == Steps([(step, 30)]).curve().epsilon(1e-5)
    laplace = NoisyStep(4.0, law=NoiseLaw.LAPLACE)
    assert 0.5 in laplace.largest_loss(Adjacency.REPLACE_ONE)
    assert 0.25 in laplace.largest_loss(Adjacency.ADD_REMOVE)


def test_replacing_a_record_of_a_sample_costs_more_than_removing_and_less_than_doing_both() -> None:
    step = NoisyStep(1.0, 0.1)
    curves = [Steps([(step, 40)], word).curve(1e-4, 1e-5) for word in ("zero-out", "replace-one")]
    removed, replaced = (curve.epsilon(1e-5) for curve in curves)
    assert replaced.width <= 1e-4 * replaced.upper
    assert removed.upper < replaced.lower
    # Removed here, and added there: a triangle inequality of curves at twice epsilon and (1 + e^eps) delta.
    half = 0.5 * replaced.lower
    assert curves[0].delta(half).upper * (1.0 + math.exp(half)) >= 1e-5


def test_the_largest_loss_of_a_sample() -> None:
    found = NoisyStep(0.5, 0.3, NoiseLaw.LAPLACE).largest_loss(Adjacency.ZERO_OUT)
    assert abs(found.midpoint - math.log(1.0 - 0.3 + 0.3 * math.e**2)) < 1e-12
    assert found.width < 1e-14
    assert NoisyStep(0.5).largest_loss(Adjacency.ZERO_OUT).lower == math.inf
    steps = Steps([(NoisyStep(0.5, 0.3, NoiseLaw.LAPLACE), 2), (NoisyStep(1.0, law=NoiseLaw.LAPLACE), 1)])
    assert abs(steps.largest_loss.epsilon(0.0).midpoint - 2.0 * found.midpoint - 1.0) < 1e-12


def test_laplace_noise_among_a_sample_where_a_record_is_replaced() -> None:
    # In floats, on a fine grid of the line: two steps of mixtures around 0 and 1, and 0 and -1.
    step, x = NoisyStep(1.0, 0.3, NoiseLaw.LAPLACE), (np.arange(-2400, 2400) + 0.5) / 80.0
    zero, one, other = (0.5 * np.exp(-np.abs(x - at)) / 80.0 for at in (0.0, 1.0, -1.0))
    p, q = 0.7 * zero + 0.3 * one, 0.7 * zero + 0.3 * other
    curve = Steps([(step, 2)], Adjacency.REPLACE_ONE).curve(1e-4, 1e-2)
    with mock.patch.object(step_module, "_STEPS", 1):  # coarse, so that both ends are apart
        coarse = Steps([(step, 2)], Adjacency.REPLACE_ONE).curve(1e-4, 1e-2).delta(0.3)
    assert coarse.lower < curve.delta(0.3).lower - 1e-3 < curve.delta(0.3).upper + 1e-3 < coarse.upper
    for epsilon in (0.0, 0.3, 0.8):
        found = curve.delta(epsilon)
        truth = float(np.maximum(np.outer(p, p) - math.exp(epsilon) * np.outer(q, q), 0.0).sum())
        assert found.lower - 2e-5 <= truth <= found.upper + 2e-5
        assert found.width <= 1e-4
    assert math.log((0.7 + 0.3 * math.e) / (0.7 + 0.3 / math.e)) in step.largest_loss(Adjacency.REPLACE_ONE)
    with pytest.raises(CapacityError, match=r"has losses of 500, and floats hold up to 300; more noise has less\."):
        NoisyStep(0.002, 0.3, NoiseLaw.LAPLACE).pair(Adjacency.REPLACE_ONE, 1e-9)


def test_noises_of_all_kinds_compose_where_a_record_is_replaced() -> None:
    parts: list[tuple[Step, int]] = [
        (NoisyStep(4.0, 0.1), 20),
        (NoisyStep(2.0, 0.2, NoiseLaw.LAPLACE), 5),
        (IntegerStep(5.0, 1, 0.1, IntegerNoise.SKELLAM), 10),
        (NoisyStep(6.0, 0.1, sampling=Sampling.FIXED_SIZE), 10),
        (ResponseStep(0.9, 4), 1),
    ]
    whole = Steps(parts, Adjacency.REPLACE_ONE).curve(1e-3, 1e-5).epsilon(1e-5)
    less = Steps(parts[:3], Adjacency.REPLACE_ONE).curve(1e-3, 1e-5).epsilon(1e-5)
    assert less.width <= 2e-3 * less.upper
    assert less.upper < whole.lower < whole.upper < 1.2 * whole.lower


def test_what_is_not_covered_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^steps is empty"):
        Steps([])
    with pytest.raises(ValueError, match=r"^adjacency='edge' must be one of replace-one, add-remove, zero-out"):
        Steps([(NoisyStep(1.0), 1)], "edge")
    with pytest.raises(ValueError, match=r"^rate=0\.0 must be a finite number in \(0, 1\]"):
        NoisyStep(1.0, 0.0)
    with pytest.raises(ValueError, match=r"^law='cauchy' must be one of gaussian, laplace"):
        NoisyStep(1.0, law="cauchy")  # type: ignore[arg-type]
    with pytest.raises(CapacityError, match=r"^laplace noise of 0\.001, .* has losses of 1000, and floats hold"):
        NoisyStep(0.001, 0.5, NoiseLaw.LAPLACE).pair(Adjacency.ADD_REMOVE, 1e-9)
    with pytest.raises(CapacityError, match=r"^noise=0\.02 of what a record moves must be at least"):
        Steps([(NoisyStep(0.02, 0.5), 1)]).curve().epsilon(1e-5)
