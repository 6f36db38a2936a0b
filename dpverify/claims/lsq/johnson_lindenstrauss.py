"""What is true of `protocols.lsq.johnson_lindenstrauss`: how far the norms are from what they were.

**The exact variance.** Let ||x|| = 1 and u = H diag(s) x. The `v_i = D u_i^2` average 1 for every s, and ||y||^2 is the
mean of k of them, sampled without replacement. Each sqrt(D) u_i is a sum of the x_j with random signs, of fourth moment
`3 - 2 sum_j x_j^4`: the v_i have the expected population variance `2 - 2 sum_j x_j^4`, and

    Var ||y||^2 = 2 (1 - sum_j x_j^4) (D-k) / (k (D-1)),  below 2/k.

**Tails.** Chebyshev's, and for small chances: `|sqrt(D) u_i| <= s` for all i but with probability `2 D e^(-s^2/2)`
(Hoeffding), and then v_i in [0, s^2] has population variance at most s^2 - 1, so that the mean of k of them is off by
more than eta with a probability that `bernstein` bounds, no v_i being further than max(s^2-1, 1) from 1. All is for a
fixed x and the randomness of the map.

**The Gaussian kernel.** Let squared distances a become a (1 + eta). Then `|e^(-a(1+eta)) - e^(-a)| <= |eta|` for every
a (at most |eta| / e for small eta), so the kernel's root mean squared distortion is at most sqrt(2/k), and so is that
of a density, a mean of kernels (Minkowski).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.lsq.johnson_lindenstrauss import FastProjection
from protocols.validation import check_real, check_vectors

__all__ = ["bernstein", "distortion_chance", "squared_norm_variance"]


def squared_norm_variance(projection: FastProjection, x: ArrayLike) -> NDArray[np.float64]:
    """Return the exact `Var ||y||^2` of projected points over the maps of these dimensions; `E ||y||^2` is `||x||^2`.

    - projection: Only its dimensions count.
    - x (array_like, shape (points, dimension)): The points.

    Returns: ndarray of float64, shape (points,).
    """
    squares = np.square(check_vectors("x", x, dimension=projection.dimension))
    d, k = projection.padded, projection.target
    left_out = (d - k) / (k * (d - 1)) if d > 1 else 0.0
    # At most 0 where one coordinate has all the weight, but for rounding.
    spread = np.maximum(squares.sum(axis=1) ** 2 - np.square(squares).sum(axis=1), 0.0)
    return np.asarray(2.0 * left_out * spread)


def bernstein(draws: int, variance: float, farthest: float, eta: float) -> float:
    """Return `2 exp(-k eta^2 / (2 v + 2/3 m eta))`, which bounds P(|mean of k draws - mean| > eta).

    With replacement or without (Hoeffding 1963, section 6), for values of variance v, none further than m from their
    mean.
    """
    return 2.0 * math.exp(-draws * eta**2 / (2.0 * variance + 2.0 / 3.0 * farthest * eta))


def distortion_chance(projection: FastProjection, eta: float) -> float:
    """Return an upper bound on P(| ||y||^2 / ||x||^2 - 1 | > eta) over the maps, for every fixed x.

    By linearity it holds for the distance of a point and a query too.

    - projection: Only its dimensions count.
    - eta: Positive.
    """
    check_real("eta", eta, low=0.0, low_open=True)
    d, k = projection.padded, projection.target
    if d == k:
        return 0.0
    chebyshev = 2.0 * (d - k) / (k * (d - 1)) / eta**2

    def unless_large(square: float) -> float:
        spread = square - 1.0
        return 2.0 * d * math.exp(-square / 2.0) + bernstein(k, spread, max(spread, 1.0), eta)

    # Every s gives a valid bound. Beyond s^2 = D nothing is excluded: |sqrt(D) u_i| <= sqrt(D) always.
    squares = np.geomspace(1.5, d, 200) if d > 2 else np.array([2.0])
    best = min(chebyshev, *map(unless_large, squares.tolist()))
    return min(1.0, best * (1.0 + 1e-12))
