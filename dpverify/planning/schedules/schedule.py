"""What a schedule costs: days, weeks or releases with different protocols or numbers of users, on the same users.

Days that differ in nothing that matters are one. Where they differ in one number that never costs privacy, such as the
users of randomized response, and there are many, few are listed (`levels`): a day is bounded from above by the nearest
listed one with less, and from below by the nearest with more.
"""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from dpverify.changes import Full
from dpverify.claims.base import MechanismClaims
from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import Adjacency, CapacityError, Interval, Number, PrivacyCurve, ThreatModel
from dpverify.planning.answers import LEAST_GUESS, within_limits
from dpverify.planning.result import HonestView
from dpverify.planning.schedules.day import Day, days_of
from dpverify.planning.schedules.joint_days import joint_days
from dpverify.planning.schedules.levels import alike, listed_levels
from dpverify.planning.steps.account import is_step
from dpverify.planning.steps.step import Steps
from dpverify.privacy_loss.composing.bounds import (
    BestCurve,
    BetweenCurves,
    InfiniteLossCurve,
    LargestLossCurve,
    NearCurve,
    total,
)
from dpverify.privacy_loss.composing.once import OneInstance
from dpverify.privacy_loss.composing.several import SeveralComposition, SeveralLaws
from dpverify.privacy_loss.composing.together import Part, Together
from dpverify.privacy_loss.datasets.covers import Entry, members
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass
from protocols.validation import check_choice, check_integer

__all__ = ["Day", "Schedule", "days_of"]

_MOST_SHARP = 24
"""Up to so many different laws each is listed as sharply as it can be."""
_LONG = 2**19
"""Cells of a window where a sample's rare losses beside common ones, next to 0, and many steps ask for them."""
_BESIDE = "the curator of steps is trusted, and everybody sees what they release; one record is replaced in all days"
_SUMMED = 1.0 + 2.0**-40
"""Times what fewer than 2^10 products of floats add up to is at least their sum."""
_SHARE = 1e-12
"""Of delta, what all laws together may leave out is far below."""


@dataclass(frozen=True)
class _Law:
    """A law that is listed: its protocol, and that of the same family with how many users matter."""

    protocol: Any
    claims: MechanismClaims[Any]


class _Family(NamedTuple):
    """The number of a law, one of its families, what dominates and what is attained, and how often a run meets it."""

    law: int
    entries: Sequence[Entry]
    attained: Sequence[PrivacyLossDistribution]
    copies: int


class Schedule:
    """Days on the same users, in all or in at most some of which a user takes part.

    - days: In the order in which they run.
    - at_most: In how many runs the same user takes part at most; in all when omitted.
    - threat_model: One that all protocols are accounted for; the first such when omitted.
    - honest: Of each day of a protocol that does not say it, how many users follow it, at least.
    - adjacency: Which datasets are neighbours: replace-one unless all days are steps.

    Raises ValueError if no adversary is accounted for all days, `at_most` is not in [1, the number of runs], or a day
    is not covered for this adjacency.
    """

    def __init__(
        self,
        days: Sequence[Any],
        at_most: int | None = None,
        threat_model: ThreatModel | str | None = None,
        honest: Number | None = None,
        adjacency: Adjacency | str = Adjacency.REPLACE_ONE,
    ) -> None:
        self.days = tuple(
            day
            if honest is None or day.honest is not None or is_step(day.protocol)
            else dataclasses.replace(day, honest=honest)
            for day in days_of(days)
        )
        self.adjacency = check_choice("adjacency", adjacency, Adjacency)
        self.runs = sum(day.instances for day in self.days)
        self.at_most = self.runs if at_most is None else check_integer("at_most", at_most, low=1, high=self.runs)
        self._claims = [mechanism_claims_of(day.protocol) for day in self.days]
        known = [claims.adversaries(day.protocol) for claims, day in zip(self._claims, self.days, strict=True)]
        common = [adversary for adversary in known[0] if all(adversary in others for others in known)]
        if not common:
            told = sorted({f"{c.name}: {', '.join(k)}" for c, k in zip(self._claims, known, strict=True)})
            raise ValueError(f"days contradict each other: no threat model is accounted for all ({'; '.join(told)}).")
        self.threat_model = (
            common[0] if threat_model is None else check_choice("threat_model", threat_model, common, where=" here")
        )
        self.steps = self._of_steps()
        """What the days are where all of them are steps."""
        self._assign()
        self._joint = {
            number: (law.protocol, law.claims)
            for number, law in enumerate(self._listed)
            if law.claims.changes_jointly(law.protocol, self.threat_model)
        }
        if self._joint and not self.uniform and self.at_most < self.runs:
            names = ", ".join(sorted({claims.name for _, claims in self._joint.values()}))
            raise ValueError(f"at_most={at_most!r} must be omitted: the joint changes of {names} are met in all runs.")
        self._found_for = math.inf
        self._families_known: list[_Family] = []
        self._laws: SeveralLaws | None = None

    def _of_steps(self) -> Steps | None:
        for day in self.days:
            if is_step(day.protocol):
                day.protocol.check(self.adjacency)
            elif self.adjacency is not Adjacency.REPLACE_ONE:
                name = mechanism_claims_of(day.protocol).name
                raise ValueError(
                    f"adjacency={self.adjacency.value!r} must be 'replace-one' for {name}: only steps are accounted "
                    "for others, as a protocol's number of users is public."
                )
        if not all(is_step(day.protocol) for day in self.days):
            return None
        if self.at_most < self.runs and self.adjacency is not Adjacency.REPLACE_ONE:
            raise ValueError(f"at_most={self.at_most!r} must be omitted for adjacency={self.adjacency.value!r}.")
        return self._first_steps(self.runs) if self.at_most == self.runs else None

    def _first_steps(self, runs: int) -> Steps:
        parts = []
        for day in self.days:
            if taken := min(day.instances, runs):
                parts.append((day.protocol, taken))
            runs -= taken
        return Steps(parts, self.adjacency)

    def _assign(self) -> None:
        """Choose what is listed, and for each day which law is above it and which is below."""
        kinds: dict[type, list[tuple[int, bool, Any]]] = {}
        for index, day in enumerate(self.days):
            # What is left of it among the honest: two protocols where a share of the noise is no float.
            ends = HonestView.of(day.protocol, day.honest, self.threat_model).protocols
            for upper, protocol in ((True, ends[0]), (False, ends[-1])):
                kinds.setdefault(type(protocol), []).append((index, upper, protocol))
        self._listed: list[_Law] = []
        self._above, self._below = [0] * len(self.days), [0] * len(self.days)
        for kind in kinds.values():
            claims = self._claims[kind[0][0]]
            for axis, chosen in alike([protocol for _, _, protocol in kind], claims):
                of_group = [kind[number] for number in chosen]
                values = [getattr(protocol, axis) if axis else 0 for _, _, protocol in of_group]
                levels = listed_levels(values, axis)
                start = len(self._listed)
                first = of_group[0][2]
                for level in levels:
                    self._listed.append(_Law(dataclasses.replace(first, **{axis: level}) if axis else first, claims))
                for (index, upper, _), value in zip(of_group, values, strict=True):
                    if upper:
                        self._above[index] = start + bisect_right(levels, value) - 1
                    else:
                        self._below[index] = start + bisect_left(levels, value)

    def _counts(self, runs: int) -> tuple[list[int], list[int]]:
        """Return how many of the first runs each law bounds from above, and from below."""
        upper, lower = [0] * len(self._listed), [0] * len(self._listed)
        for day, above, below in zip(self.days, self._above, self._below, strict=True):
            taken = min(day.instances, runs)
            upper[above] += taken
            lower[below] += taken
            runs -= taken
        return upper, lower

    @cached_property
    def _largest(self) -> list[Interval]:
        """The largest loss of each listed law."""
        return [law.claims.pure_epsilon(law.protocol, self.threat_model) for law in self._listed]

    @cached_property
    def _apart(self) -> list[tuple[float, float]]:
        """How far each listed law's views are from those of its families."""
        return [law.claims.apart(law.protocol) for law in self._listed]

    @cached_property
    def _telling(self) -> list[int]:
        """Which listed laws tell everything, so that there is nothing to list of them; of joint changes none is."""
        masses = [law.claims.infinite_mass(law.protocol, self.threat_model) for law in self._listed]
        return [number for number, mass in enumerate(masses) if mass == 1.0 and number not in self._joint]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said of the steps among the days."""
        steps = [(day.protocol, day.instances) for day in self.days if is_step(day.protocol)]
        beside = (_BESIDE,) if 0 < len(steps) < len(self.days) else ()
        return (*beside, *(Steps(steps, self.adjacency).notes if steps else ()))

    @property
    def uniform(self) -> bool:
        """Whether all days have the same law, up to what a share of the noise is rounded by."""
        return len(set(self._above)) == len(set(self._below)) == 1

    def largest_loss(self, runs: int) -> Interval:
        """Return the largest loss of the first runs: the sum of those that are largest, one by one."""
        if self.steps is not None:
            return self._first_steps(runs).largest_loss.epsilon(0.0)
        ends = []
        for side, numbers in zip(("lower", "upper"), self._counts(runs)[::-1], strict=True):
            left, parts = min(self.at_most, runs), []
            found = [(getattr(loss, side), count) for loss, count in zip(self._largest, numbers, strict=True)]
            for loss, count in sorted(found, reverse=True):
                parts.append((min(count, left), Interval(loss, loss)))
                left -= parts[-1][0]
            ends.append(total(parts))
        return Interval.proved(ends[0].lower, ends[1].upper)

    def curve(
        self,
        reference_delta: float,
        relative_width: float = 1e-6,
        runs: int | None = None,
        *,
        quick: bool = False,
        sharp: bool = True,
        guess: bool = False,
    ) -> PrivacyCurve:
        """Return the privacy curve of the first runs, all when omitted; quick ones are for that delta.

        One that is not sharp has the bounds that are found at once, mostly a hundredth wide, for many answers. With
        `guess` joint changes need only be about right, for searches: it then proves nothing.
        """
        number = self.runs if runs is None else check_integer("runs", runs, low=1, high=self.runs)
        most, reference_delta = min(self.at_most, number), max(reference_delta, LEAST_GUESS)
        if self.steps is not None:
            return self._first_steps(number).curve(relative_width, reference_delta)
        if guess and self._joint:
            return self._together(reference_delta, relative_width, *self._counts(number), guess=True)
        if self.uniform:
            ends = [
                law.claims.curve(
                    law.protocol,
                    Full(most),
                    self.threat_model,
                    relative_width=relative_width,
                    reference_delta=reference_delta,
                )
                for law in (self._listed[number] for number in dict.fromkeys((self._above[0], self._below[0])))
            ]
            return ends[0] if len(ends) == 1 else BetweenCurves(*ends)

        def exact() -> PrivacyCurve:
            if any(self._counts(number)[0][law] for law in self._telling):
                raise CapacityError("a run without noise tells everything.")
            if self._joint:
                return self._together(reference_delta, relative_width, *self._counts(number))
            laws = self._families(reference_delta, relative_width)
            (upper, met), (lower, _) = (self._counted(counts) for counts in self._counts(number))
            if most == number:
                return SeveralComposition(laws, upper, lower, quick=quick, sharp=sharp)
            # So many runs meet no more instances than that, and so many instances are met in no more runs.
            return SeveralComposition(laws, upper, lower, min(most * met, sum(upper)), most, quick=quick)

        # Who is in a run that hides nothing is told by it, whatever the others are.
        revealed = max(
            (law.claims.infinite_mass(law.protocol, self.threat_model) for law in self._met_in_full(number)),
            default=0.0,
        )
        largest = LargestLossCurve(self.largest_loss(number), Full(1))
        found = BestCurve(largest, lambda: InfiniteLossCurve(revealed, Full(1)), exact)
        # Distances of independent views add up, whoever takes part in which of them.
        above, below = (
            min(1.0, sum(count * ends[side] for count, ends in zip(counts, self._apart, strict=True)) * _SUMMED)
            for side, counts in enumerate(self._counts(number))
        )
        return NearCurve(found, above, below) if above or below else found

    def _met_in_full(self, number: int) -> list[_Law]:
        """Return the laws that bound some of the first runs from below, and of which one run may change fully."""
        below = self._counts(number)[1]
        return [law for place, law in enumerate(self._listed) if below[place] and place not in self._joint]

    def _together(
        self,
        reference_delta: float,
        relative_width: float,
        upper: Sequence[int],
        lower: Sequence[int],
        *,
        guess: bool = False,
    ) -> PrivacyCurve:
        """Return the curve of so many runs of each law, some of which change their bits jointly."""
        changes, attained = joint_days(self._joint, self.threat_model, reference_delta, upper, lower, guess=guess)
        parts: list[Part] = [*changes]
        if len(self._joint) < len(self._listed):
            laws = self._families(reference_delta, relative_width)
            above, below = self._counted(upper)[0], self._counted(lower)[0]
            if not changes:  # in the first runs
                return SeveralComposition(laws, above, below)
            attained += tuple(laws.attained(below))
            parts += laws.divided(above)
        return Together(parts, attained, reference_delta)

    def _counted(self, counts: Sequence[int]) -> tuple[list[int], int]:
        """Return counts of runs by family, of which one run may meet several, and how many instances it meets at most.

        Families that a run of one law meets and a run of another does not are met as often as runs are of the law.
        """
        met = Counter[int]()
        for family in self._families_known:
            met[family.law] += family.copies
        return [counts[family.law] * family.copies for family in self._families_known], max(met.values(), default=1)

    def _listing(self, reference_delta: float) -> list[_Family]:
        """Return the families of all listed laws, with the number of the law, made once unless delta falls much."""
        if self._found_for > 2.0 * reference_delta:
            tail = _SHARE * reference_delta / self.runs
            loose = len(self._listed) > _MOST_SHARP
            self._families_known = [
                family
                for number, law in enumerate(self._listed)
                if number not in self._joint and number not in self._telling
                for family in _met(number, law.claims.near_families(law.protocol, self.threat_model, tail, loose=loose))
            ]
            self._found_for, self._laws = reference_delta, None
        return self._families_known

    def _families(self, reference_delta: float, relative_width: float) -> SeveralLaws:
        found = self._listing(reference_delta)
        if self._laws is None:
            self._laws = SeveralLaws(
                [family.entries for family in found],
                [family.attained for family in found],
                self._counted(self._counts(self.runs)[0])[0],
                relative_width=max(relative_width, 1e-5),
                reference_delta=reference_delta,
                **({"most_length": _LONG} if any(is_step(day.protocol) for day in self.days) else {}),
            )
        return self._laws

    def basic_epsilon(self, delta: float) -> float:
        """Return what basic composition would say: the runs' own epsilons at an equal share of delta, added up.

        An upper bound, of the same laws; inf where one of them cannot be listed, no record is replaced, or no float is
        as large as the number of runs.
        """
        if self.adjacency is not Adjacency.REPLACE_ONE or self.at_most.bit_length() > 1023:
            return math.inf
        share = delta / self.at_most * (1.0 - 2.0 * UNIT)
        if self.uniform:
            law = self._listed[0]
            with within_limits(law.claims.name):
                curve = law.claims.curve(law.protocol, Full(1), self.threat_model, reference_delta=share)
                one = curve.epsilon(share).upper
            return total([(self.at_most, Interval(one, one))]).upper
        try:
            epsilons, found = [0.0] * len(self._listed), self._listing(delta)
            for number in self._telling:
                epsilons[number] = math.inf
        except CapacityError:
            return math.inf
        for number, (protocol, claims) in self._joint.items():
            with within_limits(claims.name):
                curve = claims.curve(protocol, Full(1), self.threat_model, reference_delta=share)
                epsilons[number] = curve.epsilon(share).upper
        most = self._counted([1] * len(self._listed))[1]
        for number, entries, _, copies in found:
            pairs = [pair for entry in entries for pair in members(entry)]
            alone, off = OneInstance([pairs], pairs), self._apart[number][0]
            one = NearCurve(alone, off).epsilon(share / most).upper if off else alone.epsilon_upper(share / most)
            epsilons[number] = total(
                [(1, Interval(epsilons[number], epsilons[number])), (copies, Interval(one, one))]
            ).upper
        left, parts = self.at_most, []
        for epsilon, count in sorted(zip(epsilons, self._counts(self.runs)[0], strict=True), reverse=True):
            parts.append((min(left, count), Interval(epsilon, epsilon)))
            left -= parts[-1][0]
        return total(parts).upper


def _met(law: int, families: Sequence[tuple[Sequence[Entry], Sequence[PrivacyLossDistribution]]]) -> Iterator[_Family]:
    """Yield the families of a run, each once and with how often it is met."""
    copies = Counter(map(id, families))
    for family in {id(family): family for family in families}.values():
        yield _Family(law, *family, copies[id(family)])
