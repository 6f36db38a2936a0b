"""What is true of `protocols.bitsum.poisson`.

The noise is additive and independent of the data, so one pair, Z + 1 against Z, covers every dataset. Noise of a larger
mean is that of a smaller one plus independent noise: more privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from dpverify.claims.base import MoreUsers
from dpverify.claims.bitsum.base import BitsumClaims
from dpverify.claims.bitsum.negative_binomial import counted, least_poisson_mean
from dpverify.claims.shared.bitsum_pairs import DATA_INDEPENDENT, LEFT_OUT, ComposedEpsilon, Pairs, noise_tail
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import InfeasibleBudgetError, ThreatModel
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.messages import TAIL, MessagesLaw, counted_bits
from dpverify.laws.noise import poisson
from dpverify.laws.window import point_mass
from dpverify.papers.theorem import Theorem
from dpverify.privacy_loss.losses import pairs as laws
from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.negative_binomial import Estimate
from protocols.bitsum.poisson import Poisson

__all__ = ["PoissonClaims"]


class PoissonClaims(BitsumClaims[Poisson]):
    """The twin of `Poisson`."""

    name: ClassVar[str] = "poisson"
    protocol: ClassVar[type[BitsumProtocol]] = Poisson
    more_users: ClassVar[MoreUsers] = MoreUsers.SAME
    noise: ClassVar[str] = "mean"
    more_private_towards: ClassVar[Mapping[str, float]] = {"mean": math.inf}
    theorems: ClassVar[tuple[Theorem, ...]] = ()

    def pairs(self, protocol: Poisson) -> Pairs:  # noqa: D102
        return self.views_at(protocol, self.threat_models[0], LEFT_OUT)

    def views_at(self, protocol: Poisson, threat_model: ThreatModel, tail: float) -> Pairs:  # noqa: D102
        directions = tuple(laws.poisson(protocol.mean, noise_tail(tail)))
        return Pairs(directions, directions, note=DATA_INDEPENDENT)

    def note(self, protocol: Poisson, threat_model: ThreatModel) -> str:  # noqa: D102
        return DATA_INDEPENDENT

    def parameters(self, protocol: Poisson) -> dict[str, Any]:  # noqa: D102
        return {"mean": protocol.mean, "estimate": protocol.estimate.value}

    def rmse(self, protocol: Poisson) -> float:  # noqa: D102
        bias = 0.0 if protocol.estimate is Estimate.DEBIASED else protocol.mean
        return math.hypot(math.sqrt(protocol.mean), bias)

    def messages_per_user(self, protocol: Poisson, fraction_of_ones: float = 1.0) -> float:
        """Return the expected number; for `Estimate.UNDER` the fraction is that of the zeros, which users send."""
        return fraction_of_ones + protocol.mean / protocol.users

    def messages_law(  # noqa: D102
        self, protocol: Poisson, instances: int = 1, fraction_of_ones: float = 1.0
    ) -> MessagesLaw:
        bits = counted_bits(instances, fraction_of_ones)
        noise = poisson(instances * protocol.mean / protocol.users, TAIL)
        return MessagesLaw((bits, (1, noise)))

    def _view(self, protocol: Poisson, ones: int, participants: int) -> DiscreteLaw:
        noise = poisson(protocol.mean * (participants / protocol.users), views.TAIL)
        return views.one_count(views.total(point_mass(counted(protocol, ones, participants)), noise))

    def published(self, users: int, epsilon0: float, delta0: float) -> Poisson:
        """Raise FormulaRangeError: wagner2025 (Appendix B.1) says that Poisson noise works, and not how much."""
        raise FormulaRangeError("No source of this project states a mean for Poisson noise; the exact law does.")

    def published_notes(self, users: int, epsilon0: float, delta0: float) -> tuple[str, ...]:  # noqa: D102
        return ()

    def least_error(  # noqa: D102
        self, users: int, composed_epsilon: ComposedEpsilon, target: float, max_messages_per_user: float | None = None
    ) -> Poisson:
        protocol = Poisson(users, least_poisson_mean(composed_epsilon, target, self.name))
        needed = self.messages_per_user(protocol)
        if max_messages_per_user is not None and needed > max_messages_per_user:
            raise InfeasibleBudgetError(
                f"max_messages_per_user={max_messages_per_user!r} must be at least {needed:.6g} for Poisson noise with "
                f"users={users} at epsilon={target!r}."
            )
        return protocol
