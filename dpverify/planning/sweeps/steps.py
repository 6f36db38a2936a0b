"""Values that an answer is looked for among, each with its number, so that every answer has a next smaller one."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from dpverify.search import largest_integer, smallest_at_level
from protocols.classes.frozen import dataclass

__all__ = ["EPSILONS", "ROUND_USERS", "USERS", "Steps"]

_MOST_USERS = 10**10
_ONE = 1000
"""Epsilons are decimals of four significant digits, which begin with this one."""
_SMALLEST, _LARGEST = -9, 3
"""Powers of ten between which they lie."""
_CLOSE = 1e-3
"""How near the answer, relatively, a first search ends: the second one, step by step, begins there."""


@dataclass(frozen=True)
class Steps:
    """Increasing values with the numbers 1, 2, ... .

    - name: What they are.
    - index: Returns the number of the value nearest to a positive float; at least 1.
    - value: Returns the value of a number, as a decimal.
    - most: The last number.
    """

    name: str
    index: Callable[[float], int]
    value: Callable[[int], str]
    most: int

    def least(
        self, error: Callable[[int], float], level: float, start: float, *, slope: float | None = None
    ) -> int | None:
        """Return a number at which an error is at most a level while it is above at the one before, or None.

        Both are tried; 1 has none before it. Where the error falls that is the least number of all.

        - error: The error at a number, best nearly a power of its value; inf where there is none. Asked again, it
          should remember.
        - level: Positive.
        - start: The value at which to begin.
        - slope: Of which power the error falls, about, where that is known.
        """
        last = float(self.value(self.most))
        begin = min(max(start, float(self.value(1))), last)
        near = smallest_at_level(
            lambda at: error(min(self.index(at), self.most)), level, begin, last, _CLOSE, slope=slope
        )
        if near is None:
            return None
        found = largest_integer(lambda at: error(at) > level, self.index(near), 0, self.most) + 1
        return found if error(found) <= level else None


def _decimal(index: int) -> str:
    """Return the decimal of four digits with this number."""
    power, digits = divmod(index - 1, 9 * _ONE)
    return str(Decimal(digits + _ONE).scaleb(_SMALLEST + power).scaleb(-3).normalize())


def _decimal_index(value: float) -> int:
    power = math.floor(math.log10(value))
    digits = round(value / math.pow(10.0, power) * _ONE)
    return max(1, (power - _SMALLEST) * 9 * _ONE + digits - _ONE + 1)


def _whole(value: float) -> int:
    return max(1, round(value))


def _round_users(index: int) -> str:
    """Return the integer of four digits at most, and zeros behind them, with this number."""
    power, digits = divmod(max(index - _ONE, 0), 9 * _ONE)
    return str(index if index < _ONE else (_ONE + digits) * 10**power)


def _round_index(value: float) -> int:
    if value < _ONE:
        return _whole(value)
    power = math.floor(math.log10(value)) - 3
    return power * 9 * _ONE + round(value / math.pow(10.0, power))


EPSILONS = Steps("epsilons", _decimal_index, _decimal, _decimal_index(10.0**_LARGEST))
"""The decimals of four significant digits from 1e-9 to 1000."""
USERS = Steps("numbers of users", _whole, str, _MOST_USERS)
"""The integers from 1 to 10^10."""
ROUND_USERS = Steps("numbers of users", _round_index, _round_users, _round_index(_MOST_USERS))
"""The integers from 1 to 10^10 of four significant digits, for plans that take seconds each."""
