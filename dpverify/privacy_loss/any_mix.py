"""Any mix of many pairs over the instances, bounded by one of them in all instances: no supremum, and no search.

`contour` bounds a profile by a sum of moduli over the nodes of a line, with weights w >= 0. The modulus of a mix is the
product of those of its pairs, so that by Hoelder's inequality

    sum_z w_z prod_j |phi_k(j)(z)| <= prod_j (sum_z w_z |phi_k(j)(z)|^I)^(1/I) <= max over k of sum_z w_z |phi_k(z)|^I:

each pair in all I instances, on one line, bounds every mix of them. (What lies beyond the last node is one more term.)
The supremum of the profiles, or a chord above them, composes the gains that different pairs have at different eps; here
only the phases are left out, and they matter as the total loss is far from normal.

**Rare large losses** make it so. The law of each pair's loss is the sum of two measures, B_k of its largest losses, of
mass q, and A_k of all others (an atom may be divided). A product of laws is the sum, over all sets S of instances, of
products with B in S and A elsewhere, and so is its divergence, which is linear in each factor:

- Sets of H or more instances: some H of them meet a loss of B with a probability of at most `C(I, H) q^H`.
- All sets of h < H instances: at most their mass, `C(I, h) q^h`, and by a contour of their own, of tilt t, with
  |phi_B| <= b = max over k of `E[e^(t L); B_k]`, at most `C(I, h) b^h max over k of sum_z w_z |phi_A_k(z)|^(I - h)`.

H and q are free, and are chosen by one pair that looks the worst. What no sum can exceed is not added up:
`|phi_A_k(z)| <= phi_A_k(t)`, and a term that is next to nothing beside delta need not be known any better.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.characteristic import LossAtoms
from dpverify.privacy_loss.contour import Contour
from dpverify.privacy_loss.covers import Branch
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.saddle import LossMoments, TotalLoss
from dpverify.rounding import SUBNORMAL, UNIT
from dpverify.search import crossing
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
"""For each H, of how many numbers of atoms of the worst pair its rare losses are tried."""
_MARGINS = (1.005, 1.1)
"""What q is beyond the mass of these atoms, as other pairs may have a little more of nearly the same loss; or more."""
_LEFT_OUT, _NOTHING = 3e-4, 1e-4
"""The share of delta for H or more rare losses, and that beside which a term is not looked at."""
_SAMPLE = 1.4
"""The pairs that have a say in H and q: each in a place so many times as far as the last one."""
_FINALISTS = 3
_SPLIT = 2e-4
"""By which share of epsilon a pair may be worse than the worst one before it is split, if it stands for many."""
_MOST_SPLITS = 300
_HOPELESS = 1.05
"""Where the worst pair by itself is bounded no better than this times its epsilon, no mix is looked at."""
_PER_TERM = 1e-4
"""What a term less may cost of epsilon."""
_LEAST_LOG_MASS = -650.0
"""Smaller masses leave the floats."""
_LEAST_TILT = 0.7
"""In units of one per standard deviation: a smaller one needs more nodes, and is no better than the mass."""
_MOST_NODES = 2**12


@dataclass(frozen=True)
class _Term:
    """Sets of `rare` instances: `H_x <= min(e^log_mass, e^(log_integral - tilt x))`."""

    tilt: float
    log_integral: float
    log_mass: float

    def log_delta(self, epsilon: float) -> float:
        reached = self.tilt * epsilon
        rounding = 8.0 * UNIT * (abs(self.log_integral) + abs(reached) + 1.0)
        return min(self.log_mass, self.log_integral - reached + rounding)


@dataclass(frozen=True)
class _Layout:
    """H, q, and for each h < H the contour, or None where the mass alone will do."""

    most: int
    mass: float
    contours: tuple[Contour | None, ...]


class AnyMix:
    """An upper bound on the composition of `instances` pairs, each of which may be any one of many.

    Parameters
    ----------
    members : sequence of PrivacyLossDistribution or Branch
        One of them dominates whatever pair an instance may present.
    worst : PrivacyLossDistribution
        A guess of the worst in all instances: the result is a bound whatever it is.
    instances : int
        How many.
    epsilon, delta : float
        Where the bound shall be sharp, about what `worst` gives; positive.
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
        branches = [member if isinstance(member, Branch) else Branch(member) for member in members]
        self._admit([Branch(worst), *branches])
        self._terms: list[_Term] = []
        self._rest = 1.0
        if worst.losses.size == 0 or self._log_growth == math.inf:
            return
        guess = [Branch(worst)]
        tried = [(self._cost(self._bound(guess, layout)), layout) for layout in self._layouts(worst)]
        found = sorted(tried, key=lambda one: one[0])
        if not found or found[0][0] > _HOPELESS * epsilon:
            return
        places = {int(_SAMPLE**i) - 1 for i in range(math.ceil(math.log(len(branches) + 1.0, _SAMPLE)))}
        sample = [*guess, *(branches[i] for i in sorted(places))]
        finalists = [layout for _, layout in found[:_FINALISTS]]
        finalists += [self._layout(worst, one.most, max(_MARGINS) * one.mass) for one in finalists if one.most > 1]
        chosen = min(finalists, key=lambda layout: self._cost(self._bound(sample, layout)))
        self._terms, self._rest = self._bound(branches, chosen, worst)

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
        return self._delta_of((self._terms, self._rest), epsilon)

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the epsilon >= 0 of every mix; inf where there is none."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        return self._epsilon_of((self._terms, self._rest), delta)

    def _delta_of(self, bound: tuple[list[_Term], float], epsilon: float) -> float:
        terms, rest = bound
        at = epsilon - self._loss_error - 4.0 * UNIT * abs(epsilon)
        finite = sum(math.exp(min(term.log_delta(at) + self._log_growth, 0.0)) for term in terms)
        return min((finite + rest + self._unbounded) * (1.0 + 32.0 * UNIT) + SUBNORMAL, 1.0)

    def _epsilon_of(self, bound: tuple[list[_Term], float], delta: float | None = None) -> float:
        terms, rest = bound
        delta = self._delta if delta is None else delta
        steepest = max((term.tilt for term in terms), default=0.0)
        if steepest == 0.0 or rest + self._unbounded >= delta:
            return math.inf
        return crossing(
            lambda epsilon: self._delta_of(bound, epsilon),
            delta,
            self._epsilon,
            slope=lambda _: steepest,
            above=True,
            scale=1e-9 * self._epsilon,
        )

    def _cost(self, bound: tuple[list[_Term], float]) -> float:
        looked_at = sum(term.tilt > 0.0 for term in bound[0])
        return self._epsilon_of(bound) * (1.0 + _PER_TERM * looked_at)

    def _log_sets(self, rare: int) -> float:
        """Return an upper bound on `ln C(instances, rare)`."""
        total = sum(math.log((self._instances - i) / (i + 1.0)) for i in range(rare))
        return total + 8.0 * UNIT * rare * (1.0 + total)

    def _log_mass(self, rare: int, mass: float) -> float:
        """Return an upper bound on the logarithm of `C(instances, rare) mass^rare`."""
        if rare == 0:
            return 0.0
        # A running sum of the atoms' masses is off by far less than this.
        log_power = rare * (math.log(mass) + 1e-9)
        return self._log_sets(rare) + log_power + 8.0 * UNIT * abs(log_power)

    def _layouts(self, worst: PrivacyLossDistribution) -> list[_Layout]:
        """Return what to try, by the atoms of one pair."""
        rarest = np.cumsum(worst.masses[::-1])
        found = list[_Layout]()
        for most in range(1, min(_MOST_RARE, self._instances) + 1):
            log_mass = (math.log(_LEFT_OUT) + math.log(self._delta) - self._log_sets(most)) / most
            mass = math.exp(max(log_mass, _LEAST_LOG_MASS))
            tried = [mass]
            if most > 1:
                last = int(np.searchsorted(rarest, mass / max(_MARGINS), side="right"))
                few = rarest[max(last - _TRIED_ATOMS, 0) : last]
                tried = [_MARGINS[0] * float(own) for own in few]
            found += [self._layout(worst, most, q) for q in tried]
        return found

    def _layout(self, worst: PrivacyLossDistribution, most: int, mass: float) -> _Layout:
        """Return contours that suit one pair."""
        common, rare = _split(worst, mass, _SMALLEST / self._instances)
        parts = [LossMoments(atoms.losses, atoms.log_masses) for atoms in (common, rare)]
        found = list[Contour | None]()
        for number in range(most):
            if number and self._log_mass(number, mass) <= math.log(_NOTHING) + math.log(self._delta):
                found.append(None)
                continue
            counts = (self._instances - number, number)
            total = TotalLoss(
                [(part, count) for part, count in zip(parts, counts, strict=True) if count],
                max(worst.largest_loss, 1e-9) / 2.0**14,
            )
            spread = max(total.moments(0.0)[2], 1e-20 * self._epsilon**2)
            # As `ContourComposition.contour_at`: where the tilted mean exceeds epsilon by 1/t a sum of moduli is least.
            right = 1.0 / max(total.tilt_at(self._epsilon), 1.0 / math.sqrt(spread))
            tilt = max(total.tilt_at(self._epsilon + right), _LEAST_TILT / math.sqrt(spread))
            variance = max(counts[0] * parts[0].at(tilt)[2], 1e-20 * self._epsilon**2)
            contour = Contour.at(tilt, math.sqrt(variance), _SMOOTHING * spread, period=_PERIOD)
            found.append(contour if contour.count <= _MOST_NODES else None)
        return _Layout(most, mass, tuple(found))

    def _bound(
        self, branches: Sequence[Branch], layout: _Layout, worst: PrivacyLossDistribution | None = None
    ) -> tuple[list[_Term], float]:
        """Return what bounds every mix of these: the terms, and what is left of H or more rare losses.

        With `worst`, branches that say more than it are split.
        """
        smallest = _SMALLEST / self._instances
        seen, terms = list(branches), list[_Term]()
        for number, contour in enumerate(layout.contours):
            log_mass = self._log_mass(number, layout.mass)
            if contour is None:
                terms.append(_Term(0.0, log_mass, log_mass))
                continue
            sums = _Sums(contour, self._instances - number, layout.mass, smallest)
            least = math.log(_NOTHING) + math.log(self._delta) + contour.tilt * self._epsilon
            least -= self._log_factor(number, seen, sums)
            enough = math.inf if worst is None else sums.of(worst) + _SPLIT * contour.tilt * self._epsilon
            largest = self._largest(sums, branches, least, enough, seen)
            # Of all that was looked at: what a part of a branch lists may be more than what the branch does.
            terms.append(_Term(contour.tilt, self._log_factor(number, seen, sums) + largest, log_mass))
        return terms, math.exp(min(self._log_mass(layout.most, layout.mass) + self._log_growth, 0.0))

    def _log_factor(self, rare: int, seen: Sequence[Branch], sums: _Sums) -> float:
        """Return an upper bound on the logarithm of C(instances, rare) b^rare."""
        if rare == 0:
            return 0.0
        found = self._log_sets(rare) + rare * sums.largest_rare(seen)
        return found + 8.0 * UNIT * (1.0 + abs(found))

    def _largest(
        self, sums: _Sums, branches: Sequence[Branch], least: float, enough: float, seen: list[Branch]
    ) -> float:
        """Return an upper bound on the largest of the sums of all these, and on `least`.

        Branch and bound: the largest of what is known of each is looked at first, and split if it is more than
        `enough`; its parts are added to `seen`. No modulus exceeds the first, which is quick to compute.
        """
        number, splits = itertools.count(), 0
        queue = [
            (-high, next(number), branch, False) for high, branch in zip(sums.above(branches), branches, strict=True)
        ]
        heapq.heapify(queue)
        while -queue[0][0] > least:
            high, _, branch, known = heapq.heappop(queue)
            if not known:
                heapq.heappush(queue, (max(high, -sums.of(branch.pair)), next(number), branch, True))
                continue
            parts = branch.split() if -high > enough and splits < _MOST_SPLITS else ()
            if not parts:
                return -high
            splits += 1
            self._admit(parts)
            seen += parts
            for part, above in zip(parts, sums.above(parts), strict=True):
                heapq.heappush(queue, (max(high, -above), next(number), part, False))
        return least


@dataclass(frozen=True)
class _Sums:
    """The sums of moduli of a pair in `count` instances along a contour, its rare losses apart, as logarithms."""

    contour: Contour
    count: int
    rarest: float
    smallest: float

    def _common(self, pair: PrivacyLossDistribution) -> LossAtoms:
        return _split(pair, self.rarest, self.smallest)[0]

    def largest_rare(self, branches: Sequence[Branch]) -> float:
        """Return an upper bound on the largest moment of their rare losses at the first node, as a logarithm."""
        rare = [_split(branch.pair, self.rarest, self.smallest)[1] for branch in branches]
        return float(_log_moments(rare, self.contour.tilt).max())

    def of(self, pair: PrivacyLossDistribution) -> float:
        """Return an upper bound on the sum."""
        moduli = self._common(pair).along(self.contour.nodes).log_moduli
        return float(self.contour.log_integral(self.count * moduli))

    def above(self, branches: Sequence[Branch]) -> list[float]:
        """Return a coarser bound for each."""
        whole = float(self.contour.log_integral(np.zeros(self.contour.count)))
        highest = self.count * _log_moments([self._common(branch.pair) for branch in branches], self.contour.tilt)
        return [whole + float(high) + 8.0 * UNIT * (abs(whole) + abs(float(high))) for high in highest]


def _log_moments(every: Sequence[LossAtoms], tilt: float) -> NDArray[np.float64]:
    """Return upper bounds on `ln E[e^(tilt L)]` of each, shape (atoms,); see `LossAtoms` for the rounding."""
    ends = np.cumsum([atoms.losses.size for atoms in every])
    starts = np.append(0, ends[:-1])
    log_masses = np.concatenate([atoms.log_masses for atoms in every])
    reached = tilt * np.concatenate([atoms.losses for atoms in every])
    exponents = reached + log_masses
    shifts = np.maximum.reduceat(exponents, starts)
    sums = np.add.reduceat(np.exp(exponents - np.repeat(shifts, ends - starts)), starts)
    steepest = float(np.abs(log_masses).max() + np.abs(reached).max())
    return np.asarray(shifts + np.log(sums) + UNIT * (16.0 * steepest + np.diff(ends, prepend=0) + 64.0))


def _split(pair: PrivacyLossDistribution, rarest: float, smallest: float) -> tuple[LossAtoms, LossAtoms]:
    """Return the atoms of a pair but for its largest losses, and those, of that mass.

    Its smallest losses, of about the mass `smallest`, are counted as the largest of them: larger losses are worse.
    """
    whole = int(np.searchsorted(np.cumsum(pair.masses[::-1]), rarest, side="right"))
    first = pair.losses.size - whole
    taken = float(pair.masses[first:].sum())
    # The next atom is divided between both.
    rare, common = pair.masses[max(first - 1, 0) :].copy(), pair.masses[:first].copy()
    if first > 0:
        rare[0] = min(max(rarest - taken, 0.0), float(rare[0]))
        common[-1] -= rare[0]
    low = min(int(np.searchsorted(np.cumsum(common), smallest)), max(first - 1, 0))
    common[low : low + 1] += common[:low].sum() * (1.0 + 64.0 * UNIT)
    return LossAtoms.of(pair.losses[low:first], common[low:]), LossAtoms.of(pair.losses[max(first - 1, 0) :], rare)
