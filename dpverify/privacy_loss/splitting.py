"""A certified lower bound on a profile from its connect-the-dots upper bound.

Connect-the-dots multiplies the likelihood ratio X of every factor by an independent Y with `E[Y] = 1`, two-valued with
values e^d, e^(d-w), w the split width. After composition the computed profile is `E[(XY - a)+]` with `a = e^eps`, the
true one `E[(X - a)+]`, expectations under Q; the first is larger. The excess at a given X, `g(X) = E[(XY - a)+] -
(X - a)+`, is bounded in two ways, with `V = sum of w^2/4` over the factors and `v = Var Y <= cosh^2(w/2)^k - 1`:

- by its variance alone (Scarf): `g <= (sqrt((X - a)^2 + v max(X, a)^2 ...) - |X - a|) / 2`;
- by Hoeffding's inequality for ln Y, integrated: Gaussian tails of variance V.

Both bounds are convex in X on either side of a, so that a piecewise linear function through their values majorises g. A
piecewise linear function of X is a combination of hockey sticks, and its expectation a combination of profile values:

    computed(a) - true(a) <= sum_i c_i true(a_i) - c_0 true(a) + rest <= sum_i c_i computed(a_i) - c_0 true(a) + rest,

which is solved for true(a). The bound costs a few evaluations of the computed profile, needs no second discretisation,
and is second order in the grid step.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["lower_bound"]


def _tail(distance: float, variance: float, *, above: bool) -> float:
    """Bound g/a (X below a) or g/X (X above a) at |ln X/a| = distance, by Hoeffding's inequality."""
    spread = math.sqrt(2.0 * variance)
    scale = math.sqrt(variance * math.pi / 2.0)
    if above:
        return scale * math.erfc((distance + variance / 2.0) / spread)
    return scale * math.exp(variance / 2.0) * math.erfc((distance - variance) / spread)


def lower_bound(
    epsilon: float, computed: float, profile_upper: Callable[[float], float], split_variance: float
) -> float:
    """Return a lower bound on the true profile at epsilon.

    Parameters
    ----------
    epsilon : float
        Where, in nats.
    computed : float
        A lower bound on the connect-the-dots profile there.
    profile_upper : callable
        Upper bounds on the connect-the-dots profile anywhere.
    split_variance : float
        V, the sum over the factors of the squared split width over 4.

    Returns
    -------
    float
        At least 0.
    """
    if computed <= 0.0 or split_variance > 1.0:
        return 0.0  # so coarse a grid bounds nothing: centre_slopes >= 1 below
    spread = math.sqrt(split_variance)
    # So far out that what is left, in units of e^eps, is nothing beside the profile.
    far = spread * math.sqrt(2.0 * (math.log(1e9) - math.log(computed) + max(epsilon, 0.0)))
    near = 3.0 * spread
    # Everything in units of a = e^eps: nodes X_i / a, values g_i / a.
    variance = math.expm1(split_variance * (1.0 + split_variance))
    centre = 0.5 * math.sqrt(variance)
    below = [(math.exp(-w), math.exp(-w) * _tail(w, split_variance, above=False)) for w in (near, far)]
    above = [(math.exp(w), math.exp(w) * _tail(w, split_variance, above=True)) for w in (near, far)]
    correction = 0.0
    centre_slopes = 0.0
    for (x_near, g_near), (x_far, g_far) in (below, above):
        inner = (centre - g_near) / abs(1.0 - x_near)
        outer = (g_near - g_far) / abs(x_near - x_far)
        # Convexity of the majorant: lift the centre's neighbour never below its own bound.
        slope_near, slope_far = max(inner - outer, 0.0), outer
        correction += slope_near * profile_upper(epsilon + math.log(x_near))
        correction += slope_far * profile_upper(epsilon + math.log(x_far))
        centre_slopes += inner
    rest = math.exp(min(epsilon, 700.0)) * (below[1][1] + above[1][1])
    if centre_slopes >= 1.0:
        return 0.0
    return max(0.0, (computed - correction - rest) / (1.0 - centre_slopes) * (1.0 - 1e-14))
