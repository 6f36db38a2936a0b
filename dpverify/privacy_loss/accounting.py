"""From pairs to an answer: the grid step for a wanted accuracy, a bound for every mix, and the lower bound to match."""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from dpverify.guarantee import Interval
from dpverify.privacy_loss.compose import Composition, WindowTooLargeError
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.grid import GridPrivacyLoss, connect_the_dots, dominating_grid
from dpverify.privacy_loss.inversion import crossing
from protocols.validation import check_integer, check_real

__all__ = ["Entry", "FamilyComposition", "choose_step"]

Answer = TypeVar("Answer")
Entry = PrivacyLossDistribution | Sequence[PrivacyLossDistribution]
"""One pair, or a group of pairs of which an instance may present any."""

_MOST_LENGTH = 2**22
_COARSEST_CELLS = 64


def choose_step(
    pair: PrivacyLossDistribution, instances: int, *, relative_width: float = 1e-6, reference_delta: float = 1e-6
) -> float:
    """Return a grid step for which the interval of epsilon at `reference_delta` is about `relative_width` wide.

    The excess that the lower bound charges to connect-the-dots moves epsilon by about `2.4 k t h^2 / 4`, with t the
    saddle-point tilt; the step is that, rounded so that the transform's window is a power of two, and no smaller than
    memory of 2^22 cells allows. A heuristic for the width only: the interval is proved whatever the step.
    """
    check_integer("instances", instances, low=1)
    scale = max(pair.largest_loss, 1e-9)
    probe = Composition([(connect_the_dots(pair, scale / 512.0), instances)])
    epsilon, tilt, deviation = probe.saddle_point(reference_delta)
    epsilon = max(epsilon, 0.05 * deviation)
    step = math.sqrt(relative_width * epsilon / (0.6 * instances * max(tilt, 1.0)))
    if step < scale * 2.0**-40:
        return scale / _COARSEST_CELLS  # no finite loss that a finer grid would resolve
    span = 21.5 * max(deviation, 4.0 * step)
    length = 2.0 ** min(max(math.ceil(math.log2(span / step)), 6), round(math.log2(_MOST_LENGTH)))
    return min(span / length, scale / _COARSEST_CELLS)


class FamilyComposition:
    """Composition of `instances` mechanisms run on fixed inputs, each of which may meet any pair of a family.

    Parameters
    ----------
    pairs : sequence of PrivacyLossDistribution or of groups of them
        Every pair that an instance may present: both directions, and every dataset that matters. A group (itself a
        sequence) is covered by the supremum of its profiles.
    instances : int
        How many instances the same user takes part in.
    attained : sequence of PrivacyLossDistribution, optional
        Pairs that a single dataset attains in every instance at once, for the lower bound; when omitted, `pairs`, which
        must then hold no groups.
    step : float, optional
        Grid step in nats; chosen for `relative_width` at `reference_delta` when omitted, and coarsened if a heavy
        tail would need more memory than a composition may take.
    relative_width, reference_delta : float
        The accuracy wanted: see `choose_step`. Also the gap at which the search over mixes of two pairs stops, but no
        less than 1e-4: each halving of that gap costs another composition.

    Notes
    -----
    A replaced user's bit may go up in some instances and down in others. Composing the pointwise supremum of the
    profiles dominates every mix, even an adaptive one. With two entries (say one per direction) the inputs are fixed
    before the first instance runs, so the worst mix is a number m of instances with the first and the rest with the
    second: branch and bound over m, where a block m in [a, b] is bounded by a instances of the first, I - b of the
    second and b - a of the supremum of both. Randomised bits are covered by joint convexity of the divergence.
    The lower bound is the largest over the attained pairs, each used in all instances.
    """

    def __init__(
        self,
        pairs: Sequence[Entry],
        instances: int,
        *,
        attained: Sequence[PrivacyLossDistribution] | None = None,
        step: float | None = None,
        relative_width: float = 1e-6,
        reference_delta: float = 1e-6,
    ) -> None:
        self.instances = check_integer("instances", instances, low=1)
        check_real("relative_width", relative_width, low=0.0, low_open=True)
        check_real("reference_delta", reference_delta, low=0.0, high=1.0, low_open=True, high_open=True)
        if not pairs:
            raise ValueError("pairs is empty, but must hold at least one distribution.")
        groups = [[entry] if isinstance(entry, PrivacyLossDistribution) else list(entry) for entry in pairs]
        if attained is None and any(len(group) > 1 for group in groups):
            raise ValueError("attained is None, but must be given when pairs holds groups.")
        every = _distinct([pair for group in groups for pair in group])
        lower_pairs = every if attained is None else _distinct(attained)

        @functools.cache
        def step_for(width: float) -> float:
            if step is not None:
                return check_real("step", step, low=0.0, low_open=True)
            return min(
                choose_step(pair, instances, relative_width=width, reference_delta=reference_delta)
                for pair in lower_pairs
            )

        self._single = _OneInstance(every, lower_pairs) if instances == 1 else None
        if self._single is not None:
            self.step = 0.0
            return
        # The search over mixes stops at a gap of 1e-4: a grid for a tenth of that is fine enough, and quicker.
        self._mix_gap = max(relative_width, 1e-4)
        self._groups, self._every, self._lower_pairs = groups, every, lower_pairs
        self._may_coarsen = step is None
        self._build(step_for(relative_width), step_for(max(relative_width, 1e-5)))

    def _build(self, step: float, mix_step: float) -> None:
        """Put everything on grids: `step` for the lower bounds, `mix_step` for the search over mixes."""
        self.step = step
        self._mix_step = mix_step if len(self._groups) > 1 else step
        two = len(self._groups) == 2 and len(self._every) > 1
        self._ends = [dominating_grid(group, self._mix_step) for group in self._groups] if two else []
        self._supremum = dominating_grid(self._ends or self._every, self._mix_step)
        self._mixes: dict[tuple[int, int], Composition] = {}
        self._lower_compositions: list[Composition] = []

    def _answer(self, question: Callable[[], Answer]) -> Answer:
        """Ask, on coarser and coarser grids until the windows fit in memory, unless the step was given."""
        while True:
            try:
                return question()
            except WindowTooLargeError:
                if not self._may_coarsen:
                    raise
                self._build(4.0 * self.step, 4.0 * self._mix_step)

    def _lower(self) -> list[Composition]:
        """Return the compositions of the attained pairs, made when a lower bound is first asked for."""
        if not self._lower_compositions:
            grids = [connect_the_dots(pair, self.step) for pair in self._lower_pairs]
            self._lower_compositions = [Composition([(grid, self.instances)]) for grid in grids]
        return self._lower_compositions

    def _mix(self, low: int, high: int) -> Composition:
        """Return a composition that dominates every mix with `low` to `high` instances of the first pair."""
        if (low, high) not in self._mixes:
            parts: list[tuple[GridPrivacyLoss, int]] = [(self._supremum, high - low)]
            if self._ends:
                parts += [(self._ends[0], low), (self._ends[1], self.instances - high)]
            self._mixes[low, high] = Composition([(grid, count) for grid, count in parts if count > 0])
        return self._mixes[low, high]

    def _worst_mix(self, value: Callable[[Composition], float], decide: float | None = None) -> float:
        """Return an upper bound on the largest `value` over all mixes, by branch and bound.

        Stops early once every mix is known to be at most `decide`, or some mix is not.
        """
        whole = value(self._mix(0, self.instances))
        if not self._ends:
            return whole
        attained = max(value(self._mix(m, m)) for m in (0, self.instances))
        blocks = [(-whole, 0, self.instances)]
        while blocks:
            bound, low, high = -blocks[0][0], blocks[0][1], blocks[0][2]
            settled = decide is not None and (bound <= decide or attained > decide)
            if settled or bound <= attained * (1.0 + self._mix_gap):
                return max(bound, attained)
            heapq.heappop(blocks)
            middle = (low + high) // 2
            attained = max(attained, value(self._mix(middle, middle)))
            # Single mixes count in `attained`; the open blocks between them remain.
            for first, last in ((low, middle), (middle, high)):
                if last - first > 1:
                    heapq.heappush(blocks, (-value(self._mix(first, last)), first, last))
        return attained

    def delta(self, epsilon: float) -> Interval:
        """Return the largest hockey-stick divergence over every mix of the pairs, as a proved interval."""
        if self._single is not None:
            return self._single.delta(epsilon)

        def ask() -> Interval:
            upper = self._worst_mix(lambda mix: mix.delta(epsilon).upper)
            return Interval.proved(max(c.delta(epsilon).lower for c in self._lower()), upper)

        return self._answer(ask)

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon >= 0 at which that divergence is at most delta, as a proved interval."""
        if self._single is not None:
            return self._single.epsilon(delta)

        def ask() -> Interval:
            upper = self.epsilon_upper(delta)
            return Interval.proved(max(c.epsilon(delta).lower for c in self._lower()), upper)

        return self._answer(ask)

    def epsilon_upper(self, delta: float, *, decide: float | None = None) -> float:
        """Return only the upper bound of `epsilon`; with `decide`, stop once it is known to be above that or not."""
        if self._single is not None:
            return self._single.epsilon_upper(delta)
        return self._answer(lambda: self._worst_mix(lambda mix: mix.epsilon_upper(delta), decide))


class _OneInstance:
    """A family used once: the profiles themselves, without any grid."""

    def __init__(self, every: list[PrivacyLossDistribution], attained: list[PrivacyLossDistribution]) -> None:
        self._every, self._attained = every, attained
        self._largest = max(pair.largest_loss + pair.loss_error for pair in every)

    def _upper(self, epsilon: float) -> float:
        return max(pair.delta(epsilon).upper for pair in self._every)

    def _lower(self, epsilon: float) -> float:
        return max(pair.delta(epsilon).lower for pair in self._attained)

    def delta(self, epsilon: float) -> Interval:
        return Interval.proved(self._lower(epsilon), self._upper(epsilon))

    def epsilon(self, delta: float) -> Interval:
        upper = self.epsilon_upper(delta)
        if max(pair.infinite_mass * (1.0 - pair.relative_error) for pair in self._attained) > delta:
            return Interval(math.inf, math.inf)
        return Interval.proved(self._crossing(delta, min(upper, self._largest), self._lower, above=False), upper)

    def epsilon_upper(self, delta: float) -> float:
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        if max(pair.unbounded_mass for pair in self._every) > delta:
            return math.inf
        return self._crossing(delta, 0.5 * self._largest, self._upper, above=True)

    def _crossing(self, delta: float, guess: float, profile: Callable[[float], float], *, above: bool) -> float:
        scale = 1e-9 * max(self._largest, 1e-9)
        return crossing(
            profile, delta, guess, slope=lambda _: 8.0 / max(self._largest, scale), above=above, scale=scale
        )


def _distinct(pairs: Sequence[PrivacyLossDistribution]) -> list[PrivacyLossDistribution]:
    return list({id(pair): pair for pair in pairs}.values())
