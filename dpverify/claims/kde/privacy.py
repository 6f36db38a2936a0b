"""What `protocols.kde` gives in privacy when one user's point is replaced, for the public features that were drawn.

A user holds one point, which cannot change all her bits: their squared changes add up to T^2 at most, which the twin of
the features' family states (docs/features.md). Where that is all her bits (T^2 = I Q), they are all charged in full,
and the lower end is that of the bits that the twin knows two points to change: all of them, or fewer, or none. If S <
Q, up to min(2S, Q) bits of an instance change, all but S of them by half, and an instance costs at most S full changes;
half changes are also counted as they are. What is returned is the least of these bounds. The proofs are in
docs/densities.md and docs/joint_changes.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dpverify.changes import Change, Full, FullOfPoints, L2Ball, L2Bounded, Sparse
from dpverify.claims.base import Families, MechanismClaims
from dpverify.claims.kde.attained import opposite_curve, opposite_parts
from dpverify.claims.registry import claims_of
from dpverify.claims.shared.bitsum_pairs import negligible
from dpverify.digits import rounded_up
from dpverify.guarantee import Interval, PrivacyCurve, ThreatModel
from dpverify.papers.entries import stated
from dpverify.privacy_loss.composing.bounds import BestCurve, LargestLossCurve, times
from dpverify.privacy_loss.datasets.covers import tied
from dpverify.privacy_loss.joint.attained_change import Parts
from dpverify.privacy_loss.joint.joint_change import JointChange
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import bit_probability_change
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss, connect_the_dots, dominating_grid
from dpverify.privacy_loss.windows.product import product
from dpverify.privacy_loss.windows.saddle import total_loss
from dpverify.privacy_loss.windows.step import choose_step, least_step
from dpverify.privacy_loss.windows.transform import Composition
from protocols.bitsum import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.kde import KernelDensityProtocol
from protocols.lsq import LSQFamily, LSQFeatures

__all__ = ["KdePairs", "KernelDensityClaims", "kde_pairs"]

_LEAVE, _ENTER = (1.0, 0.5), (0.5, 1.0)
"""From which probability of a 1 to which."""
_MOST_CELLS = 2**13
Factor = tuple[PrivacyLossDistribution, ...]
"""The pairs that one bitsum may present, of which the pointwise supremum counts."""


@dataclass(frozen=True)
class KdePairs:
    """What replacing one user's point does to one instance of Algorithm 1, for S < Q.

    - alternatives: An instance presents the product of the factors of one alternative; together they dominate every
      dataset.
    - attained: Products that some dataset attains in every instance; empty where none was worked out.
    """

    alternatives: tuple[tuple[Factor, ...], ...]
    attained: tuple[Factor, ...]


def kde_pairs(bitsum: BitsumProtocol, family: LSQFamily) -> KdePairs:
    """Return the pairs of one instance, replace-one adjacency, communication-threat model.

    - bitsum: The bitsum, with n = `users`.
    - family: Features with S < Q. Their non-zero coordinates are taken to reach R, and -R too unless they have no
      signs.

    Raises ValueError if S = Q, where `claims_of(bitsum).curve` has it all, or the bitsum has no discrete law.
    """
    if family.S == family.Q:
        raise ValueError(f"family.Q={family.Q} must be in [{family.S + 1}, inf): with S = Q all bits change fully.")
    claims = claims_of(bitsum)
    pairs = claims.pairs(bitsum)
    full = tuple(
        p for entry in pairs.every for p in ((entry,) if isinstance(entry, PrivacyLossDistribution) else entry)
    )
    if not full:
        raise ValueError(f"bitsum={bitsum!r} has no discrete law, but must have one for families with S < Q.")
    attained: tuple[Factor, ...] = ()
    coins = claims.among_coins(bitsum) if family.S == 1 else None
    if coins is None:
        halves: tuple[tuple[Factor, ...], ...] = ((_half(full, *_LEAVE), _half(full, *_ENTER)),)
    else:
        halves = tuple((_half(first, *_LEAVE), _half(second, *_ENTER)) for first, second in coins.every)
        # All users share a cell, and one leaves for an empty bucket, or comes back.
        attained = tuple(
            tuple(bit_probability_change(pair, *ends) for pair, ends in zip(coins.attained, order, strict=True))
            for order in ((_LEAVE, _ENTER), (_ENTER, _LEAVE))
        )
        attained += tuple((pair,) for pair in pairs.attained) if family.may_be_negative else ()
    fully = tuple((full,) * both + half * (family.S - both) for half in halves for both in range(family.S))
    return KdePairs((*fully, *(((full,) * family.S,) if family.may_be_negative else ())), attained)


def _half(pairs: Sequence[PrivacyLossDistribution], first: float, second: float) -> Factor:
    return tuple(bit_probability_change(pair, first, second) for pair in pairs)


class _SparseCurve:
    """The privacy curve of I instances of such pairs, never above that of as many full changes as they cost."""

    def __init__(
        self, pairs: KdePairs, full: PrivacyCurve, instances: int, relative_width: float, reference_delta: float
    ) -> None:
        self._full = full
        widest = max(pairs.alternatives, key=len)
        step = min(
            choose_step(
                factor[0], instances * len(widest), relative_width=relative_width, reference_delta=reference_delta
            )
            for factor in widest
        )
        if len(pairs.alternatives) > 1:
            # Products take quadratic time in the number of cells.
            every = (pair for factors in pairs.alternatives for factor in factors for pair in factor)
            step = max(step, least_step(every, _MOST_CELLS))
        grids = [[dominating_grid(factor, step) for factor in factors] for factors in pairs.alternatives]
        parts: list[GridPrivacyLoss] = grids[0]
        if len(grids) > 1:
            parts = [dominating_grid([functools.reduce(product, factors) for factors in grids], step)]
        self._upper = Composition([(grid, instances) for grid in parts])
        self._lower = [
            Composition([(connect_the_dots(pair, step), instances) for pair in factors]) for factors in pairs.attained
        ]

    def delta(self, epsilon: float) -> Interval:
        upper = min(self._upper.delta(epsilon).upper, self._full.delta(epsilon).upper)
        return Interval.proved(max((c.delta(epsilon).lower for c in self._lower), default=0.0), upper)

    def epsilon(self, delta: float) -> Interval:
        upper = min(self._upper.epsilon_upper(delta), self._full.epsilon(delta).upper)
        return Interval.proved(max((c.epsilon_lower(delta) for c in self._lower), default=0.0), upper)


@dataclass(frozen=True)
class _OneEnd:
    """One end of a curve, which is for other datasets than the other end."""

    curve: PrivacyCurve
    upper: bool

    def delta(self, epsilon: float) -> Interval:
        found = self.curve.delta(epsilon)
        return Interval(0.0, found.upper) if self.upper else Interval(found.lower, 1.0)

    def epsilon(self, delta: float) -> Interval:
        found = self.curve.epsilon(delta)
        return Interval(0.0, found.upper) if self.upper else Interval(found.lower, math.inf)


class KernelDensityClaims(MechanismClaims[KernelDensityProtocol]):
    """The twin of `KernelDensityProtocol`: an instance here is a whole run, with all of its I draws of features."""

    name = "kde"
    protocol = KernelDensityProtocol
    theorems = stated("wagner2025/kde", "privacy")
    audited_as = "dpverify.audit.subjects.kde:density_subject"
    pure = True

    def adversaries(self, protocol: KernelDensityProtocol) -> tuple[ThreatModel, ...]:
        """Return those of the bitsum; for S < Q the first, which `kde_pairs` are for."""
        known, family = claims_of(protocol.bitsum).threat_models, protocol.features.family
        return known if family.S == family.Q else known[:1]

    def curve(
        self,
        protocol: KernelDensityProtocol,
        changes: Change,
        threat_model: ThreatModel,
        *,
        relative_width: float = 1e-4,
        reference_delta: float = 1e-6,
    ) -> PrivacyCurve:
        """Return the privacy curve of many runs with the same public features.

        Where not all bits may change fully the interval is wider: its ends are for different datasets, and the lower
        one is 0 where no two points were worked out.
        """
        bitsum, features = protocol.bitsum, protocol.features
        family, runs = features.family, self.in_full(changes)
        accuracy = {"relative_width": relative_width, "reference_delta": reference_delta}

        def of(change: Change) -> PrivacyCurve:
            return claims_of(bitsum).curve(bitsum, change, threat_model, **accuracy)

        def in_full() -> PrivacyCurve:
            return of(FullOfPoints(runs * features.instances * Sparse(family.S, family.Q).full_changes))

        attained = _bits_in_full(features)
        if attained == features.coordinates:
            return in_full()
        curves: list[Callable[[], PrivacyCurve]] = []
        if family.S < family.Q:
            curves.append(
                lambda: _SparseCurve(
                    kde_pairs(bitsum, family), in_full(), runs * features.instances, relative_width, reference_delta
                )
            )
        if self.changes_jointly(protocol, threat_model):
            curves.append(lambda: _OneEnd(of(_joint_change(features, runs)), upper=True))
        elif not curves:
            curves.append(lambda: _OneEnd(in_full(), upper=True))
        if attained:
            curves.append(lambda: _OneEnd(of(FullOfPoints(runs * attained)), upper=False))
        spread = opposite_curve(bitsum, features, runs, reference_delta)
        if spread is not None:
            curves.append(lambda: _OneEnd(spread, upper=False))
        return BestCurve(LargestLossCurve(self.pure_epsilon(protocol, threat_model), Full(runs)), *curves)

    def families(
        self, protocol: KernelDensityProtocol, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Families:
        """Return those of the bitsum, as often as bits may change fully; only known points' bits are attained."""
        features = protocol.features
        found = claims_of(protocol.bitsum).families(protocol.bitsum, threat_model, tail, loose=loose)
        found = tuple((tied(entries), attained) for entries, attained in found)
        unknown = tuple((entries, ()) for entries, _ in found)
        most = features.instances * Sparse(features.family.S, features.family.Q).full_changes
        attained = min(_bits_in_full(features), most)
        return found * attained + unknown * (most - attained)

    def changes_jointly(self, protocol: KernelDensityProtocol, threat_model: ThreatModel) -> bool:
        """Return whether not all bits may change fully, and the bitsum has a law of that."""
        return not _all_may_change(protocol.features) and _joint_law(protocol.bitsum, threat_model)

    def joint(
        self,
        protocol: KernelDensityProtocol,
        threat_model: ThreatModel,
        runs: int,
        reference_delta: float,
        *,
        guess: bool = False,
    ) -> tuple[JointChange, Parts]:
        bitsum, features = protocol.bitsum, protocol.features
        change = _joint_change(features, runs)
        pairs = claims_of(bitsum).views_at(bitsum, threat_model, negligible(reference_delta, change.instances))
        attained = runs * _bits_in_full(features)
        lower = [opposite_parts(bitsum, features, runs, reference_delta)]
        lower += [((pair, attained),) for pair in pairs.attained if attained]
        known = [parts for parts in lower if parts]
        best = max(known, key=lambda parts: total_loss(parts).saddle_point(reference_delta)[0], default=())
        return JointChange(pairs.every, change, reference_delta=reference_delta, guess=guess), best

    def pure_epsilon(self, protocol: KernelDensityProtocol, threat_model: ThreatModel) -> Interval:
        """Return the largest loss of what replacing a point may change; only from above where not all bits may."""
        bitsum, features = protocol.bitsum, protocol.features
        loss = claims_of(bitsum).pure_epsilon(bitsum, threat_model)
        largest = times(features.instances * Sparse(features.family.S, features.family.Q).full_changes, loss)
        attained = _bits_in_full(features)
        if attained == features.coordinates:
            return largest
        joint = LargestLossCurve(loss, _joint_change(features, 1)).epsilon(0.0).upper
        return Interval.proved(times(attained, loss).lower if attained else 0.0, min(largest.upper, joint))

    def note(self, protocol: KernelDensityProtocol, threat_model: ThreatModel) -> str:
        """Return what may change, and how the datasets are covered."""
        bitsum, features = protocol.bitsum, protocol.features
        attained = _bits_in_full(features)
        if attained == features.coordinates:
            bits = claims_of(bitsum).note(bitsum, threat_model)
            return f"every draw of the features, and all Q bits of an instance may change fully; {bits}"
        if _all_may_change(features):
            return (
                f"all {features.coordinates:,} bits are charged in full, as nothing known bounds them; two points are "
                f"known to change {attained or 'none'} of them in full, which the lower end is for"
            )
        joint = (
            f"with the features that were drawn, replacing one point moves the {features.coordinates:,} bits' "
            f"probabilities by squares that add up to {rounded_up(_squared_change(features), 6)} at most"
        )
        if not _joint_law(bitsum, threat_model):
            joint += ", but this bitsum is charged for full changes"
        return f"{joint}; {_changed(bitsum, features.family)}" if features.family.S < features.family.Q else joint

    def with_users(self, protocol: KernelDensityProtocol, users: int, *, more_private: bool) -> KernelDensityProtocol:
        """Return it with the bitsum of another number of users, rounded as that one's twin allows."""
        bitsum = protocol.bitsum
        return replace(protocol, bitsum=claims_of(bitsum).with_users(bitsum, users, more_private=more_private))

    def parameters(self, protocol: KernelDensityProtocol) -> dict[str, Any]:
        """Return the bitsum, the family of the features, each by its name and parameters, and how many were drawn."""
        features = protocol.features
        return {
            "bitsum": _described(protocol.bitsum),
            "features": _described(features.family),
            "instances": features.instances,
        }

    def messages_per_user(self, protocol: KernelDensityProtocol) -> float:
        """Return the expected number of messages per user and run, if all her bits are 1: the worst case."""
        return protocol.features.coordinates * claims_of(protocol.bitsum).messages_per_user(protocol.bitsum)


def _described(part: BitsumProtocol | LSQFamily) -> dict[str, Any]:
    """Return the name and the parameters of a part, the families that it wraps likewise."""
    claims = claims_of(part)
    parameters = claims.parameters(part).items()
    return {"name": claims.name} | {
        name: _described(value) if isinstance(value, LSQFamily) else value for name, value in parameters
    }


@functools.lru_cache(maxsize=8)
def _squared_change(features: LSQFeatures) -> float:
    return claims_of(features.family).squared_change(features)


@functools.lru_cache(maxsize=8)
def _bits_in_full(features: LSQFeatures) -> int:
    return claims_of(features.family).bits_in_full(features)


def _joint_change(features: LSQFeatures, runs: int) -> L2Bounded:
    """Return what replacing one point changes in all bits of many runs."""
    bits = runs * features.coordinates
    kind = L2Ball if claims_of(features.family).in_ball(features) else L2Bounded
    return kind(min(math.nextafter(runs * _squared_change(features), math.inf), float(bits)), bits)


def _joint_law(bitsum: BitsumProtocol, threat_model: ThreatModel) -> bool:
    """Return whether the bitsum's twin has a law of joint changes."""
    try:
        claims_of(bitsum).curve(bitsum, L2Bounded(1.0, 2), threat_model)
    except ValueError:
        return False
    return True


def _all_may_change(features: LSQFeatures) -> bool:
    return _squared_change(features) >= features.coordinates


def _changed(bitsum: BitsumProtocol, family: LSQFamily) -> str:
    """Return in words which bits change, and whether the others' coins count, where S < Q."""
    changed = Sparse(family.S, family.Q).changed_bits
    bits = f"{changed} bits of an instance change, by half where only one point's coordinate is not 0"
    if family.S == 1 and claims_of(bitsum).among_coins(bitsum) is not None:
        return bits
    return f"{bits}; the other users' coins are not counted as noise"
