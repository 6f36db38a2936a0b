"""Vectors as integers: a public rotation that no device rounds, and a sum of vectors with a given error.

A coordinate x becomes `X = floor(2^26 x + 1/2)`, and a vector with `sum X^2 <= (2^26 + 2^16)^2` is taken. With public
signs e_i and zeros up to a power of two D, `Y = H (e X)`, H the Walsh-Hadamard matrix of entries +-1, so that `|Y|^2 =
D |X|^2`: a rotation, times the root of D. `v = m Y / 2^46`, Y clipped to an integer, is rounded at random, exactly. A
sum of D counts with signs gives a coordinate back, each with the same weight `2^20 / (m D)`. docs/designs.md has the
proofs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.claims.registry import mechanism_claims_of
from dpverify.collection.client import TURNED
from dpverify.guarantee import InfeasibleBudgetError
from protocols.bitsum.negative_binomial import NegativeBinomial, SingleNoise
from protocols.bitsum.poisson import Poisson
from protocols.classes.frozen import dataclass
from protocols.lsq.johnson_lindenstrauss import padded_length, walsh_sums
from protocols.sums.vectors import UnaryVectorSum
from protocols.validation import check_integer, check_vectors

__all__ = ["MOST_DIMENSION", "ROUNDED_SHARE", "Turned", "planned", "signs_of"]

_FINE, _TURNED = 26, TURNED
"""Binary digits of a coordinate's steps, and of what a rotated one is multiplied by."""
_LONGEST = (1 << _FINE) + (1 << _FINE - 10)
"""Half-precision embeddings are longer than 1 by 5e-4; the scale has room for it."""
_STRETCH = _LONGEST / 2.0**_FINE
MOST_DIMENSION = 2**16
ROUNDED_SHARE = 0.2
"""Of the squared error, what rounding may add: the smaller, the more messages. 1.12 times the error of noise alone."""
_CLIPPED = 1e-6
"""How likely any user's vector is clipped, at most, over signs."""


@dataclass(frozen=True)
class Turned:
    """How users' vectors become integers of a sum of vectors.

    Parameters
    ----------
    signs : str
        Of each coordinate "1" where it changes its sign: public.
    protocol : UnaryVectorSum
        Of as many coordinates as the least power of two that is as large; its own rotation is not used.
    """

    longest: ClassVar[int] = _LONGEST

    signs: str
    protocol: UnaryVectorSum

    def __post_init__(self) -> None:
        if not isinstance(self.signs, str) or not self.signs or set(self.signs) - {"0", "1"}:
            raise ValueError(f"signs={str(self.signs)[:40]!r} must be digits 0 and 1, one for each coordinate.")
        if not isinstance(self.protocol, UnaryVectorSum):
            raise TypeError(f"protocol={self.protocol!r} must be a UnaryVectorSum for vectors.")
        size = padded_length(check_integer("dimension", self.dimension, low=1, high=MOST_DIMENSION))
        check_integer("protocol.dimension", self.protocol.dimension, low=size, high=size)
        if not 1 <= self.factor < 2**31:
            raise ValueError(f"scale={self.protocol.scale!r} must be in [2^-20, 2^11] times the root of {size}.")

    @property
    def dimension(self) -> int:
        """The coordinates of a vector, d."""
        return len(self.signs)

    @property
    def factor(self) -> int:
        """The largest m by which no user's v is longer than the protocol's scale."""
        room = (Fraction(self.protocol.scale) * (1 << _TURNED)) ** 2 / (self.protocol.dimension * _LONGEST**2)
        return math.isqrt(math.floor(room))

    @property
    def limit(self) -> int:
        """The largest |Y|: v is at most the protocol's largest."""
        return min(math.floor(Fraction(self.protocol.clip) * (1 << _FINE)), math.isqrt(self.protocol.dimension) * 2**27)

    @property
    def most(self) -> int:
        """The largest integer that a coordinate is rounded to."""
        longest = math.isqrt(self.dimension * _LONGEST**2)  # a coordinate of Y is at most the sum of all |X|
        return -(-min(self.limit, longest) * self.factor // (1 << _TURNED))

    @property
    def own(self) -> int:
        """How many messages a vector is at most: the sum of |Y| is at most D |X|, and each is rounded up."""
        size = self.protocol.dimension
        return min(size * _LONGEST * self.factor // (1 << _TURNED) + size, size * self.most)

    @property
    def together(self) -> SingleNoise:
        """The noise of all counts together: a power of two of them, so that nothing is rounded."""
        noise, counts = self.protocol.noise, 2 * self.protocol.dimension
        if isinstance(noise, NegativeBinomial):
            return replace(noise, shape=noise.shape * counts)
        return Poisson(noise.users, noise.noise_mean * counts)

    @property
    def weight(self) -> float:
        """By which the counts of D coordinates, with signs, are a coordinate of the sum of vectors."""
        return 2.0 ** (_TURNED - _FINE) / (self.factor * self.protocol.dimension)

    @property
    def rounded(self) -> float:
        """The variance of a rounded coordinate at most, on average over all of a user's.

        f (1 - f), f the fraction of |v|, is at most h(v^2), with h(u) = sqrt(u) - u up to u = 1/4 and then 1/4. That is
        concave and never falls: so the mean is at most h of the mean of v^2.
        """
        root = min(self.factor * _STRETCH * 2.0 ** (_FINE - _TURNED), 0.5)
        return root * (1.0 - root) * (1.0 + 2.0**-50)

    @property
    def clipped(self) -> float:
        """How likely a user's vector is clipped at most, over signs: by Hoeffding's inequality for each coordinate."""
        at = self.limit / _LONGEST
        size = self.protocol.dimension
        return 0.0 if at >= math.sqrt(size) else min(2.0 * size * math.exp(-0.5 * at * at) * (1.0 + 1e-12), 1.0)

    @property
    def off(self) -> float:
        """How far the mean of vectors is off at most by steps and clipping, as a root mean square over signs."""
        at = self.limit / _LONGEST
        tail = 4.0 * (math.exp(-0.5 * at * at) - at * math.sqrt(0.5 * math.pi) * math.erfc(at / math.sqrt(2.0)))
        clipped = 0.0 if self.clipped == 0.0 else math.sqrt(max(tail, 1e-12 * math.exp(-0.5 * at * at)))
        return _STRETCH * clipped + math.sqrt(self.dimension) * 2.0 ** -(_FINE + 1)

    @property
    def rmse(self) -> float:
        """The root mean squared error of the sum of all users' vectors, as a norm, at most: whatever they are."""
        claims: Any = mechanism_claims_of(self.protocol.noise)
        counts = 2.0 * claims.rmse(self.protocol.noise) ** 2 + self.protocol.users * self.rounded
        noise = self.weight * math.sqrt(self.dimension * self.protocol.dimension * counts)
        return (noise + self.protocol.users * self.off) * (1.0 + 1e-12)

    def steps(self, vectors: ArrayLike, name: str = "vectors") -> NDArray[np.int64]:
        """Return X of each row, shape (rows, d); ValueError for what no client takes."""
        array = check_vectors(name, vectors, dimension=self.dimension)
        known = np.linalg.norm(np.clip(array, -2.0, 2.0), axis=1) < 1.01
        steps = np.floor(np.where(known[:, np.newaxis], array, 0.0) * 2.0**_FINE + 0.5).astype(np.int64)
        if not known.all() or any(int(row @ row) > _LONGEST**2 for row in steps):
            raise ValueError(f"{name} must have rows of norm at most 1.")
        return steps

    def places(self, vectors: ArrayLike) -> NDArray[np.int64]:
        """Return Y of each row, clipped, shape (rows, D)."""
        rows = np.zeros((len(np.asarray(vectors)), self.protocol.dimension), dtype=np.int64)
        rows[:, : self.dimension] = self.steps(vectors) * self._signs
        return np.clip(walsh_sums(rows), -self.limit, self.limit)

    def back(self, differences: ArrayLike) -> NDArray[np.float64]:
        """Return estimates of the sum of vectors, shape (d,), from + less - of each coordinate, shape (D,)."""
        rows = walsh_sums(np.array(differences, dtype=np.int64, ndmin=2))
        return np.asarray(self.weight * self._signs * rows[0, : self.dimension])

    @property
    def _signs(self) -> NDArray[np.int64]:
        return 1 - 2 * np.array([int(sign) for sign in self.signs], dtype=np.int64)


def signs_of(dimension: int, rng: np.random.Generator) -> str:
    """Return public signs, drawn evenly."""
    check_integer("dimension", dimension, low=1, high=MOST_DIMENSION)
    return "".join(map(str, rng.integers(0, 2, dimension).tolist()))


def planned(users: int, dimension: int, error: float) -> UnaryVectorSum:
    """Return the sum of vectors whose root mean squared error is given, as a norm, a fifth of its square by rounding.

    InfeasibleBudgetError where there is none.
    """
    size = padded_length(dimension)
    clip = _STRETCH * min(math.sqrt(2.0 * math.log(2.0 * users * size / _CLIPPED)), math.sqrt(size) * (1.0 + 1e-7))
    refused = InfeasibleBudgetError(f"error={error:.4g} is more, or less, than the mean of {users:,} vectors can err.")

    def made(factor: int, mean: float) -> Turned:
        root = factor * _STRETCH * math.sqrt(size) * 2.0 ** (_FINE - _TURNED)
        protocol = UnaryVectorSum(Poisson(users, mean), size, root * (1.0 + 2.0**-50), clip)
        return Turned("0" * dimension, protocol)

    left = error - users * made(1, 0.0).off
    if not 0.0 < left < math.inf:
        raise refused
    # The squared error is `each (2 V + n h) / m^2`.
    each, q = dimension / size * 2.0 ** (2 * (_TURNED - _FINE)), _STRETCH * 2.0 ** (_FINE - _TURNED)
    rounding = ROUNDED_SHARE * left * left / (each * users)
    factor = 0.5 / math.sqrt(rounding)
    if factor * q < 0.5:
        factor = q / (rounding + q * q)
    if not 0.5 <= factor < 2.0**31 - 1.0:
        raise refused
    factor = max(round(factor), 1)
    mean = 0.5 * (left * left * factor * factor / each - users * made(factor, 0.0).rounded)
    return made(factor, mean).protocol
