"""What given parameters of a protocol really guarantee: one point of the privacy curve, as an interval."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from dpverify.changes import Change, Full, L2Bounded
from dpverify.claims.base import MechanismClaims
from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import (
    Adjacency,
    CapacityError,
    Guarantee,
    Interval,
    Number,
    PrivacyCurve,
    Side,
    ThreatModel,
    enclosing_floats,
    exact_number,
)
from dpverify.privacy_loss.bounds import BestCurve, BetweenCurves, LargestLossCurve
from dpverify.shown import Drawn
from protocols.validation import check_choice, check_integer, check_real

__all__ = [
    "PROOF",
    "AccountResult",
    "account",
    "answered",
    "change_of",
    "chosen_threat_model",
    "left_out",
    "upper_bound",
    "within_limits",
]

PROOF = "dpverify.privacy_loss"
"""The source of what the exact law proves."""
_FIRST_GUESS, _LEAST_GUESS = 1e-6, 1e-250
"""For which delta a curve is made at first, and at the least, when delta is what is asked for."""
_PROFILE_WIDTH = 1e-3
"""What the eye can tell from a figure."""
_CLOSE = 1.01
"""Ratio of the ends of delta up to which no other reference is tried."""


@dataclass(frozen=True)
class AccountResult(Drawn):
    """What a protocol's composition really gives.

    Parameters
    ----------
    name : str
        The protocol's name.
    protocol : object
        The protocol.
    parameters : dict
        Its parameters by argument name.
    change : Full or L2Bounded
        How many instances the same user takes part in, and what her replacement changes in them.
    epsilon, delta : Interval
        The privacy curve's point: one is the value that was asked at, the other contains the truth.
    guarantee : Guarantee
        The upper ends, as an (epsilon, delta)-DP statement.
    asked : {"epsilon", "delta"}
        Which of both was given.
    at : Fraction
        The number that was given, exactly.
    notes : tuple of str
        How the supremum over datasets was taken.
    honest : int or None
        How many users follow the protocol, at least; None for all of them.
    """

    table_by: ClassVar[str] = "dpverify.report.tables:account_table"
    figure_by: ClassVar[str] = "dpverify.report.plots:account_profile"

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

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, but `protocol`, as plain JSON values."""
        return {
            "protocol": self.name,
            "users": self.users,
            "honest": self.honest,
            "instances": self.instances,
            "change": self.change.to_dict(),
            "parameters": dict(self.parameters),
            "epsilon": self.epsilon.to_dict(),
            "delta": self.delta.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "notes": list(self.notes),
        }

    def epsilons(self, deltas: Sequence[float]) -> list[Interval]:
        """Return epsilon at other deltas, enclosed: the privacy profile of the same composition.

        Parameters
        ----------
        deltas : sequence of float
            In (0, 1), at least one; the accuracy is set for the least.
        """
        with within_limits(self.name):
            view = _View.of(self.protocol, self.honest, self.guarantee.threat_model)
            curve = view.curve(self.change, _PROFILE_WIDTH, min(deltas))
            return [curve.epsilon(delta) for delta in deltas]


@dataclass(frozen=True)
class _View:
    """What an adversary sees of the users who follow a protocol.

    Parameters
    ----------
    claims : MechanismClaims
        The protocol's twin.
    protocols : tuple
        The protocol of those users alone; two where it lies between these, the less private one first.
    adversary : ThreatModel
        Whose view.
    """

    claims: MechanismClaims[Any]
    protocols: tuple[Any, ...]
    adversary: ThreatModel

    @classmethod
    def of(cls, protocol: Any, honest: int | None, adversary: ThreatModel) -> _View:
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


def account(
    protocol: Any,
    *,
    instances: int = 1,
    squared_change: Number | None = None,
    delta: Number | None = None,
    epsilon: Number | None = None,
    relative_width: float = 1e-6,
    threat_model: ThreatModel | str | None = None,
    at_most: int | None = None,
    honest: int | None = None,
) -> AccountResult:
    """Compute what `instances` runs of a protocol on the same users give, as an interval that contains the truth.

    Parameters
    ----------
    protocol : object
        Any protocol with a twin that states its privacy curve, with its parameters. Or a list of (protocol, count), for
        runs of different protocols, or on different numbers of users, that the same user may take part in: the result
        is a `dpverify.planning.schedule.ScheduleResult`, with the cumulative curve.
    instances : int
        How many of its instances one user's replacement changes; I S in Algorithm 1.
    squared_change : int, float, Fraction, Decimal or decimal string, optional
        T^2, in (0, instances]: her bit of instance j is 1 with a probability that the replacement moves by t_j, and
        the t_j^2 add up to T^2 at most, as for the features of points of bounded norm. Between two floats the larger
        one is taken. When omitted every bit may change fully.
    delta, epsilon : int, float, Fraction, Decimal or decimal string
        Exactly one: where on the privacy curve, exactly as in `Budget`; a number between two floats is given back as
        these two. The other is computed, over all datasets, both directions and every mix of them over the instances:
        the least upper and the largest lower bound of all that are at hand. At delta = 0 epsilon is the largest
        privacy loss, which may be infinite.
    relative_width : float
        The numerical accuracy wanted.
    threat_model : ThreatModel or str, optional
        Whose view is accounted, one of the claims' `threat_models`; the first of them when omitted.
    at_most : int, optional
        Of a list, in how many runs the same user takes part at most; in all when omitted.
    honest : int, optional
        How many of the users follow the protocol, at least; all when omitted. Of the others the adversary knows, or
        chose, all that they sent, or they stay away, and which of them do so is known (docs/crowds.md).

    Examples
    --------
    >>> from protocols.bitsum import RandomizedResponse
    >>> found = account(RandomizedResponse(users=1000, flip_probability=0.25), delta=1e-6)
    >>> print(f"{found.epsilon.upper:.4f}")
    0.1421
    >>> found.epsilon.width < 1e-5
    True
    >>> days = [(RandomizedResponse(1000, 0.25), 3), (RandomizedResponse(2000, 0.25), 4)]
    >>> print(f"{account(days, delta=1e-6).epsilon.upper:.2f}")
    0.33
    """
    if isinstance(protocol, (list, tuple)):
        from dpverify.planning.schedule import Schedule, account_schedule

        if instances != 1 or squared_change is not None:
            raise ValueError(
                f"instances={instances!r} and squared_change={squared_change!r} must be omitted: a schedule says how "
                "often each protocol runs, and every input may change."
            )
        if honest is not None:
            raise ValueError(f"honest={honest!r} must be omitted for a list: give the protocols `with_users` of them.")
        schedule = Schedule(protocol, at_most, threat_model)
        return account_schedule(schedule, delta=delta, epsilon=epsilon, relative_width=relative_width)
    if at_most is not None:
        raise ValueError(f"at_most={at_most!r} must be omitted but for a list of (protocol, count).")
    change = change_of(check_integer("instances", instances, low=1), squared_change)
    claims = mechanism_claims_of(protocol)
    adversary = chosen_threat_model(claims.name, claims.adversaries(protocol), threat_model)
    honest = _checked_honest(claims, protocol, honest)

    with within_limits(claims.name):
        view = _View.of(protocol, honest, adversary)
        asked, exact, made, point, statement = answered(
            lambda reference_delta: view.curve(change, relative_width, reference_delta),
            lambda: LargestLossCurve(view.pure_epsilon, change),
            delta,
            epsilon,
        )
        notes = (view.note, *left_out(made))
    return AccountResult(
        claims.name,
        protocol,
        claims.parameters(protocol),
        change,
        *point,
        upper_bound(*statement, adversary, "exact law, exact composition", PROOF),
        asked,
        exact,
        notes,
        honest,
    )


def left_out(curve: PrivacyCurve) -> tuple[str, ...]:
    """Return notes on what was left out of a curve's last answer, and why."""
    refusals = curve.refusals if isinstance(curve, BestCurve | BetweenCurves) else ()
    return tuple(f"left out: {refusal.removesuffix('.')}" for refusal in refusals)


def _checked_honest(claims: MechanismClaims[Any], protocol: Any, honest: int | None) -> int | None:
    """Return how many users are honest, after checking that there are so many."""
    if honest is None:
        return None
    users = claims.users(protocol)
    if users is None:
        raise ValueError(f"honest={honest!r} must be omitted: {claims.name} is private without other users.")
    return check_integer("honest", honest, low=1, high=users)


def change_of(instances: int, squared_change: Number | None) -> Change:
    """Return what is accounted; more change is worse, so T^2 is rounded up."""
    if squared_change is None:
        return Full(instances)
    return L2Bounded(enclosing_floats(exact_number("squared_change", squared_change))[1], instances)


Statement = tuple[float, float]
"""The numbers of an (epsilon, delta) statement."""


def answered(
    curve: Callable[[float], PrivacyCurve],
    largest: Callable[[], LargestLossCurve],
    delta: Number | None,
    epsilon: Number | None,
) -> tuple[Literal["epsilon", "delta"], Fraction, PrivacyCurve, tuple[Interval, Interval], Statement]:
    """Return which of both was given, what exactly, the curve, its point there, and the upper ends of that.

    Parameters
    ----------
    curve : callable
        Makes the curve for a reference delta.
    largest : callable
        Makes what is asked at delta = 0.
    delta, epsilon : int, float, Fraction, Decimal or decimal string
        Exactly one, as for `account`.
    """
    if (delta is None) == (epsilon is None):
        raise ValueError(f"exactly one of delta={delta!r} and epsilon={epsilon!r} must be given.")
    if delta is None:
        assert epsilon is not None
        exact = exact_number("epsilon", epsilon)
        at = Interval(*enclosing_floats(exact))
        check_real("epsilon", at.lower, low=0.0)
        made, found = _delta_between(curve, at)
        return "epsilon", exact, made, (at, found), (at.lower, found.upper)
    exact = exact_number("delta", delta)
    at = Interval(*enclosing_floats(exact))
    check_real("delta", at.upper, low=0.0, high=1.0, high_open=True)
    made = curve(max(at.upper, _LEAST_GUESS)) if at.upper > 0.0 else largest()
    found = _between(made.epsilon, at)
    return "delta", exact, made, (found, at), (found.upper, at.lower)


def _between(curve: Callable[[float], Interval], at: Interval) -> Interval:
    """Return what a decreasing curve is at a number between two adjacent floats."""
    ends = [curve(end) for end in dict.fromkeys((at.lower, at.upper))]
    return Interval.proved(ends[-1].lower, ends[0].upper)


def _delta_between(curve: Callable[[float], PrivacyCurve], epsilon: Interval) -> tuple[PrivacyCurve, Interval]:
    """Return the delta at an epsilon, and its curve: made for that delta, which is not known beforehand."""
    reference, least, most = _FIRST_GUESS, 0.0, 1.0
    while True:
        made, before = curve(reference), most
        found = _between(made.delta, epsilon)
        least, most = max(least, found.lower), min(most, found.upper)
        if most <= _CLOSE * least or most > 0.5 * before or reference == _LEAST_GUESS:
            return made, Interval.proved(least, most)
        # Where the ends are apart, the upper one is what was left out for a delta that is too large.
        reference = max(least, most**1.5, _LEAST_GUESS)


def upper_bound(epsilon: float, delta: float, threat_model: ThreatModel, method: str, source: str) -> Guarantee:
    """Return what is proved about a whole composition."""
    return Guarantee(epsilon, delta, Adjacency.REPLACE_ONE, threat_model, Side.UPPER_BOUND, method, source)


def chosen_threat_model(name: str, known: Sequence[ThreatModel], threat_model: ThreatModel | str | None) -> ThreatModel:
    """Return the threat model after checking that a protocol's twin covers it; the first when it is None."""
    return known[0] if threat_model is None else check_choice("threat_model", threat_model, known, where=f" for {name}")


@contextmanager
def within_limits(name: str) -> Iterator[None]:
    """Refuse what overflows, or does not fit in memory, instead of a warning and an infinity that nobody asked for."""
    with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
        try:
            yield
        except CapacityError as error:
            raise CapacityError(f"{name} cannot be computed here: {error.reason}") from error
        except (FloatingPointError, OverflowError) as error:
            raise CapacityError(f"{name} leaves the range of floats here: {error}.") from error
        except MemoryError as error:
            raise CapacityError(f"{name} needs more memory than there is.") from error
