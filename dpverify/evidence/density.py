"""What backs the verdicts on density estimation: error, which bits change, features of the kernels."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpverify.evidence import require

__all__ = [
    "absolute_error_over_instances",
    "bias_of_bitsums",
    "changed_bits",
    "collisions",
    "fair_cosine",
    "fast_projection",
    "halves_add_up",
    "identity_beside_signs",
    "least_error_of_pure",
    "rounded_products",
    "signs_by_enumeration",
    "split_of_delta",
    "tighter_error",
    "users_at_one_point",
]


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


def rounded_products() -> dict[str, int]:
    """Enumerate fbar . g for Q = 3, S = 1, R = 1 over all roundings: coordinates that are 0 are rounded as well."""
    largest, nonzero = 0, 0
    for signs in product((-1, 1), repeat=3):
        for place in range(3):
            g = [0, 0, 0]
            g[place] = 1
            largest = max(largest, abs(sum(a * b for a, b in zip(signs, g, strict=True))))
        nonzero = max(nonzero, sum(sign != 0 for sign in signs))
    require(largest == 1, "|fbar . g| exceeds R^2 S.")
    return {"nonzero": nonzero, "largest": largest}


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


def fair_cosine() -> dict[str, str]:
    """Integrate 2 cos(a + b) cos(c + b) over the phase b: the cosine of the difference, as random features need."""
    import sympy

    a, c, b = sympy.symbols("a c b", real=True)
    mean = sympy.integrate(2 * sympy.cos(a + b) * sympy.cos(c + b), (b, 0, 2 * sympy.pi)) / (2 * sympy.pi)
    require(sympy.simplify(mean - sympy.cos(a - c)) == 0, "The mean over the phase is another.")
    # A normal w has E cos(w . v) = e^(-|v|^2 / 2), its characteristic function; v = sqrt 2 (x - y).
    return {"mean": "cos(a - c)"}


def users_at_one_point() -> dict[str, float]:
    """Evaluate the exact supremum of the error for users at one point, beside the printed bound."""
    import numpy as np

    from dpverify.claims.kde.error import sup_rmse
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import kde as formulas
    from protocols.lsq import GaussianFeatures

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


def collisions() -> dict[str, float]:
    """Enumerate ideal hashes of two cells to Q buckets, with and without a random sign: the bias is (1-k)/Q and 0."""
    k, worst = Fraction(1, 3), Fraction()  # k: the probability that two points share a cell
    for q in (1, 2, 5):
        apart = Fraction(sum(a == b for a, b in product(range(q), repeat=2)), q * q)
        plain = k + (1 - k) * apart
        require(plain - k == (1 - k) / q, "The bias is another.")
        signs = Fraction(sum(math.prod(pair) for pair in product((-1, 1), repeat=2)), 4)
        worst = max(worst, abs(k + (1 - k) * apart * signs - k))
    require(worst == 0, "Signed buckets are biased.")
    return {"signed_bias": float(worst)}


def signs_by_enumeration() -> dict[str, float]:
    """Enumerate (sigma . x)(sigma . y) over all signs, and |sigma . x| for unit x, in three dimensions."""
    x, y = (Fraction(3, 5), Fraction(4, 5), Fraction(0)), (Fraction(0), Fraction(5, 13), Fraction(12, 13))
    mean, largest = Fraction(0), Fraction(0)
    for signs in product((-1, 1), repeat=3):
        f, g = (sum((s * v for s, v in zip(signs, point, strict=True)), Fraction(0)) for point in (x, y))
        mean, largest = mean + f * g / 8, max(largest, abs(f), abs(g))
    require(mean == sum(a * b for a, b in zip(x, y, strict=True)), "The signs are biased.")
    require(largest**2 <= 3, "A coordinate exceeds sqrt d.")
    far = sum(10 * v for v in (1, 1, 1))  # a query of norm 10 sqrt 3
    require(far**2 > 3, "Queries beyond the ball keep to sqrt d.")
    return {"largest": float(largest)}


def identity_beside_signs() -> dict[str, float]:
    """Evaluate the exact suprema of the error of both families with d bitsums each, and the printed bounds."""
    import numpy as np

    from dpverify.claims.kde.error import sup_rmse
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import kde as formulas
    from protocols.lsq import Identity, RandomSigns

    d, n, noise = 32, 500, 50.0
    found: dict[str, float] = {}
    for name, point in (("", np.full(d, 1.0 / math.sqrt(d))), ("_axis", np.eye(d)[0])):
        x = np.tile(point, (n, 1))
        identity = sup_rmse(Identity(d), x, instances=1, bitsum_rmse=noise).sup_rmse
        signs = sup_rmse(RandomSigns(d), x, instances=d, bitsum_rmse=noise).sup_rmse
        require(identity.upper < signs.lower, "The identity has the larger error.")
        found |= {f"identity{name}": identity.upper, f"signs{name}": signs.lower}
    bounds = [
        float(formulas.published_rmse_bound(FLOATS, 0, range_, s, instances, noise, n))
        for range_, s, instances in ((1.0, d, 1), (math.sqrt(d), 1, d))
    ]
    require(bounds[1] < bounds[0], "The printed bound of the signs is not the smaller one.")
    return found | {"identity_bound": bounds[0], "signs_bound": bounds[1]}


def fast_projection() -> dict[str, float]:
    """Enumerate all maps of three dimensions: the variance of a squared norm is the closed one, below 2/k."""
    import numpy as np

    from dpverify.claims.lsq.johnson_lindenstrauss import squared_norm_variance
    from protocols.lsq import FastProjection

    x, worst = [0.5, 0.1, -0.7, 0.2], 0.0
    for target in (1, 2, 3, 4):
        norms = [
            float(np.square(FastProjection(np.array(signs), np.array(kept))([x])).sum())
            for signs in product((-1.0, 1.0), repeat=4)
            for kept in combinations(range(4), target)
        ]
        exact = float(squared_norm_variance(FastProjection(np.ones(4), np.arange(target)), [x])[0])
        require(abs(float(np.var(norms)) - exact) < 1e-12, "The variance is another.")
        worst = max(worst, exact * target / (2.0 * float(np.square(x).sum()) ** 2))
    require(worst <= 1.0, "The variance exceeds 2/k.")
    return {"share_of_bound": worst}


def split_of_delta() -> dict[str, Any]:
    """Compare the delta that the text's split pays, I Q delta0, with Theorem 3.2's, I S delta0, in fractions."""
    delta, instances = Fraction(1, 10**6), 100
    found = {}
    for name, q, s in (("dense", 1, 1), ("sparse", 20, 1)):
        delta0 = delta / 2 / (instances * q)
        found[f"{name}_waste"] = float(delta / 2 / (instances * s * delta0))
    require(found["dense_waste"] == 1.0 < found["sparse_waste"], "The two splits agree where S < Q.")
    return found
