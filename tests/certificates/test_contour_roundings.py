"""Without any one of its charges the second checker breaks a bound that it keeps; so it does with a part left out.

Of the roundings of a decimal's last digit one product's in `cell` is not here: those beside it cover it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.certificates.contour_bounds import CHECKS, check_false_claims, checker
from tests.certificates.test_roundings import module_of

SOURCE = Path(checker.__file__).read_text(encoding="utf-8")
MUTANTS: list[tuple[str, str]] = [
    ("return -(-numerator // denominator)", "return numerator // denominator"),
    ("return UP.next_plus(UP.exp(x))", "return UP.exp(x)"),
    ("return UP.next_plus(UP.ln(x))", "return UP.ln(x)"),
    ('Decimal("3.14159265358979323846")', 'Decimal("3.14159265358979323847")'),
    ("self.weights[0] / 2 +", "self.weights[0] / 2 + 0 *"),
    ("self.weights[0] / 2 +", "self.weights[0] / 3 +"),
    ("DOWN.next_minus(DOWN.sqrt(DOWN.multiply(*squares)))", "UP.next_plus(UP.sqrt(UP.multiply(*squares)))"),
    ("self.spacing / DOWN.multiply(root, PI)", "DOWN.divide(self.spacing, UP.multiply(root, PI))"),
    ("/ 2 + -self.tilt * epsilon", "/ 2 - self.tilt * epsilon"),
    ("digits]) >> self.bits for", "digits]) + self.one - 1 >> self.bits for"),
    ("up, down = over(up * numerator, denominator)", "up, down = up * numerator // denominator"),
    ("down * numerator // denominator", "over(down * numerator, denominator)"),
    ("                total += up\n", ""),
    ("total += over(up * rest.numerator, rest.denominator - rest.numerator)", "pass"),
    ("max(Fraction(numerator, denominator), b)", "Fraction(numerator, denominator)"),
    ("[(f << self.bits) // total for", "[over(f << self.bits, total) for"),
    ("(0, self.one - sum(q for _, q in kept))]", "(0, 0)]"),
    ("self.one - sum(p for p, _ in kept)", "0"),
    ("(((w - u) * a + u * b) // w,", "(over((w - u) * a + u * b, w),"),
    ("(u * a + (w - u) * b) // w)", "over(u * a + (w - u) * b, w))"),
    ("int(EXACT.multiply(x, deep)) + 1", "int(EXACT.multiply(x, deep))"),
    ("exp(UP.next_plus(UP.multiply(line.tilt * k, log)))", "DOWN.exp(DOWN.multiply(line.tilt * k, log))"),
    ("over(x * step, deep)", "x * step // deep"),
    ("powers[-1] * self.top // self.bottom", "over(powers[-1] * self.top, self.bottom)"),
    ("powers[-1] * self.bottom // self.top)", "over(powers[-1] * self.bottom, self.top))"),
    ("over((scaled - nodes[k - 1] * q) * self.top, self.one)", "(scaled - nodes[k - 1] * q) * self.top // self.one"),
    ("masses[k - 1] += p - upper", "pass"),
    ("lost, k = lost + p, last", "k = last"),
    ("(weighted + mass) * self.bottom // self.top", "over((weighted + mass) * self.bottom, self.top)"),
    ("total + over(weighted * self.bottom, self.top))", "total + weighted * self.bottom // self.top)"),
    ("over((weighted + masses[-1]) * self.bottom, self.top)", "(weighted + masses[-1]) * self.bottom // self.top"),
    ("[max(0, self.one - total), *reversed(masses)]", "[0, *reversed(masses)]"),
    ("m * self.node(-k) >> self.bits)", "over(m * self.node(-k), self.one))"),
    ("(0, max(0, self.one - sum(q for _, q in atoms)))], heights[0]", "(0, 0)], heights[0]"),
    ("for _, q in atoms)))], heights[0]", "for _, q in atoms)))], 0"),
    ("[over(mass, 1 << shift) for mass in tilted]", "[mass >> shift for mass in tilted]"),
    ("isqrt(x * x + y * y) + 1 + 2 * total", "isqrt(x * x + y * y)"),
    ("max(found[low:high]) * scale", "found[low] * scale"),
    ("scale = UP.divide(", "scale = DOWN.divide("),
    ("over((w - u) * q + u * p, w)", "((w - u) * q + u * p) // w"),
    ("over(u * lost, w)", "u * lost // w"),
    ("((w - u) * p + u * q) // w)", "over((w - u) * p + u * q, w))"),
    ("lost += self.split(masses, moves)", "self.split(masses, moves)"),
    ("sum(masses) + lost)", "sum(masses))"),
    ("DOWN.divide(1, size * size)", "UP.divide(1, size * size)"),
    ("UP.next_plus(UP.sqrt(times * square))", "DOWN.next_minus(DOWN.sqrt(times * square))"),
    ("times * c for r, c", "0 * c for r, c"),
    ("product(pairs, (0, 1))", "product(pairs, (0,))"),
    ("product(pairs, (0, 1))", "product(pairs[:1], (0, 1))"),
    ("ln(ours) / (low * low)) if low", "right) if low"),
    ("return ln(theirs) / (high * high), crowd", "return ln(theirs) / (low * low or high * high), crowd"),
    (
        "least = DOWN.divide(DOWN.divide(DOWN.subtract(theirs, ours), middle), 4 * width)",
        "least = (theirs - ours) / middle / (4 * width)",
    ),
    ("return rate + constant / (high * high), crowd", "return rate + constant / (low * low or high * high), crowd"),
    ("rate + max(0, constant - crowd) / (low * low)", "rate"),
    ("(rate, max(crowd, constant))", "(rate, crowd)"),
    ("map(exp, part)))) + paid", "map(exp, part))))"),
    ("lost * exp(Decimal(times) * (line.largest - line.one) / line.one) / line.one", "lost * Decimal(1) / line.one"),
    ('Decimal(given["epsilon"])) + lost', 'Decimal(given["epsilon"]))'),
    ("line.response(flip_probability, low, honest - high)", "line.response(flip_probability, low, honest - low - 1)"),
    ("list(map(max, ours, heights))", "heights"),
    ("{0, *pieces, honest}", "{0, *pieces}"),
    ("* honest / users, p)", ", p)"),
]


def broken(module: Any) -> bool:
    """Return whether any bound is, or a number comes out that cannot be."""
    try:
        for check in CHECKS:
            if check is not check_false_claims:
                check(module)
    except (AssertionError, ArithmeticError, ValueError, module.Refused):
        return True
    return False


@pytest.mark.long
@pytest.mark.parametrize(("text", "mutated"), MUTANTS, ids=[mutated[:50] for _, mutated in MUTANTS])
def test_every_charge_is_needed(text: str, mutated: str) -> None:
    assert SOURCE.count(text) == 1
    module = module_of(SOURCE.replace(text, mutated))
    assert broken(module)
