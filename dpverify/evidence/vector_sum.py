"""What backs the verdicts on scott2022: privacy, accuracy and the printed proofs of the vector sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from dpverify.evidence import require

__all__ = [
    "best_levels",
    "best_number_of_coordinates",
    "composition_at_large_delta",
    "debiased_sum",
    "domain_of_reports",
    "linked_views",
    "normalized_bound",
    "optimal_composition",
    "printed_levels",
    "product_of_views",
    "refined_gamma",
    "sample_size",
    "sample_size_exponent",
    "theorem_grid",
    "theorem_near_one",
    "theorem_of_two_users",
    "unsampled_error",
]


def _composed(epsilon: Fraction, delta: Fraction, t: int) -> float:
    """Return the total delta at epsilon, rounded up, of t worst mechanisms at Corollary 4.3's (eps', delta/t)."""
    from dpverify.formulas.contexts import upper_float
    from dpverify.privacy_loss.losses.two_valued import composed_delta

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


def theorem_near_one() -> dict[str, float]:
    """Account for Theorem 4.1's gamma at delta = 0.9999: neighbours that the defaults of section 5 allow attain it."""
    from dpverify.claims.vector_sum.privacy import VectorSumClaims
    from dpverify.privacy_loss.composing.family import FamilyComposition

    claims = VectorSumClaims()
    protocol = claims.published(50_000, 100, 3, 0.95, 0.9999, sampled=100)
    found = FamilyComposition(claims.attained_pairs(protocol), 100, relative_width=1e-3).delta(0.95)
    require(found.lower > 0.9999, "Theorem 4.1 holds at delta = 0.9999.")
    return {"gamma_near_one": protocol.blanket_probability, "missing": 1.0 - found.lower}


def theorem_of_two_users() -> dict[str, float]:
    """Enumerate the histograms of two users at Theorem 4.1's gamma, d = t = 3, k = 1, eps = 0.95, delta = 1 - 1e-7."""
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import vector_sum as formulas

    delta, power = Fraction(10**7 - 1, 10**7), Fraction(math.exp(0.95)) * (1 + Fraction(1, 10**12))
    gamma = Fraction(float(formulas.gamma_theorem(FLOATS, 0.95, float(delta), 3, 1, 2, 3)))
    one = gamma / 2  # that a report of 0 is sent as 1
    # In each coordinate the other user holds 0, and she 1 or 0: how often 1 is sent.
    laws = [[(1 - one) * (1 - mine), one * (1 - mine) + (1 - one) * mine, one * mine] for mine in (1 - one, one)]
    views = [[math.prod(three, start=Fraction(1)) for three in product(law, repeat=3)] for law in laws]
    found = sum((max(a - power * b, Fraction(0)) for a, b in zip(*views, strict=True)), Fraction(0))
    require(found > delta, "Theorem 4.1 holds for two users.")
    return {"few_missing": float(1 - found)}


def theorem_grid() -> dict[str, float]:
    """Account for Theorem 4.1's gamma wherever it is at most 1 on a grid of (d, t), epsilon, delta <= 1/2, k and n."""
    from dpverify.claims.vector_sum.privacy import VectorSumClaims
    from dpverify.formulas import FormulaRangeError
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import vector_sum as formulas
    from protocols.vector_sum import VectorSum

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


def refined_gamma() -> dict[str, float]:
    """Account for section 4.5's gamma with the coordinate and the truth of the report revealed, and without."""
    from dpverify.claims.vector_sum.privacy import VectorSumClaims
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import vector_sum as formulas
    from dpverify.search import smallest
    from protocols.vector_sum import VectorSum

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
            sum(
                (
                    max(mass - least * views[y, other].get(seen, Fraction(0)), Fraction(0))
                    for seen, mass in views[x, other].items()
                ),
                Fraction(0),
            )
            for x in grid
            for y in grid
            for other in grid
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


def sample_size() -> dict[str, float]:
    """Sum the binomial tail of the number of users who sample a coordinate, in fractions."""
    trials, share = 300, Fraction(1, 100)
    below = sum(math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(6))
    tail = 1 - below  # s >= 2 E s = 6
    require(float(tail) > math.exp(-301 / 3), "The printed Chernoff bound holds.")
    return {"tail": float(tail), "printed_bound": math.exp(-301 / 3)}


def sample_size_exponent() -> dict[str, str]:
    """Show that the printed chain exp(-(n-1) t / (3d)) <= exp(-n/3) is never true for t <= d."""
    import sympy

    n, t, more = sympy.symbols("n t more", positive=True)
    gap = sympy.simplify(n / 3 - (n - 1) * t / (3 * (t + more)))  # d = t + more
    require(sympy.simplify(gap * 3 * (t + more) - (n * more + t)) == 0, "The gap of the exponents is another.")
    return {"gap": str(sympy.factor(gap))}


def domain_of_reports() -> dict[str, float]:
    """Follow Algorithm 2 through: a random report is one of k + 1 values."""
    from protocols.vector_sum import VectorSum

    gamma, worst = Fraction(3, 5), 0.0
    for levels in (1, 3, 10):
        law = VectorSum(1, 1, levels, float(gamma)).report_law([[0.0]])[0, 0]
        worst = max(worst, abs(law[levels] * (levels + 1) / float(gamma) - 1.0))
    require(worst < 1e-12, "A random report has another law than uniform on k + 1 values.")
    return {"relative_error": worst}


def printed_levels() -> dict[str, float]:
    """Evaluate the printed k at n = 10^8: gamma is 1/2 whatever n is, and the exact error many times the stated one."""
    from dpverify.claims.vector_sum.privacy import VectorSumClaims
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import vector_sum as formulas
    from protocols.vector_sum import VectorSum

    users, epsilon, delta = 10**8, 0.95, 1e-6
    levels = float(formulas.levels_theorem(FLOATS, epsilon, delta, 1, users, 1))
    gamma = float(formulas.gamma_theorem(FLOATS, epsilon, delta, 1, levels, users, 1))
    error = VectorSumClaims().sampled_mse(VectorSum(users, 1, round(levels), gamma), [0.0])
    stated = float(formulas.mse_theorem(FLOATS, epsilon, delta, 1, users, 1, gamma))
    require(error > stated, "The stated error holds with the printed k.")
    return {"gamma_of_levels": gamma, "factor": error / stated}


def best_levels() -> dict[str, str | float]:
    """Minimize 1/(4 k^2) + c k: the root of its derivative, and what the printed choice, with a cube root, loses."""
    import sympy

    c, k = sympy.symbols("c k", positive=True)
    total = 1 / (4 * k**2) + c * k
    (best,) = sympy.solve(sympy.diff(total, k), k)
    require(sympy.simplify(best - (2 * c) ** sympy.Rational(-1, 3)) == 0, "The minimum is elsewhere.")
    printed = 1 / (4 * c)
    require(sympy.simplify(sympy.diff(total, k).subs(k, printed)) != 0, "The printed k is the minimum.")
    balanced = (4 * c) ** sympy.Rational(-1, 3)
    ratio = sympy.simplify(total.subs(k, best) / total.subs(k, balanced))
    return {"smaller": 1.0 - float(ratio), "minimizer": str(best).replace("**", "^")}


def normalized_bound() -> dict[str, str]:
    """Write the bound of Theorem 4.6 in the unit of the coordinates that were sampled: it falls like 1/t."""
    import sympy

    n, t, d, v = sympy.symbols("n t d v", positive=True)  # v: the bound on the variance of one debiased report
    ratio = sympy.simplify((t * n * v / (n * t / d) ** 2) / (n * v / (n / d) ** 2))
    require(sympy.simplify(ratio - 1 / t) == 0, "The bound does not fall like 1/t.")
    return {"ratio": str(ratio)}


def best_number_of_coordinates() -> dict[str, float | int]:
    """Search for the t of least worst-case error, each t with its best levels and least gamma."""
    from dpverify.claims.vector_sum.privacy import VectorSumClaims
    from dpverify.guarantee import Budget

    claims = VectorSumClaims()

    def error(users: int, d: int, budget: Budget, t: int, centre: float = 0.5) -> float:
        return claims.worst_mse(claims.least_error(users, d, budget, sampled=(t,), centre=centre))

    gains = []
    for centre in (0.0, 0.5):
        many = {t: error(50_000, 100, Budget(0.95, 0.5), t, centre) for t in (1, 10, 100)}
        require(many[100] < many[10] < many[1], "More coordinates are no better at the defaults of section 5.")
        gains.append(many[1] / many[100])
    few = {t: error(10, 20, Budget(1.0, 1e-9), t) for t in (1, 2, 5, 20)}
    require(min(few, key=lambda t: few[t]) == 1, "t = 1 is not the best for ten users.")
    found = {"few_one": few[1], "few_all": few[20], "few_constant": 10**2 * 20 / 4}
    return found | {"gain": gains[0], "centred_gain": gains[1]}


def unsampled_error() -> dict[str, float]:
    """Enumerate, in fractions, the error of d = 4 coordinates of which each of three users samples one, gamma = 0."""
    d, users = 4, 3
    # x = 1 for all: a user adds d with probability 1/d, else 0, to the estimate of a coordinate.
    one = Fraction(1, d) * (d - 1) ** 2 + (1 - Fraction(1, d))
    total = Fraction(0)
    for chosen in product(range(d), repeat=users):
        total += Fraction(1, d**users) * (d * chosen.count(0) - users) ** 2
    require(total == users * one == users * (d - 1), "The error of sampling is not d - 1 per user and coordinate.")
    return {"per_user": float(total / users)}


def debiased_sum() -> dict[str, float]:
    """Enumerate, in fractions, the mean of Algorithm 3 for two users of three coordinates who sample one each.

    Given who samples a coordinate, a report has mean (1-gamma) x + gamma/2, as rounding is unbiased and the levels have
    mean 1/2: the debiased sum has the mean of the x of those who sample it, all users for t = d, a t/d-th on average.
    """
    d, k, gamma, x = 3, 2, Fraction(1, 3), (Fraction(1, 2), Fraction(1))  # of the first coordinate, on the levels
    mean = Fraction(0)
    for chosen in product(range(d), repeat=2):
        reporting = [value for value, coordinate in zip(x, chosen, strict=True) if coordinate == 0]
        for reports in product(range(k + 1), repeat=len(reporting)):
            mass = Fraction(1, d**2)
            for value, report in zip(reporting, reports, strict=True):
                mass *= (1 - gamma) * (report == value * k) + gamma / (k + 1)
            mean += mass * (Fraction(sum(reports), k) - gamma / 2 * len(reports)) / (1 - gamma)
    require(mean == sum(x) / d, "The mean is not t/d times the sum.")
    return {"share": float(mean / sum(x))}
