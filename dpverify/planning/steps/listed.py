"""Steps whose laws are short lists: randomized response, and what is known to be (eps, delta)-DP.

On a sample of the records the pair (P1, P0) becomes that of `(1-q) P0 + q P1` against P0, as for noise on a line: what
dominates P1 against P0, for all real epsilon, dominates these mixtures (docs/sampling.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flint import arb

from dpverify.formulas.contexts import arb_context, lower_float, upper_float
from dpverify.guarantee import Adjacency, Interval
from dpverify.planning.steps.sampling import SampledStep, Sampling
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import erased
from dpverify.privacy_loss.losses.pairs import Directions, approximate_dp
from dpverify.privacy_loss.sampling.pairs import ListedPair
from dpverify.rounding import UNIT
from dpverify.shown import Plain
from protocols.validation import check_ranges

__all__ = ["OpaqueStep", "ResponseStep"]


def _sampled(pair: PrivacyLossDistribution, rate: float) -> ListedPair:
    """Return the pair of a sample, from one that is the same in both directions."""
    both = Directions(pair, pair)
    return ListedPair(both if rate == 1.0 else erased(both, 1.0 - rate, rate))


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
        return _sampled(approximate_dp(self.epsilon, self.delta), self.rate)

    def __str__(self) -> str:
        return f"({self.epsilon:g}, {self.delta:g})-DP, {self._sample}"


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
        return _sampled(PrivacyLossDistribution.from_pmfs(*laws, relative_error=8.0 * UNIT), 1.0)

    def __str__(self) -> str:
        return f"randomized response over {self.buckets:,} values, {self.noise:g} of them drawn"
