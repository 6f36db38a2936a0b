"""What is said of a mechanism whose law is not known: a verdict, and figures that hold together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from dpverify.audit.inside.findings import Finding
from dpverify.audit.outcome import AuditReport
from dpverify.digits import rounded_down, rounded_up, typed, unrounded
from dpverify.statistics.family import Verdict
from protocols.classes.frozen import dataclass

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
        No event that was tried shows more at delta, if it is likelier than `least_mass`; inf where nothing is
        excluded. Of events that were not tried nothing is known: this is no upper bound for the mechanism.
    delta_upper : float
        No event that was tried, however rare, shows more at the claimed epsilon; 1 where nothing is claimed.
    least_mass : float
        See above; 0 where all events count, as with delta > 0.
    rarest : float
        About the least probability of an outcome of one input alone that would have been found with power 0.95; 1 where
        none would.
    mu_lower : float
        A lower bound of mu, of Gaussian differential privacy.
    renyi_lower : mapping of float to float
        Lower bounds of the Renyi divergence, by order.
    unit : str
        What a claim other than (epsilon, delta) is told in, such as mu; empty else.
    shown_lower, shown_upper : float
        In that unit: the mechanism has at least the one, and no event that was tried shows more than the other, if it
        is likelier than `least_mass`.
    confidence : float
        Of all these figures and of the band, together.
    trials_needed : float
        About how many trials would refute or pass the claim, if events went on as they were seen: an estimate. 0 where
        these do, or nothing is claimed, and inf where no number seems to, as at a truth just beyond the claim.
    tradeoff : tuple of mapping
        Of the pair of inputs that shows most: see `dpverify.statistics.bounds.tradeoff_band.TradeoffBand.rows`.
    findings : tuple of Finding
        Of a look inside, if it was asked for.
    """

    plain_as: ClassVar[str] = (
        f"{AuditReport.plain_as} delta epsilon_lower epsilon_upper_of_events_tried=epsilon_upper "
        "delta_upper_of_events_tried=delta_upper least_mass rarest mu_lower renyi_lower unit shown_lower "
        "shown_upper_of_events_tried=shown_upper confidence trials_needed tradeoff findings"
    )

    delta: float = 0.0
    epsilon_lower: float = 0.0
    epsilon_upper: float = math.inf
    delta_upper: float = 1.0
    least_mass: float = 1.0
    rarest: float = 1.0
    mu_lower: float = 0.0
    renyi_lower: Mapping[float, float] = field(default_factory=dict)
    unit: str = ""
    shown_lower: float = 0.0
    shown_upper: float = math.inf
    confidence: float = 0.0
    trials_needed: float = 0.0
    tradeoff: tuple[Mapping[str, float], ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def statement(self) -> str:
        """The verdict in a sentence, with what a pass is worth."""
        if self.verdict is Verdict.VIOLATES:
            return super().statement
        excluded = []
        if self.shown_upper < math.inf:
            excluded.append(f"{self.unit} {rounded_up(self.shown_upper, 4)}")
        if self.epsilon_upper < math.inf:
            excluded.append(f"epsilon {rounded_up(self.epsilon_upper, 4)} at delta {typed(self.delta)}")
        likely = f" likelier than {rounded_up(self.least_mass, 2)}" if excluded and self.least_mass > 0 else ""
        most = [f"no event tried{likely} shows more than {', or '.join(excluded)}"] if excluded else []
        if self.claim is not None and self.delta_upper < 1.0:
            most.append(
                f"{'none' if excluded else 'no event tried shows'} more than delta {rounded_up(self.delta_upper, 3)} "
                f"at epsilon {unrounded(self.claim['epsilon'])}"
            )
        lower, least = self.epsilon_lower, f"epsilon {{}} at delta {typed(self.delta)}"
        if self.unit:
            lower, least = self.shown_lower, f"{self.unit} {{}}"
        shows = f"some shows at least {least.format(rounded_down(lower, 4))}" if lower > 0 else "none shows any"
        figures = f"{', and '.join(most) or 'nothing is excluded'}; {shows} (confidence {self.confidence:.4g})"
        others = " Events not tried may show more." if most else ""
        if self.rarest < 1.0:
            shown = f"were its probability about {self.rarest:.2g} or more"
            others = f" An outcome of one input alone would have shown, {shown}.{others}"
        if self.verdict is Verdict.CONSISTENT:
            return f"Consistent: {figures}.{others}"
        if self.claim is None:
            return f"Undecided: nothing is claimed; {figures}.{others}"
        # Few trials may exclude the fault on the events that count, and pass nothing: see `decisive`.
        few = f"Undecided: {figures}, which is too little for a pass, with {self.trials:,} trials"
        return f"{few}{self._more}.{others}"

    @property
    def _more(self) -> str:
        """How many more trials would decide, in words."""
        if self.trials_needed <= self.trials:
            return ""
        if math.isinf(self.trials_needed):
            return "; by an estimate no number of them would decide"
        return f"; by an estimate {float(rounded_up(self.trials_needed - self.trials, 2)):,.0f} more would decide"
