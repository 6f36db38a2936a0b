"""Steps whose laws are lists: two steps against sums over all outcomes, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpverify.guarantee import Adjacency
from dpverify.planning.steps.listed import OpaqueStep, ResponseStep
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
