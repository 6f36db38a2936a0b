"""Rare outcomes: levels that hold exactly given what was drawn, whichever sets are tried."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.outputs.pooled import (
    PooledSets,
    drawn_by_coins,
    fewest_hits,
    least_probability,
    pooled_sets,
    spared,
)

EPSILON = 0.5


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(9,), (12, 12), (8, 14, 20)])
def test_the_level_is_exact_given_what_was_drawn(sizes: tuple[int, ...]) -> None:
    # All outcomes that the claim allows at its very boundary: each set leans to either input by e^epsilon.
    shares = np.full(len(sizes), 1.0 / len(sizes))
    for leans in itertools.product((EPSILON, -EPSILON), repeat=len(sizes)):
        chances = [
            stats.binom.pmf(np.arange(k + 1), k, 1.0 / (1.0 + math.exp(-e))) for k, e in zip(sizes, leans, strict=True)
        ]
        least, masses = [], []
        for hits in itertools.product(*(range(k + 1) for k in sizes)):
            sets = PooledSets([""] * len(sizes), np.array(sizes), np.array(hits), shares, sum(sizes))
            least.append(float(sets.p_values(EPSILON, 0.0, 0.01).min()))
            masses.append(math.prod(float(law[hit]) for law, hit in zip(chances, hits, strict=True)))
        seen, mass = np.array(least), np.array(masses)
        for level in np.unique(seen):
            assert mass[seen <= level].sum() <= level + 1e-12
    # It is no empty statement: all outputs of one input are refuted.
    alone = PooledSets([""], np.array([20]), np.array([20]), np.ones(1), 20)
    assert alone.p_values(EPSILON, 0.0, 0.01)[0] == pytest.approx(2.0 * (1.0 + math.exp(-EPSILON)) ** -20)


def test_false_alarms_at_the_boundary_stay_below_the_level() -> None:
    # Laws e^epsilon apart in every outcome, many of them rare; sets chosen and tested on the same outputs.
    rng, level, runs, audits = np.random.default_rng(3), 0.2, 2_000, 400
    grown = math.exp(EPSILON)
    half = 40
    p = np.repeat([grown, 1.0], half) / (half * (1.0 + grown))
    alarms = 0
    for _ in range(audits):
        taken = drawn_by_coins(runs, rng)
        first = rng.choice(2 * half, taken[0], p=p).astype(float)
        second = rng.choice(2 * half, taken[1], p=p[::-1]).astype(float)
        sets = pooled_sets([("x", first, second)], fewest_hits(sum(taken), EPSILON, 0.0, level), rng)
        alarms += bool(sets.p_values(EPSILON, 0.0, level).min() <= level)
    assert stats.binom.sf(alarms - 1, audits, level) > 1e-6


def test_what_one_input_has_beyond_the_other_is_charged() -> None:
    # With probability delta the first input says something that the second never does, as (epsilon, delta) allows.
    rng, level, runs, audits, delta = np.random.default_rng(4), 0.2, 1_000, 300, 0.01
    alarms = without = 0
    for _ in range(audits):
        taken = drawn_by_coins(runs, rng)
        first, second = (rng.integers(0, 10, each).astype(float) for each in taken)
        first[rng.random(taken[0]) < delta] = 99.0
        sets = pooled_sets([("x", first, second)], 2, rng)
        if sets is None:
            continue
        alarms += bool(sets.p_values(0.0, delta, level).min() <= level)
        without += bool(sets.p_values(0.0, 0.0, level).min() <= level)
    assert stats.binom.sf(alarms - 1, audits, level) > 1e-6
    assert without > audits / 2  # were it not charged, most would be alarms
    own, charged = spared(2 * runs, delta, level)
    assert 2.0 * charged <= 0.05 * level < 2.0 * stats.binom.sf(own - 1, 2 * runs, delta / 2.0)


def test_a_lower_end_is_the_claim_that_is_just_refuted() -> None:
    sets = PooledSets(["a"], np.array([30]), np.array([28]), np.ones(1), 1_000)
    for delta in (0.0, 1e-3):
        lower = sets.epsilon_lower(delta, 0.01)
        assert lower > 0.0
        assert sets.p_values(lower, delta, 0.01)[0] <= 0.01 < sets.p_values(lower + 1e-3, delta, 0.01)[0]


def test_sets_are_values_and_tails_and_each_counts_once() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(5_000), rng.random(5_000)
    first[:25] = 0.5
    codes = (first * 0 + (first == 0.5)).astype(np.int64), np.zeros(5_000, dtype=np.int64)
    sets = pooled_sets([("codes", *codes), ("column 1", first, second)], 12, rng)
    assert math.fsum(sets.shares.tolist()) == pytest.approx(1.0)
    found = dict(zip(sets.names, zip(sets.sizes.tolist(), sets.first.tolist(), strict=True), strict=True))
    assert found["one of codes"] == (25, 25)
    assert "0.5 in column 1" not in found
    assert any(name.startswith("at least 0.99") for name in found)
    # What is tried depends on what was drawn, not from where.
    mixed = rng.permutation(np.concatenate([first, second]))
    again = pooled_sets([("column 1", mixed[:5_000], mixed[5_000:])], 12, rng)
    plain = pooled_sets([("column 1", first, second)], 12, rng)
    assert again.names == plain.names
    assert again.sizes.tolist() == plain.sizes.tolist()
    assert pooled_sets([("column 1", np.zeros(9), np.zeros(9))], 2, rng) is None


def test_coins_ask_for_no_more_than_there_is() -> None:
    rng = np.random.default_rng(1)
    assert drawn_by_coins(5, rng) is None
    for _ in range(200):
        taken = drawn_by_coins(100_000, rng)
        assert max(taken) <= 100_000
        assert sum(taken) > 196_000


def test_the_stated_probability_is_found_as_often_as_stated() -> None:
    rng, draws, level = np.random.default_rng(2), 40_000, 0.001
    least = least_probability(draws, 0.2, 0.0, level, 0.95)
    found = 0
    for _ in range(200):
        first, second = (rng.integers(0, 10, draws // 2).astype(float) for _ in range(2))
        first[rng.random(draws // 2) < least] = 99.0
        sets = pooled_sets([("x", first, second)], fewest_hits(draws, 0.2, 0.0, level), rng)
        found += bool(sets is not None and sets.p_values(0.2, 0.0, level).min() <= level)
    assert stats.binom.cdf(found, 200, 0.95) > 1e-6


def test_what_is_charged_for_delta_is_what_the_proof_says() -> None:
    draws, delta, level = 2_000, 1e-3, 0.01
    marked = stats.binom(draws, delta / 2.0)
    own = next(j for j in range(draws) if 2.0 * marked.sf(j) <= 0.05 * level)
    sets = PooledSets([""], np.array([30]), np.array([28]), np.ones(1), draws)
    coins = stats.binom(30 - own, 1.0 / (1.0 + math.exp(-EPSILON)))
    expected = 2.0 * coins.sf(28 - own - 1) + 2.0 * marked.sf(own)
    assert own > 0 < marked.sf(own)
    assert sets.p_values(EPSILON, delta, level)[0] == pytest.approx(expected, rel=1e-12)
    other = PooledSets([""], np.array([30]), np.array([2]), np.ones(1), draws)
    assert other.p_values(EPSILON, delta, level)[0] == pytest.approx(expected, rel=1e-12)
