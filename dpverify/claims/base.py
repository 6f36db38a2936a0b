"""What every twin has: the protocol that it is about, the theorems, and for mechanisms what they cost in privacy."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from dpverify.changes import Change, Full
from dpverify.guarantee import CapacityError, Interval, PrivacyCurve, ThreatModel, enclosing_floats
from dpverify.papers.theorem import Theorem
from dpverify.privacy_loss.datasets.covers import Entry
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution

if TYPE_CHECKING:
    from dpverify.privacy_loss.composing.together import Part
    from dpverify.privacy_loss.joint.attained_change import Parts

__all__ = ["Claims", "Families", "MechanismClaims", "MoreUsers"]

P = TypeVar("P")
Families = Sequence[tuple[Sequence[Entry], Sequence[PrivacyLossDistribution]]]
"""Of each family of pairs what dominates the pair of every dataset, and pairs that one dataset attains at once."""


class MoreUsers(Enum):
    """What more users, all other parameters being equal, do to one user's privacy."""

    UNKNOWN = "unknown"
    SAME = "the same law for any number of users"
    NO_WORSE = "the view is that of fewer users, to which others' reports are added: never worse"


class Claims(ABC, Generic[P]):
    """The twin of one protocol. It holds no state: every method is given the protocol with its parameters."""

    name: ClassVar[str]
    """The protocol's short name, as on the command line and in an entry point: lower case."""
    protocol: ClassVar[type[Any]]
    """The class that this is the twin of."""
    theorems: ClassVar[tuple[Theorem, ...]] = ()
    """The theorems about it."""

    def parameters(self, protocol: P) -> dict[str, Any]:
        """Return the protocol's parameters by argument name, without `users`."""
        fields = dataclasses.fields(protocol)  # type: ignore[arg-type]
        values = {field.name: getattr(protocol, field.name) for field in fields if field.name != "users"}
        return {name: value.value if isinstance(value, Enum) else value for name, value in values.items()}


class MechanismClaims(Claims[P]):
    """The twin of a protocol that is private by itself, for the replace-one adjacency."""

    threat_models: ClassVar[tuple[ThreatModel, ...]] = (ThreatModel.COMMUNICATION,)
    """The adversaries whose view has an exact law here; the first is the default."""
    more_private_towards: ClassVar[Mapping[str, float]] = {}
    """Towards which limit, from below, a parameter may move and only gain privacy against every adversary, whatever the
    others are: as the twin's module proves. A parameter for which nothing is proved is not listed."""
    more_users: ClassVar[MoreUsers] = MoreUsers.UNKNOWN
    """What is proved about more users, against every adversary of the `threat_models`."""
    noise: ClassVar[str] = ""
    """The parameter at whose value 0 nothing is added to, or flipped in, what users hold, if it may be 0."""
    seen: ClassVar[str] = ""
    """What each of several `threat_models` sees, as the help of an option says it."""
    audited_as: ClassVar[str] = ""
    """`module:function` that makes a subject of an audit: it stands above, so it is named, and imported when called."""
    pure: ClassVar[bool] = False
    """Whether some parameters give pure differential privacy (delta = 0) against the default adversary."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Refuse names of parameters that the protocol does not have: a misspelt one would only be left out."""
        super().__init_subclass__(**keywords)
        if "protocol" not in vars(cls) or not dataclasses.is_dataclass(cls.protocol):
            return
        known = [field.name for field in dataclasses.fields(cls.protocol)]
        divided = getattr(cls.protocol, "divided", None) or ()
        for name in (*divided, *cls.more_private_towards):
            if name not in known:
                where = "divided" if name in divided else "more_private_towards"
                raise ValueError(f"{where} of {cls.name} names {name!r}, but must name parameters: {', '.join(known)}.")

    @abstractmethod
    def curve(
        self,
        protocol: P,
        changes: Change,
        threat_model: ThreatModel,
        *,
        relative_width: float = 1e-6,
        reference_delta: float = 1e-6,
    ) -> PrivacyCurve:
        """Return the privacy curve of many runs on the same users, over all datasets and neighbours.

        - protocol: The protocol with its parameters.
        - changes: How many instances there are, and what one user's replacement changes in them.
        - threat_model: One of the `threat_models`.
        - relative_width, reference_delta: The numerical accuracy wanted, and where.

        Raises ValueError if no law of such a change is known here; see `in_full`.
        """

    def families(self, protocol: P, threat_model: ThreatModel, tail: float, *, loose: bool = False) -> Families:
        """Return the families of pairs that one run meets, one after the other, to be composed with other protocols'.

        - protocol: The protocol with its parameters.
        - threat_model: One of the `threat_models`.
        - tail: About what the laws may leave out.
        - loose: Whether the bound need not be sharp, and be quick to make.

        Returns: What dominates the pair of every dataset, and pairs that one dataset attains at once. A family that one
        run meets several times is there as often. Raises ValueError if no such law is known here.
        """
        raise ValueError(f"protocol={protocol!r} cannot be composed with others: {self.name} has no listed law here.")

    def near_families(self, protocol: P, threat_model: ThreatModel, tail: float, *, loose: bool = False) -> Families:
        """Return families as `families` does, of views that those of a run are near: see `apart`."""
        return self.families(protocol, threat_model, tail, loose=loose)

    def apart(self, protocol: P) -> tuple[float, float]:
        """Return how far a run's views are, in total variation, from those of `near_families`, for every dataset.

        Returns: At most so far for upper bounds; and what is attained from what those bounds are said to attain.
        """
        return 0.0, 0.0

    def changes_jointly(self, protocol: P, threat_model: ThreatModel) -> bool:
        """Return whether an input changes the bits of a run together, so that `joint` says how."""
        return False

    def joint(
        self, protocol: P, threat_model: ThreatModel, runs: int, reference_delta: float, *, guess: bool = False
    ) -> tuple[Part, Parts]:
        """Return what replacing one input changes together in all of so many runs, where it does.

        With `guess` the first need only be about right, for searches: it then proves nothing.

        Returns: What all datasets are bounded by, and pairs that some attain at once, with how often each is met.
        Raises ValueError where `changes_jointly` is false.
        """
        raise ValueError(f"protocol={protocol!r} must change its bits jointly: {self.name} has families of pairs.")

    def in_full(self, changes: Change) -> int:
        """Return of how many instances the input is replaced, for twins that know no other change.

        Raises ValueError if it is not `Full`.
        """
        if isinstance(changes, Full):
            return changes.instances
        raise ValueError(
            f"squared_change={changes.squared_change!r} must be omitted: {self.name} is accounted for full changes "
            "only."
        )

    def adversaries(self, protocol: P) -> tuple[ThreatModel, ...]:
        """Return the adversaries whose view of this very protocol has an exact law here; the first is the default."""
        return self.threat_models

    def pure_epsilon(self, protocol: P, threat_model: ThreatModel) -> Interval:
        """Return the largest privacy loss of one instance over all datasets: infinite where the views are not pure DP.

        Largest losses add up over instances.
        """
        return Interval(math.inf, math.inf)

    def infinite_mass(self, protocol: P, threat_model: ThreatModel) -> float:
        """Return a lower bound on the P-mass of infinite loss that a dataset attains, from parameters alone.

        It spares listing a law that gives no finite epsilon; 0 says nothing.
        """
        return 0.0

    def note(self, protocol: P, threat_model: ThreatModel) -> str:
        """Return which datasets attain the lower end of the curve, and how all others are covered."""
        return "every pair of neighbours has this curve"

    def users(self, protocol: P) -> int | None:
        """Return how many users there are; None where each is private by herself."""
        return getattr(protocol, "users", None)

    def with_users(self, protocol: P, users: int, *, more_private: bool) -> P:
        """Return the protocol of another number of users with the same randomizer, and no less private or no more.

        What n users divide among them is rounded up or down, which is towards more noise or less.

        Raises ValueError if the protocol does not say what is divided, or more of that is not proved to be more
        private.
        """
        for name in getattr(protocol, "divided", None) or ():
            if self.more_private_towards.get(name) != math.inf:
                raise ValueError(f"{name} of {self.name} must be listed in more_private_towards with the limit inf.")

        def rounded(share: Fraction) -> float:
            end = enclosing_floats(share)[more_private]
            if share and not end:
                raise CapacityError(f"the share of {users} users is below the smallest float.")
            return end

        made: P = protocol.with_users(users, rounded=rounded)  # type: ignore[attr-defined]
        return made

    def among_honest(self, protocol: P, honest: int) -> tuple[P, ...]:
        """Return what is left where only some users follow the protocol: the view of fewer users (docs/crowds.md).

        Returns: One protocol; where a share of the noise is no float two, the first no more and the second no less
        private.
        """
        ends = tuple(self.with_users(protocol, honest, more_private=side) for side in (False, True))
        return ends[:1] if self.parameters(ends[0]) == self.parameters(ends[1]) else ends

    def messages_per_user(self, protocol: P) -> float:
        """Return the expected number of messages per user and instance: one, unless said otherwise."""
        return 1.0
