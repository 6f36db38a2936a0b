"""What backs the verdicts on amplification by shuffling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from dpverify.evidence import require

__all__ = [
    "average_factor",
    "average_factor_symbolic",
    "blanket_by_enumeration",
    "closed_bound",
    "closed_bound_between",
    "closed_bound_grid",
    "two_counts_in_fractions",
    "two_counts_numerically",
]


def closed_bound() -> dict[str, float]:
    """Evaluate the closed bound, the clones behind it, and what every mechanism has, at n = 10^5, epsilon0 = 4."""
    from dpverify.formulas.amplification import closed_clones
    from dpverify.formulas.contexts import FLOATS
    from dpverify.privacy_loss.shuffling.amplification import clones, pure

    closed = float(closed_clones(FLOATS, 4.0, 10**5, 1e-6))
    counted, exact = clones(4.0, 10**5).epsilon(1e-6), pure(4.0, 10**5).epsilon(1e-6)
    require(exact.upper < counted.lower < counted.upper < closed, "The closed bound is exceeded.")
    return {"closed": closed, "clones": counted.upper, "every": exact.upper, "attained": exact.lower}


def closed_bound_grid() -> dict[str, float]:
    """Compare the closed bound with the exact clones wherever its condition holds on a grid."""
    from dpverify.formulas.amplification import CLOSED_CLONES, closed_clones
    from dpverify.formulas.contexts import FLOATS
    from dpverify.privacy_loss.shuffling.amplification import clones

    worst, points = 0.0, 0
    for epsilon0, n, delta in product((0.1, 1.0, 3.0, 5.0), (10**4, 10**6), (1e-3, 1e-8)):
        if all(condition.holds(epsilon0, n, delta) for condition in CLOSED_CLONES):
            exact = clones(epsilon0, n).epsilon(delta).upper
            worst, points = max(worst, exact / float(closed_clones(FLOATS, epsilon0, n, delta))), points + 1
    require(worst < 1.0, "The closed bound is exceeded somewhere on the grid.")
    return {"points": points, "worst_share": worst}


def closed_bound_between() -> dict[str, float]:
    """Enumerate the clones, in fractions, where epsilon0 is between ln(n / (16 ln(4/delta))) and the same with 2.

    The bound is rounded down. And evaluate them where the constant is not 16 but 2.
    """
    from dpverify.formulas.amplification import closed_clones
    from dpverify.formulas.contexts import FLOATS
    from dpverify.privacy_loss.shuffling.amplification import clones

    worst, points = Fraction(0), 0
    for n, delta, step in product((12, 16, 24, 32, 40), (Fraction(1), Fraction(1, 2), Fraction(1, 5)), (0.0, 0.5, 1.0)):
        least = 16.0 * (math.log(2 / delta) + step * math.log(2.0))
        coin = Fraction(math.ceil(1000.0 * least / n), 1000)
        if coin < 1:
            power = Fraction(math.floor(1e6 * math.exp(closed_clones(FLOATS, -math.log(coin), n, delta))), 10**6)
            worst, points = max(worst, _clones_in_fractions(coin, n, power) / delta), points + 1
    n, tiny = 1000, 1e-6
    epsilon0 = math.log(n / (2.0 * math.log(2.0 / tiny)))
    beyond = clones(epsilon0, n).delta(float(closed_clones(FLOATS, epsilon0, n, tiny))).lower / tiny
    require(worst <= 1 < beyond, "The bound fails between the conditions, or holds with a constant of 2.")
    return {"points": points, "largest": float(worst), "beyond": beyond}


def _clones_in_fractions(coin: Fraction, n: int, power: Fraction) -> Fraction:
    """Return the divergence of two counts among n - 1 fair coins that occur with probability e^-epsilon0 each."""
    kept, found = 1 / (1 + coin), Fraction(0)
    for c in range(n):
        part = 0 * coin
        for a in range(c + 2):
            one, two = (math.comb(c, a - 1) if a else 0), math.comb(c, a)
            part += max(kept * one + (1 - kept) * two - power * ((1 - kept) * one + kept * two), Fraction(0))
        found += math.comb(n - 1, c) * coin**c * (1 - coin) ** (n - 1 - c) * part / 2**c
    return found


def average_factor() -> dict[str, float]:
    """Evaluate the root mean squared error of the average at delta = 1e-6, in units of 1/(n eps)."""
    n, epsilon, delta = 10**6, 0.1, 1e-6
    scale = math.sqrt(math.log(1.0 / delta)) / (epsilon * math.sqrt(n))
    factor = math.sqrt(2.0 / n) * scale * n * epsilon
    require(factor > 5.0, "The error is near 1/(n eps).")
    return {"factor": factor}


def average_factor_symbolic() -> dict[str, str]:
    """Show that the factor over 1/(n eps) is sqrt(2 ln(1/delta)), which grows without bound as delta goes to 0."""
    import sympy

    n, e, log = sympy.symbols("n e log", positive=True)
    factor = sympy.simplify(sympy.sqrt(2 / n) * sympy.sqrt(log) / (e * sympy.sqrt(n)) * n * e)
    require(sympy.limit(factor, log, sympy.oo) == sympy.oo, "The factor is bounded.")
    return {"formula": "sqrt(2 ln(1/delta))"}


def _laws(p: Fraction, alpha: Fraction, q: Fraction) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """Return a report's laws for two inputs, and that of all others: the fourth report is made by others only."""
    rest = 1 - (p + 1) * alpha
    others = [alpha * p / q, alpha * p / q, rest / q]
    left = 1 - sum(others, Fraction(0))
    return [p * alpha, alpha, rest, Fraction(0)], [alpha, p * alpha, rest, Fraction(0)], [*others, left]


def _divergence(
    first: Sequence[Fraction], second: Sequence[Fraction], others: Sequence[Fraction], n: int, power: Fraction
) -> Fraction:
    """Return the divergence at e^epsilon = power of one report of two laws among n - 1 of others, counted."""
    size = len(others)

    def counts(total: int, parts: int) -> list[tuple[int, ...]]:
        if parts == 1:
            return [(total,)]
        return [(k, *rest) for k in range(total + 1) for rest in counts(total - k, parts - 1)]

    def crowd(seen: tuple[int, ...]) -> Fraction:
        if min(seen) < 0:
            return Fraction(0)
        ways = math.factorial(n - 1)
        for k in seen:
            ways //= math.factorial(k)
        return ways * math.prod((w**k for w, k in zip(others, seen, strict=True)), start=Fraction(1))

    total = Fraction(0)
    for seen in counts(n, size):
        likely = [crowd(tuple(k - (i == j) for i, k in enumerate(seen))) for j in range(size)]
        one = sum((a * m for a, m in zip(first, likely, strict=True)), Fraction(0))
        two = sum((b * m for b, m in zip(second, likely, strict=True)), Fraction(0))
        total += max(one - power * two, Fraction(0))
    return total


_P, _ALPHA, _Q, _USERS = Fraction(20), Fraction(2, 100) / 21, Fraction(20), 9


def two_counts_in_fractions() -> dict[str, float]:
    """Enumerate nine users of a mechanism with p = q = 20, in fractions, beside the stated two counts, at eps = 2.4."""
    power = Fraction(math.exp(2.4))
    first, second, others = _laws(_P, _ALPHA, _Q)
    truth = _divergence(first, second, others, _USERS, power)
    merged = [*others[:2], others[2] + others[3]]
    claimed = _divergence(first[:3], second[:3], merged, _USERS, power)
    require(truth > 10**6 * claimed, "The stated divergence is not far too small.")
    return {"exceeds": float(truth / claimed), "truth": float(truth)}


def two_counts_numerically() -> dict[str, float]:
    """Bound the same divergence from below by the engine, whose expectation runs along a line of complex arguments."""
    from dpverify.privacy_loss.shuffling.amplification import variation_ratio

    p, q = float(_P), float(_Q)
    found = variation_ratio(p, float(_ALPHA) * (p - 1.0), q, _USERS).delta(2.4)
    require(found.upper > 1e-12, "The engine's bound is as small as the stated one.")
    return {"engine": found.upper}


def blanket_by_enumeration() -> dict[str, float]:
    """Enumerate both sides for n = 4, a blanket of mass 1, three reports and e^epsilon = 3/2, in fractions."""
    n, power = 4, Fraction(3, 2)
    first, second = [Fraction(3, 5), Fraction(1, 5), Fraction(1, 5)], [Fraction(1, 5), Fraction(3, 5), Fraction(1, 5)]
    others = [Fraction(1, 3)] * 3
    view = _divergence(first, second, others, n, power)
    z = [(a - power * b) / w for a, b, w in zip(first, second, others, strict=True)]
    expected = sum(
        (max(sum((z[i] for i in drawn), Fraction(0)), Fraction(0)) / 3**n for drawn in product(range(3), repeat=n)),
        Fraction(0),
    )
    require(view == expected / n, "The two sides differ.")
    return {"divergence": float(view)}
