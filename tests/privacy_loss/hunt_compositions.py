"""Random small products: is the exact divergence inside every interval of the float engine?

A case draws one or two pairs of laws on at most 12 points (zeros, ties, lattices and masses down to 1e-290 among them),
at most 8 copies altogether, a grid step, and an epsilon that is now and then exactly an atom. The divergence of the
product must lie in the interval of `Composition.delta`, and in that of the pair itself if there is but one copy; and
`Composition.epsilon` must put epsilon where that divergence says. Products of too many outcomes lose copies.
"""

import math
from collections.abc import Iterator

import numpy as np
from flint import arb

from dpverify.guarantee import Interval
from dpverify.privacy_loss.windows.grid import connect_the_dots, dominating_grid
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.balls import divergence, misses, power, product, rational_balls
from tests.privacy_loss.exact import RationalPair, floats, normalised

MOST_POINTS, MOST_COPIES = 12, 8
USUAL_OUTCOMES, MOST_OUTCOMES = 1_000, 30_000


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


def draw(rng: np.random.Generator) -> tuple[list[RationalPair], list[int]]:
    pairs = [rational_pair(rng) for _ in range(1 + int(rng.random() < 0.3))]
    copies = [int(rng.integers(1, MOST_COPIES // len(pairs) + 1)) for _ in pairs]
    allowed = MOST_OUTCOMES if rng.random() < 0.02 else USUAL_OUTCOMES
    ratios = [len(rational_balls(pair)) for pair in pairs]
    while math.prod(math.comb(r + k - 1, k) for r, k in zip(ratios, copies, strict=True)) > allowed:
        # One copy of each always fits: 12 ratios by 12.
        copies[copies.index(max(copies))] -= 1
    return pairs, copies


def violations(rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Yield (what was asked, line) for each bound of one case: an empty line for one that is right."""
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
    outcomes = product([power(rational_balls(pair), k) for pair, k in zip(pairs, copies, strict=True)])
    exact = divergence(outcomes, epsilon)
    composed = Composition([(connect_the_dots(pair, step), k) for pair, k in zip(losses, copies, strict=True)])
    intervals = {"composition": composed.delta(epsilon)}
    if copies == [1]:
        intervals["pair"] = losses[0].delta(epsilon)
    if len(losses) > 1:
        # Their supremum dominates each, so it may stand for all.
        supremum = Composition([(dominating_grid(losses, step), sum(copies))])
        intervals["supremum"] = Interval(0.0, supremum.delta(epsilon).upper)
    where = f"{pairs=} {copies=} {step=!r} {epsilon=!r}"
    for name, interval in intervals.items():
        yield name, f"{exact.str(20)} is outside {interval!r}: {where}" if misses(interval, exact) else ""
    if epsilon < 0.0:
        return
    # H(epsilon) <= above and > below put the inverse at `above` below epsilon, and that at `below` above it.
    above, below = (math.nextafter(float(end), side) for end, side in ((exact.upper(), math.inf), (exact.lower(), 0.0)))
    if 0.0 < below < above < 1.0 and arb(below) < exact < arb(above):
        found = composed.epsilon(above).lower
        yield "lower epsilon", f"epsilon({above!r}) >= {found!r} > {epsilon!r}: {where}" if found > epsilon else ""
        found = composed.epsilon(below).upper
        yield "upper epsilon", f"epsilon({below!r}) <= {found!r} < {epsilon!r}: {where}" if found < epsilon else ""
