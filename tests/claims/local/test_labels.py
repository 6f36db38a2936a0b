"""The twin of label randomized response against enumeration."""

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverify.changes import Full
from dpverify.claims.local.labels import LabelClaims
from dpverify.guarantee import ThreatModel
from dpverify.planning.account import account
from protocols.local.labels import LabelRandomizedResponse
from protocols.local.randomized_response import RandomizedResponseMean
from protocols.user_level.local_selection import HadamardSelection

CLAIMS = LabelClaims()


def exact_delta(law: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(law - math.exp(epsilon) * other, 0.0).sum())


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("instances", [1, 3])
def test_the_curve_is_that_of_the_enumerated_reports(classes: int, instances: int) -> None:
    mechanism = LabelRandomizedResponse(classes, 0.8)
    laws = [mechanism.transition[0], mechanism.transition[1]]
    products = [np.array([math.prod(c) for c in itertools.product(law, repeat=instances)]) for law in laws]
    curve = CLAIMS.curve(mechanism, Full(instances), ThreatModel.LOCAL, reference_delta=0.05)
    for epsilon in (0.0, 0.3, 0.7, 1.5):
        found, exact = curve.delta(epsilon), exact_delta(*products, epsilon)
        assert found.lower - 1e-12 <= exact <= found.upper + 1e-12
    point = curve.epsilon(0.05)
    assert exact_delta(*products, point.upper) - 1e-12 <= 0.05 <= exact_delta(*products, point.lower) + 1e-12
    assert point.width <= 1e-4 * point.upper


@pytest.mark.parametrize(
    ("mechanism", "keep", "other", "rest"),
    [
        (LabelRandomizedResponse(3, 40.0), math.exp(40) / (math.exp(40) + 2), 1 / (math.exp(40) + 2), 1),
        (RandomizedResponseMean(40.0, 3), math.exp(40) / (math.exp(40) + 2), 1 / (math.exp(40) + 2), 1),
        (HadamardSelection(5, 1.0), 0.5 * math.e / (math.e + 1), 0.5 / (math.e + 1), None),
        (LabelRandomizedResponse(50, 1.0), math.e / (math.e + 49), 1 / (math.e + 49), 48),
    ],
    ids=str,
)
@pytest.mark.parametrize("instances", [2, 3, 40])
def test_losses_of_three_values_compose_without_a_grids_rounding(
    mechanism: Any, keep: float, other: float, rest: int | None, instances: int
) -> None:
    epsilon = mechanism.epsilon
    law = np.array([other, 0.5 if rest is None else rest * other, keep])
    total = functools.reduce(np.convolve, [law] * instances)
    losses = epsilon * np.arange(-instances, instances + 1)
    for delta in (0.3, 1e-6):
        found = account(mechanism, instances=instances, delta=delta).epsilon
        assert found.width <= 1e-8 * found.upper
        for end, sign in ((found.lower, 1.0), (found.upper, -1.0)):
            at = float(total @ np.maximum(0.0, -np.expm1(np.minimum(end - losses, 0.0))))
            assert sign * (at - delta) >= -1e-9 * delta or (end == 0.0 and at <= delta)


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_the_largest_loss_is_attained_by_the_first_two_inputs(classes: int) -> None:
    mechanism = LabelRandomizedResponse(classes, 1.3)
    first, second = (CLAIMS.report_law(mechanism, value) for value in CLAIMS.inputs(mechanism)[:2])
    loss = max(math.log(p / q) for p, q in zip(first.pmf, second.pmf, strict=True))
    bound = CLAIMS.pure_epsilon(mechanism, ThreatModel.LOCAL)
    assert (bound.lower, bound.upper) == (pytest.approx(loss, abs=1e-14),) * 2
    assert CLAIMS.curve(mechanism, Full(1), ThreatModel.LOCAL).delta(bound.upper).upper <= 1e-12


def test_variances_are_those_of_the_enumerated_estimates() -> None:
    mechanism, labels = LabelRandomizedResponse(3, 0.8), (0, 2, 2)
    true = np.bincount(labels, minlength=3)
    mean, square = np.zeros(3), np.zeros(3)
    for outcome in itertools.product(range(3), repeat=3):
        mass = math.prod(mechanism.transition[c, r] for c, r in zip(labels, outcome, strict=True))
        estimate = mechanism.debias(np.bincount(outcome, minlength=3))
        mean, square = mean + mass * estimate, square + mass * estimate**2
    np.testing.assert_allclose(CLAIMS.variances(mechanism, true), square - mean**2, rtol=1e-12)
    np.testing.assert_allclose(CLAIMS.variances(mechanism, true), np.diag(mechanism.covariance(true)), rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_no_labels_have_a_larger_error(classes: int, epsilon: float) -> None:
    mechanism, users = LabelRandomizedResponse(classes, epsilon), 4
    labels = itertools.product(range(classes), repeat=users)
    worst = max(np.diag(mechanism.covariance(np.bincount(each, minlength=classes))).max() for each in labels)
    assert CLAIMS.rmse(mechanism, users) == pytest.approx(math.sqrt(worst), rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 40.0, 690.0])
def test_the_stated_error_of_the_masses_covers_them(epsilon: float) -> None:
    mechanism = LabelRandomizedResponse(5, epsilon)
    (pair,) = CLAIMS.pairs(mechanism)
    grown = Fraction(math.exp(epsilon))  # wrong by 2^-52 at most, relatively
    keep = grown / (grown + 4)
    exact = {epsilon: keep, -epsilon: keep / grown, 0.0: 3 * keep / grown}
    for loss, mass in zip(pair.losses.tolist(), pair.masses.tolist(), strict=True):
        assert abs(Fraction(mass) / exact[loss] - 1) <= Fraction(pair.relative_error)


def test_the_matrix_of_reports_has_the_laws_of_the_labels() -> None:
    mechanism = LabelRandomizedResponse(4, 0.9)
    found = CLAIMS.report_matrix(mechanism)
    for label in CLAIMS.inputs(mechanism):
        law = CLAIMS.report_law(mechanism, label)
        np.testing.assert_array_equal(found.matrix[label], law.probabilities(found.points))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("delta", [5e-324, 2.3e-308, 1e-300, 1e-12])
def test_a_delta_costs_no_more_than_none(classes: int, delta: float) -> None:
    assert account(LabelRandomizedResponse(classes, 1.0), delta=delta).epsilon.upper <= 1.0
    assert account(LabelRandomizedResponse(classes, 1.0), instances=2, delta=delta).epsilon.upper <= 2.0


@pytest.mark.parametrize(("epsilon", "instances"), [(1e-300, 3), (1e-200, 3), (1e-160, 10**9)])
def test_losses_next_to_the_least_float_have_an_answer(epsilon: float, instances: int) -> None:
    assert account(LabelRandomizedResponse(3, epsilon), instances=instances, delta=1e-15).epsilon.upper <= 1e-150
