"""The law of the difference of two negative binomial variables: noise for a sum that is seen without any bias.

With pmf f and `D = Z - Z'`, Z and Z' NB(r, p), the generating function is `G(s) = ((1-p)^2 / ((1-ps)(1-p/s)))^r`. From
`(1-ps)(1-p/s) s G'(s) = r (ps - p/s) G(s)` the coefficients have, for every integer z,

    p (z+1-r) f(z+1) = (1+p^2) z f(z) - p (z-1+r) f(z-1).

So the ratios `q(z) = f(z+1)/f(z)` follow from one another downwards,

    q(z-1) = p (z-1+r) / ((1+p^2) z - p (z+1-r) q(z)),   z >= 1.

They start from a ball: f(z) is the sum over j of `P(Z' = j) P(Z = z+j)`, so that q(z) lies between the least and the
largest ratio of P(Z = z+j+1) to P(Z = z+j), which are p and `p (z+r)/(z+1)` or between. That is forgotten, by a factor
of about p^2 each step, and the ball shrinks. (f is even, and for r >= 1 log-concave, as the law of Z is.)
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from flint import arb

from dpverify.formulas.contexts import arb_context, upper_float
from dpverify.laws import noise
from dpverify.laws.window import DEFAULT_TAIL, SMALLEST_TAIL, IntegerLaw, point_mass
from dpverify.rounding import UNIT
from protocols.validation import check_probability, check_real

__all__ = ["two_sided"]

_MOST_ATOMS = 2**17
"""Each takes about ten microseconds."""
_FORGOTTEN, _FARTHER = 2.0**-60, 1e-30
_LEAST = 1e-290


def two_sided(shape: float, p: float, tail: float = DEFAULT_TAIL) -> IntegerLaw:
    """Return the law of Z - Z' for independent Z, Z' ~ NB(shape, p), on a window with tails of `tail` at most.

    - shape: r > 0. For r = 1 the law is discrete Laplace.
    - p: In [0, 1): pmf `C(z+r-1, z) (1-p)^r p^z` of Z.
    - tail: In [2e-290, 0.5]: the mass that may be cut off on either side.

    Raises ValueError for an argument out of range. Raises CapacityError if more than 2^17 ratios are needed, for a
    shape other than 1.
    """
    check_real("shape", shape, low=0.0, low_open=True)
    check_probability("p", p, high_open=True)
    check_real("tail", tail, low=2.0 * SMALLEST_TAIL, high=0.5)
    if p == 0.0:
        return point_mass(0)
    if shape == 1.0:
        # In closed form. The decay is off by two units, which weigh as much as an atom is far out.
        decay = -math.log(p)
        law = noise.discrete_laplace(decay, tail)
        off = law.relative_error + 4.0 * UNIT * (law.stop * decay + 1.0)
        tails = {name: getattr(law, name) * (1.0 + 2.0 * off) for name in ("tail_below", "tail_above")}
        return replace(law, relative_error=off, **tails)
    # P(D >= z) <= P(Z >= z): the window of Z alone has all that is needed, and then it is cut.
    single = noise.negative_binomial(shape, p, min(tail / 2.0, _FARTHER), max_atoms=_MOST_ATOMS)
    reach = single.stop
    extra = reach // 4 + math.ceil(math.log(_FORGOTTEN) / (2.0 * math.log(p))) + 64
    with arb_context(128):
        r, b = arb(shape), arb(p)
        square, first = 1 + b * b, reach + extra

        def before(z: int, ratio: arb) -> arb:
            return b * (z - 1 + r) / (square * z - b * (z + 1 - r) * ratio)

        # One step is monotone: the ends of what the last ratio may be move by themselves, until they all but meet. Of a
        # wide ball Arb's quotient is too coarse for that.
        low, high = b, b * (first + r) / (first + 1)
        for z in range(first, reach, -1):
            low, high = before(z, low), before(z, high)
        ratio, ratios = low.union(high), []
        for z in range(reach, 0, -1):
            ratio = before(z, ratio)
            ratios.append(ratio)
        masses = [arb(1)]
        for ratio in reversed(ratios):
            masses.append(masses[-1] * ratio)
        # All masses add up to 1, but for what is beyond the window of Z.
        listed = arb(1) - 2 * arb(0).union(arb(single.tail_above))
        first_mass = listed / (2 * sum(masses, arb(0)) - 1)
        masses = [mass * first_mass for mass in masses]
        half = np.array([float(each) for each in masses])
        error = upper_float(arb(masses[-1].rad()) / masses[-1])  # relative radii grow with z
        # Sums from the end, rounded up, and all beyond the window of Z: what is cut where.
        beyond = np.cumsum(half[::-1])[::-1] * (1.0 + 2.0 * half.size * UNIT) * (1.0 + 2.0 * error)
    keep = int(np.count_nonzero((beyond > tail / 2.0) & (half >= _LEAST)))
    kept = half[: max(keep, 1)]
    above = (float(beyond[kept.size]) if kept.size < half.size else 0.0) + single.tail_above
    return IntegerLaw(
        1 - kept.size, np.concatenate((kept[:0:-1], kept)), error * (1.0 + 1e-9) + 2.0 * UNIT, above, above
    )
