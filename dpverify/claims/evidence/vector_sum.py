"""What backs the verdicts on scott2022: privacy, accuracy and the printed proofs of the vector sum."""

from __future__ import annotations

import math
from fractions import Fraction

from dpverify.claims.evidence import require

__all__ = ["composition_at_large_delta", "optimal_composition"]


def _composed(epsilon: Fraction, delta: Fraction, t: int) -> float:
    """Return the total delta at epsilon, rounded up, of t worst mechanisms at Corollary 4.3's (eps', delta/t)."""
    from dpverify.formulas.contexts import upper_float
    from dpverify.privacy_loss.two_valued import composed_delta

    each = float(epsilon) / (2.0 * math.sqrt(2.0 * t * math.log(1.0 / delta))) * (1.0 + 1e-14)
    hidden = (1 - delta / t) ** t  # that no mechanism fails outright (kairouz2015, Theorem 3.3)
    pure = Fraction(upper_float(composed_delta(each, t, epsilon)))
    return float(1 - hidden * (1 - pure))


def optimal_composition() -> dict[str, float]:
    """Compose t mechanisms that are (eps', delta/t)-DP, `eps' = eps / (2 sqrt(2 t L))`, L = ln(1/delta), optimally.

    That the total is (eps, delta)-DP for t = 1 if and only if delta <= e^(-1/8): there eps' <= eps. For t >= 2 and
    delta <= 0.39 it is, too. The worst mechanism fails outright with probability delta/t, else it has losses +-eps'.
    The mean of their sum is `t eps' tanh(eps'/2) <= t eps'^2 / 2 = eps^2 / (16 L)`, so that by Hoeffding's inequality
    the sum exceeds eps with probability at most `exp(-2 eps^2 (1 - eps/(16 L))^2 / (4 t eps'^2)) <= delta^(4 (1 -
    1/(16 L))^2)` for eps < 1. What is left of delta is `delta - 1 + (1 - delta/t)^t >= delta^2 / 4` for t >= 2, and the
    exponent makes the former less up to delta = 0.39. Above, the composition is computed.
    """
    epsilons = [Fraction(number, 100) for number in (1, 30, 70, 99)]
    deltas = [Fraction(1, 10**12), Fraction(1, 10**6), *(Fraction(number, 100) for number in (1, 5, 10, 20, 39))]
    deltas += [Fraction(number, 100) for number in range(45, 88, 6)]
    several = (1, 2, 3, 5, 10, 100, 1000)
    worst = max(_composed(e, d, t) / float(d) for e in epsilons for d in deltas for t in several)
    require(worst <= 1.0, f"At Corollary 4.3's parameters the total is {worst} delta.")
    for delta in (1e-9, 1e-3, 0.1, 0.3, 0.39):
        left = delta ** (4.0 * (1.0 - 1.0 / (16.0 * math.log(1.0 / delta))) ** 2)
        require(left <= delta**2 / 4.0, f"The Hoeffding step of the proof fails at delta={delta}.")
    return {"worst_ratio": worst, "largest_delta": float(deltas[-1]), "limit": math.exp(-1.0 / 8.0)}


def composition_at_large_delta() -> dict[str, float]:
    """Return by how much one mechanism at Corollary 4.3's eps' exceeds delta where delta is near 1.

    In exact fractions below the irrational eps' and e^eps': its divergence is no more than that of the source.
    """
    delta, epsilon = Fraction(9, 10), Fraction(99, 100)
    each = float(epsilon) / (2.0 * math.sqrt(2.0 * math.log(1.0 / delta))) * (1.0 - 1e-12)
    low, high = (
        Fraction(math.exp(each)) * (1 - Fraction(1, 10**12)),
        Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**12)),
    )
    total = delta + (1 - delta) * (low - high) / (1 + low)
    ratio = float(total / delta)
    require(ratio > 1.0, "The composition holds at delta = 0.9, t = 1.")
    advanced = 1.0 / (2.0 * math.sqrt(2.0 * math.log(1.0 / delta))) * float(epsilon)
    stated = math.sqrt(2.0 * math.log(1.0 / delta)) * advanced + advanced * math.expm1(advanced)
    require(stated > epsilon, "Advanced composition keeps to epsilon at delta = 0.9.")
    return {"excess_ratio": ratio, "advanced_epsilon": stated}
