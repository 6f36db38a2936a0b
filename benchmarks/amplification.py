"""Amplification by shuffling beside published scripts: the value, the width of its bracket, and the seconds.

    python -m benchmarks.amplification [FOLDER]

FOLDER holds the peers' files, which are not part of this project: `computeamplification.py` (feldman2021,
github.com/apple/ml-shuffling-amplification) and `unifiedamplification.py` (wang2024, github.com/wangsw/
PrivacyAmplification). One that is not there is left out with a sentence.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from dpverify.guarantee import Interval
from dpverify.privacy_loss.shuffling.amplification import clones, pure, variation_ratio


def row(name: str, run: Callable[[], Interval | tuple[float, float]]) -> None:
    """Time one answer and print it."""
    start = time.process_time()
    found = run()
    seconds = time.process_time() - start
    lower, upper = (found.lower, found.upper) if isinstance(found, Interval) else found
    print(f"| {name} | {lower:.9g} | {upper:.9g} | {(upper - lower) / upper:.1e} | {seconds:.2f} |")


def peer(name: str, folder: Path) -> Any | None:
    """Return a peer's module, or None after one sentence that says why not."""
    if not (folder / f"{name}.py").is_file():
        print(f"{name}.py is not in {folder}: left out.")
        return None
    sys.path.insert(0, str(folder))
    return import_module(name)


def main() -> None:
    """Print one table."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    apple, unified = peer("computeamplification", folder), peer("unifiedamplification", folder)
    delta, p = 1e-6, math.exp(4.0)
    beta = (p - 1.0) / (p + 1.0)
    print("| quantity | lower | upper | relative width | CPU seconds |\n|---|---|---|---|---|")
    row("clones, n = 1e5, epsilon0 = 4", lambda: clones(4.0, 10**5).epsilon(delta))
    for step in (100, 10) if apple else ():
        row(
            f"  computeamplification.py, step {step}",
            lambda step=step: tuple(
                apple.numericalanalysis(10**5, 4.0, delta, 20, step, upper) for upper in (False, True)
            ),
        )
    row("every mechanism, n = 1e5, epsilon0 = 4", lambda: pure(4.0, 10**5).epsilon(delta))
    row("(p, beta, q), n = 1e6, epsilon0 = 4", lambda: variation_ratio(p, beta, p, 10**6).epsilon(delta))
    if unified:
        row(
            "  unifiedamplification.py, 20 steps",
            lambda: (
                unified.amplificationLB(p, beta, p, p, 10**6, delta, 20),
                unified.amplificationUB(p, beta, p, p, 10**6, delta, 20),
            ),
        )
    row("clones, n = 1e9, epsilon0 = 1", lambda: clones(1.0, 10**9).epsilon(delta))
    # A mechanism that wang2024's reduction to two counts does not cover.
    p, share, users = 20.0, 0.02, 9
    beta = share / (p + 1.0) * (p - 1.0)
    row("(20, 0.0181, 20), n = 9, attained", lambda: variation_ratio(p, beta, p, users).epsilon(1e-4))
    if unified:
        row(
            "  unifiedamplification.py: its upper bound is exceeded",
            lambda: (0.0, unified.amplificationUB(p, beta, p, p, users, 1e-4, 20)),
        )


if __name__ == "__main__":
    main()
