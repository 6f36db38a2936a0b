"""Any mix of many pairs over the instances, bounded by one of them in all instances: no supremum, and no search.

`contour` bounds a profile by a sum of moduli over the nodes of a line, with weights w >= 0. The modulus of a mix is the
product of those of its pairs, so that by Hoelder's inequality

    sum_z w_z prod_j |phi_k(j)(z)| <= prod_j (sum_z w_z |phi_k(j)(z)|^I)^(1/I) <= max over k of sum_z w_z |phi_k(z)|^I:

each pair in all I instances, on one line, bounds every mix of them. (What lies beyond the last node is one more term.)
The supremum of the profiles, or a chord above them, composes the gains that different pairs have at different eps; here
only the phases are left out, and they matter as the total loss is far from normal.

**Rare large losses** make it so. The law of each pair's loss is the sum of measures: B_k of its largest losses, of
mass q, C_k of the next, of mass r, and A_k of all others (an atom may be divided). A product of laws is the sum, over
all disjoint sets of instances, of products with B in the first, C in the second and A elsewhere, and so is its
divergence, which is linear in each factor:

- Sets of H or more instances in all: some H of them meet such a loss, with a probability of at most
  `C(I, H) (q + r)^H`.
- No or one such instance: each loss of the one by itself, with the others' divergence beside it (`OneRare`). That is
  linear in the pair of the one, the sum of moduli without rare losses is a geometric mean over the instances, and no
  mean exceeds that of arithmetic: their sum is at most an average over the instances of what each pair has in all of
  them, and so is at most that of the worst pair. A pair with more rare losses, but lower ones, is not both.
- All N pairs of sets of b and c instances, 2 <= h = b + c < H: at most their mass, `N q^b r^c`, times the divergence of
  the others at x less the largest such losses (`Others`); and by a contour of their own, of tilt t, with
  `|phi_B| <= B = max over k of E[e^(t L); B_k]`, and C likewise, at most
  `N B^b C^c max over k of sum_z w_z |phi_A_k(z)|^(I - h)`.

All terms are of the same pairs, one for each instance: what a branch is split into is so for all of them.

Two classes, as with few flips the very largest loss is that of a report by itself, some four times the next one: on
one line the moduli of both together hardly fall. H, q and r, which may be 0, are free, and chosen by one pair that
looks the worst. So is the tilt of each line: one that is x / (standard deviation) off costs a share x^2 / 2 of delta.

What no sum can exceed is not added up: `|phi_A_k(z)| <= phi_A_k(t)`, and a term that is next to nothing beside delta
need not be known any better.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from dpverify.privacy_loss.composing.mix_bound import MixBound, Term
from dpverify.privacy_loss.composing.rare_losses import Classes, Floats, OneRare, Sums
from dpverify.privacy_loss.datasets.covers import Branch
from dpverify.privacy_loss.datasets.worst_branch import worst_branch
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.contour import Contour
from dpverify.privacy_loss.windows.saddle import LossMoments, TotalLoss
from dpverify.rounding import SUBNORMAL, UNIT
from dpverify.search import crossing
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = ["AnyMix"]

_SMOOTHING = 1e-4
"""The extra variance of the total loss, relatively: half of that is what it costs of epsilon."""
_PERIOD = 7.0
"""Between the terms of Poisson's sum, in standard deviations of the total loss: another costs nothing that shows."""
_SMALLEST = 1e-9
"""The mass of the smallest losses, in all instances, that are counted as the largest of them."""
_MOST_RARE = 6
"""The largest H."""
_TRIED_ATOMS = 8
"""For each H, how many numbers of atoms of the worst pair are tried as its rare losses."""
_MOST_OF_CLASSES, _FIRST_ATOMS = 3, 2
"""Up to which H two classes are tried, and how many atoms the first of them has at most."""
_MARGINS = (1.02, 1.005, 1.05, 1.15)
"""What q is beyond the mass of these atoms, as other pairs may have a little more of nearly the same loss."""
_LEFT_OUT, _NOTHING = 3e-4, 1e-4
"""The share of delta for H or more rare losses, and that beside which a term is not looked at."""
_SAMPLE, _NEAREST = 1.4, 12
"""The pairs that have a say in H and q: the first ones, and each in a place so many times as far as the last one."""
_FINALISTS = 3
_STEP = 5e-4
"""What single rare losses are rounded up to, as a share of epsilon."""
_SPLIT = 2e-4
"""By which share of epsilon a pair may be worse than the worst one before it is split, if it stands for many."""
_HOPELESS = 1.05
"""Where the worst pair by itself is bounded no better than this times its epsilon, no mix is looked at."""
_PER_TERM = 1e-4
"""What a term less may cost of epsilon."""
_LEAST_LOG_MASS = -650.0
"""Smaller masses leave the floats."""
_LEAST_TILT = 0.7
"""In units of one per standard deviation: a smaller one needs more nodes, and is no better than the mass."""
_MOST_NODES = 2**12
_LEAST_VARIANCE = 1e-270
"""Of a total loss: squares of the tilts for a smaller one leave the floats."""


Counts = tuple[int, ...]
"""How many instances have a loss of each class."""


@dataclass(frozen=True)
class _Layout:
    """H, the classes' masses, and for the counts below H their contours, or None where the mass alone will do.

    And a contour for the common losses of all instances but one, backwards, beside the largest loss in that one.
    """

    most: int
    masses: tuple[float, ...]
    contours: Mapping[Counts, Contour | None]
    back: Contour | None


class AnyMix:
    """An upper bound on the composition of `instances` pairs, each of which may be any one of many.

    - members: One of them dominates whatever pair an instance may present.
    - worst: A guess of the worst in all instances: the result is a bound whatever it is.
    - instances: How many.
    - epsilon, delta: Where the bound shall be sharp, about what `worst` gives; positive.
    """

    def __init__(
        self,
        members: Sequence[PrivacyLossDistribution | Branch],
        worst: PrivacyLossDistribution,
        instances: int,
        *,
        epsilon: float,
        delta: float,
    ) -> None:
        if not members:
            raise ValueError("members is empty, but must hold at least one distribution.")
        self._instances = check_integer("instances", instances, low=1)
        self._epsilon = check_real("epsilon", epsilon, low=0.0, low_open=True)
        self._delta = check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        self._losses_off = self._masses_off = self._missing = 0.0
        self._branches = [member if isinstance(member, Branch) else Branch(member) for member in members]
        self._worst = worst
        self._admit(self._branches)

    @cached_property
    def _found(self) -> MixBound | None:
        """What bounds every mix, along the contours that look the best; None where nothing does."""
        branches, worst, epsilon = self._branches, self._worst, self._epsilon
        if worst.losses.size == 0 or self._log_growth == math.inf:
            return None
        guess = [Branch(worst)]
        tried = [(self._cost(self._bound(guess, layout)), layout) for layout in self._layouts(worst)]
        found = sorted(tried, key=lambda one: one[0])[:_FINALISTS]
        if not found or found[0][0] > _HOPELESS * epsilon:
            return None
        places = {int(_SAMPLE**i) - 1 for i in range(math.ceil(math.log(len(branches) + 1.0, _SAMPLE)))}
        places |= set(range(min(_NEAREST, len(branches))))
        sample = [*guess, *(branches[i] for i in sorted(places))]

        def widened(layout: _Layout, margin: float) -> _Layout:
            return self._layout(worst, layout.most, [margin * layout.masses[0], *layout.masses[1:]])

        def cost(layout: _Layout) -> float:
            return self._cost(self._bound(sample, layout))

        # All finalists with the first margin, and the best of them with the others.
        wide = [widened(layout, _MARGINS[0]) if layout.most > 1 else layout for _, layout in found]
        costs = [cost(layout) for layout in wide]
        place = int(np.argmin(costs))
        others = [widened(found[place][1], margin) for margin in _MARGINS[1:] if wide[place].most > 1]
        at_others = [(cost(layout), layout) for layout in others]
        chosen = min([(costs[place], wide[place]), *at_others], key=lambda one: one[0])[1]
        return self._bound(branches, chosen, worst)

    def _admit(self, branches: Sequence[Branch]) -> None:
        """Charge what these pairs are off by, from now on."""
        pairs = [branch.pair for branch in branches]
        self._losses_off = max(self._losses_off, *(pair.loss_error for pair in pairs))
        self._masses_off = max(self._masses_off, *(pair.relative_error for pair in pairs))
        self._missing = max(self._missing, *(pair.unbounded_mass for pair in pairs))

    @property
    def _loss_error(self) -> float:
        return self._instances * self._losses_off * (1.0 + 4.0 * UNIT)

    @property
    def _log_growth(self) -> float:
        """The logarithm of how much larger, at most, the true masses are in all instances together."""
        error = self._masses_off + 4.0 * UNIT
        return -self._instances * math.log1p(-error) * (1.0 + 8.0 * UNIT) if error < 1.0 else math.inf

    @property
    def _unbounded(self) -> float:
        return self._instances * self._missing * (1.0 + 8.0 * UNIT)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on the divergence of every mix."""
        return 1.0 if self._found is None else self._delta_of(self._found, epsilon)

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the epsilon >= 0 of every mix; inf where there is none."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        return math.inf if self._found is None else self._epsilon_of(self._found, delta)

    def _delta_of(self, bound: MixBound, epsilon: float) -> float:
        if self._log_growth > -_LEAST_LOG_MASS:
            return 1.0
        at = epsilon - self._loss_error - 4.0 * UNIT * abs(epsilon)
        finite = sum(math.exp(min(term.log_delta(at) + self._log_growth, 0.0)) for term in bound.terms)
        finite += float(bound.common(at, self._log_growth).max())
        return min((finite + bound.rest + self._unbounded) * (1.0 + 32.0 * UNIT) + SUBNORMAL, 1.0)

    def _epsilon_of(self, bound: MixBound, delta: float | None = None) -> float:
        delta = self._delta if delta is None else delta
        steepest = max(bound.tilt, *(term.tilt for term in bound.terms), 0.0)
        if bound.tilt == 0.0 or bound.rest + self._unbounded >= delta:
            return math.inf
        return crossing(
            lambda epsilon: self._delta_of(bound, epsilon),
            delta,
            self._epsilon,
            slope=lambda _: steepest,
            above=True,
            scale=1e-9 * self._epsilon,
        )

    def _cost(self, bound: MixBound) -> float:
        looked_at = 1 + sum(term.tilt > 0.0 for term in bound.terms)
        return self._epsilon_of(bound) * (1.0 + _PER_TERM * looked_at)

    def _log_sets(self, counts: Counts) -> float:
        """Return an upper bound on the logarithm of how many ways there are to choose so many instances of each."""
        left, logs = self._instances, list[float]()
        for count in counts:
            logs += [math.log((left - i) / (i + 1.0)) for i in range(count)]
            left -= count
        return math.fsum(logs) + 8.0 * UNIT * (len(logs) + math.fsum(map(abs, logs)))

    def _log_mass(self, counts: Counts, masses: Sequence[float]) -> float:
        """Return an upper bound on the logarithm of what all sets with such losses have together."""
        if not any(counts):
            return 0.0
        # A running sum of the atoms' masses is off by far less than this.
        log_power = sum(count * (math.log(mass) + 1e-9) for count, mass in zip(counts, masses, strict=True))
        return self._log_sets(counts) + log_power + 8.0 * UNIT * sum(counts) * abs(log_power)

    def _layouts(self, worst: PrivacyLossDistribution) -> list[_Layout]:
        """Return what to try, by the atoms of one pair."""
        rarest = np.cumsum(worst.masses[::-1])
        found, first = list[_Layout](), 0
        for most in range(1, min(_MOST_RARE, self._instances) + 1):
            log_mass = (math.log(_LEFT_OUT) + math.log(self._delta) - self._log_sets((most,))) / most
            mass = math.exp(max(log_mass, _LEAST_LOG_MASS))
            if most == 1:
                tried = [[mass]]
            else:
                # Fewer atoms are tried with a smaller H.
                last = int(np.searchsorted(rarest, mass / max(_MARGINS), side="right"))
                counts = range(max(last - _TRIED_ATOMS, first), last)
                tried = [masses for count in counts for masses in _classes(rarest[: count + 1], most)]
                first = max(last, first)
            found += [self._layout(worst, most, masses) for masses in tried]
        return found

    def _layout(self, worst: PrivacyLossDistribution, most: int, masses: Sequence[float]) -> _Layout:
        """Return contours that suit one pair."""
        classes = Classes(tuple(masses), _SMALLEST / self._instances)
        parts = [LossMoments(atoms.losses, atoms.log_masses) for atoms in classes.of(worst)]
        finest = max(worst.largest_loss, 1e-9) / 2.0**14
        found = dict[Counts, Contour | None]()
        for rare in itertools.product(range(most), repeat=len(masses)):
            if sum(rare) >= most:
                continue
            if any(rare) and self._log_mass(rare, masses) <= math.log(_NOTHING) + math.log(self._delta):
                found[rare] = None
                continue
            counts = (self._instances - sum(rare), *rare)
            found[rare] = _contour(list(zip(parts, counts, strict=True)), self._epsilon, finest)
        away, back = worst.largest_loss - self._epsilon, None
        if most > 1 and away > 0.0:
            # Backwards, under the other law, a nearly normal loss has nearly the law it has under its own.
            back = _contour([(parts[0], self._instances - 1)], away, finest)
        return _Layout(most, tuple(masses), found, back)

    def _bound(
        self, branches: Sequence[Branch], layout: _Layout, worst: PrivacyLossDistribution | None = None
    ) -> MixBound:
        """Return what bounds every mix of these: the terms, and what is left of H or more rare losses.

        With `worst`, branches that say more than it are split.
        """
        classes = Classes(layout.masses, _SMALLEST / self._instances)
        (none, contour), *sets = layout.contours.items()
        if contour is None:
            return MixBound(0.0, np.zeros(1), None, [], 1.0)
        sums = Sums(contour, self._instances, classes)
        enough = math.inf if worst is None else sums.of(worst) + _SPLIT * contour.tilt * self._epsilon
        _, leaves, log_sums = self._largest(sums, branches, none, enough)
        terms, lines, places = list[Term](), list[tuple[float, float]](), list[int]()
        for rare, along in sets:
            log_mass = self._log_mass(rare, layout.masses)
            if along is None:
                terms.append(Term(0.0, log_mass, log_mass))
                continue
            beside = Sums(along, self._instances - sum(rare), classes)
            # All terms are of the same pairs: nothing more is split.
            largest, *_ = self._largest(beside, leaves, rare)
            if sum(rare) == 1:
                lines.append((along.tilt, largest))
                places.append(1 + rare.index(1))
            else:
                log_factor = self._log_factor(rare, leaves, beside)
                terms.append(Term(along.tilt, log_factor + largest, log_mass, beside.others(leaves, rare)))
        one = None
        if places:
            own = [[classes.of(branch.pair)[place] for place in places] for branch in leaves]
            others = Sums(contour, self._instances - 1, classes).others(leaves, none, layout.back)
            one = OneRare.of(own, self._instances, _STEP * self._epsilon, others, lines)
        log_rest = self._log_mass((layout.most,), [math.fsum(layout.masses) * (1.0 + UNIT)])
        rest = math.exp(min(log_rest + self._log_growth, 0.0))
        found = MixBound(contour.tilt, log_sums, one, terms, rest)
        # Until the pair that looks the worst is known.
        known = set[int]()
        while (place := int(found.common(self._epsilon, 0.0).argmax())) not in known:
            known.add(place)
            log_sums[place] = min(sums.of(leaves[place].pair), log_sums[place])
        return found

    def _log_factor(self, rare: Counts, branches: Sequence[Branch], sums: Sums) -> float:
        """Return an upper bound on the logarithm of the number of sets, times the product of the b."""
        if not any(rare):
            return 0.0
        powers = [count * sums.largest_rare(branches, place) for place, count in enumerate(rare) if count]
        found = self._log_sets(rare) + math.fsum(powers)
        return found + 8.0 * UNIT * (1.0 + abs(found) + math.fsum(map(abs, powers)))

    def _largest(
        self, sums: Sums, branches: Sequence[Branch], rare: Counts, enough: float = math.inf
    ) -> tuple[float, list[Branch], Floats]:
        """Return an upper bound on the largest of these sums, the branches or their parts, and one on each of theirs.

        No modulus exceeds the first, which is quick to compute, and what is next to nothing beside delta is no matter.
        """
        least = math.log(_NOTHING) + math.log(self._delta) + sums.contour.tilt * self._epsilon
        least -= self._log_factor(rare, branches, sums)

        def above(some: Sequence[Branch]) -> list[float]:
            self._admit(some)
            return sums.above(some)

        return worst_branch(branches, above, lambda branch: sums.of(branch.pair), least=least, enough=enough)


def _contour(parts: Sequence[tuple[LossMoments, int]], epsilon: float, finest: float) -> Contour | None:
    """Return a contour for the first of these losses beside the others, sharp at an epsilon; None if it is too long."""
    total = TotalLoss([(part, count) for part, count in parts if count], finest)
    least = max(1e-20 * epsilon**2, _LEAST_VARIANCE)
    spread = max(total.moments(0.0)[2], least)
    # Where the tilted mean exceeds epsilon by 1/t a sum of moduli is least.
    right = 1.0 / max(total.tilt_at(epsilon), 1.0 / math.sqrt(spread))
    near = total.tilt_at(epsilon + right)
    tilt = max(total.least_sum(epsilon, near), _LEAST_TILT / math.sqrt(spread))
    first, count = parts[0]
    variance = max(count * first.at(tilt)[2], least)
    contour = Contour.at(tilt, math.sqrt(variance), _SMOOTHING * spread, period=_PERIOD)
    return contour if contour.count <= _MOST_NODES else None


def _classes(rarest: Floats, most: int) -> list[list[float]]:
    """Return the masses of one class of some atoms, and of two, given the sums of the atoms' masses."""
    firsts = range(1, min(_FIRST_ATOMS + 1, rarest.size)) if most <= _MOST_OF_CLASSES else ()
    return [[float(rarest[-1])], *([float(rarest[i - 1]), float(rarest[-1] - rarest[i - 1])] for i in firsts)]
