"""Formulas of the vector sum as printed: branches and constants by hand, and the steps between them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import fp

from dpverify.formulas import FormulaRangeError
from dpverify.formulas.catalogue import find_formulas
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.inverse import solved
from dpverify.formulas.protocols import vector_sum as formulas
from tests.formulas.agreement import assert_one_number, assert_refused

D, K, USERS, SAMPLED = 2, 3, 10**6, 2
SIZES = {"d": D, "n": USERS}


def value(formula: object, **arguments: float) -> float:
    # Which branch applies is decided, so there are no symbols.
    return float(assert_one_number(formula, arguments, symbolic=False))


@pytest.mark.parametrize(("epsilon", "constant"), [(0.5, 56), (0.999, 56), (1.0, 2016), (2.5, 2016)])
def test_the_theorem_by_hand(epsilon: float, constant: int) -> None:
    delta, logs = 1e-2, math.log(1e2) * math.log(2 * SAMPLED * 1e2)
    gamma = value(formulas.gamma_theorem, epsilon=epsilon, delta=delta, **SIZES, k=K, t=SAMPLED)
    assert gamma == pytest.approx(constant * D * K * logs / ((USERS - 1) * epsilon**2), rel=1e-12)
    levels = value(formulas.levels_theorem, epsilon=epsilon, delta=delta, **SIZES, t=SAMPLED)
    assert levels == pytest.approx((USERS - 1) * epsilon**2 / (2 * constant * D * logs), rel=1e-12)
    front, inner = (2, 14) if constant == 56 else (8, 63)
    mse = value(formulas.mse_theorem, epsilon=epsilon, delta=delta, **SIZES, t=SAMPLED, gamma=0.25)
    stated = front * SAMPLED * D ** (8 / 3) * (inner * logs) ** (2 / 3) / USERS ** (5 / 3) / epsilon ** (4 / 3)
    assert mse == pytest.approx(stated / 0.75**2, rel=1e-12)


@pytest.mark.parametrize("delta", [1e-6, 1.0])  # where the first, or the second, of two terms is the larger
@pytest.mark.parametrize("epsilon", [0.5, 0.999, 1.0, 2.5])
def test_the_refinement_by_hand(epsilon: float, delta: float) -> None:
    log, unit = math.log(2 / delta), D * K / ((USERS - 1) * epsilon)
    terms = (14 * log / epsilon, 27) if epsilon < 1 else (80 * log / epsilon, 36 / 11)
    gamma = value(formulas.gamma_refined, epsilon=epsilon, delta=delta, **SIZES, k=K)
    assert gamma == pytest.approx(unit * max(terms), rel=1e-12)


@pytest.mark.parametrize("delta", [1e-6, 1.0])
@pytest.mark.parametrize("epsilon", [0.02, 0.9, 2.0])
def test_printed_errors_follow_from_the_balancing_levels(epsilon: float, delta: float) -> None:
    # An independent evaluation: gamma_refined at k, in the proof's bound, gives the printed normalised error.
    users, d = 10**9, 7
    sizes = {"epsilon": epsilon, "delta": delta, "d": d, "n": users}
    k = value(formulas.levels_refined, **sizes)
    gamma = value(formulas.gamma_refined, **sizes, k=k)
    assert k == pytest.approx(value(formulas.balancing_levels, slope=gamma / k / 2), rel=1e-6)
    bound = d**2 / users / (1.0 - gamma) ** 2 * (1.0 / (4.0 * k**2) + gamma / 2.0)
    stated = value(formulas.mse_refined, **sizes, gamma=gamma)
    assert stated == pytest.approx(bound, rel=1e-6)
    assert value(formulas.standard_deviation, mse=stated) == pytest.approx(math.sqrt(stated))


def test_balancing_levels_balance() -> None:
    slope = 1e-5
    k = value(formulas.balancing_levels, slope=slope)
    assert 1.0 / (4.0 * k**2) == pytest.approx(slope * k, rel=1e-12)


@pytest.mark.parametrize("levels", [1, 2, 5])
@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_the_variance_bound_holds_for_every_input(levels: int, gamma: float) -> None:
    bound = value(formulas.report_variance_bound, k=levels, gamma=gamma)
    assert bound == pytest.approx((1 - gamma) / (4 * levels**2) + gamma / 2, rel=1e-14)
    values = np.arange(levels + 1) / levels
    worst = 0.0
    for x in np.linspace(0.0, 1.0, 201):
        # Rounded to one of the two levels next to x, with mean x, or uniformly random.
        law = (1 - gamma) * np.maximum(1 - np.abs(x - values) * levels, 0.0) + gamma / (levels + 1)
        worst = max(worst, law @ values**2 - (law @ values) ** 2)
    assert worst <= bound + 1e-15
    assert gamma > 0.0 or worst == pytest.approx(bound, rel=1e-3)


def test_ranges() -> None:
    assert_refused(lambda: formulas.gamma_theorem(fp, 0.5, 1e-6, D, K, 100, 1), "gamma=")
    assert_refused(lambda: formulas.gamma_refined(fp, 0.5, 1e-6, D, K, 100), "gamma=")
    assert_refused(lambda: formulas.gamma_theorem(fp, 0.5, 0.5, 4, K, USERS, 5), "t=5.0 must be in [1, d], and d=4.0.")
    assert_refused(lambda: formulas.levels_theorem(fp, 0.5, 1.0, 1, USERS, 1), "log(1/delta) log(2t/delta)=0.0 must be")


@pytest.mark.parametrize("name", ["d", "k", "n", "t"])
def test_what_is_counted_is_whole_but_may_be_solved_for(name: str) -> None:
    (formula,) = find_formulas("vector-sum.gamma-theorem")
    given = {"epsilon": Fraction(1, 2), "delta": Fraction(1, 100), **SIZES, "k": K, "t": 1}
    (gamma,) = formula(FLOATS, given)
    with pytest.raises(FormulaRangeError, match=rf"^{name}=5/2 must be an integer\.$"):
        formula(FLOATS, {**given, name: Fraction(5, 2)})
    # A little more than at these whole numbers, so that the solution is none.
    rest = {each: value for each, value in given.items() if each != name}
    found = solved(formula, name, Fraction(float(gamma)) * Fraction(1001, 1000), rest, low=Fraction(1, 2))
    assert 0.0 < abs(float(found.lower) / float(given[name]) - 1.0) < 0.02
