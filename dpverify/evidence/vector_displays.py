"""What backs the verdicts on scott2022's displays: constants, steps of proofs, and numbers of its experiments."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from dpverify.evidence import require

__all__ = [
    "chernoff_exponents",
    "exponents_of_the_error",
    "half_power_of_seven",
    "likelihood_of_counts",
    "longer_range",
    "random_report",
    "second_exponential",
    "users_less_one",
]


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


def half_power_of_seven() -> dict[str, float]:
    """Enclose the step for eps' < 1: (1 - e^(-1/2)) >= 1 / sqrt(7), and concavity does the rest."""
    from dpverify.formulas.contexts import arb_context, less, lower_float

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


def _bound(n: float, d: float, epsilon: float) -> float:
    """Return the bound on the error at section 4.5's gamma and its best whole k."""
    from dpverify.formulas import FormulaRangeError
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import vector_sum

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
