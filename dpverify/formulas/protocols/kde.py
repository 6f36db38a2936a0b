"""Error bounds for kernel density estimation from bitsums: wagner2025, Theorem 3.2 and its variants (A.1.7).

For a beta-approximate (Q, R, S) family, I instances, n users and bitsums of RMSE E, in users. All bounds are for
queries y whose g(y) keeps to Definition 2.1: at most S non-zero coordinates, each in [-R, R].
"""

from __future__ import annotations

from typing import Any

from dpverify.formulas.contexts import Context
from dpverify.formulas.ranges import ranges

__all__ = ["absolute_error_bound", "biased_rmse_bound", "published_rmse_bound", "rmse_bound"]

_RANGES = {
    "beta": "[0, inf)",
    "R": "(0, inf)",
    "S": "[1, inf)",
    "instances": "[1, inf)",
    "error": "[0, inf)",
    "n": "[1, inf)",
}


@ranges(**_RANGES)
def published_rmse_bound(ctx: Context, beta: Any, R: Any, S: int, instances: int, error: Any, n: Any) -> Any:
    """Return `sqrt(4 beta^2 + 16 R^4 S (S + (E/n)^2) / I)`, the supRMSE of wagner2025, Theorem 3.2."""
    return ctx.sqrt(4 * beta**2 + 16 * (R * R * S) ** 2 * (1 + (error / n) ** 2 / S) / instances)


@ranges(**_RANGES)
def rmse_bound(ctx: Context, beta: Any, R: Any, S: int, instances: int, error: Any, n: Any) -> Any:
    """Return `sqrt(beta^2 + R^4 S (S + 4 (E/n)^2) / I)`, which holds wherever Theorem 3.2 does and is smaller.

    The error is a sum of the bias, at most beta, of the mean of I independent terms of variance at most
    `E[(fbar . g)^2] <= (R^2 S)^2`, and of the bitsums' errors, of mean 0 given all else: so it needs no factor 2 for
    a square of sums.
    """
    return ctx.sqrt(beta**2 + (R * R * S) ** 2 * (1 + 4 * (error / n) ** 2 / S) / instances)


@ranges(**_RANGES, bitsum_bias="[0, inf)")
def biased_rmse_bound(
    ctx: Context, beta: Any, R: Any, S: int, instances: int, error: Any, n: Any, bitsum_bias: Any
) -> Any:
    """Return `sqrt((beta + 2 R^2 S b/n)^2 + (R^2 S (1 + 2E/n))^2 / I)`, for bitsums of bias at most b.

    wagner2025, A.1.7, third variant, says that such a supRMSE bound exists. Averaging over the instances does not
    shrink the bias; E is the RMSE with the bias in it.
    """
    product = R * R * S
    return ctx.sqrt((beta + 2 * product * bitsum_bias / n) ** 2 + (product * (1 + 2 * (error / n))) ** 2 / instances)


@ranges(**_RANGES)
def absolute_error_bound(ctx: Context, beta: Any, R: Any, S: int, instances: int, error: Any, n: Any) -> Any:
    """Return `beta + R^2 S / sqrt(I) + 2 R^2 S E/n`, a bound on the largest mean absolute error.

    Here E is the bitsum's mean *absolute* error (wagner2025, A.1.7, first variant). Without a variance the bitsums'
    errors need not shrink when they are averaged over the instances: rare large errors keep their mean.
    """
    product = R * R * S
    return beta + product / ctx.sqrt(ctx.convert(instances)) + 2 * product * (error / n)
