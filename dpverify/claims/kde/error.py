"""What is true of the error of `protocols.kde`: exact at a query, bounded at the worst one.

With moments that each family's twin states; docs/densities.md has the identity. The privacy stands in
`dpverify.claims.kde.privacy`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.claims.lsq.base import pair_mean
from dpverify.claims.registry import claims_of
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import kde as formulas
from dpverify.guarantee import Interval
from dpverify.rounding import UNIT, summation_error
from protocols.classes.frozen import dataclass
from protocols.lsq import LSQFamily
from protocols.validation import check_integer, check_real, check_vectors

__all__ = ["WorstError", "mse", "sup_rmse"]


def _points(family: LSQFamily, points: ArrayLike) -> NDArray[np.float64]:
    array = family.accepted(points, name="points")
    if not len(array):
        raise ValueError("points holds 0 points, but must hold at least 1.")
    return array


def _moments(
    family: LSQFamily, x: NDArray[np.float64], y: NDArray[np.float64], instances: int, bitsum_rmse: float
) -> tuple[float, float]:
    """Return the mean squared error at y, and a bound on the error of this number."""
    claims = claims_of(family)
    expected = float(claims.expected(family, x, y).mean())
    bias = expected - float(family.kernel(x, y[np.newaxis]).mean())
    alone = float(claims.rounded_square(family, x, y).sum()) / len(x) ** 2
    alone += _noise(family, len(x), bitsum_rmse) * claims.query_square(family, y)
    pairs = pair_mean(x, lambda first, second: claims.product(family, first, second, y))
    value = bias**2 + (alone + pairs - expected**2) / instances
    size, rounding = _rounding(family, x, y)
    error = rounding * size * (8.0 * abs(bias) + 16.0 * rounding * size)
    error += 16.0 * rounding * (size**2 + alone) / instances
    return max(value, 0.0), error + 6.0 * claims.moment_error


def _rounding(family: LSQFamily, points: NDArray[np.float64], query: NDArray[np.float64] | None) -> tuple[float, float]:
    """Return the M of `LSQClaims.accuracy`, and r with the error of sums over users, and over pairs in blocks, added.

    With these every mean of expectations or kernels is off by at most r M. So the bias, at most 2M, is off by 3 r M and
    its square by `r M (6 |bias| + 9 r M)`; the terms of single users, and the noise with 16 u of its factors, by r
    times themselves and M^2; the mean over pairs by 5 r M^2, the expectation's square by 3 r M^2. The last operations
    add at most 4 u of all terms, and r is above 60 u.
    """
    size, error = claims_of(family).accuracy(family, points, query)
    return size, error + summation_error(len(points) ** 2) + (len(points) / 512 + 8.0) * UNIT


def _noise(family: LSQFamily, users: int, bitsum_rmse: float) -> float:
    return (2.0 * family.R * bitsum_rmse / users) ** 2


def mse(family: LSQFamily, points: ArrayLike, query: ArrayLike, *, instances: int, bitsum_rmse: float) -> float:
    """Return the exact mean squared error of the density estimate at one query.

    - family: The family of features.
    - points (array_like, shape (n, d)): The users' points.
    - query (array_like, shape (d,)): y.
    - instances: I, at least 1; 1 for a deterministic family.
    - bitsum_rmse: E, the root mean squared error of the unbiased bitsum, in users, at least 0.

    Returns: `E[(estimate - mean_u k(x_u, y))^2]` over all randomness, the public features' included; up to rounding,
    and up to `HASH_ERROR` for hashed families.
    """
    x, y = _points(family, points), check_vectors("query", np.atleast_2d(query), dimension=family.dimension)[0]
    check_integer("instances", instances, low=1, high=1 if family.deterministic else None)
    return _moments(family, x, y, instances, check_real("bitsum_rmse", bitsum_rmse, low=0.0))[0]


@dataclass(frozen=True)
class WorstError:
    """The root mean squared error at the worst query.

    - sup_rmse: Contains its supremum over the domain: below, the exact error at `query`; above, a proved bound.
    - domain: Which queries.
    - query (ndarray of float64, shape (d,)): The worst query that was found.
    - published: The bound of wagner2025, Theorem 3.2.
    """

    sup_rmse: Interval
    domain: str
    query: NDArray[np.float64]
    published: float

    @property
    def slack(self) -> Interval:
        """How many times the true supRMSE the published bound is."""
        return Interval(self.published / self.sup_rmse.upper, self.published / self.sup_rmse.lower)


def sup_rmse(
    family: LSQFamily,
    points: ArrayLike,
    *,
    instances: int,
    bitsum_rmse: float | Interval,
    queries: ArrayLike | None = None,
) -> WorstError:
    """Enclose the largest root mean squared error over the family's domain of queries (wagner2025, Definition 3.1).

    - family, points, instances: As for `mse`.
    - bitsum_rmse: E as for `mse`, or its least and largest value over the inputs: `BitsumClaims.rmse_over_inputs`.
    - queries (array_like, shape (queries, d)): More candidates for the worst query, from the domain. Each costs O(n^2
      d).
    """
    x = _points(family, points)
    check_integer("instances", instances, low=1, high=1 if family.deterministic else None)
    ends = (bitsum_rmse.lower, bitsum_rmse.upper) if isinstance(bitsum_rmse, Interval) else (bitsum_rmse, bitsum_rmse)
    rmse = Interval(*(check_real("bitsum_rmse", end, low=0.0) for end in ends))
    claims = claims_of(family)
    noise = _noise(family, len(x), rmse.upper)
    candidates = claims.bad_queries(family, x, instances, noise)
    if queries is not None:
        candidates = np.concatenate([candidates, check_vectors("queries", queries, dimension=family.dimension)])
    found = [_moments(family, x, y, instances, rmse.lower) for y in candidates]
    lower = [math.sqrt(max(value - error, 0.0)) for value, error in found]
    # The same moments make up the bounds, at queries of norm 1 where that counts. Where a root is taken of a mean over
    # users, of at least 1/n, its error grows by sqrt(n) / 2. The bias is at most beta, but for one instance.
    size, rounding = _rounding(family, x, None)
    charge = 32.0 * rounding * (family.beta**2 + (math.sqrt(len(x)) * size**2 + noise) / instances)
    upper = claims.largest_mse(family, x, instances, noise) * (1.0 + 32.0 * rounding) + charge
    upper += 6.0 * claims.moment_error
    best = int(np.argmax(lower))
    published = formulas.published_rmse_bound(FLOATS, family.beta, family.R, family.S, instances, rmse.upper, len(x))
    # Either root is off by half a unit.
    enclosed = Interval.proved(lower[best] * (1.0 - UNIT), math.sqrt(upper) * (1.0 + 4.0 * UNIT))
    return WorstError(enclosed, claims.domain, candidates[best], float(published))
