"""Accounts at the edge of what floats and memory allow: time, peak memory and answer, each in a process of its own."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from typing import NamedTuple

from protocols.bitsum import (
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    CentralGaussian,
    LocalRandomizedResponse,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.bitsum.base import BitsumProtocol

__all__ = ["ROWS", "Row", "main"]


class Row(NamedTuple):
    """One account: a protocol, how often it is used, and the delta asked at."""

    protocol: BitsumProtocol
    instances: int
    delta: float = 1e-6


_MANY = 10**11

ROWS: dict[str, Row] = {
    "rr(1000, .4) x 10^6": Row(RandomizedResponse(1000, 0.4), 10**6),
    "poisson(30) x 10^6": Row(Poisson(1, 30.0), 10**6),
    "3nb(.984, 10, .9936) x 10^6": Row(ThreeNB(1, 0.984, 10.0, 0.9936), 10**6),
    "nb(40, .98) x 768 at 1e-30": Row(NegativeBinomial(1, 40.0, 0.98), 768, 1e-30),
    "3nb(.9, 1e-3, .99999) x 768": Row(ThreeNB(1, 0.9, 1e-3, 0.99999), 768),
    "3nb(.475, 2, .744) x 8 at 2.8e-15": Row(ThreeNB(71, 0.475, 2.0, 0.744), 8, 2.8e-15),
    "pure(.9, 1-1e-16, 10, .99) x 768": Row(Pure(1, 0.9, 1.0 - 1e-16, 10.0, 0.99), 768),
    "pure(1e-9, 1e-300, 10, .99) x 768": Row(Pure(1, 1e-9, 1e-300, 10.0, 0.99), 768),
    "pure(.9, 1e-16, 1e-3, .99993) x 768": Row(Pure(1, 0.9, 1e-16, 1e-3, 0.99993), 768),
    "pure(.9, 1e-16, 1e-3, .99999) x 768": Row(Pure(1, 0.9, 1e-16, 1e-3, 0.99999), 768),
    "pure(1-1e-9, .5, 50, 1-1e-6) x 768": Row(Pure(1, 1.0 - 1e-9, 0.5, 50.0, 1.0 - 1e-6), 768),
    "pure(.984, 1e-3, 50, .99) x 768": Row(Pure(30000, 0.984, 1e-3, 50.0, 0.99), 768),
    "nb(40, .98) x 10^6": Row(NegativeBinomial(1, 40.0, 0.98), 10**6),
    "nb(40, .98) x 10^9": Row(NegativeBinomial(1, 40.0, 0.98), 10**9),
    "poisson(1000) x 10^9": Row(Poisson(1, 1e3), 10**9),
    "rr(30000, .1) x 10^9": Row(RandomizedResponse(30000, 0.1), 10**9),
    "central-gaussian(1e-3) x 10^6": Row(CentralGaussian(1, 1e-3), 10**6),
    "rr(1000, .4) x 10^11": Row(RandomizedResponse(1000, 0.4), _MANY),
    "rr(10^6, .4) x 10^11": Row(RandomizedResponse(10**6, 0.4), _MANY),
    "poisson(30) x 10^11": Row(Poisson(1, 30.0), _MANY),
    "nb(40, .98) x 10^11": Row(NegativeBinomial(1, 40.0, 0.98), _MANY),
    "3nb(.984, 10, .9936) x 10^11": Row(ThreeNB(1, 0.984, 10.0, 0.9936), _MANY),
    "pure(.984, 1e-3, 50, .99) x 10^11": Row(Pure(1, 0.984, 1e-3, 50.0, 0.99), _MANY),
    "central-gaussian(1000) x 10^11": Row(CentralGaussian(1, 1e3), _MANY),
    "central-discrete-gaussian(1000) x 10^11": Row(CentralDiscreteGaussian(1, 1e3), _MANY),
    "central-discrete-laplace(.99) x 10^11": Row(CentralDiscreteLaplace(1, 0.99), _MANY),
    "local-rr(.3) x 10^6": Row(LocalRandomizedResponse(10, 0.3), 10**6),
    "local-rr(.3) x 10^11": Row(LocalRandomizedResponse(10, 0.3), _MANY),
}
"""The rows of the table."""


def answer(row: Row) -> str:
    """Return the row's answer, or the reason of its refusal, in a line."""
    from dpverify.planning.account import account

    try:
        epsilon = account(row.protocol, instances=row.instances, delta=row.delta).epsilon
    except (ValueError, ArithmeticError) as error:
        return f"refused: {error}"
    return f"[{epsilon.lower:.10g}, {epsilon.upper:.10g}]"


def _measured(name: str, seconds: float) -> tuple[float, str, str]:
    """Return the seconds, the processor seconds and peak MB (as cells of the table), and the answer of a row."""
    command = [sys.executable, "-m", "benchmarks.extremes", "--row", name]
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        text, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return seconds, " | ", f"stopped after {seconds:g} s"
    lines = text.strip().splitlines()
    if child.returncode != 0 or len(lines) != 2:
        return time.perf_counter() - start, " | ", lines[-1] if lines else f"exit status {child.returncode}"
    return time.perf_counter() - start, lines[1], lines[0]


def main() -> None:
    """Print the table, or one row of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", choices=ROWS, help="Run only this row, in this process.")
    parser.add_argument("--only", default="", help="Measure only rows whose name contains this.")
    parser.add_argument("--timeout", type=float, default=60.0, help="Seconds after which a row is stopped.")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if options.row:
        print(answer(ROWS[options.row]))
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(f"{used.ru_utime + used.ru_stime:.1f} | {used.ru_maxrss / 1024.0:.0f}")
        return
    print("| account | seconds | processor seconds | peak MB | epsilon |\n|---|---|---|---|---|")
    for name in ROWS:
        if options.only in name:
            seconds, used, text = _measured(name, options.timeout)
            print(f"| {name} | {seconds:.1f} | {used} | {text} |", flush=True)


if __name__ == "__main__":
    main()
