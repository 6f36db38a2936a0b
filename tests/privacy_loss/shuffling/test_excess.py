import functools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.shuffling import excess
from dpverify.privacy_loss.shuffling.excess import Variable, expected_excess

COPIES = 12


def variable(weights: list[float], values: list[float], error: float = 0.0, off: float = 0.0) -> Variable:
    return Variable(np.array(weights), np.array(values), error, np.full(len(values), off))


def exact(weights: list[float], values: list[float], copies: int = COPIES) -> Fraction:
    """Return the expected excess of the sum, in rationals."""
    return _exact(tuple(weights), tuple(values), copies)


@functools.cache
def _exact(weights: tuple[float, ...], values: tuple[float, ...], copies: int) -> Fraction:
    law = {Fraction(0): Fraction(1)}
    atoms = [*zip(map(Fraction, weights), map(Fraction, values), strict=True)]
    atoms.append((1 - sum(weight for weight, _ in atoms), Fraction(0)))
    for _ in range(copies):
        grown: dict[Fraction, Fraction] = {}
        for total, mass in law.items():
            for weight, value in atoms:
                grown[total + value] = grown.get(total + value, Fraction(0)) + mass * weight
        law = grown
    return sum((mass * total for total, mass in law.items() if total > 0), Fraction(0))


CASES = [
    ([0.25, 0.5], [1.0, -1.75]),
    ([0.125, 0.25, 0.5], [2.0, 1.0, -1.0]),
    ([0.5, 0.5], [1.0, -1.0]),
    ([0.0625], [3.0]),
    ([0.25, 0.25], [0.5, -8.0]),
]


@pytest.fixture
def contour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never count: the cases are few enough for rationals, and so for counting."""
    monkeypatch.setattr(excess, "counted_excess", lambda variable, copies: None)


@pytest.mark.usefixtures("contour")
@pytest.mark.parametrize(("weights", "values"), CASES)
def test_the_contour_contains_the_exact_excess(weights: list[float], values: list[float]) -> None:
    found = expected_excess(variable(weights, values), COPIES)
    assert exact(weights, values) in found
    # A possible sum of 0 is where smoothing costs most.
    assert found.width <= 2e-3 * found.upper


@pytest.mark.usefixtures("contour")
@pytest.mark.parametrize(("weights", "values"), CASES)
@pytest.mark.parametrize("smoothing", [0.01, 0.1, 1.0])
def test_smoothing_is_charged(weights: list[float], values: list[float], smoothing: float) -> None:
    assert exact(weights, values) in expected_excess(variable(weights, values), COPIES, smoothing=smoothing)


@pytest.mark.usefixtures("contour")
@pytest.mark.parametrize(("weights", "values"), CASES)
@pytest.mark.parametrize("negligible", [0.0, 1.0, 3.0])
def test_the_period_and_the_last_node_are_charged(
    monkeypatch: pytest.MonkeyPatch, weights: list[float], values: list[float], negligible: float
) -> None:
    monkeypatch.setattr(excess, "_NEGLIGIBLE", negligible)
    found = expected_excess(variable(weights, values), COPIES, smoothing=0.05)
    assert exact(weights, values) in found
    assert found.width > 1e-4 * found.upper  # something was there to be charged


@pytest.mark.usefixtures("contour")
@pytest.mark.parametrize(("weights", "values"), CASES)
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_errors_of_weights_and_values_are_charged(weights: list[float], values: list[float], side: float) -> None:
    slip = 2.0**-12
    moved = [weight * (1.0 + side * slip * np.sign(value)) for weight, value in zip(weights, values, strict=True)]
    if sum(moved) <= 1.0:
        assert exact(moved, values) in expected_excess(variable(weights, values, error=1.01 * slip), COPIES)
    shifted = [value + side * slip for value in values]
    assert exact(weights, shifted) in expected_excess(variable(weights, values, off=slip), COPIES)


@pytest.mark.usefixtures("contour")
@pytest.mark.parametrize("apart", [1e-3, 0.3, 3.0])
def test_blocks_that_are_bounded_as_a_whole_are_charged(monkeypatch: pytest.MonkeyPatch, apart: float) -> None:
    weights, values = CASES[1]
    monkeypatch.setattr(excess, "_APART", apart)
    monkeypatch.setattr(excess, "_SHORTEST", 1)
    monkeypatch.setattr(excess, "_NEGLIGIBLE", 4.0)
    assert exact(weights, values) in expected_excess(variable(weights, values), COPIES, smoothing=0.01)


def test_a_sum_that_is_never_positive_has_no_excess() -> None:
    assert expected_excess(variable([0.5], [-1.0]), COPIES) == Interval(0.0, 0.0)


@pytest.mark.usefixtures("contour")
def test_an_excess_far_below_the_floats_of_the_sum_is_as_accurate() -> None:
    # W > 0 only if all copies but one are positive: 12 * 0.001^11 * ... by the exact law.
    weights, values = [2.0**-10, 1.0 - 2.0**-10], [1.0, -8.0]
    found = expected_excess(variable(weights, values), COPIES)
    truth = exact(weights, values)
    assert truth < 1e-28
    assert truth in found
    assert found.width <= 1e-3 * found.upper


def test_too_many_nodes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excess, "counted_excess", lambda variable, copies: None)
    monkeypatch.setattr(excess, "_MOST_NODES", 100)
    with pytest.raises(CapacityError, match="nodes of a contour are needed, but at most 100"):
        expected_excess(variable(*CASES[0]), COPIES)


def test_large_numbers_of_copies_agree_with_the_normal_law() -> None:
    n = 10**9
    chance = 0.25
    values = [2.0, -2.0 - 1e-5]
    found = expected_excess(variable([chance, chance], values), n)
    mean, deviation = n * chance * -1e-5, math.sqrt(n * 2.0 * chance * 4.0)
    z = -mean / deviation
    normal = deviation * (math.exp(-z * z / 2) / math.sqrt(2 * math.pi) - z * 0.5 * math.erfc(z / math.sqrt(2)))
    assert found.midpoint == pytest.approx(normal, rel=1e-3)
    assert found.width <= 1e-6 * found.upper


@pytest.mark.parametrize(
    ("scale", "tilt", "reach"), [(1e-6, 1e-2, 1e3), (0.3, 2.0, 50.0), (4.0, 1e-3, 1e-3), (1.0, 0.5, 300.0)]
)
def test_nodes_of_rows_and_columns_are_those_of_their_sums(scale: float, tilt: float, reach: float) -> None:
    rng, copies = np.random.default_rng(5), 1000
    weights, values = rng.dirichlet(np.ones(30)), scale * rng.normal(size=30)
    variable = Variable(weights, values, 1e-16, np.zeros(30))
    firsts, steps = np.array([0.0, 0.3, 1.0]) * reach, np.array([0.0, 1e-6, 0.1]) * reach
    logs, angles, errors = variable.nodes(tilt, firsts, steps, copies)
    with mpmath.workdps(40):
        for number, theta in enumerate(mpmath.mpf(first) + mpmath.mpf(step) for first in firsts for step in steps):
            terms = zip(weights, values, strict=True)
            mgf = 1 + mpmath.fsum(
                mpmath.mpf(w) * mpmath.expm1(mpmath.mpc(tilt, theta) * mpmath.mpf(z)) for w, z in terms
            )
            assert abs(copies * mpmath.log(abs(mgf)) - logs[number]) <= errors[number] < 1e-6
            assert abs(copies * mpmath.arg(mgf) - angles[number]) <= errors[number]
