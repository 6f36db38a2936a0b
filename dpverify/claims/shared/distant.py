"""Points that lie far apart in their features: how much they change is read off the features as users compute them.

A guess of two points needs no proof. What it is worth is counted on the very floats that users would hold: a bit whose
computed feature is R for one point and -R for the other is surely 1 and surely 0, as `(1 + f/R)/2` is 1 and 0 exactly.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.rounding import UNIT
from protocols.lsq import LSQFeatures

__all__ = ["aligned", "climbed", "farthest", "opposite_sizes", "turned_bits"]

Array = NDArray[np.float64]
_WITHIN = 1.0 - 1e-9
"""By how much points are kept inside the ball: far more than their norms are off by as computed."""

_STARTS, _STEPS = 6, 100
"""Of a climb: directions at random, besides those that are given, and how often each is improved."""
_STEEPNESS = (0.2, 0.5, 0.7, 0.95)

_DEPENDENT = 1e-9
"""A row whose part orthogonal to those before is shorter, relatively, takes no value of its own."""


def turned_bits(features: LSQFeatures, points: Array) -> int:
    """Return how many bits are surely 0 for one of two points and surely 1 for the other, all in the same direction.

    - features: The public features.
    - points (ndarray, shape (2, d)): Two points that `features` accept.
    """
    first, second = features.f(points).reshape(2, -1)
    reach = features.family.R
    return max(
        int(np.count_nonzero((one == reach) & (other == -reach))) for one, other in ((first, second), (second, first))
    )


def opposite_sizes(features: LSQFeatures, points: Array) -> Array:
    """Return how far two opposite points move bits: at least, and one size for each bit.

    - features, points: As for `turned_bits`.

    Returns: t where the bit's probability to be 1 goes from `(1 - t)/2` to `(1 + t)/2`, or back; 0 where features are
    not opposite. (ndarray of float64, shape (bits,).)

    A probability is computed within u, and that of a uniform float below it is within u of it.
    """
    first, second = features.f(points).reshape(2, -1)
    return np.where(first == -second, np.maximum(np.abs(first) / features.family.R - 8.0 * UNIT, 0.0), 0.0)


def climbed(matrix: Array, limit: float, radius: float, starts: Array) -> list[Array]:
    """Return points of a ball whose features are long, and those of them that are near the limit the more.

    - matrix (ndarray, shape (rows, d)): G.
    - limit: R: features are `clip(G x)`, t = |f| / R.
    - radius: Of the ball, finite.
    - starts (ndarray, shape (points, d)): From where to climb, besides some directions at random.

    Returns: For several k a point and its opposite at which the sum of `t^2 / (1 - k t^2)` is large: what a bit's move
    reveals among others that are all as it was, if their noise is 1 - k of a coin's. That is convex where nothing is
    clipped: each step goes as far as the ball allows along the gradient. (list of ndarray, shape (2, d).)
    """
    rng = np.random.default_rng(0)
    first = np.concatenate([starts, rng.standard_normal((_STARTS, matrix.shape[1]))])
    found = []
    for steepness in _STEEPNESS:
        x, most, best = first.T, -math.inf, first[0]
        for _ in range(_STEPS):
            norms = np.linalg.norm(x, axis=0)
            x = x * (radius * _WITHIN / np.where(norms > 0.0, norms, 1.0))  # a start at 0 stays there
            t = matrix @ x / limit
            square = np.minimum(t * t, 1.0)
            revealed = np.sum(square / (1.0 - steepness * square), axis=0)
            if revealed.max() > most:
                most, best = float(revealed.max()), x[:, int(np.argmax(revealed))]
            # What is clipped must stay so: it is given the slope of t^2.
            x = matrix.T @ np.where(np.abs(t) < 1.0, t / (1.0 - steepness * square) ** 2, np.sign(t))
        found.append(np.stack([best, -best]))
    return found


def aligned(matrix: Array, values: Array, radius: float) -> Array:
    """Return the least point at which as many rows as fit into a ball, the first ones, take given values.

    - matrix (ndarray, shape (rows, d)): G.
    - values (ndarray, shape (points, rows)): The wanted values of G x, for each of several points.
    - radius: Of the ball, which may be infinite.

    Returns: All take their values on the same rows. (ndarray, shape (points, d).)
    """
    orthogonal, triangular = np.linalg.qr(matrix[: min(matrix.shape)].T)
    lengths = np.abs(np.diagonal(triangular))
    # Up to the first row that depends on those before it.
    free = _first(np.asarray(lengths <= _DEPENDENT * lengths.max()))
    # Row by row: what solves for more rows begins with what solves for fewer.
    parts = scipy.linalg.solve_triangular(triangular[:free, :free].T, values[:, :free].T, lower=True)
    count = _first(np.any(np.cumsum(parts**2, axis=0) > (radius * _WITHIN) ** 2, axis=1))
    return np.asarray((orthogonal[:, :count] @ parts[:count]).T)


def _first(found: NDArray[np.bool_]) -> int:
    """Return the first index at which something is found, and how many there are where it is not."""
    return int(np.argmax(found)) if found.any() else found.size


def farthest(matrix: Array, radius: float) -> Array:
    """Return the point of a ball at which G x is longest, and its opposite, shape (2, d)."""
    direction = np.linalg.eigh(matrix.T @ matrix)[1][:, -1] * (radius * _WITHIN if radius < math.inf else 1.0)
    return np.stack([direction, -direction])
