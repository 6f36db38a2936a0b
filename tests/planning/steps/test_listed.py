"""Steps whose laws are lists: two steps against sums over all outcomes, and what is refused."""

import math

import numpy as np
import pytest

from dpverify.guarantee import Adjacency
from dpverify.planning.steps.listed import BoundedRangeStep, OpaqueStep, ResponseStep
from dpverify.planning.steps.sampling import Sampling
from dpverify.planning.steps.step import Step, Steps

Law = np.ndarray


def opaque(epsilon: float, delta: float) -> tuple[Law, Law]:
    large = (1.0 - delta) / (1.0 + math.exp(-epsilon))
    small = 1.0 - delta - large
    return np.array([delta, large, small, 0.0]), np.array([0.0, small, large, delta])


CASES: list[tuple[Step, Adjacency, tuple[Law, Law]]] = [
    (OpaqueStep(0.7, 0.01), Adjacency.REPLACE_ONE, opaque(0.7, 0.01)),
    (OpaqueStep(0.7, 0.01, 0.2), Adjacency.ADD_REMOVE, opaque(0.7, 0.01)),
    (OpaqueStep(2.0, 0.0, 0.5), Adjacency.ZERO_OUT, opaque(2.0, 0.0)),
    (OpaqueStep(0.7, 0.01, 0.2, Sampling.FIXED_SIZE), Adjacency.ADD_REMOVE, opaque(0.7, 0.01)),
    (ResponseStep(0.6, 2), Adjacency.REPLACE_ONE, (np.array([0.7, 0.3]), np.array([0.3, 0.7]))),
    (ResponseStep(0.6, 4), Adjacency.REPLACE_ONE, (np.array([0.55, 0.15, 0.3]), np.array([0.15, 0.55, 0.3]))),
]


@pytest.mark.parametrize(("step", "adjacency", "laws"), CASES, ids=lambda case: str(case)[:40])
def test_two_steps_are_the_sum_over_all_outcomes(step: Step, adjacency: Adjacency, laws: tuple[Law, Law]) -> None:
    mixed = step.rate * laws[0] + (1.0 - step.rate) * laws[1]
    curve = Steps([(step, 2)], adjacency).curve(1e-5, 1e-3)
    for epsilon in (0.0, 0.11, 0.4, 0.9, 1.5):
        exact = max(
            float(np.maximum(np.outer(p, p) - math.exp(epsilon) * np.outer(q, q), 0.0).sum())
            for p, q in ((mixed, laws[1]), (laws[1], mixed))
        )
        found = curve.delta(epsilon)
        assert found.lower - 1e-13 <= exact <= found.upper + 1e-13
        assert found.width <= 0.01 * found.upper + 1e-9


def test_a_choice_between_two_is_next_to_what_its_range_allows() -> None:
    # Exponential mechanisms of two candidates, each score up or down by its sensitivity: the losses of each pair are
    # epsilon apart, and one step of the best of them has 98 % of the bound.
    for rate, sampling in ((1.0, Sampling.POISSON), (0.2, Sampling.FIXED_SIZE)):
        step = BoundedRangeStep(0.8, rate, sampling)
        curve = Steps([(step, 1)]).curve(1e-5, 1e-3)
        best = 0.0
        for odds in np.exp(np.linspace(-3.0, 3.0, 301)):
            p, q = (np.array([odds * up, down]) / (odds * up + down) for up, down in ((1.0, 1.0), (np.exp(-0.8), 1.0)))
            assert np.ptp(np.log(p / q)) == pytest.approx(0.8)
            mixed = (1.0 - rate) * q + rate * p
            for x, y in ((mixed, q), (q, mixed)):
                truth = np.maximum(x - np.exp(0.05) * y, 0.0).sum()
                assert truth <= curve.delta(0.05).upper
                best = max(best, float(truth))
        assert curve.delta(0.05).lower <= best + 1e-12
        assert curve.delta(0.05).lower >= 0.98 * curve.delta(0.05).upper
    three = Steps([(BoundedRangeStep(0.8), 3)]).curve(1e-5, 1e-3).epsilon(1e-3)
    assert three.upper < Steps([(OpaqueStep(0.8), 3)]).curve(1e-5, 1e-3).epsilon(1e-3).lower


def test_permute_and_flip_has_no_bounded_range() -> None:
    # Two candidates: in half of the orders the lesser one is asked first, and taken with e^(-epsilon d / 2).
    epsilon = 0.3
    p, q = (np.array([1.0 - 0.5 * fall, 0.5 * fall]) for fall in (1.0, math.exp(-epsilon)))
    losses = np.log(p / q)
    assert np.ptp(losses) == pytest.approx(epsilon + math.log(2.0 - math.exp(-epsilon)))
    assert np.ptp(losses) > 1.7 * epsilon
    assert np.abs(losses).max() == pytest.approx(epsilon)


def test_the_largest_losses() -> None:
    for step, adjacency, laws in CASES:
        mixed = step.rate * laws[0] + (1.0 - step.rate) * laws[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            largest = float(np.nanmax(np.abs(np.log(mixed / laws[1]))))
        largest = math.inf if getattr(step, "delta", 0.0) else largest
        found = step.largest_loss(adjacency)
        assert found.lower == found.upper == largest == math.inf or abs(found.midpoint - largest) < 1e-9


def test_what_is_not_covered_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^adjacency='replace-one' is not covered for an \(epsilon, delta\) step"):
        Steps([(OpaqueStep(1.0, 0.0, 0.5), 1)], "replace-one")
    with pytest.raises(ValueError, match=r"^adjacency='add-remove' is not covered for randomized response"):
        Steps([(ResponseStep(0.5, 2), 1)])
    with pytest.raises(ValueError, match=r"^epsilon=0\.0 must be a finite number in \(0, 700\]"):
        OpaqueStep(0.0)
    with pytest.raises(ValueError, match=r"^buckets=1 must be an integer in \[2, inf\)"):
        ResponseStep(0.5, 1)
