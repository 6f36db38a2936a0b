"""What a query is: its sums, what one user changes of them, and what their error is of the answer."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import poisson

from dpverify import account
from dpverify.claims.registry import mechanism_claims_of
from dpverify.collection.client import Client, Refused
from dpverify.collection.densities.signs import Signs
from dpverify.collection.manifest import manifest
from dpverify.collection.query import BITSUMS, Asked, Query
from dpverify.guarantee import InfeasibleBudgetError
from protocols.bitsum.poisson import Poisson
from protocols.bitsum.randomized_response import RandomizedResponse
from protocols.sums import PoissonSum


def sent(query: Query, answer: int) -> tuple[int, ...]:
    """Return the bits of one user's answer, as docs/designs.md says."""
    if query.bits is not None:
        return tuple(int(bit) for bit in f"{answer:0{query.bits}b}")
    if query.levels is not None:
        return tuple(int(answer > level) for level in range(query.levels - 1))
    return tuple(int(answer == bucket) for bucket in range(query.buckets or 0))


@pytest.mark.parametrize(
    "query", [Query("q", bits=3), Query("q", levels=5), Query("q", buckets=2), Query("q", buckets=6)]
)
def test_what_one_user_may_change_is_counted_by_all_pairs_of_answers(query: Query) -> None:
    size = 2**query.bits if query.bits is not None else query.levels or query.buckets or 0
    bits = [sent(query, answer) for answer in range(size)]
    assert {len(each) for each in bits} == {query.sums}
    assert max(sum(map(int.__ne__, a, b)) for a, b in itertools.product(bits, bits)) == query.changed


@pytest.mark.parametrize("query", [Query("q", levels=2), Query("q", levels=5), Query("q", buckets=6)])
def test_a_client_sends_these_bits(query: Query) -> None:
    """Levels are numbered from 1, as in a rating from 1 to 5; a draw of 0 flips nothing."""
    plan = manifest([query.asked(RandomizedResponse(9, 0.3), None)], delta="0.1")
    for answer in range(query.levels or query.buckets or 0):
        held = answer + int(query.kind == "levels")
        upload = Client(plan.data, plan.hash).upload("q", held, entropy=bytes(16 * query.sums))
        assert upload[-1] == int("".join(map(str, sent(query, answer))).ljust(8, "0"), 2)


def worst(views: list[np.ndarray[Any, Any]], epsilon: float) -> float:
    """Return the largest divergence of two views, each as its probabilities in one order."""
    return max(float(np.maximum(a - math.exp(epsilon) * b, 0.0).sum()) for a in views for b in views)


@pytest.mark.parametrize("bitsum", [RandomizedResponse(2, 0.3), Poisson(2, 3.0)], ids=repr)
def test_a_point_in_another_class_costs_no_more_than_it_is_charged(bitsum: Any) -> None:
    """All views of two users, two waves and two classes: of the first, any two answers; of the second, any one."""
    signs = Signs.sample(2, 1, "1", 2, np.random.default_rng(0))
    asked = Asked("q", bitsum, 4, None, "density", signs)
    assert (asked.changed, asked.touched) == (2, 4)
    # Not all of the views: a divergence on some of them is a lower bound.
    poisson = np.exp(-3.0 + np.arange(9) * math.log(3.0) - [math.lgamma(k + 1.0) for k in range(9)])

    def sums(answers: tuple[tuple[int, ...], ...]) -> np.ndarray[Any, Any]:
        found = np.ones(1)
        for place in range(4):
            law = np.ones(1)
            for label, *bits in answers:
                one = float(bits[place % 2]) if place // 2 == label else 0.5
                one = one if isinstance(bitsum, Poisson) else 0.3 + 0.4 * one
                law = np.convolve(law, [1.0 - one, one])
            found = np.multiply.outer(found, np.convolve(law, poisson) if isinstance(bitsum, Poisson) else law).ravel()
        return found

    answers = list(itertools.product((0, 1), repeat=3))
    curve = account(bitsum, instances=asked.changed, delta="0.1")
    for epsilon in (0.2, curve.epsilon.upper):
        most = account(bitsum, instances=asked.changed, epsilon=epsilon).delta.upper
        found = max(worst([sums((first, other)) for first in answers], epsilon) for other in answers)
        assert 0.2 * most < found <= most
    # Nothing less would do: half as many changes are exceeded.
    assert found > account(bitsum, instances=1, epsilon=curve.epsilon.upper).delta.upper


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_the_error_of_a_mean_is_that_of_its_sums_over_its_range(levels: int) -> None:
    query, users = Query("rating", levels=levels), 40
    protocol = RandomizedResponse(users, 0.3)
    rng = np.random.default_rng(1)
    # The mean on [0, 1] is the sum of all sums over users (levels - 1): its variance, measured, is that of the sums.
    ratings = rng.integers(0, levels, users)
    bits = np.array([sent(query, rating) for rating in ratings])
    runs = 20_000
    means = sum(protocol.analyze(protocol.sample_view(np.full(runs, int(ones)), rng)) for ones in bits.sum(axis=0)) / (
        users * (levels - 1)
    )
    rmse = math.sqrt(users * 0.3 * 0.7) / 0.4
    found = query.relative(users) * rmse
    # Six deviations of a standard deviation that is estimated from so many runs.
    assert abs(np.std(means) / found - 1.0) < 6.0 / math.sqrt(2 * runs)
    assert abs(means.mean() - ratings.mean() / (levels - 1)) < 6.0 * found / math.sqrt(runs)


def test_the_error_of_a_density_is_that_of_its_noise_over_the_waves() -> None:
    query = Query("where", density=32, dimension=2, bandwidth="0.5", classes=3)
    assert (query.kind, query.sums, query.changed, query.upload(RandomizedResponse(9, 0.1))) == ("density", 96, 32, 96)
    asked, another = (each.asked(RandomizedResponse(9, 0.1), None) for each in (query, replace(query, name="b")))
    assert asked.points is not None
    assert another.points is not None
    assert asked.points.waves != another.points.waves
    assert asked == query.asked(RandomizedResponse(9, 0.1), None)
    # Estimates of sums are off by one user each: that of a density by 2 g / (users waves) times a root of waves.
    g = asked.points.cosines().g(np.random.default_rng(1).normal(size=(4_000, 2)))[:, :, 0]
    g *= math.pi / 2.0 / math.sqrt(2.0)
    assert query.relative(9) == pytest.approx(np.sqrt(np.mean((g**2).sum(axis=1))) * 2.0 / (9 * 32), rel=0.02)


@pytest.mark.parametrize(("name", "error"), [("rr", 3.7), ("poisson", 3.7), ("rr", 1e5), ("poisson", 1e-3)])
def test_a_bitsum_errs_as_much_as_it_is_asked_to(name: str, error: float) -> None:
    from dpverify.claims.bitsum import BITSUM_CLAIMS

    protocol = BITSUMS[name](1000, error)
    assert BITSUM_CLAIMS[name].rmse(protocol) == pytest.approx(error, rel=1e-9)


def test_the_bitsum_is_the_one_of_which_less_is_uploaded() -> None:
    words = Query("words", buckets=1024)
    texts = Query("words", strings=1024)
    assert (texts.sums, texts.changed, texts.chosen(10**6, 30.0)) == (1024, 2, words.chosen(10**6, 30.0))
    # Ten bits name the bucket of a message: one hundred thousand noise messages among a million users are few.
    assert words.upload(Poisson(10**6, 1e3)) == pytest.approx(1024 * (1 / 1024 + 1e-3) * 10)
    assert words.upload(RandomizedResponse(10**6, 0.1)) == 1024
    assert words.chosen(10**6, math.sqrt(1e3)) == "poisson"
    assert words.chosen(10**6, math.sqrt(2e5)) == "rr"
    assert Query("words", buckets=1024, bitsum="RR").chosen(10**6, math.sqrt(1e3)) == "rr"
    assert Query("one", bits=1).upload(Poisson(100, 50.0)) == pytest.approx(1.5)


def test_more_than_randomized_response_can_err_is_refused() -> None:
    with pytest.raises(InfeasibleBudgetError, match="error="):
        BITSUMS["rr"](10, 1e20)


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({}, "bits, levels, buckets, strings, density"),
        ({"bits": 2, "levels": 3}, "exactly one"),
        ({"bits": 0}, "bits"),
        ({"levels": 1}, "levels"),
        ({"buckets": 1}, "buckets"),
        ({"bits": 1, "weight": 0}, "weight"),
        ({"bits": 1, "bitsum": "3nb"}, "bitsum"),
        ({"density": 8}, "dimension and bandwidth"),
        ({"density": 8, "dimension": 2}, "dimension and bandwidth"),
        ({"bits": 8, "dimension": 2, "bandwidth": 1}, "dimension and bandwidth"),
        ({"bits": 8, "classes": 2}, "with density"),
        ({"density": 8, "dimension": 0, "bandwidth": 1}, "dimension"),
        ({"density": 8, "dimension": 1, "bandwidth": 0}, "bandwidth"),
        ({"density": 8, "dimension": 1, "bandwidth": 1, "classes": 0}, "classes"),
        ({"density": 8, "dimension": 1, "bandwidth": 1, "seed": -1}, "seed"),
        ({"bits": 1, "name": " "}, "name"),
        ({"bits": 1, "name": "a\nb"}, "name"),
        ({"bits": 1, "name": "\u00e9"}, "name"),
    ],
)
def test_what_is_no_query_is_refused(given: dict[str, object], argument: str) -> None:
    with pytest.raises(ValueError, match=argument):
        Query(**{"name": "q", **given})  # type: ignore[arg-type]


def test_a_number_in_another_category_costs_no_more_than_two_full_changes() -> None:
    """All views of one user's number in one of two categories, beside others that are in both."""
    query = Query("q", number=(0, 2), categories=2)
    protocol = PoissonSum(1, 2, 12.0)
    asked = query.asked(protocol, None)
    assert (asked.asks, asked.instances, asked.changed, asked.touched) == ("weights", 2, 2, 2)
    counts = np.arange(80)
    shifted = [poisson.pmf(counts - held, 12.0) for held in range(3)]
    answers = [(held, 0) for held in range(3)] + [(0, held) for held in range(3)]
    views = [np.outer(shifted[a], shifted[b]) for a, b in answers]
    for delta in (0.3, 0.1, 0.03):
        epsilon = account(protocol, instances=asked.changed, delta=delta).epsilon
        assert worst(views, epsilon.upper) <= delta
        assert worst(views, 0.9 * epsilon.lower) > 0.5 * delta  # from one category to the other


@pytest.mark.parametrize(
    ("asked", "messages"),
    [
        ({"number": (1, 5)}, 4.2),
        ({"number": ("-1.5", 2), "real": True}, 101),
        ({"number": (0, 10**6), "categories": 3}, 202),
    ],
)
def test_numbers_err_as_they_say_and_send_few_messages(asked: dict[str, Any], messages: float) -> None:
    query = Query("q", **asked)
    low, high = (float(end) for end in asked["number"])
    for share in (0.002, 0.05, 3.0):
        error = share * 10_000 * (high - low) / 20
        protocol = query.protocol("poisson", 10_000, error)
        assert (protocol.smallest, protocol.largest) == (low, high)
        assert 0.994 * error <= query.rmse(protocol) <= error * (1 + 1e-9)
        rounded = 0.0 if protocol.steps is None else 2_500 * float(protocol.step) ** 2
        assert rounded <= 0.0101 * error**2
    assert query.protocol("poisson", 10_000, 10_000 * (high - low) / 100).levels <= max(messages, 4)
    for bitsum in ("split-and-mix", "laplace") if high < 10 else ():
        shares = query.protocol(bitsum, 10_000, error := 300 * (high - low))
        assert 0.994 * error <= query.rmse(shares) <= error * (1 + 1e-6)
        assert mechanism_claims_of(shares).distance(replace(shares, users=5_000)) < 1e-18
        assert query.upload(shares) < 300
    assert query.relative(10_000) * 10_000 * (high - low) == pytest.approx(1.0)
    made = query.asked(query.protocol("poisson", 10_000, 100.0 * (high - low)), 9_000)
    plan = manifest([made], delta="1e-6")
    client = Client(plan.data, plan.hash)
    held: Any = int(low) if not query.real else low
    assert len(client.upload("q", held if query.categories is None else [2, held])) > 0
    if not query.real:  # also in steps
        with pytest.raises(Refused, match="must be an integer in"):
            client.another().upload("q", held + 0.5 if query.categories is None else [2, held + 0.5])
    assert made.whole is (query.categories is not None)
    assert plan.asked() == [made]


def test_numbers_that_are_none_are_refused() -> None:
    for asked, said in (
        ({"number": (5, 1)}, "must be above smallest"),
        ({"number": (1,)}, "number=.* must be .smallest, largest"),
        ({"number": (0.5, 1)}, "must be integers, or users hold real"),
        ({"number": (1, 5), "categories": 3}, "must begin at 0"),
        ({"number": (0, 5), "categories": 1}, "categories=1 must be"),
        ({"bits": 3, "real": True}, "real and categories with number only"),
        ({"number": (0, 5), "bitsum": "rr"}, "bitsum='rr' must be"),
        ({"number": (0, 5), "bits": 2}, "exactly one of"),
        ({"number": (2**53 - 1, 2**53 + 1), "real": True}, r"number=.* must have both ends in \[-2\^53, 2\^53\]\.$"),
        ({"number": (2**53 + 1, 2**53 + 2)}, "both ends in"),
        ({"number": (-1.7e308, 1.7e308), "real": True}, "both ends in"),
        ({"number": (0, 1e-320), "real": True}, "must differ by a number in"),
    ):
        with pytest.raises(ValueError, match=said):
            Query("q", **asked)
    with pytest.raises(ValueError, match="whole=True must be False but for a sum of numbers in steps"):
        Asked("q", PoissonSum(9, 5, 4.0), whole=True)
    with pytest.raises(ValueError, match=r"instances=1048577 must be an integer in \[1, 1048576\]"):
        Asked("q", PoissonSum(9, 5, 4.0), 2**20 + 1)
    with pytest.raises(TypeError, match="must be a sum of numbers from 0 on"):
        Asked("q", PoissonSum(9, 5, 4.0, smallest=1), 3, None, "weights")
    with pytest.raises(TypeError, match="must be one of bits"):
        Asked("q", PoissonSum(9, 5, 4.0), 3, None, "buckets")
