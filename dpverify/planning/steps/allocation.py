"""Passes over the data in which each record is in one step, or so many, chosen at random: random allocation."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import field

from dpverify.guarantee import Adjacency, Interval
from dpverify.planning.steps.sampling import Sampling, check_loss
from dpverify.planning.steps.step import NoiseLaw, NoisyStep
from dpverify.privacy_loss.composing.bounds import total
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling.allocation import allocated
from dpverify.privacy_loss.sampling.line import NoiseLine
from dpverify.privacy_loss.sampling.pairs import ListedPair
from dpverify.privacy_loss.sampling.replaced import normal_cells, replaced_above, replaced_below
from dpverify.privacy_loss.sampling.triples import NoiseTriple
from dpverify.rounding import UNIT
from dpverify.shown import Plain
from protocols.classes.frozen import dataclass
from protocols.validation import check_choice, check_ranges

__all__ = ["RandomAllocation"]

_MOST_NOISE = 1e150
_LEAST_TAIL = 1e-120
"""Products of two masses of so little are still floats."""
_LARGEST_LOSS = 300.0
_CELLS = 512
"""Into which a shift is divided where Laplace noise is rounded."""


@dataclass(frozen=True)
class RandomAllocation(Plain):
    """A pass of many steps of which each record is in exactly one, or so many, chosen at random: balls and bins.

    Each step adds noise to the sum of what its records add, each a vector of norm at most 1, and may depend on what
    the steps before released. Accounted once it is one pass; `instances` passes choose anew.

    Parameters
    ----------
    noise : float
        The noise multiplier of a step: standard deviation (Gaussian) or scale (Laplace) over the largest norm.
    steps : int
        How many steps there are in a pass.
    law : NoiseLaw or str
        "gaussian", or "laplace" for sums of numbers.
    chosen : int
        In how many of them each record is: any set of so many is as likely as any other.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.

    Notes
    -----
    A pass of t steps reveals no more of a record than t draws of the noise around 0, one of them, chosen at random,
    around 1 instead: docs/sampling.md has the proof. Of several that are chosen the upper end is that of as many passes
    of fewer steps, and both ends are apart. Where losses are too large for lists, as of Laplace noise below 1/700, what
    is left is that of who is told the steps. So are they where a record is replaced: the upper end goes through nothing
    in its place, the lower one is that of a record that becomes its opposite.

    Examples
    --------
    >>> import dpverify
    >>> epochs = dpverify.RandomAllocation(noise=2.0, steps=10)
    >>> found = dpverify.account(epochs, instances=3, delta="1e-6")
    >>> print(f"{found.epsilon.upper:.3f}")
    1.273
    """

    noise: float = field(metadata={"within": "[1e-100, 1e150]"})
    steps: int = field(metadata={"within": "[1, 1000000]"})
    law: NoiseLaw = NoiseLaw.GAUSSIAN
    chosen: int = field(default=1, metadata={"within": "[1, 64]"})

    sampling = Sampling.RANDOM_ALLOCATION

    def __post_init__(self) -> None:
        check_ranges(self)
        object.__setattr__(self, "law", check_choice("law", self.law, NoiseLaw))
        if self.chosen > self.steps:
            raise ValueError(f"chosen={self.chosen} must be at most steps={self.steps}.")

    @property
    def rate(self) -> float:
        """With which probability a record is in a step."""
        return self.chosen / self.steps

    def check(self, adjacency: Adjacency) -> None:
        """Do nothing: a pair is proved to dominate a pass for each adjacency."""

    def largest_loss(self, adjacency: Adjacency) -> Interval:
        """Return the largest privacy loss of a pass: that of one step, as often as the record is in one."""
        return total([(self.chosen, NoisyStep(self.noise, law=self.law).largest_loss(adjacency))])

    @property
    def told(self) -> tuple[NoisyStep, int]:
        """Steps that reveal no less: of who is told which steps the record is in, these are all that tell of it."""
        return NoisyStep(self.noise, law=self.law), self.chosen

    @property
    def summed(self) -> tuple[NoisyStep, int] | None:
        """Steps that reveal no more: the sum of all, if its noise has the same law; all of them, if the record is."""
        if self.chosen == self.steps:
            return self.told
        noise = self.noise * (math.sqrt(self.steps) / self.chosen) * (1.0 + 4.0 * UNIT)
        return (NoisyStep(noise), 1) if self.law is NoiseLaw.GAUSSIAN and noise <= _MOST_NOISE else None

    def pair(self, adjacency: Adjacency, tail: float) -> ListedPair:
        """Return the pair that dominates a pass, of whose laws a tail may be left out."""
        found = _pair(self, _rounded(tail), attained=False)
        return _same(replaced_above(found)) if adjacency is Adjacency.REPLACE_ONE else ListedPair(found)

    def attained(self, adjacency: Adjacency, tail: float) -> Sequence[ListedPair]:
        """Return a pair that is attained, by what takes ratios together."""
        if adjacency is Adjacency.REPLACE_ONE:
            return [_same(_replaced_below(self))]
        return [ListedPair(_pair(self, _rounded(tail), attained=True))]

    def __str__(self) -> str:
        many = "one" if self.chosen == 1 else str(self.chosen)
        return f"{self.law.value} noise of {self.noise:g}, {self.steps:,} steps with each record in {many} of them"


def _rounded(tail: float) -> float:
    """Return a tail that is no larger, one of few, so that other numbers of passes find what is kept of the last."""
    return max(math.ldexp(1.0, (math.frexp(tail)[1] - 1) // 8 * 8), _LEAST_TAIL)


def _same(pair: PrivacyLossDistribution) -> ListedPair:
    return ListedPair(Directions(pair, pair))


@functools.lru_cache(maxsize=16)
def _pair(step: RandomAllocation, tail: float, *, attained: bool) -> Directions:
    if step.law is NoiseLaw.GAUSSIAN:
        line = NoiseLine.gaussian(step.noise, tail / (4.0 * step.steps))
    else:
        check_loss(step, 1.0 / step.noise, 700.0)
        line = NoiseLine.laplace(step.noise)
    return allocated(line, step.steps, 0.5 * tail, step.chosen, attained=attained)


@functools.lru_cache(maxsize=16)
def _replaced_below(step: RandomAllocation) -> PrivacyLossDistribution:
    if step.law is NoiseLaw.GAUSSIAN:
        cells = normal_cells(step.noise)
    else:
        cells = NoiseTriple.laplace(min(1.0 / step.noise, _LARGEST_LOSS), _CELLS, rounded=True)
    return replaced_below(cells, step.steps, step.chosen)
