"""What backs the verdicts on the privacy of vector sums, and on composition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import flint

from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.evidence import divergence, require
from dpverify.formulas import FormulaRangeError
from dpverify.formulas.contexts import FLOATS, arb_context, less, lower_float, upper_float
from dpverify.formulas.protocols import vector_sum as formulas
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.losses.two_valued import composed_delta, composed_epsilon
from dpverify.search import smallest
from protocols.vector_sum import VectorSum


def _composed(epsilon: Fraction, delta: Fraction, t: int) -> float:
    """Return the total delta at epsilon, rounded up, of t worst mechanisms at Corollary 4.3's (eps', delta/t)."""
    each = float(epsilon) / (2.0 * math.sqrt(2.0 * t * math.log(1.0 / delta))) * (1.0 + 1e-14)
    hidden = (1 - delta / t) ** t  # that no mechanism fails outright (kairouz2015, Theorem 3.3)
    pure = Fraction(upper_float(composed_delta(each, t, epsilon)))
    return float(1 - hidden * (1 - pure))


def optimal_composition() -> dict[str, float]:
    """Compose t mechanisms that are (eps', delta/t)-DP, `eps' = eps / (2 sqrt(2 t L))`, L = ln(1/delta), optimally.

    That the total is (eps, delta)-DP for t = 1 if and only if delta <= e^(-1/8): there eps' <= eps. For t >= 2 and
    delta <= 0.39 it is, too. The worst mechanism fails outright with probability delta/t, else it has losses +-eps'.
    The mean of their sum is `t eps' tanh(eps'/2) <= t eps'^2 / 2 = eps^2 / (16 L)`, so that by Hoeffding's inequality
    the sum exceeds eps with probability at most `exp(-2 eps^2 (1 - eps/(16 L))^2 / (4 t eps'^2)) <= delta^(4 (1 -
    1/(16 L))^2)` for eps < 1. What is left of delta is `delta - 1 + (1 - delta/t)^t >= delta^2 / 4` for t >= 2, and the
    exponent makes the former less up to delta = 0.39. Above, the composition is computed.
    """
    epsilons = [Fraction(number, 100) for number in (1, 30, 70, 99)]
    deltas = [Fraction(1, 10**12), Fraction(1, 10**6), *(Fraction(number, 100) for number in (1, 5, 10, 20, 39))]
    deltas += [Fraction(number, 100) for number in range(45, 88, 6)]
    several = (1, 2, 3, 5, 10, 100, 1000)
    worst = max(_composed(e, d, t) / float(d) for e in epsilons for d in deltas for t in several)
    require(worst <= 1.0, f"At Corollary 4.3's parameters the total is {worst} delta.")
    for delta in (1e-9, 1e-3, 0.1, 0.3, 0.39):
        left = delta ** (4.0 * (1.0 - 1.0 / (16.0 * math.log(1.0 / delta))) ** 2)
        require(left <= delta**2 / 4.0, f"The Hoeffding step of the proof fails at delta={delta}.")
    return {"worst_ratio": worst, "largest_delta": float(deltas[-1]), "limit": math.exp(-1.0 / 8.0)}


def composition_at_large_delta() -> dict[str, float]:
    """Return by how much one mechanism at Corollary 4.3's eps' exceeds delta where delta is near 1.

    In exact fractions below the irrational eps' and e^eps': its divergence is no more than that of the source.
    """
    delta, epsilon = Fraction(9, 10), Fraction(99, 100)
    each = float(epsilon) / (2.0 * math.sqrt(2.0 * math.log(1.0 / delta))) * (1.0 - 1e-12)
    low, high = (
        Fraction(math.exp(each)) * (1 - Fraction(1, 10**12)),
        Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**12)),
    )
    total = delta + (1 - delta) * (low - high) / (1 + low)
    ratio = float(total / delta)
    require(ratio > 1.0, "The composition holds at delta = 0.9, t = 1.")
    advanced = 1.0 / (2.0 * math.sqrt(2.0 * math.log(1.0 / delta))) * float(epsilon)
    stated = math.sqrt(2.0 * math.log(1.0 / delta)) * advanced + advanced * math.expm1(advanced)
    require(stated > epsilon, "Advanced composition keeps to epsilon at delta = 0.9.")
    return {"excess_ratio": ratio, "advanced_epsilon": stated}


def advanced_beside_optimal() -> dict[str, float]:
    """Compare Theorem 4.2 with optimal composition, which is exact, in Arb balls on a grid of (r, eps', delta)."""
    worst, points = 0.0, 0
    for r, each, delta in product((1, 3, 10, 100, 1000), (0.001, 0.01, 0.1, 0.5, 1.0), (0.5, 1e-3, 1e-9)):
        advanced = math.sqrt(2 * r * math.log(1 / delta)) * each + r * each * math.expm1(each)
        worst, points = max(worst, upper_float(composed_epsilon(each, r, delta)) / advanced), points + 1
    require(worst <= 1.0, "Optimal composition exceeds Theorem 4.2 somewhere on the grid.")
    return {"points": points, "worst_share": worst}


def advanced_budget() -> dict[str, float]:
    """Find where Corollary 4.3 keeps Theorem 4.2 below epsilon, for epsilon near 1 and near 6, and any r.

    With eps' = eps / (2 sqrt(2 r L)), L = ln(1/delta), the first term is eps/2, and the second `r eps' (e^eps' - 1)` is
    largest for r = 1, as (e^x - 1) / x grows; it is at most eps/2 if and only if L is large enough.
    """

    def least_log(epsilon: float, divisor: float) -> float:
        def kept(log: float) -> bool:
            each = epsilon / (divisor * math.sqrt(2.0 * log))
            return math.sqrt(2.0 * log) * each + each * math.expm1(each) <= epsilon

        found = smallest(kept, 0.1, 100.0, 1e-9)
        require(found is not None, "No delta is small enough.")
        return float(found or 0.0)

    return {"largest_delta": math.exp(-least_log(1.0, 2.0)), "largest_delta_six": math.exp(-least_log(6.0, 12.0))}


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


def theorem_near_one() -> dict[str, float]:
    """Account for Theorem 4.1's gamma at delta = 0.9999: neighbours that the defaults of section 5 allow attain it."""
    claims = VectorSumClaims()
    protocol = claims.published(50_000, 100, 3, 0.95, 0.9999, sampled=100)
    found = FamilyComposition(claims.attained_pairs(protocol), 100, relative_width=1e-3).delta(0.95)
    require(found.lower > 0.9999, "Theorem 4.1 holds at delta = 0.9999.")
    return {"gamma_near_one": protocol.blanket_probability, "missing": 1.0 - found.lower}


def theorem_of_two_users() -> dict[str, float]:
    """Enumerate the histograms of two users at Theorem 4.1's gamma, d = t = 3, k = 1, eps = 0.95, delta = 1 - 1e-7."""
    delta, power = Fraction(10**7 - 1, 10**7), Fraction(math.exp(0.95)) * (1 + Fraction(1, 10**12))
    gamma = Fraction(float(formulas.gamma_theorem(FLOATS, 0.95, float(delta), 3, 1, 2, 3)))
    one = gamma / 2  # that a report of 0 is sent as 1
    # In each coordinate the other user holds 0, and she 1 or 0: how often 1 is sent.
    laws = [[(1 - one) * (1 - mine), one * (1 - mine) + (1 - one) * mine, one * mine] for mine in (1 - one, one)]
    views = [[math.prod(three, start=Fraction(1)) for three in product(law, repeat=3)] for law in laws]
    found = divergence(*views, power=power)
    require(found > delta, "Theorem 4.1 holds for two users.")
    return {"few_missing": float(1 - found)}


def theorem_grid() -> dict[str, float]:
    """Account for Theorem 4.1's gamma wherever it is at most 1 on a grid of (d, t), epsilon, delta <= 1/2, k and n."""
    claims, worst, points = VectorSumClaims(), 0.0, 0
    for d, t in ((1, 1), (3, 3), (4, 2), (10, 10)):
        for epsilon, delta, levels, users in product((0.1, 0.9, 5.9), (0.5, 1e-3, 1e-9), (1, 4), (10**4, 10**6)):
            try:
                gamma = formulas.gamma_theorem(FLOATS, epsilon, delta, d, levels, users, t)
            except FormulaRangeError:
                continue
            protocol = VectorSum(users, d, levels, float(gamma), t)
            worst, points = max(worst, claims.delta_upper(protocol, epsilon, delta / 10.0) / delta), points + 1
    require(worst <= 1.0, f"Theorem 4.1 gives {worst} delta somewhere on the grid.")
    return {"points": points, "worst": worst}


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


def adaptive_factor() -> dict[str, str]:
    """Divide Theorem 4.1's gamma at t = 1 by section 4.5's, below and above eps = 1."""
    import sympy

    log = sympy.Symbol("log", positive=True)
    small, large = sympy.Rational(56, 14) * log, sympy.Rational(2016, 80) * log
    require(sympy.limit(small / log, log, sympy.oo) == 4, "Another factor.")
    return {"small": f"{small / log} log(1/delta)", "large": f"{large / log} log(1/delta)"}


def refined_gamma() -> dict[str, float]:
    """Account for section 4.5's gamma with the coordinate and the truth of the report revealed, and without."""
    claims, (users, d, levels, epsilon) = VectorSumClaims(), (50_000, 100, 3, 0.95)
    worst = 0.0
    for n, eps, delta, k in product((10**5, 10**6), (0.5, 0.9, 3.0), (0.5, 1e-3, 1e-6), (1, 4)):
        published = claims.published(n, 1, k, eps, delta)
        worst = max(worst, claims.revealed_delta(published, eps) / delta)
    require(worst <= 1.0, f"Section 4.5 gives {worst} delta somewhere on the grid.")

    def revealed(delta: float) -> float:
        def meets(gamma: float) -> bool:
            return (1.0 - gamma) * claims.revealed_delta(VectorSum(users, d, levels, gamma), epsilon) <= delta

        found = smallest(meets, 0.01, 1.0, 1e-3)
        require(found is not None, "No gamma hides a revealed coordinate.")
        return float(found or 0.0)

    least = {
        delta: claims.least_blanket(users, d, levels, (epsilon, delta)).blanket_probability for delta in (0.5, 1e-6)
    }
    return {
        "worst": worst,
        "asked": float(formulas.gamma_refined(FLOATS, epsilon, 0.5, d, levels, users)),
        "asked_small": 14.0 * d * levels * math.log(2e6) / ((users - 1) * epsilon**2),
        "revealed": revealed(0.5),
        "revealed_small": revealed(1e-6),
        "hidden": least[0.5],
        "hidden_small": least[1e-6],
    }


def longer_range() -> dict[str, float]:
    """Scale the constants, and evaluate Theorem 4.2 at the scaled parameter for eps from 1 to 6."""
    require(36 * 56 == 2016, "36 * 56 is not 2016.")
    require(2016 == 2 * 1008 and 56 == 2 * 28, "The halves are other numbers.")
    worst = 0.0
    for e, d, r in product((1.0, 3.0, 5.999), (1e-12, 1e-3, 0.5, 0.9), (1, 2, 100)):
        each = e / (12.0 * math.sqrt(2.0 * r * math.log(1.0 / d)))
        worst = max(worst, 1.0 / 12.0 + r * each * math.expm1(each) / e)
    require(worst <= 1.0, "Theorem 4.2 exceeds epsilon at the scaled parameter.")
    return {"worst_ratio": worst}


def half_power_of_seven() -> dict[str, float]:
    """Enclose the step for eps' < 1: (1 - e^(-1/2)) >= 1 / sqrt(7), and concavity does the rest."""
    with arb_context(128) as ctx:
        left, right = -ctx.expm1(ctx.convert(-1) / 2), 1 / ctx.sqrt(ctx.convert(7))
        require(less(right, left), "1 - e^(-1/2) is below 1 / sqrt 7.")
        return {"left": lower_float(left), "right": lower_float(right)}


def second_exponential() -> dict[str, float]:
    """Bound e^(x/2) - 1 - 1/c below by x/2 for c >= 14 log(2t/delta) / x^2: needs log(2t/delta) >= 4/7."""
    import sympy

    x = sympy.symbols("x", positive=True)
    series = sympy.series(sympy.exp(x / 2) - 1 - x / 2 - x**2 / 8, x, 0, 6).removeO()
    require(all(term >= 0 for term in sympy.Poly(series, x).coeffs()), "e^(x/2) is below its first three terms.")
    require(sympy.log(2) > sympy.Rational(4, 7), "log 2 is below 4/7.")
    return {"least_log": float(sympy.log(2)), "needed": 4.0 / 7.0}


def chernoff_exponents() -> dict[str, float]:
    """Compare both exponents with log(2t/delta), at the least c of either range."""
    found: dict[str, float] = {}
    for name, constant, second in (("small", 14, Fraction(1, 7)), ("large", 80, Fraction(1, 40))):
        first_exponent = Fraction(constant, 3) * Fraction(1, 4)
        second_exponent = Fraction(constant, 2) * second
        require(first_exponent >= 1 and second_exponent >= 1, f"An exponent of the {name} range is below 1.")
        found |= {f"first_{name}": float(first_exponent), f"second_{name}": float(second_exponent)}
    return found


def chernoff_beyond_one() -> dict[str, float]:
    """Evaluate a binomial tail beyond the Chernoff bound exp(-c d^2 / 3) at d > 1, as in section 4.5.

    Bin(10^5, 2 10^-5) has mean c = 2; N + 1 >= c e^3 asks for 40 and more. One term of the sum is enough.
    """
    n, c, most = 10**5, 2, 40
    p = flint.arb(c) / n
    term = (flint.arb(n + 1).lgamma() - flint.arb(most + 1).lgamma() - flint.arb(n - most + 1).lgamma()).exp()
    tail = float(term * p**most * (1 - p) ** (n - most))
    printed = math.exp(-c / 3.0 * (math.exp(3.0) - 1.0 - 1.0 / c) ** 2)
    require(tail > 1e10 * printed, "The printed Chernoff bound holds.")
    # What is concluded does hold: with the right exponent, c (e^x (x - 1) + 1) at x = eps'/2, it is at least c x^2 / 3.
    for number in range(1, 301):
        x = number / 100.0
        require(math.exp(x) * (x - 1.0) + 1.0 >= x * x / 3.0, "The conclusion fails.")
    return {"tail": tail, "printed_bound": printed}


def steps_of_appendix() -> dict[str, float]:
    """Check the elementary inequalities of Appendix A and section 4.5 by Arb balls at the ends of concave functions.

    1 - e^(-x/2) is concave and vanishes at 0, so that it is at least its chord: it is enough to compare at the end.
    """
    half = 1 - (-flint.arb(1) / 2).exp()
    require(half > 1 / flint.arb(7).sqrt(), "1 - e^(-1/2) < 1/sqrt 7.")
    slope = 1 - (-flint.arb(2) / (3 * flint.arb(15).sqrt())).exp()
    require(slope > 1 / (2 * flint.arb(10).sqrt()), "The slope for eps' < 6 is below 1/(2 sqrt 10).")
    require(1 - (-flint.arb(3)).exp() > 6 * slope, "The chord at eps' = 6 is above.")
    # e^(x/2) - 1 >= x/2 + x^2/8, and 1/c <= x^2 / (14 log(2t/delta)) is at most x^2/8 where 14 log 2 >= 8.
    require(14 * flint.arb(2).log() > 8, "14 log 2 < 8.")
    return {"slope": float(slope)}


def likelihood_of_counts() -> dict[str, float]:
    """List every set of random messages of three users, and compare the likelihood ratio with that of the counts."""
    k, users = 3, 3
    cases = 0
    for blanket in product(range(k), repeat=users):
        for mine in range(k):
            counts = [sum(message == value for message in (*blanket, mine)) for value in range(k)]
            for theta, phi in ((0, 1), (2, 0)):
                # Given her input, she adds one of it: what is left must be the blanket's, which is uniform.
                ways = []
                for value in (theta, phi):
                    left = list(counts)
                    left[value] -= 1
                    possible = min(left) >= 0
                    ways.append(
                        Fraction(math.factorial(users), math.prod(map(math.factorial, left)))
                        if possible
                        else Fraction(0)
                    )
                require(ways[0] * counts[phi] == ways[1] * counts[theta], "The ratio is not that of the counts.")
                cases += 1
    return {"cases": cases}


def _view(vectors: Sequence[tuple[int, ...]], gamma: Fraction, *, linked: bool) -> dict[tuple[object, ...], Fraction]:
    """Return the law of scott2022's view for t = d, k = 1: which reports are random, and the multiset of messages.

    `linked`: a message carries all coordinates of a user; else the counts of single coordinates.
    """
    users = []
    for x in vectors:
        law: dict[tuple[object, ...], Fraction] = {}
        for flags in product((0, 1), repeat=len(x)):
            outputs = list(product(*((0, 1) if flag else (bit,) for flag, bit in zip(flags, x, strict=True))))
            for y in outputs:
                mass = Fraction(1, len(outputs)) * gamma ** sum(flags) * (1 - gamma) ** (len(x) - sum(flags))
                law[flags, y] = law.get((flags, y), Fraction(0)) + mass
        users.append(law)
    view: dict[tuple[object, ...], Fraction] = {}
    for sent in product(*(law.items() for law in users)):
        messages: list[Any] = [key[1] for key, _ in sent]
        seen = (
            tuple(sorted(messages))
            if linked
            else tuple(tuple(sorted(column)) for column in zip(*messages, strict=True))
        )
        key = (tuple(key[0] for key, _ in sent), seen)
        view[key] = view.get(key, Fraction(0)) + math.prod(mass for _, mass in sent)
    return view


def linked_views() -> dict[str, float]:
    """Enumerate all views of two users of two coordinates in fractions, with and without what links coordinates."""
    grid, gamma = list(product((0, 1), repeat=2)), Fraction(1, 2)
    least = Fraction(math.exp(0.5)) * (1 - Fraction(1, 10**14))  # below e^0.5: divergences are not understated
    found = {}
    for linked in (False, True):
        views = {(x, other): _view((x, other), gamma, linked=linked) for x in grid for other in grid}
        found[linked] = max(
            divergence(views[x, other], views[y, other], power=least) for x, y, other in product(grid, repeat=3)
        )
    require(found[True] > found[False], "Linked messages tell no more than their single coordinates.")
    return {"apart": float(found[False]), "together": float(found[True])}


def product_of_views() -> dict[str, str]:
    """Compare two multisets of messages that have the same scalar views, as polynomials in gamma.

    Lemma 4.4 gives both the product of the scalar views' probabilities, which is one number. Users (0, 0) and (1, 1)
    send {(0, 0), (1, 1)} and {(0, 1), (1, 0)} with different ones.
    """
    import sympy

    gamma = sympy.Symbol("gamma", positive=True)
    right, wrong = 1 - gamma / 2, gamma / 2

    def sends(x: tuple[int, int], y: tuple[int, int]) -> Any:
        return math.prod(right if a == b else wrong for a, b in zip(x, y, strict=True))

    def seen(first: tuple[int, int], second: tuple[int, int]) -> Any:
        return sends((0, 0), first) * sends((1, 1), second) + sends((0, 0), second) * sends((1, 1), first)

    difference = sympy.factor(seen((0, 0), (1, 1)) - seen((0, 1), (1, 0)))
    require(difference != 0, "Both multisets have the same probability.")
    return {"difference": str(difference).replace("**", "^")}
