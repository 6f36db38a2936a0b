"""The expected excess `E[(Z_1 + ... + Z_n)+]` of independent copies of one discrete variable, at both ends.

With `M(s) = E[e^(s Z)]` and tilt > 0, `v(x) = e^(-tilt x) E[(W + x)+]` of the sum W has the Fourier integral

    v(x) = (1 / 2 pi) int M(s)^n / s^2 e^(i theta x) d theta,    s = tilt + i theta.

**Quadrature.** By Poisson's formula the sum over nodes theta = k h, times h / 2 pi, is the sum of `v(j L)` over all
integers j, with L = 2 pi / h. All are >= 0 and one is `v(0)`, the excess: the quadrature is an upper bound. From it the
others are taken for the lower bound, `(w)+ <= e^(t w) / (e t)` at the tilt and at a larger one bounding them.

**Tail.** An independent normal variable of standard deviation kappa is added to W: by Jensen's inequality the excess
only grows, and every node has the factor `e^(kappa^2 s^2 / 2)`, so that the sum ends. What the excess grows by is
`E[psi(W)]` with `psi(w) = kappa (phi(t) - t (1 - Phi(t)))`, t = |w| / kappa, at most `kappa phi(w / kappa)`: kappa^2
times the density of W plus the normal variable at 0. The same nodes, without the factor 1 / s^2, bound that from above.

**Rounding.** Weights and values come with their errors; these and those of the arithmetic move `ln M` by at most `e`,
evaluated at each node, and the node by the factor `e^(n e)`. No error is relative to the sum of moduli before tilting,
so that an excess of 1e-100 is as accurate as one of 0.1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.shuffling.few_counts import Values, counted_excess
from dpverify.rounding import SUBNORMAL, UNIT
from protocols.classes.frozen import dataclass

__all__ = ["Variable", "expected_excess"]

Floats = NDArray[np.float64]

_NEGLIGIBLE = 34.0
"""What is left out, or aliased, is about e^-34 of the excess."""
_MOST_SMOOTHING = 0.01
"""The largest kappa in units of 1 / tilt."""
_MOST_NODES = 2**22
_MOST_TERMS = 2**24
"""So many pairs of a node and a value, in about a second."""
_AT_ONCE = 2**13
_TOGETHER = 2**15
"""Pairs of a node and a value that are evaluated at once."""
_SHORTEST = 64
_APART = 0.05
"""How far M may move over a block of nodes whose contribution is bounded as a whole."""
_LONGEST = 1e5
_STEPS = (1.0, 0.5, 0.25, 0.125, 0.0625)
_STEEPEST = 300.0
"""The largest exponent of a single value."""
_MOST_SCALE = 3.0
"""Next to the saddle point M^n is at most about 1: where it is more, a few large values make the sum."""
_MOST_STEPS, _BALANCED = 60, 1e-4
"""Of the search for a tilt, and how near to its place it ends, relatively."""
_SMALLEST = 650.0
"""An excess below about e^-650 is bounded from above only."""


@dataclass(frozen=True, eq=False)
class Variable(Values):
    """A variable with its moments at real and complex arguments."""

    def log_mgf(self, tilt: float, copies: int) -> float:
        """Return an upper bound on `n ln E[e^(tilt Z)]`, above by its rounding; inf where a power overflows."""
        if tilt * float(self.values.max()) > _STEEPEST:
            return math.inf
        real = float(np.sum(self.weights * np.expm1(tilt * self.values)))
        size = abs(real) + real * real
        lack = self._error(tilt) * tilt * (1.0 + math.sqrt(size)) + 8.0 * UNIT * size
        relative = lack / min((1.0 + real) ** 2, 1.0)
        if relative > 0.25:
            logs, _, errors = self.nodes(tilt, np.zeros(1), np.zeros(1), copies)
            return float(logs[0] + errors[0])
        log = math.log1p(real)
        return copies * (log + 2.0 * relative + 8.0 * UNIT * abs(log))

    def _error(self, tilt: float) -> float:
        """Return a bound on the error of M at nodes of this real part, over the modulus of the node."""
        argument = tilt * self.values
        # Every part is at most `1.5 |s z| max(1, e^(tilt z))`; a power's argument may be off by a unit of itself.
        units = (self.values.size + 32.0 + 2.0 * np.abs(argument)) * UNIT
        parts = np.abs(self.values) * (2.0 * self.weight_error + 2.0 * units) + 2.0 * self.value_errors
        return float(np.sum(self.weights * np.maximum(1.0, np.exp(argument)) * parts)) * (1.0 + 1e-9)

    def moments(self, tilt: float) -> tuple[float, float]:
        """Estimate mean and variance of the tilted law."""
        powers = self.weights * np.exp(np.minimum(tilt * self.values, _STEEPEST))
        total = 1.0 + float(np.sum(self.weights * np.expm1(np.minimum(tilt * self.values, _STEEPEST))))
        mean = float(np.sum(powers * self.values)) / total
        return mean, max(float(np.sum(powers * self.values**2)) / total - mean * mean, 0.0)

    def speed(self, tilt: float) -> float:
        """Return a bound on `|M'(s)|` over all s with real part `tilt`."""
        powers = np.exp(np.minimum(tilt * self.values, _STEEPEST))
        return float(np.sum(self.weights * np.abs(self.values) * powers)) * (1.0 + 1e-9)

    def nodes(self, tilt: float, firsts: Floats, steps: Floats, copies: int) -> tuple[Floats, Floats, Floats]:
        """Return real and imaginary part of `n ln M` at nodes, and a bound on the error of both, shape (nodes,).

        Where the error bound is inf, only the real part is meant, and it is an upper bound. Cosines and sines of sums
        are made of those of the parts: no part is below 0, so that each term is small where the sum is.

        - firsts, steps: The nodes have the imaginary parts `firsts[:, None] + steps`, none of either below 0.
        """
        thetas, error = np.add.outer(firsts, steps).ravel(), self._error(tilt)
        grown = self.weights * np.exp(tilt * self.values)
        real: Floats = np.full((firsts.size, steps.size), float(np.sum(self.weights * np.expm1(tilt * self.values))))
        imaginary: Floats = np.zeros(real.shape)
        together = max(_TOGETHER // max(firsts.size + steps.size, 1), 1)
        for first in range(0, self.values.size, together):
            values, sizes = self.values[first : first + together], grown[first : first + together]
            far, near = np.multiply.outer(0.5 * firsts, values), np.multiply.outer(values, 0.5 * steps)
            half, other = np.sin(far), np.sin(near)
            sines, lacks = 2.0 * sizes * half * np.cos(far), -2.0 * sizes * half * half
            turned, lacking = 2.0 * other * np.cos(near), -2.0 * other * other
            real += lacks @ (1.0 + lacking) - sines @ turned + sizes @ lacking
            imaginary += sines @ (1.0 + lacking) + (sizes + lacks) @ turned
        real, imaginary = real.ravel(), imaginary.ravel()
        square = 2.0 * real + real * real + imaginary * imaginary
        distance2 = np.maximum(1.0 + square, 1e-300)
        size = np.abs(real) + real * real + imaginary * imaginary
        lack = error * np.hypot(tilt, thetas) * (1.0 + np.sqrt(size)) + 8.0 * UNIT * size
        # ln(1 + x) moves by at most twice |dx| / |1 + x| while that is at most 1/2; |1 + x| comes from its square.
        relative = lack / np.minimum(distance2, 1.0)
        lost = relative > 0.25
        logs = 0.5 * np.log1p(np.maximum(square, -1.0 + 1e-300))
        angles = np.arctan2(imaginary, 1.0 + real)
        errors = 2.0 * relative + 8.0 * UNIT * (np.abs(logs) + np.abs(angles))
        # There |M| is still at most its computed square and the error of that.
        logs = np.where(lost, 0.5 * np.log(distance2 + np.minimum(lack, 1e100) * (4.0 + np.minimum(lack, 1e100))), logs)
        return copies * logs, copies * angles, np.where(lost, np.inf, copies * errors)

    def largest_logs(self, tilt: float, thetas: Floats, copies: int) -> Floats:
        """Return upper bounds on the real part of `n ln M` at nodes with these imaginary parts, evenly spaced."""
        row = math.isqrt(thetas.size - 1) + 1
        parts = self.nodes(tilt, thetas[::row], thetas[:row] - thetas[0], copies)
        logs, _, errors = (part[: thetas.size] for part in parts)
        return logs + np.where(np.isfinite(errors), errors, 0.0)


@dataclass(frozen=True)
class _Contour:
    """Nodes at `spacing` times 0, ..., count - 1, the deviation of the normal variable, and `n ln M(tilt)`.

    At `tilt + further` Poisson's terms j <= -1 are bounded.
    """

    tilt: float
    further: float
    spacing: float
    count: int
    kappa: float
    scale: float

    @property
    def period(self) -> float:
        """The distance of the terms of Poisson's sum."""
        return 2.0 * math.pi / self.spacing * (1.0 - 4.0 * UNIT)

    def falloff(self, thetas: Floats) -> Floats:
        """Return the logarithm of the modulus of the normal variable's factor."""
        return np.asarray(0.5 * self.kappa * self.kappa * (self.tilt * self.tilt - thetas * thetas))


def _saddle(variable: Variable, copies: int) -> tuple[float, float]:
    """Return a tilt where the tilted mean is about 0, but not less than one over the deviation; and the deviation."""
    mean, variance = variable.moments(0.0)
    if not variance > 0.0:
        raise CapacityError("a sum of constants, but for rounding, is not evaluated.")
    deviation = math.sqrt(copies * variance)
    steepest = _STEEPEST / float(np.abs(variable.values).max())
    tilt = 0.0
    if mean < 0.0:
        tilt = _balanced(variable, min(-mean / variance, steepest), steepest)
    tilt = min(max(tilt, 1.0 / deviation), steepest)
    return tilt, math.sqrt(copies * variable.moments(tilt)[1])


def _balanced(variable: Variable, start: float, steepest: float) -> float:
    """Return about the tilt where the tilted mean, which grows with it, is 0, at most the steepest: Newton's steps."""
    low, high, tilt = 0.0, math.inf, start
    for _ in range(_MOST_STEPS):
        mean, variance = variable.moments(tilt)
        low, high = (tilt, high) if mean < 0.0 else (low, tilt)
        point = tilt - mean / variance if variance > 0.0 else math.inf
        if abs(point - tilt) <= _BALANCED * tilt or low >= steepest:
            break
        if not low < point < high:
            # Where large values are rare the mean grows as slowly as they become likely.
            point = 0.5 * (low + high) if high < math.inf else 2.0 * tilt
        tilt = min(point, steepest)
    return tilt


def _contour(variable: Variable, copies: int, smoothing: float) -> _Contour:
    tilt, deviation = _saddle(variable, copies)
    kappa = min(smoothing * deviation, _MOST_SMOOTHING / tilt)
    scale = variable.log_mgf(tilt, copies)
    excess = scale - math.log(2.5 * tilt * (1.0 + tilt * deviation))
    # What the terms j = 1 and j = -1 of Poisson's sum are bounded by, against about what is sought. The latter by a
    # tilt further out: twice, or less where large values are so rare that a larger tilt would make them common.
    ahead = _NEGLIGIBLE + max(scale, math.log(100.0 / tilt)) - excess
    periods = {
        step: (variable.log_mgf((1.0 + step) * tilt, copies) - math.log(math.e * tilt) - excess + _NEGLIGIBLE) / step
        for step in _STEPS
    }
    further = min(periods, key=lambda step: periods[step])
    period = max(ahead, periods[further])
    if not (kappa > 0.0 and period < _LONGEST and scale < _MOST_SCALE):
        raise CapacityError("a sum of independent variables that hardly spreads at all is not evaluated.")
    spacing = 2.0 * math.pi * tilt / period
    count = math.ceil(math.sqrt(2.0 * _NEGLIGIBLE + (kappa * tilt) ** 2) / kappa / spacing) + 1
    if count > _MOST_NODES:
        raise CapacityError(f"{count} nodes of a contour are needed, but at most {_MOST_NODES} are computed.")
    return _Contour(tilt, further * tilt, spacing, count, kappa, scale)


@dataclass
class _Sums:
    """Sums over the nodes, in units of M(tilt)^n: the integrand, that of the density, and what each may be off by."""

    value: float = 0.0
    density: float = 0.0
    value_error: float = 0.0
    density_error: float = 0.0

    def bound(self, moduli: Floats, size2: Floats) -> None:
        """Add nodes of which only these moduli are known, as errors."""
        self.value_error += float(np.sum(moduli / size2)) * (1.0 + 1e-9)
        self.density_error += float(np.sum(moduli)) * (1.0 + 1e-9)

    def add(self, variable: Variable, copies: int, contour: _Contour, starts: Floats, within: Floats) -> None:
        """Add the nodes of the numbers `starts[:, None] + within`, but those beyond the last, both signs of theta."""
        index = np.add.outer(starts, within).ravel()
        tilt, spacing, there = contour.tilt, contour.spacing, index < contour.count
        logs, angles, errors = (
            part[there] for part in variable.nodes(tilt, spacing * starts, spacing * within, copies)
        )
        index = index[there]
        thetas = spacing * index
        exponents = logs - contour.scale + contour.falloff(thetas)
        angles += contour.kappa * contour.kappa * tilt * thetas
        moduli = np.exp(exponents) * np.where(index == 0, 1.0, 2.0)
        size2 = tilt * tilt + thetas * thetas
        known = np.isfinite(errors)
        self.bound(moduli[~known], size2[~known])
        logs, angles, errors, exponents, moduli, size2, thetas = (
            part[known] for part in (logs, angles, errors, exponents, moduli, size2, thetas)
        )
        cosine = np.cos(angles)
        # The real part of e^(i angle) / s^2, with 1 / s^2 = (tilt^2 - theta^2 - 2 i tilt theta) / |s|^4.
        turned = ((tilt * tilt - thetas * thetas) * cosine + 2.0 * tilt * thetas * np.sin(angles)) / size2
        self.value += float(np.sum(moduli / size2 * turned))
        self.density += float(np.sum(moduli * cosine))
        units = 128.0 + 4.0 * (np.abs(exponents) + np.abs(logs) + abs(contour.scale) + np.abs(angles))
        spread = np.minimum(np.expm1(np.minimum(errors + UNIT * units, 1.0)), 2.0)
        self.value_error += float(np.sum(moduli / size2 * spread)) * (1.0 + 1e-9)
        self.density_error += float(np.sum(moduli * spread)) * (1.0 + 1e-9)


def _summed(variable: Variable, copies: int, contour: _Contour) -> _Sums:
    """Sum over the nodes. A block over which |M|^n is negligible is told by its middle and the speed of M."""
    sums = _Sums()
    speed = variable.speed(contour.tilt)
    block = min(max(int(_APART / (speed * contour.spacing)), _SHORTEST), contour.count)
    starts = np.arange(0, contour.count, block, dtype=np.float64)
    middles = contour.spacing * (starts + 0.5 * block)
    logs = variable.largest_logs(contour.tilt, middles, copies)
    reach = 0.5 * block * contour.spacing * speed * (1.0 + 1e-9)
    moduli = np.exp(logs / copies)
    largest = copies * (np.log(moduli + reach) + 8.0 * UNIT)
    firsts = contour.spacing * starts
    most = largest - contour.scale + contour.falloff(firsts)
    negligible = (most < -2.0 * _NEGLIGIBLE) & (starts > 0) & (largest < 0.0)
    sums.bound(2.0 * block * np.exp(most[negligible]), contour.tilt**2 + firsts[negligible] ** 2)
    terms = int((~negligible).sum()) * block * variable.values.size
    if terms > _MOST_TERMS:
        raise CapacityError(f"{terms} terms of a contour are needed, but at most {_MOST_TERMS} are computed.")
    kept, within = starts[~negligible], np.arange(block, dtype=np.float64)
    together = max(_AT_ONCE // block, 1)
    for first in range(0, kept.size, together):
        sums.add(variable, copies, contour, kept[first : first + together], within)
    return sums


def expected_excess(variable: Variable, copies: int, *, smoothing: float = 3e-4) -> Interval:
    """Return `E[(Z_1 + ... + Z_n)+]` for n independent copies.

    - variable: The law of one of them.
    - copies: n in [1, 2^53].
    - smoothing: kappa in standard deviations of the tilted sum: the relative width is about its square times the square
      of `tilt * deviation`, and the number of nodes about the inverse of their product.

    Raises CapacityError if the sum would need too many nodes, as where it is nearly a constant.
    """
    if float(np.max(variable.values + variable.value_errors)) <= 0.0:
        return Interval(0.0, 0.0)
    if (few := counted_excess(variable, copies)) is not None:
        return few
    contour = _contour(variable, copies, smoothing)
    tilt, kappa = contour.tilt, contour.kappa
    factor = math.exp(max(contour.scale, -_SMALLEST))
    growth = math.exp(0.5 * (kappa * tilt) ** 2)
    if contour.scale < -_SMALLEST:
        return Interval(0.0, factor / (math.e * tilt) * (1.0 + 1e-9) + SUBNORMAL)
    sums = _summed(variable, copies, contour)
    measure = contour.spacing / (2.0 * math.pi)
    last = contour.spacing * contour.count * (1.0 - 4.0 * UNIT)
    beyond = math.exp(float(contour.falloff(np.array([last]))[0])) * (1.0 + 1e-6)
    # Both signs of theta; a sum of a falling function is at most its first term and the integral from there.
    sums.value_error += 2.0 * beyond / last * (1.0 / last + 1.0 / contour.spacing)
    sums.density_error += 2.0 * beyond * (1.0 + 1.0 / (contour.spacing * kappa * kappa * last))
    upper = measure * (sums.value + sums.value_error)
    bump = kappa * kappa * measure * (sums.density + sums.density_error)
    # Poisson's terms j >= 1 and j <= -1, at x = jL: the former at most `e^(-tilt j L) (j L + excess)`, the latter, at
    # the tilt t further out, `e^(-(t - tilt) |j| L) M(t)^n / (e t)`: geometric series, the first times j.
    decay = math.exp(-tilt * contour.period)
    ahead = decay / (1.0 - decay) ** 2 * (contour.period / factor + growth / (math.e * tilt))
    out = tilt + contour.further
    behind = variable.log_mgf(out, copies) - contour.scale + 0.5 * (kappa * out) ** 2 - contour.further * contour.period
    behind = math.exp(behind) / (math.e * out) / -math.expm1(-contour.further * contour.period)
    lower = measure * (sums.value - sums.value_error) - (bump + ahead + behind) * (1.0 + 1e-6)
    slack = 64.0 * UNIT
    return Interval.proved(max(lower, 0.0) * factor * (1.0 - slack), upper * factor * (1.0 + slack) + SUBNORMAL)
