"""Correct mechanisms of all kinds as black boxes, each on the neighbours that are its worst, with what it keeps.

No smaller epsilon holds at the stated delta, by a closed form or an exact law; noise on a grid keeps hardly less. Of
shuffled messages only their sum is drawn.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, optimize, stats

from dpverify import GaussianDP
from dpverify.audit.running.target import Target
from dpverify.statistics.bounds.claims import CurveClaim
from dpverify.statistics.bounds.renyi_claims import ConcentratedDP
from tests.faults.boxes.noise import geometric, laplace, normal

__all__ = ["CorrectMechanism", "mechanisms"]

Array = NDArray[Any]
Run = Callable[[Array, np.random.Generator, int], Any]
Noise = Callable[[np.random.Generator, int], Array]
BIT = (np.array([1]), np.array([0]))
LABEL = (np.array([2]), np.array([0]))


@dataclass(frozen=True, eq=False)
class CorrectMechanism:
    """A mechanism, two neighbours that are the worst for it, and what it keeps."""

    name: str
    run: Run
    keeps: float
    delta: float = 0.0
    pair: tuple[Array, Array] = BIT
    kind: type[CurveClaim] | None = None

    @property
    def target(self) -> Target:
        return Target(self.run, True, (), self.name)

    def claim(self, factor: float) -> Any:
        """Return what it keeps, times a factor: epsilon at its delta, mu or rho."""
        return (factor * self.keeps, self.delta) if self.kind is None else self.kind(factor * self.keeps)


def ratio(p: Any, q: Any) -> float:
    """Return epsilon at delta 0 of two laws on the same outcomes."""
    return float(np.abs(np.log(np.asarray(p) / np.asarray(q))).max())


def epsilon_at(delta: float, p: Any, q: Any) -> float:
    """Return epsilon at delta of two laws on the same outcomes, in the worse direction."""

    def excess(epsilon: float) -> float:
        return max(np.maximum(x - math.exp(epsilon) * y, 0.0).sum() for x, y in ((p, q), (q, p))) - delta

    return float(optimize.brentq(excess, 0.0, 50.0))


def normal_epsilon(sigma: float, delta: float) -> float:
    """Return epsilon of normal noise at sensitivity 1, by balle2018's formula."""
    at = stats.norm.cdf
    return float(
        optimize.brentq(
            lambda e: at(0.5 / sigma - e * sigma) - math.exp(e) * at(-0.5 / sigma - e * sigma) - delta, 0.0, 50.0
        )
    )


def added(noise: Noise, post: Callable[[Array], Any] = lambda y: y) -> Run:
    return lambda x, rng, n: post(x.sum() + noise(rng, n))


def to_each(noise: Noise, post: Callable[[Array], Any] = lambda y: y) -> Run:
    return lambda x, rng, n: post(x + noise(rng, n * x.size).reshape(n, x.size))


def lap(scale: float) -> Noise:
    return lambda rng, n: laplace(rng, n, scale)


def geo(epsilon: float) -> Noise:
    return lambda rng, n: geometric(rng, n, epsilon)


def gauss(sigma: float) -> Noise:
    return lambda rng, n: normal(rng, n, sigma)


def on_grid(draw: Noise) -> Noise:
    return lambda rng, n: np.rint(np.clip(draw(rng, n), -1e9, 1e9) * 2.0**16) * 2.0**-16


def above(threshold: int, noise: Noise) -> Run:
    """A noisy count that is published, else 0, if it is above a threshold and there is anyone to count."""

    def run(x: Array, rng: np.random.Generator, n: int) -> Array:
        noisy = x.sum() + noise(rng, n)
        return np.where((noisy > threshold) & (x.sum() > 0), noisy, 0)

    return run


def flip(epsilon: float) -> float:
    return 1.0 / (1.0 + math.exp(epsilon))


def response(epsilon: float, k: int = 2, names: Sequence[Any] | None = None) -> Run:
    """Randomized response among k labels."""

    def run(x: Array, rng: np.random.Generator, n: int) -> Any:
        keep = rng.random(n) < math.exp(epsilon) / (math.exp(epsilon) + k - 1)
        said = np.where(keep, x[0], (x[0] + rng.integers(1, k, n)) % k)
        return said if names is None else [names[each] for each in said]

    return run


def bits(flips: float, count: int, post: Callable[[Array], Any] = lambda y: y) -> Run:
    """Every bit flipped with the same chance, of one-hot codes of a label."""
    return lambda x, rng, n: post(((np.arange(count) == x[0]) ^ (rng.random((n, count)) < flips)).astype(int))


def unary(p: float, q: float, count: int) -> Run:
    """One-hot codes whose one stays with chance p, and whose noughts rise with chance q."""
    return lambda x, rng, n: (rng.random((n, count)) < np.where(np.arange(count) == x[0], p, q)).astype(int)


def lawful(first: Any, second: Any, names: Sequence[Any] | None = None) -> Run:
    """What draws from either of two laws on 0, 1, ..., or on names."""

    def run(x: Array, rng: np.random.Generator, n: int) -> Any:
        law = np.asarray(first if x[0] else second)
        said = np.searchsorted(np.cumsum(law / law.sum()), rng.random(n), side="right")
        said = np.minimum(said, law.size - 1)
        return said if names is None else [names[each] for each in said]

    return run


def softmax(scores: Any, epsilon: float) -> Array:
    weights = np.exp(epsilon * np.asarray(scores) / 2.0)
    return np.asarray(weights / weights.sum())


def permuted(scores: Sequence[float], epsilon: float) -> Array:
    """Return the law of permute-and-flip."""
    chances, found = np.exp(epsilon * (np.asarray(scores) - max(scores)) / 2.0), np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0 / len(orders)
        for k in order:
            found[k] += left * chances[k]
            left *= 1.0 - chances[k]
    return found


def noisy_max(scores: Sequence[float], scale: float) -> Array:
    """Return the law of the place of the largest with Laplace noise."""
    law = stats.laplace(scale=scale)

    def chance(k: int) -> float:
        def density(y: float) -> float:
            others = law.cdf(y - np.delete(scores, k))
            return float(law.pdf(y - scores[k]) * np.prod(others))

        return float(integrate.quad(density, -60, 60, points=sorted(set(scores)), limit=400)[0])

    return np.array([chance(k) for k in range(len(scores))])


def above_threshold(answers: Sequence[float], scale: float) -> Array:
    """Return the law of the first answer above 0, the last outcome being none: noise of scale and twice of it."""
    threshold, noise = stats.laplace(scale=scale), stats.laplace(scale=2.0 * scale)

    def chance(k: int) -> float:
        def density(t: float) -> float:
            below = np.prod(noise.cdf(t - np.asarray(answers[:k])))
            return float(threshold.pdf(t) * below * (noise.sf(t - answers[k]) if k < len(answers) else 1.0))

        return float(integrate.quad(density, -80, 80, points=sorted({0.0, *answers}), limit=400)[0])

    return np.array([chance(k) for k in range(len(answers) + 1)])


def staircase(epsilon: float) -> Noise:
    """Noise of geng2015 at sensitivity 1, on a grid of 1/8 with the parameter 1/4."""

    def draw(rng: np.random.Generator, n: int) -> Array:
        b, share = math.exp(-epsilon), 0.25
        first = rng.random(n) < share / (share + (1.0 - share) * b)
        inside = np.where(first, rng.integers(0, 2, n), 2 + rng.integers(0, 6, n))
        size = (rng.geometric(1.0 - b, n) - 1) + (inside + 0.5) / 8.0
        return np.asarray(np.where(rng.random(n) < 0.5, -size, size))

    return draw


def hadamard(x: Array, rng: np.random.Generator, n: int) -> list[tuple[int, int]]:
    """A row of an 8 by 8 Hadamard matrix and, flipped, its sign at the label."""
    rows = rng.integers(0, 8, n)
    signs = 1 - 2 * (np.bitwise_count(rows & int(x[0])) % 2).astype(int)
    said = np.where(rng.random(n) < flip(1.0), -signs, signs)
    return list(zip(rows.tolist(), said.tolist(), strict=True))


def local_hash(x: Array, rng: np.random.Generator, n: int) -> list[dict[str, int]]:
    """A random function onto three values, and the label's by randomized response."""
    a, b = rng.integers(1, 31, n), rng.integers(0, 31, n)
    value = (a * int(x[0]) + b) % 31 % 3
    said = np.where(rng.random(n) < math.e / (math.e + 2), value, (value + rng.integers(1, 3, n)) % 3)
    triples = zip(a.tolist(), b.tolist(), said.tolist(), strict=True)
    return [{"a": i, "b": j, "value": k} for i, j, k in triples]


def subset(x: Array, rng: np.random.Generator, n: int) -> list[frozenset[int]]:
    """Two of six labels, the own one among them with the chance that gives epsilon 1."""
    own = rng.random(n) < 2 * math.e / (2 * math.e + 4)
    others = np.argsort(rng.random((n, 5)), axis=1)[:, :2]
    others = others + (others >= x[0])
    return [frozenset((int(x[0]), int(o[0])) if mine else map(int, o)) for mine, o in zip(own, others, strict=True)]


def piecewise(epsilon: float) -> Run:
    """The mechanism of wang2019 for a value of -1 or 1, on a grid."""
    half = math.exp(epsilon / 2.0)
    c = (half + 1.0) / (half - 1.0)

    def run(x: Array, rng: np.random.Generator, n: int) -> Array:
        t = 2.0 * x[0] - 1.0
        low = (c + 1.0) / 2.0 * t - (c - 1.0) / 2.0
        near = rng.random(n) < half / (half + 1.0)
        other = -c + (c + 1.0) * rng.random(n)  # what is left of the range is one piece at either end
        far = other if t > 0 else -other
        return np.floor(np.where(near, low + (c - 1.0) * rng.random(n), far) * 2.0**16)

    return run


def sampled(run: Run, rate: float) -> Run:
    """The mechanism on a user who takes part with a chance."""

    def drawn(x: Array, rng: np.random.Generator, n: int) -> Array:
        there, absent = run(x, rng, n), run(np.zeros_like(x), rng, n)
        return np.where(rng.random(n) < rate, there, absent)

    return drawn


def both(one: Run, two: Run, made: Callable[[Any, Any], Any]) -> Run:
    def run(x: Array, rng: np.random.Generator, n: int) -> list[Any]:
        pairs = zip(np.asarray(one(x, rng, n)).tolist(), np.asarray(two(x, rng, n)).tolist(), strict=True)
        return [made(a, b) for a, b in pairs]

    return run


def bloom(x: Array, rng: np.random.Generator, n: int) -> Array:
    """RAPPOR's permanent bits of a string with two of sixteen bits."""
    places = ((3, 11), (5, 14))[int(x[0])]
    return (np.isin(np.arange(16), places) ^ (rng.random((n, 16)) < flip(0.5))).astype(int)


def each(made: Callable[[Any], Any]) -> Callable[[Array], list[Any]]:
    return lambda y: [made(value) for value in y.tolist()]


def _numbers() -> Iterator[CorrectMechanism]:
    for e in (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0):
        yield CorrectMechanism(f"Laplace {e:g}", added(lap(1.0 / e)), e)
    for e in (0.1, 0.3, 0.5, 1.0, 2.0, 4.0):
        yield CorrectMechanism(f"geometric {e:g}", added(geo(e)), e)
    three = (np.array([3]), np.array([0]))
    yield CorrectMechanism("geometric, sensitivity 3", added(geo(0.5)), 1.5, pair=three)
    yield CorrectMechanism("Laplace, sensitivity 3", added(lap(3.0)), 1.0, pair=three)
    yield CorrectMechanism("Laplace in [0, 1]", added(lap(1.0), lambda y: np.clip(y, 0, 1)), 1.0)
    yield CorrectMechanism("Laplace to tenths", added(lap(1.0), lambda y: np.floor(16 * y) / 16), 1.0)
    yield CorrectMechanism("Laplace, its sign", added(lap(1.0), np.sign), 1.0)
    yield CorrectMechanism("geometric in [-3, 4]", added(geo(1.0), lambda y: np.clip(y, -3, 4)), 1.0)
    yield CorrectMechanism("two geometric", both(added(geo(1.0)), added(geo(1.0)), lambda a, b: [a, b]), 2.0)
    for e in (1.0, 2.0):
        yield CorrectMechanism(f"staircase {e:g}", added(staircase(e)), e)
    yield CorrectMechanism("logistic 1", added(on_grid(lambda rng, n: rng.logistic(size=n))), 1.0)
    cauchy = optimize.minimize_scalar(
        lambda x: math.log1p(x * x / 4.0) - math.log1p((x - 1) ** 2 / 4.0), bounds=(-9, 0), method="bounded"
    )
    yield CorrectMechanism(
        "Cauchy, scale 2", added(on_grid(lambda rng, n: 2.0 * rng.standard_cauchy(n))), abs(float(cauchy.fun))
    )
    for sigma, delta in ((0.7, 0.1), (1.0, 0.1), (1.0, 1e-2), (1.5, 1e-2), (2.0, 1e-3), (3.7306, 1e-5)):
        yield CorrectMechanism(
            f"normal {sigma:g} at {delta:g}", added(gauss(sigma)), normal_epsilon(sigma, delta), delta
        )
    for mu in (0.2, 0.5, 1.0, 2.0):
        yield CorrectMechanism(f"normal, mu {mu:g}", added(gauss(1.0 / mu)), mu, kind=GaussianDP)
    yield CorrectMechanism("normal, rho .5", added(gauss(1.0)), 0.5, kind=ConcentratedDP)
    yield CorrectMechanism("whole normal, rho .125", added(lambda rng, n: np.rint(rng.normal(0, 2, n))), 0.125,
                           kind=ConcentratedDP)  # fmt: skip
    for e, threshold in ((0.05, 34), (0.2, 8), (1.0, 6)):
        tail = math.exp(-e * threshold) / (1.0 + math.exp(-e))
        yield CorrectMechanism(f"stability histogram {e:g}", above(threshold, geo(e)), e, tail)
    counts = np.arange(41)
    law = stats.binom.pmf(counts, 40, 0.5)
    shifted = np.append(0.0, law), np.append(law, 0.0)
    noise = added(lambda rng, n: rng.binomial(40, 0.5, n))
    yield CorrectMechanism("binomial noise at 1e-2", noise, epsilon_at(1e-2, *shifted), 1e-2)
    for users, e, delta in ((20, 1.0, 1e-2), (100, 2.0, 1e-2)):
        others = stats.binom.pmf(np.arange(users), users - 1, flip(e))
        high, low = np.append(0.0, others), np.append(others, 0.0)
        p, q = (1 - flip(e)) * high + flip(e) * low, flip(e) * high + (1 - flip(e)) * low
        yield CorrectMechanism(f"shuffled response of {users}", lawful(p, q), epsilon_at(delta, p, q), delta)


def _labels() -> Iterator[CorrectMechanism]:
    for e in (0.1, 0.5, 1.0, math.log(3), 2.0, 4.0):
        yield CorrectMechanism(f"response {e:.3g}", response(e), e)
    for k, e in ((3, 1.0), (4, 0.5), (8, 1.0), (8, 3.0), (16, 2.0), (100, 1.0), (100, 4.0)):
        yield CorrectMechanism(f"{k}-ary response {e:g}", response(e, k), e, pair=LABEL)
    for count, e in ((4, 1.0), (8, 2.0), (32, 1.0)):
        yield CorrectMechanism(f"one-hot bits {count}, {e:g}", bits(flip(e / 2.0), count), e, pair=LABEL)
    for count, e in ((4, 1.0), (16, 2.0)):
        yield CorrectMechanism(f"optimized unary {count}, {e:g}", unary(0.5, flip(e), count), e, pair=LABEL)
    yield CorrectMechanism("RAPPOR, Bloom filter", bloom, 2.0)
    yield CorrectMechanism("three responses", lambda x, rng, n: np.stack(
        [response(0.5)(x, rng, n) for _ in range(3)], axis=1), 1.5)  # fmt: skip
    yield CorrectMechanism("Hadamard response", hadamard, 1.0, pair=LABEL)
    yield CorrectMechanism("local hashing", local_hash, 1.0, pair=LABEL)
    yield CorrectMechanism("subset selection", subset, 1.0, pair=LABEL)
    for e in (1.0, 3.0):
        yield CorrectMechanism(f"piecewise {e:g}", piecewise(e), e)
    half = (math.exp(1.0) - 1.0) / (2.0 * math.exp(1.0) + 2.0)
    yield CorrectMechanism("one bit of a mean", lambda x, rng, n: np.where(
        rng.random(n) < 0.5 + half * (2.0 * x[0] - 1.0), 1.0, -1.0), 1.0)  # fmt: skip


def _choices() -> Iterator[CorrectMechanism]:
    first, second = (3.0, 2.0, 2.0, 0.0), (2.0, 3.0, 2.0, 0.0)
    for e in (0.2, 0.5, 1.0, 3.0):
        p, q = softmax(first, e), softmax(second, e)
        yield CorrectMechanism(f"exponential mechanism {e:g}", lawful(p, q), ratio(p, q))
    many = np.arange(50.0) % 7
    p, q = softmax(many, 1.0), softmax(many + np.arange(50) % 2, 1.0)
    yield CorrectMechanism("exponential mechanism of 50", lawful(p, q), ratio(p, q))
    p, q = (softmax(-np.abs(np.arange(20) - middle), 1.0) for middle in (9.5, 10.5))
    yield CorrectMechanism("median of 20", lawful(p, q), ratio(p, q))
    cities = ["Rome", "Lima", "Oslo", "Bonn"]
    yield CorrectMechanism("permute and flip", lawful(p := permuted(first, 1.0), q := permuted(second, 1.0), cities),
                           ratio(p, q))  # fmt: skip
    for scale in (1.0, 2.0):
        p, q = noisy_max(first, scale), noisy_max(second, scale)
        yield CorrectMechanism(f"noisy max, scale {scale:g}", lawful(p, q, cities), ratio(p, q))
    for name, answers, others in (
        ("one", (0.0,), (1.0,)),
        ("four", (-1.0, -1.0, -1.0, 1.0), (0.0, 0.0, 0.0, 0.0)),
        ("six", (0.0, -2.0, 0.0, -1.0, 0.0, 1.0), (1.0, -1.0, 1.0, 0.0, 1.0, 2.0)),
    ):
        p, q = above_threshold(answers, 2.0), above_threshold(others, 2.0)
        yield CorrectMechanism(f"above threshold, {name}", lawful(p, q), ratio(p, q))
        said = [[False] * k + [True] for k in range(len(answers))] + [[False] * len(answers)]
        yield CorrectMechanism(f"above threshold, {name}, as a list", lawful(p, q, said), ratio(p, q))
    for rate, e in ((0.1, 1.0), (0.3, 2.0), (0.5, 0.5)):
        kept = math.log1p(rate * math.expm1(e))
        yield CorrectMechanism(f"sampled geometric {rate:g}, {e:g}", sampled(added(geo(e)), rate), kept)
        yield CorrectMechanism(f"sampled Laplace {rate:g}, {e:g}", sampled(added(lap(1.0 / e)), rate), kept)
    yield CorrectMechanism("sampled response", sampled(response(2.0), 0.5), math.log(
        (0.5 * (1 - flip(2.0)) + 0.5 * flip(2.0)) / flip(2.0)))  # fmt: skip


def _structures() -> Iterator[CorrectMechanism]:
    for count in (2, 3, 5, 10, 50):
        sides = np.ones(count), np.zeros(count)
        yield CorrectMechanism(f"Laplace, {count} columns", to_each(lap(float(count))), 1.0, pair=sides)
    for count in (4, 16, 100):
        full = np.full(count, 5.0)
        fewer = full - np.eye(count)[0]
        yield CorrectMechanism(f"histogram {count}, Laplace", to_each(lap(1.0)), 1.0, pair=(full, fewer))
        yield CorrectMechanism(f"histogram {count}, geometric", to_each(geo(1.0)), 1.0, pair=(full, fewer))
    moved = np.array([5, 5, 5, 5]), np.array([4, 6, 5, 5])
    yield CorrectMechanism("histogram, one moves", to_each(geo(0.5)), 1.0, pair=moved)
    for count in (3, 20):
        sides = np.full(count, np.floor(2.0**16 / math.sqrt(count)) * 2.0**-16), np.zeros(count)  # on the noise's grid
        yield CorrectMechanism(f"normal, {count} columns, mu 1", to_each(gauss(1.0)), 1.0, pair=sides, kind=GaussianDP)
    yield CorrectMechanism("yes or no", response(math.log(3), 2, ("yes", "no")), math.log(3))
    yield CorrectMechanism("bytes", response(1.0, 3, (b"a", b"bb", b"")), 1.0, pair=LABEL)
    yield CorrectMechanism("a label or None", response(1.0, 3, (None, "b", 1.5)), 1.0, pair=LABEL)
    yield CorrectMechanism("a count as text", added(geo(1.0), each(lambda y: f"about {y} users")), 1.0)
    yield CorrectMechanism("JSON", added(geo(1.0), each(lambda y: json.dumps({"count": y}))), 1.0)
    yield CorrectMechanism("a mapping", added(geo(1.0), each(lambda y: {"count": y, "unit": "users"})), 1.0)
    yield CorrectMechanism("a Laplace mapping", added(lap(1.0), each(lambda y: {"sum": y, "bounds": (0, 1)})), 1.0)
    yield CorrectMechanism("a tuple", both(added(geo(0.5)), response(0.5), lambda a, b: ("n", a, bool(b))), 1.0)
    yield CorrectMechanism("a sum and a label", both(added(lap(2.0)), response(0.5), lambda a, b: (a, "xy"[b])), 1.0)
    yield CorrectMechanism("two sums", both(added(lap(2.0)), added(geo(0.5)), lambda a, b: (a, b)), 1.0)
    yield CorrectMechanism("a set", bits(flip(0.5), 5, lambda y: [frozenset(np.flatnonzero(b).tolist()) for b in y]),
                           1.0, pair=LABEL)  # fmt: skip
    yield CorrectMechanism("a list of ones", bits(flip(0.5), 4, lambda y: [np.flatnonzero(b).tolist() for b in y]),
                           1.0, pair=LABEL)  # fmt: skip
    yield CorrectMechanism("a complex number", both(added(geo(0.5)), added(geo(0.5)), complex), 1.0)
    yield CorrectMechanism("a matrix", lambda x, rng, n: to_each(lap(4.0))(np.repeat(x, 4).astype(float), rng, n)
                           .reshape(n, 2, 2), 1.0)  # fmt: skip
    yield CorrectMechanism("nothing but noise", lambda x, rng, n: rng.integers(0, 10, n), 0.1)
    yield CorrectMechanism("a constant", lambda x, rng, n: np.zeros(n), 0.5)


@functools.cache
def mechanisms() -> tuple[CorrectMechanism, ...]:
    """Return all of them; the laws of choices take some integrals."""
    return (*_numbers(), *_labels(), *_choices(), *_structures())
