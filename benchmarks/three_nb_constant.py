"""The constant c in 3NB's p' = exp(-c eps0 / (eps0 + ln 1/delta0)), which wagner2025, Appendix A.2, leaves as Theta(1).

For every (eps0, delta0): the largest c for which the published choice p = e^(-0.99 eps0), r' = 3 (1 + ln(2 e^(0.99
eps0) / delta0)) is (eps0, delta0)-DP, from the exact profile of the two counts in both directions. Both sides are
proved by the engine's intervals: at the printed c the upper bound is at most delta0, and at c (1 + 1e-4) the lower
bound is above it ("!" where it is not). "-" marks an entry whose window is too large. That c = FLOOD_RATE is private is
proved for all (docs/floods.md); that delta grows with c is not proved, only seen.

    python -m benchmarks.three_nb_constant
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import brentq

from dpverify.claims.bitsum.three_nb import FLOOD_RATE
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import three_nb as formulas
from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses.pairs import three_nb

EPSILONS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.0134, 0.003)
DELTAS = (1e-4, 1e-6, 1e-9, 1e-12)
NEAR = 1e-4
MOST = 1e3


def worst(epsilon0: float, delta0: float, c: float) -> Interval:
    """Return the delta of the published choice with this c at epsilon0, over both directions."""
    directions = three_nb(
        float(formulas.noise_p(FLOATS, epsilon0)),
        float(formulas.flood_shape(FLOATS, epsilon0, delta0)),
        float(formulas.flood_p(FLOATS, epsilon0, delta0, c)),
    )
    deltas = [pair.delta(epsilon0) for pair in directions]
    return Interval(max(delta.lower for delta in deltas), max(delta.upper for delta in deltas))


def largest(epsilon0: float, delta0: float, near: float = NEAR) -> tuple[float, bool]:
    """Return a c that is proved private, and whether c (1 + near) is proved not to be."""

    def excess(log_c: float) -> float:
        return math.log(worst(epsilon0, delta0, math.exp(log_c)).midpoint / delta0)

    # The search starts at the rate in use, which is thereby checked everywhere.
    low, high = FLOOD_RATE, 0.4
    if worst(epsilon0, delta0, low).upper > delta0:
        raise ValueError(f"c={low} is not proved private at epsilon0={epsilon0!r}, delta0={delta0!r}.")
    while excess(math.log(high)) <= 0.0:
        low, high = high, 2.0 * high
        if high > MOST:
            raise ValueError(f"c={low} is private at epsilon0={epsilon0!r}, delta0={delta0!r}: there may be no limit.")
    c = math.exp(brentq(excess, math.log(low), math.log(high), xtol=near / 8.0))
    private, beyond = c * (1.0 - near / 3.0), c * (1.0 + near / 2.0)
    if worst(epsilon0, delta0, private).upper > delta0:
        raise ValueError(f"c={private!r} is undecided at epsilon0={epsilon0!r}, delta0={delta0!r}.")
    return private, worst(epsilon0, delta0, beyond).lower > delta0


def entry(epsilon0: float, delta0: float) -> str:
    try:
        c, decided = largest(epsilon0, delta0)
    except ValueError as error:
        return f"- ({str(error)[:40]})"
    return f"{math.floor(c * 1e5) / 1e5:.5f}{'' if decided else '!'}"


def smallest(near: float, points: int) -> tuple[float, float, float]:
    """Search for the smallest c over eps0 in [0.3, 6] and delta0 in [1e-12, 1e-2]; return it with its parameters."""
    best = (math.inf, math.nan, math.nan)
    logs = ((math.log(0.3), math.log(6.0)), (math.log(1e-12), math.log(1e-2)))
    for _ in range(3):
        grids = [np.exp(np.linspace(low, high, points)) for low, high in logs]
        best = min((largest(float(e), float(d), near)[0], float(e), float(d)) for e in grids[0] for d in grids[1])
        steps = [(high - low) / (points - 1) for low, high in logs]
        logs = tuple(  # type: ignore[assignment]
            (max(math.log(x) - step, low), min(math.log(x) + step, high))
            for x, step, (low, high) in zip(best[1:], steps, logs, strict=True)
        )
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=7, help="points a side in the search for the smallest c")
    arguments = parser.parse_args()
    console = Console(highlight=False, width=120)
    start = time.perf_counter()
    shown = Table(
        "eps0", *(f"delta0 = {delta0:g}" for delta0 in DELTAS), title="largest c, rounded down", title_justify="left"
    )
    for epsilon0 in EPSILONS:
        shown.add_row(f"{epsilon0:g}", *(entry(epsilon0, delta0) for delta0 in DELTAS))
    console.print(shown)
    c, epsilon0, delta0 = smallest(1e-3, arguments.points)
    c, decided = largest(epsilon0, delta0)
    console.print(f"smallest found: c = {c:.5f}{'' if decided else '!'} at ({epsilon0:.4g}, {delta0:.3g})")
    console.print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
