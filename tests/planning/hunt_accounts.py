"""Random accounts of small protocols: is the worst of all datasets inside every interval?

A case draws a protocol, its parameters down to 1e-300, how many instances, and an epsilon or a delta, that down to
1e-300. The truth is the largest divergence, as an Arb ball, over all datasets and all mixes of them and of the
directions over the instances: no chord, no cell and no group of pairs shares a line with it.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import arb, ctx

from dpverify.guarantee import CapacityError, Interval, ThreatModel
from dpverify.planning.account import account
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
from protocols.lsq import LaplacianBinning
from tests.claims.kde.densities import account_kde
from tests.privacy_loss.balls import (
    BITS,
    BallPair,
    discrete_gaussian_masses,
    largest,
    misses,
    negative_binomial_masses,
    poisson_masses,
    power,
    product,
    report_pair,
    reports,
    reversed_pair,
    shifted,
)
from tests.privacy_loss.hunt import log_uniform, share, small

LEAST = 1e-70
"""Masses of infinite laws are listed down to this."""


class Subject(NamedTuple):
    """An account, and the largest divergence that it is about."""

    account: Callable[..., Any]
    truth: Callable[[float], arb]
    loss: float
    where: str


def mixes(pairs: Sequence[BallPair], instances: int) -> list[BallPair]:
    """Return the products of instances that may present any of the pairs each."""
    return [product(mix) for mix in itertools.combinations_with_replacement(pairs, instances)]


def subject(protocol: Any, pairs: Sequence[BallPair], instances: int, loss: float, **options: Any) -> Subject:
    made = mixes(pairs, instances)
    return Subject(
        lambda **at: account(protocol, instances=instances, **options, **at),
        lambda epsilon: largest(made, epsilon),
        loss * instances,
        f"{protocol=} {instances=} {options=}",
    )


def both_ways(pair: BallPair) -> list[BallPair]:
    return [pair, reversed_pair(pair)]


def randomized_response(rng: np.random.Generator) -> Subject:
    users, p = int(rng.integers(1, 6)), small(rng)
    instances = int(rng.integers(1, 4 if users < 3 else 3))
    pairs = [way for ones in range(users) for way in both_ways(report_pair(p, users - 1 - ones, ones))]
    return subject(RandomizedResponse(users, p), pairs, instances, -math.log(p))


def two_valued(p: arb) -> BallPair:
    with ctx.workprec(BITS):
        return [(1 / (1 + p), p / (1 + p)), (p / (1 + p), 1 / (1 + p))]


def discrete_laplace(rng: np.random.Generator) -> Subject:
    p, instances = share(rng), int(rng.integers(1, 7))
    p = min(max(p, 1e-300), math.nextafter(1.0, 0.0))
    made = power(two_valued(arb(p)), instances)
    protocol = CentralDiscreteLaplace(1, p)
    truth = subject(protocol, [[(arb(1), arb(1))]], instances, -math.log(p))
    return truth._replace(truth=lambda epsilon: largest([made], epsilon))


def local_randomized_response(rng: np.random.Generator) -> Subject:
    p, instances = small(rng), int(rng.integers(1, 7))
    with ctx.workprec(BITS):
        made = power(two_valued(arb(p) / (1 - arb(p))), instances)
    truth = subject(LocalRandomizedResponse(3, p), [[(arb(1), arb(1))]], instances, -math.log(p))
    return truth._replace(truth=lambda epsilon: largest([made], epsilon))


def noisy(protocol: Any, masses: list[arb], rng: np.random.Generator, loss: float, *, below: bool = False) -> Subject:
    instances = int(rng.integers(1, 3 if len(masses) < 60 else 2))
    pairs = [shifted(masses, 4.0 * LEAST, up=up, below=below) for up in (True, False)]
    return subject(protocol, pairs, instances, loss)


def poisson(rng: np.random.Generator) -> Subject:
    mean = log_uniform(rng, float(rng.choice([1e-1, 1e-300])), 5.0)
    return noisy(Poisson(1, mean), poisson_masses(mean, LEAST), rng, 1.0 + abs(math.log(mean)))


def negative_binomial(rng: np.random.Generator) -> Subject:
    shape, p = log_uniform(rng, float(rng.choice([1e-2, 1e-300])), 30.0), small(rng)
    return noisy(NegativeBinomial(1, shape, p), negative_binomial_masses(shape, p, LEAST), rng, -math.log(p))


def discrete_gaussian(rng: np.random.Generator) -> Subject:
    sigma = log_uniform(rng, 0.3, 4.0)
    protocol = CentralDiscreteGaussian(1, sigma)
    return noisy(protocol, discrete_gaussian_masses(sigma, LEAST), rng, 5.0 / sigma, below=True)


def gaussian(rng: np.random.Generator) -> Subject:
    sigma, instances = log_uniform(rng, 1e-2, 1e6), int(rng.integers(1, 9))

    def truth(epsilon: float) -> arb:
        # So many instances are one of less noise; 4,096 bits for what cancels.
        with ctx.workprec(4096):
            scaled = arb(sigma) / arb(instances).sqrt()
            half, shift = 1 / (2 * scaled), epsilon * scaled
            below, above = (((end + shift) / arb(2).sqrt()).erfc() / 2 for end in (-half, half))
            return below - arb(epsilon).exp() * above

    protocol = CentralGaussian(1, sigma)
    where = f"{protocol=} {instances=}"
    return Subject(lambda **at: account(protocol, instances=instances, **at), truth, 3.0 / sigma, where)


def noisy_pair(p: float, flood_shape: float, flood_p: float) -> BallPair:
    """Return (x + Z1 + Z3, Z2 + Z3), x = 1 against x = 0, for geometric Z1, Z2, from the sums over Z3 themselves."""
    flood = negative_binomial_masses(flood_shape, flood_p, LEAST)
    with ctx.workprec(BITS):
        ratio = arb(p)
        own = [(1 - ratio) * ratio**z for z in range(2 + math.ceil(math.log(LEAST) / math.log(p)))]
        size = len(own) + len(flood)
        law = [[arb(0)] * size for _ in range(size)]
        for k, mass in enumerate(flood):
            for a, first in enumerate(own):
                for b, second in enumerate(own):
                    law[a + k][b + k] += mass * first * second
        rest = arb(0, 1e4 * LEAST)
        pair = [(law[a - 1][b] if a else arb(0), law[a][b]) for a in range(size) for b in range(size)]
        return [*pair, (rest, arb(0))]


def rare(rng: np.random.Generator) -> float:
    """Draw a probability small enough for noise of few values."""
    return log_uniform(rng, float(rng.choice([1e-12, 1e-300])), 1e-5)


def three_nb(rng: np.random.Generator) -> Subject:
    # Both counts one by one: only for noise of few values.
    p, shape, flood_p = rare(rng), log_uniform(rng, 1e-290, 5.0), rare(rng)
    pair = noisy_pair(p, shape, flood_p)
    other = [*reversed_pair(pair[:-1]), pair[-1]]
    return subject(ThreeNB(1, p, shape, flood_p), [pair, other], 1, -math.log(p))


def dropping(rng: np.random.Generator) -> float:
    """Draw a drop probability: next to 1 an account takes seconds."""
    return min(share(rng), 0.5)


def dropped(pair: BallPair, q: float) -> BallPair:
    with ctx.workprec(BITS):
        drop = arb(q)
        return [((1 - drop) * one + drop * zero, zero) for one, zero in pair]


def pure_messages(rng: np.random.Generator) -> Subject:
    p, shape, flood_p, q = rare(rng), log_uniform(rng, 1e-290, 5.0), rare(rng), dropping(rng)
    pair = noisy_pair(p, shape, flood_p)
    first = [*dropped(pair[:-1], q), pair[-1]]
    # What both laws may have beyond the lists.
    second = [*reversed_pair(first[:-1]), pair[-1]]
    return subject(Pure(1, p, q, shape, flood_p), [first, second], 1, -math.log(p))


def pure_sum(rng: np.random.Generator) -> Subject:
    p, q, instances = small(rng, 0.99), dropping(rng), int(rng.integers(1, 4))
    pairs = both_ways(dropped(two_valued(arb(p)), q))
    return subject(Pure(1, p, q), pairs, instances, -math.log(p), threat_model=ThreatModel.MODEL)


def densities(rng: np.random.Generator) -> Subject:
    """Algorithm 1 with S = 1: all datasets of all users, each in a bucket, with a sign."""
    users, buckets, signed, p = int(rng.integers(1, 4)), int(rng.integers(2, 4)), bool(rng.random() < 0.5), small(rng)
    bitsum, family = RandomizedResponse(users, p), LaplacianBinning(1, 1.0, buckets, signed=signed)
    points = list(itertools.product(range(buckets), (-1, 1) if signed else (1,)))

    def law(dataset: Sequence[tuple[int, int]]) -> list[arb]:
        counts = []
        for bucket in range(buckets):
            ones, zeros = dataset.count((bucket, 1)), dataset.count((bucket, -1))
            counts.append(reports(p, zeros, ones, users - ones - zeros))
        with ctx.workprec(BITS):
            made = [arb(1)]
            for count in counts:
                made = [a * b for a in made for b in count]
            return made

    pairs = []
    for others in itertools.combinations_with_replacement(points, users - 1):
        laws = [law([*others, point]) for point in points]
        pairs += [list(zip(one, other, strict=True)) for one, other in itertools.permutations(laws, 2)]
    where = f"{bitsum=} {family=}"
    return Subject(
        lambda **at: account_kde(bitsum, family, 1, **at),
        lambda epsilon: largest(pairs, epsilon),
        -2.0 * math.log(p),
        where,
    )


KINDS: dict[str, Callable[[np.random.Generator], Subject]] = {
    "rr": randomized_response,
    "central-discrete-laplace": discrete_laplace,
    "local-rr": local_randomized_response,
    "poisson": poisson,
    "nb": negative_binomial,
    "central-discrete-gaussian": discrete_gaussian,
    "central-gaussian": gaussian,
    "3nb": three_nb,
    "pure, messages": pure_messages,
    "pure, sum": pure_sum,
    "densities": densities,
}


def checks(one: Subject, rng: np.random.Generator) -> Iterator[str]:
    """Yield a line for each bound that is wrong, and an empty one for each that is right."""
    width = log_uniform(rng, 1e-4, 1e-1)
    epsilon = float(rng.uniform(0.0, 1.1)) * min(one.loss, 1e3)
    found = one.account(epsilon=epsilon, relative_width=width).delta
    exact = one.truth(epsilon)
    where = f"{epsilon=} {width=}: {one.where}"
    yield f"delta {exact.str(20)} is not in {found!r} at {where}" if misses(found, exact) else ""
    delta = log_uniform(rng, float(rng.choice([1e-12, 1e-60, 1e-300])), 0.5)
    yield from epsilons(one.account(delta=delta, relative_width=width).epsilon, delta, one)


def epsilons(found: Interval, delta: float, one: Subject) -> Iterator[str]:
    where = f"{found!r} at {delta=}: {one.where}"
    if found.upper < math.inf:
        exact = one.truth(found.upper)
        yield f"the upper epsilon has delta {exact.str(20)}, {where}" if exact > delta else ""
    if found.lower > 0.0:
        # Any lower epsilon, also where there is no finite one.
        exact = one.truth(min(math.nextafter(found.lower, 0.0), 1e4))
        yield f"the lower epsilon has delta {exact.str(20)}, {where}" if exact < delta else ""


def case(rng: np.random.Generator, number: int) -> Iterator[tuple[str, str]]:
    """Yield (kind, line) of one case: the kinds take turns. What is refused for lack of memory is no violation."""
    kind = list(KINDS)[number % len(KINDS)]
    try:
        for line in checks(KINDS[kind](rng), rng):
            yield kind, line
    except CapacityError:
        yield f"{kind}, refused", ""
