"""A rigorous second opinion on single instances: hockey-stick divergences in Arb balls, to any number of digits.

Nothing in this package is shared with the float engine. The divergence is `H_eps(P||Q) = sum max(P - e^eps Q, 0)`, at
any real eps; `dpverify.certificates.rationals` does the same for products of finite pairs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from flint import ctx

from dpverify.certificates.balls import as_ball, check_number
from dpverify.certificates.pairs import Direction, Pair
from dpverify.formulas.contexts import lower_float, upper_float
from dpverify.guarantee import Number
from protocols.validation import check_choice, check_integer

__all__ = ["Enclosure", "hockey_stick"]

_FIRST_BITS = 128
_MOST_BITS = 2**14
_SMALLEST = Fraction(1, 10**300)


class Enclosure(NamedTuple):
    """A number enclosed by interval arithmetic.

    Parameters
    ----------
    lower, upper : float
        Floats that provably bound it.
    digits : int
        How many relative decimal digits are certified; 0 if all that is proved is that it lies in [0, 1e-300].
    text : str
        A decimal enclosure to that many digits.
    """

    lower: float
    upper: float
    digits: int
    text: str

    def to_dict(self) -> dict[str, float | int | str]:
        """Return the fields as plain JSON values."""
        return self._asdict()


def hockey_stick(
    pair: Pair, epsilon: Number, direction: Direction | str = Direction.UP, *, digits: int = 15
) -> Enclosure:
    """Enclose the hockey-stick divergence of a pair, with the precision raised until `digits` digits are certain.

    Parameters
    ----------
    pair : Pair
        The two laws.
    epsilon : int, float, Fraction, Decimal or decimal string
        Any real number, in nats; a float means its binary value.
    direction : Direction or str
        Which of the two laws is the first argument.
    digits : int
        Relative decimal digits to certify, 1 to 1000.

    Returns
    -------
    Enclosure
        With `digits` certified digits, or with 0 where the divergence is proved to lie in [0, 1e-300].

    Raises
    ------
    TypeError, ValueError
        If an argument is no pair, no number or out of range.
    ArithmeticError
        If 2^14 bits do not give that many digits.

    Examples
    --------
    >>> from dpverify.certificates.pairs import GaussianPair
    >>> hockey_stick(GaussianPair("2"), "0.3", digits=20).text
    '[0.096352824062343098997 +/- 4.96e-22]'
    """
    check_number("epsilon", epsilon)
    check_integer("digits", digits, low=1, high=1000)
    direction = check_choice("direction", direction, Direction)
    if not isinstance(pair, Pair):
        raise TypeError(f"pair={pair!r} must be a pair of laws, such as GaussianPair(sigma=2).")
    bits = _FIRST_BITS + 4 * digits
    while bits <= _MOST_BITS:
        with ctx.workprec(bits):
            # The divergence lies in [0, 1] whatever the ball says.
            ball = pair.enclose(as_ball(epsilon), direction)
            if ball.is_finite():
                lower, upper = max(0.0, lower_float(ball)), min(1.0, upper_float(ball))
                if ball.rel_accuracy_bits() > (digits + 1) * math.log2(10):
                    return Enclosure(lower, upper, digits, ball.str(digits))
                if ball <= as_ball(_SMALLEST):
                    return Enclosure(lower, upper, 0, f"[0, {float(_SMALLEST):g}]")
        bits *= 2
    raise ArithmeticError(f"{pair!r} at epsilon={epsilon!r} needs more than {_MOST_BITS} bits for digits={digits!r}.")
