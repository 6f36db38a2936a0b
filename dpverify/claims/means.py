"""What the twin of every estimator of a mean states: the exact law of the estimate on given users' values."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.claims.base import MechanismClaims
from dpverify.laws.discrete import DiscreteLaw

__all__ = ["MeanClaims"]

P = TypeVar("P")


class MeanClaims(MechanismClaims[P]):
    """The twin of a protocol with `run(values, rng)`, an unbiased estimate of the mean of values in [0, most]."""

    audited_as = "dpverify.audit.subjects.mechanisms:mean_subject"

    @abstractmethod
    def most(self, protocol: P) -> float:
        """Return the largest value that a user may hold."""

    @abstractmethod
    def estimate_law(self, protocol: P, values: ArrayLike) -> DiscreteLaw:
        """Return the exact law of the `readable_estimate` on these users' values, shape (users,).

        Raises TypeError if no law of many users is known here.
        """

    def readable_estimate(self, protocol: P, estimates: NDArray[Any]) -> NDArray[Any]:
        """Return what of estimates an audit reads: themselves, or where they have a density the cells they fall in."""
        return np.asarray(estimates)
