"""What is said of a mechanism whose law is not known: a verdict, and figures that hold together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpverify.audit.outcome import AuditReport
from dpverify.statistics.family import Verdict

__all__ = ["MechanismReport"]


@dataclass(frozen=True)
class MechanismReport(AuditReport):
    """The report of `audit_mechanism`. Its figures hold together with the stated confidence.

    Parameters
    ----------
    delta : float
        At which epsilon is stated.
    epsilon_lower : float
        A lower bound of the mechanism's epsilon at delta.
    epsilon_upper : float
        No event that was tried shows more, but for those rarer than `least_mass`; inf where all are. Of events that
        were not tried nothing is known: this is no upper bound for the mechanism.
    least_mass : float
        See above.
    mu_lower : float
        A lower bound of mu, of Gaussian differential privacy.
    renyi_lower : mapping of float to float
        Lower bounds of the Renyi divergence, by order.
    confidence : float
        Of all these figures and of the band, together.
    tradeoff : tuple of mapping
        The band of the pair of inputs that shows most: see `dpverify.statistics.tradeoff_band.TradeoffBand.rows`.
    """

    delta: float = 0.0
    epsilon_lower: float = 0.0
    epsilon_upper: float = math.inf
    least_mass: float = 1.0
    mu_lower: float = 0.0
    renyi_lower: Mapping[float, float] = field(default_factory=dict)
    confidence: float = 0.0
    tradeoff: tuple[Mapping[str, float], ...] = ()

    @property
    def statement(self) -> str:
        """The verdict in a sentence, with what a pass is worth."""
        if self.verdict is Verdict.VIOLATES:
            return super().statement
        most = (
            "no event was frequent enough to show more"
            if math.isinf(self.epsilon_upper)
            else (f"no event tried shows more than epsilon {self.epsilon_upper:.4g}")
        )
        least = f"some shows at least {self.epsilon_lower:.4g}" if self.epsilon_lower > 0 else "none shows any"
        figures = f"{most} at delta {self.delta:.3g}, {least} (confidence {self.confidence:.4g})"
        if self.verdict is Verdict.CONSISTENT:
            return f"Consistent: {figures}. Events rarer than {self.least_mass:.2g}, or not tried, may show more."
        if self.claim is None:
            return f"Undecided: nothing is claimed; {figures}."
        return f"Undecided: {figures}, which does not exclude the fault that was asked for with {self.trials:,} trials."

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values; an epsilon for which there is no finite bound is the word `inf`."""
        return {
            **super().to_dict(),
            "delta": self.delta,
            "epsilon_lower": self.epsilon_lower,
            "epsilon_upper_of_events_tried": "inf" if math.isinf(self.epsilon_upper) else self.epsilon_upper,
            "least_mass": self.least_mass,
            "mu_lower": self.mu_lower,
            "renyi_lower": {f"{order:g}": value for order, value in self.renyi_lower.items()},
            "confidence": self.confidence,
            "tradeoff": [dict(row) for row in self.tradeoff],
        }
