"""What is true of `protocols.bitsum.negative_binomial`.

The noise is additive and independent of the data, so one pair, Z + 1 against Z, covers every dataset; what the analyzer
makes of the count changes the error and not the privacy.

A larger shape or p is more noise on top, hence more privacy: the generating function `((1-p) / (1-ps))^r` of NB(r, p)
divides that of NB(r', p) for r' > r, with quotient that of NB(r' - r, p), and that of NB(r, p') for p' > p, where the
logarithm of the quotient is a constant plus `r sum_k (p'^k - p^k) s^k / k`: no coefficient is negative, so the quotient
is that of a compound Poisson law. What is added is independent of the data.

At a fixed variance the protocol is nearly always the more private, the smaller p, up to Poisson noise, the limit: delta
then rises by 3 % at most, where it rises (measured, not proved). So the least error is approached and not attained, and
it costs communication: of a noise of variance v, the mean `v (1-p)` is sent as messages. The search needs no such claim
for what it returns: that was accounted. But the fewest messages are those that it finds, up to 6 % above what does.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from dpverify.changes import Full
from dpverify.claims.base import MoreUsers
from dpverify.claims.bitsum.base import BitsumClaims
from dpverify.claims.shared.bitsum_pairs import (
    DATA_INDEPENDENT,
    LEFT_OUT,
    NEXT_TO_NO_ERROR,
    ComposedEpsilon,
    Pairs,
    least_noise,
    loss_of_bits,
    noise_tail,
    normal_deviation,
    out_of_reach,
    searched_epsilon,
    tail_for,
)
from dpverify.claims.shared.buckets import noise_tail as negative_binomial_tail
from dpverify.claims.shared.divisible_noise import NEAR_LIMIT
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import negative_binomial as formulas
from dpverify.guarantee import InfeasibleBudgetError, ThreatModel
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.messages import TAIL, MessagesLaw, counted_bits
from dpverify.laws.noise import negative_binomial
from dpverify.laws.window import SMALLEST_TAIL, IntegerLaw, point_mass
from dpverify.papers.entries import stated
from dpverify.privacy_loss.losses import pairs as laws
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.rounding import UNIT, summation_error
from dpverify.search import bisected, galloped, smallest_at_level
from protocols.bitsum.negative_binomial import Estimate, NegativeBinomial, SingleNoise
from protocols.classes.frozen import dataclass

__all__ = ["NegativeBinomialClaims", "SingleNoiseClaims", "least_poisson_mean"]

S = TypeVar("S", bound=SingleNoise)

_SKEWNESS = 2e-3
"""About what the first noise that is tried has of the excess that is allowed."""
_LARGEST_MEAN = 1e9
_FARTHEST = 4.0
"""How many times the least error a bound on the messages may cost before the search gives up."""


class SingleNoiseClaims(BitsumClaims[S]):
    """The twin of a protocol whose view is one count, with noise that does not depend on the data."""

    more_users = MoreUsers.SAME
    coarse = True

    @abstractmethod
    def directions(self, protocol: S, tail: float) -> Directions:
        """Return the pair of the noise, Z + 1 against Z, and of both the other way round."""

    @abstractmethod
    def noise_law(self, protocol: S, share: float, tail: float) -> IntegerLaw:
        """Return the law of a share of the noise of all users."""

    @abstractmethod
    def variance(self, protocol: S) -> float:
        """Return the variance of the noise of all users."""

    def noise_above(self, protocol: S, above: int) -> float:
        """Return the probability that the noise of all users exceeds an integer, 0 or more, rounded up."""
        law = self.noise_law(protocol, 1.0, SMALLEST_TAIL)
        if above < law.start:
            return 1.0
        listed = law.pmf[above + 1 - law.start :]
        off = law.relative_error + summation_error(listed.size) + 8.0 * UNIT
        return min(1.0, float(np.sum(listed)) * (1.0 + 2.0 * off) + law.tail_above)

    def pairs(self, protocol: S) -> Pairs:
        return self.views_at(protocol, self.threat_models[0], LEFT_OUT)

    def views_at(self, protocol: S, threat_model: ThreatModel, tail: float) -> Pairs:
        directions = tuple(self.directions(protocol, noise_tail(tail)))
        return Pairs(directions, directions, note=DATA_INDEPENDENT)

    def note(self, protocol: S, threat_model: ThreatModel) -> str:
        return DATA_INDEPENDENT

    def parameters(self, protocol: S) -> dict[str, Any]:
        found = super().parameters(protocol)
        estimate = found.pop("estimate")
        return {**found, "estimate": estimate}

    def rmse(self, protocol: S) -> float:
        bias = 0.0 if protocol.estimate is Estimate.DEBIASED else protocol.noise_mean
        return math.hypot(math.sqrt(self.variance(protocol)), bias)

    def messages_per_user(self, protocol: S, fraction_of_ones: float = 1.0) -> float:
        """Return the expected number; for `Estimate.UNDER` the fraction is that of the zeros, which users send."""
        return fraction_of_ones + protocol.noise_mean / protocol.users

    def messages_law(self, protocol: S, instances: int = 1, fraction_of_ones: float = 1.0) -> MessagesLaw:
        noise = self.noise_law(protocol, instances / protocol.users, TAIL)
        return MessagesLaw((counted_bits(instances, fraction_of_ones), (1, noise)))

    def _view(self, protocol: S, ones: int, participants: int) -> DiscreteLaw:
        # The zeros are sent instead of the ones for `Estimate.UNDER`.
        sent = participants - ones if protocol.estimate is Estimate.UNDER else ones
        noise = self.noise_law(protocol, participants / protocol.users, views.TAIL)
        return views.one_count(views.total(point_mass(sent), noise))


class NegativeBinomialClaims(SingleNoiseClaims[NegativeBinomial]):
    """The twin of `NegativeBinomial`."""

    name = "nb"
    protocol = NegativeBinomial
    noise = "p"
    more_private_towards: ClassVar[Mapping[str, float]] = {"shape": math.inf, "p": 1.0}
    theorems = stated("wagner2025/bitsum", "negative_binomial")

    def directions(self, protocol: NegativeBinomial, tail: float) -> Directions:
        return laws.negative_binomial(protocol.shape, protocol.p, tail)

    def noise_law(self, protocol: NegativeBinomial, share: float, tail: float) -> IntegerLaw:
        return negative_binomial(protocol.shape * share, protocol.p, tail) if share > 0.0 else point_mass(0)

    def variance(self, protocol: NegativeBinomial) -> float:
        return float(formulas.variance(FLOATS, protocol.p, protocol.shape))

    def noise_above(self, protocol: NegativeBinomial, above: int) -> float:
        # In closed form: noise of a large shape has too many atoms to list for each error that is tried.
        return negative_binomial_tail(protocol.shape, protocol.p, above)

    def published(self, users: int, epsilon0: float, delta0: float) -> NegativeBinomial:
        return NegativeBinomial(users, float(formulas.shape(FLOATS, delta0)), float(formulas.p(FLOATS, epsilon0)))

    def published_notes(self, users: int, epsilon0: float, delta0: float) -> tuple[str, ...]:
        return self.theorems[0].outside(epsilon0=epsilon0, delta0=delta0)

    def least_error(
        self, users: int, composed_epsilon: ComposedEpsilon, target: float, max_messages_per_user: float | None = None
    ) -> NegativeBinomial:
        search = _Search(
            users, composed_epsilon, target, math.sqrt(least_poisson_mean(composed_epsilon, target, self.name))
        )
        limit, best = search.limit, search.near(NEAR_LIMIT)
        if max_messages_per_user is None or self.messages_per_user(best) <= max_messages_per_user:
            return best

        attempts: dict[float, NegativeBinomial | None] = {}

        def sends_few(error: float) -> bool:
            attempts[error] = attempt = search.cheapest(error, 1.0 - best.p)
            return attempt is not None and self.messages_per_user(attempt) <= max_messages_per_user

        def twice_as_far(error: float) -> float:
            return limit + 2.0 * (error - limit)

        near, far = limit * NEAR_LIMIT, limit * _FARTHEST
        bracket = galloped(sends_few, near, twice_as_far(near), grow=twice_as_far, ceiling=twice_as_far(far))
        if bracket is None:
            raise InfeasibleBudgetError(
                f"max_messages_per_user={max_messages_per_user!r} is too few for NB with users={users} at "
                f"epsilon={target!r}."
            )
        few = attempts[bisected(sends_few, *bracket, relative=5e-3, geometric=True)[1]]
        assert few is not None
        return few

    def fewest_messages(
        self, users: int, composed_epsilon: ComposedEpsilon, target: float, near: float
    ) -> NegativeBinomial:
        limit = math.sqrt(least_poisson_mean(composed_epsilon, target, self.name))
        return _Search(users, composed_epsilon, target, limit).near(near)


@dataclass(frozen=True)
class _Search:
    """The search for noise that meets a target; `limit` is the error of Poisson noise, the least that is known."""

    users: int
    composed_epsilon: ComposedEpsilon
    target: float
    limit: float

    def near(self, factor: float) -> NegativeBinomial:
        """Return the protocol of the fewest messages found whose error is so many times the limit."""
        if (found := self.cheapest(self.limit * factor)) is None:
            raise InfeasibleBudgetError(
                f"epsilon={self.target!r} cannot be met by NB within {100.0 * (factor - 1.0):.3g} % of Poisson noise's "
                "error."
            )
        return found

    def cheapest(self, error: float, start: float = 0.5) -> NegativeBinomial | None:
        """Return a protocol of this RMSE with few messages, that is with a small rest = 1 - p, or None."""
        tail = tail_for(self.composed_epsilon)

        def made(rest: float) -> NegativeBinomial:
            return NegativeBinomial(self.users, (error * rest) ** 2 / (1.0 - rest), 1.0 - rest)

        if loss_of_bits(self.composed_epsilon.change) <= self.target:
            return made(start)
        # What skewness adds to Poisson noise's epsilon is nearly proportional to what it adds to the third cumulant,
        # `2 p / (1 - p)` times the variance; the first noise that is tried may have next to none, and tell that epsilon
        # better.
        floor = self.target * self.limit / error

        def excess(bound: ComposedEpsilon, rest: float) -> float:
            """Return the share of the excess that is allowed; for much rest, over this one, what rest has just that."""
            nonlocal floor
            protocol = made(rest)
            epsilon = searched_epsilon(bound, laws.negative_binomial(protocol.shape, protocol.p, tail))
            if epsilon <= floor:
                floor = epsilon - _SKEWNESS * (self.target - epsilon)
            share = (epsilon - floor) / (self.target - floor)
            linear = 1.0 < share < math.inf or (share > 0.0 and rest > 0.5)
            return share / (1.0 - rest + rest * share) if linear else share

        if (guess := self.composed_epsilon.guessed) != self.composed_epsilon:
            found = searched_epsilon(guess, laws.poisson(self.limit * self.limit, tail))
            if 0.0 < found < math.inf:
                # The bound there is about the target.
                likely = functools.partial(excess, guess.scaled(self.target / found))
                start = smallest_at_level(likely, 1.0, start, 1.0 - 1e-6, 2e-3) or start
                floor = self.target * self.limit / error
        rest = smallest_at_level(functools.partial(excess, self.composed_epsilon), 1.0, start, 1.0 - 1e-6, 2e-3)
        return None if rest is None else made(rest)


def least_poisson_mean(composed_epsilon: ComposedEpsilon, target: float, name: str) -> float:
    """Return the least mean, and variance, of Poisson noise whose composed epsilon is at most the target.

    Or next to none, where any noise is enough.

    The search of the protocol that the reason names begins there.

    Raises InfeasibleBudgetError if that is beyond 1e9.
    """
    if loss_of_bits(composed_epsilon.change) <= target:
        return NEXT_TO_NO_ERROR**2
    tail = tail_for(composed_epsilon)

    def epsilon(bound: ComposedEpsilon, deviation: float) -> float:
        return searched_epsilon(bound, laws.poisson(deviation * deviation, tail))

    # Where no noise at all is so likely that it leaves no epsilon, more of it is needed in any case.
    needed = math.log(max(composed_epsilon.change.full, 1.0)) - math.log(composed_epsilon.delta)
    start, ceiling = max(normal_deviation(composed_epsilon, target), math.sqrt(needed)), math.sqrt(_LARGEST_MEAN)
    # The epsilon of joint changes takes longer, and is not so smooth.
    tolerance = 5e-5 if isinstance(composed_epsilon.change, Full) else 5e-4
    reached = not out_of_reach(composed_epsilon, target, ceiling)
    deviation = least_noise(epsilon, composed_epsilon, target, start, ceiling, tolerance) if reached else None
    if deviation is None:
        raise InfeasibleBudgetError(
            f"epsilon={target!r} cannot be met by {name} at a variance below {_LARGEST_MEAN:g}."
        )
    return deviation * deviation
