"""Random joint changes of a few bits against exact rational divergences: a hunt for violations of the upper end.

Case i is reproducible from the seed, its mechanism's number and how many changes each one meets: those that come
nearest to the bound, of four times as many. A mechanism takes as long as some hundred changes.
"""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dpverify.changes import L2Ball, L2Bounded
from dpverify.privacy_loss.joint.joint_change import JointChange
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import mixed_reports

Floats = NDArray[np.float64]
Law = list[fmpq]
Views = list[tuple[Law, Law]]
"""For each dataset of the others, the laws of the view when her bit is 0 and when it is 1."""

CHANGES = 100
_DRAWN = 4
_SQUARES = 2**20


class Mechanism(NamedTuple):
    """What a user takes part in, the change that she may make, and the bound on what that reveals."""

    views: Views
    joint: JointChange
    where: str


def exact(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def convolved(one: Law, other: Law) -> Law:
    result = [fmpq(0)] * (len(one) + len(other) - 1)
    for (i, x), (j, y) in itertools.product(enumerate(one), enumerate(other)):
        result[i + j] += x * y
    return result


def reports(rng: np.random.Generator) -> tuple[Views, list[list[PrivacyLossDistribution]], str]:
    """Draw shuffled randomized response, with all numbers of ones among the others."""
    users, p = int(rng.integers(1, 5)), log_uniform(rng, *((1e-300, 1e-3) if rng.random() < 0.2 else (1e-3, 0.499)))
    zero = [1 - exact(p), exact(p)]
    views, pairs = Views(), []
    for ones in range(users):
        others = [fmpq(1)]
        for user in range(users - 1):
            others = convolved(others, zero[::-1] if user < ones else zero)
        views.append((convolved(others, zero), convolved(others, zero[::-1])))
        pairs.append(mixed_reports(users, ones, p, 1e-42))
    return views, [[pair.up for pair in pairs], [pair.down for pair in pairs]], f"reports({users}, {p!r})"


def masses(rng: np.random.Generator, size: int) -> list[int]:
    """Draw integers over 2^52, 0 and very small ones among them."""
    weights = np.exp(rng.uniform(-rng.choice([1.0, 3.0, 30.0]), 0.0, size)) * (
        rng.random(size) > rng.choice([0.0, 0.0, 0.15])
    )
    weights = weights if weights.any() else np.ones(size)
    scaled = [int(weight) for weight in np.floor(weights / weights.sum() * 2.0**51)]
    scaled[int(np.argmax(weights))] += 2**52 - sum(scaled)
    return scaled


def tables(rng: np.random.Generator) -> tuple[Views, list[list[PrivacyLossDistribution]], str]:
    """Draw one or two datasets' laws on a few outcomes."""
    size, datasets = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    drawn = [(masses(rng, size), masses(rng, size)) for _ in range(datasets)]
    if rng.random() < 0.3:
        # Noise and its shift.
        noise = masses(rng, size)
        drawn = [([*noise, 0], [0, *noise])]
    listed = [tuple(np.array(law, dtype=np.float64) / 2.0**52 for law in laws) for laws in drawn]
    pairs = [
        [PrivacyLossDistribution.from_pmfs(one, zero) for zero, one in listed],
        [PrivacyLossDistribution.from_pmfs(zero, one) for zero, one in listed],
    ]
    views = [tuple([fmpq(mass, 2**52) for mass in law] for law in laws) for laws in drawn]
    return views, pairs, f"tables({drawn})"  # type: ignore[return-value]


def mechanism(rng: np.random.Generator) -> Mechanism:
    views, pairs, where = (reports, tables)[int(rng.random() < 0.5)](rng)
    coordinates = int(rng.integers(1, 5))
    square = min(
        float(rng.choice([rng.uniform(0.05, coordinates), 1.0, coordinates, log_uniform(rng, 1e-4, 1.0)])), coordinates
    )
    kind = (L2Bounded, L2Ball)[int(rng.random() < 0.6)]
    reference = log_uniform(rng, *((1e-300, 1e-9) if rng.random() < 0.2 else (1e-9, 0.3)))
    change = kind(math.ceil(square * _SQUARES) / _SQUARES, coordinates)
    joint = JointChange(pairs, change, reference_delta=reference)
    return Mechanism(views, joint, f"{where}, {change!r}, reference_delta={reference!r}")


def moves(rng: np.random.Generator, change: L2Bounded) -> Floats:
    """Draw the probabilities of her bits before and after, multiples of 2^-30, shape (m, 2), within the change."""
    m, most = change.coordinates, change.squared_change
    if rng.random() < 0.5:
        # The same in some coordinates, nothing in the others.
        some = rng.permutation(m) < rng.integers(min(math.ceil(most), m), m + 1)
        t = some * math.sqrt(min(most / some.sum(), 1.0)) * (1.0 - 1e-7)
        first = 0.5 - 0.5 * t if isinstance(change, L2Ball) else (1.0 - t) * rng.integers(2)
        ends = np.array([first, first + t])[:: rng.choice([-1, 1])]
    elif isinstance(change, L2Ball):
        points = rng.standard_normal((2, m)) * np.abs(rng.standard_normal(m)) ** rng.choice([0.0, 1.0, 4.0])
        if rng.random() < 0.4:
            points[1] = -points[0]
        for _ in range(30):
            norms = np.maximum(np.sum(points**2, axis=1, keepdims=True), 1e-300)
            points = np.clip(points * np.sqrt(most / norms), -1.0, 1.0)
        ends = 0.5 + 0.5 * points * (1.0 - 1e-7)
    else:
        t = np.abs(rng.standard_normal(m)) ** rng.choice([0.3, 1.0, 3.0])
        for _ in range(30):
            t = np.minimum(t * math.sqrt(most / float(np.sum(t * t))), 1.0) * (1.0 - 1e-8)
        first = (1.0 - t) * rng.choice([0.0, 1.0, rng.random()], m)
        ends = np.array([first, first + t])
        ends = np.where(rng.random(m) < 0.5, ends, ends[::-1])
    return np.asarray(np.clip(np.rint(ends * 2.0**30) / 2.0**30, 0.0, 1.0).T)


def allowed(ends: Floats, change: L2Bounded) -> bool:
    """Return whether the change is one of those that are bounded, exactly."""
    rows = [[exact(float(end)) for end in row] for row in ends]
    most = exact(change.squared_change)
    if isinstance(change, L2Ball):
        return all(sum(((2 * row[i] - 1) ** 2 for row in rows), fmpq(0)) <= most for i in (0, 1))
    return bool(sum(((row[1] - row[0]) ** 2 for row in rows), fmpq(0)) <= most)


def mixed(views: tuple[Law, Law], chance: fmpq) -> Law:
    return [(1 - chance) * zero + chance * one for zero, one in zip(*views, strict=True)]


def product(laws: list[Law]) -> Law:
    result = [fmpq(1)]
    for law in laws:
        result = [x * y for x in result for y in law]
    return result


def at_least(p: Law, q: Law, epsilon: float) -> fmpq:
    """Return a lower bound on the hockey-stick divergence, exact but for the last of 200 bits of e^epsilon."""
    with ctx.workprec(200):
        mantissa, exponent = arb(epsilon).exp().upper().man_exp()
    grown = fmpq(int(mantissa)) * fmpq(2) ** int(exponent)
    return sum((x - grown * y for x, y in zip(p, q, strict=True) if x > grown * y), fmpq(0))


def nearest(
    rng: np.random.Generator, made: Mechanism, epsilon: float, changes: int
) -> Iterator[tuple[Floats, list[int]]]:
    """Yield the changes and datasets of largest divergence among many, in floats."""
    change = made.joint.change
    listed = [np.array([[int(x.p) / int(x.q) for x in law] for law in laws]) for laws in made.views]
    found = []
    for _ in range(_DRAWN * changes):
        ends, most = moves(rng, change), len(listed)
        datasets = [int(k) for k in rng.integers(most, size=change.coordinates if rng.random() < 0.5 else 1)]
        datasets *= change.coordinates // len(datasets)
        p = q = np.ones(1)
        for (before, after), k in zip(ends, datasets, strict=True):
            laws = [(1.0 - chance) * listed[k][0] + chance * listed[k][1] for chance in (after, before)]
            p, q = np.outer(p, laws[0]).ravel(), np.outer(q, laws[1]).ravel()
        found.append((float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()), ends, datasets))
    found.sort(key=lambda entry: -entry[0])
    yield from ((ends, datasets) for _, ends, datasets in found[:changes])


def violations(rng: np.random.Generator, changes: int = CHANGES) -> Iterator[str]:
    """Yield one line for every change of a drawn mechanism, empty if no bound is violated."""
    made = mechanism(rng)
    joint = made.joint
    delta = log_uniform(rng, *((1e-12, 1e-3) if rng.random() < 0.3 else (1e-3, 0.5)))
    asked = joint.epsilon_upper(delta)
    scale = asked if 0.0 < asked < 50.0 else 1.0
    epsilons = [scale * float(rng.choice([0.3, rng.uniform(-0.3, 1.2)])), *([asked] if asked < 600.0 else [])]
    uppers = [exact(joint.delta_upper(epsilons[0])), exact(delta)]
    for ends, datasets in nearest(rng, made, epsilons[0], changes):
        if not allowed(ends, joint.change):
            yield ""
            continue
        views = [made.views[k] for k in datasets]
        q, p = (
            product([mixed(laws, exact(float(row[i]))) for laws, row in zip(views, ends, strict=True)]) for i in (0, 1)
        )
        wrong = [epsilon for epsilon, upper in zip(epsilons, uppers, strict=False) if at_least(p, q, epsilon) > upper]
        yield f"{made.where}: {ends.tolist()} of {datasets} at epsilon={wrong}, delta={delta!r}" if wrong else ""


def hunt(mechanisms: int, seed: int, first: int = 0, changes: int = CHANGES) -> Iterator[tuple[int, str]]:
    """Yield the number of a mechanism, and a line for each of its changes, empty if no bound is violated."""
    for number in range(first, mechanisms):
        for line in violations(np.random.default_rng([seed, number]), changes):
            yield number, line
