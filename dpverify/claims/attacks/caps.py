"""What it costs that a shuffler passes on at most B messages of a user: statement and proof.

A user's bit takes one message, so an honest user draws her noise again until it has at most B - 1 messages; nothing of
hers is ever cut off. With n users and I instances let A be the event that no noise would have been drawn again, which
does not depend on the inputs, and T = 1 - P(A). What is sent then has the law of the uncapped protocol, given A.

- **Privacy.** If the uncapped whole is (epsilon, delta)-DP, the capped one is (epsilon, delta')-DP with
  `delta' = (delta + e^epsilon T) / (1 - T)`: for every set S, `(1 - T) (P'0(S) - e^epsilon P'1(S)) =
  P0(S, A) - e^epsilon P1(S, A) <= P0(S) - e^epsilon P1(S) + e^epsilon P1(S, not A)`.
- **Error.** An analyzer that subtracts the mean of the noise as it is now is unbiased, so that its error is the noise's
  deviation. A user's NB or Poisson noise has `(k + 1) f(k + 1) = (c + x k) f(k)`, of mean `mu = c/(1 - x)` and variance
  `v = mu/(1 - x)`. Summed over k < b, as it is and times k + 1, this gives the mean u of Z given Z <= b = B - 1 and its
  variance: `mu - u = (c + x b)/(1 - x) f(b)/P(Z <= b)`, and `v - (mu - u) (b + 1/(1 - x) - u)`. As u <= b, no cap adds
  to the error.
- Of 3NB and Pure the mean is 0 before and after, as Z1 and Z2 are exchangeable. Given W = Z1 + Z2 messages of her own a
  user's noise Z1 - Z2 has the variance `W (W + 2a) / (2a + 1)`, `a = r/n` (Z1 is beta-binomial). It grows with W, and
  smaller W are the likelier given A: here too the cap never adds to the error.
- Of a sum of vectors a user draws all her noise again until no count of it has more than b messages, and all together
  no more than N. A is that of all users, its complement has at most the sum of what each has, and the rest is as above;
  both counts of a coordinate lose the same mean, so that no estimate is biased.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.registry import claims_of
from dpverify.digits import unrounded
from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError
from dpverify.laws.messages import MessagesLaw, Part
from dpverify.search import least_integer
from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.negative_binomial import NegativeBinomial, SingleNoise
from protocols.bitsum.poisson import Poisson
from protocols.bitsum.pure import Pure
from protocols.bitsum.three_nb import ThreeNB
from protocols.classes.frozen import dataclass
from protocols.sums.vectors import ClientCaps, UnaryVectorSum
from protocols.validation import check_integer, check_real

__all__ = ["MOST", "Cap", "VectorCaps", "capped", "least_cap", "vector_caps"]

MOST = 2**53
"""The largest cap that is asked about: above, numbers of messages are no floats."""
_SHARE_ERROR = 1e-9
"""What rounding a user's share of the noise to a float may change in a tail, relatively.

d ln P(Z = z) / d ln r of NB(r, p) and of Poisson noise is below z + 1 in size, and no window has 4e6 atoms: two units.
"""


@dataclass(frozen=True)
class Cap:
    """At most so many messages per user and instance, and what that costs honest users.

    - messages: B.
    - drawn_again: T, an upper bound: the probability that some user must draw her noise of some instance again.
    - mean_lost: By how much the mean of all users' noise in one instance shrinks, which a debiasing analyzer must know.
    - variance_ratio: The variance of the noise in one instance, relative to that without the cap.
    """

    messages: int
    drawn_again: float
    mean_lost: float
    variance_ratio: float

    def delta(self, budget: BudgetLike) -> float:
        """Return delta', an upper bound, where the uncapped whole keeps the budget: at the same epsilon."""
        return _delta(Budget.of(budget), self.drawn_again)


def capped(protocol: BitsumProtocol, messages: int, *, instances: int = 1) -> Cap:
    """Return what a cap on the messages per user costs.

    - protocol: One whose users send noise as messages: `SingleNoise`, `ThreeNB` or `Pure`.
    - messages: B, from 1 to 2^53, in every instance.
    - instances: I, at least 1.

    Raises TypeError for another protocol: its users send a fixed number of messages, or none.
    """
    check_integer("messages", messages, low=1, high=MOST)
    check_integer("instances", instances, low=1)
    noise = _noise(protocol)
    again = _drawn_again(noise, messages, protocol.users * instances)
    # What is cut off above the windows of the laws is below what the last digit of these figures says.
    most = min(messages - 1, sum(copies * law.stop for copies, law in noise))
    if isinstance(protocol, SingleNoise):
        return Cap(messages, again, *_single(protocol, most))
    three = protocol.noise if isinstance(protocol, Pure) else protocol
    assert isinstance(three, ThreeNB)
    return Cap(messages, again, 0.0, _of_difference(three, most))


def least_cap(
    protocol: BitsumProtocol, budget: BudgetLike, *, instances: int = 1, share: float = 1e-3, most: int = 2**20
) -> Cap:
    """Return the least cap that costs at most a share of delta, where the uncapped whole keeps the budget.

    - protocol: As for `capped`.
    - budget: What all instances together keep without a cap; delta must be positive.
    - instances: I.
    - share: In (0, 1]: delta' is at most `(1 + share) delta`.
    - most: The largest cap to consider.

    Raises InfeasibleBudgetError if none up to `most` is proved to cost so little: tails below 1e-18 per user and
    instance are not resolved.
    """
    budget = Budget.of(budget)
    check_real("share", share, low=0.0, low_open=True, high=1.0)
    noise, draws = _noise(protocol), protocol.users * check_integer("instances", instances, low=1)
    allowed = budget.delta * (1.0 + share) * (1.0 - 1e-15)

    def cheap(messages: int) -> bool:
        return _delta(budget, _drawn_again(noise, messages, draws)) <= allowed

    if budget.delta == 0.0 or not cheap(most):
        raise InfeasibleBudgetError(
            f"A loss of {share:g} of delta={unrounded(budget.exact_delta)} is proved for no cap up to {most:,} "
            "messages."
        )
    return capped(protocol, least_integer(cheap, 0, most), instances=instances)


@dataclass(frozen=True)
class VectorCaps:
    """At most so many messages of a user of a sum of vectors, and what that costs honest users.

    - per_count: k, of one coordinate and sign.
    - messages: B, in all.
    - client: What an honest user keeps to, so that she never has more: `UnaryVectorSum.report` takes it.
    - drawn_again: T, an upper bound.
    - delta: delta', an upper bound, where the uncapped protocol keeps the budget: at the same epsilon.
    """

    per_count: int
    messages: int
    client: ClientCaps
    drawn_again: float
    delta: float


def vector_caps(protocol: UnaryVectorSum, budget: BudgetLike, *, share: float = 1e-2) -> VectorCaps:
    """Return caps for a sum of vectors that cost about a share of delta.

    - budget: What it keeps without caps; delta must be positive.
    - share: In (0, 1]: half of it pays for each of both caps. Tails below 1e-18 are not resolved: of many users and
      coordinates a small share has no caps.

    Returns: With room for nearly all rotated unit vectors. Raises TypeError or ValueError for an argument out of range.
    Raises InfeasibleBudgetError if no cap is proved to cost so little.
    """
    if not isinstance(protocol, UnaryVectorSum):
        raise TypeError(f"protocol={protocol!r} must be a UnaryVectorSum.")
    budget, d, s = Budget.of(budget), protocol.dimension, protocol.scale
    check_real("share", share, low=0.0, low_open=True, high=1.0)
    noise = protocol.noise
    together: SingleNoise = (
        replace(noise, shape=noise.shape * 2 * d)
        if isinstance(noise, NegativeBinomial)
        else Poisson(noise.users, noise.noise_mean * 2 * d)
    )
    count = least_cap(noise, budget, instances=2 * d, share=share / 2.0)
    whole = least_cap(together, budget, share=share / 2.0)
    # The mean of sum |v_j| of a rotated unit vector, and six deviations for large d: what is larger is shrunk, so that
    # nothing rests on it.
    spread = math.sqrt(2.0 * d / math.pi) + 6.0 * math.sqrt(1.0 - 3.0 / math.pi)
    room = s * min(spread if protocol.l1 is None else protocol.l1, math.sqrt(d))
    if not room < MOST:
        raise ValueError(f"scale={s!r} must leave sums of coordinates below 2^53.")
    own = math.floor(room) + d
    again = min((count.drawn_again + whole.drawn_again) * (1.0 + 1e-15), 1.0)
    if again > 0.5:  # honest users would draw again and again
        raise InfeasibleBudgetError(f"share={share!r} of delta={unrounded(budget.exact_delta)} leaves users no noise.")
    return VectorCaps(
        math.floor(protocol.largest) + count.messages,  # what is rounded up, and her noise
        own + whole.messages - 1,
        ClientCaps(count.messages - 1, whole.messages - 1, room),
        again,
        _delta(budget, again),
    )


def _noise(protocol: BitsumProtocol) -> tuple[Part, ...]:
    """Return the messages of one user's noise in one instance."""
    if not isinstance(protocol, SingleNoise | ThreeNB | Pure):
        raise TypeError(f"protocol={protocol!r} must send noise as messages, as nb, poisson, 3nb and pure do.")
    return claims_of(protocol).messages_law(protocol, 1, fraction_of_ones=0.0).parts[1:]


def _drawn_again(noise: tuple[Part, ...], messages: int, draws: int) -> float:
    """Return an upper bound on the probability that one of many noises has more than B - 1 messages."""
    one = min(MessagesLaw(noise).chance_above(messages - 1).upper * (1.0 + _SHARE_ERROR), 1.0)
    return min(draws * one * (1.0 + 1e-15), 1.0)


def _delta(budget: Budget, again: float) -> float:
    if again >= 1.0:
        return 1.0
    spilt = math.exp(min(budget.epsilon + math.log(again), 1.0)) if again else 0.0
    # Rounding epsilon moves the exponential by as many units as epsilon has in front of its point, and more.
    return min((budget.delta + spilt) / (1.0 - again) * (1.0 + 1e-14 * (1.0 + budget.epsilon)), 1.0)


def _single(protocol: SingleNoise, most: int) -> tuple[float, float]:
    """Return by how much the mean of all users' noise shrinks if each has at most so many messages, and `v'/v`."""
    x = protocol.p if isinstance(protocol, NegativeBinomial) else 0.0
    mean = protocol.noise_mean / protocol.users
    c = mean * (1.0 - x)
    if mean == 0.0:
        return 0.0, 1.0
    # f(b - j) / f(b) for every j, whose sum is P(Z <= b) / f(b): it leaves the floats where nothing is lost.
    j = np.arange(most + 1, dtype=np.float64)
    with np.errstate(over="ignore"):
        kept = np.cumprod(np.append(1.0, (most - j[:-1]) / (c + x * (most - 1.0 - j[:-1]))))
        lost = min((c + x * most) / (1.0 - x) / float(kept.sum()), mean)
    if lost < 0.5 * mean:
        ratio = 1.0 - lost / mean * ((most - (mean - lost)) * (1.0 - x) + 1.0)
    else:  # the same, where the difference would leave no digits
        kept /= kept.sum()
        ratio = float(kept @ (j - kept @ j) ** 2) * (1.0 - x) / mean
    return protocol.users * lost, ratio


def _of_difference(protocol: ThreeNB, most: int) -> float:
    """Return the variance of a user's Z1 - Z2 if she has at most so many messages, relative to that of all of it."""
    a = protocol.shape / protocol.users
    if protocol.p == 0.0:
        return 1.0
    w = np.arange(most + 1)
    own = _log_weights(2.0 * a, protocol.p, most)
    # Her flood comes in pairs: 2 Z3 <= b - w for every w. In logarithms: far below the mean all weights are tiny.
    flood = np.logaddexp.accumulate(_log_weights(protocol.flood_shape / protocol.users, protocol.flood_p, most // 2))
    kept = own + flood[(most - w) // 2]
    kept = np.exp(kept - kept.max())
    variance = float(kept @ (w * (w + 2.0 * a))) / float(kept.sum()) / (2.0 * a + 1.0)
    return min(variance / (2.0 * a * protocol.p) * (1.0 - protocol.p) ** 2, 1.0)


def _log_weights(shape: float, p: float, most: int) -> NDArray[np.float64]:
    """Return ln f(z) - ln f(0) of NB(shape, p) for z from 0 to `most`."""
    z = np.arange(most, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.append(0.0, np.cumsum(np.log(p * (z + shape) / (z + 1.0))))
