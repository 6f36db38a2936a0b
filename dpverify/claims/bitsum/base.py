"""What a binary-sum protocol's twin states: exact pairs, error, communication, published parameters, theorems."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

from dpverify.changes import Change, Full, FullOfPoints
from dpverify.claims.base import Families, MechanismClaims
from dpverify.claims.shared.bitsum_pairs import CoinPairs, ComposedEpsilon, Pairs, negligible
from dpverify.guarantee import CapacityError, InfeasibleBudgetError, Interval, PrivacyCurve, ThreatModel
from dpverify.laws.discrete import DiscreteLaw, NoLawError
from dpverify.laws.messages import MessagesLaw, counted_bits
from dpverify.privacy_loss.composing.bounds import BestCurve, InfiniteLossCurve, LargestLossCurve
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.datasets.covers import tied
from dpverify.privacy_loss.joint.joint_change import JointChange
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from protocols.bitsum.base import BitsumProtocol
from protocols.validation import check_integer

__all__ = ["BitsumClaims", "OneMessageClaims"]

_LOOSE = 1e-3
"""The share of delta0 that cut tails may take where a bound need not be sharp."""

P = TypeVar("P", bound=BitsumProtocol)


class BitsumClaims(MechanismClaims[P]):
    """The twin of one binary-sum protocol."""

    audited_as = "dpverify.audit.subjects.bitsum:bitsum_subject"
    coarse: ClassVar[bool] = False
    """Whether a coarse search takes a fraction of the time of a sharp one."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Refuse symbols that the counts of a view cannot be of."""
        super().__init_subclass__(**keywords)
        alphabet = cls.protocol.alphabet if "protocol" in vars(cls) else ()
        whole = isinstance(alphabet, tuple) and all(isinstance(symbol, int) for symbol in alphabet)
        if not whole or len(set(alphabet)) < len(alphabet):
            raise ValueError(f"alphabet={alphabet!r} of {cls.name} must be a tuple of distinct integers.")

    @abstractmethod
    def pairs(self, protocol: P) -> Pairs:
        """Return the pairs of views for the replace-one adjacency and the default threat model."""

    def views(self, protocol: P, threat_model: ThreatModel) -> Pairs:
        """Return the pairs of what one of the `threat_models` sees."""
        return self.pairs(protocol)

    def views_at(self, protocol: P, threat_model: ThreatModel, tail: float) -> Pairs:
        """Return the pairs, which leave out no more than about `tail` of mass, and state what they do leave out."""
        return self.views(protocol, threat_model)

    def families(self, protocol: P, threat_model: ThreatModel, tail: float, *, loose: bool = False) -> Families:
        views = self.loose_views if loose else self.views_at
        found = views(protocol, threat_model, tail / _LOOSE if loose else tail)
        return ((found.every, found.attained),)

    def among_coins(self, protocol: P) -> CoinPairs | None:
        """Return the pairs in which others' coins count as noise; None where there are none, or no law of them here."""
        return None

    def among_equals(self, protocol: P, size: float) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution] | None:
        """Return the pairs of one bit's move by t: up, and back; None where there is no law of them here.

        It goes from `(1 - t)/2` to `(1 + t)/2`, the probability to be 1, and all others' bits are 1 with that before.
        The pairs may reveal a little less.

        - protocol: The bitsum.
        - size: t, in (0, 1].
        """
        return None

    def note(self, protocol: P, threat_model: ThreatModel) -> str:
        """Return which datasets attain the pairs, and how the rest is covered."""
        if self._noiseless(protocol):
            return f"{self.noise} = 0: without noise the view tells how many ones there are"
        return self.views(protocol, threat_model).note

    def curve(
        self,
        protocol: P,
        changes: Change,
        threat_model: ThreatModel,
        *,
        relative_width: float = 1e-6,
        reference_delta: float = 1e-6,
    ) -> BestCurve:
        """Return the privacy curve of many runs on the same users, over all datasets and mixes of directions."""

        def exact() -> PrivacyCurve:
            if self._noiseless(protocol):
                raise CapacityError(
                    f"{self.noise}=0.0 must be positive: without noise no loss of {self.name} is finite."
                )
            pairs = self.views_at(protocol, threat_model, negligible(reference_delta, changes.instances))
            if not isinstance(changes, Full):
                return JointChange(pairs.every, changes, attained=pairs.attained, reference_delta=reference_delta)
            accuracy = {"relative_width": relative_width, "reference_delta": reference_delta}
            every = tied(pairs.every) if isinstance(changes, FullOfPoints) else pairs.every
            return FamilyComposition(every, changes.instances, attained=pairs.attained, **accuracy)

        return BestCurve(
            LargestLossCurve(self.pure_epsilon(protocol, threat_model), changes),
            lambda: InfiniteLossCurve(self.infinite_mass(protocol, threat_model), changes),
            exact,
        )

    def infinite_mass(self, protocol: P, threat_model: ThreatModel) -> float:
        return float(self._noiseless(protocol))

    def _noiseless(self, protocol: P) -> bool:
        return bool(self.noise) and getattr(protocol, self.noise) == 0.0

    def loose_views(self, protocol: P, threat_model: ThreatModel, delta0: float) -> Pairs:
        """Return pairs that are quick to make, for one instance at delta0 and where the bound need not be sharp."""
        return self.views_at(protocol, threat_model, max(_LOOSE * delta0, negligible(delta0, 1)))

    def proves(self, protocol: P, threat_model: ThreatModel, epsilon0: float, delta0: float) -> bool:
        """Return whether exact accounting proves one instance to be (epsilon0, delta0)-DP, whatever its source claims.

        What a published formula says has room, as a rule, so that a loose bound does.
        """
        if (pure := self.pure_epsilon(protocol, threat_model).upper <= epsilon0) or delta0 == 0.0:
            return pure
        if self.loose_views(protocol, threat_model, delta0).delta_upper(epsilon0) <= delta0:
            return True
        return self.views_at(protocol, threat_model, negligible(delta0, 1)).delta_upper(epsilon0) <= delta0

    def guaranteed_epsilon(self, protocol: P, composed_epsilon: ComposedEpsilon) -> float:
        """Return the composed epsilon, an upper bound, by the rule that `least_error` searched with."""
        left_out = negligible(composed_epsilon.delta, composed_epsilon.mechanisms)
        adversary, coarse = composed_epsilon.threat_model, composed_epsilon.coarse
        ((every, attained),) = self.families(protocol, adversary, left_out, loose=coarse)
        return composed_epsilon(every, attained=attained)

    @abstractmethod
    def rmse(self, protocol: P) -> float:
        """Return the exact root mean squared error of the estimate, in users, for the worst input where they differ."""

    def rmse_over_inputs(self, protocol: P) -> Interval:
        """Return the least and the largest root mean squared error over all inputs, both attained, up to rounding."""
        worst = self.rmse(protocol)
        return Interval(worst, worst)

    @abstractmethod
    def messages_per_user(self, protocol: P, fraction_of_ones: float = 1.0) -> float:
        """Return the expected number of messages per user at this fraction of ones (worst case by default)."""

    @abstractmethod
    def messages_law(self, protocol: P, instances: int = 1, fraction_of_ones: float = 1.0) -> MessagesLaw:
        """Return the exact law of how many messages one user sends over independent instances.

        - protocol: The protocol of every instance.
        - instances: How many she takes part in, at least 1; I Q in Algorithm 1.
        - fraction_of_ones: The probability with which each of her bits is 1, independently: 1 or 0 for sure ones or
          zeros. As in `messages_per_user`, 1 is the worst case: the number is stochastically increasing in the bits.
        """

    def messages_range(self, protocol: P) -> tuple[int, float]:
        """Return the fewest and the most messages that a user can send, whatever her bit."""
        return 0, math.inf

    def estimate_law(self, protocol: P, ones: int, participants: int | None = None) -> DiscreteLaw:
        """Return the exact law of the analyzer's estimate.

        - protocol: A protocol whose estimate is discrete.
        - ones: How many of the participants hold 1.
        - participants: How many users take part, with noise of m/n of the total: at most n, all when omitted.

        Raises NoLawError for a protocol without a discrete law.
        """
        law = self._readable(protocol, *_checked(protocol, ones, participants))
        return _rows(protocol, law).image(protocol.analyze)

    def view_law(self, protocol: P, ones: int, participants: int | None = None) -> DiscreteLaw:
        """Return the exact law of the shuffled view, its points the rows that `sample_view` draws.

        The parameters are those of `estimate_law`.

        Raises NoLawError for a protocol without a discrete law. Raises ValueError where the joint law of the view's
        counts is too large: audit the estimate and `marginals` instead.
        """
        return _rows(protocol, self._view(protocol, *_checked(protocol, ones, participants)))

    def marginals(self, protocol: P, ones: int, participants: int | None = None) -> dict[str, DiscreteLaw]:
        """Return the exact laws of the estimate, and of each count of the view that the others do not fix.

        Unlike the joint law of a view with two counts, these stay small for any amount of noise. The parameters are
        those of `estimate_law`.

        Returns: "estimate", then such as "count of +1".
        """
        estimate = self.estimate_law(protocol, ones, participants)
        return {"estimate": estimate, **self._counts(protocol, *_checked(protocol, ones, participants))}

    def _view(self, protocol: P, ones: int, participants: int) -> DiscreteLaw:
        """Return the law of the view: rows of a count per symbol, in the alphabet's order; else of what is released."""
        raise NoLawError(f"protocol={protocol!r} has no discrete law here.")

    def _readable(self, protocol: P, ones: int, participants: int) -> DiscreteLaw:
        """Return a law of views of which the analyzer makes the estimates of the true law: a smaller one, if any."""
        return self._view(protocol, ones, participants)

    def _counts(self, protocol: P, ones: int, participants: int) -> dict[str, DiscreteLaw]:
        """Return what `marginals` adds to the estimate; for views too large to be listed, each by itself."""
        if not protocol.alphabet:
            return {}
        view = self.view_law(protocol, ones, participants)
        totals = view.points.sum(axis=1)
        fixed = int(len(protocol.alphabet) > 1 and totals.min() == totals.max())  # the first, by the others
        columns = list(enumerate(protocol.alphabet))[fixed:]
        return {
            f"count of {symbol:+d}": DiscreteLaw.of(view.points[:, at], view.pmf, view.outside)
            for at, symbol in columns
        }

    @abstractmethod
    def published(self, users: int, epsilon0: float, delta0: float) -> P:
        """Return the protocol with the published parameters for an (epsilon0, delta0)-DP instance.

        Raises FormulaRangeError where the published formula has no meaning.
        """

    def published_against(self, threat_model: ThreatModel, users: int, epsilon0: float, delta0: float) -> P:
        """Return `published` for one of the `threat_models`, where the parameters depend on it."""
        return self.published(users, epsilon0, delta0)

    @abstractmethod
    def published_notes(self, users: int, epsilon0: float, delta0: float) -> tuple[str, ...]:
        """Return one sentence for each hypothesis of the published formula that does not hold."""

    @abstractmethod
    def least_error(
        self, users: int, composed_epsilon: ComposedEpsilon, target: float, max_messages_per_user: float | None = None
    ) -> P:
        """Return the protocol of least error whose composed epsilon is at most the target.

        - users: n.
        - composed_epsilon: The composed epsilon, an upper bound, of an instance's pairs; never called at delta = 0.
        - target: The budget's epsilon.
        - max_messages_per_user: A bound on the expected messages per user, for protocols that trade error against
          communication.

        Raises InfeasibleBudgetError if no parameter meets the target.
        """

    def affordable(self, protocol: P, max_messages_per_user: float | None, target: float) -> P:
        """Return the protocol found, unless it takes more messages than are allowed."""
        needed = self.messages_per_user(protocol)
        if max_messages_per_user is not None and needed > max_messages_per_user:
            raise InfeasibleBudgetError(
                f"max_messages_per_user={max_messages_per_user!r} must be at least {needed:.6g} for {self.name} with "
                f"users={protocol.users} at epsilon={target!r}."
            )
        return protocol

    def fewest_messages(self, users: int, composed_epsilon: ComposedEpsilon, target: float, near: float) -> P:
        """Return the protocol of fewest messages whose error is so many times its infimum over all communication.

        Where neither can be traded for the other, that is the one of least error.
        """
        return self.least_error(users, composed_epsilon, target)

    def bits_per_message(self) -> int:
        """Return the content of a message in bits, the tag of the instance apart."""
        return max(1, (len(self.protocol.alphabet) - 1).bit_length())


class OneMessageClaims(BitsumClaims[P]):
    """The twin of a protocol whose users send one message each, or hand over one bit."""

    def messages_per_user(self, protocol: P, fraction_of_ones: float = 1.0) -> float:
        return 1.0

    def messages_law(self, protocol: P, instances: int = 1, fraction_of_ones: float = 1.0) -> MessagesLaw:
        return MessagesLaw((counted_bits(instances, 1.0),))

    def messages_range(self, protocol: P) -> tuple[int, float]:
        return 1, 1

    def least_error(
        self, users: int, composed_epsilon: ComposedEpsilon, target: float, max_messages_per_user: float | None = None
    ) -> P:
        return self.affordable(self.least_noise(users, composed_epsilon, target), max_messages_per_user, target)

    @abstractmethod
    def least_noise(self, users: int, composed_epsilon: ComposedEpsilon, target: float) -> P:
        """Return what `least_error` returns, which no bound on messages changes."""


def _rows(protocol: BitsumProtocol, law: DiscreteLaw) -> DiscreteLaw:
    """Return a law of views, whose rows are counts of the protocol's symbols."""
    if protocol.alphabet and law.points.shape[1:] != (len(protocol.alphabet),):
        raise ValueError(
            f"the claims about {type(protocol).__name__} state views of shape {law.points.shape}, but must state a "
            f"column for each of the symbols {protocol.alphabet}."
        )
    return law


def _checked(protocol: BitsumProtocol, ones: int, participants: int | None) -> tuple[int, int]:
    users = protocol.users
    taking_part = check_integer("participants", users if participants is None else participants, low=0, high=users)
    return check_integer("ones", ones, low=0, high=taking_part), taking_part
