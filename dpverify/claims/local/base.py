"""What a local mechanism's twin states: the law of one user's report for every input, and what follows from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpverify.changes import Change
from dpverify.claims.base import Families, MechanismClaims
from dpverify.guarantee import Interval, PrivacyCurve, ThreatModel
from dpverify.laws.continuous import ContinuousLaw
from dpverify.laws.discrete import DiscreteLaw
from dpverify.privacy_loss.composing.bounds import BestCurve, LargestLossCurve
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

__all__ = ["LocalClaims", "ReportMatrix"]

P = TypeVar("P")


_MOST_ON_STEPS = 2**17
"""Instances up to which a grid of the losses' own step is small."""


@dataclass(frozen=True, eq=False)
class ReportMatrix:
    """The laws of one report given the extreme inputs: the law given any other input is a mixture of these.

    So a divergence of two inputs' reports, or of the shuffled reports of two datasets, is largest at extreme inputs.

    - points (ndarray, shape (reports,)): The reports, in increasing order.
    - matrix (ndarray of float64, shape (inputs, reports)): The probability of every report given every extreme input.
    - relative_error: Bound on `|listed / true - 1|` for every entry.
    - outside: Bound on the probability, given any input, of the reports that are not listed; 0 if there are none.
    """

    points: NDArray[Any]
    matrix: NDArray[np.float64]
    relative_error: float
    outside: float = 0.0

    def __post_init__(self) -> None:
        if self.points.ndim != 1 or self.matrix.ndim != 2 or self.matrix.shape[1] != self.points.size:
            raise ValueError(
                f"points and matrix have shapes {self.points.shape}, {self.matrix.shape}, but must be (reports,) and "
                "(inputs, reports)."
            )
        for name in ("relative_error", "outside"):
            check_real(name, getattr(self, name), low=0.0)
        slack = self.relative_error + 1e-9
        totals = self.matrix.sum(axis=1)
        laws = (totals <= 1.0 + slack).all() and (totals >= 1.0 - self.outside - slack).all()
        if not ((self.matrix >= 0.0).all() and laws):
            raise ValueError("matrix must hold probabilities, and each of its rows must sum to 1.")


class LocalClaims(MechanismClaims[P]):
    """The twin of a mechanism with `randomize(inputs, rng)`, shape (users,), whose reports are seen by everyone."""

    threat_models = (ThreatModel.LOCAL,)
    audited_as = "dpverify.audit.subjects.mechanisms:local_subject"
    pure = True

    @abstractmethod
    def inputs(self, protocol: P) -> Sequence[Any]:
        """Return two neighbouring inputs or more, of which the first two attain the largest privacy loss."""

    @abstractmethod
    def report_law(self, protocol: P, value: Any) -> DiscreteLaw:
        """Return the exact law of a user's `readable` report given her input."""

    def readable(self, protocol: P, reports: NDArray[Any]) -> NDArray[Any]:
        """Return what of reports an audit reads: themselves, or where they have a density the cells they fall in."""
        return reports

    def report_matrix(self, protocol: P) -> ReportMatrix:
        """Return the laws of a report given the extreme inputs.

        Raises TypeError if reports are no integers: then `report_density` has their law.
        """
        raise TypeError(f"protocol={protocol!r} has no listed reports: {self.name} has a law with a density.")

    def report_density(self, protocol: P, value: Any) -> ContinuousLaw:
        """Return the law of a report given an input, where it has a density.

        Raises TypeError if reports are discrete: then `report_matrix` has their laws.
        """
        raise TypeError(f"protocol={protocol!r} has no density: the reports of {self.name} are listed.")

    @abstractmethod
    def pairs(self, protocol: P) -> Sequence[PrivacyLossDistribution]:
        """Return pairs of reports that some inputs attain and that together dominate those of all inputs."""

    @abstractmethod
    def pure_epsilon(self, protocol: P, threat_model: ThreatModel) -> Interval:
        """Return the largest privacy loss of one report over all inputs."""

    def loss_step(self, protocol: P) -> float | None:
        """Return what all losses are multiples of, or None where that is unknown: on its grid nothing is rounded."""
        return None

    def families(self, protocol: P, threat_model: ThreatModel, tail: float, *, loose: bool = False) -> Families:
        pairs = self.pairs(protocol)
        return ((pairs, pairs),)

    def curve(self, protocol: P, changes: Change, threat_model: ThreatModel, **accuracy: float) -> PrivacyCurve:
        """Return the privacy curve of so many independent reports on the same input."""
        instances = self.in_full(changes)

        def composed() -> PrivacyCurve:
            ((every, attained),) = self.families(protocol, threat_model, 0.0)
            step = self.loss_step(protocol) if instances <= _MOST_ON_STEPS else None
            return FamilyComposition(every, instances, attained=attained, step=step, **accuracy)

        return BestCurve(LargestLossCurve(self.pure_epsilon(protocol, threat_model), changes), composed)
