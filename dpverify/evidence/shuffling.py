"""What backs the verdicts on shuffled reports: their amplification, and the shuffled mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, RandomizedResponsePair
from dpverify.changes import Full
from dpverify.claims.shuffled_mean import ShuffledMeanClaims
from dpverify.evidence import divergence, require
from dpverify.formulas.amplification import CLOSED_CLONES, closed_clones
from dpverify.formulas.contexts import FLOATS
from dpverify.guarantee import ThreatModel
from dpverify.privacy_loss.shuffling.amplification import clones, pure, variation_ratio
from protocols.shuffled_mean import ShuffledMean


def closed_bound() -> dict[str, float]:
    """Evaluate the closed bound, the clones behind it, and what every mechanism has, at n = 10^5, epsilon0 = 4."""
    closed = float(closed_clones(FLOATS, 4.0, 10**5, 1e-6))
    counted, exact = clones(4.0, 10**5).epsilon(1e-6), pure(4.0, 10**5).epsilon(1e-6)
    require(exact.upper < counted.lower < counted.upper < closed, "The closed bound is exceeded.")
    return {"closed": closed, "clones": counted.upper, "every": exact.upper, "attained": exact.lower}


def closed_bound_grid() -> dict[str, float]:
    """Compare the closed bound with the exact clones wherever its condition holds on a grid."""
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


def amplified_without_logarithm() -> dict[str, float]:
    """Account for epsilon0 = 1/2 and n = 10^5 at delta = 1e-5 and 1e-12, in units of epsilon0 / sqrt(n)."""
    found = {}
    for name, delta in (("large", 1e-5), ("small", 1e-12)):
        found[f"at_{name}"] = pure(0.5, 10**5).epsilon(delta).lower / (0.5 / math.sqrt(1e5))
    require(found["at_small"] > 1.5 * found["at_large"] > 0.0, "The constant does not depend on delta.")
    return found


def shuffled_theorem() -> dict[str, float]:
    """Account for five least coins, and compare their expected error with the stated one of constant 1."""
    claims, worst = ShuffledMeanClaims(), 0.0
    cases = ((1.0, 1e-2, 1000, 0.01369), (1.0, 1e-10, 30_000, 0.004325), (0.3, 1e-6, 1000, 0.25895))
    for epsilon, delta, n, p in (*cases, (1.0, 2.0**-20, 20, 0.53775)):
        mean = ShuffledMean(n, p)
        found = claims.curve(mean, Full(1), ThreatModel.COMMUNICATION).delta(epsilon).upper
        require(found <= delta, f"p={p} is not private at n={n}.")
        worst = max(worst, claims.mean_absolute_error(mean).upper / claims.published_bound(n, epsilon, delta))
    require(worst <= 1.56, "The constant is above 1.56.")
    return {"constant": worst}


def shuffled_parameter() -> dict[str, float]:
    """Account for p = ln(1/delta) / (n eps^2) at (1, 1e-6), n = 30,000."""
    claims = ShuffledMeanClaims()

    def curve(mean: ShuffledMean) -> Any:
        return claims.curve(mean, Full(1), ThreatModel.COMMUNICATION)

    published = claims.published(30_000, 1.0, 1e-6)
    exact = curve(published).epsilon(1e-6).lower
    require(exact > 1.0, "The printed parameter is private.")
    p = 4.93 * published.coin_probability
    require(curve(ShuffledMean(30_000, p)).delta(1.0).upper <= 1e-6, "4.93 times as much is not enough.")
    require(curve(ShuffledMean(30_000, p * 4.91 / 4.93)).delta(1.0).lower > 1e-6, "4.91 times as much is enough.")
    return {"exact_epsilon": exact, "impossible": math.log(1e6) / (1000 * 0.01)}


def shuffled_constant() -> dict[str, float]:
    """Account for p = 8 ln(1/delta) / (n eps^2) wherever that is a probability on a grid of eps, delta and n.

    Below 1e-12, where the engine's rounding shows, in balls and for the dataset without ones: 10^6 users, eps = 1.
    """
    claims, worst, points = ShuffledMeanClaims(), 0.0, 0
    for n, epsilon, delta in product((100, 1000, 30_000), (0.1, 0.3, 1.0), (0.5, 1e-2, 1e-6, 1e-12)):
        p = 8.0 * math.log(1.0 / delta) / (n * epsilon**2)
        if p < 1.0 and delta >= 2.0 ** (-epsilon * n):
            curve = claims.curve(ShuffledMean(n, p), Full(1), ThreatModel.COMMUNICATION)
            worst, points = max(worst, curve.delta(epsilon).upper / delta), points + 1
    require(worst <= 1.0, f"The constant 8 gives {worst} delta somewhere on the grid.")

    def without_ones(constant: int, delta: float) -> tuple[float, float]:
        pair = RandomizedResponsePair(10**6, constant * math.log(1.0 / delta) / 10**6 / 2.0, 0)
        found = [hockey_stick(pair, 1, way, digits=6) for way in Direction]
        return max(each.lower for each in found), max(each.upper for each in found)

    for delta in (1e-16, 1e-30, 1e-100):
        require(without_ones(8, delta)[1] <= delta, f"The constant 8 is not private at delta={delta}.")
        require(without_ones(6, delta)[0] > delta, f"The constant 6 is private at delta={delta}.")
    return {"constant": 8, "points": points, "share": worst}


def shuffled_parameter_enclosed() -> dict[str, float]:
    """Enclose the delta at epsilon 1 of the same parameter by binomial tails in Arb balls."""
    pair = RandomizedResponsePair(30_000, math.log(1e6) / 30_000 / 2.0, 0)
    found = max(hockey_stick(pair, 1, way, digits=6).lower for way in Direction)
    require(found > 1e-6, "The printed parameter is private.")
    return {"exact_delta": found}


def shuffled_estimate() -> dict[str, float]:
    """Enumerate equation 9.5 for four users in fractions, and evaluate its bias at n = 10,000."""
    n, p, x = 4, Fraction(1, 10), (1, 0, 0, 0)
    mean = Fraction(0)
    for reports in product((0, 1), repeat=n):
        mass = math.prod((1 - p) * (y == b) + p / 2 for y, b in zip(reports, x, strict=True))
        mean += mass * (sum(reports) - p / 2) / (n * (1 - p))
    bias = mean - Fraction(sum(x), n)
    require(bias == (n - 1) * p / (2 * n * (1 - p)), "The bias is another.")
    return {"bias": float(Fraction(9999) * p / (2 * 10_000 * (1 - p)))}


def shuffled_estimate_symbolic() -> dict[str, str]:
    """Derive the bias of equation 9.5 for any n, p and sum."""
    import sympy

    n, p, s = sympy.symbols("n p s", positive=True)
    bias = sympy.factor(((1 - p) * s + n * p / 2 - p / 2) / (n * (1 - p)) - s / n)
    require(sympy.simplify(bias - (n - 1) * p / (2 * n * (1 - p))) == 0, "The bias is another.")
    return {"bias_formula": "(n-1) p / (2 n (1-p))"}


def views_by_definition() -> dict[str, float]:
    """Enumerate two users of randomized response: the order of the messages tells nothing that their counts do not."""
    p = Fraction(1, 4)
    for bits in product((0, 1), repeat=2):
        law: dict[tuple[int, ...], Fraction] = {}
        for reports in product((0, 1), repeat=2):
            mass = math.prod((p if r != b else 1 - p for r, b in zip(reports, bits, strict=True)), start=Fraction(1))
            for order in (reports, reports[::-1]):
                law[order] = law.get(order, Fraction(0)) + mass / 2
        require(law[0, 1] == law[1, 0], "The order depends on the data.")
    return {"orders_alike": 1.0}


def shares_of_a_secret() -> dict[str, float]:
    """Enumerate the messages of two users who split their numbers mod 3 into m shares each, of (0, 0) and (1, 2).

    With m = 1 the only share is the number itself, as there is nothing it could add up with: the inputs are told apart.
    """

    def view(inputs: tuple[int, int], shares: int) -> dict[tuple[int, ...], Fraction]:
        law: dict[tuple[int, ...], Fraction] = {}
        for free in product(range(3), repeat=2 * (shares - 1)):
            mine, other = free[: shares - 1], free[shares - 1 :]
            sent = (*mine, (inputs[0] - sum(mine)) % 3, *other, (inputs[1] - sum(other)) % 3)
            key = tuple(sorted(sent))
            law[key] = law.get(key, Fraction(0)) + Fraction(1, 3 ** (2 * (shares - 1)))
        return law

    found = []
    for shares in (1, 2, 3):
        found.append(divergence(view((0, 0), shares), view((1, 2), shares), power=1))
    require(found[0] == 1 > found[1] > found[2], "One share hides a number.")
    return {"one": float(found[0]), "two": float(found[1]), "three": float(found[2])}
