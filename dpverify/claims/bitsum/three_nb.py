"""What is true of `protocols.bitsum.three_nb`.

The noise is additive and independent of the data, so one pair (x = 1 against x = 0) covers every dataset. Its law is
closed for r = 1 (geometric Z1 and Z2), the seeds' choice; for other shapes it is enclosed by two pairs.

Every parameter is more private the larger it is: that adds to Z1, Z2 or Z3, and so to the counts, what is independent
of the data (see `dpverify.claims.bitsum.negative_binomial`).
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from dpverify.claims.base import MoreUsers
from dpverify.claims.bitsum.base import BitsumClaims
from dpverify.claims.shared.bitsum_pairs import DATA_INDEPENDENT, LEFT_OUT, ComposedEpsilon, Pairs
from dpverify.claims.shared.divisible_noise import NEAR_LIMIT, Search, counts, least_spreads
from dpverify.formulas import FormulaRangeError
from dpverify.formulas.contexts import (
    FLOATS,
    ArbContext,
    UndecidedComparisonError,
    arb_context,
    lower_float,
    upper_float,
)
from dpverify.formulas.protocols import three_nb as formulas
from dpverify.guarantee import InfeasibleBudgetError, ThreatModel
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.messages import TAIL, MessagesLaw, counted_bits
from dpverify.laws.noise import negative_binomial
from dpverify.laws.window import IntegerLaw, point_mass
from dpverify.papers.entries import stated
from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.three_nb import ThreeNB
from protocols.classes.frozen import dataclass

__all__ = ["FLOOD_RATE", "ThreeNBClaims", "TwoCounts", "TwoCountsClaims", "flood_suffices"]

P = TypeVar("P", bound=BitsumProtocol)

FLOOD_RATE = 0.2
"""The c in `p' = exp(-c eps0 / (eps0 + ln 1/delta0))`, which wagner2025 leaves as Theta(1).

The largest private c is smallest, 0.25146, near (1.27, 3.6e-7), on the grid of `benchmarks/three_nb_constant.py`. That
0.2 is private for all eps0 > 0 and delta0 in (0, 1) is proved in docs/floods.md, with balls (`dpverify theorems check
wagner2025-a2-three-nb`).
"""


@dataclass(frozen=True)
class TwoCounts:
    """The view (B + Z1 + Z3, Z2 + Z3) of bits B among the noise of some users of 3NB.

    - bits: B.
    - noise: The protocol of the noise.
    - participants: How many of its users take part.
    """

    bits: IntegerLaw
    noise: ThreeNB
    participants: int

    @property
    def _share(self) -> float:
        return self.participants / self.noise.users

    @property
    def _own(self) -> IntegerLaw:
        """Z1, and Z2."""
        return views.negative_binomial(self.noise.shape * self._share, self.noise.p)

    @property
    def _flood(self) -> IntegerLaw:
        """Z3."""
        return views.negative_binomial(self.noise.flood_shape * self._share, self.noise.flood_p)

    def readable(self) -> DiscreteLaw:
        """Return a law of views with the true law of the difference of the counts: all that the analyzer reads."""
        if self.noise.shape * self._share == 1.0:
            difference = views.discrete_laplace(self.noise.p)
        else:
            difference = views.total(self._own, self._own.mirrored())
        return views.rows(views.total(self.bits, difference), lambda z: views.by_sign(z, self.noise.alphabet))

    def joint(self) -> DiscreteLaw:
        """Return the joint law of both counts."""
        own = self._own
        return views.two_counts(views.total(self.bits, own), own, self._flood)

    def marginals(self) -> dict[str, DiscreteLaw]:
        """Return the law of each count."""
        own, flood = self._own, self._flood
        laws = {"count of +1": views.total(self.bits, own, flood), "count of -1": views.total(own, flood)}
        return {name: views.rows(law, lambda count: count) for name, law in laws.items()}


class TwoCountsClaims(BitsumClaims[P]):
    """The twin of a protocol whose view is `TwoCounts`."""

    coarse = True

    @abstractmethod
    def two_counts(self, protocol: P, ones: int, participants: int) -> TwoCounts:
        """Return the view of so many participants, so many of which hold 1."""

    def _readable(self, protocol: P, ones: int, participants: int) -> DiscreteLaw:
        return self.two_counts(protocol, ones, participants).readable()

    def _view(self, protocol: P, ones: int, participants: int) -> DiscreteLaw:
        return self.two_counts(protocol, ones, participants).joint()

    def _counts(self, protocol: P, ones: int, participants: int) -> dict[str, DiscreteLaw]:
        return self.two_counts(protocol, ones, participants).marginals()


class ThreeNBClaims(TwoCountsClaims[ThreeNB]):
    """The twin of `ThreeNB`."""

    name = "3nb"
    protocol = ThreeNB
    more_users = MoreUsers.SAME
    noise = "p"
    more_private_towards: ClassVar[Mapping[str, float]] = {
        "p": 1.0,
        "shape": math.inf,
        "flood_shape": math.inf,
        "flood_p": 1.0,
    }
    theorems = stated("wagner2025/bitsum", "three_nb")

    def pairs(self, protocol: ThreeNB) -> Pairs:
        return self.views_at(protocol, self.threat_models[0], LEFT_OUT)

    def views_at(self, protocol: ThreeNB, threat_model: ThreatModel, tail: float) -> Pairs:
        pair = counts(protocol, tail)
        return Pairs(tuple(pair.upper), tuple(pair.lower), note=self.note(protocol, threat_model))

    def infinite_mass(self, protocol: ThreeNB, threat_model: ThreatModel) -> float:
        """Return the mass of no message +1 at all: Z1 = Z3 = 0, which a user's +1 rules out; all if Z1 = Z2 = 0."""
        if self._noiseless(protocol):
            return 1.0
        with arb_context() as ctx:
            p, flood_p = ctx.convert(protocol.p), ctx.convert(protocol.flood_p)
            return max(lower_float((1 - p) ** protocol.shape * (1 - flood_p) ** protocol.flood_shape), 0.0)

    def note(self, protocol: ThreeNB, threat_model: ThreatModel) -> str:
        return DATA_INDEPENDENT

    def parameters(self, protocol: ThreeNB) -> dict[str, Any]:
        """Return them in the order of the noises: that of Z1 and Z2 before the flood's."""
        return {name: getattr(protocol, name) for name in self.more_private_towards}

    def rmse(self, protocol: ThreeNB) -> float:
        return float(formulas.rmse(FLOATS, protocol.p, protocol.shape))

    def messages_per_user(self, protocol: ThreeNB, fraction_of_ones: float = 1.0) -> float:
        return float(
            formulas.expected_messages_per_user(
                FLOATS,
                protocol.users,
                protocol.p,
                protocol.flood_shape,
                protocol.flood_p,
                fraction_of_ones,
                protocol.shape,
            )
        )

    def messages_law(self, protocol: ThreeNB, instances: int = 1, fraction_of_ones: float = 1.0) -> MessagesLaw:
        bits, share = counted_bits(instances, fraction_of_ones), instances / protocol.users
        own = negative_binomial(2.0 * share * protocol.shape, protocol.p, TAIL)
        flood = negative_binomial(share * protocol.flood_shape, protocol.flood_p, TAIL)
        return MessagesLaw((bits, (1, own), (2, flood)))

    def two_counts(self, protocol: ThreeNB, ones: int, participants: int) -> TwoCounts:
        return TwoCounts(point_mass(ones), protocol, participants)

    def published(self, users: int, epsilon0: float, delta0: float) -> ThreeNB:
        # Rounded up, to more noise: what docs/floods.md proves of the formulas then holds for these floats.
        with arb_context() as ctx:
            p, shape, flood_p = map(upper_float, _published(ctx, epsilon0, delta0))
        return ThreeNB(users, p, shape, flood_p)

    def published_notes(self, users: int, epsilon0: float, delta0: float) -> tuple[str, ...]:
        return (f"the source leaves c in p' as Theta(1); c = {FLOOD_RATE:g} is used",)

    def least_error(
        self, users: int, composed_epsilon: ComposedEpsilon, target: float, max_messages_per_user: float | None = None
    ) -> ThreeNB:
        try:
            return _least_error(users, composed_epsilon, target, max_messages_per_user)
        except InfeasibleBudgetError:
            if max_messages_per_user is not None:
                raise
            # Next to no noise leaves so little error nothing for a flood to spend.
            return _least_error(users, composed_epsilon, target, None, wide=True)

    def fewest_messages(self, users: int, composed_epsilon: ComposedEpsilon, target: float, near: float) -> ThreeNB:
        return _least_error(users, composed_epsilon, target, None, near)

    def proves(self, protocol: ThreeNB, threat_model: ThreatModel, epsilon0: float, delta0: float) -> bool:
        return flood_suffices(protocol, epsilon0, delta0) or super().proves(protocol, threat_model, epsilon0, delta0)

    def guaranteed_epsilon(self, protocol: ThreeNB, composed_epsilon: ComposedEpsilon) -> float:
        return _guaranteed_epsilon(protocol, composed_epsilon)


def flood_suffices(noise: ThreeNB, epsilon0: Any, delta0: Any) -> bool:
    """Return whether a closed form of docs/floods.md proves an instance to be (epsilon0, delta0)-DP.

    It is as much noise as is published, or has a flood that suffices. Both are for a shape of 1, and a larger one is
    more private. What is too large to be listed is proved so.

    - noise: The protocol.
    - epsilon0, delta0: In nats, and in (0, 1).
    """
    with arb_context() as ctx:
        epsilon0 = ctx.convert(epsilon0)
        try:
            least = _published(ctx, epsilon0, delta0)
            given = noise.p, noise.flood_shape, noise.flood_p
            if all(bool(part <= mine) for part, mine in zip(least, given, strict=True)):
                return noise.shape >= 1.0
            slack = epsilon0 + ctx.log(ctx.convert(noise.p))
            needed = formulas.sufficient_flood_shape(ctx, epsilon0, delta0, slack, noise.flood_p)
        except (FormulaRangeError, UndecidedComparisonError):
            return False
        return noise.shape >= 1.0 and bool(needed <= noise.flood_shape)


def _published(ctx: ArbContext, epsilon0: Any, delta0: Any) -> tuple[Any, Any, Any]:
    """Return the published p, r' and p'."""
    flood_p = formulas.flood_p(ctx, epsilon0, delta0, FLOOD_RATE)
    return formulas.noise_p(ctx, epsilon0), formulas.flood_shape(ctx, epsilon0, delta0), flood_p


@functools.lru_cache(maxsize=4)
def _guaranteed_epsilon(protocol: ThreeNB, composed_epsilon: ComposedEpsilon) -> float:
    """Return it, remembered like the plan."""
    return BitsumClaims.guaranteed_epsilon(ThreeNBClaims(), protocol, composed_epsilon)


@functools.lru_cache(maxsize=4)
def _least_error(
    users: int,
    composed_epsilon: ComposedEpsilon,
    target: float,
    most_messages: float | None,
    near: float = NEAR_LIMIT,
    *,
    wide: bool = False,
) -> ThreeNB:
    """Return the plan, which is remembered as Pure asks for the same one at delta > 0."""
    search = Search(users, composed_epsilon, target, _least_spreads(composed_epsilon, target))
    return search.least_flood(near, wide=wide) if most_messages is None else search.least_error_at(most_messages)


@functools.lru_cache(maxsize=4)
def _least_spreads(composed_epsilon: ComposedEpsilon, target: float) -> dict[float, float]:
    """Return what no number of users changes, and no bound on messages: remembered for plans that differ in these."""
    return least_spreads(composed_epsilon, target)
