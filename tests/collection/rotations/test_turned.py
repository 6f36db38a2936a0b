"""Vectors as integers: what clients compute, how long that is at most, and what every number of a plan is."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverify import account
from dpverify.audit.clients.vectors import value
from dpverify.collection.client import turned
from dpverify.collection.manifest import manifest
from dpverify.collection.query import Asked, Query
from dpverify.collection.recipes import unary_recipe
from dpverify.collection.rotations.turned import MOST_DIMENSION, Turned, planned, signs_of
from dpverify.guarantee import InfeasibleBudgetError
from protocols.bitsum import NegativeBinomial, Poisson
from protocols.sums.vectors import UnaryVectorSum

CASES = [(1, 10, 9.0), (2, 2_000, 30.0), (5, 2_000, 40.0), (64, 10**4, 67.0), (100, 10**4, 900.0), (300, 10**6, 30.0)]
"""Dimension, users and error."""


def of(dimension: int, users: int, error: float) -> Turned:
    return Turned(signs_of(dimension, np.random.default_rng(dimension)), planned(users, dimension, error))


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_clients_and_analysts_turn_alike_and_no_vector_is_longer_than_it_is_accounted_for(case: Any) -> None:
    found, rng = of(*case), random.Random(1)
    size = found.protocol.dimension
    query: dict[str, Any] = {"kind": "unary", "signs": found.signs, "coordinates": size, "limit": found.limit}
    for _ in range(60):
        vector = value(query, rng)
        (place,) = turned(query, vector)
        assert place == found.places([vector])[0].tolist()
        v = [abs(Fraction(y * found.factor, 2**46)) for y in place]
        assert sum(x * x for x in v) <= Fraction(found.protocol.scale) ** 2
        assert max(v) <= Fraction(found.protocol.largest) * (1 + Fraction(1, 2**50))
        assert max(map(math.ceil, v)) <= found.most
        assert sum(map(math.ceil, v)) <= found.own
        assert sum(x * (1 - x) for x in (x - math.floor(x) for x in v)) <= len(v) * found.rounded
        # Without noise and rounding, what is left are half steps, and what the sums of 2^20 parts are cut by.
        back = found.back(np.array([round(y * found.factor / 2**46 * 2**20) for y in place])) / 2**20
        assert np.abs(back - vector).max() <= 2.0**-27 + found.weight * found.protocol.dimension * 2.0**-20
    exact = Fraction(found.factor + 1) ** 2 * found.protocol.dimension * found.longest**2
    assert exact > (Fraction(found.protocol.scale) * 2**46) ** 2  # no larger factor would do
    assert found.rmse == pytest.approx(case[2], rel=1e-9)


def test_the_longest_vectors_come_next_to_what_is_accounted_for() -> None:
    """Where H makes a row of one size of it, each coordinate is the root of the share; clipping takes the rest."""
    found = of(64, 10**4, 67.0)
    row = np.zeros(64)
    row[3] = found.longest / 2**26
    v = np.abs(found.places([row])[0].astype(float)) * found.factor / 2**46
    assert 0.999999 * found.protocol.scale < np.linalg.norm(v) <= found.protocol.scale
    assert found.own - 64 - 1 <= v.sum() <= found.own - 64 + 1
    row[3] += 2.0**-25
    with pytest.raises(ValueError, match="norm at most 1"):
        found.places([row])
    alike = (1.0 - 2.0 * np.array([int(sign) for sign in found.signs])) / 8.0
    assert found.places([alike])[0].max() == found.limit  # the least likely signs put all of it into one
    assert found.most == math.ceil(found.limit * found.factor / 2**46)


@pytest.mark.parametrize("noise", [Poisson(3, 40.0), NegativeBinomial(3, 30.0, 0.5)], ids=repr)
def test_the_error_is_that_of_clients_that_draw(noise: Any) -> None:
    """The largest error, of vectors whose coordinates are all rounded most; and never more."""
    rng, runs, size = np.random.default_rng(2), 3_000, 4
    found = Turned("0110", UnaryVectorSum(noise, size, 1.01, 2.1))
    half = np.full(size, 2.0**45 / found.factor)  # v is 1/2 everywhere
    worst = [x / 2**26 for x in found.back(np.rint(half * found.factor / 2**46 * 2**30)) / 2**30 * 2**26]
    for vector, most in ((worst, True), ([0.0] * 4, False)):
        v = found.places([vector] * 3)[:, :] * found.factor / 2**46
        drawn = np.floor(v + rng.random((runs, 3, size))).sum(axis=1)
        shape = (runs, size)
        both = [noise.sample_view(np.zeros(shape, dtype=np.int64), rng)[..., 0] for _ in range(2)]
        errors = [np.linalg.norm(found.back(row) - 3 * np.array(vector)) for row in drawn + both[0] - both[1]]
        rmse = math.sqrt(np.mean(np.square(errors)))
        assert rmse < found.rmse * (1.0 + 4.0 / math.sqrt(runs))
        assert (rmse > found.rmse * (1.0 - 4.0 / math.sqrt(runs))) is most or not most


def views(found: Turned, table: list[float], vectors: list[list[float]], window: int) -> np.ndarray[Any, Any]:
    """Return the law of all counts of a few users, by convolution, as one row."""
    whole = np.ones(1)
    for place in range(found.protocol.dimension):
        laws = [np.ones(1), np.ones(1)]
        for y in found.places(vectors)[:, place]:
            level, rest = divmod(abs(int(y)) * found.factor, 2**46)
            own = np.zeros(level + 2)
            own[level:] = 1.0 - rest / 2**46, rest / 2**46
            laws = [np.convolve(law, table) for law in laws]
            laws[int(y < 0)] = np.convolve(laws[int(y < 0)], own)
        for law in laws:
            whole = np.multiply.outer(whole, np.append(law, np.zeros(window))[:window]).ravel()
    return whole


@pytest.mark.long
@pytest.mark.parametrize("dimension", [1, 2])
def test_all_views_of_two_users_are_within_the_account(dimension: int) -> None:
    """Every pair of answers of the first, each other user's answer; and a vector 1.4 times as long is not."""
    protocol = UnaryVectorSum(Poisson(2, 5.0), dimension, 1.3, 1.5)
    found = Turned("01"[:dimension], protocol)
    table = [math.exp(-2.5) * 2.5**k / math.factorial(k) for k in range(40)]
    window = 24
    axis = [[1.0], [-1.0], [0.3], [0.0]] if dimension == 1 else [[1, 0], [0, -1], [0.6, 0.8], [-0.7, 0.7], [0, 0]]
    laws = {
        (at, other): views(found, table, [a, b], window)
        for at, a in enumerate(axis)
        for other, b in enumerate(axis[:2])
    }
    for epsilon in (0.3, 0.8):
        most = account(protocol, epsilon=epsilon).delta.upper
        worst = max(
            float(np.maximum(laws[a, other] - math.exp(epsilon) * laws[b, other], 0.0).sum())
            for a, b in itertools.permutations(range(len(axis)), 2)
            for other in range(2)
        )
        assert 0.3 * most < worst <= most
        # A smaller scale than the client's is exceeded: what it multiplies by counts.
        assert worst > account(UnaryVectorSum(Poisson(2, 5.0), dimension, 0.85, 1.5), epsilon=epsilon).delta.upper


def test_all_of_its_noise_is_charged() -> None:
    """Tables of all counts, and of those whose sum is drawn again: each term of the charge by a law of its own."""
    tail = Fraction(1, 10**6)
    for noise in (Poisson(50, 20.0), NegativeBinomial(50, 20.0, 0.5)):
        found = Turned("011", UnaryVectorSum(noise, 4, 2.0, 2.1))
        recipe = unary_recipe(found, tail)
        assert recipe.charge > 8 * recipe.tables["noise"].charge + tail > 8 * Fraction(1, 10**9)
        weights = np.array([weight / 2**128 for weight in recipe.tables["noise"].weights])
        law = weights
        for _ in range(7):
            law = np.convolve(law, weights)
        most = recipe.settings["noise"]
        again, one_less = law[most + 1 :].sum(), law[most:].sum()
        assert again <= float(tail) < 2.0 * one_less  # about the least limit that costs so little
        assert recipe.settings["messages"] == found.own + most
    plan = manifest([Asked("v", planned(2_000, 5, 40.0), asks="vector", signs="01101")], delta="1e-6")
    charged, (query,) = Fraction(plan.guarantee["charged"]["probability"]), plan.content["queries"]
    each = unary_recipe(Turned("01101", planned(2_000, 5, 40.0)), Fraction(1, 10**12))
    assert len(query["tables"]["noise"]) <= len(each.tables["noise"].thresholds) + 4
    assert 2_000 * 17 * Fraction(1, 10**17) < charged < Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("signs", "protocol", "said"),
    [
        ("", planned(9, 1, 5.0), "signs"),
        ("012", planned(9, 3, 5.0), "signs"),
        ("01", planned(9, 3, 5.0), "protocol.dimension"),
        ("01", Poisson(9, 3.0), "UnaryVectorSum"),
        ("01", UnaryVectorSum(Poisson(9, 3.0), 2, 1e-9), "scale"),
        ("01", UnaryVectorSum(Poisson(9, 3.0), 2, 1e5), "scale"),
    ],
)
def test_what_is_no_rotation_is_refused(signs: str, protocol: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        Turned(signs, protocol)


def test_what_no_vector_can_err_or_be_is_refused() -> None:
    for error in (0.0, 1e-7, 1e9, math.inf, math.nan):
        with pytest.raises(InfeasibleBudgetError, match="error="):
            planned(1_000, 5, error)
    found = of(2, 2_000, 30.0)
    for vector in ([1.0, 0.1], [math.nan, 0.0], [1e300, 0.0], [math.inf, 0.0], [0.1], [[0.1, 0.1]]):
        with pytest.raises((TypeError, ValueError), match="vectors"):
            found.steps([vector])
    assert Query("v", vector=MOST_DIMENSION).vector == MOST_DIMENSION
    for changed in ({"vector": 0}, {"vector": MOST_DIMENSION + 1}, {"vector": 3, "bits": 2}, {"vector": 3, "seed": -1}):
        with pytest.raises(ValueError, match=r"vector|seed|exactly one"):
            Query("v", **changed)
    with pytest.raises(ValueError, match="bitsum"):
        Query("v", vector=3, bitsum="rr")
    for asked in (("v", planned(9, 3, 5.0)), ("v", Poisson(9, 3.0), 1, None, "vector", None, "01")):
        with pytest.raises(ValueError, match="UnaryVectorSum, with signs"):
            Asked(*asked)
    with pytest.raises(ValueError, match="instances"):
        Asked("v", planned(9, 3, 5.0), 2, None, "vector", None, "010")
