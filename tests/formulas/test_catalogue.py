"""Every closed form, in every number system, by its name."""

import inspect
from fractions import Fraction
from typing import Any

import mpmath
import pytest
import sympy

from dpverify.formulas import FormulaRangeError
from dpverify.formulas.catalogue import find_formulas, formulas
from dpverify.formulas.contexts import SympyContext, UndecidedComparisonError
from dpverify.formulas.precise import value
from tests.refusals import refused

TENTH, HALF, QUARTER = Fraction(1, 10), Fraction(1, 2), Fraction(1, 4)
USUAL: dict[str, Any] = {
    "alpha": TENTH, "beta": TENTH, "beta_": TENTH, "bits": 7, "c": Fraction(1, 5), "d": 5, "delta": Fraction(1, 10**5),
    "delta0": Fraction(1, 10**6), "delta_slack": Fraction(1, 10**7), "distance": HALF, "epsilon": HALF,
    "epsilon0": QUARTER, "epsilon_bit": HALF, "error": 30, "f": HALF, "flood_p": Fraction(99, 100), "flood_shape": 12,
    "fraction_of_ones": QUARTER, "gained": 2, "gamma": QUARTER, "hashes": 2, "instances": 12, "k": 3, "levels": 4,
    "lost": 1, "mechanisms": 9, "mse": 3, "n": 10**7, "offset": QUARTER, "one": Fraction(3, 4), "ones": 100,
    "p": Fraction(2, 5), "power": 2, "probability": TENTH, "q": Fraction(3, 4), "queries": 5, "R": 2, "ratio": TENTH,
    "reports": 3, "rho": TENTH, "S": 2, "shape": 2, "sharpness": 9, "slack": TENTH, "slope": 3, "sparsity": 2,
    "steps": 6, "t": 2, "tolerance": TENTH, "users": 1000, "value": QUARTER, "zero": QUARTER,
    "bitsum_bias": 1,
}  # fmt: skip
"""A value for every argument by its name: each formula takes some of them."""

every = pytest.mark.parametrize("formula", formulas(), ids=lambda formula: formula.name)


def usual(formula: Any) -> dict[str, Any]:
    return {argument.name: USUAL[argument.name] for argument in formula.arguments}


@every
def test_floats_and_many_digits_agree_with_what_is_proved(formula: Any) -> None:
    proved = value(formula, usual(formula), digits=40)
    with mpmath.mp.workdps(60):
        precise = formula(mpmath.mp, usual(formula))
        for number, enclosed in zip(precise, proved, strict=True):
            low, high = (mpmath.mpf(end.numerator) / end.denominator for end in (enclosed.lower, enclosed.upper))
            slack = mpmath.mpf(10) ** -55 * abs(low)
            assert low - slack <= number <= high + slack
            assert abs(high - low) <= mpmath.mpf(10) ** -40 * abs(low)
    for number, enclosed in zip(formula(mpmath.fp, usual(formula)), proved, strict=True):
        assert float(number) == pytest.approx(float(enclosed.lower), rel=1e-11)


@pytest.mark.long
@every
def test_the_expression_is_the_same_number(formula: Any) -> None:
    symbols = {
        argument.name: sympy.Symbol(argument.name, positive=True)
        for argument in formula.arguments
        if argument.annotation != "int"
    }
    given = usual(formula)
    try:
        found = formula(SympyContext(), {**given, **symbols})
    except (TypeError, UndecidedComparisonError):
        assert formula.name in {  # those that choose a branch, or round
            "negative-binomial.tail-shape", "randomized-response.flip-probability", "vector-sum.gamma-refined",
            "vector-sum.gamma-theorem", "vector-sum.levels-refined", "vector-sum.levels-theorem",
            "vector-sum.mse-refined", "vector-sum.mse-theorem",
        }  # fmt: skip
        found = formula(SympyContext(), given)
    values = {symbol: sympy.Rational(Fraction(given[name])) for name, symbol in symbols.items()}
    for expression, enclosed in zip(found, value(formula, given, digits=30), strict=True):
        number = sympy.N(sympy.sympify(expression).subs(values), 40)
        assert abs(Fraction(str(number)) / ((enclosed.lower + enclosed.upper) / 2) - 1) < Fraction(1, 10**28)


@every
def test_each_has_a_line_that_says_what_it_is(formula: Any) -> None:
    assert formula.summary.endswith((".", ":")) or "\n" in formula.help
    assert inspect.signature(formula.function).parameters["ctx"]
    assert formula.name == formula.name.lower().replace("_", "-")


def test_a_formula_is_found_by_its_name_or_by_words() -> None:
    for text in ("three-nb.noise-p", "three_nb.noise_p", "NOISE_P", "3nb noise"):
        assert [formula.name for formula in find_formulas(text)] == ["three-nb.noise-p"]
    assert {formula.name for formula in find_formulas("theorem 3.2")} >= {
        "composition.advanced",
        "kde.published-rmse-bound",
    }
    assert find_formulas("nothing of this kind") == find_formulas(" ") == ()


def test_arguments_are_checked_by_name() -> None:
    (noise,), (optimal,) = find_formulas("noise_p"), find_formulas("optimal-slack")
    with pytest.raises(ValueError, match=r"'eps' must be an argument of three-nb.noise-p: epsilon0\."):
        noise(mpmath.fp, {"eps": 1})
    with pytest.raises(ValueError, match="must be given epsilon0: as NAME=VALUE"):
        noise(mpmath.fp, {})
    with refused("mechanisms=5/2", FormulaRangeError):
        optimal(mpmath.fp, {"epsilon0": 1, "epsilon": 1, "mechanisms": Fraction(5, 2)})


def test_latex_sets_symbols_as_the_field_does() -> None:
    (flood,) = find_formulas("three-nb.flood-p")
    assert flood.latex({}) == (
        r"e^{- \frac{c \varepsilon_{0}}{\varepsilon_{0} + \log{\left(\frac{1}{\delta_{0}} \right)}}}",
    )
    assert flood.latex({"c": Fraction(1, 5), "epsilon0": 1}) == (
        r"e^{- \frac{1}{5 \left(\log{\left(\frac{1}{\delta_{0}} \right)} + 1\right)}}",
    )
    (gamma,) = find_formulas("gamma-theorem")
    with pytest.raises(
        UndecidedComparisonError, match=r"needs values for some of epsilon, delta, d, k, n, t \(epsilon <"
    ):
        gamma.latex({})
    assert "56" in gamma.latex({"epsilon": HALF})[0]
    assert "2016" in gamma.latex({"epsilon": 2})[0]
