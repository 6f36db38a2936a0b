"""The inner product kernel by one public linear map with a public range."""

from __future__ import annotations

import functools
import math
from dataclasses import field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.lsq.base import LSQFamily, LSQFeatures, check_features
from protocols.lsq.johnson_lindenstrauss import hadamard_transform, padded_length
from protocols.validation import check_choice, check_generator

__all__ = ["KINDS", "LinearMap"]

Kind = Literal["haar", "hadamard", "signs"]
KINDS: tuple[Kind, ...] = ("haar", "hadamard", "signs")
"""An orthogonal matrix uniform on all of them, a Walsh-Hadamard one after random signs, and independent signs."""


@dataclass(frozen=True)
class LinearMap(LSQFamily):
    """`k(x, y) = x . y` by the single pair f(x) = clip(G x), g(y) = (a D/Q) G y, G a public random matrix.

    G has Q rows of norm 1 and D columns, the dimension; `E[G^T G] = (Q/D) I`, so that `E[(G x) . g(y)] = x . y` at the
    gain a = 1:

    - "haar": rows of an orthogonal matrix that is uniform on all of them. With Q = D it is a rotation: exact.
    - "hadamard": rows of the orthonormal Walsh-Hadamard matrix after random signs, the dimension padded with zeros to a
      power of two D. With Q = D it is exact; with fewer rows it is the fast Johnson-Lindenstrauss map (ailon2009).
    - "signs": entries +-1/sqrt(d), independent.

    With more rows than D, independent rotations stand below each other: the error of rounding to bits is less, and that
    of the bitsums the same, as T^2 grows with Q.

    **Each user clips her own features** to [-R, R]. A random G spreads every point over the coordinates: those of a
    unit vector are about normal of variance 1/D, so that R = 3 / sqrt(D) clips almost nothing, whatever the points are.
    The estimate is then one of `clip(G x) . g(y)`: shrunk a little, which the gain a makes up for.
    `LSQFeatures.clipped_coordinates` counts what is clipped, `KernelDensityProtocol.simulate` reports its fraction, and
    `dpverify.claims.lsq.linear` has the bias.

    Parameters
    ----------
    dimension : int
        d, at least 1.
    kind : {"haar", "hadamard", "signs"}
        The law of G.
    limit : float
        R, in (0, inf): public, and fixed without looking at the users' points.
    rows : int, optional
        Q, at least 1. D when omitted.
    gain : float
        a, in (0, inf): public. `1 / dpverify.claims.lsq.linear.kept_share(R, D)` makes up for clipping, for unit
        vectors on average over G.
    seed : int
        **Public**: it fixes G, which the density is exact for. It must not be a seed of private randomness.
    radius, outside
        See `LSQFamily`.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> family = LinearMap(dimension=2, kind="haar", limit=1.0)
    >>> x, y = np.array([[0.6, 0.8]]), np.array([[0.8, 0.6]])
    >>> print(f"{float(family.kernel(x, y).squeeze()):.3f}")
    0.960
    """

    deterministic: ClassVar[bool] = True

    kind: Kind = "haar"
    limit: float = field(default=1.0, metadata={"within": "(0, inf)"})
    rows: int | None = field(default=None, metadata={"within": "[1, inf)"})
    gain: float = field(default=1.0, metadata={"within": "(0, inf)"})
    seed: int = field(default=0, metadata={"within": "[0, inf)"})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("kind", self.kind, KINDS)

    @property
    def columns(self) -> int:
        """D: the dimension, padded to a power of two for "hadamard"."""
        return padded_length(self.dimension) if self.kind == "hadamard" else self.dimension

    @property
    def Q(self) -> int:  # noqa: D102
        return self.columns if self.rows is None else self.rows

    @property
    def R(self) -> float:  # noqa: D102
        return float(self.limit)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """G, shape (Q, dimension), read-only; what would meet padding is left out."""
        return _matrix(self.kind, self.dimension, self.Q, self.seed)

    @property
    def weight(self) -> float:
        """What g multiplies G y by: a D/Q."""
        return self.gain * self.columns / self.Q

    def _kernel(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(x @ y.T)

    def sample(self, instances: int, rng: np.random.Generator) -> LSQFeatures:
        """Return the pair of `seed`; the generator is not used."""
        check_generator("rng", rng)
        return _Mapped(self, instances)


@functools.lru_cache(maxsize=4)
def _matrix(kind: Kind, dimension: int, rows: int, seed: int) -> NDArray[np.float64]:
    if kind == "haar":
        made = _rotations(dimension, seed).rows(rows)
    else:
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        if kind == "signs":
            made = rng.choice([-1.0, 1.0], (rows, dimension)) / math.sqrt(dimension)
        else:
            columns = padded_length(dimension)
            sizes = [min(columns, rows - start) for start in range(0, rows, columns)]
            made = np.concatenate([_spread(dimension, size, rng) for size in sizes])
    made = np.ascontiguousarray(made)
    made.setflags(write=False)
    return made


class _Rotations:
    """Independent rotations below each other, as many as were asked for: maps of more rows begin with the same ones."""

    def __init__(self, dimension: int, seed: int) -> None:
        self._dimension, self._rng = dimension, np.random.default_rng([seed, KINDS.index("haar")])
        self._made = np.empty((0, dimension))

    def rows(self, number: int) -> NDArray[np.float64]:
        missing = -((len(self._made) - number) // self._dimension)
        if missing > 0:
            more = [_orthogonal(self._dimension, self._rng) for _ in range(missing)]
            self._made = np.concatenate([self._made, *more])
        return self._made[:number]


@functools.lru_cache(maxsize=1)
def _rotations(dimension: int, seed: int) -> _Rotations:
    return _Rotations(dimension, seed)


@functools.lru_cache(maxsize=1)
def _single(family: LinearMap) -> NDArray[np.float32]:
    """Return G / 2R, for simulations in single precision."""
    return (family.matrix / (2.0 * family.R)).astype(np.float32)


def _orthogonal(dimension: int, rng: np.random.Generator) -> NDArray[np.float64]:
    # The sign of the diagonal of the triangular factor makes the orthogonal one uniform (mezzadri2007).
    orthogonal, triangular = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    return np.asarray((orthogonal * np.where(np.diagonal(triangular) < 0.0, -1.0, 1.0)).T)


def _spread(dimension: int, rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    signs, length = rng.choice([-1.0, 1.0], dimension), padded_length(dimension)
    kept = np.sort(rng.choice(length, rows, replace=False))
    return np.asarray(hadamard_transform(np.eye(length)[kept])[:, :dimension] * signs)


@dataclass(frozen=True, eq=False)
class _Mapped(LSQFeatures):
    family: LinearMap

    def _f(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses features that are not finite
            values = x @ self.family.matrix.T
            return np.clip(values, -self.family.R, self.family.R, out=values)

    def chances(self, x: ArrayLike, *, name: str = "x") -> NDArray[Any]:
        points = self.family.accepted(x, name=name, single=True)
        values: NDArray[Any]
        if points.dtype == np.float32:  # in the ball, so that nothing overflows
            values = points @ _single(self.family).T
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                values = points @ self.family.matrix.T
            check_features(name, values)
            values /= 2.0 * self.family.R
        values += 0.5
        return values

    def clipped_among(self, chances: NDArray[Any], x: ArrayLike) -> int:
        return int(np.count_nonzero(chances < 0.0) + np.count_nonzero(chances > 1.0))

    def _g(self, y: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(y @ self.family.matrix.T * self.family.weight)

    def clipped_coordinates(self, x: ArrayLike) -> int:
        return int(np.count_nonzero(np.abs(self.family.accepted(x) @ self.family.matrix.T) > self.family.R))
