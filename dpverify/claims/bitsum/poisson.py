"""What is true of `protocols.bitsum.poisson`.

The noise is additive and independent of the data, so one pair, Z + 1 against Z, covers every dataset. Noise of a larger
mean is that of a smaller one plus independent noise: more privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from dpverify.claims.bitsum.negative_binomial import SingleNoiseClaims, least_poisson_mean
from dpverify.claims.shared.bitsum_pairs import ComposedEpsilon
from dpverify.formulas import FormulaRangeError
from dpverify.laws.noise import poisson
from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.losses import pairs as laws
from dpverify.privacy_loss.losses.pairs import Directions
from protocols.bitsum.poisson import Poisson

__all__ = ["PoissonClaims"]


class PoissonClaims(SingleNoiseClaims[Poisson]):
    """The twin of `Poisson`."""

    name = "poisson"
    protocol = Poisson
    noise = "mean"
    more_private_towards: ClassVar[Mapping[str, float]] = {"mean": math.inf}

    def directions(self, protocol: Poisson, tail: float) -> Directions:
        return laws.poisson(protocol.mean, tail)

    def noise_law(self, protocol: Poisson, share: float, tail: float) -> IntegerLaw:
        return poisson(protocol.mean * share, tail)

    def variance(self, protocol: Poisson) -> float:
        return protocol.mean

    def published(self, users: int, epsilon0: float, delta0: float) -> Poisson:
        """Raise FormulaRangeError: wagner2025 (Appendix B.1) says that Poisson noise works, and not how much."""
        raise FormulaRangeError("No source of this project states a mean for Poisson noise; the exact law does.")

    def published_notes(self, users: int, epsilon0: float, delta0: float) -> tuple[str, ...]:
        return ()

    def least_error(
        self, users: int, composed_epsilon: ComposedEpsilon, target: float, max_messages_per_user: float | None = None
    ) -> Poisson:
        protocol = Poisson(users, least_poisson_mean(composed_epsilon, target, self.name))
        return self.affordable(protocol, max_messages_per_user, target)
