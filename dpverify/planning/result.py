"""What a protocol's composition really gives, and the view that it is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dpverify.changes import Change
from dpverify.claims.base import MechanismClaims
from dpverify.claims.registry import mechanism_claims_of
from dpverify.digits import unrounded
from dpverify.guarantee import Guarantee, Interval, Number, PrivacyCurve, ThreatModel
from dpverify.planning.answers import honest_users, within_limits
from dpverify.privacy_loss.composing.bounds import BetweenCurves
from dpverify.shown import Drawn
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

if TYPE_CHECKING:
    from dpverify.planning.risks.meaning import Meaning

__all__ = ["AccountResult", "HonestView", "checked_honest"]

_PROFILE_WIDTH = 1e-3
"""What the eye can tell from a figure."""


@dataclass(frozen=True)
class AccountResult(Drawn):
    """What a protocol's composition really gives.

    - name: The protocol's name.
    - parameters: Its parameters by argument name.
    - change: How many instances the same user takes part in, and what her replacement changes in them.
    - epsilon, delta: The privacy curve's point: one is the value that was asked at, the other contains the truth.
    - guarantee: The upper ends, as an (epsilon, delta)-DP statement.
    - asked ({"epsilon", "delta"}): Which of both was given.
    - at: The number that was given, exactly.
    - notes: How the supremum over datasets was taken.
    - honest: How many users follow the protocol, at least; None for all of them.
    """

    table_by: ClassVar[str] = "dpverify.report.tables:account_table"
    figure_by: ClassVar[str] = "dpverify.report.plots:account_profile"
    plain_as: ClassVar[str] = "protocol=name users honest instances change parameters epsilon delta guarantee notes"

    name: str
    protocol: Any = field(repr=False)
    parameters: dict[str, Any]
    change: Change
    epsilon: Interval
    delta: Interval
    guarantee: Guarantee
    asked: Literal["epsilon", "delta"]
    at: Fraction
    notes: tuple[str, ...] = ()
    honest: int | None = None

    @property
    def users(self) -> int | None:
        """How many users the protocol is for; None where it has no number, as for a local mechanism."""
        return mechanism_claims_of(self.protocol).users(self.protocol)

    @property
    def instances(self) -> int:
        """How many instances the same user takes part in."""
        return self.change.instances

    def epsilons(self, deltas: Sequence[float]) -> list[Interval]:
        """Return epsilon at other deltas, enclosed: the privacy profile of the same composition.

        - deltas: In (0, 1), at least one; the accuracy is set for the least.
        """
        with within_limits(self.name):
            curve = self._curve(_PROFILE_WIDTH, min(deltas))
            return [curve.epsilon(delta) for delta in deltas]

    def meaning(
        self,
        *,
        rates: Sequence[Number] = ("0.01", "0.1"),
        priors: Sequence[Number] = ("0.5", "0.1", "0.01"),
        values: Sequence[int] = (10, 100),
        relative_width: float = 1e-3,
    ) -> Meaning:
        """Return what the best attacker reaches, with both ends proved: see docs/meaning.md.

        - rates: At which rates of false positives the least false negatives are wanted.
        - priors: At which prior probabilities of one of two neighbours it is guessed which of them it is.
        - values: Among how many values of a secret, each as likely as the others, is guessed.
        - relative_width: The numerical accuracy wanted, of delta, and absolutely a fifth of it of false negatives.

        Raises TypeError or ValueError for a rate or a prior that is not in [1e-9, 1 - 1e-9], or fewer than two values.

        >>> import dpverify
        >>> found = dpverify.account(dpverify.RandomizedResponse(1000, 0.25), delta="1e-6").meaning()
        >>> print(found.advantage)
        [0.0145624, 0.0145646]
        """
        from dpverify.planning.risks.meaning import meaning_of

        check_real("relative_width", relative_width, low=0.0, high=1.0, low_open=True, high_open=True)
        with within_limits(self.name):
            return meaning_of(
                self.name,
                self.guarantee,
                lambda reference: self._curve(relative_width, reference, sharp=False),
                rates=rates,
                priors=priors,
                values=values,
                tolerance=0.2 * relative_width,
            )

    def _curve(self, relative_width: float, reference_delta: float, *, sharp: bool = True) -> PrivacyCurve:
        """Return the privacy curve anew, at the accuracy wanted and where; where sharpness is dear, perhaps without."""
        view = HonestView.of(self.protocol, self.honest, self.guarantee.threat_model)
        return view.curve(self.change, relative_width, reference_delta)

    def certificate(self) -> dict[str, Any]:
        """Return a proof of the epsilon at this delta that `dpverify check` can check, slightly above `epsilon`.

        See `dpverify.planning.certificate.certificate`, and `write_certificate` there, and of joint changes
        `dpverify.planning.contours.contour_certificate.contour_certificate`.

        Raises TypeError or ValueError for a protocol, a threat model or a change that has none, or if epsilon was what
        was given.
        """
        from dpverify.planning.contours.contour_certificate import certificate_of

        return certificate_of(self._runs, self.change, self.guarantee.threat_model, self._certified_delta)

    @property
    def _certified_delta(self) -> str:
        if self.asked != "delta":
            raise ValueError(f"epsilon={float(self.at)!r} must be omitted: certificates are of a delta that is given.")
        return unrounded(self.at)

    @property
    def _runs(self) -> Sequence[Any]:
        return [(self.protocol, self.instances, self.honest)]


@dataclass(frozen=True)
class HonestView:
    """What an adversary sees of the users who follow a protocol.

    - claims: The protocol's twin.
    - protocols: The protocol of those users alone; two where it lies between these, the less private one first.
    - adversary: Whose view.
    """

    claims: MechanismClaims[Any]
    protocols: tuple[Any, ...]
    adversary: ThreatModel

    @classmethod
    def of(cls, protocol: Any, honest: int | None, adversary: ThreatModel) -> HonestView:
        """Return it for so many honest users, all when None."""
        claims = mechanism_claims_of(protocol)
        return cls(claims, (protocol,) if honest is None else claims.among_honest(protocol, honest), adversary)

    def curve(self, change: Change, relative_width: float, reference_delta: float) -> PrivacyCurve:
        """Return their privacy curve, at the accuracy wanted and where."""
        ends = [
            self.claims.curve(
                made, change, self.adversary, relative_width=relative_width, reference_delta=reference_delta
            )
            for made in self.protocols
        ]
        return ends[0] if len(ends) == 1 else BetweenCurves(*ends)

    @property
    def pure_epsilon(self) -> Interval:
        """The largest privacy loss of one instance."""
        ends = [self.claims.pure_epsilon(made, self.adversary) for made in self.protocols]
        return Interval.proved(ends[-1].lower, ends[0].upper)

    @property
    def note(self) -> str:
        """How the supremum over datasets is taken."""
        return self.claims.note(self.protocols[0], self.adversary)


def checked_honest(claims: MechanismClaims[Any], protocol: Any, honest: Number | None) -> int | None:
    """Return how many users are honest, after checking that there are so many."""
    if honest is None:
        return None
    users = claims.users(protocol)
    if users is None:
        raise ValueError(f"honest={honest!r} must be omitted: {claims.name} is private without other users.")
    return honest_users(honest, users)
