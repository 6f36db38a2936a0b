"""What each user does to her own point: public scales, into the unit ball, and the conventions of bandwidths.

A scale that is learned from the points, as by `sklearn.preprocessing.StandardScaler`, is not private, and neither is a
grid search over bandwidths. What is done here uses public numbers alone: every user can do it by herself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.shown import Plain
from protocols.classes.frozen import dataclass
from protocols.lsq.base import check_length
from protocols.validation import check_choice, check_real, check_vectors

__all__ = [
    "PublicScale",
    "Scale",
    "bandwidth_from_gamma",
    "default_bandwidth",
    "gamma_from_bandwidth",
]

Scale = Literal["unit"] | float | tuple[ArrayLike, ArrayLike]
"""What `PublicScale.of` takes."""
_GAMMA_KERNELS = ("gaussian", "laplacian")
_GAUSSIAN = {"unit": 0.85, "ball": 0.4, "box": 0.4}
"""Directions spread over a sphere, of diameter 2, where coordinates within their bounds mostly stay near the middle."""
_OF_A_DISTANCE = 0.42
"""Kernels of a distance, not of its square, have heavier tails, and matter less which width they have."""


@dataclass(frozen=True)
class PublicScale(Plain):
    """A public map into the unit ball.

    - kind ({"unit", "ball", "box"}): Each point is divided by its norm; or cut to norm `radius`, and divided by it; or
      each coordinate is cut to [low, high] and moved to [-1, 1] / sqrt(d).
    - radius: Of the ball.
    - low, high: Bounds of the box, one for all coordinates or one for each.
    """

    kind: Literal["unit", "ball", "box"]
    radius: float = 1.0
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    @classmethod
    def of(cls, value: Any) -> PublicScale:
        """Return what an argument `public_scale` means.

        - value ("unit", float or (low, high)): A number is the radius of a ball; low and high are numbers or have one
          for each coordinate.

        Raises TypeError or ValueError if it is none of these, or a bound is not below the other.
        """
        if isinstance(value, str):
            return cls(check_choice("public_scale", value, ("unit",)))
        if isinstance(value, (Sequence, np.ndarray)):
            if len(value) != 2:
                raise ValueError(f"public_scale={value!r} must be 'unit', a radius, or two bounds (low, high).")
            low, high = _bounds("low", value[0]), _bounds("high", value[1])
            if 1 not in (low.size, high.size) and low.size != high.size:
                raise ValueError(
                    f"public_scale has {low.size} low and {high.size} high bounds, but must have one of each, or "
                    "one for each coordinate."
                )
            low, high = np.broadcast_arrays(low, high)
            if not (low < high).all():
                worst = int(np.argmin(low < high))
                raise ValueError(
                    f"public_scale has low={low[worst]:g} and high={high[worst]:g}, but low must be below high."
                )
            return cls("box", 1.0, tuple(low.tolist()), tuple(high.tolist()))
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"public_scale={value!r} must be 'unit', a radius, or two bounds (low, high).")
        return cls("ball", check_length("public_scale", value))

    def __call__(self, X: ArrayLike, *, name: str = "X", single: bool = False) -> NDArray[Any]:
        """Return the points as users take part with them, of norm 1 at most up to rounding; a zero vector stays.

        They are float64; with `single`, which is for simulations, directions of points in float32 are float32.

        Raises ValueError for another shape, a nan or an infinity, or bounds of another number of coordinates.
        """
        points = check_vectors(name, X, single=single and self.kind == "unit")
        if self.kind == "box":
            return self._boxed(points)
        if self.kind == "unit":
            return _directions(points)
        with np.errstate(over="ignore"):
            far = np.linalg.norm(points, axis=1) > self.radius
        inside = points / self.radius
        inside[far] = _directions(points[far])
        return inside

    def _boxed(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = np.array(self.low), np.array(self.high)
        dimension = points.shape[1]
        if len(low) not in (1, dimension):
            raise ValueError(f"public_scale has {len(low)} bounds, but must have one, or the {dimension} of X.")
        half, middle = high / 2.0 - low / 2.0, high / 2.0 + low / 2.0
        return np.asarray((np.clip(points, low, high) - middle) / (half * math.sqrt(dimension)))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PublicScale:
        """Return the scale of `to_dict`."""
        if values["kind"] == "box":
            return cls.of((values["low"], values["high"]))
        return cls.of("unit" if values["kind"] == "unit" else values["radius"])


def _directions(points: NDArray[Any]) -> NDArray[Any]:
    """Return vectors of norm 1, or 0: divided by their largest entry first, so that no square leaves the floats."""
    if points.dtype == np.float32:
        norms = np.sqrt(np.einsum("ij,ij->i", points, points))
        if ((norms > 1e-15) & (norms < 1e15)).all():  # no square has left the floats
            return np.asarray(points / norms[:, np.newaxis])
        return _directions(points.astype(np.float64)).astype(np.float32)
    largest = np.abs(points).max(axis=1, initial=0.0, keepdims=True)
    scaled = points / np.where(largest == 0.0, 1.0, largest)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(norms == 0.0, 1.0, norms))


def _bounds(name: str, value: Any) -> NDArray[np.float64]:
    try:
        bounds = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        bounds = np.empty(0)
    if bounds.ndim != 1 or not np.isfinite(bounds).all() or np.abs(bounds).max(initial=0.0) > 1e100 or not bounds.size:
        raise ValueError(f"public_scale has {name}={value!r}, but must have finite numbers of size 1e100 at most.")
    return bounds


def default_bandwidth(kernel: str, scale: PublicScale, dimension: int) -> float | None:
    """Return the public bandwidth that is taken when none is given, in units of the unit ball; None where none is used.

    It is wide enough that densities stand out against the kernel's own error at 1,024 features, about .03. The
    Laplacian kernel's distance is a sum over coordinates, as a rule sqrt(d) times the Euclidean one, which its
    bandwidth makes up for.
    """
    if kernel == "inner-product":
        return None
    if kernel == "gaussian":
        return _GAUSSIAN[scale.kind]
    return _OF_A_DISTANCE * (math.sqrt(dimension) if kernel == "laplacian" else 1.0)


def gamma_from_bandwidth(bandwidth: float, kernel: str) -> float:
    """Return scikit-learn's gamma of a bandwidth h: 1/h^2 for the Gaussian kernel, 1/h for the Laplacian.

    Parameters
    ----------
    bandwidth : float
        h, positive: kernels are exp(-|x - y|^2 / h^2), exp(-|x - y|_1 / h) and, which has no gamma there,
        exp(-|x - y| / h).
    kernel : {"gaussian", "laplacian"}
        As `sklearn.metrics.pairwise.rbf_kernel` and `laplacian_kernel`, of points in the same units.

    Returns
    -------
    float
        Gamma, in 1 over the units of the kernel's distance.

    Raises
    ------
    ValueError
        If an argument is out of range, or gamma is beyond floats.

    Examples
    --------
    >>> gamma_from_bandwidth(0.5, "gaussian")
    4.0
    """
    width = check_real("bandwidth", bandwidth, low=0.0, low_open=True)
    power = 2 if check_choice("kernel", kernel, _GAMMA_KERNELS) == "gaussian" else 1
    return _positive("gamma", (1.0 / width) ** power if width >= 1e-150 else math.inf, f"bandwidth={bandwidth!r}")


def bandwidth_from_gamma(gamma: float, kernel: str) -> float:
    """Return the bandwidth of scikit-learn's gamma: the inverse of `gamma_from_bandwidth`.

    Parameters
    ----------
    gamma : float
        Positive.
    kernel : {"gaussian", "laplacian"}
        As there.

    Returns
    -------
    float
        The bandwidth, in the units of the points.

    Raises
    ------
    ValueError
        If an argument is out of range, or the bandwidth is beyond floats.

    Examples
    --------
    >>> bandwidth_from_gamma(4.0, "gaussian")
    0.5
    """
    value = check_real("gamma", gamma, low=0.0, low_open=True)
    power = 0.5 if check_choice("kernel", kernel, _GAMMA_KERNELS) == "gaussian" else 1.0
    return _positive("bandwidth", value**-power if value >= 1e-300 else math.inf, f"gamma={gamma!r}")


def _positive(name: str, value: float, given: str) -> float:
    if not 0.0 < value < math.inf:
        raise ValueError(f"{given} has a {name} beyond the floats; it must be in [1e-150, 1e150].")
    return value
