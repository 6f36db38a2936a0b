"""Renyi divergences and zero-concentrated DP of a privacy loss distribution, as intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.formulas.contexts import FLOATS, Context, arb_context, upper_float
from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT, summation_error
from dpverify.search import least_argument
from protocols.validation import check_integer, check_real

__all__ = ["ConcentratedCurve", "RenyiCurve", "renyi_divergence", "zero_concentrated_rho"]

_LOG_ORDERS = (-25.0, 25.0)
"""Between which logarithms of alpha - 1 the best order is looked for."""


def renyi_divergence(pair: PrivacyLossDistribution, order: float) -> Interval:
    """Return the Renyi divergence of order alpha > 1 of (P, Q), in nats: `ln E_P[e^((alpha-1) L)] / (alpha - 1)`.

    - pair: The pair; compositions add up, so k instances have k times this.
    - order: alpha, above 1 (mironov2017, Definition 3).

    Returns: `upper` is inf if any P-mass has infinite or unknown loss.
    """
    check_real("order", order, low=1.0, low_open=True)
    if pair.losses.size == 0:
        return Interval(math.inf, math.inf)
    tilted, logs = (order - 1.0) * pair.losses, np.log(pair.masses)
    exponents = tilted + logs
    shift = float(exponents.max())
    terms = np.exp(exponents - shift)
    total = float(np.sum(terms))
    # Each exponent may be a small difference of large numbers: its parts are charged, with the weight of its term.
    units = 4.0 * (np.abs(tilted) + np.abs(logs) + abs(shift)) + 8.0
    error = float(terms @ units) / total * UNIT * (1.0 + 1e-6)
    error += (order - 1.0) * pair.loss_error - math.log1p(-min(pair.relative_error, 0.5))
    error += summation_error(exponents.size) + 8.0 * UNIT * (1.0 + abs(math.log(total)) + abs(shift))
    bounds = [(math.log(total) + shift + sign * error) / (order - 1.0) for sign in (-1.0, 1.0)]
    lower = math.inf if pair.infinite_mass > 0.0 else max(bounds[0] - 4.0 * UNIT * abs(bounds[0]), 0.0)
    upper = (
        math.inf
        if pair.unbounded_mass > 0.0 or pair.relative_error > 0.5
        else max(bounds[1] + 4.0 * UNIT * abs(bounds[1]), 0.0)
    )
    return Interval(lower, upper)


def zero_concentrated_rho(pair: PrivacyLossDistribution, orders: np.ndarray | None = None) -> float:
    """Return a lower bound on rho such that the pair is rho-zCDP: the largest `D_alpha / alpha` over a grid of orders.

    - pair: The pair, one direction.
    - orders: The orders to try; 200 between 1.01 and 1e4 in geometric progression when omitted.

    bun2016, Definition 1.1, asks for all alpha > 1 and both directions: a grid can only refute a smaller rho.
    """
    tried = np.geomspace(1.01, 1e4, 200) if orders is None else np.asarray(orders, dtype=np.float64)
    return max(renyi_divergence(pair, float(order)).lower / float(order) * (1.0 - 2.0 * UNIT) for order in tried)


class ConcentratedCurve:
    """What zero-concentrated privacy alone says: `rho + 2 sqrt(rho ln(1/delta))` (bun2016, Proposition 1.3).

    No law is listed for it, so that it holds for every positive delta; it is an upper end only.

    - sigma: Of central or discrete Gaussian noise, positive: one instance is 1/(2 sigma^2)-zCDP (canonne2020, Theorem
      4).
    - instances: How many instances there are, whose rho add up.
    """

    def __init__(self, sigma: float, instances: int) -> None:
        check_real("sigma", sigma, low=0.0, low_open=True)
        self._sigma, self._instances = sigma, check_integer("instances", instances, low=1)

    def delta(self, epsilon: float) -> Interval:
        """Return [0, `e^(-(epsilon - rho)^2 / (4 rho))`], or nothing but [0, 1] up to rho."""
        check_real("epsilon", epsilon)
        with arb_context() as ctx:
            rho = self._instances / (2 * ctx.convert(self._sigma) ** 2)
            over = ctx.convert(epsilon) - rho
            upper = upper_float(ctx.exp(-(over * over) / (4 * rho))) if over > 0 else 1.0
        return Interval(0.0, min(upper, 1.0))

    def epsilon(self, delta: float) -> Interval:
        """Return [0, `rho + 2 sqrt(rho ln(1/delta))`]."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        with arb_context() as ctx:
            rho = self._instances / (2 * ctx.convert(self._sigma) ** 2)
            upper = upper_float(rho + 2 * ctx.sqrt(-rho * ctx.log(ctx.convert(delta))))
        return Interval(0.0, upper)


class RenyiCurve:
    """What Renyi divergences alone say, of both directions: an upper end, at every real epsilon; the lower one is 0.

    `(1 - e^(epsilon - L))+ <= e^((alpha - 1) (L - epsilon)) (1 - 1/alpha)^(alpha - 1) / alpha` for every loss L, as
    `(1 - y) y^(alpha - 1)` is largest at `y = 1 - 1/alpha`. So its mean, the divergence, is at most that of the right
    side: `e^((alpha - 1) (D_alpha - epsilon))` times the constant, for each order alpha (canonne2020, Proposition 12).

    - rho, xi: D_alpha is at most `rho alpha + xi`, and what the table adds.
    - table: Orders above 1 and what is added for each: no other order is known then. Empty where rho and xi say all.
    """

    def __init__(self, rho: Fraction, xi: Fraction, table: Sequence[tuple[float, Fraction]] = ()) -> None:
        self._rho, self._xi, self._table = rho, xi, dict(table)

    def delta(self, epsilon: float) -> Interval:
        """Return the divergence at one real epsilon, between 0 and an upper bound."""
        check_real("epsilon", epsilon)

        def log_bound(ctx: Context, order: float) -> Any:
            divergence, fall, less = self._at(ctx, order)
            return less * (divergence - ctx.convert(epsilon) + fall) - ctx.log(ctx.convert(order))

        order = self._best(log_bound)
        with arb_context() as ctx:
            found = log_bound(ctx, order)
            upper = upper_float(ctx.exp(found)) if found < 0 else 1.0
        return Interval(0.0, min(upper, 1.0))

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon >= 0 at which the divergence is at most delta, between 0 and an upper bound."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)

        def bound(ctx: Context, order: float) -> Any:
            divergence, fall, less = self._at(ctx, order)
            return divergence + fall - (ctx.log(ctx.convert(delta)) + ctx.log(ctx.convert(order))) / less

        order = self._best(bound)
        with arb_context() as ctx:
            return Interval(0.0, max(upper_float(bound(ctx, order)), 0.0))

    def _at(self, ctx: Context, order: float) -> tuple[Any, Any, Any]:
        """Return D_alpha, ln(1 - 1/alpha), and alpha - 1."""
        alpha = ctx.convert(order)
        divergence = ctx.convert(self._rho) * alpha + ctx.convert(self._xi) + ctx.convert(self._table.get(order, 0))
        return divergence, ctx.log1p(-1 / alpha), alpha - 1

    def _best(self, bound: Callable[[Context, float], Any]) -> float:
        """Return about the order at which a bound is least."""
        if self._table:
            return min(self._table, key=lambda order: float(bound(FLOATS, order)))
        return 1.0 + math.exp(least_argument(lambda x: bound(FLOATS, 1.0 + math.exp(x)), *_LOG_ORDERS, steps=48))
