"""What backs the verdicts on the error of vector sums: rounding, blanket, sampling, and the levels to choose."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.evidence import require
from dpverify.formulas import FormulaRangeError
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import vector_sum
from dpverify.guarantee import Budget
from protocols.vector_sum import VectorSum


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
    gamma, worst = Fraction(3, 5), 0.0
    for levels in (1, 3, 10):
        law = VectorSum(1, 1, levels, float(gamma)).report_law([[0.0]])[0, 0]
        worst = max(worst, abs(law[levels] * (levels + 1) / float(gamma) - 1.0))
    require(worst < 1e-12, "A random report has another law than uniform on k + 1 values.")
    return {"relative_error": worst}


def printed_levels() -> dict[str, float]:
    """Evaluate the printed k at n = 10^8: gamma is 1/2 whatever n is, and the exact error many times the stated one."""
    users, epsilon, delta = 10**8, 0.95, 1e-6
    levels = float(vector_sum.levels_theorem(FLOATS, epsilon, delta, 1, users, 1))
    gamma = float(vector_sum.gamma_theorem(FLOATS, epsilon, delta, 1, levels, users, 1))
    error = VectorSumClaims().sampled_mse(VectorSum(users, 1, round(levels), gamma), [0.0])
    stated = float(vector_sum.mse_theorem(FLOATS, epsilon, delta, 1, users, 1, gamma))
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


def _sum_of_two() -> tuple[Fraction, int, tuple[Fraction, Fraction]]:
    """Return the mean of Algorithm 3's z in the first of three coordinates, with d and what two users hold there."""
    d, k, gamma, x = 3, 2, Fraction(1, 3), (Fraction(1, 2), Fraction(1))  # on the levels
    mean = Fraction(0)
    for chosen in product(range(d), repeat=2):
        reporting = [value for value, coordinate in zip(x, chosen, strict=True) if coordinate == 0]
        for reports in product(range(k + 1), repeat=len(reporting)):
            mass = Fraction(1, d**2)
            for value, report in zip(reporting, reports, strict=True):
                mass *= (1 - gamma) * (report == value * k) + gamma / (k + 1)
            mean += mass * (Fraction(sum(reports), k) - gamma / 2 * len(reports)) / (1 - gamma)
    return mean, d, x


def debiased_sum() -> dict[str, float]:
    """Enumerate, in fractions, the mean of Algorithm 3 for two users of three coordinates who sample one each.

    Given who samples a coordinate, a report has mean (1-gamma) x + gamma/2, as rounding is unbiased and the levels have
    mean 1/2: the debiased sum has the mean of the x of those who sample it, all users for t = d, a t/d-th on average.
    """
    mean, d, x = _sum_of_two()
    require(mean == sum(x) / d, "The mean is not t/d times the sum.")
    return {"share": float(mean / sum(x))}


_VALUES = [x / 12 for x in range(13)]
"""Values of a coordinate among which are the worst at k = 3."""


def variance_of_reports() -> dict[str, float]:
    """Bound Var(y/k) by (1-gamma)/(4k^2) + gamma/2 in fractions, on a grid of x, k and gamma."""
    worst = Fraction(0)
    for k, g, x in product((1, 2, 5), (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)), range(21)):
        value, gamma = Fraction(x, 20), g
        low = min(int(value * k), k - 1)
        rounded = {low: 1 - (value * k - low), low + 1: value * k - low}
        law = [(1 - gamma) * rounded.get(j, Fraction(0)) + gamma / (k + 1) for j in range(k + 1)]
        mean = sum((m * Fraction(j, k) for j, m in enumerate(law)), Fraction(0))
        variance = sum((m * Fraction(j, k) ** 2 for j, m in enumerate(law)), Fraction(0)) - mean**2
        worst = max(worst, variance / ((1 - gamma) / (4 * k**2) + gamma / 2))
    require(worst <= 1, "The bound on the variance fails.")
    return {"worst_share": float(worst)}


def constants_of_errors() -> dict[str, str]:
    """Derive the constants of Theorem 4.6 from gamma's: (4c)^(2/3)/2 at c = A d L L2 / (n eps^2), A = 28 and 1008."""
    import sympy

    for half, front, inner in ((28, 2, 14), (1008, 8, 63)):
        derived = sympy.Integer(4 * half) ** sympy.Rational(2, 3) / 2
        printed = front * sympy.Integer(inner) ** sympy.Rational(2, 3)
        require(sympy.simplify(derived - printed) == 0, f"The constant for A = {half} is another.")
    require(56 * 36 == 2016, "Six squared times 56 is not 2016.")
    return {"constants": "2 14^(2/3) and 8 63^(2/3)"}


def refined_constants() -> dict[str, str]:
    """Derive the constants of section 4.5: k = (4c)^(-1/3) and (4c)^(2/3)/2 for c of 7, 27/2, 40 and 18/11."""
    import sympy

    third = sympy.Rational(1, 3)
    cases = (
        (sympy.Integer(7), 28, sympy.Integer(98) ** third),
        (sympy.Rational(27, 2), 54, 18 / sympy.Integer(4) ** (2 * third)),
        (sympy.Integer(40), 160, 2 * sympy.Integer(20) ** (2 * third)),
        (sympy.Rational(18, 11), sympy.Rational(72, 11), 2 * (sympy.Rational(9, 11)) ** (2 * third)),
    )
    for c, inverse, printed in cases:
        require(4 * c == inverse, "The printed k is another.")
        require(sympy.simplify((4 * c) ** (2 * third) / 2 - printed) == 0, "The printed error is another.")
    return {"cases": "98^(1/3), 18/4^(2/3), 2 20^(2/3), 2 (9/11)^(2/3)"}


def defaults_of_section_5() -> dict[str, float]:
    """Evaluate the printed gamma and k at the defaults d = 100, k = 3, n = 50,000, t = 1, eps = 0.95, delta = 0.5."""
    gamma = float(vector_sum.gamma_refined(FLOATS, 0.95, 0.5, 100, 3, 50_000))
    levels = float(vector_sum.levels_refined(FLOATS, 0.95, 0.5, 100, 50_000))
    small = 14.0 * 100 * 3 * math.log(2e6) / (49_999 * 0.95**2)
    printed = float(vector_sum.levels_theorem(FLOATS, 0.95, 0.5, 100, 50_000, 1))
    require(0.0 < gamma < 1.0 < small, "gamma is another.")
    require(max(levels, printed ** (1 / 3)) < 3.0 < printed, "k = 3 is not between the printed choices.")
    found = {"gamma": gamma, "levels": levels, "gamma_small": small}
    return found | {"printed_levels": printed, "rooted_levels": printed ** (1 / 3)}


def exponents_of_figures() -> dict[str, float]:
    """Raise 10 to the exponents in n that section 5 states for one figure: 5/3 by the theorem, 7/6 as fitted."""
    theorem, fitted = 10 ** (5 / 3), 10 ** (7 / 6)
    require(max(theorem, fitted) < 100.0, "One of the exponents gives two orders of magnitude.")
    return {"by_theorem": theorem, "by_fit": fitted}


def errors_over_users() -> dict[str, float]:
    """Evaluate the error of the mean at the printed gamma, k = 3, d = 100, n from 10^4 to 10^7: all, and as counted."""
    claims = VectorSumClaims()
    found: dict[str, float] = {}
    protocols = {power: claims.published(10**power, 100, 3, 0.95, 0.5) for power in (4, 5, 6, 7)}
    for name, errors in (
        ("falls", {power: claims.worst_mse(each) / each.users**2 for power, each in protocols.items()}),
        ("counted", {power: claims.sampled_mse(each, _VALUES) for power, each in protocols.items()}),
    ):
        found |= {f"{name}_from_few": errors[4] / errors[5], f"{name}_from_many": errors[6] / errors[7]}
        require(found[f"{name}_from_few"] > 46.5 > found[f"{name}_from_many"], "One power of n fits.")
    return found


def worst_case_curve() -> dict[str, float]:
    """Fit the exponent in d of the exact worst-case error at the printed gamma, with and without that of sampling."""
    claims = VectorSumClaims()
    few, many = (claims.published(50_000, d, 3, 0.95, 0.5) for d in (50, 150))
    exponent = math.log(claims.worst_mse(many) / claims.worst_mse(few)) / math.log(3.0)
    counted = math.log(claims.sampled_mse(many, _VALUES) / claims.sampled_mse(few, _VALUES)) / math.log(3.0)
    require(2.0 < exponent < 8 / 3 < counted, "The error grows otherwise with d.")
    return {"exponent": exponent, "counted_exponent": counted}


def blanket_report() -> dict[str, float]:
    """Enumerate Algorithm 1's report for k = 4, gamma = 1/3, in fractions: truthful with 1 - gamma + gamma/k."""
    k, gamma = 4, Fraction(1, 3)
    law = [(1 - gamma) * (y == 1) + gamma / k for y in range(k)]
    require(sum(law) == 1 and law[1] == 1 - gamma + gamma / k, "The report has another law.")
    return {"truthful": float(law[1])}


def rounded_means() -> dict[str, float]:
    """Enumerate Algorithm 2's rounding for k = 3 in fractions: its mean is x, its variance at most 1/(4 k^2)."""
    k, largest = 3, Fraction(0)
    for number in range(31):
        x = Fraction(number, 30)
        low = int(x * k)
        up = x * k - low
        require(Fraction(low, k) + up / k == x, "The rounding is biased.")
        largest = max(largest, up * (1 - up) / k**2)
    require(largest <= Fraction(1, 4 * k**2), "The variance exceeds 1/(4 k^2).")
    return {"largest_variance": float(largest)}


def random_report() -> dict[str, float]:
    """Add variance and squared bias of a uniform report of k + 1 levels, at the value that is furthest off."""
    import sympy

    k, y = sympy.symbols("k y", positive=True)
    # At x = 0, and by symmetry at 1; between them the bias is smaller.
    error = sympy.simplify(sympy.summation(y**2, (y, 0, k)) / (k + 1) / k**2)
    require(sympy.simplify(error - (sympy.Rational(1, 4) + (k + 2) / (12 * k))) == 0, "The error is another one.")
    values = [error.subs(k, levels) for levels in range(1, 200)]
    require(all(value <= sympy.Rational(1, 2) for value in values), "It exceeds 1/2.")
    require(sympy.simplify(sympy.diff(error, k) * 6 * k**2 + 1) == 0, "It does not fall with k.")
    return {"at_one_level": float(values[0]), "at_many_levels": float(sympy.limit(error, k, sympy.oo))}


def users_less_one() -> dict[str, float]:
    """Compare n - 1, which the last line of the proof has, with n, which the theorem has."""
    import sympy

    n = sympy.symbols("n", positive=True)
    ratio = (n / (n - 1)) ** sympy.Rational(2, 3)
    require(sympy.limit(ratio, n, sympy.oo) == 1, "The ratio does not tend to 1.")
    require(ratio.subs(n, 2) > 1, "The printed bound is not the smaller one.")
    return {"at_two": float(ratio.subs(n, 2)), "at_experiments": float(ratio.subs(n, 50_000))}


def _bound(n: float, d: float, epsilon: float) -> float:
    """Return the bound on the error at section 4.5's gamma and its best whole k."""
    best = math.inf
    for k in range(1, 60):
        try:
            gamma = float(vector_sum.gamma_refined(FLOATS, epsilon, 0.5, d, k, n))
        except FormulaRangeError:
            break
        best = min(best, d**2 / n * float(vector_sum.report_variance_bound(FLOATS, k, gamma)) / (1 - gamma) ** 2)
    return best


def _slope(points: list[tuple[float, float]]) -> float:
    x, y = zip(*((math.log(a), math.log(b)) for a, b in points), strict=True)
    mean = sum(x) / len(x)
    return float(sum((a - mean) * b for a, b in zip(x, y, strict=True)) / sum((a - mean) ** 2 for a in x))


def exponents_of_the_error() -> dict[str, float]:
    """Fit powers to the bound on rounding and blanket at section 4.5's gamma and its best whole k."""
    found = {
        "in_d": _slope([(d, _bound(1e7, d, 0.95)) for d in (40, 80, 160, 320)]),
        "in_n": _slope([(n, _bound(n, 100, 0.95)) for n in (1e6, 1e7, 1e8)]),
        "in_epsilon": _slope([(e, _bound(1e8, 100, e)) for e in (0.01, 0.02, 0.04, 0.08)]),
    }
    require(abs(found["in_d"] - 8 / 3) < 0.25, "The power of d is another one.")
    require(abs(found["in_n"] + 5 / 3) < 0.15, "The power of n is another one.")
    require(abs(found["in_epsilon"] + 4 / 3) < 0.35, "The power of epsilon is another one.")
    return found


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


def estimand() -> dict[str, float]:
    """Enumerate (d/n) z, z of Algorithm 3, for two users of three coordinates who report one each, in fractions."""
    mean, d, x = _sum_of_two()
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
