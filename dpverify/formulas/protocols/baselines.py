"""Closed forms for the baselines: central discrete Laplace and Gaussian noise, and local randomized response."""

from __future__ import annotations

from typing import Any

from dpverify.formulas.contexts import Context
from dpverify.formulas.ranges import ranges

__all__ = ["discrete_gaussian_sigma", "discrete_laplace_p", "local_flip_probability"]


@ranges(epsilon0="(0, inf)")
def discrete_laplace_p(ctx: Context, epsilon0: Any) -> Any:
    """Return p = e^-eps0, at which discrete Laplace noise is eps0-DP (ghosh2012)."""
    return ctx.exp(-epsilon0)


@ranges(epsilon0="(0, inf)")
def local_flip_probability(ctx: Context, epsilon0: Any) -> Any:
    """Return 1 / (1 + e^eps0), the flip probability of eps0-locally private randomized response (warner1965)."""
    return 1 / (1 + ctx.exp(epsilon0))


@ranges(epsilon0="(0, inf)", delta0="(0, 1)")
def discrete_gaussian_sigma(ctx: Context, epsilon0: Any, delta0: Any) -> Any:
    """Return a sigma at which discrete Gaussian noise is (eps0, delta0)-DP, through zero-concentrated privacy.

    It is rho-zCDP with rho = 1/(2 sigma^2) (canonne2020, Theorem 4), and that is (rho + 2 sqrt(rho L), delta0)-DP with
    L = ln(1/delta0) (bun2016, Proposition 1.3); the epsilon is eps0 at `sqrt(rho) = sqrt(L + eps0) - sqrt(L)`.
    """
    log_term = -ctx.log(delta0)
    # 1 / (sqrt(L + e) - sqrt(L)) = (sqrt(L + e) + sqrt(L)) / e, without cancellation.
    return (ctx.sqrt(log_term + epsilon0) + ctx.sqrt(log_term)) / (epsilon0 * ctx.sqrt(2))
