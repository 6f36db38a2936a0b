"""One body, four number systems: a formula gives the same number in all of them, and an Arb ball contains it."""

from collections.abc import Callable
from typing import Any

import mpmath
import pytest
import sympy

from dpverify.formulas import FormulaRangeError
from dpverify.formulas.contexts import FLOATS, SympyContext, arb_context

DIGITS = 90


def assert_one_number(formula: Callable[..., Any], arguments: dict[str, Any], *, symbolic: bool = True) -> Any:
    """Check a formula at these arguments, and as an expression of symbols unless it decides; return the number."""
    with arb_context(200) as arb:
        ball = formula(arb, **arguments)
        ends = [tuple(map(int, end.man_exp())) for end in (ball.lower(), ball.upper())]
    with mpmath.mp.workdps(DIGITS):
        precise = formula(mpmath.mp, **arguments)
        low, high = (mpmath.ldexp(*end) for end in ends)
        assert low <= precise <= high
        assert high - low < mpmath.mpf(10) ** -35 * abs(precise)
    assert formula(FLOATS, **arguments) == pytest.approx(float(precise), rel=1e-12)
    exact = SympyContext()
    # A float is the same binary number in every context.
    values = {name: exact.convert(value) for name, value in arguments.items()}
    symbols = {name: sympy.Symbol(name, positive=True) if symbolic else value for name, value in values.items()}
    numeric = sympy.lambdify(list(symbols) if symbolic else [], sympy.sympify(formula(exact, **symbols)), "mpmath")
    with mpmath.mp.workdps(60):
        given = [mpmath.mpf(value.p) / value.q for value in values.values()] if symbolic else []
        assert abs(numeric(*given) / precise - 1) < mpmath.mpf(10) ** -50
    return float(precise)


def assert_refused(call: Callable[[], Any], message: str) -> None:
    """Check that there is no number where a formula means nothing, and that the error says so in these words."""
    with pytest.raises(FormulaRangeError) as caught:
        call()
    assert str(caught.value).startswith(message)
