"""Random pairs with parameters in log space: is the exact divergence inside every interval of the float engine?

A case draws a builder of `dpverify.privacy_loss`, its parameters down to 1e-300, a tail from the default to 1e-2, and
an epsilon at, next to or between the losses that are listed. The truth is an Arb ball of some 300 bits; a float means
its binary value.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, DiscreteLaplacePair, Pair, ThreeNBPair
from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses import blanket, pairs
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import bit_probability_change, erased
from dpverify.privacy_loss.losses.pairs import two_valued
from dpverify.privacy_loss.windows.product import delta_of_two
from tests.privacy_loss.balls import (
    BallPair,
    discrete_gaussian_masses,
    divergence,
    misses,
    negative_binomial_masses,
    poisson_masses,
    product,
    rational_balls,
    report_pair,
    reversed_pair,
    shifted,
)
from tests.privacy_loss.exact import RationalPair, decay

LEAST = 1e-110
"""Masses of infinite laws are listed down to this."""

Divergence = Callable[[float], Interval]
Truth = Callable[[float], arb]


class Question(NamedTuple):
    """One divergence: what the engine says, the truth, and the losses where it has corners."""

    found: Divergence
    truth: Truth
    losses: list[float]
    where: str


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(math.log10(low), math.log10(high)))


def small(rng: np.random.Generator, high: float = 0.5) -> float:
    """Draw a probability in (0, high): moderate, small or tiny."""
    return min(log_uniform(rng, float(rng.choice([1e-3, 1e-18, 1e-300])), high), math.nextafter(high, 0.0))


def share(rng: np.random.Generator) -> float:
    """Draw a probability in [0, 1], also next to either end."""
    kind = rng.integers(6)
    if kind == 0:
        return float(rng.choice([0.0, 0.5, 1.0]))
    return 1.0 - small(rng) if kind < 3 else small(rng)


def tail(rng: np.random.Generator, default: float) -> float:
    return default if rng.random() < 0.5 else log_uniform(rng, default, 1e-2)


def exact(pair: BallPair) -> Truth:
    return lambda epsilon: divergence(pair, epsilon)


def asked(pair: PrivacyLossDistribution, truth: Truth, where: str) -> Question:
    return Question(pair.delta, truth, pair.losses.tolist(), where)


def both(found: pairs.Directions, pair: BallPair, where: str) -> Iterator[Question]:
    yield asked(found.up, exact(pair), where + " up")
    yield asked(found.down, exact(reversed_pair(pair)), where + " down")


def mixed_reports(rng: np.random.Generator) -> Iterator[Question]:
    users, p = int(rng.integers(1, 6)), small(rng)
    coins = int(rng.integers(0, users))
    ones, cut = int(rng.integers(0, users - coins)), tail(rng, 1e-60)
    found = pairs.mixed_reports(users, ones, p, cut, coins=coins)
    pair = report_pair(p, users - 1 - coins - ones, ones, coins)
    yield from both(found, pair, f"mixed {users=} {ones=} {coins=} {p=} {cut=}")


def randomized_response(rng: np.random.Generator) -> Iterator[Question]:
    users, p, cut = int(rng.integers(1, 8)), small(rng), tail(rng, 1e-60)
    found = pairs.binomial_randomized_response(users, p, cut)
    yield from both(found, report_pair(p, users - 1), f"rr {users=} {p=} {cut=}")


def certified(pair: Pair, direction: Direction) -> Truth:
    def truth(epsilon: float) -> arb:
        enclosed = hockey_stick(pair, epsilon, direction, digits=18)
        return arb(enclosed.lower).union(arb(enclosed.upper))

    return truth


def by_arb(found: pairs.Directions, pair: Pair, where: str) -> Iterator[Question]:
    for one, direction in zip(found, (Direction.UP, Direction.DOWN), strict=True):
        yield asked(one, certified(pair, direction), f"{where} {direction}")


def three_nb(rng: np.random.Generator) -> Iterator[Question]:
    p, shape, flood = small(rng, 0.9), log_uniform(rng, float(rng.choice([1e-1, 1e-290])), 30.0), small(rng, 0.95)
    cut = tail(rng, 1e-40)
    where = f"3nb {p=} {shape=} {flood=} {cut=}"
    yield from by_arb(pairs.three_nb(p, shape, flood, cut), ThreeNBPair(p, shape, flood), where)


def two_points(rng: np.random.Generator) -> Iterator[Question]:
    rate = log_uniform(rng, 1e-6, 700.0)
    yield from by_arb(pairs.discrete_laplace(rate), DiscreteLaplacePair(decay(rate)), f"dlap {rate=}")
    shown = two_valued(Interval(rate * (1.0 - 1e-9), rate * (1.0 + 1e-9)))
    yield from by_arb(pairs.Directions(shown, shown), DiscreteLaplacePair(decay(rate)), f"two-valued {rate=}")


def noisy(found: pairs.Directions, masses: list[arb], where: str, *, below: bool = False) -> Iterator[Question]:
    for one, up in zip(found, (True, False), strict=True):
        yield asked(one, exact(shifted(masses, 4.0 * LEAST, up=up, below=below)), f"{where} {up=}")


def poisson(rng: np.random.Generator) -> Iterator[Question]:
    mean, cut = log_uniform(rng, float(rng.choice([1e-1, 1e-300])), 5.0), tail(rng, 1e-60)
    yield from noisy(pairs.poisson(mean, cut), poisson_masses(mean, LEAST), f"poisson {mean=} {cut=}")


def negative_binomial(rng: np.random.Generator) -> Iterator[Question]:
    shape, p, cut = log_uniform(rng, float(rng.choice([1e-2, 1e-300])), 30.0), small(rng), tail(rng, 1e-60)
    masses = negative_binomial_masses(shape, p, LEAST)
    yield from noisy(pairs.negative_binomial(shape, p, cut), masses, f"nb {shape=} {p=} {cut=}")


def discrete_gaussian(rng: np.random.Generator) -> Iterator[Question]:
    sigma, cut = log_uniform(rng, float(rng.choice([0.3, 2.0**-26])), 6.0), tail(rng, 1e-60)
    masses = discrete_gaussian_masses(sigma, LEAST)
    yield from noisy(pairs.discrete_gaussian(sigma, cut), masses, f"discrete gaussian {sigma=} {cut=}", below=True)


def points(rng: np.random.Generator) -> RationalPair:
    """Draw two laws on a few points whose masses are floats down to 1e-290, or 0, and a remainder."""
    size = int(rng.integers(1, 6))

    def law() -> list[Fraction]:
        rare = [Fraction(0 if rng.random() < 0.15 else small(rng, 0.9 / size)) for _ in range(size)]
        rare = [mass if mass == 0 or mass > Fraction(1, 10**290) else Fraction(1, 2**900) for mass in rare]
        masses = [*rare, 1 - sum(rare)]
        return [masses[i] for i in rng.permutation(size + 1)]

    return law(), law()


def listed(exact: RationalPair) -> PrivacyLossDistribution:
    p, q = exact
    return PrivacyLossDistribution.from_pmfs([float(x) for x in p], [float(x) for x in q], relative_error=2.0**-52)


def erasures(rng: np.random.Generator) -> Iterator[Question]:
    (first, second), q = points(rng), share(rng)
    given = pairs.Directions(listed((first, second)), listed((second, first)))
    kept = 1 - Fraction(q)
    mixed = [(1 - kept) * b + kept * a for a, b in zip(first, second, strict=True)]
    for found, laws in zip(erased(given, q), ((mixed, second), (second, mixed)), strict=True):
        yield asked(found, exact(rational_balls(laws)), f"erased {first=} {second=} {q=} {laws=}")


def mixtures(rng: np.random.Generator) -> Iterator[Question]:
    (one, zero), a, b = points(rng), share(rng), share(rng)
    laws = tuple([w * x + (1 - w) * y for x, y in zip(one, zero, strict=True)] for w in (Fraction(a), Fraction(b)))
    found = bit_probability_change(listed((one, zero)), a, b)
    yield asked(found, exact(rational_balls((laws[0], laws[1]))), f"mixture {one=} {zero=} {a=} {b=}")


def products(rng: np.random.Generator) -> Iterator[Question]:
    factors = points(rng), points(rng)
    first, second = (listed(pair) for pair in factors)
    sums = [a + b for a in first.losses.tolist() for b in second.losses.tolist()]
    truth = exact(product([rational_balls(pair) for pair in factors]))
    yield Question(lambda epsilon: delta_of_two(first, second, epsilon), truth, sums, f"product {factors=}")


def counts(trials: int, cover: Fraction) -> dict[tuple[int, int], Fraction]:
    """The law of the others' two counts."""
    return {
        (a, b): math.comb(trials, a)
        * math.comb(trials - a, b)
        * (cover / 2) ** (a + b)
        * (1 - cover) ** (trials - a - b)
        for a in range(trials + 1)
        for b in range(trials + 1 - a)
    }


def blankets(rng: np.random.Generator) -> Iterator[Question]:
    trials, cover, swapped, cut = int(rng.integers(0, 5)), small(rng, 0.7), small(rng, 0.3), tail(rng, 1e-30)
    kept = float(rng.uniform(swapped, 1.0 - swapped)) if rng.random() < 0.5 else 1.0 - 4.0 * max(swapped, 2.0**-50)
    kept = max(kept, swapped)
    one, other = Fraction(kept), Fraction(swapped)
    for revealed in (False, True):
        first: dict[tuple[int, int, bool], Fraction] = {}
        second: dict[tuple[int, int, bool], Fraction] = {}
        for (a, b), mass in counts(trials, Fraction(cover)).items():
            for law, here, there in ((first, one, other), (second, other, one)):
                for cell, chance in (
                    ((a + 1, b, False), here),
                    ((a, b + 1, False), there),
                    ((a, b, revealed), 1 - one - other),
                ):
                    law[cell] = law.get(cell, Fraction(0)) + mass * chance
        truth = exact(rational_balls((list(first.values()), [second[cell] for cell in first])))
        build = blanket.report_in_blanket if revealed else blanket.report_in_view
        found, where = build(trials, cover, kept, swapped, cut), f"blanket {trials=} {cover=} {kept=} {swapped=} {cut=}"
        if revealed:
            # Only dominates: the probability of a coin is rounded down.
            upper = found.delta
            yield Question(lambda eps, of=upper: Interval(0.0, of(eps).upper), truth, found.losses.tolist(), where)
        else:
            yield asked(found, truth, where + " view")


KINDS: dict[str, Callable[[np.random.Generator], Iterator[Question]]] = {
    "mixed reports": mixed_reports,
    "randomized response": randomized_response,
    "negative binomial": negative_binomial,
    "three noises": three_nb,
    "two points": two_points,
    "poisson": poisson,
    "discrete gaussian": discrete_gaussian,
    "erasure": erasures,
    "mixture": mixtures,
    "product": products,
    "blanket": blankets,
}


def epsilons(rng: np.random.Generator, losses: list[float]) -> Iterator[float]:
    if losses:
        at = float(rng.choice(losses))
        yield at
        yield at + float(rng.choice([-1.0, 1.0])) * max(abs(at), 1e-3) * log_uniform(rng, 1e-16, 1e-2)
    yield float(rng.uniform(min(losses, default=-1.0), max(losses, default=1.0)))


def violations(rng: np.random.Generator, kind: str) -> Iterator[str]:
    """Yield one line for each bound of one case that is wrong, and an empty one for each that is right."""
    for question in KINDS[kind](rng):
        for epsilon in epsilons(rng, question.losses):
            truth, found = question.truth(epsilon), question.found(epsilon)
            wrong = misses(found, truth)
            yield f"{truth.str(20)} is not in {found!r} at {epsilon!r}: {question.where}" if wrong else ""


def case(rng: np.random.Generator, number: int) -> Iterator[tuple[str, str]]:
    """Yield (kind, line) of one case: the kinds take turns."""
    kind = list(KINDS)[number % len(KINDS)]
    for line in violations(rng, kind):
        yield kind, line
