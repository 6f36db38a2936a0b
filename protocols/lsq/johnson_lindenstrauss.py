"""Fast Johnson-Lindenstrauss preprocessing: a public random map to fewer dimensions (wagner2025, Appendix A.2).

After Ailon and Chazelle (2009), with sampled coordinates. It goes before any family of the target dimension:

    projection = FastProjection.sample(dimension, target, public_rng)
    features = GaussianFeatures(target).sample(instances, public_rng)
    protocol = KernelDensityProtocol(bitsum, features)
    density = protocol.simulate(projection(points), rng)
    density(projection(queries))

The map is public and each user applies it to her own point, so privacy is that of the family, whatever the map. The
density that is estimated is exactly that of the projected points: how far it is from that of the points is
`dpverify.claims.lsq.johnson_lindenstrauss`. Norms change, so a family that needs unit vectors refuses projected points
unless they are rescaled, with `unit=True`.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.validation import check_generator, check_integer, check_vectors

__all__ = ["FastProjection", "hadamard_transform", "padded_length", "walsh_sums"]

_BLOCK_ENTRIES = 2**18
Number = TypeVar("Number", np.float64, np.int64)


def walsh_sums(values: NDArray[Number]) -> NDArray[Number]:
    """Make `H x` of every row in place, in D log2(D) additions each, and return them: integers stay exact.

    The rows have shape (points, D), and H is Sylvester's matrix, `scipy.linalg.hadamard(D)`: ValueError if D is no
    power of two.
    """
    points, length = values.shape
    if length < 1 or length & (length - 1):
        raise ValueError(f"rows has shape {values.shape}, but its last axis must be a power of two.")
    half = 1
    while half < length:
        pairs = values.reshape(points, -1, 2, half)
        first, second = pairs[:, :, 0], pairs[:, :, 1]
        first += second
        # first is now the sum a + b, and a - b = (a + b) - 2 b.
        second *= -2
        second += first
        half *= 2
    return values


def hadamard_transform(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the orthonormal Walsh-Hadamard transform `H x / sqrt(D)` of every row, by `walsh_sums`."""
    return walsh_sums(rows / math.sqrt(max(rows.shape[1], 1)))


@dataclass(frozen=True, eq=False)
class FastProjection:
    """The linear map `x -> sqrt(D/k) P H diag(s) x` from R^d to R^k.

    x is padded with zeros to a power of two D, s are random signs, H is the orthonormal Walsh-Hadamard transform, and P
    keeps k different coordinates at random. For every x, `E ||y||^2 = ||x||^2`. For every map and x, `||y||` is at most
    `largest_stretch ||x||`; with k = D it is `||x||`.

    Parameters
    ----------
    signs : ndarray of float64, shape (dimension,)
        s, each -1 or 1; the padding needs none.
    kept : ndarray of int64, shape (target,)
        The k different coordinates in [0, D) that are kept.

    Notes
    -----
    Takes O(D log D) per point, and memory for a block of 2^18 entries besides the points and the result.

    Examples
    --------
    >>> import numpy as np
    >>> project = FastProjection.sample(3, 4, np.random.default_rng(7))
    >>> length = np.linalg.norm(project(np.array([[1.0, 2.0, 2.0]])))
    >>> print(f"{length:.6f}")  # k = D: a rotation
    3.000000
    """

    signs: NDArray[np.float64]
    kept: NDArray[np.int64]

    @classmethod
    def sample(cls, dimension: int, target: int, rng: np.random.Generator) -> FastProjection:
        """Draw a map to k = `target` coordinates, in [1, D] with D the least power of two that is at least d.

        The generator is **public** randomness; it must not share a seed with the users' private randomness.
        """
        check_integer("dimension", dimension, low=1)
        length = padded_length(dimension)
        check_integer("target", target, low=1, high=length)
        signs = check_generator("rng", rng).choice([-1.0, 1.0], dimension)
        return cls(signs, rng.choice(length, target, replace=False))

    @property
    def dimension(self) -> int:
        """The number of coordinates d of a point."""
        return self.signs.size

    @property
    def padded(self) -> int:
        """The power of two D."""
        return padded_length(self.dimension)

    @property
    def target(self) -> int:
        """The number of coordinates k of a projected point."""
        return self.kept.size

    @property
    def largest_stretch(self) -> float:
        """`sqrt(D/k)`, the most by which a norm can grow: for families that accept a ball only."""
        return math.sqrt(self.padded / self.target)

    def __call__(self, points: ArrayLike, *, unit: bool = False, name: str = "points") -> NDArray[np.float64]:
        """Return the projected points, or queries, shape (points, target).

        With `unit` each is divided by its norm, as `RandomSigns` needs; its kernel is then the cosine of the projected
        points. ValueError for another shape, a nan or an infinity, points so large that they overflow, or with `unit` a
        point that is projected to 0.
        """
        array = np.asarray(points)
        if array.ndim != 2 or array.shape[1] != self.dimension:
            check_vectors(name, array, dimension=self.dimension)
        projected = np.empty((len(array), self.target))
        size = max(1, _BLOCK_ENTRIES // self.padded)
        for start in range(0, len(array), size):
            block = check_vectors(f"{name}[{start}:]" if start else name, array[start : start + size])
            spread = np.zeros((len(block), self.padded))
            np.multiply(block, self.signs, out=spread[:, : self.dimension])
            with np.errstate(over="ignore", invalid="ignore"):
                projected[start : start + size] = hadamard_transform(spread)[:, self.kept]
                projected[start : start + size] *= self.largest_stretch
        return self._checked(projected, unit, name)

    def _checked(self, projected: NDArray[np.float64], unit: bool, name: str) -> NDArray[np.float64]:
        finite = np.isfinite(projected).all(axis=1)
        if not finite.all():
            raise ValueError(f"{name}[{int(np.argmin(finite))}] is so large that its projection overflows.")
        if not unit:
            return projected
        norms = np.linalg.norm(projected, axis=1)
        if (norms == 0.0).any():
            raise ValueError(f"{name}[{int(np.argmin(norms))}] is projected to 0, which has no direction.")
        projected /= norms[:, np.newaxis]
        return projected


def padded_length(dimension: int) -> int:
    """Return D, the least power of two that is at least d."""
    return 1 << (dimension - 1).bit_length()
