"""The public features of each kernel, of points in the unit ball, from public numbers alone.

How many users there are does not matter: at a budget the noise of a density hardly depends on the number of features or
their range (what more features add to T^2, their mean takes away), and what rounding to bits adds falls with their
number. So users can be counted before anyone knows how many there will be.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from dpverify.claims.lsq.linear import unbiased
from dpverify.claims.registry import claims_of
from dpverify.learning.files.counters import drawn
from dpverify.planning.kernels.rungs import features_of, has_bandwidth, kernels
from protocols.classes.frozen import dataclass
from protocols.lsq import LinearMap, LSQFamily, LSQFeatures
from protocols.validation import check_choice, check_integer, check_real

__all__ = ["PublicFeatures"]

_LINEAR = "inner-product"
_BITS = 1024
_LINEAR_BITS = 256
"""At least so many, by several rotations where there are few dimensions."""
_REACH = 2.0
"""The range of a rotated coordinate, in its standard deviations: few are clipped, and little is lost to rounding."""
_MOST_ENTRIES = 2**26
_DIGITS = 5
"""T^2 is rounded up so, which costs nothing, so that kernels of many dimensions share their plans."""


@dataclass(frozen=True)
class PublicFeatures:
    """What fixes the features: all of it public.

    - kernel ({"inner-product", "gaussian", "laplacian", "exponential"}): The kernel, of points in the unit ball.
    - dimension: d, at least 1.
    - bandwidth: In units of the unit ball; None for the inner product, which has none.
    - bits: I Q, how many features, each one bit of every user. By default 1,024, and the dimension for the inner
      product, repeated by several rotations up to 256 at least.
    - seed: Of the public randomness.
    """

    kernel: str
    dimension: int
    bandwidth: float | None
    bits: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("kernel", self.kernel, tuple(kernels()))
        check_integer("dimension", self.dimension, low=1)
        if self.bandwidth is not None:
            check_real("bandwidth", self.bandwidth, low=0.0, low_open=True)
        scaled = has_bandwidth(self.kernel)
        if self.bandwidth is not None and not scaled:
            raise ValueError(f"bandwidth={self.bandwidth!r} must be None for the kernel {self.kernel}, which has none.")
        if self.bandwidth is None and scaled:
            raise ValueError(f"bandwidth=None must be a number in (0, inf) for the kernel {self.kernel}.")
        if self.bits is not None:
            check_integer("bits", self.bits, low=1 if self.kernel == _LINEAR else 2)
        check_integer("public_random_state", self.seed, low=0)
        if self.dimension * max(self._bits, self.dimension) > _MOST_ENTRIES:
            raise ValueError(
                f"dimension={self.dimension} with bits={self._bits} must be smaller: maps of more than 2^26 entries "
                "are not drawn."
            )
        self._features  # noqa: B018 - refuses a number of bits that there are no features of

    @property
    def _bits(self) -> int:
        if self.bits is not None:
            return self.bits
        if self.kernel != _LINEAR:
            return _BITS
        return self.dimension * max(1, math.ceil(_LINEAR_BITS / self.dimension))

    @property
    def family(self) -> LSQFamily:
        """The features' family."""
        return self._features[0]

    @property
    def pairs(self) -> int:
        """I."""
        return self._features[1]

    @property
    def _features(self) -> tuple[LSQFamily, int]:
        d = self.dimension
        if self.kernel == _LINEAR:
            reach = min(_REACH / math.sqrt(d), 1.0)
            return unbiased(LinearMap(d, "haar", reach, self._bits, radius=1.0, outside="scale", seed=self.seed)), 1
        return features_of(self.kernel, d, 1.0 if self.bandwidth is None else self.bandwidth, self._bits)

    @property
    def drawn(self) -> LSQFeatures:
        """The features themselves."""
        return drawn(self.family, self.pairs, self.seed)

    @property
    def squared_change(self) -> float:
        """An upper bound on T^2 of what replacing a point changes, of few digits; see `LSQClaims.squared_change`."""
        return _squared_change(self)

    def noise(self, bitsum_rmse: float, users: int) -> float:
        """Return the deviation that the bitsums' noise gives a density, at a query of norm 1.

        - bitsum_rmse: Of one bitsum, in users.
        - users: n.
        """
        query = np.full((1, self.dimension), 1.0 / math.sqrt(self.dimension))
        square = claims_of(self.family).query_square(self.family, query[0])
        return 2.0 * self.family.R * bitsum_rmse / users * math.sqrt(square / self.pairs)


@functools.lru_cache(maxsize=64)
def _squared_change(public: PublicFeatures) -> float:
    exact = claims_of(public.family).squared_change(public.drawn)
    unit = 10.0 ** (math.floor(math.log10(exact)) + 1 - _DIGITS)
    # Bits are whole, and no T^2 exceeds them; the quotient's rounding is far below a unit.
    return min(max(math.ceil(exact / unit) * unit, exact), float(public.drawn.coordinates))
