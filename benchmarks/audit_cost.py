"""What one more draw costs a whole audit of a black box, in units of what the mechanism itself takes for it.

The slope of processor time between two numbers of draws; the mechanism by itself is timed in between, block by block,
so that what else runs on the machine slows both alike.

    python -m benchmarks.audit_cost [--draws 400000 1600000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify import audit_mechanism
from dpverify.audit.running.target import Target

MECHANISMS: dict[str, tuple[Callable[..., Any], float | None]] = {
    "Laplace noise in floats, which show the input": (lambda x, rng: float(x) + rng.laplace(), None),
    "the same at a resolution of 1e-6": (lambda x, rng: float(x) + rng.laplace(), 1e-6),
}


def seconds(mechanism: Callable[..., Any], resolution: float | None, draws: int) -> tuple[float, float]:
    """Return the processor time of an audit, and of as many draws of the mechanism by itself."""
    rng, inputs, alone, raw = np.random.default_rng(1), np.zeros(()), 0.0, Target.raw

    def timed(self: Target, given: Any, generator: np.random.Generator, trials: int, where: str) -> Any:
        nonlocal alone
        start = time.process_time()
        for _ in range(trials):
            mechanism(inputs, rng)
        alone += time.process_time() - start
        return raw(self, given, generator, trials, where)

    Target.raw = timed  # type: ignore[method-assign]
    try:
        start = time.process_time()
        audit_mechanism(mechanism, (1, 0), (0.0, 1.0), trials=draws, resolution=resolution)
        return time.process_time() - start - alone, alone
    finally:
        Target.raw = raw  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, nargs=2, default=(400_000, 1_600_000), help="on each of two inputs")
    few, many = parser.parse_args().draws
    for name, how in MECHANISMS.items():
        seconds(*how, 5_000)  # what is imported is none of its cost
        (before, alone_before), (after, alone) = (seconds(*how, draws) for draws in (few, many))
        whole, own = (1e6 * spent / (2 * (many - few)) for spent in (after - before, alone - alone_before))
        print(f"{name}: {whole:.2f} us a draw, {own:.2f} of the mechanism alone: {whole / own:.1f} times", flush=True)


if __name__ == "__main__":
    main()
