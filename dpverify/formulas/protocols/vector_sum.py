"""Closed forms of scott2022 for the vector sum, as printed, and what their derivation should give.

Throughout: d coordinates in [0, 1], of which each of n users reports t; rounding to the k + 1 values {0, ..., k}/k; a
report is uniformly random with probability gamma. `L = log(1/delta)` and `L2 = log(2t/delta)`.
"""

from __future__ import annotations

from typing import Any

from dpverify.formulas import FormulaRangeError, Hypothesis
from dpverify.formulas.contexts import Context, Whole, check_range, is_symbolic, larger, less, shown, smaller
from dpverify.formulas.ranges import ranges

__all__ = [
    "HYPOTHESES",
    "balancing_levels",
    "gamma_refined",
    "gamma_theorem",
    "levels_refined",
    "levels_theorem",
    "mse_refined",
    "mse_theorem",
    "report_variance_bound",
    "standard_deviation",
]


_SIZES = {"epsilon": "(0, 6)", "delta": "(0, 1]", "d": "[1, inf)", "n": "[2, inf)"}


def _small(ctx: Context, epsilon: Any) -> bool:
    """Return whether the branch for epsilon < 1 applies."""
    return less(epsilon, ctx.convert(1))


def _check_sampled(d: Any, t: Any) -> None:
    if not (is_symbolic(d) or is_symbolic(t)) and less(d, t):
        raise FormulaRangeError(f"t={shown(t)} must be in [1, d], and d={shown(d)}.")


def _logs(ctx: Context, delta: Any, t: Any) -> Any:
    return ctx.log(1 / delta) * ctx.log(2 * t / delta)


@ranges(**_SIZES, k="(0, inf)", t="[1, inf)")
def gamma_theorem(ctx: Context, epsilon: Any, delta: Any, d: Whole, k: Whole, n: Whole, t: Whole) -> Any:
    """Return gamma of scott2022, Theorem 4.1: `56 d k L L2 / ((n-1) eps^2)`, with 2016 for 1 <= eps < 6.

    Where it exceeds 1 the formula gives no protocol: FormulaRangeError, too.
    """
    _check_sampled(d, t)
    constant = 56 if _small(ctx, epsilon) else 2016
    return check_range("gamma", constant * d * k * _logs(ctx, delta, t) / ((n - 1) * epsilon**2), low=0, high=1)


@ranges(**_SIZES, k="(0, inf)")
def gamma_refined(ctx: Context, epsilon: Any, delta: Any, d: Whole, k: Whole, n: Whole) -> Any:
    """Return gamma of scott2022, section 4.5, for t = 1.

    `max(14 d k log(2/delta) / ((n-1) eps^2), 27 d k / ((n-1) eps))` for eps < 1, and
    `max(80 d k log(2/delta) / ((n-1) eps^2), 36 d k / (11 (n-1) eps))` for 1 <= eps < 6. Parameters as in
    `gamma_theorem`.
    """
    unit = d * k / ((n - 1) * epsilon)
    if _small(ctx, epsilon):
        first, second = 14 * unit * ctx.log(2 / delta) / epsilon, 27 * unit
    else:
        first, second = 80 * unit * ctx.log(2 / delta) / epsilon, 36 * unit / 11
    return check_range("gamma", larger(ctx, first, second), low=0, high=1)


@ranges(k="(0, inf)", gamma="[0, 1]")
def report_variance_bound(ctx: Context, k: Whole, gamma: Any) -> Any:
    """Return `(1-gamma)/(4 k^2) + gamma/2`, the bound on Var(y/k) in the proof of Theorem 4.6.

    The exact variance is `(1-gamma) r/k^2 + gamma (k+2)/(12k) + gamma (1-gamma) (x - 1/2)^2` with
    `r = frac(kx) (1 - frac(kx)) <= 1/4`; as `(k+2)/(12k) <= 1/4`, the bound holds.
    """
    return (1 - gamma) / (4 * k**2) + gamma / 2


@ranges(**_SIZES, t="[1, inf)")
def levels_theorem(ctx: Context, epsilon: Any, delta: Any, d: Whole, n: Whole, t: Whole) -> Any:
    """Return k as printed in the proof of Theorem 4.6: `(n-1) eps^2 / (4 A d L L2)`, A = 28 or 1008; no integer.

    The cube root is missing (see `balancing_levels`).
    """
    _check_sampled(d, t)
    logs = check_range("log(1/delta) log(2t/delta)", _logs(ctx, delta, t), low=0, low_open=True)
    constant = 28 if _small(ctx, epsilon) else 1008
    return (n - 1) * epsilon**2 / (4 * constant * d * logs)


@ranges(slope="(0, inf)")
def balancing_levels(ctx: Context, slope: Any) -> Any:
    """Return the k at which `1/(4 k^2)` and `slope k` are equal, `(4 slope)^(-1/3)`: what scott2022 uses.

    It gives `(4 slope)^(2/3) / 2`. The minimum of the sum is at `(2 slope)^(-1/3)`, and smaller by 5.5 %:
    `3 (2 slope)^(2/3) / 4`.
    """
    return _power(ctx, 4 * slope, -1, 3)


def _power(ctx: Context, base: Any, numerator: int, denominator: int) -> Any:
    return ctx.exp(ctx.log(base) * numerator / denominator)


@ranges(**_SIZES)
def levels_refined(ctx: Context, epsilon: Any, delta: Any, d: Whole, n: Whole) -> Any:
    """Return k of scott2022, section 4.5 (no integer): the smaller of two cube roots."""
    unit = n * epsilon / d
    if _small(ctx, epsilon):
        first, second = unit * epsilon / (28 * ctx.log(2 / delta)), unit / 54
    else:
        first, second = unit * epsilon / (160 * ctx.log(2 / delta)), 11 * unit / 72
    return _power(ctx, smaller(ctx, first, second), 1, 3)


@ranges(**_SIZES, t="[1, inf)", gamma="[0, 1)")
def mse_theorem(ctx: Context, epsilon: Any, delta: Any, d: Whole, n: Whole, t: Whole, gamma: Any) -> Any:
    """Return the normalised mean squared error of scott2022, Theorem 4.6, at the gamma that is used.

    `2 t d^(8/3) (14 L L2)^(2/3) / ((1-gamma)^2 n^(5/3) eps^(4/3))`, with 8 and 63 for 1 <= eps < 6: the sum over the
    coordinates, in units of (n/d)^2. It leaves out the error of sampling coordinates.
    """
    _check_sampled(d, t)
    front, inner = (2, 14) if _small(ctx, epsilon) else (8, 63)
    logs = check_range("log(1/delta) log(2t/delta)", _logs(ctx, delta, t), low=0, low_open=True)
    growth = _power(ctx, d**8 * (inner * logs) ** 2 / (n**5 * epsilon**4), 1, 3)
    return front * t * growth / (1 - gamma) ** 2


@ranges(**_SIZES, gamma="[0, 1)")
def mse_refined(ctx: Context, epsilon: Any, delta: Any, d: Whole, n: Whole, gamma: Any) -> Any:
    """Return the normalised mean squared error of scott2022, section 4.5, for t = 1, as `mse_theorem` does."""
    growth = d**8 / n**5
    log = ctx.log(2 / delta)
    if _small(ctx, epsilon):
        first = _power(ctx, 98 * growth * log**2 / epsilon**4, 1, 3)
        second = 18 * _power(ctx, growth / (4 * epsilon) ** 2, 1, 3)
    else:
        first = 2 * _power(ctx, growth * (20 * log) ** 2 / epsilon**4, 1, 3)
        second = 2 * _power(ctx, 81 * growth / (11 * epsilon) ** 2, 1, 3)
    return larger(ctx, first, second) / (1 - gamma) ** 2


@ranges(mse="[0, inf)")
def standard_deviation(ctx: Context, mse: Any) -> Any:
    """Return the root of a mean squared error: Corollary 4.7 from Theorem 4.6, and its refinement from section 4.5."""
    return ctx.sqrt(mse)


HYPOTHESES: tuple[Hypothesis, ...] = (
    Hypothesis(
        "epsilon-below-six", "0 < epsilon < 6 (scott2022, Theorem 4.1).", lambda epsilon, delta, t: 0 < epsilon < 6
    ),
    Hypothesis("delta-positive", "0 < delta <= 1 (scott2022, Theorem 4.1).", lambda epsilon, delta, t: 0 < delta <= 1),
)
"""The hypotheses that Theorem 4.1 states, as predicates of (epsilon, delta, t)."""
