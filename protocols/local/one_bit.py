"""The mean of bounded values from one bit per user (wang_lecture9, equation 9.2, after ding2017)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.exact_draws import Entropy, bernoulli, bernoulli_logistic, system_entropy
from protocols.local.means import BoundedMean, check_values

__all__ = ["OneBitMean"]


@dataclass(frozen=True)
class OneBitMean(BoundedMean):
    """Each user reports 1 with probability `1 / (e^eps + 1) + (x / m) (e^eps - 1) / (e^eps + 1)`, else 0.

    Which is her value, rounded at random to 0 or m without bias, by randomized response.

    Parameters
    ----------
    epsilon : float
        Of one report, in [1e-100, 600], in nats.
    largest : float
        m, in [1e-100, 1e100]; public. A value is in [0, m].

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = OneBitMean(epsilon=1.0)
    >>> reports = mechanism.randomize(np.full(100_000, 0.3), np.random.default_rng(7))
    >>> print(f"{mechanism.estimate(reports):.1f}")
    0.3
    """

    @property
    def flip_probability(self) -> float:
        """The probability 1 / (e^eps + 1) that the rounded value is exchanged."""
        return math.exp(-self.epsilon) / (1.0 + math.exp(-self.epsilon))

    @property
    def contrast(self) -> float:
        """The factor (e^eps - 1) / (e^eps + 1) by which the report depends on the value."""
        return math.tanh(0.5 * self.epsilon)

    def chance(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the probability that a user with each value reports 1, in the shape of the values."""
        share = np.asarray(values, dtype=np.float64) / self.largest
        return np.asarray(self.flip_probability + share * self.contrast)

    def _randomize(self, values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        # In two steps: next to 1, the sum of both would lose the small probability of a 0.
        rounded = rng.random(values.size) < values / self.largest
        return (rounded ^ (rng.random(values.size) < self.flip_probability)).astype(np.int64)

    def _check_reports(self, reports: NDArray[Any]) -> NDArray[Any]:
        return check_values("reports", reports, 1, whole=True)

    def debias(self, reports: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        centred = np.asarray(reports, dtype=np.float64) - self.flip_probability
        return np.asarray(self.largest * (centred / self.contrast))

    def report(self, value: Any, entropy: Entropy | None = None) -> int:  # noqa: D102
        entropy = system_entropy() if entropy is None else entropy
        share = Fraction(float(self.check([value])[0])) / Fraction(self.largest)
        return int(bernoulli(share, entropy) ^ bernoulli_logistic(Fraction(self.epsilon), entropy))
