"""Random pairs with parameters in log space: is the exact divergence inside every interval of the float engine?

A case draws a builder of `dpverify.privacy_loss`, its parameters down to 1e-300, a tail from the default to 1e-2, and
an epsilon at, next to or between the losses that are listed. The truth is a sum in exact rational arithmetic for the
laws on few points (a float means its binary value; only e^epsilon is enclosed, to 256 bits), and an Arb ball otherwise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb, ctx

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, DiscreteLaplacePair, Pair, ThreeNBPair
from dpverify.certificates.rationals import compose_rational
from dpverify.guarantee import Interval
from dpverify.privacy_loss import blanket, pairs
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.mixture import bit_probability_change, erased
from dpverify.privacy_loss.pairs import two_valued
from dpverify.privacy_loss.product import delta_of_two
from tests.privacy_loss.exact import RationalPair

Divergence = Callable[[float], Interval]
Bounds = tuple[Fraction | float, Fraction | float]


class Question(NamedTuple):
    """One divergence: what the engine says, the truth, and the losses where it has corners."""

    found: Divergence
    truth: Callable[[float], Bounds]
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


def rational(pair: RationalPair) -> Callable[[float], Bounds]:
    return lambda epsilon: tuple(compose_rational([pair], [1], Fraction(epsilon)))


def asked(pair: PrivacyLossDistribution, truth: Callable[[float], Bounds], where: str) -> Question:
    return Question(pair.delta, truth, pair.losses.tolist(), where)


def both(found: pairs.Directions, exact: RationalPair, where: str) -> Iterator[Question]:
    first, second = exact
    yield asked(found.up, rational((first, second)), where + " up")
    yield asked(found.down, rational((second, first)), where + " down")


def reports(*chances: Fraction) -> list[Fraction]:
    """The law of how many of these independent events happen."""
    law = [Fraction(1)]
    for chance in chances:
        law = [a * (1 - chance) + b * chance for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return law


def mixed_reports(rng: np.random.Generator) -> Iterator[Question]:
    users, p = int(rng.integers(1, 6)), small(rng)
    coins = int(rng.integers(0, users))
    ones, cut = int(rng.integers(0, users - coins)), tail(rng, 1e-60)
    q, half = Fraction(p), Fraction(1, 2)
    others = [1 - q] * ones + [q] * (users - 1 - coins - ones) + [half] * coins
    exact = reports(*others, 1 - q), reports(*others, q)
    yield from both(
        pairs.mixed_reports(users, ones, p, cut, coins=coins), exact, f"mixed {users=} {ones=} {coins=} {p=} {cut=}"
    )


def randomized_response(rng: np.random.Generator) -> Iterator[Question]:
    users, p, cut = int(rng.integers(1, 8)), small(rng), tail(rng, 1e-60)
    q = Fraction(p)
    exact = reports(*[q] * (users - 1), 1 - q), reports(*[q] * users)
    yield from both(pairs.binomial_randomized_response(users, p, cut), exact, f"rr {users=} {p=} {cut=}")


def by_arb(found: pairs.Directions, pair: Pair, where: str) -> Iterator[Question]:
    for one, direction in zip(found, (Direction.UP, Direction.DOWN), strict=True):
        yield asked(one, lambda eps, to=direction: hockey_stick(pair, eps, to, digits=18)[:2], f"{where} {direction}")


def three_nb(rng: np.random.Generator) -> Iterator[Question]:
    p, shape, flood = small(rng, 0.9), log_uniform(rng, float(rng.choice([1e-1, 1e-290])), 30.0), small(rng, 0.95)
    cut = tail(rng, 1e-40)
    where = f"3nb {p=} {shape=} {flood=} {cut=}"
    yield from by_arb(pairs.three_nb(p, shape, flood, cut), ThreeNBPair(p, shape, flood), where)


def two_points(rng: np.random.Generator) -> Iterator[Question]:
    rate = log_uniform(rng, 1e-6, 800.0)
    yield from by_arb(pairs.discrete_laplace(rate), DiscreteLaplacePair(rate), f"dlap {rate=}")
    shown = two_valued(Interval(rate * (1.0 - 1e-9), rate * (1.0 + 1e-9)))
    yield from by_arb(pairs.Directions(shown, shown), DiscreteLaplacePair(rate), f"two-valued {rate=}")


def summed(log_pmf: Callable[[int], arb], first: int, last: int, epsilon: float, up: bool) -> Bounds:
    """H_eps of Z + 1 against Z or the reverse, over the integers of [first, last]; the rest is below 1e-120."""
    with ctx.workprec(320):
        masses = [log_pmf(z).exp() for z in range(first, last + 1)]
        shifted, plain = [arb(0), *masses], [*masses, arb(0)]
        one, other = (shifted, plain) if up else (plain, shifted)
        factor = arb(epsilon).exp()
        total = sum(((a - factor * b).max(arb(0)) for a, b in zip(one, other, strict=True)), arb(0))
        return float((total - arb("1e-100")).lower()) * (1 - 1e-15), float((total + arb("1e-100")).upper()) * (
            1 + 1e-15
        )


def poisson(rng: np.random.Generator) -> Iterator[Question]:
    mean, cut = log_uniform(rng, float(rng.choice([1e-1, 1e-300])), 5.0), tail(rng, 1e-60)
    with ctx.workprec(320):
        log_mean = arb(mean).log()

    def log_pmf(z: int) -> arb:
        return z * log_mean - mean - arb(z + 1).lgamma()

    for found, up in zip(pairs.poisson(mean, cut), (True, False), strict=True):
        yield asked(found, lambda eps, up=up: summed(log_pmf, 0, 140, eps, up), f"poisson {mean=} {cut=} {up=}")


def negative_binomial(rng: np.random.Generator) -> Iterator[Question]:
    shape, p, cut = log_uniform(rng, float(rng.choice([1e-2, 1e-300])), 30.0), small(rng), tail(rng, 1e-60)
    with ctx.workprec(320):
        log_p, log_zero = arb(p).log(), shape * (1 - arb(p)).log() - arb(shape).lgamma()

    def log_pmf(z: int) -> arb:
        return log_zero + (z + arb(shape)).lgamma() - arb(z + 1).lgamma() + z * log_p

    for found, up in zip(pairs.negative_binomial(shape, p, cut), (True, False), strict=True):
        # At p = 1/2 and shape 30 the mass above 520 is below 1e-107.
        where = f"nb {shape=} {p=} {cut=} {up=}"
        yield asked(
            found, lambda eps, up=up: summed(log_pmf, 0, min(520, 60 + int(-800 / math.log(p))), eps, up), where
        )


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
    yield from both(erased(given, q), (mixed, second), f"erased {first=} {second=} {q=}")


def mixtures(rng: np.random.Generator) -> Iterator[Question]:
    (one, zero), a, b = points(rng), share(rng), share(rng)
    laws = tuple([w * x + (1 - w) * y for x, y in zip(one, zero, strict=True)] for w in (Fraction(a), Fraction(b)))
    found = bit_probability_change(listed((one, zero)), a, b)
    yield asked(found, rational((laws[0], laws[1])), f"mixture {one=} {zero=} {a=} {b=}")


def products(rng: np.random.Generator) -> Iterator[Question]:
    exact = points(rng), points(rng)
    first, second = (listed(pair) for pair in exact)
    sums = [a + b for a in first.losses.tolist() for b in second.losses.tolist()]
    yield Question(
        lambda epsilon: delta_of_two(first, second, epsilon),
        lambda epsilon: tuple(compose_rational(exact, [1, 1], Fraction(epsilon))),
        sums,
        f"product {exact=}",
    )


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
        exact = [law[cell] for cell in first for law in (first,)], [second[cell] for cell in first]
        build = blanket.report_in_blanket if revealed else blanket.report_in_view
        found, where = build(trials, cover, kept, swapped, cut), f"blanket {trials=} {cover=} {kept=} {swapped=} {cut=}"
        if revealed:
            # Only dominates: the probability of a coin is rounded down.
            upper = found.delta
            yield Question(
                lambda eps, of=upper: Interval(0.0, of(eps).upper), rational(exact), found.losses.tolist(), where
            )
        else:
            yield asked(found, rational(exact), where + " view")


KINDS: dict[str, Callable[[np.random.Generator], Iterator[Question]]] = {
    "mixed reports": mixed_reports,
    "randomized response": randomized_response,
    "negative binomial": negative_binomial,
    "three noises": three_nb,
    "two points": two_points,
    "poisson": poisson,
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
            lower, upper = question.truth(epsilon)
            found = question.found(epsilon)
            # A true divergence below the normal floats is compared with what floats can say.
            right = found.lower <= upper and lower <= found.upper
            yield (
                ""
                if right
                else f"[{float(lower)!r}, {float(upper)!r}] is not in {found!r} at {epsilon!r}: {question.where}"
            )


def hunt(cases: int, seed: int, kinds: list[str] | None = None) -> Iterator[tuple[int, str, str]]:
    """Yield (case, kind, line): the kinds take turns, and a case depends on its number and the seed alone."""
    for case, kind in zip(range(cases), itertools.cycle(kinds or KINDS), strict=False):
        for line in violations(np.random.default_rng((seed, case)), kind):
            yield case, kind, line
