"""Points as bits: the signs of random waves, by integers alone, whose sums are a density of the Gaussian kernel.

A wave is sin(w . x + b), with normal w and uniform b, all public. A user's bit tells its sign at her point; with
`g(y) = pi/2 sin(w . y + b)` the mean of `sign(sin(w . x + b)) g(y)` over waves is `exp(-|x - y|^2 / bandwidth^2)`, as
that of the sign with a sine of the same phase is 2/pi. Phases are integers modulo 2^32, so that no device rounds.
docs/designs.md has the proofs.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.guarantee import Number, exact_number
from protocols.classes.frozen import dataclass
from protocols.lsq import GaussianFeatures
from protocols.lsq.gaussian import Cosines
from protocols.validation import check_integer, check_vectors

__all__ = ["BIAS", "SCALE", "SECOND_MOMENT", "Signs"]

_BITS = 32
"""Of a phase."""
_TURN = 2.0**_BITS
_FINE = 17
"""A step of the lattice of points is at most a bandwidth over 2^16, and more than one over 2^17."""
_REACH = 30
"""Coordinates are below so many binary digits of steps: two points differ by less than half a turn of the lattice."""
_BANDWIDTHS = (1e-50, 1e50)
SCALE = math.pi / 2.0
"""The largest size of g."""
SECOND_MOMENT = math.pi**2 / 8.0
"""The mean of g(y)^2 over waves."""
BIAS = 7e-6
"""Times the root of the dimension: how far the mean over waves is from the kernel, at most."""


@dataclass(frozen=True)
class Signs:
    """Public waves, and how the points of users, each of one of some classes, become bits of them.

    A user's bit of a wave and her class is the sign of the wave at her point. Her bits of all other classes are fair
    coins, which add nothing to their sums on average.

    Parameters
    ----------
    dimension : int
        d, at least 1.
    bandwidth : str
        A decimal, in the units of the points.
    waves : str
        Of each wave d frequencies and then the offset, 8 hexadecimal digits each: of 2^32 parts of a turn, how many one
        step of the lattice adds, modulo 2^32.
    classes : int
        At least 1.
    """

    dimension: int
    bandwidth: str
    waves: str
    classes: int = 1

    def __post_init__(self) -> None:
        check_integer("dimension", self.dimension, low=1)
        check_integer("classes", self.classes, low=1)
        bandwidth = float(exact_number("bandwidth", self.bandwidth))
        if not _BANDWIDTHS[0] <= bandwidth <= _BANDWIDTHS[1]:
            raise ValueError(f"bandwidth={self.bandwidth!r} must be in [1e-50, 1e50].")
        size = _BITS // 4 * (self.dimension + 1)
        if not self.waves or len(self.waves) % size or set(self.waves) - set("0123456789abcdef"):
            raise ValueError(f"waves must be {size} hexadecimal digits for each wave, one wave at least.")

    @classmethod
    def sample(cls, waves: int, dimension: int, bandwidth: Number, classes: int, rng: np.random.Generator) -> Signs:
        """Draw so many waves, from public randomness."""
        check_integer("waves", waves, low=1)
        check_integer("dimension", dimension, low=1)
        exact_number("bandwidth", bandwidth)
        empty = cls(dimension, str(Decimal(str(bandwidth))), "0" * (_BITS // 4 * (dimension + 1)), classes)
        normal = rng.standard_normal((waves, dimension)) * (_TURN / (2.0 * math.pi) * empty.radians)
        words = np.column_stack([np.rint(normal), rng.integers(0, 2**_BITS, waves)]).astype(np.int64)
        text = (words % 2**_BITS).astype(">u4").tobytes().hex()
        return cls(dimension, empty.bandwidth, text, classes)

    @property
    def shift(self) -> int:
        """The lattice of points has steps of 2^-shift."""
        return _FINE - math.frexp(float(exact_number("bandwidth", self.bandwidth)))[1]

    @property
    def radians(self) -> float:
        """The standard deviation of what a step adds to a phase."""
        return math.sqrt(2.0) * 2.0**-self.shift / float(exact_number("bandwidth", self.bandwidth))

    @property
    def features(self) -> int:
        """How many waves there are."""
        return len(self.waves) // (_BITS // 4 * (self.dimension + 1))

    @property
    def sums(self) -> int:
        """How many bits a user has."""
        return self.features * self.classes

    @property
    def bias(self) -> float:
        """How far the mean over waves is from the kernel, at most: of what the lattice moves, and of its waves."""
        return BIAS * math.sqrt(self.dimension)

    @property
    def settings(self) -> dict[str, Any]:
        """What a manifest has of it."""
        return {
            "classes": self.classes,
            "dimension": self.dimension,
            "bandwidth": self.bandwidth,
            "shift": self.shift,
            "waves": self.waves,
        }

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Signs:
        """Return it from what a manifest has; ValueError if that is none."""
        found = cls(**{name: settings[name] for name in ("dimension", "bandwidth", "waves", "classes")})
        if found.settings != settings:
            raise ValueError("points must be those of a density.")
        return found

    def _words(self) -> NDArray[np.int64]:
        words = np.frombuffer(bytes.fromhex(self.waves), dtype=">i4").astype(np.int64)
        return words.reshape(self.features, self.dimension + 1)

    def points(self, points: ArrayLike, name: str = "points") -> NDArray[np.float64]:
        """Return points, shape (points, d), after checking that clients take them."""
        array = check_vectors(name, points, dimension=self.dimension)
        if not (np.abs(array) < 2.0 ** (_REACH - self.shift)).all():
            raise ValueError(f"{name} must have coordinates below 2^{_REACH - self.shift} in size.")
        return array

    def bits(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Return what clients compute of points, shape (points, waves): whether a wave is positive."""
        steps = np.floor(self.points(points) * 2.0**self.shift).astype(np.int64)
        words = self._words()
        phases = steps @ words[:, :-1].T + words[:, -1]  # whatever leaves 64 bits is a multiple of 2^32
        return np.asarray(phases >> (_BITS - 1) & 1 == 0)

    def cosines(self) -> Cosines:
        """Return the waves as features of protocols: g is pi / (2 sqrt 2) times theirs.

        The phase of y is that of the middle of a cell where it is a cell's middle: half a part of a turn further than
        that of the corner which clients compute.
        """
        words = self._words()
        doubled = (2 * words[:, -1] + 1 - words[:, :-1].sum(axis=1)) % 2 ** (_BITS + 1)
        part = 2.0 * math.pi / _TURN
        frequencies = words[:, :-1].astype(np.float64) * (part * 2.0**self.shift)
        family = GaussianFeatures(self.dimension, float(exact_number("bandwidth", self.bandwidth)))
        return Cosines(family, self.features, frequencies, doubled.astype(np.float64) * (part / 2.0) - math.pi / 2.0)
