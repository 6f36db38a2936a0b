"""The largest loss of m bits whose probabilities change jointly, and the noise that keeps it within an epsilon.

Where the views of a 1 and a 0 have the ratio r, a bit whose probability goes from b to b' has the ratio `(1 - b' + b'
r) / (1 - b + b r)`, monotone in r, which is between e^-L and e^L, L the largest loss of a full change. So the view is
as if the bit were flipped with probability 1/(1 + e^L) and sent: the largest ratio is that, and it is attained, or
approached, in every bitsum at once if L is.

**Bits that may start anywhere.** The ratio of a bit that moves by t is at most `1 - t + t e^L`, or `1 / (1 - t + t
e^-L)`, which is no more, as their quotient is `(1-t)^2 + t^2 + t (1-t) (e^L + e^-L) >= 1`. The logarithm of the former
is concave and increasing in t, so concave in t^2: the sum over the bits is largest where all t_j are T / sqrt(m).

**Points of a ball.** With `b = (1 - u)/2`, `b' = (1 + v)/2` and `k = tanh(L/2)` the ratio is `(1 + k v) / (1 - k u)`,
for either bit up to the signs of u and v: the largest sum is that of `ln(1 + k v_j)` over a ball and that of `-ln(1 - k
u_j)` over the same ball, |u_j| at most 1. It is finite for L = inf as well, as long as no bit can be sure: T < 1.

The former is concave in v_j^2: all v_j are T / sqrt(m). The latter, as a function g of s = u^2, has `g' = k / (2 u (1 -
k u))`, infinite at 0, falling up to `u = 1/(2k)` and rising from there: concave and then convex. At the largest sum all
of T^2 is used, c of the u_j are 1, and the others, between 0 and 1 unless nothing is left, have one and the same g': so
u is w or `1/k - w`, w the smaller. Of two convex ones one may grow and the other fall by as much, for more: at most one
is. So it is one of

- `alike(c)`: the other m - c have the same s, `(T^2 - c) / (m - c)`. In real c its derivative is `g(1) - g(s) - (1-s)
  g'(s)`, what the tangent at s lacks to g at 1: not negative where g is convex, and falling with c where it is concave,
  as its own derivative is `-(1-s) g''(s) ds/dc` and s falls. So `alike` rises up to one c, and falls from there.
- `apart(c)`: one has `y = 1/k - w`, and M = m - c - 1 >= 1 have w, `y^2 + M w^2 = T^2 - c`: a quadratic equation. That
  one grows and the M others fall must not be for more: `g''(y^2) + g''(w^2) / M <= 0`, which is M w <= y. So `T^2 - c
  <= y^2 + w y <= 1 + w <= 2`, w being at most 1/(2k) and k at least 1/2, or nothing is convex: c >= T^2 - 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dpverify.changes import Full, L2Ball, L2Bounded
from dpverify.formulas.contexts import ArbContext, arb_context, enclosure, lower_float
from dpverify.guarantee import Interval, enclosing_floats
from dpverify.search import largest_float, least_integer

__all__ = ["largest_joint_loss", "largest_loss_within"]

_MOST_LOSS = 100.0
"""Of a full change, where the bits need no noise: next to none."""


def largest_joint_loss(loss: Interval, change: L2Bounded) -> Interval:
    """Return the largest loss of such changes, attained or approached if that of a full change is, in nats."""
    of = _of_ball if isinstance(change, L2Ball) else _of_any
    return Interval.proved(of(loss.lower, change).lower, of(loss.upper, change).upper)


def largest_loss_within(epsilon: Fraction, change: Full | L2Bounded) -> float:
    """Return the largest loss of one instance's full change with which the largest of all is at most epsilon, > 0.

    It is rounded down; 0 where no loss that is a positive float will do, and 100 where there may be more.
    """
    if isinstance(change, Full):
        return enclosing_floats(epsilon / change.instances)[0]
    target, m = enclosing_floats(epsilon)[0], change.coordinates
    with arb_context() as ctx:
        t = ctx.sqrt(ctx.convert(change.squared_change) / m)
        found = lower_float(ctx.log1p(ctx.expm1(ctx.convert(target) / m) / t))
    if not isinstance(change, L2Ball):
        return found
    # What is enough anywhere is enough in a ball.
    return largest_float(lambda loss: loss <= _MOST_LOSS and _of_ball(loss, change).upper <= target, found)


def _of_any(loss: float, change: L2Bounded) -> Interval:
    """Return the largest loss where bits may start anywhere."""
    if loss == math.inf:
        return Interval(math.inf, math.inf)
    m = change.coordinates
    with arb_context() as ctx:
        return enclosure(m * ctx.log1p(ctx.sqrt(ctx.convert(change.squared_change) / m) * ctx.expm1(loss)))


def _of_ball(loss: float, change: L2Bounded) -> Interval:
    """Return the largest loss of two points of a ball."""
    if loss == 0.0 or (loss == math.inf and change.squared_change >= 1.0):
        return Interval(loss, loss)
    with arb_context() as ctx:
        found = list(_candidates(ctx, loss, change))
        ends = [enclosure(value) for value, _ in found]
        attained = [end.lower for end, (_, certain) in zip(ends, found, strict=True) if certain]
    return Interval(max(attained), max(end.upper for end in ends))


def _candidates(ctx: ArbContext, loss: float, change: L2Bounded) -> Iterator[tuple[Any, bool]]:
    """Yield losses of which the largest is one, and whether a change that is allowed certainly has it."""
    m, square, last = change.coordinates, ctx.convert(change.squared_change), math.floor(change.squared_change)
    # 1 - k and k, neither by cancellation.
    flipped = 2 / (ctx.expm1(loss) + 2) if loss < math.inf else ctx.zero
    k = 1 - flipped if loss > 1.0 else ctx.expm1(loss) * flipped / 2
    first = m * ctx.log1p(k * ctx.sqrt(square / m))

    def g(u: Any) -> Any:
        return -ctx.log((1 - u) + flipped * u) if loss > 1.0 else -ctx.log1p(-k * u)

    def alike(full: int) -> Any:
        rest = max(m - full, 1)
        return (full * g(ctx.convert(1)) if full else 0) + rest * g(ctx.sqrt((square - full) / rest))

    def falls(full: int) -> bool:
        u = ctx.sqrt((square - full) / (m - full))
        return not g(ctx.convert(1)) - g(u) > (1 - u * u) * k / (2 * u * ((1 - u) + flipped * u))

    best = least_integer(falls, -1, last) if last else 0
    # Where balls do not tell which side of its peak a number is on, it is the peak's neighbour.
    for full in range(max(best - 2, 0), min(best + 1, last) + 1):
        yield first + alike(full), True
    for full in range(max(last - 2, 0), min(last, m - 2) + 1):
        rest = m - full - 1
        square_root = 1 / (k * k) - (rest + 1) * (1 / (k * k) - (square - full))
        # Where it may be 0, all between that and the upper end.
        most = ctx.sqrt(ctx.larger(square_root.upper(), ctx.zero))
        root = ctx.sqrt(square_root) if square_root > 0 else most.union(ctx.zero)
        # Of both solutions that with M w <= y.
        small = (1 / k - root) / (rest + 1)
        large = 1 / k - small
        if not (square_root < 0 or large > 1 or small > large):
            # No u exceeds 1, but a ball around one may, by more than what is flipped.
            own = g(large) if large < 1 else g(large.lower()).union(g(ctx.convert(1)))
            value = (full * g(ctx.convert(1)) if full else 0) + own + rest * g(small)
            yield first + value, bool(square_root > 0 and large < 1)
