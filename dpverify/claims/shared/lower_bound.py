"""What no local protocol for the mean of bits can be below (wang_lecture9, Theorem 9.2, after chan2012).

Let the n bits be fair and independent, and let each user's part of a protocol be pure eps-DP, with any interaction.
Given the transcript the bits are still independent, and each is 1 with a probability in [q, 1 - q], by Bayes' rule,
q = 1 / (e^eps + 1). Whatever the estimate, it is a function of the transcript and of coins that know no more.

**Probability of an error.** An estimate within r of the mean puts the sum of the bits into some window of
w = floor(2 r n) + 1 integers. The probability of a window is affine in each bit's own probability, so it is largest
where each is q or 1 - q: given j of the latter the sum is Bin(j, 1-q) + Bin(n-j, q), the law of so many reports of
randomized response. The largest probability over j and windows bounds the success from above, for the random dataset,
hence for some dataset. For many users: no integer has a larger probability than 0.4689 over the deviation of a sum of
independent bits (baillon2016), and here that deviation is sqrt(n q (1-q)) for every j.

**Squared error.** The variance of the sum given the transcript is n q (1-q) at least, so that the mean squared error of
some dataset is q (1-q) / n at least.
"""

from __future__ import annotations

import math

import numpy as np

from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import local_means as formulas
from dpverify.laws import views
from dpverify.laws.noise import binomial
from dpverify.rounding import UNIT
from protocols.validation import check_integer, check_real

__all__ = ["failure_probability", "least_squared_error"]

_MOST_ENUMERATED = 512
_PEAK = 0.4689
"""Bound on the deviation times the largest probability of a sum of independent bits (baillon2016: 0.46883...)."""


def least_squared_error(users: int, epsilon: float) -> float:
    """Return what the mean squared error of every pure eps-DP local protocol is at least, for some dataset of bits.

    - users: n, at least 1.
    - epsilon: Of each user's whole part in the protocol, in (0, 600], in nats.
    """
    check_integer("users", users, low=1)
    check_real("epsilon", epsilon, low=0.0, low_open=True, high=600.0)
    return float(formulas.posterior_variance(FLOATS, epsilon)) / users * (1.0 - 16.0 * UNIT)


def failure_probability(users: int, epsilon: float, radius: float) -> float:
    """Return a probability with which every pure eps-DP local protocol errs by more than `radius`, for some dataset.

    Exact optimisation over what transcripts can leave open up to 512 users, a closed bound beyond; 0 where it says
    nothing.

    - users: n, at least 1.
    - epsilon: Of each user's whole part in the protocol, in (0, 600], in nats.
    - radius: r, at least 0: a distance from the mean of the bits.

    >>> failure_probability(10_000, 1.0, 0.001) > 0.77  # a tenth of 1 / sqrt(n)
    True
    """
    check_integer("users", users, low=1)
    check_real("epsilon", epsilon, low=0.0, low_open=True, high=600.0)
    # One rounding, which may end at an integer and crosses none: no window is too narrow.
    reach = 2.0 * check_real("radius", radius, low=0.0) * users
    if reach >= users:
        return 0.0
    width = math.floor(reach) + 1
    if users <= _MOST_ENUMERATED:
        return max(0.0, 1.0 - _largest_window(users, epsilon, width))
    deviation = math.sqrt(float(formulas.posterior_variance(FLOATS, epsilon)) * users)
    return max(0.0, 1.0 - _PEAK * width / deviation * (1.0 + 32.0 * UNIT))


def _largest_window(users: int, epsilon: float, width: int) -> float:
    """Return the largest probability of so many successive integers, over all j, rounded up."""
    q = math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
    largest = 0.0
    # Exchanging all bits maps j to n - j.
    for j in range(users // 2 + 1):
        law = views.total(views.kept_ones(j, q), binomial(users - j, q, views.TAIL))
        sums = np.cumsum(np.concatenate([np.zeros(width), law.pmf, np.zeros(width)]))
        window = float((sums[width:] - sums[:-width]).max())
        # Running sums, of 1 at most, are off by a rounding of each term.
        largest = max(largest, window + law.tail_below + law.tail_above + law.relative_error + 2.0 * sums.size * UNIT)
    # q is off by a few roundings, by which no window of n independent bits moves more than n times.
    return min(1.0, largest + 8.0 * users * UNIT)
