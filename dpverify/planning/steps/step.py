"""Steps of a trusted curator: noise on a sum, over all records or a random sample of them, and what many give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from flint import arb

from dpverify.changes import Full
from dpverify.formulas.contexts import arb_context, lower_float, upper_float
from dpverify.guarantee import Adjacency, CapacityError, Interval, PrivacyCurve
from dpverify.privacy_loss.composing.bounds import BestCurve, LargestLossCurve, total
from dpverify.privacy_loss.sampling.curve import LinePair, SampledCurve, SampledPair
from dpverify.privacy_loss.sampling.line import NoiseLine
from dpverify.privacy_loss.windows.gaussian import NormalNoiseCurve
from dpverify.shown import Plain
from protocols.validation import check_choice, check_integer, check_ranges

__all__ = ["NoiseLaw", "NoisyStep", "Step", "Steps", "check_sample", "largest_of_sample", "shift_of"]

_CUT = 1e-10
"""The share of delta that all steps may leave out together."""
_LEAST_TAIL = 1e-280
_LARGEST_LOSS = 1e6
_LEAST_LAPLACE = 1.0 / 700.0
"""The least scale, in units of the largest change: losses are 700 at most."""


class Step(Protocol):
    """What a step is, for each adjacency that is proved."""

    @property
    def rate(self) -> float:
        """The probability with which a record takes part."""

    def check(self, adjacency: Adjacency) -> None:
        """Raise ValueError if no pair is proved to dominate this step for an adjacency."""

    def largest_loss(self, adjacency: Adjacency) -> Interval:
        """Return the largest privacy loss."""

    def pair(self, adjacency: Adjacency, tail: float) -> SampledPair:
        """Return a pair that dominates, and is attained, of whose laws a tail may be left out."""

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain values."""


class NoiseLaw(StrEnum):
    """Which noise a step adds."""

    GAUSSIAN = "gaussian"
    """To a sum of vectors, of the same standard deviation in all directions."""
    LAPLACE = "laplace"
    """To a sum of numbers."""


@dataclass(frozen=True)
class NoisyStep(Plain):
    """One step of a trusted curator: noise on the sum of what some records add, each a vector of norm at most 1.

    Parameters
    ----------
    noise : float
        The noise multiplier: standard deviation (Gaussian) or scale (Laplace) over the largest norm.
    rate : float
        With which probability each record takes part, independently of all others and of the other steps: Poisson
        sampling. 1 is all records, every time.
    law : NoiseLaw or str
        "gaussian", or "laplace" for sums of numbers.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> import dpverify
    >>> training = dpverify.NoisyStep(noise=1.0, rate=0.01)
    >>> found = dpverify.account(training, instances=10_000, delta="1e-6", relative_width=1e-4)
    >>> print(found.epsilon)
    [6.90706, 6.90744]
    >>> found.guarantee.adjacency.value
    'add-remove'
    """

    noise: float = field(metadata={"within": "(0, 1e150]"})
    rate: float = field(default=1.0, metadata={"within": "(0, 1]"})
    law: NoiseLaw = NoiseLaw.GAUSSIAN

    def __post_init__(self) -> None:
        check_ranges(self)
        object.__setattr__(self, "law", check_choice("law", self.law, NoiseLaw))

    def check(self, adjacency: Adjacency) -> None:
        """Raise ValueError if no pair is proved to dominate this step for an adjacency."""
        if self.law is NoiseLaw.LAPLACE:
            check_sample(adjacency, self.rate, "laplace noise")

    def largest_loss(self, adjacency: Adjacency) -> Interval:
        """Return the largest privacy loss, infinite for Gaussian noise."""
        if self.law is NoiseLaw.GAUSSIAN:
            return Interval(math.inf, math.inf)
        with arb_context():
            return largest_of_sample(arb(shift_of(adjacency)) / arb(self.noise), self.rate)

    def pair(self, adjacency: Adjacency, tail: float) -> SampledPair:
        """Return the pair that dominates, of whose laws a tail may be left out."""
        if adjacency is Adjacency.REPLACE_ONE and self.rate < 1.0:
            return LinePair(NoiseLine.gaussian(self.noise, tail, opposite=True), self.rate)
        shifted = self.noise / shift_of(adjacency)
        if self.law is NoiseLaw.GAUSSIAN:
            return LinePair(NoiseLine.gaussian(shifted, tail), self.rate)
        if shifted < _LEAST_LAPLACE:
            raise CapacityError(f"noise={self.noise!r} is too little for losses that floats hold; more noise is not.")
        return LinePair(NoiseLine.laplace(shifted), self.rate)

    def __str__(self) -> str:
        sample = "all records" if self.rate == 1.0 else f"each record with probability {self.rate:g}"
        return f"{self.law.value} noise of {self.noise:g}, {sample}"


def check_sample(adjacency: Adjacency, rate: float, what: str) -> None:
    """Raise ValueError where a record may be replaced among a sample, for what no dominating pair is proved then."""
    if adjacency is Adjacency.REPLACE_ONE and rate < 1.0:
        raise ValueError(
            f"adjacency='replace-one' is not covered for {what} on a sample (rate={rate!r}): no pair that dominates it "
            "is proved here; add-remove and zero-out are."
        )


def largest_of_sample(whole: arb, rate: float) -> Interval:
    """Return ln(1 - q + q e^L), what a sample makes of the largest loss L."""
    if not whole < _LARGEST_LOSS:  # where e^L is out of reach, L and L + ln q enclose it
        return Interval(lower_float(whole + arb(rate).log()), upper_float(whole))
    ball = (1 + arb(rate) * whole.expm1()).log() if rate < 1.0 else whole
    return Interval(lower_float(ball), upper_float(ball))


def shift_of(adjacency: Adjacency) -> int:
    """Return how far the sum moves, in units of the largest norm: a record becomes its opposite, or comes or goes."""
    return 2 if adjacency is Adjacency.REPLACE_ONE else 1


@dataclass(frozen=True)
class Steps(Plain):
    """Steps in any order, of which each may depend on what the others released.

    Parameters
    ----------
    parts : sequence of (Step, int)
        At least one: a step, and how often it is made.
    adjacency : Adjacency or str
        Which datasets are neighbours: the same for all steps.

    Raises
    ------
    ValueError
        If there is none, or one is not covered for this adjacency.
    """

    parts: tuple[tuple[Step, int], ...]
    adjacency: Adjacency

    def __init__(self, parts: Sequence[tuple[Step, int]], adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> None:
        object.__setattr__(self, "adjacency", check_choice("adjacency", adjacency, Adjacency))
        counts: dict[Step, int] = {}
        for step, count in parts:
            step.check(self.adjacency)
            counts[step] = counts.get(step, 0) + check_integer("instances", count, low=1)
        if not counts:
            raise ValueError("steps is empty, but must hold at least one NoisyStep.")
        object.__setattr__(self, "parts", tuple(counts.items()))

    @property
    def number(self) -> int:
        """How many steps there are."""
        return sum(count for _, count in self.parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is assumed of the sampling."""
        rates = sorted({step.rate for step, _ in self.parts if step.rate < 1.0})
        if not rates:
            return ("every record takes part in every step",)
        shown = ", ".join(f"{rate:g}" for rate in rates)
        return (
            f"Poisson sampling is assumed: in every step each record takes part with probability {shown}, whoever else "
            "does; batches cut from a shuffled order are something else, and may cost more",
        )

    @property
    def largest_loss(self) -> LargestLossCurve:
        """What the largest losses alone say, also at delta = 0."""
        losses = [(count, step.largest_loss(self.adjacency)) for step, count in self.parts]
        return LargestLossCurve(total(losses), Full(1))

    def curve(self, relative_width: float = 1e-6, reference_delta: float = 1e-6) -> PrivacyCurve:
        """Return the privacy curve, of both directions, at the accuracy wanted and where."""
        largest = self.largest_loss
        (step, count), *others = self.parts
        if isinstance(step, NoisyStep) and step.law is NoiseLaw.GAUSSIAN and step.rate == 1.0 and not others:
            deviation = step.noise / shift_of(self.adjacency)
            return BestCurve(largest, lambda: NormalNoiseCurve(deviation, count))
        tail = max(_CUT * reference_delta / self.number, _LEAST_TAIL)
        return BestCurve(
            largest,
            lambda: SampledCurve(
                [(step.pair(self.adjacency, tail), count) for step, count in self.parts],
                relative_width=relative_width,
                reference_delta=reference_delta,
            ),
        )
