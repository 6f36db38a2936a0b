"""Steps whose laws are lists: discrete Laplace noise, randomized response, and what is known to be (eps, delta)-DP.

On a sample of the records the pair (P1, P0) becomes that of `(1-q) P0 + q P1` against P0, as for noise on a line: what
dominates P1 against P0, for all real epsilon, dominates these mixtures (docs/sampling.md).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

from flint import arb

from dpverify.formulas.contexts import arb_context, lower_float, upper_float
from dpverify.guarantee import Adjacency, Interval
from dpverify.planning.steps.step import check_sample, largest_of_sample, shift_of
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.laplace import stepped_laplace
from dpverify.privacy_loss.losses.mixture import erased
from dpverify.privacy_loss.losses.pairs import Directions, approximate_dp
from dpverify.privacy_loss.sampling.curve import ListedPair
from dpverify.rounding import UNIT
from dpverify.shown import Plain
from protocols.validation import check_ranges

__all__ = ["DiscreteLaplaceStep", "OpaqueStep", "ResponseStep"]


def _sampled(pair: PrivacyLossDistribution, rate: float) -> ListedPair:
    """Return the pair of a sample, from one that is the same in both directions."""
    both = Directions(pair, pair)
    return ListedPair(both if rate == 1.0 else erased(both, 1.0 - rate, rate))


@dataclass(frozen=True)
class OpaqueStep(Plain):
    """A step of which nothing but (epsilon, delta) is known, for the adjacency that is asked for.

    Parameters
    ----------
    epsilon, delta : float
        In nats, positive, and in [0, 1).
    rate : float
        With which probability each record takes part, by Poisson sampling; for add-remove and zero-out only.

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

    def __post_init__(self) -> None:
        check_ranges(self)

    def check(self, adjacency: Adjacency) -> None:
        """Raise ValueError if no pair is proved to dominate this step for an adjacency."""
        check_sample(adjacency, self.rate, "an (epsilon, delta) step")

    def largest_loss(self, adjacency: Adjacency) -> Interval:
        """Return the largest privacy loss."""
        if self.delta > 0.0:
            return Interval(math.inf, math.inf)
        with arb_context():
            return largest_of_sample(arb(self.epsilon), self.rate)

    def pair(self, adjacency: Adjacency, tail: float) -> ListedPair:
        """Return the pair that dominates; its laws are complete."""
        return _sampled(approximate_dp(self.epsilon, self.delta), self.rate)

    def __str__(self) -> str:
        sample = "" if self.rate == 1.0 else f", each record with probability {self.rate:g}"
        return f"({self.epsilon:g}, {self.delta:g})-DP{sample}"


@dataclass(frozen=True)
class DiscreteLaplaceStep(Plain):
    """Noise of probabilities proportional to `e^(-parameter |z|)` on a sum of integers.

    Parameters
    ----------
    parameter : float
        The loss of a change by 1.
    sensitivity : int
        How much one record adds at most, in size.
    rate : float
        With which probability each record takes part, by Poisson sampling.
    """

    parameter: float = field(metadata={"within": "(0, 700]"})
    sensitivity: int = field(default=1, metadata={"within": "[1, inf)"})
    rate: float = field(default=1.0, metadata={"within": "(0, 1]"})

    def __post_init__(self) -> None:
        check_ranges(self)

    def check(self, adjacency: Adjacency) -> None:
        """Raise ValueError if no pair is proved to dominate this step for an adjacency."""
        check_sample(adjacency, self.rate, "discrete Laplace noise")

    def largest_loss(self, adjacency: Adjacency) -> Interval:
        """Return the largest privacy loss."""
        with arb_context():
            return largest_of_sample(arb(self.parameter) * (self.sensitivity * shift_of(adjacency)), self.rate)

    def pair(self, adjacency: Adjacency, tail: float) -> ListedPair:
        """Return the pair that dominates; its laws are complete."""
        steps = self.sensitivity * shift_of(adjacency)
        whole = self.parameter * steps
        made = stepped_laplace(whole, steps)
        # The product is rounded: a loss by so much, and a mass relatively.
        error = 2.0 * UNIT * whole
        made = dataclasses.replace(made, relative_error=made.relative_error + error, loss_error=made.loss_error + error)
        return _sampled(made, self.rate)

    def __str__(self) -> str:
        sample = "" if self.rate == 1.0 else f", each record with probability {self.rate:g}"
        return f"discrete Laplace noise of {self.parameter:g} on changes by {self.sensitivity}{sample}"


@dataclass(frozen=True)
class ResponseStep(Plain):
    """One answer of every user, by randomized response over some values.

    Parameters
    ----------
    noise : float
        With which probability the answer is drawn, evenly, in place of the true value.
    buckets : int
        How many values there are.
    """

    noise: float = field(metadata={"within": "(0, 1]"})
    buckets: int = field(metadata={"within": "[2, inf)"})

    rate = 1.0

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

    def pair(self, adjacency: Adjacency, tail: float) -> ListedPair:
        """Return the pair that dominates; its laws are complete."""
        other = self.noise / self.buckets
        kept = (1.0 - self.noise) + other
        laws = [[kept, other], [other, kept]]
        if self.buckets > 2:
            for law in laws:
                law.append((self.buckets - 2) * other)
        return _sampled(PrivacyLossDistribution.from_pmfs(*laws, relative_error=8.0 * UNIT), 1.0)

    def __str__(self) -> str:
        return f"randomized response over {self.buckets:,} values, {self.noise:g} of them drawn"
