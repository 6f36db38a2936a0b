"""How are the records of a step chosen, and what does that make of the noise? What steps on samples share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar

from flint import arb

from dpverify.formulas.contexts import arb_context, lower_float, upper_float
from dpverify.guarantee import Adjacency, CapacityError, Interval
from dpverify.privacy_loss.sampling.pairs import SampledPair
from dpverify.shown import Plain
from protocols.validation import check_choice, check_ranges

__all__ = ["SampledStep", "Sampling", "assumed", "check_loss"]

_LARGEST_LOSS = 1e6


class Sampling(StrEnum):
    """How a step's records are chosen, independently of the other steps."""

    POISSON = "poisson"
    """Each record with the same probability, independently of all others."""
    FIXED_SIZE = "fixed-size"
    """One of all sets of so many records, each as likely as any other: without replacement."""
    RANDOM_ALLOCATION = "random-allocation"
    """Each record in exactly one, or so many, of many steps, each set as likely, independently of all others."""


_ASSUMED = {
    Sampling.POISSON: "Poisson sampling is assumed: in every step each record takes part with probability {}, whoever "
    "else does; batches cut from a shuffled order are something else, and may cost more",
    Sampling.FIXED_SIZE: "batches of a fixed size are assumed: in every step one of all sets of so many records is "
    "drawn anew, each as likely as any other, which are {} of the records of the larger dataset; batches cut from a "
    "shuffled order are something else, and may cost more",
    Sampling.RANDOM_ALLOCATION: "random allocation is assumed: in every pass each record is in exactly as many of the "
    "steps as is said, which is a share {} of them, each set as likely and whichever steps the others are in, so that "
    "batches have different sizes",
}


class SampledStep(Plain):
    """A step on all records, or on a random sample of them.

    A subclass says what its noise gives where the sum moves once, as by a record that comes, or twice, as by one that
    becomes its opposite, all with probability `rate`.
    """

    rate: float
    sampling: Sampling
    _name: ClassVar[str]
    """What it is called where it is refused."""
    _becomes_proved: ClassVar[bool] = True
    """Whether a pair is known for a record that is replaced among a Poisson sample."""

    def __post_init__(self) -> None:
        check_ranges(self)
        object.__setattr__(self, "sampling", check_choice("sampling", self.sampling, Sampling))
        if self.sampling is Sampling.RANDOM_ALLOCATION:
            raise ValueError(
                "sampling='random-allocation' is of many steps together and must be accounted as RandomAllocation, "
                "not step by step."
            )
        if self.sampling is Sampling.FIXED_SIZE and self.rate == 1.0:
            raise ValueError(
                "rate=1.0 must be below 1 for sampling='fixed-size': the smaller of two datasets has a batch, too."
            )

    # ------------------------------------------------------------------ what a subclass says

    def _loss(self, shifts: int) -> arb | None:
        """Return the largest loss where the sum moves so often; None where there is none."""
        raise NotImplementedError

    def _comes(self, shifts: int, tail: float) -> SampledPair:
        """Return the pair of a sum that moves so often with probability `rate`."""
        raise NotImplementedError

    def _becomes(self, tail: float) -> SampledPair:
        """Return the pair of a record that takes part with probability `rate`, and becomes its opposite."""
        raise NotImplementedError

    # ------------------------------------------------------------------ what follows

    def check(self, adjacency: Adjacency) -> None:
        """Raise ValueError if no pair is proved to dominate this step for an adjacency."""
        if self.sampling is Sampling.FIXED_SIZE and adjacency is Adjacency.ZERO_OUT:
            raise ValueError(
                f"adjacency='zero-out' is not covered for batches of a fixed size (rate={self.rate!r}): no pair "
                "that dominates them is proved here; add-remove and replace-one are."
            )
        if self._becomes_among_sample(adjacency) and not self._becomes_proved:
            raise ValueError(
                f"adjacency='replace-one' is not covered for {self._name} on a Poisson sample (rate={self.rate!r}): no "
                "pair that dominates it is proved here; add-remove, zero-out and sampling='fixed-size' are."
            )

    def _becomes_among_sample(self, adjacency: Adjacency) -> bool:
        return adjacency is Adjacency.REPLACE_ONE and self.sampling is Sampling.POISSON and self.rate < 1.0

    def _shifts(self, adjacency: Adjacency) -> int:
        """Return how often the sum moves, if it does: twice where a record takes another one's place."""
        alone = self.sampling is Sampling.POISSON and adjacency is not Adjacency.REPLACE_ONE
        return 1 if alone else 2

    def largest_loss(self, adjacency: Adjacency) -> Interval:
        """Return the largest privacy loss, which may be infinite."""
        among = self._becomes_among_sample(adjacency)
        with arb_context():
            whole = self._loss(1 if among else self._shifts(adjacency))
            if whole is None:
                return Interval(math.inf, math.inf)
            found = _largest_of_sample(whole, self.rate)
            if not among:
                return found
            # (1 - q + q e^L) / (1 - q + q e^-L)
            below = (1 - arb(self.rate) * (1 - (-whole).exp())).log()
            return Interval(lower_float(arb(found.lower) - below), upper_float(arb(found.upper) - below))

    def pair(self, adjacency: Adjacency, tail: float) -> SampledPair:
        """Return the pair that dominates, of whose laws a tail may be left out."""
        if self._becomes_among_sample(adjacency):
            return self._becomes(tail)
        return self._comes(self._shifts(adjacency), tail)

    def attained(self, adjacency: Adjacency, tail: float) -> Sequence[SampledPair] | None:
        """Return pairs that are attained, each of them in all steps; None where the one that dominates is."""
        return None

    @property
    def _sample(self) -> str:
        """How the records are chosen, at the end of a sentence."""
        if self.rate == 1.0:
            return "all records"
        if self.sampling is Sampling.FIXED_SIZE:
            return f"batches of {self.rate:g} of the records"
        return f"each record with probability {self.rate:g}"


def check_loss(step: object, loss: float, most: float) -> None:
    """Raise CapacityError where the masses that go with a loss leave the floats."""
    if loss > most:
        raise CapacityError(f"{step} has losses of {loss:.4g}, and floats hold up to {most:g}; more noise has less.")


def _largest_of_sample(whole: arb, rate: float) -> Interval:
    """Return ln(1 - q + q e^L), what a sample makes of the largest loss L."""
    if not whole < _LARGEST_LOSS:  # where e^L is out of reach, L and L + ln q enclose it
        return Interval(lower_float(whole + arb(rate).log()), upper_float(whole))
    ball = (1 + arb(rate) * whole.expm1()).log() if rate < 1.0 else whole
    return Interval(lower_float(ball), upper_float(ball))


def assumed(samples: Sequence[tuple[Sampling, float]]) -> tuple[str, ...]:
    """Return what is assumed of the sampling of some steps, each with its rate."""
    notes = []
    for kind in Sampling:
        rates = sorted({rate for sampling, rate in samples if sampling is kind and rate < 1.0})
        if rates:
            notes.append(_ASSUMED[kind].format(", ".join(f"{rate:g}" for rate in rates)))
    return tuple(notes) or ("every record takes part in every step",)
