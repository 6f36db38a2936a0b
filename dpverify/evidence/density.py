"""What backs the verdicts on densities: the error of the estimate, and what its instances may spend."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dpverify.claims.kde.error import sup_rmse
from dpverify.evidence import divergence, require
from dpverify.formulas.contexts import FLOATS, upper_float
from dpverify.formulas.protocols import kde as formulas
from dpverify.privacy_loss.losses.two_valued import composed_epsilon
from protocols.lsq import GaussianFeatures


def tighter_error() -> dict[str, float]:
    """Compare the squares of the printed bound and of `formulas.kde.rmse_bound`: their difference is never negative."""
    import sympy

    beta, r, s, e, i = sympy.symbols("beta R S e I", positive=True)  # e: E/n
    printed = 4 * beta**2 + 16 * r**4 * s * (s + e**2) / i
    better = beta**2 + r**4 * s * (s + 4 * e**2) / i
    difference = sympy.expand(printed - better)
    require(all(term.is_positive for term in sympy.Add.make_args(difference)), "The other bound is not smaller.")
    quiet = sympy.sqrt((printed / better).subs(beta, 0).subs(e, 0))
    noisy = sympy.sqrt(sympy.limit((printed / better).subs(beta, 0), e, sympy.oo))
    return {"quiet_factor": float(sympy.simplify(quiet)), "noisy_factor": float(sympy.simplify(noisy))}


def absolute_error_over_instances() -> dict[str, float]:
    """Sum exactly the mean absolute value of the average of I = 100 errors that are +-M with probability E/M in all.

    E = 1, M = 10^4. An average of independent errors of one variance would have a tenth of it.
    """
    instances, rare = 100, Fraction(1, 10**4)
    # Bin(I, 1/M) errors are not 0; the mean absolute sum of k signs is k C(k-1, floor((k-1)/2)) / 2^(k-1).
    total = sum(
        math.comb(instances, k)
        * rare**k
        * (1 - rare) ** (instances - k)
        * Fraction(k * math.comb(k - 1, (k - 1) // 2), 2 ** (k - 1))
        for k in range(1, 20)
    )
    kept = float(total / rare / instances)
    require(kept > 0.9, "The error shrinks when it is averaged.")
    return {"kept": kept}


def bias_of_bitsums() -> dict[str, float]:
    """Follow a bias of b users per bitsum through Algorithm 1 in fractions, for several numbers of instances."""
    n, r, b = 5, Fraction(3, 2), Fraction(2)
    shifts = set()
    for instances in (1, 4, 9):
        exact = sum((2 * Fraction(3) - n) * r * r for _ in range(instances)) / (n * instances)
        biased = sum((2 * (Fraction(3) + b) - n) * r * r for _ in range(instances)) / (n * instances)
        shifts.add((biased - exact) / (2 * r * r * b / n))
    require(shifts == {1}, "The term is another, or depends on I.")
    return {"term": 1.0}


def least_error_of_pure() -> dict[str, str]:
    """Minimize 1/I + c^2 I / (eps n)^2 over I, where E = c / eps0 and eps0 = eps / I."""
    import sympy

    i, c, eps, n = sympy.symbols("I c epsilon n", positive=True)
    variance = 1 / i + (c * i / (eps * n)) ** 2 / i
    (best,) = sympy.solve(sympy.diff(variance, i), i)
    least = sympy.simplify(variance.subs(i, best))
    require(sympy.simplify(least - 2 * c / (eps * n)) == 0, "The least variance is another.")
    return {"least_variance": "2 c / (eps n)", "best_instances": "eps n / c"}


def changed_bits() -> dict[str, int]:
    """Enumerate which bits of an instance change their law for Q = 4, S = 1, by replacing and by omitting a user."""
    q, replaced, halves = 4, 0, 0
    points = [(place, sign) for place in range(q) for sign in (-1, 1)]

    def chances(point: tuple[int, int]) -> list[Fraction]:
        return [Fraction(1 + point[1] * (j == point[0]), 2) for j in range(q)]

    for x, y in product(points, repeat=2):
        moves = [abs(a - b) for a, b in zip(chances(x), chances(y), strict=True)]
        replaced = max(replaced, sum(move > 0 for move in moves))
        halves = max(halves, sum(move == Fraction(1, 2) for move in moves))
    omitted = q  # every bit of hers leaves its sum, the coins of the zeros as well
    require(replaced == 2, "Another number of bits changes.")
    return {"replaced": replaced, "halves": halves, "omitted": omitted}


def halves_add_up() -> dict[str, float]:
    """Show that leaving and entering, ln(2 / (1 + e^-eps0)) and ln((1 + e^eps0) / 2), cost eps0 together."""
    import sympy

    e = sympy.symbols("e", positive=True)
    together = sympy.exp(0) * (2 / (1 + sympy.exp(-e))) * ((1 + sympy.exp(e)) / 2)
    require(sympy.simplify(together - sympy.exp(e)) == 0, "The two halves cost another epsilon.")
    return {"share_of_full": 1.0}


def users_at_one_point() -> dict[str, float]:
    """Evaluate the exact supremum of the error for users at one point, beside the printed bound."""
    found = {}
    for name, noise in (("quiet", 0.0), ("noisy", 1e5)):
        n, instances = 1000, 4
        worst = sup_rmse(GaussianFeatures(2), np.zeros((n, 2)), instances=instances, bitsum_rmse=noise).sup_rmse
        closed = math.sqrt((1 + 1 / n + 8 * (noise / n) ** 2) / instances)
        require(worst.lower <= closed * (1 + 1e-9) and closed <= worst.upper * (1 + 1e-9), "Another supremum.")
        printed = float(formulas.published_rmse_bound(FLOATS, 0, math.sqrt(2.0), 1, instances, noise, n))
        require(printed >= worst.upper, "The printed bound fails.")
        found[f"{name}_slack"] = printed / worst.upper
    return found


def split_of_delta() -> dict[str, Any]:
    """Compare the delta that the text's split pays, I Q delta0, with Theorem 3.2's, I S delta0, in fractions."""
    delta, instances = Fraction(1, 10**6), 100
    found = {}
    for name, q, s in (("dense", 1, 1), ("sparse", 20, 1)):
        delta0 = delta / 2 / (instances * q)
        found[f"{name}_waste"] = float(delta / 2 / (instances * s * delta0))
    require(found["dense_waste"] == 1.0 < found["sparse_waste"], "The two splits agree where S < Q.")
    return found


def bits_of_a_density() -> dict[str, float]:
    """Enumerate Algorithm 1's rounding in fractions: (2b - 1) R has the mean f for b ~ Bern((1 + f/R)/2)."""
    for f, r in ((Fraction(0), Fraction(3, 2)), (Fraction(1, 3), Fraction(1)), (Fraction(-3, 2), Fraction(3, 2))):
        chance = (1 + f / r) / 2
        require(chance * r + (1 - chance) * -r == f, "The rounding is biased.")
        require(0 <= chance <= 1, "The chance is none.")
    return {"coin_for_zero": 0.5}


def two_step_moments() -> dict[str, float]:
    """Enumerate F = (2B - n) R for an unbiased B of error E = 2 in fractions: the moments of its error."""
    n, r, errors = 7, Fraction(3, 2), (Fraction(-2), Fraction(2))
    moved = [((2 * (3 + e) - n) * r) - ((2 * Fraction(3) - n) * r) for e in errors]
    mean, square = sum(moved, Fraction(0)) / 2, sum((m * m for m in moved), Fraction(0)) / 2
    require(mean == 0 and square == (2 * r * 2) ** 2, "The moments are others.")
    return {"share": float(square / (2 * r * 2) ** 2)}


def first_summand() -> dict[str, float]:
    """Show (I (b + 2 P)^2 + I (I-1) b^2) / I^2 <= 8 P^2 / I + 2 b^2 for P = R^2 S, by a sum of squares."""
    import sympy

    b, p, more = sympy.symbols("b p more", nonnegative=True)
    i = 1 + more  # I >= 1
    gap = sympy.expand(
        sympy.simplify((8 * p**2 / i + 2 * b**2 - (i * (b + 2 * p) ** 2 + i * (i - 1) * b**2) / i**2) * i)
    )
    square = sympy.expand(gap - (b - 2 * p) ** 2)  # what is left after a square
    require(sympy.simplify(square - more * b**2) == 0, "The gap is another.")
    return {"gap_is_square": 1.0}


def error_steps() -> dict[str, float]:
    """Add up the two summands, 2 (8 P^2/I + 2 b^2) + 8 S R^4 e^2 / I, e = E/n, and compare with Theorem 3.2."""
    import sympy

    b, r, s, e, i = sympy.symbols("b R S e I", positive=True)
    proved = 2 * (8 * r**4 * s**2 / i + 2 * b**2) + 8 * s * r**4 * e**2 / i
    stated = 4 * b**2 + 16 * r**4 * s * (s + e**2) / i
    require(sympy.simplify(stated - proved - 8 * s * r**4 * e**2 / i) == 0, "The difference is another.")
    return {"noise_factor": 2.0}


def error_of_theorem_3_3() -> dict[str, str]:
    """Put I = 1/alpha^2, R = sqrt 2 and E = sqrt(log) / (alpha eps) into Theorem 3.2's error."""
    import sympy

    a, e, n, log = sympy.symbols("a e n log", positive=True)
    noise = sympy.sqrt(log) / (a * e)
    squared = 16 * 4 * (1 + (noise / n) ** 2) * a**2
    require(sympy.simplify(squared - 64 * a**2 * (1 + log / (a * e * n) ** 2)) == 0, "The error is another.")
    return {"error": "8 alpha sqrt(1 + log(1/delta) / (alpha eps n)^2)"}


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


def composed_reports() -> dict[str, float]:
    """Compose ten pure mechanisms of eps = 0.1 by the two-valued law: below the sum, and next to it at delta = 0."""
    pure, small = upper_float(composed_epsilon(0.1, 10, 0.0)), upper_float(composed_epsilon(0.1, 10, 1e-6))
    require(small < pure <= 1.0 + 1e-12, "Pure composition exceeds the sum.")
    return {"pure": pure, "small": small}


def processed_views() -> dict[str, float]:
    """Enumerate, in fractions, all maps of four views to two outputs: no divergence grows."""
    first, second = [Fraction(k, 10) for k in (4, 3, 2, 1)], [Fraction(k, 10) for k in (1, 2, 3, 4)]
    largest = Fraction(0)
    for power in (Fraction(1), Fraction(3, 2), Fraction(3)):
        whole = divergence(first, second, power=power)
        for mapped in product((0, 1), repeat=4):
            one, other = (
                [sum((m for m, to in zip(law, mapped, strict=True) if to == y), Fraction(0)) for y in (0, 1)]
                for law in (first, second)
            )
            largest = max(largest, divergence(one, other, power=power) - whole)
    require(largest == 0, "Processing increases a divergence.")
    return {"largest_increase": float(largest)}


def composed_parameters() -> dict[str, float]:
    """Evaluate Theorem 3.2 at the setting of A.2, eps0 = eps / sqrt(I ln(1/delta)), and at a third of it.

    The total over eps is `sqrt(2 ln(2/delta) / L) + (e^eps0 - 1) / eps0 eps / L`, L = ln(1/delta). At a third, with
    delta <= 1/2, eps <= L and I >= L: eps0 <= L / (3 sqrt(I L)) <= 1/3, so that the second term is at most 3 (e^(1/3) -
    1) / 9 < 0.14; the first is sqrt(2 (1 + ln 2 / L)) / 3 <= 2/3. With few instances eps0 grows like sqrt(L), and the
    total like e^(sqrt(L) / 3): no constant is enough for I = 1 and all delta. (There I eps0 <= eps, by basic
    composition, for all I <= 9 L.)
    """
    proved, worst, literal = 2.0 / 3.0 + math.expm1(1.0 / 3.0) / 3.0, 0.0, math.inf
    few, log_few = math.sqrt(100.0) / 3.0, 100.0 + math.log(2.0)  # eps = L = 100, I = 1
    found = {"few_factor": (few * math.expm1(few) + few * math.sqrt(2.0 * log_few)) / 100.0}
    require(found["few_factor"] > 1.0, "A third is enough for one instance.")
    for delta, share, more in product((0.5, 0.1, 1e-3, 1e-9, 1e-300), (0.01, 0.3, 1.0), (1.0, 10.0, 1e6)):
        log = math.log(1 / delta)
        instances = math.ceil(more * log)
        epsilon = share * log

        def total(each: float, log2: float = math.log(2 / delta), instances: int = instances) -> float:
            return instances * each * math.expm1(each) + each * math.sqrt(2 * instances * log2)

        each = epsilon / math.sqrt(instances * log)
        literal = min(literal, total(each) / epsilon)
        worst = max(worst, total(each / 3.0) / epsilon)
    require(literal > math.sqrt(2.0), "The printed setting is (eps, delta)-DP by Theorem 3.2.")
    require(worst <= proved < 1.0, "A third of it is not.")
    return found | {"repaired_factor": proved}


def composed_parameters_limit() -> dict[str, float]:
    """Take the limits of sqrt(2 ln(2/delta) / ln(1/delta)): sqrt 2 as delta goes to 0, no bound as it goes to 1."""
    import sympy

    log = sympy.symbols("log", positive=True)
    factor = sympy.sqrt(2 * (sympy.log(2) + log) / log)
    require(sympy.limit(factor, log, sympy.oo) == sympy.sqrt(2), "Another limit as delta goes to 0.")
    require(sympy.limit(factor, log, 0, "+") == sympy.oo, "Bounded as delta goes to 1.")
    return {"limit": math.sqrt(2.0)}
