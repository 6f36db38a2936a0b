"""Passes with a record in one step of many: bounds against exact rationals and integrals, and without each charge."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from tests.certificates.test_roundings import exact, module_of
from tests.certificates.test_step_checker import SOURCE, checker

RATIOS = [(Fraction(1, 4), Fraction(1, 3)), (Fraction(1), Fraction(5, 11)), (Fraction(61, 28), Fraction(7, 33))]
"""Ratios and their probabilities without the record, of mean 1: the last one is on no grid."""


def truth(steps: int, a: Fraction) -> Fraction:
    """Return E max(0, mean - a), of every outcome of so many steps."""
    found = Fraction(0)
    for outcome in itertools.product(RATIOS, repeat=steps):
        mean, chance = sum(r for r, _ in outcome) / steps, Fraction(1)
        for _, p in outcome:
            chance *= p
        found += chance * max(Fraction(0), mean - a)
    return found


def listed(_: Any, a: Fraction, __: Any) -> Fraction:
    return truth(1, a)


def checks(module: Any) -> Iterator[bool]:
    """Yield whether bounds hold, at so few bits that roundings show: of sums, with and without the largest."""
    grid = module.Checker(32, 4, (-20, 20))
    points = [Fraction(k, 24) for k in range(80)]
    for steps, fine, ratios, top in (
        (1, 2, [1, 4, 10], 99),
        (3, 2, [1, 4, 10], 99),
        (3, 2, [0, 1, 3, 4, 6], 99),  # the largest ratios are left out
        (4, 3, [2, 8, 20], 36),  # and so are the largest sums
        (2, 3, [2, 8, 20], 3),
    ):
        found = grid.allocated(listed, Fraction(1), steps, fine, ratios, top)
        yield all(grid.once(a, found, steps, fine) >= truth(steps, a) for a in points)
    one, other = (1, [grid.one // 3, grid.one // 7], 5), (2, [grid.one // 2, grid.one], 7)
    yield grid.added(one, other, 99)[2] * grid.one >= 5 * grid.one + 7 * sum(one[1])
    found = grid.allocated(listed, Fraction(1), 3, 8, [*range(65), *range(65, 597, 7)], 2000)
    yield all(grid.once(a, found, 3, 8) <= truth(3, a) + Fraction(1, 1000) for a in points)


def test_bounds_of_a_pass_hold_against_exact_numbers_and_are_near_them() -> None:
    assert all(checks(checker))


def test_of_normal_noise_the_bound_is_the_integral() -> None:
    grid, noise = checker.Checker(100, 4, (-20, 20)), Fraction(3, 2)
    found = grid.allocated(checker.Checker.gaussian, noise, 2, 8, [*range(256), *range(256, 4097, 16)], 8192)
    with mpmath.workdps(30):
        s = mpmath.mpf(3) / 2

        def one(x: Any) -> Any:
            if x <= 0:
                return 1 - x
            return mpmath.ncdf(1 / (2 * s) - s * mpmath.log(x)) - x * mpmath.ncdf(-1 / (2 * s) - s * mpmath.log(x))

        for a in (Fraction(1, 2), Fraction(1), Fraction(5, 2)):
            twice = mpmath.mpf(2 * a.numerator) / a.denominator
            spans = [-15, s**2 * mpmath.log(twice) + mpmath.mpf(1) / 2, 20]
            least = exact(
                mpmath.quad(
                    lambda y, x=twice: mpmath.npdf(y, 0, s) * one(x - mpmath.exp((2 * y - 1) / (2 * s * s))), spans
                )
            )
            assert least / 2 <= grid.once(a, found, 2, 8) <= least / 2 * Fraction(1001, 1000)


MUTANTS: list[tuple[str, str]] = [
    ("over(h.numerator * scale, h.denominator)", "h.numerator * scale // h.denominator - 1"),
    ("max(0, over(height - value, after - j) - total)", "max(0, (height - value) // (after - j) - total)"),
    ("masses[0] = max(0, self.one - total)\n        one", "masses[0] = 0\n        one"),
    ("one = ratios[0], masses, heights[0][1]", "one = ratios[0], masses, 0"),
    ("one = ratios[0], masses, heights", "one = ratios[0] - 1, masses, heights"),
    ("kept[-1] += sum(beyond)", "pass"),
    ("sum(k * mass for k, mass in enumerate(beyond, 1))", "sum(k * mass for k, mass in enumerate(beyond))"),
    ("gone = gone * sum(ours) + sum(k", "gone = sum(k"),
    ("lost + over(gone, self.one)", "over(gone, self.one)"),
    ("lost + over(gone, self.one)", "lost + gone // self.one"),
    ("return first, [over(mass, self.one) for mass in kept]", "return first, [mass // self.one for mass in kept]"),
    ("floor(x) + 1 - first, 0)", "floor(x) + 3 - first, 0)"),
    ("x = a * (steps << fine)", "x = a * (steps + 1 << fine)"),
    ("(self.one * steps << fine)", "(self.one * (steps + 1) << fine)"),
]


@pytest.mark.parametrize(("line", "mutated"), MUTANTS, ids=[mutated[:40] for _, mutated in MUTANTS])
def test_every_charge_of_a_pass_is_needed(line: str, mutated: str) -> None:
    assert SOURCE.count(line) == 1
    assert not all(checks(module_of(SOURCE.replace(line, mutated))))
