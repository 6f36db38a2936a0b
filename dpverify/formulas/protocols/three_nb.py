"""Closed forms for 3NB: the parameters of wagner2025, Appendix A.2 (after ghazi2020), error and communication.

Totals over all users are stated: r = 1, Z1 and Z2 ~ NB(r, p), Z3 ~ NB(r', p'); each of n users draws with shape r / n
and r' / n. The source writes "log" without a base; the natural logarithm is assumed. It leaves the rate c in
`p' = exp(-c eps0 / (eps0 + ln(1/delta0)))` as Theta(1), and whether the protocol is (eps0, delta0)-DP hangs on it: c is
an argument here and has no default.
"""

from __future__ import annotations

from typing import Any

from dpverify.formulas.contexts import Context, check_range, larger, smaller
from dpverify.formulas.ranges import ranges

__all__ = [
    "expected_messages_per_user",
    "flood_exponent",
    "flood_p",
    "flood_shape",
    "noise_p",
    "rmse",
    "sufficient_flood_shape",
]


@ranges(epsilon0="(0, inf)")
def noise_p(ctx: Context, epsilon0: Any) -> Any:
    """Return p = exp(-0.99 eps0), the parameter of Z1 and Z2 (wagner2025, Appendix A.2)."""
    return ctx.exp(-99 * epsilon0 / 100)


@ranges(epsilon0="(0, inf)", delta0="(0, 1)")
def flood_shape(ctx: Context, epsilon0: Any, delta0: Any) -> Any:
    """Return r' = 3 (1 + ln(2 exp(0.99 eps0) / delta0)), the total shape of Z3 (wagner2025, Appendix A.2)."""
    return 3 * (1 + ctx.log(2 / delta0) + 99 * epsilon0 / 100)


@ranges(epsilon0="(0, inf)", delta0="(0, 1)", c="(0, inf)")
def flood_p(ctx: Context, epsilon0: Any, delta0: Any, c: Any) -> Any:
    """Return p' = exp(-c eps0 / (eps0 + ln(1/delta0))), the parameter of Z3 (wagner2025, Appendix A.2).

    A larger c sends fewer messages and hides less. At (0.0134, 6.5e-10), c = 0.2 is private, and 0.5 and 1 are not.
    """
    return ctx.exp(-c * epsilon0 / (epsilon0 + ctx.log(1 / delta0)))


@ranges(slack="(0, inf)", flood_p="(0, 1)")
def flood_exponent(ctx: Context, slack: Any, flood_p: Any) -> Any:
    """Return D, by which a flood's delta falls per unit of its shape: `delta <= (1-p) e^(-r' D)` (docs/floods.md).

    With gamma the slack, what epsilon is above the largest loss ln(1/p) of the noise, and `phi = gamma + ln(1/p')`:
    `D = ln((1 - e^-phi) / (1-p')) - gamma / (e^phi - 1)`.
    """
    phi = slack - ctx.log(flood_p)
    exponent = ctx.log1p(-ctx.expm1(-slack) * flood_p / (1 - flood_p)) + slack * ctx.exp(-phi) / ctx.expm1(-phi)
    # D is the integral from ln(1/p') to phi of (x - ln(1/p')) f(x), and f(x) = e^x / (e^x - 1)^2 falls: it is between
    # the values of gamma^2/2 f at both ends. If the slack is small, these are close, while the two terms above cancel.
    half = slack * slack / 2
    least, most = half * ctx.exp(-phi) / ctx.expm1(-phi) ** 2, half * flood_p / (1 - flood_p) ** 2
    return smaller(ctx, larger(ctx, exponent, least), most)


@ranges(epsilon0="(0, inf)", delta0="(0, 1)")
def sufficient_flood_shape(ctx: Context, epsilon0: Any, delta0: Any, slack: Any, flood_p: Any) -> Any:
    """Return `r' = max(1, ln((1-p) / delta0) / D)`, at which 3NB with r = 1 is (eps0, delta0)-DP (docs/floods.md).

    `p = e^(slack - eps0)` with the slack in (0, eps0), and D is `flood_exponent`. With `p' = e^(-slack / 2)`, which is
    in [p^2, 1) as it must be, it sends two to three times the least flood. For Pure, take `pure.undropped_epsilon` for
    eps0 and `delta0 / (1 - q e^eps0)` for delta0.
    """
    slack = check_range("slack", ctx.convert(slack), low=0, high=epsilon0, low_open=True, high_open=True)
    p = ctx.exp(slack - epsilon0)
    flood_p = check_range("flood_p", ctx.convert(flood_p), low=p * p, high=1, high_open=True)
    needed = ctx.log(-ctx.expm1(slack - epsilon0)) - ctx.log(delta0)
    exponent = check_range("flood_exponent", flood_exponent(ctx, slack, flood_p), low=0, low_open=True)
    return larger(ctx, needed / exponent, ctx.convert(1))


@ranges(p="[0, 1)", shape="(0, inf)")
def rmse(ctx: Context, p: Any, shape: Any = 1) -> Any:
    """Return the root mean squared error of 3NB's unbiased estimate, `sqrt(2 r p) / (1-p)`."""
    return ctx.sqrt(2 * shape * p) / (1 - p)


@ranges(n="[1, inf)", p="[0, 1)", flood_shape="(0, inf)", flood_p="[0, 1)", fraction_of_ones="[0, 1]", shape="(0, inf)")
def expected_messages_per_user(
    ctx: Context, n: Any, p: Any, flood_shape: Any, flood_p: Any, fraction_of_ones: Any, shape: Any = 1
) -> Any:
    """Return the mean number of messages per user, `fraction + (2 r p / (1-p) + 2 r' p' / (1-p')) / n`."""
    return fraction_of_ones + 2 * (shape * p / (1 - p) + flood_shape * flood_p / (1 - flood_p)) / n
