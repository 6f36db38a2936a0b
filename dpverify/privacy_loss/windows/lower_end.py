"""A certified lower bound on a profile from its connect-the-dots upper bound.

Connect-the-dots splits each loss of a factor between two grid points a split width w apart and keeps P-mass and Q-mass:
it multiplies the likelihood ratio of the factor by a Y_f that, whatever the outcome, has `E[Y_f | outcome] = 1` under Q
and two values e^d, e^(d-w). (Y_f is *not* independent of the outcome: d is its place between the grid points.) Let X be
the ratio of all factors, Y the product of all Y_f, independent of each other given the outcomes, and `a = e^eps`. The
computed profile is `E[(XY - a)+]`, the true one `E[(X - a)+]`, so the excess is the mean of `g_Y(X)` with

    g_Y(x) = E[(xY - a)+] - (x - a)+ >= 0, for the law of Y at that outcome.

For *each* law of Y with mean 1, g_Y is convex in x on either side of a, increasing below a and decreasing above it. So
a bound that holds for every admissible law at a few nodes x_i holds, joined by lines, between them, and carries on as a
constant outside. At the nodes g_Y is at most (V the sum of w^2/4 over the factors)

- `(sqrt((x - a)^2 + v x^2) - |x - a|) / 2` (Scarf), as E Y = 1 and `Var Y <= prod cosh^2(w/2) - 1 <= e^V - 1 = v`;
- `x sqrt(pi V/2) erfc((|ln x/a| -+ V/2) / sqrt(2V))`, - below and + above a, where that distance is at least V/2:
  `psi(s) = ln E Y_f^s` has psi(0) = psi(1) = 0 and psi'' <= w^2/4 (the variance of a variable of range w, tilted), so
  `psi(s) <= w^2 s (s-1)/8` outside (0, 1). By Markov's inequality `P(ln Y >= y)` for y >= V/2, and `P(ln Y <= y)` for
  y <= -V/2, are at most `exp(-(y + V/2)^2/(2V))`, and g_Y is the integral of `x e^y` times them beyond ln(a/x).

A piecewise linear majorant is a combination of hockey sticks, and its expectation one of profile values:

    computed(a) - true(a) <= sum_i c_i true(a_i) - c_0 true(a) + rest <= sum_i c_i computed(a_i) - c_0 true(a) + rest,

which is solved for true(a). The bound costs five evaluations of the computed profile, at a and at two nodes on either
side (three or four where delta is tiny), needs no second discretisation, and is second order in the grid step.

Where V is not small, as in many millions of copies, that bound is void, but `sqrt V` is little beside the total loss.
Under P the total loss grows by U = ln Y, and as P weighs Y by itself, `ln E_P e^(tU) <= V t (t+1) / 2` for every t > 0,
whatever the outcome: `P(U >= s) <= exp(-(s - V/2)^2 / (2V))` for s >= V/2. The share of a loss that counts at eps + s,
`(1 - e^(eps + s - loss))+`, is at most 1, and where U <= s at most what the loss without U has at eps. Hence

    true(eps) >= computed(eps + s) - exp(-(s - V/2)^2 / (2V)).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpverify.rounding import UNIT

__all__ = ["excess_bound", "lower_bound", "shifted_bound"]

_NEAR, _APART = 3.0, 3.0
"""The first node on either side, in units of sqrt V, and how many times as far the next one may be."""
_ROUNDING = 1e-13
"""Charged, relatively, to node values and to sums of a few positive terms: hundreds of units each."""


def excess_bound(distance: float, split_variance: float, *, above: bool) -> float:
    """Bound g_Y(x)/a, for every admissible law of Y, at |ln x/a| = distance above or below a; see the module."""
    x = math.exp(distance if above else -distance)
    gap = abs(math.expm1(distance if above else -distance))
    variance = math.expm1(split_variance)
    # (sqrt(gap^2 + b) - gap) / 2 without its cancellation.
    bound = 0.5 * variance * x * x / (math.sqrt(gap * gap + variance * x * x) + gap)
    if distance >= 0.5 * split_variance:
        argument = (distance + (0.5 if above else -0.5) * split_variance) / math.sqrt(2.0 * split_variance)
        bound = min(bound, x * math.sqrt(0.5 * math.pi * split_variance) * math.erfc(argument))
    # Above a, g_Y decreases: its bound at a holds there as well.
    return min(bound, 0.5 * math.sqrt(variance)) * (1.0 + _ROUNDING)


def lower_bound(
    epsilon: float, computed: float, profile_upper: Callable[[float], float], split_variance: float
) -> float:
    """Return a lower bound on the true profile at epsilon.

    - epsilon: Where, in nats.
    - computed: A lower bound on the connect-the-dots profile there.
    - profile_upper: Upper bounds on the connect-the-dots profile anywhere.
    - split_variance: V, the sum over the factors of the squared split width over 4; positive.

    Returns: At least 0.
    """
    if computed <= 0.0 or split_variance > 1.0:
        return 0.0  # so coarse a grid bounds nothing: centre_slopes >= 1 below
    spread = math.sqrt(split_variance)
    # So far out that what is left, in units of e^eps, is nothing beside the profile.
    far = spread * math.sqrt(2.0 * (math.log(1e9) - math.log(computed) + max(epsilon, 0.0)))
    # Where delta is tiny the profile grows by many orders up to there: a node would weigh as much as what is between.
    near, parts = _NEAR * spread, max(1, math.ceil(math.log(far / (_NEAR * spread), _APART)))
    nodes = [near * (far / near) ** (part / parts) for part in range(parts)] + [far]
    # Everything in units of a = e^eps.
    centre = excess_bound(0.0, split_variance, above=False)
    correction = rest = centre_slopes = 0.0
    for sign in (-1.0, 1.0):
        bounds = [centre, *(excess_bound(distance, split_variance, above=sign > 0.0) for distance in nodes)]
        slopes = [
            (one - other) / (math.exp(sign * before) * abs(math.expm1(sign * (after - before))))
            for one, other, before, after in zip(bounds, bounds[1:], [0.0, *nodes], nodes, strict=False)
        ]
        centre_slopes += slopes[0]
        outer = 0.0
        # Where the bounds are not convex at a node, the line from afar is carried on: it is above them.
        for slope, distance in zip(slopes[::-1], nodes[::-1], strict=True):
            rounding = 4.0 * UNIT * (abs(epsilon) + distance)
            correction += max(slope - outer, 0.0) * profile_upper(epsilon + sign * distance - rounding)
            outer = max(slope, outer)
        # What the majorant is beyond the far node, erfc(z) <= e^(-z^2) in logarithms: it may underflow beside e^eps.
        z = (far + sign * 0.5 * split_variance) / (math.sqrt(2.0) * spread)
        exponent = epsilon + sign * far + math.log(0.5 * math.pi * split_variance) / 2.0 - z * z
        rest += math.exp(min(exponent, 700.0))
    if centre_slopes >= 1.0:
        return 0.0
    kept = computed * (1.0 - _ROUNDING) - (correction + rest) * (1.0 + _ROUNDING)
    return max(0.0, kept / (1.0 - centre_slopes * (1.0 - _ROUNDING)) * (1.0 - 4.0 * UNIT))


def shifted_bound(epsilon: float, profile_lower: Callable[[float], float], split_variance: float) -> float:
    """Return a lower bound on the true profile at epsilon from the computed one a little further on; see the module.

    - epsilon: Where, in nats.
    - profile_lower: Lower bounds on the connect-the-dots profile anywhere.
    - split_variance: V, as for `lower_bound`; of any size.

    Returns: At least 0.
    """
    near = profile_lower(epsilon + 0.5 * split_variance)
    if near <= 0.0:
        return 0.0
    # A shift that leaves out a ten thousandth of the profile; what it leaves out is charged as it is.
    exponent = math.log(1e4) - math.log(near)
    shift = (0.5 * split_variance + math.sqrt(2.0 * split_variance * exponent)) * (1.0 + _ROUNDING)
    shift += 4.0 * UNIT * (abs(epsilon) + shift)
    return max(profile_lower(epsilon + shift) - math.exp(-exponent) * (1.0 + _ROUNDING * exponent), 0.0)
