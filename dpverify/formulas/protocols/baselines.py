"""Closed forms for the baselines: central discrete Laplace and Gaussian noise, and local randomized response."""

from __future__ import annotations

from typing import Any

from dpverify.formulas.contexts import Context, check_range

__all__ = ["discrete_gaussian_sigma", "discrete_laplace_p", "local_flip_probability"]


def _epsilon0(ctx: Context, epsilon0: Any) -> Any:
    return check_range("epsilon0", ctx.convert(epsilon0), low=0, low_open=True)


def discrete_laplace_p(ctx: Context, epsilon0: Any) -> Any:
    """Return p = e^-eps0, at which discrete Laplace noise is eps0-DP (ghosh2012).

    Parameters
    ----------
    ctx : Context
        The number system.
    epsilon0 : number
        Privacy parameter of one bitsum, positive, in nats.

    Raises
    ------
    FormulaRangeError
        If epsilon0 is not positive.
    """
    return ctx.exp(-_epsilon0(ctx, epsilon0))


def local_flip_probability(ctx: Context, epsilon0: Any) -> Any:
    """Return 1 / (1 + e^eps0), the flip probability of eps0-locally private randomized response (warner1965).

    Parameters
    ----------
    ctx : Context
        The number system.
    epsilon0 : number
        Privacy parameter of one report, positive, in nats.

    Raises
    ------
    FormulaRangeError
        If epsilon0 is not positive.
    """
    return 1 / (1 + ctx.exp(_epsilon0(ctx, epsilon0)))


def discrete_gaussian_sigma(ctx: Context, epsilon0: Any, delta0: Any) -> Any:
    """Return a sigma at which discrete Gaussian noise is (eps0, delta0)-DP, through zero-concentrated privacy.

    It is rho-zCDP with rho = 1/(2 sigma^2) (canonne2020, Theorem 4), and that is (rho + 2 sqrt(rho L), delta0)-DP with
    L = ln(1/delta0) (bun2016, Proposition 1.3); the epsilon is eps0 at `sqrt(rho) = sqrt(L + eps0) - sqrt(L)`.

    Parameters
    ----------
    ctx : Context
        The number system.
    epsilon0, delta0 : number
        Privacy parameters of one bitsum: epsilon0 > 0 in nats, delta0 in (0, 1).

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    epsilon0 = _epsilon0(ctx, epsilon0)
    delta0 = check_range("delta0", ctx.convert(delta0), low=0, high=1, low_open=True, high_open=True)
    log_term = -ctx.log(delta0)
    # 1 / (sqrt(L + e) - sqrt(L)) = (sqrt(L + e) + sqrt(L)) / e, without cancellation.
    return (ctx.sqrt(log_term + epsilon0) + ctx.sqrt(log_term)) / (epsilon0 * ctx.sqrt(2))
