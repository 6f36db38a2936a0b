"""What the twin of a trusted curator's mechanism states: the law of its output on every dataset."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from numpy.typing import NDArray

from dpverify.claims.base import MechanismClaims
from dpverify.guarantee import ThreatModel
from dpverify.laws.discrete import DiscreteLaw

__all__ = ["CentralClaims"]

P = TypeVar("P")


class CentralClaims(MechanismClaims[P]):
    """The twin of a mechanism with `run(inputs, rng)`, inputs of shape (users,), of which only the output is seen."""

    threat_models = (ThreatModel.CENTRAL,)
    audited_as = "dpverify.audit.subjects.mechanisms:central_subject"

    @abstractmethod
    def neighbours(self, protocol: P) -> Sequence[tuple[NDArray[Any], NDArray[Any]]]:
        """Return pairs of datasets that differ in one user's input, of which the first attains the largest loss."""

    @abstractmethod
    def output_law(self, protocol: P, inputs: NDArray[Any]) -> DiscreteLaw:
        """Return the exact law of the output on a dataset."""
