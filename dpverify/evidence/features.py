"""What backs the verdicts on features: their ranges, and whose kernel they are."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from dpverify.claims.kde.error import sup_rmse
from dpverify.claims.lsq.johnson_lindenstrauss import squared_norm_variance
from dpverify.evidence import require
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import kde as formulas
from protocols.lsq import FastProjection, GaussianFeatures, Identity, LaplacianBinning, RandomSigns


def features_by_definition() -> dict[str, float]:
    """Check Definition 2.1 for every family here: the range R, S non-zero entries, and beta, on random points."""
    rng, worst = np.random.default_rng(0), 0.0
    for family in (GaussianFeatures(3), LaplacianBinning(3, 4), RandomSigns(3), Identity(3)):
        x = rng.standard_normal((5, 3))
        x /= np.linalg.norm(x, axis=1)[:, np.newaxis]
        features = family.sample(1 if isinstance(family, Identity) else 7, rng).f(x)
        worst = max(worst, float(np.abs(features).max()) / family.R)
        require(int((features != 0).sum(axis=-1).max()) <= family.S, "Too many entries are not 0.")
    require(worst <= 1.0 + 1e-12, "A feature exceeds R.")
    return {"largest": worst}


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


def fair_cosine() -> dict[str, str]:
    """Integrate 2 cos(a + b) cos(c + b) over the phase b: the cosine of the difference, as random features need."""
    import sympy

    a, c, b = sympy.symbols("a c b", real=True)
    mean = sympy.integrate(2 * sympy.cos(a + b) * sympy.cos(c + b), (b, 0, 2 * sympy.pi)) / (2 * sympy.pi)
    require(sympy.simplify(mean - sympy.cos(a - c)) == 0, "The mean over the phase is another.")
    # A normal w has E cos(w . v) = e^(-|v|^2 / 2), its characteristic function; v = sqrt 2 (x - y).
    return {"mean": "cos(a - c)"}


def features_of_algorithm_2() -> dict[str, str]:
    """Put R = sqrt 2, f = sqrt 2 cos and g = sqrt 2 cos into Algorithm 1's query: the factor 2 of Algorithm 2."""
    import sympy

    b, n, phase = sympy.symbols("b n phase", real=True)
    r = sympy.sqrt(2)
    first = (2 * b - n) * r * (sympy.sqrt(2) * sympy.cos(phase))
    require(sympy.simplify(first - 2 * (2 * b - n) * sympy.cos(phase)) == 0, "The factor is another.")
    return {"factor": "2"}


def frequencies_of_algorithm_2() -> dict[str, str]:
    """Integrate cos(sqrt 2 w v) over a normal w: e^(-v^2), the kernel of bandwidth 1."""
    import sympy

    w, v = sympy.symbols("w v", positive=True)
    density = sympy.exp(-(w**2) / 2) / sympy.sqrt(2 * sympy.pi)
    mean = 2 * sympy.integrate(sympy.cos(sympy.sqrt(2) * w * v) * density, (w, 0, sympy.oo))
    require(sympy.simplify(mean - sympy.exp(-(v**2))) == 0, "The kernel is another.")
    return {"kernel": "exp(-|x - y|^2)"}


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


def square_of_two_errors() -> dict[str, str]:
    """Write 2 a^2 + 2 b^2 - (a - b)^2 as a square, for the two errors a and b of equation 2."""
    import sympy

    a, b = sympy.symbols("a b", real=True)
    require(sympy.factor(2 * a**2 + 2 * b**2 - (a - b) ** 2) == (a + b) ** 2, "The difference is no square.")
    return {"difference": "(a + b)^2"}
