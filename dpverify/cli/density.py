"""What `dpverify plan --kernel ...` does: plans of density estimators."""

from __future__ import annotations

from collections.abc import Sequence

from dpverify.cli.output import print_result
from dpverify.guarantee import Budget

__all__ = ["plan_kernel"]


def plan_kernel(
    kernel: str,
    dimension: int | None,
    budget: Budget,
    *,
    users: int,
    bandwidth: float,
    bitsums: Sequence[str],
    max_messages: float | None,
    honest_fraction: str | None,
    as_json: bool,
) -> None:
    """Print the front of error against messages."""
    from dpverify.planning.density import plan_density
    from dpverify.report.densities import density_table

    if dimension is None:
        raise ValueError("--dimension must be given with --kernel.")
    found = plan_density(
        kernel,
        dimension,
        budget,
        users=users,
        bandwidth=bandwidth,
        bitsums=bitsums,
        max_messages_per_user=max_messages,
        honest_fraction=honest_fraction,
    )
    print_result(found.to_dict(), density_table(found), as_json)
