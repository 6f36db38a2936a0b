"""Correlated sampling: those who share randomness draw the same from similar laws (ghazi2021, Theorem 8)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.validation import check_generator, check_integer

__all__ = ["CorrelatedSampler"]


@dataclass(frozen=True, eq=False)
class CorrelatedSampler:
    """A race of exponential clocks: the outcome w whose `clock_w / P(w)` is least is drawn from P.

    For every P the outcome has the law P, over the public clocks, of which `gumbels` holds `-ln`. Two who share them
    and hold P and Q get different outcomes with probability at most `2 d / (1 + d)`, d their total variation distance.
    """

    gumbels: NDArray[np.float64]

    @classmethod
    def drawn(cls, outcomes: int, rng: np.random.Generator) -> CorrelatedSampler:
        """Return a sampler with fresh clocks, from the public generator."""
        check_integer("outcomes", outcomes, low=1)
        return cls(check_generator("rng", rng).gumbel(size=outcomes))

    def sample(self, weights: ArrayLike) -> NDArray[np.int64]:
        """Return the outcome, shape (...), for laws given by their probabilities, or a multiple, shape (..., outcomes).

        ValueError for another shape, a weight that is negative or not finite, or a row of zeros.
        """
        array = self._rows("weights", weights)
        bad = ~np.isfinite(array) | (array < 0.0)
        if bad.any():
            raise ValueError(f"weights contains {array[bad][0]}, but must hold finite numbers in [0, inf).")
        if not array.any(axis=-1).all():
            raise ValueError("weights has a row of zeros, but must have a positive number in each.")
        with np.errstate(divide="ignore"):
            return self.sample_logs(np.log(array))

    def sample_logs(self, log_weights: ArrayLike) -> NDArray[np.int64]:
        """Return the outcome for laws given by the logarithms of their weights; -inf is the logarithm of 0.

        ValueError for another shape, a nan or inf, or a row of -inf.
        """
        array = self._rows("log_weights", log_weights)
        bad = np.isnan(array) | (array == np.inf)
        if bad.any() or not np.isfinite(array).any(axis=-1).all():
            raise ValueError("log_weights must hold numbers in [-inf, inf), with a finite one in each row.")
        return np.asarray(np.argmax(array + self.gumbels, axis=-1), dtype=np.int64)

    def _rows(self, name: str, value: ArrayLike) -> NDArray[np.float64]:
        array = np.asarray(value, dtype=np.float64)
        if array.ndim == 0 or array.shape[-1] != self.gumbels.size:
            raise ValueError(f"{name} has shape {array.shape}, but must have shape (..., {self.gumbels.size}).")
        return array
