"""Steps of a trusted curator: noise on a sum, over all records or a random sample of them, and what many give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from flint import arb

from dpverify.changes import Full
from dpverify.guarantee import Adjacency, Interval, PrivacyCurve
from dpverify.planning.steps.renyi import RenyiKnown, pair_of, pooled
from dpverify.planning.steps.sampling import SampledStep, Sampling, assumed, check_loss
from dpverify.privacy_loss.composing.bounds import (
    BestCurve,
    BetweenCurves,
    LargestLossCurve,
    WorstCurve,
    total,
)
from dpverify.privacy_loss.composing.once import OneInstance
from dpverify.privacy_loss.sampling.curve import SampledCurve
from dpverify.privacy_loss.sampling.line import NoiseLine
from dpverify.privacy_loss.sampling.pairs import LinePair, SampledPair
from dpverify.privacy_loss.sampling.triples import NoiseTriple
from dpverify.privacy_loss.windows.gaussian import NormalNoiseCurve
from dpverify.shown import Plain
from protocols.classes.frozen import dataclass
from protocols.validation import check_choice, check_integer

__all__ = ["NoiseLaw", "NoisyStep", "Pass", "Step", "Steps"]

_CUT = 1e-10
"""The share of delta that all steps may leave out together."""
_LEAST_TAIL = 1e-280
_NO_LOWER = (
    "of some steps nothing but Renyi divergences are known, which prove no lower end: it is that of all others, and 0 "
    "without any"
)
_NOTHING = Interval(0.0, math.inf)
_FINER = 8
"""Cells of the list of one step, for one of a step among many."""
_STEPS = 2**14
"""Into which continuous noise is divided where a record is replaced among a sample."""


class Step(Protocol):
    """What a step is, for each adjacency that is proved."""

    @property
    def rate(self) -> float:
        """The probability with which a record takes part."""

    @property
    def sampling(self) -> Sampling:
        """How the records are chosen."""

    def check(self, adjacency: Adjacency) -> None:
        """Raise ValueError if no pair is proved to dominate this step for an adjacency."""

    def largest_loss(self, adjacency: Adjacency) -> Interval:
        """Return the largest privacy loss."""

    def pair(self, adjacency: Adjacency, tail: float) -> SampledPair:
        """Return a pair that dominates, of whose laws a tail may be left out."""

    def attained(self, adjacency: Adjacency, tail: float) -> Sequence[SampledPair] | None:
        """Return pairs that are attained, each of them in all steps; None where the one that dominates is."""

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain values."""


@runtime_checkable
class Pass(Step, Protocol):
    """A step that is between simpler ones, each made so often: both hold as well, and may be sharper."""

    @property
    def told(self) -> tuple[Step, int]:
        """Steps that reveal no less: who sees them is told where the record is."""

    @property
    def summed(self) -> tuple[Step, int] | None:
        """Steps that reveal no more, such as the sum of all that is released; None where none is known."""


class NoiseLaw(StrEnum):
    """Which noise a step adds."""

    GAUSSIAN = "gaussian"
    """To a sum of vectors, of the same standard deviation in all directions."""
    LAPLACE = "laplace"
    """To a sum of numbers."""


@dataclass(frozen=True)
class NoisyStep(SampledStep):
    """One step of a trusted curator: noise on the sum of what some records add, each a vector of norm at most 1.

    Parameters
    ----------
    noise : float
        The noise multiplier: standard deviation (Gaussian) or scale (Laplace) over the largest norm.
    rate : float
        With which probability each record takes part. 1 is all records, every time.
    law : NoiseLaw or str
        "gaussian", or "laplace" for sums of numbers.
    sampling : Sampling or str
        "poisson", where each record takes part independently of all others and of the other steps; or "fixed-size",
        where so many of them are drawn without replacement: the rate is the batch over the larger dataset's records.

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

    noise: float = field(metadata={"within": "[1e-100, 1e150]"})
    rate: float = field(default=1.0, metadata={"within": "(0, 1]"})
    law: NoiseLaw = NoiseLaw.GAUSSIAN
    sampling: Sampling = Sampling.POISSON

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "law", check_choice("law", self.law, NoiseLaw))

    def _loss(self, shifts: int) -> arb | None:
        return None if self.law is NoiseLaw.GAUSSIAN else shifts / arb(self.noise)

    def _comes(self, shifts: int, tail: float) -> LinePair:
        shifted = self.noise / shifts
        if self.law is NoiseLaw.GAUSSIAN:
            return LinePair(NoiseLine.gaussian(shifted, tail), self.rate)
        check_loss(self, shifts / self.noise, 700.0)
        return LinePair(NoiseLine.laplace(shifted), self.rate)

    def _becomes(self, tail: float) -> SampledPair:
        if self.law is NoiseLaw.GAUSSIAN:
            return LinePair(NoiseLine.gaussian(self.noise, tail, opposite=True), self.rate)
        return self._stepped(rounded=False)

    def attained(self, adjacency: Adjacency, tail: float) -> Sequence[SampledPair] | None:
        """Return pairs that are attained, each of them in all steps; None where the one that dominates is."""
        if self.law is NoiseLaw.LAPLACE and self._becomes_among_sample(adjacency):
            return [self._stepped(rounded=True)]
        return None

    def _stepped(self, *, rounded: bool) -> SampledPair:
        """Return the pair of Laplace noise of steps that is a little more, or of that noise rounded to them."""
        check_loss(self, 1.0 / self.noise, 300.0)
        return NoiseTriple.laplace(1.0 / self.noise, _STEPS, rounded=rounded).becomes(self.rate)

    def __str__(self) -> str:
        return f"{self.law.value} noise of {self.noise:g}, {self._sample}"


@dataclass(frozen=True)
class Steps(Plain):
    """Steps in any order, of which each may depend on what the others released.

    - parts: At least one: a step, and how often it is made.
    - adjacency: Which datasets are neighbours: the same for all steps.

    Raises ValueError if there is none, or one is not covered for this adjacency.
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
        """What is assumed of the sampling, and whether there is no lower end."""
        samples = assumed([(step.sampling, step.rate) for step, _ in self.parts])
        return (*samples, _NO_LOWER) if any(isinstance(step, RenyiKnown) for step, _ in self.parts) else samples

    @property
    def largest_loss(self) -> LargestLossCurve:
        """What the largest losses alone say, also at delta = 0."""
        losses = [(count, step.largest_loss(self.adjacency)) for step, count in self.parts]
        return LargestLossCurve(total(losses), Full(1))

    def curve(self, relative_width: float = 1e-6, reference_delta: float = 1e-6) -> PrivacyCurve:
        """Return the privacy curve, of both directions, at the accuracy wanted and where."""
        plain = self._where(lambda each: each.told if each.told == each.summed else (each, 1))
        if plain is not None and plain != self:
            return plain.curve(relative_width, reference_delta)
        largest = self.largest_loss
        (step, count), *others = self.parts
        if isinstance(step, NoisyStep) and step.law is NoiseLaw.GAUSSIAN and step.rate == 1.0 and not others:
            deviation = step.noise / (2 if self.adjacency is Adjacency.REPLACE_ONE else 1)
            return BestCurve(largest, lambda: NormalNoiseCurve(deviation, count))
        tail = max(_CUT * reference_delta / self.number, _LEAST_TAIL)
        curves: list[Callable[[], PrivacyCurve]] = [lambda: self._composed(tail, relative_width, reference_delta)]
        if any(isinstance(each, Pass) for each, _ in self.parts):
            told, summed = self._where(lambda each: each.told), self._where(lambda each: each.summed)
            assert told is not None
            above = told.curve(relative_width, reference_delta)
            below = (
                LargestLossCurve(_NOTHING, Full(1)) if summed is None else summed.curve(relative_width, reference_delta)
            )
            curves.insert(0, lambda: BetweenCurves(above, below))
        return BestCurve(largest, *curves, relative_width=relative_width)

    def _where(self, instead: Callable[[Pass], tuple[Step, int] | None]) -> Steps | None:
        """Return the same steps with others in the place of passes; None if nothing is left."""
        found = [(instead(step) if isinstance(step, Pass) else (step, 1), count) for step, count in self.parts]
        parts = [(made[0], made[1] * count) for made, count in found if made is not None]
        return Steps(parts, self.adjacency) if parts else None

    def _composed(self, tail: float, relative_width: float, reference_delta: float) -> PrivacyCurve:
        def made(pairs: Sequence[SampledPair], counts: Sequence[int]) -> SampledCurve:
            return SampledCurve(
                list(zip(pairs, counts, strict=True)),
                relative_width=relative_width,
                reference_delta=reference_delta,
                either_way=self.adjacency is Adjacency.REPLACE_ONE,
            )

        known = [(step, count) for step, count in self.parts if isinstance(step, RenyiKnown)]
        others = [(step, count) for step, count in self.parts if not isinstance(step, RenyiKnown)]
        if not others:
            return pooled(known)
        counts = [count for _, count in others]
        pairs = [step.pair(self.adjacency, tail) for step, _ in others]
        found = [step.attained(self.adjacency, tail) for step, _ in others]
        # Each choice of attained pairs, one for each kind of step, bounds what there is from below.
        if counts == [1] and not known:  # no grid has to hold what many of them give
            (pair,), (own,) = pairs, found
            below = [each for attained in own or [pair] for each in attained.listed(_FINER)[1]]
            return OneInstance([list(pair.listed(_FINER)[0])], below)
        choices = max((len(own) for own in found if own is not None), default=1)
        lower = [
            made([pair if own is None else own[at % len(own)] for pair, own in zip(pairs, found, strict=True)], counts)
            for at in range(choices)
        ]
        if known:  # who sees the others alone sees less
            above = made([*pairs, pair_of(pooled(known), tail)], [*counts, 1])
        elif all(own is None for own in found):
            return lower[0]
        else:
            above = made(pairs, counts)
        return BetweenCurves(above, WorstCurve(lower))
