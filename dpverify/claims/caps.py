"""What it costs that a shuffler passes on at most B messages of a user: statement and proof.

A user's bit takes one message, so an honest user draws her noise again until it has at most B - 1 messages; nothing of
hers is ever cut off. With n users and I instances let A be the event that no noise would have been drawn again, which
does not depend on the inputs, and T = 1 - P(A). What is sent then has the law of the uncapped protocol, given A.

- **Privacy.** If the uncapped whole is (epsilon, delta)-DP, the capped one is (epsilon, delta')-DP with
  `delta' = (delta + e^epsilon T) / (1 - T)`: for every set S, `(1 - T) (P'0(S) - e^epsilon P'1(S)) =
  P0(S, A) - e^epsilon P1(S, A) <= P0(S) - e^epsilon P1(S) + e^epsilon P1(S, not A)`.
- **Error.** An analyzer that subtracts the mean of the noise as it is now is unbiased, so that its error is the noise's
  deviation. For NB and Poisson noise of a user the variance given Z <= b does not fall as b grows, so that the cap
  never adds to the error. With f the pmf, F, G and H its running sums, taken once, twice and three times, at b, and F'
  that of b + 1, the mean of b + 1 - Z given Z <= b is G/F and that of (b + 1 - Z)(b + 2 - Z) is 2H/F; a further value
  b + 1 of mass q does not lower the variance v if `(1 - q)(G/F)^2 >= v`, that is, `G^2/F + G^2/F' + G >= 2H`. Where f
  is log-concave (Poisson, and NB shares of a shape of at least 1) so is H, as sums keep that: at b it says
  `H <= G^2/F' + G` and at b - 1 `H <= G^2/F`. Where f falls (smaller shares) `q <= 1/(b + 2)`, and the mean u given
  Z <= b is at most b/2, so that `v <= (b - u) u <= (b - u)^2 <= (1 - q)(b + 1 - u)^2`.
- Of 3NB and Pure the mean is 0 before and after, as Z1 and Z2 are exchangeable. Given W = Z1 + Z2 messages of her own a
  user's noise Z1 - Z2 has the variance `W (W + 2a) / (2a + 1)`, `a = r/n` (Z1 is beta-binomial). It grows with W, and
  smaller W are the likelier given A: here too the cap never adds to the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpverify.claims.registry import claims_of
from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError
from dpverify.laws.messages import MessagesLaw, Part
from dpverify.search import least_integer
from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.negative_binomial import SingleNoise
from protocols.bitsum.pure import Pure
from protocols.bitsum.three_nb import ThreeNB
from protocols.validation import check_integer, check_real

__all__ = ["Cap", "capped", "least_cap"]

_SHARE_ERROR = 1e-9
"""What rounding a user's share of the noise to a float may change in a tail, relatively.

d ln P(Z = z) / d ln r of NB(r, p) and of Poisson noise is below z + 1 in size, and no window has 4e6 atoms: two units.
"""


@dataclass(frozen=True)
class Cap:
    """At most so many messages per user and instance, and what that costs honest users.

    Parameters
    ----------
    messages : int
        B.
    drawn_again : float
        T, an upper bound: the probability that some user must draw her noise of some instance again.
    mean_lost : float
        By how much the mean of all users' noise in one instance shrinks, which a debiasing analyzer must know.
    variance_ratio : float
        The variance of the noise in one instance, relative to that without the cap.
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

    Parameters
    ----------
    protocol : BitsumProtocol
        One whose users send noise as messages: `SingleNoise`, `ThreeNB` or `Pure`.
    messages : int
        B, at least 1, in every instance.
    instances : int
        I, at least 1.

    Raises
    ------
    TypeError
        For another protocol: its users send a fixed number of messages, or none.
    """
    check_integer("messages", messages, low=1)
    check_integer("instances", instances, low=1)
    noise = _noise(protocol)
    again = _drawn_again(noise, messages, protocol.users * instances)
    if isinstance(protocol, SingleNoise):
        ((_, law),) = noise
        z = law.support.astype(np.float64)
        kept = np.where(z < messages, law.pmf, 0.0)
        kept /= kept.sum()
        mean, least = float(law.pmf @ z), float(kept @ z)
        ratio = float(kept @ (z - least) ** 2) / variance if (variance := float(law.pmf @ (z - mean) ** 2)) else 1.0
        return Cap(messages, again, protocol.users * (mean - least), ratio)
    three = protocol.noise if isinstance(protocol, Pure) else protocol
    assert isinstance(three, ThreeNB)
    (_, own), (_, flood) = noise
    a, w = three.shape / three.users, own.support.astype(np.float64)
    variances = w * (w + 2.0 * a) / (2.0 * a + 1.0)
    # Her flood comes in pairs: P(2 Z3 <= B - 1 - w) for every w.
    below = np.append(0.0, np.cumsum(flood.pmf))
    room = np.where(w < messages, (messages - 1 - w) // 2 - flood.start + 1, 0).astype(np.int64)
    kept = own.pmf * below[np.clip(room, 0, flood.pmf.size)]
    variance = float(own.pmf @ variances)
    return Cap(messages, again, 0.0, float(kept @ variances) / float(kept.sum()) / variance if variance else 1.0)


def least_cap(
    protocol: BitsumProtocol, budget: BudgetLike, *, instances: int = 1, share: float = 1e-3, most: int = 2**20
) -> Cap:
    """Return the least cap that costs at most a share of delta, where the uncapped whole keeps the budget.

    Parameters
    ----------
    protocol : BitsumProtocol
        As for `capped`.
    budget : Budget or (epsilon, delta)
        What all instances together keep without a cap; delta must be positive.
    instances : int
        I.
    share : float
        In (0, 1]: delta' is at most `(1 + share) delta`.
    most : int
        The largest cap to consider.

    Raises
    ------
    InfeasibleBudgetError
        If none up to `most` is proved to cost so little: tails below 1e-18 per user and instance are not resolved.
    """
    budget = Budget.of(budget)
    check_real("share", share, low=0.0, low_open=True, high=1.0)
    noise, draws = _noise(protocol), protocol.users * check_integer("instances", instances, low=1)
    allowed = budget.delta * (1.0 + share) * (1.0 - 1e-15)

    def cheap(messages: int) -> bool:
        return _delta(budget, _drawn_again(noise, messages, draws)) <= allowed

    if budget.delta == 0.0 or not cheap(most):
        raise InfeasibleBudgetError(f"share={share!r} of {budget}'s delta is proved for no cap up to most={most}.")
    return capped(protocol, least_integer(cheap, 0, most), instances=instances)


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
    return min((budget.delta + math.exp(budget.epsilon) * again) / (1.0 - again) * (1.0 + 1e-14), 1.0)
