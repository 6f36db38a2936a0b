"""What a protocol's own search finds for a budget, proved again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dpverify.changes import Change, Full
from dpverify.claims.bitsum.base import BitsumClaims
from dpverify.claims.shared.bitsum_pairs import LARGEST_LOSS, NEXT_TO_NO_ERROR, loss_of_bits
from dpverify.guarantee import Budget, CapacityError, InfeasibleBudgetError, ThreatModel
from dpverify.privacy_loss.composing.family import Entry, FamilyComposition
from dpverify.privacy_loss.joint.joint_change import JointChange
from dpverify.privacy_loss.joint.joint_loss import largest_loss_within
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from protocols.bitsum.base import BitsumProtocol
from protocols.classes.frozen import dataclass

__all__ = ["Search", "TargetEpsilon"]

_SEARCH_WIDTH, _COARSE_WIDTH = 3e-4, 3e-3
_NEXT_TO_NOTHING = 0.04
"""Of the budget: a joint change that spends less than half of that is not worth a sharp bound."""
_FAR_ABOVE = 1.1
"""So many times the budget a joint change needs no sharp bound, either."""
_FARTHEST_AIM = 2.0 * LARGEST_LOSS
"""The largest epsilon that is aimed at, for each instance: no noise that floats hold has as large a loss."""


@dataclass(frozen=True)
class TargetEpsilon:
    """See `dpverify.claims.shared.bitsum_pairs.ComposedEpsilon`."""

    change: Change
    target: Budget
    threat_model: ThreatModel
    only_decide: bool = False
    coarse: bool = False
    guess: bool = False
    scale: float = 1.0

    @property
    def mechanisms(self) -> int:  # noqa: D102
        return self.change.instances

    @property
    def delta(self) -> float:  # noqa: D102
        return self.target.delta

    @property
    def nearly(self) -> TargetEpsilon:
        """That of floor(T^2) full changes, which are among the joint ones; where T^2 is below 1 what is guessed.

        It is sharp for full changes: a coarse search rests on it.
        """
        if isinstance(self.change, Full):
            return replace(self, coarse=False)
        if self.change.full < 1.0:
            return self.guessed
        return replace(self, change=Full(math.floor(self.change.full)))

    @property
    def guessed(self) -> TargetEpsilon:
        """A guess where changes are joint, for few changes some per cent off."""
        return replace(self, guess=not isinstance(self.change, Full))

    def scaled(self, ratio: float) -> TargetEpsilon:  # noqa: D102
        return replace(self, scale=self.scale * ratio) if self.guess else self

    def __call__(  # noqa: D102
        self, pairs: Sequence[Entry], *, attained: Sequence[PrivacyLossDistribution] = (), decide: bool = False
    ) -> float:
        if (needless := loss_of_bits(self.change)) <= self.target.epsilon:
            return needless
        if not isinstance(self.change, Full):
            joint = JointChange(pairs, self.change, reference_delta=self.delta, guess=self.guess)
            share = 1.0 if decide or self.only_decide else _NEXT_TO_NOTHING
            target = self.target.epsilon
            return self.scale * joint.epsilon_upper(self.delta, decide=share * target, most=_FAR_ABOVE * target)
        family = FamilyComposition(
            pairs,
            self.mechanisms,
            attained=attained or _some(pairs[0]),
            relative_width=_COARSE_WIDTH if self.coarse else _SEARCH_WIDTH,
            reference_delta=self.delta,
        )
        decided = decide or self.only_decide or self.coarse
        return family.epsilon(self.delta, quick=True, decide=self.target.epsilon if decided else None).upper


@dataclass(frozen=True)
class Search:
    """The search for a protocol's parameters.

    - claims: The protocol's twin.
    - users: n.
    - max_messages_per_user, error_margin: As in `dpverify.planning.plan.plan`.
    """

    claims: BitsumClaims[Any]
    users: int
    max_messages_per_user: float | None = None
    error_margin: float | None = None

    def proved(self, epsilon: TargetEpsilon) -> tuple[BitsumProtocol, float]:
        """Return what meets the budget, or what does at delta = 0 where that errs less, or all that can be computed.

        So less delta never costs more than none. Behind the protocol stands the epsilon that is proved for it.
        """
        target = epsilon.target
        share = largest_loss_within(target.exact_epsilon, epsilon.change)
        if epsilon.delta == 0.0 or not self.claims.pure or share == 0.0:
            return self._proved(epsilon)
        found: list[tuple[BitsumProtocol, float]] = []
        reasons: list[ValueError] = []
        pure = replace(epsilon, change=Full(1), target=Budget(share, 0))
        for attempt in (pure, epsilon):
            if found and self.claims.rmse(found[0][0]) < NEXT_TO_NO_ERROR:
                break
            try:
                protocol, spent = self._proved(attempt)
            except (InfeasibleBudgetError, CapacityError) as error:
                reasons.append(error)
                continue
            found.append((protocol, target.epsilon if attempt is pure else spent))
        if not found:
            raise reasons[-1]
        return min(found, key=lambda each: self.claims.rmse(each[0]))

    def _proved(self, epsilon: TargetEpsilon) -> tuple[BitsumProtocol, float]:
        """Return the protocol that is found within the target, and the epsilon that is proved for it.

        A coarse search that finds none is followed by a sharp one. The proof is made again for what a search returned:
        it may settle whether its own bound is below the target on another grid, or with other tails.
        """
        if epsilon.coarse:
            with suppress(InfeasibleBudgetError):
                return self._proved_as(epsilon)
        return self._proved_as(replace(epsilon, coarse=False))

    def _proved_as(self, epsilon: TargetEpsilon) -> tuple[BitsumProtocol, float]:
        target = epsilon.target.epsilon
        aim = min(target, _FARTHEST_AIM * epsilon.mechanisms)
        for _ in range(8):
            protocol = self._found(epsilon, aim)
            if epsilon.delta == 0.0:
                return protocol, target
            for bound in (epsilon, replace(epsilon, only_decide=True)):
                proved = self.claims.guaranteed_epsilon(protocol, bound)
                if proved <= target:
                    return protocol, proved
            aim *= 1.0 - 1e-4
        raise InfeasibleBudgetError(
            f"epsilon={target!r} cannot be proved for any parameters of {self.claims.name} that were tried."
        )

    def _found(self, epsilon: TargetEpsilon, aim: float) -> BitsumProtocol:
        found: BitsumProtocol
        if self.error_margin is None:
            found = self.claims.least_error(self.users, epsilon, aim, self.max_messages_per_user)
        else:
            found = self.claims.fewest_messages(self.users, epsilon, aim, 1.0 + self.error_margin)
        return found


def _some(entry: Entry) -> list[PrivacyLossDistribution]:
    return [entry if isinstance(entry, PrivacyLossDistribution) else entry[0]]
