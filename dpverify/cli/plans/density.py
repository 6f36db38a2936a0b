"""Density estimators: what `dpverify plan --kernel ...` does, and the protocol that `dpverify account kde` is of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dpverify.cli.options import choice, integer, number
from dpverify.cli.output import Users, print_result, write_files
from dpverify.cli.progress import told
from dpverify.guarantee import Budget, InfeasibleBudgetError

_BITS = 1024
_MOST_ENTRIES = 2**26

if TYPE_CHECKING:
    from dpverify.planning.kernels.least_densities import LeastDensities
    from protocols.kde import KernelDensityProtocol

__all__ = [
    "Bandwidth",
    "Dimension",
    "Kernel",
    "KernelOrNone",
    "check_kernel",
    "kernel_density",
    "kernels",
    "least_kernel",
    "plan_kernel",
]


def kernels() -> tuple[str, ...]:
    """Return the kernels that there are features for."""
    from dpverify.planning.kernels.density import KERNELS

    return KERNELS


Kernel = Annotated[str, choice(known=kernels, help="inner-product, gaussian, laplacian or exponential.")]

KernelOrNone = Annotated[
    str | None,
    choice("--kernel", known=kernels, help="Plan a density estimator for this kernel: features, range and bitsum."),
]
Dimension = Annotated[int | None, integer("--dimension", within="[1, inf)", help="d, of a kernel's points.")]
Bandwidth = Annotated[
    float | None, number("--bandwidth", within="[1e-100, 1e100]", help="Of a kernel, in the units of its points.")
]


def kernel_density(
    users: Users,
    kernel: Kernel,
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
    import numpy as np

    from protocols.bitsum import RandomizedResponse
    from protocols.kde import KernelDensityProtocol
    from protocols.lsq import ExponentialTessellation, FourierPairs, LaplacianBinning, LinearMap, LSQFamily

    for name, value, own in (("--bandwidth", bandwidth, False), ("--range", reach, True)):
        if value is not None and (kernel == "inner-product") is not own:
            raise ValueError(f"{name}={value} must be omitted for the kernel {kernel}, which has none.")
    if dimension * max(dimension, bits or _BITS) > _MOST_ENTRIES:
        raise ValueError(
            f"--dimension={dimension} with --bits={bits or _BITS} must be smaller: maps of more than 2^26 "
            "entries are not drawn."
        )
    family: LSQFamily
    width = 1.0 if bandwidth is None else bandwidth
    features = bits or (dimension if kernel == "inner-product" else _BITS)
    if kernel == "inner-product":
        limit = 2.0 / math.sqrt(dimension) if reach is None else reach
        family, draws = LinearMap(dimension, "haar", limit, features, radius=1.0), 1
    elif kernel == "gaussian":
        if features % 2:
            raise ValueError(f"--bits={features} must be even for the kernel gaussian, whose features come in pairs.")
        family, draws = FourierPairs(dimension, width), features // 2
    else:
        hashed = LaplacianBinning if kernel == "laplacian" else ExponentialTessellation
        family, draws = hashed(dimension, width, 1, True), features
    drawn = family.sample(draws, np.random.default_rng(0))
    return KernelDensityProtocol(RandomizedResponse(users, flip_probability), drawn)


def check_kernel(kernel: str | None, dimension: int | None, *, alone: dict[str, bool], chosen: dict[str, bool]) -> None:
    """Check that options fit to whether there is a kernel.

    Parameters
    ----------
    kernel, dimension : str, int or None
        As given.
    alone, chosen : dict of str to bool
        Which options are there, of those that only a kernel has, and of those that it chooses.
    """
    for name in (name for name in (alone if kernel is None else chosen) if (chosen | alone)[name]):
        raise ValueError(
            f"{name} must be omitted " + ("without --kernel." if kernel is None else "with --kernel, which chooses it.")
        )
    if kernel is None and not chosen["--instances"]:
        raise ValueError("one of the options '--instances' and '--kernel' must be given.")
    if kernel is not None and dimension is None:
        raise ValueError("--dimension must be given with --kernel.")


def plan_kernel(
    kernel: str,
    dimension: int,
    budgets: Sequence[Budget],
    *,
    users: Sequence[int],
    bandwidth: float,
    bitsums: Sequence[str],
    max_messages: float | None,
    honest: str | None,
    every_rung: bool,
    plot: Path | None,
    as_csv: Path | None,
) -> None:
    """Print the front of error against messages; for several budgets or numbers of users, all of them in one table."""
    from dpverify.planning.kernels.densities import plan_densities

    with told("plans") as progress:
        grid = plan_densities(
            kernel,
            dimension,
            budgets,
            users=users,
            bandwidth=bandwidth,
            bitsums=bitsums,
            max_messages_per_user=max_messages,
            honest=honest,
            every_rung=every_rung,
            progress=progress,
        )
    if not grid.plans:
        print_result(grid.to_dict())  # as for plans of sums
        raise InfeasibleBudgetError("\n".join(dict.fromkeys(one.error for one in grid.failures)))
    if len(grid.entries) == 1:
        (found,) = grid.plans
        print_result(found)
        write_files(plot, as_csv, found)
        return
    print_result(grid)
    write_files(plot, as_csv, grid)


def least_kernel(
    find: Callable[..., LeastDensities],
    *given: object,
    plot: Path | None,
    as_csv: Path | None,
    **options: object,
) -> None:
    """Print the least users or epsilon for an error of a density.

    Parameters
    ----------
    find : callable
        One of `dpverify.planning.kernels.least_density`.
    *given, **options
        What it takes.
    plot, as_csv
        As typed.
    """
    with told("answers") as progress:
        found = find(*given, progress=progress, **options)
    if not found.rows:
        print_result(found.to_dict())
        raise InfeasibleBudgetError("\n".join(found.failures))
    print_result(found)
    write_files(plot, as_csv, found)
