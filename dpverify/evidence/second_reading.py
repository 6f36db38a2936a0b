"""What backs the verdicts that a second reading of the documents added: equations, costs, ranges, citations."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from dpverify.evidence import require

__all__ = [
    "absent_users",
    "adaptive_factor",
    "cost_at_least_error",
    "estimand",
    "estimand_symbolic",
    "gap_of_risks",
    "likely_losses",
    "one_level",
    "repeated_rows",
    "representation",
    "rounded_features",
    "rounded_identity",
    "runs_of_response",
    "shares_of_a_secret",
    "square_of_instances",
    "square_of_two_errors",
    "squared_noise",
]


def cost_at_least_error() -> dict[str, float]:
    """Evaluate 3NB's messages for a bitsum at Theorem 3.3's least alpha, C' = 1, and where n eps0 >= L^2.

    eps0 = eps alpha / sqrt(ln(1/delta)), I = 1/alpha^2, and alpha = sqrt(ln(1/delta)) / (eps n) is eps0 = 1/n. Let L =
    ln(1/delta0) and eps0 <= 1 <= L. Then r' <= 3 (1 + ln 2 + 0.99 + L) <= 11.1 L, and as e^x - 1 >= x, p' / (1-p') <=
    (eps0 + L) / (c eps0) <= 2 L / (c eps0) and p / (1-p) <= 1 / (0.99 eps0). So a user expects at most 1 + (44.4 / c +
    2.1) L^2 / (n eps0) messages for a bitsum: O(1) where n eps0 >= L^2, and then all the costs are those stated.
    """
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import three_nb as formulas

    n, epsilon, delta, c, found = 10**4, 1.0, 1e-6, 0.2, {}
    root = math.sqrt(math.log(1.0 / delta))
    for name, alpha in (("least", root / n), ("tenth", 0.1)):
        instances, each = math.ceil(alpha**-2), epsilon * alpha / root
        delta0 = delta / (2 * instances)
        p, shape = formulas.noise_p(FLOATS, each), formulas.flood_shape(FLOATS, each, delta0)
        flood = formulas.flood_p(FLOATS, each, delta0, c)
        found[f"{name}_messages"] = float(formulas.expected_messages_per_user(FLOATS, n, p, shape, flood, 1.0, 1))
        most = 1.0 + (44.4 / c + 2.1) * math.log(1.0 / delta0) ** 2 / (n * each)
        require(found[f"{name}_messages"] <= most, "The bound on the messages is wrong.")
        found[f"{name}_alpha"] = alpha
    require(found["least_messages"] > 1000.0, "The messages are few at the least alpha.")
    return found


def squared_noise() -> dict[str, float]:
    """Enumerate the mean square of Y = sum E_j g_j for S = Q = 2, R = 1: errors of +-E, queries g of -1, 0 and 1.

    Given all else the E_j are independent, of mean 0 and mean square (2 R E)^2, so that E Y^2 = (2 R E)^2 |g|^2. That
    is 4 S R^4 E^2 at most, attained where S entries of g are R or -R; and independent Y_i add up their mean squares.
    """
    largest = Fraction(0)
    for g in product((-1, 0, 1), repeat=2):
        values = [sum(2 * e * v for e, v in zip(signs, g, strict=True)) for signs in product((-1, 1), repeat=2)]
        largest = max(largest, Fraction(sum(value**2 for value in values), len(values)))
    require(largest == 4 * 2, "Another mean square.")
    return {"share": float(largest / 8)}


def absent_users() -> dict[str, float]:
    """Enumerate randomized response of four users and of three, p = 1/4, and account for half of a published protocol.

    The view of one user more is that of the others with her report added, which is post-processing: the largest delta
    over all datasets can only grow as users leave. So a protocol that just keeps its promise with n users breaks it
    with fewer, if the growth is strict; one with slack may keep it.
    """
    from dataclasses import replace

    from dpverify.changes import Full
    from dpverify.claims.bitsum import BITSUM_CLAIMS
    from dpverify.guarantee import ThreatModel

    p, power, worst = Fraction(1, 4), Fraction(3, 2), []
    for users in (4, 3):
        largest = Fraction(0)
        for ones in range(users):
            laws = []
            for own in (1 - p, p):
                law = [Fraction(1)]
                for chance in [1 - p] * ones + [p] * (users - 1 - ones) + [own]:
                    law = [
                        a * (1 - chance) + b * chance
                        for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)
                    ]
                laws.append(law)
            gaps = (max(a - power * b, Fraction(0)) for a, b in zip(*laws, strict=True))
            largest = max(largest, sum(gaps, Fraction(0)))
        worst.append(largest)
    require(worst[1] > worst[0], "Fewer users are as private.")
    claims, (n, epsilon0, delta0) = BITSUM_CLAIMS["rr"], (30_000, 0.0126, 6.5e-10)
    half = replace(claims.published(n, epsilon0, delta0), users=n // 2)
    kept = claims.curve(half, Full(1), ThreatModel.COMMUNICATION).delta(epsilon0).upper
    require(kept <= delta0, "Half of the users break the published guarantee.")
    return {"four": float(worst[0]), "three": float(worst[1]), "half": kept}


def repeated_rows() -> dict[str, float]:
    """Enumerate the estimated sum of 2 x 2 matrices whose rows are equal, as vectors of four coordinates, in fractions.

    The sum of vectors is estimated coordinate by coordinate, whatever the others are, and the law of the view depends
    on their number only: neither error nor privacy knows which coordinates make up a row.
    """
    d, k, gamma, x = 4, 1, Fraction(1, 3), (Fraction(0), Fraction(1), Fraction(0), Fraction(1))
    mean = [Fraction(0)] * d
    for coordinate, report in product(range(d), range(k + 1)):
        mass = Fraction(1, d) * ((1 - gamma) * (report == x[coordinate]) + gamma / (k + 1))
        mean[coordinate] += mass * d * (Fraction(report, k) - gamma / 2) / (1 - gamma)
    require(tuple(mean) == x, "The sum of matrices with equal rows is biased.")
    return {"bias": float(max(abs(a - b) for a, b in zip(mean, x, strict=True)))}


def square_of_two_errors() -> dict[str, str]:
    """Write 2 a^2 + 2 b^2 - (a - b)^2 as a square, for the two errors a and b of equation 2."""
    import sympy

    a, b = sympy.symbols("a b", real=True)
    require(sympy.factor(2 * a**2 + 2 * b**2 - (a - b) ** 2) == (a + b) ** 2, "The difference is no square.")
    return {"difference": "(a + b)^2"}


def square_of_instances() -> dict[str, int]:
    """Expand the square of a sum of three terms, and the mean of it where different terms are independent."""
    import sympy

    z, mean, k, f, n = sympy.symbols("z0:3"), sympy.symbols("m0:3"), sympy.Symbol("k"), sympy.symbols("f0:3"), 7
    left = k - sum(f) / (3 * n)
    require(sympy.expand(left - sum(k - each / n for each in f) / 3) == 0, "Equation 3 is no identity.")
    cross = [z[i] * z[j] - mean[i] * mean[j] for i, j in product(range(3), repeat=2) if i != j]
    expanded = sympy.expand(sum(z) ** 2 - sum(each**2 for each in z) - sum(cross))
    rest = sympy.expand(expanded - sum(mean[i] * mean[j] for i, j in product(range(3), repeat=2) if i != j))
    require(rest == 0, "Equation 4 has another expansion.")
    return {"instances": 3}


def rounded_features() -> dict[str, str]:
    """Derive the second moment of one instance for n users at a point and a far query, with bits and with real sums.

    f = sqrt 2 cos(a), g = sqrt 2 cos(c), a and c independent uniform phases: E g^2 f^2 = 1 without rounding. The mean
    of n rounded features has, given f, the second moment f^2 + (2 - f^2) / n.
    """
    import sympy

    a, n = sympy.symbols("a n", positive=True)
    square = sympy.integrate(2 * sympy.cos(a) ** 2, (a, 0, 2 * sympy.pi)) / (2 * sympy.pi)  # of f and of g
    real = square * square
    bits = sympy.expand(square * (square + (2 - square) / n))
    require(real == 1 and sympy.simplify(bits - 1 - 1 / n) == 0, "Another share of the rounding.")
    return {"with_bits": "1 + 1/n", "with_real_sums": "1"}


def rounded_identity() -> dict[str, float]:
    """Enumerate the estimate of x . y from one user's rounded coordinates, x = (3/5, 4/5) = y, in fractions."""
    x = (Fraction(3, 5), Fraction(4, 5))
    mean = square = Fraction(0)
    for signs in product((-1, 1), repeat=2):
        mass = math.prod(((1 + s * v) / 2 for s, v in zip(signs, x, strict=True)), start=Fraction(1))
        value = sum((s * v for s, v in zip(signs, x, strict=True)), Fraction(0))
        mean, square = mean + mass * value, square + mass * value**2
    variance = square - mean**2
    require(mean == 1 and variance == sum((1 - v**2) * v**2 for v in x) > 0, "Rounding has another variance.")
    return {"variance": float(variance)}


RUNS = {
    "DBPedia-14": (560_000 // 14, 768, 1e-6, (2.0, 4.5, 7.0)),
    "AG News": (120_000 // 4, 768, 1e-6, (2.0, 4.5, 7.0)),
    "SST2": (67_300 // 2, 768, 1e-5, (2.0, 4.5, 7.0)),
    "CIFAR-10": (50_000 // 10, 6144, 1e-5, (1.5, 3.0, 4.7)),
}
"""Of wagner2025, Tables 2 to 5: users of a class, instances I = d, delta, and the epsilons of RR."""


def _each(epsilon: float, instances: int, delta: float) -> float:
    """Return the eps0 at which Theorem 3.2 with delta' = delta/2 and S = 1 gives epsilon."""
    from dpverify.search import smallest

    root = math.sqrt(2 * instances * math.log(2.0 / delta))
    found = smallest(lambda each: instances * each * math.expm1(each) + each * root >= epsilon, 1e-3, 1.0, 1e-9)
    return float(found or 0.0)


def runs_of_response() -> dict[str, float]:
    """Compare eps0 of Theorem 3.2 with Lemma 4.8's range in the twelve settings of RR, and account for each.

    delta0 = delta / (2 I), as section 4 says, with S = 1 and as many users as a class has.
    """
    from dpverify.changes import Full
    from dpverify.claims.bitsum import BITSUM_CLAIMS
    from dpverify.formulas.protocols.randomized_response import HYPOTHESES
    from dpverify.guarantee import ThreatModel

    claims, outside, worst, found = BITSUM_CLAIMS["rr"], 0, 0.0, {}
    (bound,) = (each for each in HYPOTHESES if "3456" in each.statement)
    for n, instances, delta, epsilons in RUNS.values():
        delta0 = delta / (2 * instances)
        for epsilon in epsilons:
            each = _each(epsilon, instances, delta)
            values = {"epsilon0": each, "delta0": delta0, "n": n}
            outside += not bound.holds(*(values[name] for name in bound.parameters))
            curve = claims.curve(claims.published(n, each, delta0), Full(1), ThreatModel.COMMUNICATION)
            worst = max(worst, curve.delta(each).upper / delta0)
            if (n, epsilon) == (30_000, 2.0):
                found = {"ag_news": each, "needed": math.sqrt(3456.0) * math.log(4.0 / delta0) / n}
    require(outside > 0 and worst <= 1.0, "All runs are inside the range, or one is not private.")
    return found | {"outside": outside, "runs": 12, "worst": worst}


def one_level() -> dict[str, float]:
    """Evaluate Theorem 4.1's gamma at k = 1, the least whole k: at d = 100, n = 50,000, (0.95, 0.01) above 1.

    gamma is proportional to k, so that no k helps; it is a probability for some k if and only if it is one for k = 1.
    Where the balancing k of the proof, with its cube root, is 1.2, neither 1 nor 2 keeps to the stated bound on
    1/(4 k^2) + c k, c = 1 / (4 1.2^3), which is 1 / (2 1.2^2).
    """
    each = 56.0 * math.log(100.0) * math.log(200.0) / (49_999 * 0.95**2)
    slope, stated = 1 / (4 * Fraction(6, 5) ** 3), 1 / (2 * Fraction(6, 5) ** 2)
    best = min(Fraction(1, 4 * k**2) + slope * k for k in range(1, 10))
    require(100 * each > 1.0 and best > stated, "k = 1 gives a protocol, or a whole k the stated error.")
    return {"gamma": 100 * each, "most_coordinates": math.floor(1.0 / each), "rounded": float(best / stated)}


def estimand() -> dict[str, float]:
    """Enumerate (d/n) z, z of Algorithm 3, for two users of three coordinates who report one each, in fractions."""
    d, k, gamma, x = 3, 2, Fraction(1, 3), (Fraction(1, 2), Fraction(1))
    mean = Fraction(0)
    for chosen in product(range(d), repeat=2):
        reporting = [value for value, coordinate in zip(x, chosen, strict=True) if coordinate == 0]
        for reports in product(range(k + 1), repeat=len(reporting)):
            mass = Fraction(1, d**2)
            for value, report in zip(reporting, reports, strict=True):
                mass *= (1 - gamma) * (report == value * k) + gamma / (k + 1)
            mean += mass * (Fraction(sum(reports), k) - gamma / 2 * len(reports)) / (1 - gamma)
    estimate = mean * d / 2
    require(estimate == sum(x) / 2 != d * sum(x) / 2, "(d/n) z estimates something else than the mean.")
    return {"estimate": float(estimate), "stated": float(d * sum(x) / 2)}


def estimand_symbolic() -> dict[str, str]:
    """Take the mean of (d/n) z: n t/d users sample a coordinate on average, and z is unbiased for their sum."""
    import sympy

    n, d, t, mean = sympy.symbols("n d t mean", positive=True)
    ratio = sympy.simplify((d / n) * (t / d) * n * mean / ((d / n) * n * mean))
    require(ratio == t / d, "Another share.")
    return {"share": str(ratio)}


def likely_losses() -> dict[str, float]:
    """Check on laws of three outcomes, in fractions, that delta is at most the probability of losses of e^eps or more.

    P(E) <= P(E and loss < e^eps) + P(loss >= e^eps) <= e^eps Q(E) + P(loss >= e^eps), for every event E.
    """
    laws = [law for law in product(range(1, 7), repeat=3) if sum(law) == 8]
    least = Fraction(1)
    for p, q in product(laws, repeat=2):
        for power in (Fraction(1), Fraction(3, 2), Fraction(3)):
            delta = sum((max(a - power * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))
            likely = sum(a for a, b in zip(p, q, strict=True) if a >= power * b)
            require(delta <= likely, "Condition (1) is not enough.")
            if likely:
                least = min(least, delta / likely)
    return {"least": float(least)}


def adaptive_factor() -> dict[str, str]:
    """Divide Theorem 4.1's gamma at t = 1 by section 4.5's, below and above eps = 1."""
    import sympy

    log = sympy.Symbol("log", positive=True)
    small, large = sympy.Rational(56, 14) * log, sympy.Rational(2016, 80) * log
    require(sympy.limit(small / log, log, sympy.oo) == 4, "Another factor.")
    return {"small": f"{small / log} log(1/delta)", "large": f"{large / log} log(1/delta)"}


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
        first, second = view((0, 0), shares), view((1, 2), shares)
        found.append(sum((max(m - second.get(k, Fraction(0)), Fraction(0)) for k, m in first.items()), Fraction(0)))
    require(found[0] == 1 > found[1] > found[2], "One share hides a number.")
    return {"one": float(found[0]), "two": float(found[1]), "three": float(found[2])}


def representation() -> dict[str, float]:
    """Enumerate a representation by half of a class: thresholds on three points, every distribution of sixths."""
    points, thresholds = range(3), range(4)
    kept = [(0, 2), (1, 3)]  # H, each with probability 1/2
    worst = Fraction(0)
    for weights in product(range(7), repeat=3):
        if sum(weights) == 6:
            for target in thresholds:
                errors = [
                    min(
                        sum((Fraction(weights[x], 6) for x in points if (x < h) != (x < target)), Fraction(0))
                        for h in chosen
                    )
                    for chosen in kept
                ]
                worst = max(worst, sum((Fraction(1, 2) for e in errors if e > Fraction(1, 2)), Fraction(0)))
    require(worst == Fraction(1, 2), "Half of the class represents it otherwise.")
    return {"failing": float(worst)}


def gap_of_risks() -> dict[str, Any]:
    """Divide the local rates of empirical risk by the central ones, as printed, for both kinds of losses."""
    import sympy

    n, d, e, log = sympy.symbols("n d epsilon log", positive=True)
    strong = sympy.simplify((d / (n * e**2)) / (d * log / (n**2 * e**2)))
    general = sympy.simplify((sympy.sqrt(d) / (e * sympy.sqrt(n))) / (sympy.sqrt(d * log) / (n * e)))
    require(strong == n / log and sympy.simplify(general - sympy.sqrt(n / log)) == 0, "Other gaps.")
    return {"strong": "n / log(1/delta)", "general": "sqrt(n / log(1/delta))"}
