"""Composition of different families of pairs, each used a number of times; a user meets all, or at most so many.

**Upward.** An instance may meet any pair of its family, and another one next time; the supremum of the family's
profiles is a pair that dominates each, and a product of dominating pairs dominates the product (zhu2022, Theorem 27).
Where all instances are met, single pairs in all instances of a family bound them too (`together`): the lesser counts.

**At most k of all.** Let T be any k of the instances, D the supremum of the profiles of all others, and let every one
in T be replaced by the supremum of itself and D. Any k instances are then dominated: those in T by what replaced them,
and the others, one by one, by what replaced those of T that are not among them, as each dominates D. So T may be chosen
by a guess; it costs nothing where what is in T dominates the rest, as where the days with the fewest users are taken.
Fewer than k are dominated by k, as any instance dominates none; so k are dominated by all together, which is the lesser
bound where few instances have losses of another kind than the rest.

**Downward.** Pairs that some dataset attains, one for each instance, and any k instances: all choices are attained, as
the datasets of different instances have nothing to do with each other.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from dpverify.guarantee import Interval
from dpverify.privacy_loss.composing.mixes import Mixes, Step, branches_of, narrowed
from dpverify.privacy_loss.composing.together import AnyOf, Together
from dpverify.privacy_loss.datasets.covers import Covers, Entry, members
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.contour_composition import ContourComposition
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss, connect_the_dots, dominating_grid
from dpverify.privacy_loss.windows.saddle import LossMoments, total_loss
from dpverify.privacy_loss.windows.step import least_step, rarest, step_for
from dpverify.privacy_loss.windows.transform import Composition, WindowTooLargeError
from protocols.validation import check_integer, check_real

__all__ = ["SeveralComposition", "SeveralLaws"]

Answer = TypeVar("Answer")
_NARROW = 3e-4
"""An interval that is relatively no wider needs no other bound."""
_SMOOTHING = 1e-4
"""The extra variance of the total loss along a line, relatively: half of that is what it costs of epsilon."""
_MOST_SPLITS = 600
"""How many branches of all families are divided."""
_FEW_LAWS = 24
"""More than so many are not mixed by the recursion, which would take each user's datasets of every day."""
_LOOSE_DELTA = 3e-3
"""And so one of delta."""
_MOST_LENGTH = 2**16
_MOST_BYTES = 2**27


class SeveralLaws:
    """Families of pairs on one grid, for compositions of so many of each.

    - families: Of each, what an instance may present, as for `FamilyComposition`.
    - attained: Of each, pairs that some dataset attains; none where none is known. They need not be those of the
      families: a composition is given two numbers for each, so that one law may bound an instance from above and
      another from below.
    - counts: About how many of each family are composed at the most: for the grid, and for what may be left out.
    - relative_width, reference_delta: The accuracy wanted, and where.
    - most_length: Of a window at first, in cells.
    """

    def __init__(
        self,
        families: Sequence[Sequence[Entry]],
        attained: Sequence[Sequence[PrivacyLossDistribution]],
        counts: Sequence[int],
        *,
        relative_width: float = 1e-5,
        reference_delta: float = 1e-6,
        most_length: int = _MOST_LENGTH,
    ) -> None:
        if not families or len(attained) != len(families) or len(counts) != len(families):
            raise ValueError(
                f"families, attained and counts have {len(families)}, {len(attained)} and {len(counts)} entries, but "
                "must have as many as each other, at least one."
            )
        check_real("reference_delta", reference_delta, low=0.0, high=1.0, low_open=True, high_open=True)
        total = sum(counts)
        cut = self._cut = rarest(reference_delta, total)
        self._entries, self._attained_all = families, attained
        self._attained = [[pair.trimmed(cut) for pair in pairs] for pairs in attained]
        parts = [
            ((pairs or members(family[0]))[0], count)
            for pairs, family, count in zip(self._attained, families, counts, strict=True)
            if count > 0
        ]
        self.step = step_for(
            parts, relative_width=relative_width, reference_delta=reference_delta, most_length=most_length
        )
        listed = [part for part in parts if part[0].losses.size]
        self._tilt = total_loss(listed).saddle_point(reference_delta)[1] if listed else 0.0
        self.reference_delta = reference_delta

        def moment(pair: PrivacyLossDistribution) -> float:
            return LossMoments(pair.losses, np.log(pair.masses)).at(self._tilt)[0] if pair.losses.size else 0.0

        def badness(pair: PrivacyLossDistribution) -> tuple[float, float]:
            infinite = pair.infinite_mass * total
            return infinite if infinite > reference_delta else 0.0, moment(pair)

        self._families = []
        for family in families:
            entries = family.likeliest(total, moment) if isinstance(family, Covers) else family
            self._families.append([pair.trimmed(cut) for entry in entries for pair in members(entry)])
        self._attained = [[max(pairs, key=badness)] if pairs else [] for pairs in self._attained]
        # The step was chosen for one pair of each family; another one may lose far more.
        every = itertools.chain(*self._families, *self._attained)
        self.step = max(self.step, least_step(every))
        self._build()

    def _build(self) -> None:
        self._upper = [dominating_grid(family, self.step) for family in self._families]
        self._lower = [connect_the_dots(pairs[0], self.step) if pairs else None for pairs in self._attained]

    def parts(self, counts: Sequence[int]) -> list[AnyOf]:
        """Return so many instances of each family, as what a `Together` is made of."""
        return [AnyOf(pairs, count) for pairs, count in zip(self._families, counts, strict=True) if count]

    def divided(self, counts: Sequence[int]) -> list[AnyOf]:
        """Return the same of pairs by themselves, as closely as is worthwhile for so few families."""
        most = _MOST_SPLITS // len(counts)
        return [
            AnyOf(branches_of(entries)(), count, cut=self._cut, most_splits=most)
            for entries, count in zip(self._entries, counts, strict=True)
            if count
        ]

    def attained(self, counts: Sequence[int]) -> list[tuple[PrivacyLossDistribution, int]]:
        """Return the pairs that are attained at once in so many instances of each, where one is known."""
        return [(pairs[0], count) for pairs, count in zip(self._attained, counts, strict=True) if pairs and count]

    def mixes(self, upper: Sequence[int], lower: Sequence[int]) -> Mixes:
        """Return all mixes of so many instances of each, from above, and those that are attained of so many."""
        made = [branches_of(entries) for entries in self._entries]
        # What is tied attains one pair in all instances, and not another one in another family of the same users.
        attained = [
            one if isinstance(entries, Covers) and entries.tied else every
            for entries, one, every in zip(self._entries, self._attained, self._attained_all, strict=True)
        ]
        below = zip(made, attained, lower, strict=True)
        return Mixes(list(zip(made, upper, strict=True)), list(below))

    def coarser(self) -> None:
        """Put everything on a grid of four times the step."""
        self.step *= 4.0
        self._build()

    def _composed(self, factors: Sequence[tuple[GridPrivacyLoss, int]], quick: bool) -> Composition:
        if quick:
            return ContourComposition(factors, shared_at=self.reference_delta)
        return Composition(factors, max_bytes=_MOST_BYTES)

    def upper(self, counts: Sequence[int], most: int, *, quick: bool = False) -> list[Composition]:
        """Return bounds each of which dominates any `most` of so many instances of each family."""
        if most == sum(counts):
            return [self._composed(_worst(self._upper, counts, most, itertools.repeat(0))[0], quick)]
        found = self.upper(counts, sum(counts), quick=quick)
        for ranks in self._rankings(self._upper, most):
            chosen, left = _worst(self._upper, counts, most, ranks)
            if left:
                others = dominating_grid(left, self.step)
                chosen = [(dominating_grid([grid, others], self.step), count) for grid, count in chosen]
            found.append(self._composed(chosen, quick))
        return found

    def lower(self, counts: Sequence[int], most: int, *, quick: bool = False) -> list[Composition]:
        """Return what some datasets attain in `most` of so many instances of each; nothing where no pair is known."""
        known = [(grid, count) for grid, count in zip(self._lower, counts, strict=True) if grid is not None and count]
        if not known:
            return []
        # An instance that is left out, as nothing attained is known of it, would only add.
        grids, numbers = zip(*known, strict=True)
        most = min(most, sum(numbers))
        rankings = self._rankings(grids, most) if most < sum(numbers) else [itertools.repeat(0)]
        return [self._composed(_worst(grids, numbers, most, ranks)[0], quick) for ranks in rankings]

    def _rankings(self, grids: Sequence[GridPrivacyLoss], most: int) -> list[list[tuple[float, float]]]:
        """Return how bad each law looks, in two ways: neither is right for all, and both are only guesses.

        By the loss that a share of delta exceeds, so that rare losses, however large, do not count where few instances
        are met; and by the moments of all, as for many.
        """
        share = self.reference_delta / most
        tails, moments = list[tuple[float, float]](), list[tuple[float, float]]()
        for grid in grids:
            known = grid.indices.size > 0
            infinite = grid.infinite_mass if grid.infinite_mass > share else 0.0
            moment = grid.moments.at(self._tilt)[0] if known else 0.0
            rarer = grid.infinite_mass + np.cumsum(grid.masses[::-1])
            place = min(int(np.searchsorted(rarer, share)), grid.indices.size - 1)
            tails.append((infinite, float(grid.losses[-1 - place]) if known else 0.0))
            moments.append((infinite, moment))
        return [tails, moments]


def _worst(
    grids: Sequence[GridPrivacyLoss], counts: Sequence[int], most: int, ranks: Iterable[Any]
) -> tuple[list[tuple[GridPrivacyLoss, int]], list[GridPrivacyLoss]]:
    """Return so many instances, of the highest ranks, and the laws of those that are left."""
    chosen, left = list[tuple[GridPrivacyLoss, int]](), list[GridPrivacyLoss]()
    for _, grid, count in sorted(zip(ranks, grids, counts, strict=False), key=lambda part: part[0], reverse=True):
        taken = min(count, most)
        most -= taken
        if taken:
            chosen.append((grid, taken))
        if taken < count:
            left.append(grid)
    return chosen, left


class SeveralComposition:
    """The privacy curve of some instances of several families.

    - laws: The families.
    - upper, lower: How many instances of each bound the truth from above and from below; both add up to the same
      number.
    - most: In how many of them the same user takes part at most; in all when omitted.
    - attained: In how many of them, whichever they are, she may take part surely; `most` when omitted.
    - quick: Whether answers at about the laws' reference delta may be 1e-4 wider: many such compositions of one `laws`
      cost little more than one, see `ContourComposition`.
    - sharp: Whether bounds are narrowed that are loose, at a cost of seconds for each answer.

    Raises ValueError if a count is negative, the sums differ where all are met, or `most` is not in [1, their sum].
    """

    def __init__(
        self,
        laws: SeveralLaws,
        upper: Sequence[int],
        lower: Sequence[int],
        most: int | None = None,
        attained: int | None = None,
        *,
        quick: bool = False,
        sharp: bool = True,
    ) -> None:
        total, known = (sum(check_integer("count", count, low=0) for count in counts) for counts in (upper, lower))
        if known != total:
            raise ValueError(f"upper and lower add up to {total} and {known}, but must add up to the same.")
        self._laws, self._counts = laws, (tuple(upper), tuple(lower))
        self._most = total if most is None else check_integer("most", most, low=1, high=total)
        self._attained = self._most if attained is None else check_integer("attained", attained, low=1, high=self._most)
        self._step, self._quick = 0.0, quick
        self._all = self._most == total and sharp and not quick

    def _ask(self, question: Callable[[list[Composition], list[Composition]], Answer]) -> Answer:
        """Ask, on coarser and coarser grids until the windows fit in memory."""
        while True:
            if self._step != self._laws.step:
                self._upper = self._laws.upper(self._counts[0], self._most, quick=self._quick)
                self._lower = self._laws.lower(self._counts[1], self._attained, quick=self._quick)
                self._step = self._laws.step
            try:
                return question(self._upper, self._lower)
            except WindowTooLargeError:
                self._laws.coarser()

    def delta(self, epsilon: float) -> Interval:
        """Return the largest divergence at an epsilon, as a proved interval."""
        check_real("epsilon", epsilon)
        found = self._ask(
            lambda upper, lower: Interval.proved(
                max((each.delta(epsilon).lower for each in lower), default=0.0),
                min(each.delta(epsilon).upper for each in upper),
            )
        )
        mixes = self._mixes
        return self._narrowed(
            found, _LOOSE_DELTA, lambda bound: bound.delta(epsilon), epsilon, mixes.delta_above, mixes.delta_below
        )

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon >= 0 at which that divergence is at most delta, as a proved interval."""
        found = self._ask(
            lambda upper, lower: Interval.proved(
                max((each.epsilon_lower(delta) for each in lower), default=0.0),
                min(each.epsilon_upper(delta) for each in upper),
            )
        )
        mixes = self._mixes
        return self._narrowed(
            found, _NARROW, lambda bound: bound.epsilon(delta), delta, mixes.epsilon_above, mixes.epsilon_below
        )

    @cached_property
    def _together(self) -> Together:
        """The bound from covers of few pairs, each in all instances."""
        return self._along(self._laws.parts(self._counts[0]))

    @cached_property
    def _divided(self) -> Together:
        """And that from as many pairs as it takes."""
        return self._along(self._laws.divided(self._counts[0]))

    def _along(self, parts: Sequence[AnyOf]) -> Together:
        return Together(parts, (), self._laws.reference_delta, smoothing=_SMOOTHING)

    @cached_property
    def _mixes(self) -> Mixes:
        return self._laws.mixes(*self._counts)

    def _narrowed(
        self,
        found: Interval,
        enough: float,
        ask: Callable[[Together], Interval],
        at: float,
        above: Callable[..., Interval],
        below: Callable[[float, Interval], Interval],
    ) -> Interval:
        """Return an answer narrowed by other bounds, where all may be met; of many laws by the first of them."""
        if not self._all:
            return found

        def along(made: Callable[[], Together]) -> Step:
            return lambda found: Interval.proved(found.lower, min(found.upper, ask(made()).upper))

        steps = [along(lambda: self._together)]
        if sum(count > 0 for count in self._counts[0]) <= _FEW_LAWS:
            steps += [
                along(lambda: self._divided),
                functools.partial(above, at, quick=True),
                # All may be met, but perhaps not surely.
                *([functools.partial(below, at)] if self._attained == self._most else []),
                functools.partial(above, at, quick=False),
            ]
        return narrowed(found, lambda found: enough * found.upper < found.width, *steps)
