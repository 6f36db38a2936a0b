"""What replacing one user's input may change, over all her bits.

**One bit that leaves and one that enters cost at most an average of two full changes.** A bit that leaves was sure and
becomes a fair coin; one that enters was a coin and becomes sure. Let P0 and P1 be the views for the bits 0 and 1, X =
P1/P0 in the bitsum where a 1 leaves and Y = P1/P0 in the other, independent and of mean 1 under P0, whatever the other
users' bits are in either. At every E > 0, with `(a + b)+ <= a+ + b+`, the divergence at ln E is

    if a 0 enters:  1/2 E[(X (1 + Y) - E (1 + X))+]   <= 1/2 E[X (Y - E)+]  + 1/2 E[(X - E)+],
    if a 1 enters:  1/2 E[(X (1 + Y) - E (1 + X) Y)+] <= 1/2 E[X (1 - E Y)+] + 1/2 E[Y (X - E)+],

which are the means of two full changes' divergences: of P1 against P0 in both bitsums, or of P1 against P0 in one and
of P0 against P1 in the other. If a 0 leaves, exchange P0 and P1. So a public fair coin that decides which of both bits
changes fully, the other one not at all, presents a pair that dominates; composed with anything, that is an average over
the coin, no worse than the worst mix of full changes. A bit that only leaves, or only enters, costs at most half of a
full change, by joint convexity; and a bit whose probability lies between 1/2 and a sure one is a mixture of these.
"""

from __future__ import annotations

from typing import ClassVar

from dpverify.shown import Plain
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = ["Change", "Full", "FullOfPoints", "L2Ball", "L2Bounded", "Sparse"]


@dataclass(frozen=True)
class Full(Plain):
    """The user's input of every one of some instances may be replaced by any other.

    - instances: How many, at least 1.

    Raises ValueError if `instances` is below 1.
    """

    kind: ClassVar[str] = "full"
    plain_as: ClassVar[str] = "kind instances"

    instances: int

    def __post_init__(self) -> None:
        check_integer("instances", self.instances, low=1)

    @property
    def full(self) -> float:
        """About how many full changes cost as much: all."""
        return float(self.instances)


@dataclass(frozen=True)
class FullOfPoints(Full):
    """The same, where each user's inputs are those of one point: what one instance attains fixes all others."""


@dataclass(frozen=True)
class L2Bounded(Plain):
    """The probabilities that her bits are 1 move by t_j each, with `sum_j t_j^2 <= squared_change`.

    That is what replacing one point of bounded norm does to the randomly rounded features of it; see
    `docs/joint_changes.md`.

    - squared_change: T^2, in (0, coordinates]: no t_j exceeds 1.
    - coordinates: m, the number of bits, at least 1.

    Raises ValueError if `squared_change` or `coordinates` is out of range.
    """

    kind: ClassVar[str] = "joint"
    plain_as: ClassVar[str] = "kind squared_change coordinates"

    squared_change: float
    coordinates: int

    def __post_init__(self) -> None:
        check_integer("coordinates", self.coordinates, low=1)
        check_real("squared_change", self.squared_change, low=0.0, high=float(self.coordinates), low_open=True)

    @property
    def instances(self) -> int:
        """How many instances the bits are handed to: m."""
        return self.coordinates

    @property
    def full(self) -> float:
        """About how many full changes cost as much: T^2."""
        return self.squared_change

    def __str__(self) -> str:
        return f"the squared changes of the bits' probabilities add up to {self.squared_change!r} at most"


@dataclass(frozen=True)
class L2Ball(L2Bounded):
    """An `L2Bounded` change of bits that come from a point in a ball around 0, before and after.

    With b_j the probability that bit j is 1, `sum_j (2 b_j - 1)^2 <= squared_change` holds for either point: features
    of norm at most T R, R their range, whatever they are. As t_j = b'_j - b_j and the midpoint c_j = b_j + b'_j - 1
    have `t_j^2 + c_j^2 = ((2 b_j - 1)^2 + (2 b'_j - 1)^2) / 2`, sum t_j^2 + c_j^2 <= T^2: a bit that is sure before or
    after uses up some of the norm, which is what this adds to `L2Bounded`.
    """

    kind: ClassVar[str] = "ball"

    def __str__(self) -> str:
        return f"the squares of 2b - 1, b the probabilities of her bits, add up to {self.squared_change!r} at most"


Change = Full | L2Bounded
"""What is accounted: how one user's replacement changes the inputs of the instances that she takes part in."""


@dataclass(frozen=True)
class Sparse:
    """All bits of an instance are fair coins, but for a few: not the same ones before and after the replacement.

    That is what replacing one point does to the randomly rounded features of it, of which few are not 0.

    - nonzeros: S, the largest number of bits of an instance that are no coins, at least 1 and at most `coordinates`.
    - coordinates: Q, the number of bits of an instance, at least 1.

    Raises ValueError if `nonzeros` or `coordinates` is out of range.
    """

    nonzeros: int
    coordinates: int

    def __post_init__(self) -> None:
        check_integer("coordinates", self.coordinates, low=1)
        check_integer("nonzeros", self.nonzeros, low=1, high=self.coordinates)

    @property
    def changed_bits(self) -> int:
        """How many bits of an instance may change, in law: min(2S, Q)."""
        return min(2 * self.nonzeros, self.coordinates)

    @property
    def full_changes(self) -> int:
        """How many bits that change fully the replacement costs at most, in each instance: S.

        Bits that are no coins only before, and only after, make pairs of one that leaves and one that enters, with some
        of either left over; with those that are no coins both times there are S at most. It is attained where these
        may change sign. Were zeros sent as sure bits, it would be min(2S, Q).
        """
        return self.nonzeros
