"""The expected excess of a sum of independent variables, each of which has one of some laws, nobody knows which: above.

As in `excess.py`, with M the moment generating function of the sum W and v(x) = e^(-tilt x) E[(W + x)+], Poisson's
formula makes `E[(W + b)+] <= (h / 2 pi) sum_k |M(s_k)| e^(tilt b) / |s_k|^2`, s_k = tilt + i k h, at any spacing h and
tilt > 0. If k_i of n variables have the law i, `|M| = prod |M_i|^k_i` is at most the mean of `|M_i|^n` with the weights
k_i / n: so the sum is at most the largest of those where all variables have one law. A normal variable is added, as
there. Little is lost at the tilt where `M(tilt)^n / tilt^2`, the largest of all laws, is the least: there the terms
next to k = 0 have about the same argument.

**Jumps.** Rare and large values spoil the tilted law. With V what is left of W where values above R are 0, and g(b) a
bound on `E[(V + b)+]` also where one or two variables less make V, increasing in b: at most one jump, or two, add
`g(z)` and `g(z + z')` to the bound, and three or more no more than themselves, as `(V + b)+ <= V+ + b`. So

    E[W+] <= g(0) + n nu(g) + n^2 / 2 (nu x nu)(g) + n^3 / 2 nu(1)^2 nu(z),

if nu has at least the mass of any law above every z >= R. g is the least of some tilts' bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.shuffling.excess import Variable
from dpverify.rounding import SUBNORMAL, UNIT, summation_error

__all__ = ["mixed_excess"]

Floats = NDArray[np.float64]

_SMOOTHING = 0.1
"""Of the normal variable, in units of 1 / tilt: it adds about half the square of this."""
_NEGLIGIBLE = 34.0
_PER_TILT, _PER_DEVIATION = 4.0, 1.5
_FIRST, _MOST_NODES = 24, 2**14
_STEPS, _GOLDEN = 16, 0.5 * (math.sqrt(5.0) - 1.0)
_FLATTEST, _STEEPEST = 0.1, 280.0
"""The tilts that are tried: over the deviation of the sum, and of a single value's exponent."""
_LEADING = 3
_FARTHEST = 100.0
"""Tilts beyond this over the deviation are of no use."""
_LEVELS = 48
"""To so many levels jumps are rounded up."""
_FEWER, _FALLING = 1.6, (0.85, 0.7, 0.55, 0.4, 0.25, 0.1)
"""By what R grows from try to try, and the tilts for jumps."""


def mixed_excess(variables: Sequence[Variable], copies: int) -> float:
    """Return an upper bound on `E[(Z_1 + ... + Z_n)+]`, Z independent, each with the law of any of these variables.

    - variables: The laws.
    - copies: n, at least 1.

    Returns inf where no tilt was found.
    """
    most = max(float(np.max(each.values + each.value_errors)) for each in variables)
    if most <= 0.0:
        return 0.0
    # Those that spread most, on both sides of 0 or above, decide, as a rule: where jumps begin, and the tilt.
    leading = [
        *sorted(variables, key=_spread_above)[-_LEADING:],
        *sorted(variables, key=lambda each: each.moments(0.0)[1])[-_LEADING:],
    ]
    deviation = math.sqrt(copies * max(each.moments(0.0)[1] for each in leading))
    found, best, top = math.inf, most, min(max(deviation / _FEWER, 1.0), most)
    while True:
        here = _with_jumps(leading, leading, copies, top, most, deviation)
        if here < found:
            found, best = here, top
        elif found < math.inf:
            break
        if top >= most:
            break
        top = min(_FEWER * top, most)
    return _with_jumps(variables, leading, copies, best, most, deviation)


def _spread_above(variable: Variable) -> float:
    return float(np.sum(variable.weights * np.maximum(variable.values, 0.0) ** 2))


def _with_jumps(
    variables: Sequence[Variable],
    leading: Sequence[Variable],
    copies: int,
    top: float,
    most: float,
    deviation: float,
) -> float:
    """Return the bound where values above `top` are jumps."""
    kept = [each if top >= most else _without(each, top) for each in variables]
    tilt = _tilt([each if top >= most else _without(each, top) for each in leading], copies, deviation)
    bases = {tilt: _base(kept, copies, tilt)}
    found = bases[tilt]
    if top >= most or not found < math.inf:
        return found
    levels = np.geomspace(top, most, _LEVELS + 1)
    levels[-1] = most
    tails = np.max([_tail(each, levels) for each in variables], axis=0)
    masses = np.maximum(tails[:-1] - tails[1:], 0.0) * (1.0 + 8.0 * UNIT)
    ends, mass = levels[1:], float(np.sum(masses)) * (1.0 + 1e-12)
    third = 0.5 * copies**3 * mass**2 * float(np.sum(masses * ends)) * (1.0 + 1e-9)
    for share in _FALLING:
        scale = max(each.log_mgf(share * tilt, copies) for each in kept)
        bases[share * tilt] = math.exp(max(scale, scale * (max(copies - 2, 0) / copies))) / (math.e * share * tilt)
    mean, variance = _moments(kept, copies)

    def bound(jumps: Floats) -> Floats:
        with np.errstate(over="ignore"):
            sizes = [base * np.exp(each * jumps) * (1.0 + 1e-12) for each, base in bases.items()]
        centres = mean + jumps
        # (c + h) / 2, where nothing cancels.
        reach = np.abs(centres) + np.hypot(centres, math.sqrt(variance))
        most = np.where(centres > 0.0, 0.5 * reach, 0.5 * variance / reach) * (1.0 + 1e-9)
        return np.asarray(np.minimum(np.min(sizes, axis=0), most))

    one = copies * float(np.sum(masses * bound(ends)))
    two = 0.5 * copies**2 * float(masses @ bound(ends[:, None] + ends) @ masses)
    return (found + one + two) * (1.0 + 1e-9) + third


def _moments(variables: Sequence[Variable], copies: int) -> tuple[float, float]:
    """Return upper bounds on mean and variance of the sum of n variables, or one or two less, whatever their laws."""
    mean, variance = -math.inf, 0.0
    for each in variables:
        sizes = np.abs(each.values) + each.value_errors
        slip = float(np.sum(each.weights * (each.value_errors + (each.weight_error + 1e-12) * sizes)))
        mean = max(mean, float(np.sum(each.weights * each.values)) + slip)
        variance = max(variance, float(np.sum(each.weights * sizes**2)) * (1.0 + each.weight_error + 1e-12))
    return max(copies * mean, max(copies - 2, 0) * mean), copies * variance


def _without(variable: Variable, top: float) -> Variable:
    """Return the variable with 0 for what may be above `top`."""
    low = variable.values + variable.value_errors <= top
    return replace(
        variable,
        weights=variable.weights[low],
        values=variable.values[low],
        value_errors=variable.value_errors[low],
        complete=False,
    )


def _tail(variable: Variable, levels: Floats) -> Floats:
    """Return at least the mass above each level."""
    highest = variable.values + variable.value_errors
    order = np.argsort(highest)
    sums = np.append(np.cumsum(variable.weights[order][::-1])[::-1], 0.0) * (1.0 + variable.weight_error + 1e-12)
    return np.asarray(sums[np.searchsorted(highest[order], levels, side="right")])


def _tilt(variables: Sequence[Variable], copies: int, deviation: float) -> float:
    """Return about where the largest of the bounds is the least: by golden section, as its logarithm is convex."""
    low = math.log(_FLATTEST / deviation)
    largest = max(*(float(each.values.max()) for each in variables), _STEEPEST / _FARTHEST * deviation)
    high = max(math.log(_STEEPEST / largest), low + 1.0)

    def height(point: float) -> float:
        return max(each.log_mgf(math.exp(point), copies) for each in variables) - 2.0 * point

    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = height(left), height(right)
    for _ in range(_STEPS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = height(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = height(right)
    return math.exp(left if at_left <= at_right else right)


def _base(variables: Sequence[Variable], copies: int, tilt: float) -> float:
    """Return g(0) by one tilt: a bound for n variables, and for one or two less, whatever their laws."""
    scales = [each.log_mgf(tilt, copies) for each in variables]
    if not max(scales) < 600.0:
        return math.inf
    found = 0.0
    for scale, variable in sorted(zip(scales, variables, strict=True), key=lambda pair: -pair[0]):
        # A bound by few nodes is enough where it is less than another's.
        if _bound(variable, copies, tilt, scale, _FIRST) > found:
            found = max(found, _bound(variable, copies, tilt, scale, _MOST_NODES))
    return found


def _fewer(logs: Floats, copies: int) -> Floats:
    """Return the largest of these and of what two copies less make of them: n ln |M| for n and n - 2."""
    return np.maximum(logs, logs * (max(copies - 2, 0) / copies))


def _bound(variable: Variable, copies: int, tilt: float, scale: float, most: int) -> float:
    """Return the sum where all have this law, `scale` being n ln M(tilt) at most, by at most so many nodes."""
    deviation = math.sqrt(copies * variable.moments(tilt)[1])
    kappa, spacing = _SMOOTHING / tilt, 1.0 / max(_PER_TILT / tilt, _PER_DEVIATION * deviation)
    # Any of these proves a bound, also where there would be more nodes.
    count = min(math.ceil(math.sqrt(2.0 * _NEGLIGIBLE) / kappa / spacing) + 1, most)
    thetas = spacing * np.arange(count, dtype=np.float64)
    logs = _fewer(np.minimum(variable.largest_logs(tilt, thetas, copies), scale), copies)
    scale = float(_fewer(np.array([scale]), copies)[0])
    exponents = logs - scale + 0.5 * kappa * kappa * (tilt * tilt - thetas * thetas)
    units = 64.0 * UNIT * (4.0 + np.abs(exponents) + np.abs(logs) + abs(scale))
    terms = np.exp(np.maximum(exponents, -700.0) + units) / (tilt * tilt + thetas * thetas)
    # Both signs of theta. After the last node |M| is at most M(tilt), the factor of the normal variable at most its
    # first, and 1 / theta^2 adds up to less than its first term and its integral.
    total = (2.0 * float(np.sum(terms)) - float(terms[0])) * (1.0 + summation_error(count) + 8.0 * UNIT)
    last = spacing * count * (1.0 - 4.0 * UNIT)
    beyond = math.exp(0.5 * kappa * kappa * (tilt * tilt - last * last)) * (1.0 + 1e-6)
    total += 2.0 * beyond / last * (1.0 / last + 1.0 / spacing)
    return spacing / (2.0 * math.pi) * total * math.exp(scale) * (1.0 + 64.0 * UNIT) + SUBNORMAL
