"""The named laws on the integers, each as a window of `dpverify.laws.window`.

A parameter means its float's binary value. Each tail that is cut off has a mass of `tail` at most, in [1e-290, 0.5].
ValueError for an argument out of range, CapacityError where the window would need more than `max_atoms` atoms.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dpverify.formulas.contexts import upper_float
from dpverify.guarantee import CapacityError
from dpverify.laws.window import (
    DEFAULT_MAX_ATOMS,
    DEFAULT_TAIL,
    EXACT,
    SMALLEST_TAIL,
    IntegerLaw,
    UnimodalPmf,
    check_atoms,
    check_window,
    point_mass,
    window,
)
from dpverify.rounding import UNIT
from dpverify.search import least_integer
from protocols.validation import check_integer, check_probability, check_real

__all__ = ["binomial", "discrete_gaussian", "discrete_laplace", "negative_binomial", "poisson", "skellam"]

_BITS = 128


def binomial(trials: int, p: float, tail: float = DEFAULT_TAIL, *, max_atoms: int = DEFAULT_MAX_ATOMS) -> IntegerLaw:
    """Return Bin(trials, p), pmf `C(n, k) p^k (1-p)^(n-k)`, trials in [0, 2^53)."""
    n = check_integer("trials", trials, low=0)
    if n >= EXACT:
        raise CapacityError(f"a count of {n} reports is needed, but only integers in [0, 2^53) are exact as floats.")
    p = check_probability("p", p)
    if p in (0.0, 1.0) or n == 0:
        return point_mass(n if p == 1.0 else 0)

    def ratio(k: Any, odds: Any) -> Any:
        return (n - k) / (k + 1) * odds

    with ctx.workprec(_BITS):
        log_p, log_q, log_factorial = arb(p).log(), (1 - arb(p)).log(), arb(n + 1).lgamma()
        odds = arb(p) / (1 - arb(p))
        f = UnimodalPmf(
            log_pmf=lambda k: log_factorial - (k + 1).lgamma() - (n + 1 - k).lgamma() + k * log_p + (n - k) * log_q,
            ratio=lambda k: ratio(k, odds),
            blocks_of_ratios=lambda first, offsets: ratio(first[:, None] + offsets, float(odds)),
            roundings=4,  # the quotient, the product, and two for the odds
            largest_ratio_above=lambda k: ratio(k, odds),
            mode=min(n, int((n + 1) * p)),
            highest=n,
        )
        return window(f"binomial(trials={n}, p={p!r})", f, tail, max_atoms)


def negative_binomial(
    shape: float, p: float, tail: float = DEFAULT_TAIL, *, max_atoms: int = DEFAULT_MAX_ATOMS
) -> IntegerLaw:
    """Return NB(shape, p), pmf `C(z+r-1, z) (1-p)^r p^z` on z >= 0, r in (0, 2^53] and p in [0, 1).

    That is the convention of ghazi2021 and wagner2025: scipy and numpy call 1-p what is called p here.
    """
    r = check_real("shape", shape, low=0.0, high=EXACT, low_open=True)
    p = check_probability("p", p, high_open=True)
    if p == 0.0:
        return point_mass(0)

    def ratio(z: Any) -> Any:
        return (z + r) / (z + 1) * p

    with ctx.workprec(_BITS):
        log_p, log_zero = arb(p).log(), r * (1 - arb(p)).log() - arb(r).lgamma()
        f = UnimodalPmf(
            log_pmf=lambda z: log_zero + (z + r).lgamma() - (z + 1).lgamma() + z * log_p,
            ratio=ratio,
            blocks_of_ratios=lambda first, offsets: ratio(first[:, None] + offsets),
            roundings=3,  # the sum z + r, the quotient, the product
            # The ratio falls to p for r > 1 and rises to p for r < 1.
            largest_ratio_above=lambda z: ratio(z) if r >= 1.0 else arb(p),
            mode=int(max(r - 1.0, 0.0) * (p / (1.0 - p))),
        )
        return window(f"negative_binomial(shape={r!r}, p={p!r})", f, tail, max_atoms)


def poisson(mean: float, tail: float = DEFAULT_TAIL, *, max_atoms: int = DEFAULT_MAX_ATOMS) -> IntegerLaw:
    """Return Poisson(mean), pmf `e^-mean mean^k / k!`, mean in [0, 2^52]."""
    mean = check_real("mean", mean, low=0.0, high=EXACT / 2)
    if mean == 0.0:
        return point_mass(0)
    with ctx.workprec(_BITS):
        log_mean = arb(mean).log()
        f = UnimodalPmf(
            log_pmf=lambda k: k * log_mean - mean - (k + 1).lgamma(),
            ratio=lambda k: mean / (k + 1),
            blocks_of_ratios=lambda first, offsets: mean / (first[:, None] + offsets + 1),
            roundings=1,
            largest_ratio_above=lambda k: mean / (k + 1),
            mode=int(mean),
        )
        return window(f"poisson(mean={mean!r})", f, tail, max_atoms)


def discrete_laplace(epsilon: float, tail: float = DEFAULT_TAIL, *, max_atoms: int = DEFAULT_MAX_ATOMS) -> IntegerLaw:
    """Return the discrete Laplace law, pmf `tanh(epsilon/2) e^(-epsilon |z|)` on all integers.

    Epsilon, in [2^-53, 2^53], is the privacy loss, in nats, that it gives to a sum of sensitivity 1.
    """
    epsilon = check_real("epsilon", epsilon, low=1 / EXACT, high=EXACT)
    with ctx.workprec(_BITS):
        decay, log_zero = (-arb(epsilon)).exp(), (arb(epsilon) / 2).tanh().log()
        f = UnimodalPmf(
            log_pmf=lambda z: log_zero - epsilon * z,
            ratio=lambda z: decay,
            blocks_of_ratios=lambda first, offsets: np.full((first.size, offsets.size), float(decay)),
            roundings=2,
            largest_ratio_above=lambda z: decay,
            mode=0,
        )
        return window(f"discrete_laplace(epsilon={epsilon!r})", f, tail, max_atoms, mirrored=True)


def _theta(t: arb) -> arb:
    """Return `sum over all integers z of e^(-pi t z^2)` = t^(-1/2) theta(1/t), by the side that converges fast."""
    if t < 1:
        return (1 / t).sqrt() * _theta(1 / t)
    terms = math.isqrt(ctx.prec) + 1
    q = (-arb.pi() * t).exp()
    series = sum((q ** (z * z) for z in range(1, terms + 1)), arb(0))
    rest = q ** ((terms + 1) ** 2) / (1 - q)
    return 1 + 2 * series + (2 * rest).union(arb(0))


def discrete_gaussian(
    sigma: float, tail: float = DEFAULT_TAIL, *, max_atoms: int = DEFAULT_MAX_ATOMS, beyond: int = 0
) -> IntegerLaw:
    """Return the discrete Gaussian law, pmf proportional to `e^(-z^2 / (2 sigma^2))` on all integers.

    Sigma, in [2^-26, 2^26], is the standard deviation unless it is small. So many atoms beyond either end are listed,
    too.
    """
    sigma = check_real("sigma", sigma, low=2.0**-26, high=2.0**26)
    with ctx.workprec(_BITS):
        half_rate = 1 / (2 * arb(sigma) ** 2)
        log_zero = -_theta(half_rate / arb.pi()).log()

        def ratio(z: arb) -> arb:
            return (-(2 * z + 1) * half_rate).exp()

        def blocks_of_ratios(first: NDArray[np.float64], offsets: NDArray[np.float64]) -> NDArray[np.float64]:
            at_first = np.array([float(ratio(arb(z))) for z in first])
            decay = np.array([float((-2 * arb(j) * half_rate).exp()) for j in offsets])
            return np.asarray(np.outer(at_first, decay))

        f = UnimodalPmf(
            log_pmf=lambda z: log_zero - z * z * half_rate,
            ratio=ratio,
            blocks_of_ratios=blocks_of_ratios,
            roundings=5,  # two for each exponential, one for their product
            largest_ratio_above=ratio,
            mode=0,
        )
        return window(f"discrete_gaussian(sigma={sigma!r})", f, tail, max_atoms, mirrored=True, beyond=beyond)


def skellam(
    sigma: float, tail: float = DEFAULT_TAIL, *, max_atoms: int = DEFAULT_MAX_ATOMS, beyond: int = 0
) -> IntegerLaw:
    """Return the law of the difference of two Poisson numbers of mean sigma^2 / 2, pmf `e^-v I_z(v)`, v = sigma^2.

    Sigma, in [2^-26, 2^26], is the standard deviation. So many atoms beyond either end are listed, too. The ratios
    `r_k = f(k+1)/f(k)` come down from the last one by `r_(k-1) = 1 / (2k/v + r_k)`, in which errors shrink.
    """
    sigma = check_real("sigma", sigma, low=2.0**-26, high=2.0**26)
    check_real("tail", tail, low=SMALLEST_TAIL, high=0.5)
    name, variance = f"skellam(sigma={sigma!r})", sigma * sigma

    def log_tail(k: int) -> float:
        """Return Chernoff's bound on ln P(Z >= k): `v (cosh t - 1) - t k` at its best t."""
        tilt = math.asinh(k / variance)
        return 2.0 * variance * math.sinh(0.5 * tilt) ** 2 - tilt * k

    end = least_integer(lambda k: log_tail(k) <= math.log(tail) - 1e-6, 0, 2**62)
    stop = end + beyond
    check_window(name, 2 * stop - 1, stop, max_atoms, tail)
    with ctx.workprec(_BITS):
        v, tilt = arb(sigma) ** 2, arb(math.asinh(stop / variance))
        ratios = [v.bessel_i(arb(stop), scaled=True) / v.bessel_i(arb(stop - 1), scaled=True)]
        for k in range(stop - 1, 0, -1):
            ratios.append(1 / (2 * k / v + ratios[-1]))
        masses = list(itertools.accumulate(reversed(ratios), operator.mul, initial=v.bessel_i(arb(0), scaled=True)))
        # Ratios fall: a geometric series bounds what is left, and Chernoff's bound where that is of no use.
        above = min(upper_float(masses[-1] / (1 - ratios[0])), upper_float((v * (tilt.cosh() - 1) - tilt * stop).exp()))
        pmf = np.array([float(mass) for mass in masses[:-1]])
        error = upper_float(arb(masses[-2].rad()) / masses[-2])  # relative radii grow with k
    check_atoms(name, float(pmf[-1]), tail)
    return IntegerLaw(1 - stop, np.concatenate((pmf[:0:-1], pmf)), error + 2.0 * UNIT, above, above)
