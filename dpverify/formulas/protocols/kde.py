"""Error bounds for kernel density estimation from bitsums: wagner2025, Theorem 3.2 and its variants (A.1.7).

For a beta-approximate (Q, R, S) family, I instances, n users and bitsums of RMSE E. All bounds are for queries y whose
g(y) keeps to Definition 2.1: at most S non-zero coordinates, each in [-R, R].
"""

from __future__ import annotations

from typing import Any

from dpverify.formulas.contexts import Context, check_range, whole

__all__ = ["absolute_error_bound", "biased_rmse_bound", "published_rmse_bound", "rmse_bound"]


def _terms(ctx: Context, beta: Any, R: Any, S: int, instances: int, error: Any, n: Any) -> tuple[Any, Any, Any]:
    """Return beta, R^2 S and E/n as checked numbers."""
    whole("S", S, low=1)
    whole("instances", instances, low=1)
    beta = check_range("beta", ctx.convert(beta), low=0)
    R = check_range("R", ctx.convert(R), low=0, low_open=True)
    relative = check_range("error", ctx.convert(error), low=0) / check_range("n", ctx.convert(n), low=1)
    return beta, R * R * S, relative


def published_rmse_bound(ctx: Context, beta: Any, R: Any, S: int, instances: int, error: Any, n: Any) -> Any:
    """Return `sqrt(4 beta^2 + 16 R^4 S (S + (E/n)^2) / I)`, the supRMSE of wagner2025, Theorem 3.2.

    Parameters
    ----------
    ctx : Context
        The number system.
    beta, R : number
        The family's approximation error, at least 0, and range, positive.
    S, instances : int
        The family's sparsity and the number of instances, at least 1.
    error : number
        E, the bitsum's RMSE in users, at least 0.
    n : int
        The number of users, at least 1.

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    beta, product, relative = _terms(ctx, beta, R, S, instances, error, n)
    return ctx.sqrt(4 * beta**2 + 16 * product**2 * (1 + relative**2 / S) / instances)


def rmse_bound(ctx: Context, beta: Any, R: Any, S: int, instances: int, error: Any, n: Any) -> Any:
    """Return `sqrt(beta^2 + R^4 S (S + 4 (E/n)^2) / I)`, which holds wherever Theorem 3.2 does and is smaller.

    The error is a sum of the bias, at most beta, of the mean of I independent terms of variance at most
    `E[(fbar . g)^2] <= (R^2 S)^2`, and of the bitsums' errors, of mean 0 given all else: so it needs no factor 2 for
    a square of sums. Parameters and errors are those of `published_rmse_bound`.
    """
    beta, product, relative = _terms(ctx, beta, R, S, instances, error, n)
    return ctx.sqrt(beta**2 + product**2 * (1 + 4 * relative**2 / S) / instances)


def biased_rmse_bound(
    ctx: Context, beta: Any, R: Any, S: int, instances: int, error: Any, n: Any, bitsum_bias: Any
) -> Any:
    """Return `sqrt((beta + 2 R^2 S b/n)^2 + (R^2 S (1 + 2E/n))^2 / I)`, for bitsums of bias at most b.

    wagner2025, A.1.7, third variant, says that such a supRMSE bound exists. Averaging over the instances does not
    shrink the bias; E is the RMSE with the bias in it. The other parameters and the errors are those of
    `published_rmse_bound`.
    """
    beta, product, relative = _terms(ctx, beta, R, S, instances, error, n)
    shift = 2 * product * check_range("bitsum_bias", ctx.convert(bitsum_bias), low=0) / n
    return ctx.sqrt((beta + shift) ** 2 + (product * (1 + 2 * relative)) ** 2 / instances)


def absolute_error_bound(ctx: Context, beta: Any, R: Any, S: int, instances: int, error: Any, n: Any) -> Any:
    """Return `beta + R^2 S / sqrt(I) + 2 R^2 S E/n`, a bound on the largest mean absolute error.

    Here E is the bitsum's mean *absolute* error (wagner2025, A.1.7, first variant). Without a variance the bitsums'
    errors need not shrink when they are averaged over the instances: rare large errors keep their mean. The parameters
    and errors are otherwise those of `published_rmse_bound`.
    """
    beta, product, relative = _terms(ctx, beta, R, S, instances, error, n)
    return beta + product / ctx.sqrt(ctx.convert(instances)) + 2 * product * relative
