"""Sums of vectors next to a trusted curator: error, messages, bytes, and what planning costs.

    python -m benchmarks.vectors [--peers] [--dimensions 384,1024] [--users 10000,100000,1000000]

At (1, 1e-6), for each dimension and number of users: a plan for 1.05 times the error of central Gaussian noise of the
same guarantee, the least error within 1,000 and 2,000 bytes of a user, and with as many messages as there are
coordinates. Each plan is made in a process of its own, whose processor time and memory are those beyond the imports.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from typing import Any

from dpverify.guarantee import InfeasibleBudgetError
from dpverify.planning.sums.vectors import plan_vectors

BUDGET = ("1", "1e-6")


def _asked(dimension: int) -> list[tuple[str, dict[str, float]]]:
    return [
        ("1.05", {"ratio": 1.05}),
        ("1,000 B", {"max_bytes": 1000}),
        ("2,000 B", {"max_bytes": 2000}),
        (f"{dimension:,} messages", {"max_messages": dimension}),
    ]


def _planned(job: tuple[int, int, dict[str, float]]) -> dict[str, Any] | None:
    """Return what a plan costs, and what planning did; None if there is none."""
    dimension, users, wish = job
    memory, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        found = plan_vectors(BUDGET, users=users, dimension=dimension, **wish)
    except InfeasibleBudgetError:
        return None
    return {
        "ratio": found.ratio,
        "messages": found.messages_per_user,
        "bytes": found.bytes_per_user,
        "seconds": time.process_time() - start,
        "megabytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024,
    }


def _numbers(text: str) -> list[int]:
    return [int(float(each)) for each in text.split(",")]


def main() -> None:
    """Print a row of a table for each dimension and number of users."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimensions", type=_numbers, default=[384, 1024])
    parser.add_argument("--users", type=_numbers, default=[10**4, 10**5, 10**6])
    parser.add_argument("--peers", action="store_true", help="Also what published protocols err by.")
    arguments = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    for dimension in arguments.dimensions:
        for users in arguments.users:
            cells, seconds, megabytes = list[str](), list[float](), list[float]()
            for name, wish in _asked(dimension):
                with spawn.Pool(1) as pool:
                    found = pool.apply(_planned, ((dimension, users, wish),))
                if found is None:
                    cells.append(f"{name}: none")
                    continue
                seconds.append(found["seconds"])
                megabytes.append(found["megabytes"])
                cells.append(f"{name}: {found['ratio']:.3f} ({found['messages']:,.0f} / {found['bytes']:,.0f} B)")
            cost = f"{max(seconds):.1f} s, {max(megabytes):.0f} MiB"
            print(f"d = {dimension:,}, n = {users:,} | {' | '.join(cells)} | {cost}", flush=True)
            if arguments.peers:
                from dpverify.planning.sums.peers import vector_peers

                for row in vector_peers(BUDGET, users=users, dimension=dimension):
                    print(f"    {row.name}: {'~ ' * row.estimated}{row.ratio:.3f}, {row.bytes:,} B", flush=True)


if __name__ == "__main__":
    main()
