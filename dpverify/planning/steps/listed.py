"""Steps of which a bound is known, or a short list: (eps, delta)-DP, bounded range, and randomized response.

On a sample of the records the pair (P1, P0) becomes that of `(1-q) P0 + q P1` against P0, as for noise on a line: what
dominates P1 against P0, for all real epsilon, dominates these mixtures (docs/sampling.md).
"""

from __future__ import annotations

import math
from dataclasses import field

import numpy as np
from flint import arb

from dpverify.formulas.contexts import arb_context, lower_float, upper_float
from dpverify.guarantee import Adjacency, Interval
from dpverify.planning.steps.sampling import SampledStep, Sampling
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import erased
from dpverify.privacy_loss.losses.pairs import Directions, approximate_dp
from dpverify.privacy_loss.sampling.line import NoiseLine
from dpverify.privacy_loss.sampling.pairs import LinePair, ListedPair
from dpverify.rounding import UNIT
from dpverify.shown import Plain
from protocols.classes.frozen import dataclass
from protocols.validation import check_ranges

__all__ = ["BoundedRangeStep", "OpaqueStep", "ResponseStep"]

_SHARES = (0.5, 0.55, 0.65, 0.8, 0.95, 0.995)
"""Of a range, above 0: what a choice between two candidates attains. Of few steps the best share is large."""


def _sampled(pair: Directions, rate: float) -> ListedPair:
    """Return the pair of a sample, from that of all records."""
    return ListedPair(pair if rate == 1.0 else erased(pair, 1.0 - rate, rate))


def _same(pair: PrivacyLossDistribution) -> Directions:
    return Directions(pair, pair)


def _two_losses(epsilon: float, above: float) -> PrivacyLossDistribution:
    """Return the pair of losses `above`, of mass `(1 - e^(above - epsilon)) / (1 - e^-epsilon)`, and epsilon less."""
    below = above - epsilon
    whole = -math.expm1(-epsilon)
    return PrivacyLossDistribution.from_atoms(
        np.array([below, above]),
        np.array([math.exp(-epsilon) * math.expm1(above), -math.expm1(below)]) / whole,
        relative_error=(4.0 * epsilon + 64.0) * UNIT,
        loss_error=4.0 * epsilon * UNIT,
    )


@dataclass(frozen=True)
class OpaqueStep(SampledStep):
    """A step of which nothing but (epsilon, delta) is known, for the adjacency that is asked for.

    Parameters
    ----------
    epsilon, delta : float
        In nats, positive, and in [0, 1). In batches of a fixed size, of one record of the batch that is replaced.
    rate : float
        With which probability each record takes part; by Poisson sampling for add-remove and zero-out only.
    sampling : Sampling or str
        "poisson", or "fixed-size" where batches of a fixed size are drawn without replacement.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> import dpverify
    >>> parts = [(dpverify.NoisyStep(1.0, rate=0.01), 10_000), dpverify.OpaqueStep(0.5)]
    >>> print(dpverify.account(parts, delta="1e-6", relative_width=1e-3).epsilon)
    [7.26497, 7.27094]
    """

    epsilon: float = field(metadata={"within": "(0, 700]"})
    delta: float = field(default=0.0, metadata={"within": "[0, 1)"})
    rate: float = field(default=1.0, metadata={"within": "(0, 1]"})
    sampling: Sampling = Sampling.POISSON

    _name = "an (epsilon, delta) step"
    _becomes_proved = False

    def _loss(self, shifts: int) -> arb | None:
        return None if self.delta > 0.0 else arb(self.epsilon)

    def _comes(self, shifts: int, tail: float) -> ListedPair:
        return _sampled(_same(approximate_dp(self.epsilon, self.delta)), self.rate)

    def __str__(self) -> str:
        return f"({self.epsilon:g}, {self.delta:g})-DP, {self._sample}"


@dataclass(frozen=True)
class BoundedRangeStep(SampledStep):
    """A choice by the exponential mechanism, or another step of bounded range: losses within epsilon of one another.

    Weights `e^(epsilon score / (2 sensitivity))` give a range of epsilon: a log-ratio of weights is at most epsilon / 2
    in size. Permute-and-flip has none: its losses may be `2 ln(2 e^(epsilon/2) - 1)` apart, or more, and it is an
    `OpaqueStep(epsilon)`.

    Parameters
    ----------
    epsilon : float
        In nats, positive. In batches of a fixed size, of one record of the batch that is replaced.
    rate : float
        With which probability each record takes part; by Poisson sampling for add-remove and zero-out only.
    sampling : Sampling or str
        "poisson", or "fixed-size" where batches of a fixed size are drawn without replacement.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> import dpverify
    >>> choice = dpverify.BoundedRangeStep(0.1)
    >>> print(dpverify.account(choice, instances=100, delta="1e-6", relative_width=1e-3).epsilon)
    [2.24167, 2.61193]
    """

    epsilon: float = field(metadata={"within": "(0, 700]"})
    rate: float = field(default=1.0, metadata={"within": "(0, 1]"})
    sampling: Sampling = Sampling.POISSON

    _name = "a step of bounded range"
    _becomes_proved = False

    def _loss(self, shifts: int) -> arb:
        return arb(self.epsilon)

    def _comes(self, shifts: int, tail: float) -> LinePair:
        return LinePair(NoiseLine.bounded_range(self.epsilon), self.rate)

    def attained(self, adjacency: Adjacency, tail: float) -> list[ListedPair]:
        """Return pairs that choices between two candidates attain: one loss at a share of the range, one below 0."""
        at = [share * self.epsilon for share in _SHARES]
        pairs = [Directions(_two_losses(self.epsilon, t), _two_losses(self.epsilon, self.epsilon - t)) for t in at]
        return [_sampled(pair, self.rate) for pair in pairs]

    def __str__(self) -> str:
        return f"a choice of range {self.epsilon:g}, {self._sample}"


@dataclass(frozen=True)
class ResponseStep(Plain):
    """One answer of every user, by randomized response over some values.

    - noise: With which probability the answer is drawn, evenly, in place of the true value.
    - buckets: How many values there are.
    """

    noise: float = field(metadata={"within": "(0, 1]"})
    buckets: int = field(metadata={"within": "[2, inf)"})

    rate, sampling = 1.0, Sampling.POISSON

    def __post_init__(self) -> None:
        check_ranges(self)

    def check(self, adjacency: Adjacency) -> None:
        """Raise ValueError if no pair is proved to dominate this step for an adjacency."""
        if adjacency is not Adjacency.REPLACE_ONE:
            raise ValueError(
                f"adjacency={adjacency.value!r} is not covered for randomized response: what is reported without a "
                "value is not said; replace-one is covered."
            )

    def largest_loss(self, adjacency: Adjacency) -> Interval:
        """Return the largest privacy loss."""
        with arb_context():
            noise = arb(self.noise)
            ball = (1 + self.buckets * (1 - noise) / noise).log()
            return Interval(max(lower_float(ball), 0.0), max(upper_float(ball), 0.0))

    def attained(self, adjacency: Adjacency, tail: float) -> None:
        """Return None: the pair that dominates is attained."""

    def pair(self, adjacency: Adjacency, tail: float) -> ListedPair:
        """Return the pair that dominates; its laws are complete."""
        other = self.noise / self.buckets
        kept = (1.0 - self.noise) + other
        laws = [[kept, other], [other, kept]]
        if self.buckets > 2:
            for law in laws:
                law.append((self.buckets - 2) * other)
        return ListedPair(_same(PrivacyLossDistribution.from_pmfs(*laws, relative_error=8.0 * UNIT)))

    def __str__(self) -> str:
        return f"randomized response over {self.buckets:,} values, {self.noise:g} of them drawn"
