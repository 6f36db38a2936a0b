"""What certificates cost, and how near they come to the planned epsilon, as the table of docs/certificates.md.

    python -m benchmarks.certificates [NAME ...]         # prints rows: some ten minutes for all

A plan for (2, 1e-6) is certified, and its file checked by the checker alone, in a process of its own. Seconds are those
of the processor, memory is the peak of the process that checks.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dpverify import account, plan
from dpverify.claims.shared.buckets import under_estimating
from dpverify.planning.certificate import certificate, checker, write_certificate
from protocols.bitsum import Poisson, RandomizedResponse
from protocols.histogram import Histogram
from protocols.local.labels import LabelRandomizedResponse
from protocols.selection import Selection
from protocols.sums import SplitAndMix
from protocols.vector_sum import VectorSum

__all__ = ["SETTINGS", "Row", "main", "row_of"]

USERS, INSTANCES, EPSILON, DELTA = 30_000, 768, 2.0, "1e-6"
PEAK = """
import runpy, sys, time
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    peak = open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]
    print(time.process_time(), peak, file=sys.stderr)
"""
"""Runs a script; then says its seconds of the processor, and the most kilobytes that it held."""


class Row(NamedTuple):
    """A row of the table."""

    name: str
    accounted: float
    certified: float
    making: float
    checking: float
    megabytes: float
    size: int

    def __str__(self) -> str:
        wide = 100 * (self.certified / self.accounted - 1)
        return (
            f"| {self.name} | {self.accounted:.6g} | {self.certified:.6g} | {wide:+.3f} % "
            f"| {self.making:.1f} | {self.checking:.1f} | {self.megabytes:.0f} | {self.size} |"
        )


def planned(name: str, delta: str = DELTA, users: int = USERS, instances: int = INSTANCES) -> list[tuple[Any, int]]:
    """Return the protocol that meets the budget."""
    return [(plan(name, (str(EPSILON), delta), users=users, instances=instances).protocol, instances)]


def meeting(
    make: Callable[[float, int], Any], low: float, high: float, users: int = USERS, instances: int = INSTANCES
) -> list[tuple[Any, int]]:
    """Return the protocol that meets the budget, of those from low, which does, to high, which does not."""
    for _ in range(20):
        middle = (low * high) ** 0.5
        within = account(make(middle, users), instances=instances, delta=DELTA).epsilon.upper <= EPSILON
        low, high = (middle, high) if within else (low, middle)
    return [(make(low, users), instances)]


PLANNED = ("rr", "nb", "poisson", "3nb", "pure", "central-discrete-laplace", "central-discrete-gaussian", "local-rr")
MET: dict[str, tuple[Callable[[float, int], Any], float, float]] = {
    "histogram": (lambda shape, users: Histogram(under_estimating(users, shape, 0.8), 10), 1e5, 20.0),
    "selection": (lambda shape, users: Selection(under_estimating(users, shape, 0.8), 10), 1e5, 20.0),
    "vector-sum": (lambda gamma, users: VectorSum(users, 8, 3, gamma), 0.9, 1e-3),
    "labels": (lambda epsilon, _: LabelRandomizedResponse(10, epsilon), 1e-4, 1.0),
    "split-and-mix": (lambda q, users: SplitAndMix(users, 4, modulus=2**24, shares=8, p=1 - q, shape=16.0), 1e-3, 0.5),
}
SETTINGS: dict[str, Callable[[], list[tuple[Any, int]]]] = {
    **{name: lambda name=name: planned(name) for name in PLANNED},  # type: ignore[misc]
    **{name: lambda name=name: meeting(*MET[name]) for name in MET},  # type: ignore[misc]
    "poisson, delta 1e-12": lambda: planned("poisson", delta="1e-12"),
    "rr, delta 1e-12": lambda: planned("rr", delta="1e-12"),
    **{f"{name}, large": lambda name=name: planned(name, users=10**6, instances=10**4) for name in PLANNED},  # type: ignore[misc]
    **{f"{name}, large": lambda name=name: meeting(*MET[name], 10**6, 10**4) for name in MET},  # type: ignore[misc]
    "vector-sum, large": lambda: [(VectorSum(10**6, 8, 3, 0.1), 10**4)],
    "poisson, a year": lambda: [(Poisson(29_000 + 7 * day, 1800.0 + 5 * day), 1) for day in range(365)],
    "rr, a year": lambda: [(RandomizedResponse(29_000 + 7 * day, 0.06 + 1e-5 * day), 1) for day in range(365)],
}
"""Large: of a million users and 10,000 instances; a vector sum that meets the budget there is not accounted sharply.

A year: of 365 days, each with users and noise of its own.
"""


def row_of(name: str, folder: Path) -> Row:
    """Return what one setting's certificate costs."""
    days, delta = SETTINGS[name](), "1e-12" if "1e-12" in name else DELTA
    accounted = account(days, delta=delta).epsilon.upper
    start, file = time.process_time(), folder / "certificate.json"
    found = certificate(days, delta=delta)
    making = time.process_time() - start
    write_certificate(file, found)
    command = [sys.executable, "-I", "-S", "-c", PEAK, checker.__file__, str(file)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode or not process.stdout.startswith("Accepted"):
        raise ValueError(f"{name}: what was certified is not accepted: {process.stdout}{process.stderr}")
    seconds, kilobytes = map(float, process.stderr.split())
    return Row(name, accounted, float(found["epsilon"]), making, seconds, kilobytes / 1024, file.stat().st_size)


def rows(names: list[str]) -> Iterator[Row]:
    """Yield the rows of these settings."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            yield row_of(name, Path(folder))


def main() -> None:
    """Print the table."""
    print("| protocol | accounted | certified | | making, s | checking, s | MB | bytes |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows(sys.argv[1:] or [*SETTINGS]):
        print(row, flush=True)


if __name__ == "__main__":
    main()
