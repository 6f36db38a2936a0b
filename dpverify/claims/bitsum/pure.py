"""What is true of `protocols.bitsum.pure`, whose two views are accounted apart.

Both views are that of the user under attack plus that of the others' bits, which are independent of her. Leaving the
others' bits out can only help the adversary, so the dataset in which all others hold 0 is the worst at every epsilon,
and with P0 the view's law for bit 0 and P1 its law for an undropped 1, the pair is `q P0 + (1-q) P1` against P0.

- **The sum** (model threat, or a shuffler that reveals only sums): y and the noise. For discrete Laplace noise, r = 1,
  the ratio P1/P0 takes the values p and 1/p, so the largest loss is `ln(q + (1-q)/p)`, below ln(1/p), in one direction
  and `-ln(q + (1-q) p)`, which is smaller, in the other. For r > 1 the noise is log-concave: the ratio grows from p to
  1/p, and the largest loss is approached and not attained. For r < 1 its pmf g is log-convex on either side of 0 (a
  mixture of shifts of such), so that the largest ratio is g(0)/g(1), in the place of 1/p. For any number k of other
  ones the ratio tends to 1/p far to the right: pure DP with exactly that epsilon for r >= 1, for all n and every
  dataset.
- **The two counts** (communication threat): P1/P0 is an average of f(z-1)/f(z), f the pmf of Z1, so at most 1/p for
  r >= 1 and f(0)/f(1) = 1/(r p) for r < 1, which the counts (1, 0) have; larger counts, and none of -1, tend to 1/p. It
  is 0 where no message +1 was sent. So with that for 1/p the largest losses are `ln(q + (1-q)/p)` and `ln(1/q)`,
  whatever the flood, and the latter is attained for all n in the dataset of zeros. Hence message-level pure epsilon-DP
  holds if and only if `q >= e^-epsilon` (and the noise is enough): this much dropping is what a local randomizer would
  need. At delta > 0 the flood does hide it, and q = 0, which is 3NB, is best.

Every parameter is more private the larger it is. For the noise and the flood see `dpverify.claims.bitsum.three_nb`.
For q: with `1 - q' = (1-s)(1-q)` the pair becomes `(1-s) A + s P0` against P0, where A was its first law, so joint
convexity gives at most 1-s times either direction's divergence at every epsilon >= 0, which is domination.

More generally, no protocol whose users may send nothing is epsilon-DP unless nothing is sent with nearly the same
probability for both bits: the view without any message has the probability of all users sending none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from dpverify.claims.base import MoreUsers
from dpverify.claims.bitsum.three_nb import ThreeNBClaims, TwoCounts, TwoCountsClaims, flood_suffices
from dpverify.claims.shared.bitsum_pairs import LARGEST_LOSS, LEFT_OUT, ComposedEpsilon, Pairs
from dpverify.claims.shared.divisible_noise import NEAR_LIMIT, counts, least_spreads, near_limits, noise_p
from dpverify.formulas import FormulaRangeError
from dpverify.formulas.contexts import (
    FLOATS,
    ArbContext,
    UndecidedComparisonError,
    arb_context,
    enclosure,
    nudged,
    upper_float,
)
from dpverify.formulas.protocols import pure as formulas
from dpverify.formulas.protocols import three_nb
from dpverify.guarantee import CapacityError, InfeasibleBudgetError, Interval, ThreatModel
from dpverify.laws import views
from dpverify.laws.messages import MessagesLaw, counted_bits
from dpverify.papers.entries import stated
from dpverify.privacy_loss.floods.cells import Enclosure
from dpverify.privacy_loss.floods.two_counts import negative_binomial_counts
from dpverify.privacy_loss.losses import pairs as laws
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import erased
from dpverify.privacy_loss.losses.pairs import two_valued
from dpverify.search import smallest_at_level
from protocols.bitsum.pure import Pure
from protocols.bitsum.three_nb import ThreeNB

__all__ = ["RHO", "PureClaims"]

RHO = 0.5
"""rho, which the experiments take from (0, 1/2]: the most error allowed beyond that of discrete Laplace noise."""

_MOST_FLOOD = 1e7


class PureClaims(TwoCountsClaims[Pure]):
    """The twin of `Pure`."""

    name = "pure"
    protocol = Pure
    more_users = MoreUsers.SAME
    noise = "p"
    more_private_towards: ClassVar[Mapping[str, float]] = {
        **ThreeNBClaims.more_private_towards,
        "drop_probability": 1.0,
    }
    threat_models = (ThreatModel.COMMUNICATION, ThreatModel.MODEL)
    seen = "communication (the counts of +1 and -1) or model (their difference alone)."
    pure = True
    theorems = stated("wagner2025/bitsum", "pure")

    def pairs(self, protocol: Pure) -> Pairs:
        return self.views(protocol, ThreatModel.COMMUNICATION)

    def views(self, protocol: Pure, threat_model: ThreatModel) -> Pairs:
        return self.views_at(protocol, threat_model, LEFT_OUT)

    def views_at(self, protocol: Pure, threat_model: ThreatModel, tail: float) -> Pairs:
        if threat_model is not ThreatModel.MODEL:
            # Mixing and sorting what may be dropped costs several times as much.
            undropped = counts(protocol.noise, tail, max_atoms=laws.MOST_COUNTS // 4)
        elif protocol.shape == 1.0:
            # Not -ln p rounded: the noise's largest loss, enclosed.
            with arb_context() as ctx:
                worst = two_valued(enclosure(-ctx.log(protocol.p)))
            exact = laws.Directions(worst, worst)
            undropped = Enclosure(exact, exact)
        else:
            undropped = negative_binomial_counts(protocol.shape, protocol.p, None, tail)
        every = self._erased(undropped.upper, protocol)
        attained = every if undropped.lower is undropped.upper else self._erased(undropped.lower, protocol)
        return Pairs(every, attained, note=self.note(protocol, threat_model))

    @staticmethod
    def _erased(pair: laws.Directions, protocol: Pure) -> tuple[PrivacyLossDistribution, ...]:
        directions = erased(pair, protocol.drop_probability)
        return directions[:1] if directions.up is directions.down else tuple(directions)

    def note(self, protocol: Pure, threat_model: ThreatModel) -> str:
        what = "the sum of the messages" if threat_model is ThreatModel.MODEL else "the counts of +1 and -1"
        return f"view: {what}; attained by all other users holding 0, the worst dataset"

    def infinite_mass(self, protocol: Pure, threat_model: ThreatModel) -> float:
        """Return what 3NB has where no bit is dropped; else no message +1 may mean a dropped one, a finite loss."""
        if threat_model is ThreatModel.MODEL or protocol.drop_probability > 0.0:
            return 0.0
        return ThreeNBClaims().infinite_mass(protocol.noise, threat_model)

    def pure_epsilon(self, protocol: Pure, threat_model: ThreatModel) -> Interval:
        if protocol.p == 0.0 or (threat_model is not ThreatModel.MODEL and protocol.drop_probability == 0.0):
            return Interval(math.inf, math.inf)
        loss = formulas.sum_view_loss if threat_model is ThreatModel.MODEL else formulas.message_view_loss
        with arb_context() as ctx:
            return enclosure(loss(ctx, self._least_ratio(ctx, protocol, threat_model), protocol.drop_probability))

    @staticmethod
    def _least_ratio(ctx: ArbContext, protocol: Pure, threat_model: ThreatModel) -> Any:
        """Return the infimum of P0/P1 without dropping."""
        p, r = ctx.convert(protocol.p), ctx.convert(protocol.shape)
        if protocol.shape >= 1.0:
            return p
        if threat_model is not ThreatModel.MODEL:
            return r * p
        # g(d) = (1-p)^(2r) sum_w f(w) f(w+d) of f(w) = (r)_w p^w / w!, a hypergeometric series in p^2.
        square = p * p
        return r * p * square.hypgeom_2f1(r, r + 1, 2) / square.hypgeom_2f1(r, r, 1)

    def rmse(self, protocol: Pure) -> float:
        """Return the exact root mean squared error if all users hold a one: the largest."""
        return math.sqrt(
            formulas.variance(FLOATS, protocol.p, protocol.drop_probability, protocol.users, protocol.shape)
        )

    def rmse_over_inputs(self, protocol: Pure) -> Interval:
        """Return the errors if no user holds a one, and if all do: what is dropped adds to the noise."""
        least = math.sqrt(formulas.variance(FLOATS, protocol.p, protocol.drop_probability, 0, protocol.shape))
        return Interval(least, self.rmse(protocol))

    def messages_per_user(self, protocol: Pure, fraction_of_ones: float = 1.0) -> float:
        kept = fraction_of_ones * (1.0 - protocol.drop_probability)
        return ThreeNBClaims().messages_per_user(protocol.noise, kept)

    def messages_law(self, protocol: Pure, instances: int = 1, fraction_of_ones: float = 1.0) -> MessagesLaw:
        _, *noise = ThreeNBClaims().messages_law(protocol.noise, instances, fraction_of_ones).parts
        return MessagesLaw((counted_bits(instances, fraction_of_ones, protocol.drop_probability), *noise))

    def two_counts(self, protocol: Pure, ones: int, participants: int) -> TwoCounts:
        return TwoCounts(views.kept_ones(ones, protocol.drop_probability), protocol.noise, participants)

    def published(self, users: int, epsilon0: float, delta0: float) -> Pure:
        """Return eps', q at rho = 1/2 and, since no source states the flood, the least that is enough.

        The flood's shape is that of 3NB (wagner2025, A.2), its mean the least at which an instance's two counts are
        exactly (epsilon0, delta0)-DP; where that cannot be listed, what docs/floods.md proves to be enough in closed
        form, two to three times as much.

        Raises FormulaRangeError: At delta0 = 0, as no flood makes the messages pure; or if q is not below 1. Raises
        InfeasibleBudgetError if that takes more than 1e7 messages in all.
        """
        if delta0 == 0.0:
            q = float(formulas.drop_probability(FLOATS, epsilon0, RHO, users))
            raise FormulaRangeError(
                f"delta0=0 must be in (0, 1): no flood makes the messages pure (largest loss {-math.log(q):.4g} at "
                f"epsilon0={epsilon0!r}), but the released sum alone (model threat) is."
            )
        p, q = self._published_p(epsilon0), float(formulas.drop_probability(FLOATS, epsilon0, RHO, users))
        shape = float(three_nb.flood_shape(FLOATS, epsilon0, delta0))

        def made(mean: float) -> Pure:
            return Pure(users, p, q, shape, mean / (mean + shape))

        def delta(mean: float) -> float:
            return self.loose_views(made(mean), ThreatModel.COMMUNICATION, delta0).delta_upper(epsilon0)

        start = shape / -math.expm1(-epsilon0 / (epsilon0 - math.log(delta0)))
        try:
            mean = smallest_at_level(delta, delta0, start, _MOST_FLOOD, 1e-2)
        except CapacityError:
            if (found := self._in_closed_form(made(start), epsilon0, delta0)) is None:
                raise
            return found
        if mean is None:
            raise InfeasibleBudgetError(
                f"delta0={delta0!r} at epsilon0={epsilon0!r} needs a flood of more than {_MOST_FLOOD:g} messages."
            )
        return made(mean)

    @staticmethod
    def _in_closed_form(protocol: Pure, epsilon0: float, delta0: float) -> Pure | None:
        """Return the protocol with a flood that suffices, or None where its hypotheses do not hold."""
        with arb_context() as ctx:
            try:
                hidden, most = _undropped(ctx, protocol, epsilon0, delta0)
                slack = hidden + ctx.log(ctx.convert(protocol.p))
                flood_p = math.exp(-0.5 * float(slack))
                shape = upper_float(three_nb.sufficient_flood_shape(ctx, hidden, most, slack, flood_p))
            except (FormulaRangeError, UndecidedComparisonError):
                return None
        return dataclasses.replace(protocol, flood_shape=shape, flood_p=flood_p)

    def proves(self, protocol: Pure, threat_model: ThreatModel, epsilon0: float, delta0: float) -> bool:
        if threat_model is not ThreatModel.MODEL and protocol.shape >= 1.0 and delta0 > 0.0:
            with arb_context() as ctx, contextlib.suppress(FormulaRangeError, UndecidedComparisonError):
                # One direction is pure, and the flood hides the other.
                pure = bool(formulas.sum_view_loss(ctx, protocol.p, protocol.drop_probability) <= epsilon0)
                if pure and flood_suffices(protocol.noise, *_undropped(ctx, protocol, epsilon0, delta0)):
                    return True
        return super().proves(protocol, threat_model, epsilon0, delta0)

    @staticmethod
    def _published_p(epsilon0: float) -> float:
        return math.exp(-float(formulas.noise_epsilon(FLOATS, epsilon0, RHO)))

    def published_against(self, threat_model: ThreatModel, users: int, epsilon0: float, delta0: float) -> Pure:
        if threat_model is not ThreatModel.MODEL:
            return self.published(users, epsilon0, delta0)
        q = float(formulas.drop_probability(FLOATS, epsilon0, RHO, users))
        return Pure(users, self._published_p(epsilon0), q)

    def published_notes(self, users: int, epsilon0: float, delta0: float) -> tuple[str, ...]:
        if delta0 == 0.0:
            return (f"the sum alone is protected and no flood is sent; rho = {RHO:g}",)
        return (
            "the source states no flood: the least that is enough is sent, or where that is too large to be listed two "
            f"to three times as much; rho = {RHO:g}",
        )

    def least_error(
        self, users: int, composed_epsilon: ComposedEpsilon, target: float, max_messages_per_user: float | None = None
    ) -> Pure:
        if composed_epsilon.delta == 0.0 or composed_epsilon.threat_model is ThreatModel.MODEL:
            protocol = self.fewest_messages(users, composed_epsilon, target, NEAR_LIMIT)
        else:
            protocol = self._without_dropping(
                ThreeNBClaims().least_error(users, composed_epsilon, target, max_messages_per_user)
            )
        return self.affordable(protocol, max_messages_per_user, target)

    def fewest_messages(self, users: int, composed_epsilon: ComposedEpsilon, target: float, near: float) -> Pure:
        if composed_epsilon.delta == 0.0:
            return self._least_pure(users, composed_epsilon.threat_model, target)
        if composed_epsilon.threat_model is not ThreatModel.MODEL:
            return self._without_dropping(ThreeNBClaims().fewest_messages(users, composed_epsilon, target, near))
        limits = least_spreads(composed_epsilon, target)
        # The smaller the shape, the fewer messages.
        spreads = near_limits(limits, near)
        shape = next(shape for shape in limits if limits[shape] <= spreads[shape])
        return Pure(users, noise_p(limits[shape], shape), shape=shape)

    @staticmethod
    def _without_dropping(noise: ThreeNB) -> Pure:
        """Return 3NB as Pure: dropping adds error, and at delta > 0 the flood alone hides a missing +1."""
        return Pure(noise.users, noise.p, 0.0, noise.flood_shape, noise.flood_p, noise.shape)

    def guaranteed_epsilon(self, protocol: Pure, composed_epsilon: ComposedEpsilon) -> float:
        if composed_epsilon.threat_model is not ThreatModel.MODEL and protocol.drop_probability == 0.0:
            # Nothing is dropped: these are the messages of 3NB, whose plan was proved by the same account.
            return ThreeNBClaims().guaranteed_epsilon(protocol.noise, composed_epsilon)
        return super().guaranteed_epsilon(protocol, composed_epsilon)

    def _least_pure(self, users: int, threat_model: ThreatModel, target: float) -> Pure:
        """Return the pure protocol of least error: both terms of its variance grow with q, and p is set by q."""
        most = min(target, LARGEST_LOSS)
        if math.exp(-most) == 1.0:
            raise InfeasibleBudgetError(f"epsilon={target!r} leaves no drop probability below 1 for Pure.")

        def at(aim: float) -> Pure:
            q = 0.0 if threat_model is ThreatModel.MODEL else math.exp(-aim)
            return Pure(users, (1.0 - q) / (math.exp(aim) - q), q)

        return at(nudged(lambda aim: self.pure_epsilon(at(aim), threat_model).upper <= target, most, 0.0))


def _undropped(ctx: ArbContext, protocol: Pure, epsilon0: float, delta0: float) -> tuple[Any, Any]:
    """Return at which epsilon and delta 3NB must hide a message so that Pure does at these (docs/floods.md)."""
    q = ctx.convert(protocol.drop_probability)
    hidden = formulas.undropped_epsilon(ctx, epsilon0, q)
    return hidden, ctx.convert(delta0) / (1 - q * ctx.exp(ctx.convert(epsilon0)))
