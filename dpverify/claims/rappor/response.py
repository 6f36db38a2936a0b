"""What is true of `protocols.rappor.response`; proofs in docs/rappor.md.

**Privacy.** Given two values, each bit that only one of them sets is reported independently of all others, and the bits
that both set, or neither, say nothing. So the view is a product of as many copies of one bit's pair as there are such
bits, in the one direction or in the other: exact, composed by the engine, for any number of reports on one value.

**Many values.** Each has a permanent response of its own, so that a user who reports on I values, all of them replaced
by others, is I instances. When a value changes must be public: see `change_seen`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from dpverify.changes import Change
from dpverify.claims.base import Families, MechanismClaims
from dpverify.claims.rappor.bloom import Split, splits, splits_of
from dpverify.claims.shared.rappor_mixes import Bits, MixedSplits
from dpverify.formulas.contexts import arb_context, enclosure
from dpverify.formulas.protocols import rappor as formulas
from dpverify.guarantee import CapacityError, Interval, PrivacyCurve, ThreatModel
from dpverify.laws.window import DEFAULT_TAIL
from dpverify.papers.entries import stated
from dpverify.privacy_loss.composing.bounds import BestCurve, LargestLossCurve, WorstCurve
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.composing.once import OneInstance
from dpverify.privacy_loss.composing.several import SeveralComposition, SeveralLaws
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.memoized_bit import flipped_bit, memoized_bit
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.windows.product import listed_product
from protocols.rappor.response import PermanentResponse, Rappor

__all__ = ["PermanentClaims", "RapporClaims", "change_seen"]

P = TypeVar("P", bound=PermanentResponse)
_MOST_LISTED = math.log(2**16)
"""Of the atoms of a product: as many are listed, at no error; else the engine composes on a grid."""
_GAP = 1e-6
"""Where the search over splits of several instances stops at the earliest: another step costs another composition."""


class _ResponseClaims(MechanismClaims[P]):
    """The twin of a mechanism that reports the bits of a pattern independently."""

    threat_models = (ThreatModel.LOCAL,)
    audited_as = "dpverify.audit.subjects.rappor:rappor_subject"
    pure = True

    def bit(self, protocol: P, tail: float = DEFAULT_TAIL) -> Directions:
        """Return the pair of one bit that is set against one that is not."""
        raise NotImplementedError

    def loss(self, protocol: P, split: Split) -> Interval:
        """Return the largest privacy loss of a value against another one, by where their patterns differ."""
        raise NotImplementedError

    def pure_epsilon(self, protocol: P, threat_model: ThreatModel) -> Interval:
        return self._largest(protocol, splits(protocol))

    def pure_epsilon_of(self, protocol: P, values: Sequence[str]) -> Interval:
        """Return the largest privacy loss between some values, with the hash functions of the cohorts as they are."""
        return self._largest(protocol, splits_of(protocol.filter, values))

    def _largest(self, protocol: P, found: Sequence[Split]) -> Interval:
        every = [self.loss(protocol, split) for split in found]
        return Interval(max(loss.lower for loss in every), max(loss.upper for loss in every))

    def curve(self, protocol: P, changes: Change, threat_model: ThreatModel, **accuracy: float) -> PrivacyCurve:
        return self._curve(protocol, splits(protocol), changes, **accuracy)

    def curve_of(self, protocol: P, values: Sequence[str], changes: Change, **accuracy: float) -> PrivacyCurve:
        """Return the privacy curve among some values, with the hash functions of the cohorts as they are."""
        return self._curve(protocol, splits_of(protocol.filter, values), changes, **accuracy)

    def _curve(
        self, protocol: P, found: Sequence[Split], changes: Change, relative_width: float = 1e-6, **accuracy: Any
    ) -> PrivacyCurve:
        instances = self.in_full(changes)
        accuracy["relative_width"] = relative_width

        def composed() -> PrivacyCurve:
            up, down = self.bit(protocol)
            # If a bit tells the same in either direction, all that matters is how many bits differ.
            every = found if up is not down else [max(found, key=sum)]
            most = [instances * bits for bits in _most(every)]
            both = _listed(up, 1, down, 1) if len(every) == 1 and most[0] == most[1] else None
            if both is not None and _listed(up, most[0], down, most[1]) is None:
                return FamilyComposition([both], most[0], attained=None, **accuracy)
            families = [[up], [down], [up, down]]
            laws = functools.cache(lambda: SeveralLaws(families, [[up], [down], []], [*most, 0], **accuracy))

            def of_bits(bits: Bits, quick: bool) -> PrivacyCurve:
                pair = None if bits.either else _listed(up, bits.lost, down, bits.gained)
                if pair is not None:
                    return OneInstance([[pair]], [pair])
                return SeveralComposition(laws(), bits, bits, quick=quick)

            if instances == 1:
                return WorstCurve([of_bits(Bits(*split, 0), quick=False) for split in every])
            return MixedSplits(every, instances, of_bits, max(relative_width, _GAP))

        largest = LargestLossCurve(self._largest(protocol, found), changes)
        return BestCurve(largest, composed, relative_width=relative_width)

    def families(self, protocol: P, threat_model: ThreatModel, tail: float, *, loose: bool = False) -> Families:
        up, down = self.bit(protocol, tail)
        pairs = [_listed(up, split.lost, down, split.gained) for split in splits(protocol)]
        listed = [pair for pair in pairs if pair is not None]
        if len(listed) < len(pairs):
            raise CapacityError(
                f"the reports of {self.name} on one value have too many losses to be listed: compose fewer hash "
                "functions or reports with other protocols."
            )
        return ((listed, listed),)

    def note(self, protocol: P, threat_model: ThreatModel) -> str:
        differing = sum(splits(protocol)[0])
        return f"two values whose patterns differ in {differing} bits, as some hash functions make them"


def _most(found: Sequence[Split]) -> Split:
    """Return the least split that covers all of these."""
    return Split(max(split.lost for split in found), max(split.gained for split in found))


def _listed(
    up: PrivacyLossDistribution, lost: int, down: PrivacyLossDistribution, gained: int
) -> PrivacyLossDistribution | None:
    """Return the product of so many copies of both as one list of atoms; None where these are too many."""
    if lost + gained == 0:
        return PrivacyLossDistribution.from_pmfs([1.0], [1.0])
    if lost * math.log(up.losses.size) + gained * math.log(down.losses.size) > _MOST_LISTED:
        return None
    return functools.reduce(listed_product, [up] * lost + [down] * gained)


class PermanentClaims(_ResponseClaims[PermanentResponse]):
    """The twin of `PermanentResponse`: the limit of many reports on one value."""

    name = "rappor-permanent"
    protocol = PermanentResponse
    theorems = stated("wang_lecture9/rappor", "rappor_limit")

    def bit(self, protocol: PermanentResponse, tail: float = DEFAULT_TAIL) -> Directions:
        pair = flipped_bit(protocol.f)
        return Directions(pair, pair)

    def loss(self, protocol: PermanentResponse, split: Split) -> Interval:
        with arb_context() as ctx:
            return enclosure(formulas.permanent_epsilon(ctx, protocol.f, sum(split)))


class RapporClaims(_ResponseClaims[Rappor]):
    """The twin of `Rappor`."""

    name = "rappor"
    protocol = Rappor
    theorems = stated("wang_lecture9/rappor", "rappor")

    def bit(self, protocol: Rappor, tail: float = DEFAULT_TAIL) -> Directions:
        return memoized_bit(protocol.f, protocol.p, protocol.q, protocol.reports, tail)

    def loss(self, protocol: Rappor, split: Split) -> Interval:
        with arb_context() as ctx:
            return enclosure(formulas.epsilon(ctx, protocol.f, protocol.p, protocol.q, protocol.reports, *split))

    def messages_per_user(self, protocol: Rappor) -> float:
        """Return how many reports a user sends."""
        return float(protocol.reports)


def change_seen(protocol: Rappor) -> Interval:
    """Return the largest loss of a value that stays against one that changes halfway, after `reports` reports of each.

    Both users send 2 `reports` reports; who stays from one permanent response, who changes from two. All k bits count,
    and the largest is over all pairs of values that some hash functions make: their patterns have 1 to h bits each,
    and share none, some, or all of them. No number of reports bounds the loss: it does not tend to the limit of a
    permanent response.

    With w and v the probabilities that a kept bit is 1 for the first and the second value, and L and K the likelihood
    ratios of the reports before and after, one bit's ratio of both laws is
    `(w L K + 1-w) / ((w L + 1-w) (v K + 1-v))`: a quotient of linear functions of L, and of K, and so monotone in each.
    Its extremes are where both are at an end of their ranges. Bits are independent, so the loss of two patterns adds up
    those of their bits, of four kinds: in the first pattern only, in the second only, in both, in neither. It is linear
    in the number of each kind, and so largest at an end of one of them, the others being given.
    """
    n, k, h = protocol.reports, protocol.bits, protocol.hashes
    with arb_context() as ctx:
        f, p, q = (ctx.convert(value) for value in (protocol.f, protocol.p, protocol.q))
        ends = [ctx.exp(n * ctx.log(ratio)) for ratio in ((1 - q) / (1 - p), q / p)]
        set_bit, clear = 1 - f / 2, f / 2

        def largest(w: Any, v: Any, sign: int) -> Any:
            ratios = (
                (w * one * other + 1 - w) / ((w * one + 1 - w) * (v * other + 1 - v))
                for one, other in itertools.product(ends, repeat=2)
            )
            return functools.reduce(lambda a, b: a.max(b), (sign * ctx.log(ratio) for ratio in ratios))

        found = []
        for sign in (1, -1):
            lost, gained = largest(set_bit, clear, sign), largest(clear, set_bit, sign)
            both, neither = largest(set_bit, set_bit, sign), largest(clear, clear, sign)
            found += [
                enclosure(a * lost + b * gained + c * both + (k - a - b - c) * neither) for a, b, c in _patterns(k, h)
            ]
    return Interval(max(loss.lower for loss in found), max(loss.upper for loss in found))


def _patterns(bits: int, hashes: int) -> Iterator[tuple[int, int, int]]:
    """Yield how many bits only the first of two patterns has, only the second, and both: of the second, the ends."""
    for both in range(min(bits, hashes) + 1):
        least = 0 if both else 1
        for first in range(least, hashes - both + 1):
            most = min(hashes, bits - first) - both
            if most >= least:
                yield from ((first, second, both) for second in {least, most})
