"""What sums of signs say: the densities of the classes, how much they err, and intervals.

The error of a density at y is that of its waves and that of its sums. Both are sums of independent terms whose moment
generating functions are known, or bounded, so that Chernoff's inequality has intervals: docs/designs.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.claims.registry import mechanism_claims_of
from dpverify.collection.densities.signs import SCALE, SECOND_MOMENT, Signs
from protocols.bitsum.poisson import Poisson
from protocols.bitsum.randomized_response import RandomizedResponse
from protocols.classes.frozen import dataclass
from protocols.kde import KernelDensity
from protocols.validation import check_real

__all__ = ["Densities", "densities", "reach"]

Array = NDArray[np.float64]
_TRIED = np.geomspace(0.5, 2.0, 33)
"""By which factors the tilt of normal noise is multiplied: each gives a bound, and the least counts."""
_ROUNDED = 1e-8
"""Far above what is rounded, relatively: a logarithm near s^2 is off by a unit of s, which is 1e-7 or more for 10^14
bits."""


@dataclass(frozen=True, eq=False)
class Densities:
    """The densities of all classes, each with the share of the users that the class has as its whole mass.

    Parameters
    ----------
    signs : Signs
        The public waves.
    protocol : RandomizedResponse or Poisson
        Of each sum.
    users : int
        How many took part.
    classes : tuple of KernelDensity
        Of each class, in its place. Estimates may be negative, or above 1.
    missing : float
        How much likelier than said an interval misses at most: what the tables of clients cost.
    """

    signs: Signs
    protocol: Any = field(repr=False)
    users: int
    classes: tuple[KernelDensity, ...] = field(repr=False)
    missing: float = 0.0

    def __call__(self, points: ArrayLike) -> Array:
        """Return the estimates at points, shape (points, classes): 1 where all users hold that point and class."""
        return np.stack([density(self.signs.points(points)) for density in self.classes], axis=1)

    def predict(self, points: ArrayLike) -> NDArray[np.int64]:
        """Return the class of the highest density at each point: the likeliest, as classes are weighted by users."""
        return np.asarray(self(points).argmax(axis=1))

    @property
    def sup_rmse(self) -> float:
        """The root mean squared error at any point, whatever users hold: an upper bound.

        Over waves, coins and noise, from the kernel density of the points that users hold.
        """
        noise = 2.0 * self._rmse / self.users
        variance = SECOND_MOMENT / self.signs.features * (1.0 + noise * noise)
        return math.hypot(math.sqrt(variance), self.signs.bias) * (1.0 + _ROUNDED)

    @property
    def _rmse(self) -> float:
        claims: Any = mechanism_claims_of(self.protocol)
        return float(claims.rmse(claims.with_users(self.protocol, self.users, more_private=True)))

    def intervals(self, points: ArrayLike, confidence: float) -> tuple[Array, Array]:
        """Return the ends of intervals, in [0, 1], each of shape (points, classes).

        Each has the kernel density at its point of what users hold, with this confidence at least, if they and the
        point have nothing to do with how the waves were drawn. Low is above high where the batch contradicts every
        density.
        """
        check_real("confidence", confidence, low=0.0, high=1.0, low_open=True, high_open=True)
        miss = 1.0 - confidence - self.missing
        if miss <= 0.0:
            return np.zeros_like(values := self(points)), np.ones_like(values)
        values, log = self(points), math.log(4.0 / miss)
        g = SCALE / math.sqrt(2.0) * self.signs.cosines().g(self.signs.points(points))[:, :, 0]
        sums = np.array([reach(log, self._grows, 2.0 / self.users / self.signs.features * np.abs(at)) for at in g])
        waves = reach(log, _waves_grow, np.full(self.signs.features, 1.0 / self.signs.features))
        wide = (sums + waves)[:, np.newaxis] * (1.0 + _ROUNDED) + self.signs.bias
        return np.maximum(values - wide, 0.0), np.minimum(values + wide, 1.0)

    def _grows(self, s: Array) -> Array:
        """Return the logarithm of E e^(+-s Z), the larger one, of the error Z of one sum's estimate."""
        coins = self.signs.classes > 1
        if isinstance(self.protocol, RandomizedResponse):
            p = self.protocol.flip_probability
            each = s / (1.0 - 2.0 * p)
            # The report of who has another class is a coin, too.
            of = [_bit(p, each), _bit(p, -each), *([_bit(0.5, each)] if coins else [])]
            return np.asarray(self.users * np.max(of, axis=0))
        mean = self.protocol.mean * self.users / self.protocol.users
        return np.asarray(mean * (np.expm1(s) - s) + (self.users * _bit(0.5, s) if coins else 0.0))


def _bit(p: float, s: Array) -> Array:
    """Return the logarithm of E e^(s (X - p)), X one with probability p."""
    return np.asarray(np.log1p(p * np.expm1(s)) - p * s)


def _waves_grow(s: Array) -> Array:
    """Return a bound on that of one wave's product of sign and g, less its mean, on either side: by Bennett.

    Its size is pi/2 at most, and the mean of its square `SECOND_MOMENT`, whose root the mean's size does not exceed.
    """
    furthest = SCALE + math.sqrt(SECOND_MOMENT)
    return np.asarray(SECOND_MOMENT / furthest**2 * (np.expm1(furthest * s) - furthest * s))


def reach(log: float, grows: Callable[[Array], Array], weights: Array) -> float:
    """Return how far a weighted sum of independent terms is from its mean but for a probability of 2 e^-log."""
    size = float(weights.max())
    unit = weights / size
    # Two derivatives at 0 are the variance: the tilt that is best for normal terms.
    small = 1e-4
    variance = 2.0 * float(grows(small * unit).sum()) / small**2
    tilts = (math.sqrt(2.0 * log / variance) * _TRIED).tolist()
    reaches: list[float] = [(log + float(grows(t * unit).sum())) / t for t in tilts]
    return size * min(reaches)


def densities(signs: Signs, protocol: Any, users: int, sums: ArrayLike, missing: float = 0.0) -> Densities:
    """Return the densities that estimates of sums say.

    Parameters
    ----------
    signs : Signs
        The public waves.
    protocol : RandomizedResponse or Poisson
        Of each sum.
    users : int
        How many took part.
    sums : array_like, shape (classes * waves,)
        How many bits are one: unbiased estimates.
    missing : float
        See `Densities`.
    """
    if not isinstance(protocol, (RandomizedResponse, Poisson)):
        raise TypeError(f"protocol={protocol!r} must be rr or poisson for a density.")
    features = signs.cosines()
    published = (2.0 * np.asarray(sums, dtype=np.float64) - users) * (SCALE / math.sqrt(2.0))
    rows = published.reshape(signs.classes, signs.features, 1)
    found = tuple(KernelDensity(row, users, features) for row in rows)
    return Densities(signs, protocol, users, found, missing)
