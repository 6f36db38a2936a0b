"""Random small products: is the exact divergence inside every interval of the float engine?

Each case draws one or two pairs of laws on at most 12 points (zeros, ties, lattices and masses down to 1e-290 among
them), at most 8 copies altogether, a grid step, and an epsilon that is now and then exactly an atom. The divergence of
the product in rational arithmetic must lie in the interval of `Composition.delta`, and in that of the pair itself if
there is but one copy; and `Composition.epsilon` must put epsilon where that divergence says. Products with too many
terms for rational arithmetic lose copies until they fit. Exit status 1 if anything is violated.

    python -m benchmarks.violations --cases 10000

`--first N --cases 1` runs case N again: a case depends on its number and the seed alone.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np

from dpverify.guarantee import Interval
from dpverify.privacy_loss.grid import connect_the_dots, dominating_grid
from dpverify.privacy_loss.transform import Composition
from tests.privacy_loss.exact import RationalPair, floats, normalised, truth

MOST_POINTS, MOST_COPIES = 12, 8
USUAL_WORK, MOST_WORK = 6_000, 100_000


def weights(rng: np.random.Generator, size: int) -> list[int]:
    """Draw non-negative integers, not all zero, of one of six kinds, three of them in log space."""
    kind = rng.integers(6)
    if kind == 0:
        drawn = [int(x) for x in rng.integers(0, 41, size)]
    elif kind == 1:
        drawn = [2 ** int(x) for x in rng.integers(0, 6, size)]
    elif kind == 2:
        drawn = [10 ** int(x) for x in rng.integers(0, 16, size)]
    elif kind == 3:
        drawn = [10 ** int(x) for x in rng.integers(0, 290, size)]
    elif kind == 4:
        drawn = [int(x) for x in 2.0 ** rng.uniform(0.0, 60.0, size)]
    else:
        drawn = [int(x) for x in rng.integers(10**6, 10**6 + 1000, size)]
    return drawn if any(drawn) else [1] * size


def rational_pair(rng: np.random.Generator) -> RationalPair:
    size = int(rng.integers(1, MOST_POINTS + 1))
    p = weights(rng, size)
    # Half of the time the same numbers in another order: equal losses of both signs.
    q = [p[i] for i in rng.permutation(size)] if rng.random() < 0.5 else weights(rng, size)
    return normalised(p), normalised(q)


def products(ratios: int, copies: int) -> int:
    """Return how many distinct products `copies` factors can have at most, out of so many ratios."""
    return math.comb(ratios + copies - 1, copies)


def work(pairs: list[RationalPair], copies: list[int]) -> int:
    """Bound the multiplications of the last rational convolution."""
    ratios = [len({b / a for a, b in zip(p, q, strict=True) if a > 0}) for p, q in pairs]
    terms = math.prod(products(r, k) for r, k in zip(ratios[:-1], copies[:-1], strict=True))
    return terms * products(ratios[-1], copies[-1] - 1) * len(pairs[-1][0])


def draw(rng: np.random.Generator) -> tuple[list[RationalPair], list[int]]:
    pairs = [rational_pair(rng) for _ in range(1 + int(rng.random() < 0.3))]
    copies = [int(rng.integers(1, MOST_COPIES // len(pairs) + 1)) for _ in pairs]
    allowed = MOST_WORK if rng.random() < 0.02 else USUAL_WORK
    while work(pairs, copies) > allowed:
        # One copy of each always fits: 12 ratios by 12 points.
        copies[copies.index(max(copies))] -= 1
    return pairs, copies


def violations(rng: np.random.Generator, counts: Counter[str]) -> Iterator[str]:
    """Yield one line for each bound that is wrong in one random case."""
    pairs, copies = draw(rng)
    losses = [floats(pair) for pair in pairs]
    scale = max(max(pair.largest_loss for pair in losses), 1e-3)
    step = scale / 10.0 ** rng.uniform(-0.5, 2.8)
    reach = sum(pair.largest_loss * k for pair, k in zip(losses, copies, strict=True))
    epsilon = float(rng.uniform(-0.3, 1.0) * min(max(reach, 1e-2), 600.0))
    if rng.random() < 0.3 and losses[0].losses.size:
        epsilon = float(rng.choice(losses[0].losses)) * copies[0]
    elif rng.random() < 0.2:
        epsilon = round(epsilon / step) * step
    exact = truth(pairs, copies, epsilon)
    composed = Composition([(connect_the_dots(pair, step), k) for pair, k in zip(losses, copies, strict=True)])
    intervals = {"composition": composed.delta(epsilon)}
    if copies == [1]:
        intervals["pair"] = losses[0].delta(epsilon)
    if len(losses) > 1:
        # Their supremum dominates each, so it may stand for all.
        supremum = Composition([(dominating_grid(losses, step), sum(copies))])
        intervals["supremum"] = Interval(0.0, supremum.delta(epsilon).upper)
    where = f"{pairs=} {copies=} {step=!r} {epsilon=!r}"
    counts["points"] += sum(len(p) for p, _ in pairs)
    counts["copies"] += sum(copies)
    for name, interval in intervals.items():
        counts["intervals of delta"] += 1
        if interval.lower > exact.upper or interval.upper < exact.lower:
            yield f"{name}: {float(exact.lower)!r} is outside {interval}: {where}"
    # H(epsilon) <= above and > below put the inverse at `above` below epsilon, and that at `below` above it.
    above, below = (math.nextafter(float(end), side) for end, side in ((exact.upper, math.inf), (exact.lower, 0.0)))
    if epsilon >= 0 and below > 0.0 and above < 1.0:
        counts["intervals of epsilon"] += 2
        if composed.epsilon(above).lower > epsilon:
            yield f"epsilon({above!r}) has a lower bound {composed.epsilon(above).lower!r} > {epsilon!r}: {where}"
        if composed.epsilon(below).upper < epsilon:
            yield f"epsilon({below!r}) has an upper bound {composed.epsilon(below).upper!r} < {epsilon!r}: {where}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=20261120)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    violated, start = 0, time.perf_counter()
    for case in range(arguments.first, arguments.first + arguments.cases):
        for line in violations(np.random.default_rng((arguments.seed, case)), counts):
            violated += 1
            print(f"case {case}: {line}", flush=True)
        if (case + 1) % 1000 == 0:
            print(f"{case + 1} cases, {violated} violations, {time.perf_counter() - start:.0f} s", flush=True)
    tallies = ", ".join(f"{number} {name}" for name, number in counts.items())
    print(f"{arguments.cases} cases ({tallies}): {violated} violations")
    return int(violated > 0)


if __name__ == "__main__":
    sys.exit(main())
