"""Samples counted as they come: how often each outcome of a law occurs, and the samples' mean and spread."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.laws.discrete import DiscreteLaw

__all__ = ["Tally"]


class Tally:
    """How often each outcome of a law has occurred: all that tests of single outputs look at, however many there are.

    The last of the counts, shape (atoms + 1,), is that of the outcomes that are not listed.
    """

    def __init__(self, law: DiscreteLaw) -> None:
        self.law = law
        self.counts: NDArray[np.int64] = np.zeros(law.atoms + 1, dtype=np.int64)
        # About the law's mean, where sums of squares lose no digits.
        self._centre = law.mean if law.points.ndim == 1 else math.nan
        self._sum = self._squares = 0.0

    @classmethod
    def of(cls, law: DiscreteLaw, samples: ArrayLike | Tally) -> Tally:
        """Return samples counted; those that are counted already as they are, or ValueError if by another law."""
        if isinstance(samples, Tally):
            if samples.law is not law:
                raise ValueError("samples have been counted by another law than law, but must be by the same.")
            return samples
        tally = cls(law)
        tally.update(samples)
        return tally

    def update(self, samples: ArrayLike) -> None:
        """Count more samples, shape (trials,) or (trials, coordinates)."""
        values = np.asarray(samples)
        self.counts += self.law.counts(values)
        if values.ndim == 1:
            off = values - self._centre
            self._sum += float(off.sum())
            self._squares += float(off @ off)

    @property
    def trials(self) -> int:
        """How many samples there were."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Of all samples, listed or not; only of numbers."""
        return self._centre + self._sum / self.trials

    @property
    def deviation(self) -> float:
        """The standard deviation of all samples, listed or not; only of numbers."""
        return math.sqrt(max(0.0, self._squares / self.trials - (self._sum / self.trials) ** 2))
