"""Any family's features, drawn once, with each user's scaled to a public norm."""

from __future__ import annotations

import functools
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.lsq.base import LENGTHS, LSQFamily, LSQFeatures, Outside
from protocols.validation import check_generator, check_integer

__all__ = ["ScaledFeatures"]


@dataclass(frozen=True)
class ScaledFeatures(LSQFamily):
    """The kernel of `base` by I of its pairs as one: f(x) is scaled to a norm of at most C, g(y) is theirs over I.

    Replacing a point then changes f by 2C at most, whatever the base's features are. Users whose features are longer
    count for less: the estimate is biased where that happens, as it is by clipping.

    Parameters
    ----------
    base : LSQFamily
        Where the pairs come from; its points are ours.
    instances : int
        I, at least 1; exactly 1 for a deterministic base.
    norm : float
        C, in [1e-100, 1e100]: public, and fixed without looking at the users' points.
    seed : int
        **Public**: it fixes the pairs, which the density is exact for. It must not be a seed of private randomness.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from protocols.lsq import GaussianFeatures
    >>> family = ScaledFeatures(GaussianFeatures(dimension=2), instances=4, norm=1.0)
    >>> x, y = np.array([[0.6, 0.8]]), np.array([[0.8, 0.6]])
    >>> print(f"{float(family.kernel(x, y).squeeze()):.3f}")
    0.923
    """

    deterministic: ClassVar[bool] = True

    dimension: int = field(init=False, repr=False)
    radius: float | None = field(init=False, repr=False)
    outside: Outside = field(init=False, repr=False)
    base: LSQFamily
    instances: int
    norm: float = field(metadata={"within": LENGTHS})
    seed: int = field(default=0, metadata={"within": "[0, inf)"})

    def __post_init__(self) -> None:
        if not isinstance(self.base, LSQFamily):
            raise TypeError(f"base={self.base!r} must be an LSQFamily.")
        for name in ("dimension", "radius", "outside"):
            object.__setattr__(self, name, getattr(self.base, name))
        super().__post_init__()
        check_integer("instances", self.instances, low=1, high=1 if self.base.deterministic else None)

    @property
    def requires_unit_vectors(self) -> bool:  # type: ignore[override]
        """Whether the base needs points of norm 1."""
        return self.base.requires_unit_vectors

    @property
    def beta(self) -> float:
        """That of the base; what scaling adds is not counted."""
        return self.base.beta

    @property
    def Q(self) -> int:  # noqa: D102
        return self.instances * self.base.Q

    @property
    def R(self) -> float:  # noqa: D102
        return min(self.base.R, float(self.norm))

    @property
    def S(self) -> int:  # noqa: D102
        return self.instances * self.base.S

    @property
    def drawn(self) -> LSQFeatures:
        """The base's public pairs."""
        return _drawn(self.base, self.instances, self.seed)

    def accepted(self, x: ArrayLike, *, name: str = "x", single: bool = False) -> NDArray[Any]:  # noqa: D102
        return self.base.accepted(x, name=name, single=single)

    def _kernel(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.base._kernel(x, y)

    def sample(self, instances: int, rng: np.random.Generator) -> LSQFeatures:
        """Return the pair of `seed`; the generator is not used."""
        check_generator("rng", rng)
        return _Scaled(self, instances)


@functools.lru_cache(maxsize=4)
def _drawn(base: LSQFamily, instances: int, seed: int) -> LSQFeatures:
    return base.sample(instances, np.random.default_rng(seed))


@dataclass(frozen=True, eq=False)
class _Scaled(LSQFeatures):
    family: ScaledFeatures

    @property
    def bytes_per_point(self) -> int:
        return self.family.drawn.bytes_per_point + 34 * self.coordinates

    def _f(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        family = self.family
        values, norms = self._unscaled(x, name)
        values *= (family.norm / np.maximum(norms, family.norm))[:, np.newaxis]
        return np.clip(values, -family.R, family.R, out=values)  # an ulp at most

    def _unscaled(self, x: NDArray[np.float64], name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the base's features, shape (points, Q), and their norms, shape (points,)."""
        values = self.family.drawn.f(x, name=name).reshape(len(x), self.family.Q)
        with np.errstate(over="ignore"):
            norms = np.linalg.norm(values, axis=1)
        if not np.isfinite(norms).all():
            row = int(np.argmin(np.isfinite(norms)))
            raise ValueError(f"{name}[{row}] is so large that the norm of its features overflows; it must be finite.")
        return values, norms

    def _g(self, y: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return self.family.drawn.g(y, name=name).reshape(len(y), self.family.Q) / self.family.instances

    def clipped_coordinates(self, x: ArrayLike) -> int:
        """Return the coordinates of the users whose features are scaled, and what the base itself clips of others."""
        points = self.family.accepted(x)
        scaled = self._unscaled(points, "x")[1] > self.family.norm
        kept = points[~scaled]
        return int(scaled.sum()) * self.coordinates + (self.family.drawn.clipped_coordinates(kept) if len(kept) else 0)
