"""The mean of bounded values with Laplace noise from every user (wang_lecture9, section 9.1), continuous and discrete.

The continuous one is a simulation only: the floats near x + noise are not the same for every x, so that the last bits
of a report tell inputs apart that the real numbers would not (mironov2012). A real client rounds first, and adds
discrete noise: `DiscreteLaplaceMean`.
"""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.exact_draws import Entropy, bernoulli, discrete_laplace, system_entropy
from protocols.local.means import BoundedMean

__all__ = ["DiscreteLaplaceMean", "LaplaceMean"]

_LEAST_DECAY = 1e-12


@dataclass(frozen=True)
class LaplaceMean(BoundedMean):
    """Each user reports her value plus Laplace noise of scale m / eps: for experiments, in floating point.

    Parameters
    ----------
    epsilon : float
        Of one report in real numbers, in [1e-100, 600], in nats.
    largest : float
        m, in [1e-100, 1e100]; public. A value is in [0, m].

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = LaplaceMean(epsilon=1.0)
    >>> reports = mechanism.randomize(np.full(100_000, 0.3), np.random.default_rng(7))
    >>> print(f"{mechanism.estimate(reports):.1f}")
    0.3
    """

    @property
    def scale(self) -> float:
        """The scale m / eps of the noise; its standard deviation is that times sqrt(2)."""
        return self.largest / self.epsilon

    def _randomize(self, values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        return np.asarray(values + rng.laplace(0.0, self.scale, values.size))

    def debias(self, reports: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        return np.asarray(reports, dtype=np.float64)

    def report(self, value: Any, entropy: Entropy | None = None) -> int:
        """Raise TypeError: continuous noise has no exact draw, and in floats it leaks; see `DiscreteLaplaceMean`."""
        raise TypeError("LaplaceMean has no exact report: a client must send one of DiscreteLaplaceMean.")


@dataclass(frozen=True)
class DiscreteLaplaceMean(BoundedMean):
    """Each user rounds her value at random to a grid of [0, m], without bias, and adds discrete Laplace noise.

    A report counts steps of m / s. It is the value's step plus Z, `P(Z = z)` proportional to `e^(-eps |z| / s)`.

    Parameters
    ----------
    epsilon : float
        Of one report, in [1e-100, 600], in nats.
    largest : float
        m, in [1e-100, 1e100]; public. A value is in [0, m].
    steps : int
        s, in [1, 2^20]: how many steps the grid divides [0, m] into. With more the law is nearer to `LaplaceMean`'s.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range, and for more noise than the integers that floats hold.

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = DiscreteLaplaceMean(epsilon=1.0, steps=10)
    >>> reports = mechanism.randomize(np.full(100_000, 0.3), np.random.default_rng(7))
    >>> print(f"{mechanism.estimate(reports):.1f}")
    0.3
    """

    steps: int = field(
        default=16, metadata={"within": "[1, 1048576]", "help": "s, the steps of the grid on [0, m], in {}."}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.decay < _LEAST_DECAY:
            raise ValueError(
                f"epsilon={self.epsilon!r} must be at least {_LEAST_DECAY:g} for each of the steps={self.steps}: "
                "larger noise leaves the integers that floats hold."
            )

    @property
    def decay(self) -> float:
        """The exponent eps / s by which the noise's probabilities fall from one integer to the next."""
        return self.epsilon / self.steps

    def position(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return where on the grid values lie, in steps, in their shape."""
        return np.asarray(np.asarray(values, dtype=np.float64) / self.largest * self.steps)

    def _randomize(self, values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        position = self.position(values)
        below = np.floor(position)
        rounded = below + (rng.random(values.size) < position - below)
        success = -math.expm1(-self.decay)
        noise = rng.geometric(success, values.size) - rng.geometric(success, values.size)
        return np.asarray(rounded.astype(np.int64) + noise)

    def debias(self, reports: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        return np.asarray(np.asarray(reports, dtype=np.float64) * (self.largest / self.steps))

    def report(self, value: Any, entropy: Entropy | None = None) -> int:  # noqa: D102
        entropy = system_entropy() if entropy is None else entropy
        position = Fraction(float(self.check([value])[0])) / Fraction(self.largest) * self.steps
        below = math.floor(position)
        rounded = below + bernoulli(position - below, entropy)
        return rounded + discrete_laplace(Fraction(self.epsilon) / self.steps, entropy)
