"""The density estimator that `dpverify account kde` is of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from dpverify.cli.options import choice, integer, number
from dpverify.cli.output import Users
from dpverify.cli.plans.shared import kernels

_BITS = 1024
_MOST_ENTRIES = 2**26

if TYPE_CHECKING:
    from protocols.kde import KernelDensityProtocol

__all__ = ["kernel_density"]


def kernel_density(
    users: Users,
    kernel: Annotated[str, choice(known=kernels, help="inner-product, gaussian, laplacian or exponential.")],
    dimension: Annotated[int, integer(within="[1, inf)", help="d, of the points.")],
    flip_probability: Annotated[float, number(within="(0, 1/2)", help="p of randomized response, in {}.")],
    bits: Annotated[
        int | None,
        integer(
            "--bits", within="[2, inf)", help="How many features; by default d, or 1024 but for the inner product."
        ),
    ] = None,
    reach: Annotated[
        float | None,
        number(
            "--range",
            within="(0, inf)",
            help="R, for the inner product: larger features are clipped; by default 2/sqrt(d).",
        ),
    ] = None,
    bandwidth: Annotated[
        float | None, number("--bandwidth", within="[1e-100, 1e100]", help="Of the other kernels; by default 1.")
    ] = None,
) -> KernelDensityProtocol:
    """Kernel density estimation by randomized response, with the features that plan --kernel chooses from.

    Points of norm 1 at most, rotated, for the inner product; Fourier pairs for gaussian; signs of hashed cells for
    laplacian and exponential. An instance is a whole run. What replacing one point changes is bounded together.
    """
    from dpverify.planning.kernels.rungs import drawn, features_of, has_bandwidth
    from protocols.bitsum import RandomizedResponse
    from protocols.kde import KernelDensityProtocol
    from protocols.lsq import LinearMap, LSQFamily

    ranged = kernel == "inner-product"
    for name, value, own in (("--bandwidth", bandwidth, has_bandwidth(kernel)), ("--range", reach, ranged)):
        if value is not None and not own:
            raise ValueError(f"{name}={value} must be omitted for the kernel {kernel}, which has none.")
    if dimension * max(dimension, bits or _BITS) > _MOST_ENTRIES:
        raise ValueError(
            f"--dimension={dimension} with --bits={bits or _BITS} must be smaller: maps of more than 2^26 "
            "entries are not drawn."
        )
    if ranged:
        limit = 2.0 / math.sqrt(dimension) if reach is None else reach
        chosen: tuple[LSQFamily, int] = LinearMap(dimension, "haar", limit, bits or dimension, radius=1.0), 1
    else:
        chosen = features_of(kernel, dimension, 1.0 if bandwidth is None else bandwidth, bits or _BITS, name="--bits")
    return KernelDensityProtocol(RandomizedResponse(users, flip_probability), drawn(*chosen))
