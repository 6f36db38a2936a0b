"""Bit counts that add up, and the strings that a regression finds behind them."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats

from protocols.rappor.decoder import BitCounts, decode
from protocols.rappor.response import Rappor
from tests.refusals import refused
from tests.samples import FALSE_ALARM, assert_mean, assert_same_law, rows

SMALL = Rappor(3, 2, cohorts=2, f=0.25, p=0.25, q=0.875)
MECHANISM = Rappor(32, 2, cohorts=16, f=0.25, p=0.25, q=0.75)
HELD = {f"word {rank}": 6000 // rank for rank in range(1, 41)}
ABSENT = [f"absent {index}" for index in range(40)]


def counted(values: list[str], seed: int, mechanism: Rappor = SMALL) -> BitCounts:
    cohorts, bits = mechanism.randomize(values, np.random.default_rng(seed))
    return BitCounts.of(mechanism, cohorts, bits[:, 0])


def test_counts_are_those_of_a_loop_and_add_up() -> None:
    cohorts, bits = SMALL.randomize(["a", "b"] * 50, np.random.default_rng(1))
    counts = BitCounts.of(SMALL, cohorts, bits[:, 0])
    for cohort in range(2):
        assert counts.users[cohort] == sum(cohorts == cohort)
        assert counts.ones[cohort].tolist() == [
            sum(bits[user, 0, bit] for user in range(100) if cohorts[user] == cohort) for bit in range(3)
        ]
    parts = [BitCounts.of(SMALL, cohorts[part], bits[part, 0]) for part in (slice(0, 1), slice(1, 70), slice(70, 100))]
    total = parts[0] + parts[1] + parts[2]
    np.testing.assert_array_equal(total.users, counts.users)
    np.testing.assert_array_equal(total.ones, counts.ones)
    empty = BitCounts.of(SMALL, np.zeros(0, dtype=int), np.zeros((0, 3), dtype=bool))
    np.testing.assert_array_equal((total + empty).ones, counts.ones)


@pytest.mark.long
def test_sampled_counts_have_the_law_of_counted_reports() -> None:
    rng = np.random.default_rng(2)
    simulated, sampled = [], []
    for seed in range(4000):
        for found, made in (
            (simulated, counted(["a", "a", "b"], seed)),
            (sampled, BitCounts.sample(SMALL, {"a": 2, "b": 1}, rng)),
        ):
            found.append((*made.users.tolist(), *made.ones.ravel().tolist()))
    assert_same_law(simulated, sampled)


@pytest.mark.long
def test_debiased_counts_are_unbiased_with_the_stated_noise() -> None:
    # In one cohort, where nothing else is random.
    mechanism = Rappor(4, 2, f=0.5, p=0.25, q=0.75)
    rng, values = np.random.default_rng(3), {"a": 20, "b": 5}
    made = [BitCounts.sample(mechanism, values, rng) for _ in range(8000)]
    true = sum(number * mechanism.filter.patterns([value])[0] for value, number in values.items())
    debiased = np.stack([counts.debiased for counts in made])
    assert_mean(debiased, true)
    exact = BitCounts(mechanism, made[0].users, np.zeros((1, 4), dtype=np.int64))
    zero, one = mechanism.report_probabilities
    np.testing.assert_allclose(exact.noise, 25 * zero * (1 - zero) / (one - zero) ** 2)
    np.testing.assert_allclose(
        debiased.var(axis=0), (true * one * (1 - one) + (25 - true) * zero * (1 - zero)) / (one - zero) ** 2, rtol=0.1
    )


def named_too_often(named: int, runs: int) -> bool:
    """Whether strings that nobody holds are named in more than 5 % of the runs."""
    return bool(stats.binomtest(named, runs, 0.05, alternative="greater").pvalue <= FALSE_ALARM)


@pytest.mark.parametrize(("f", "p", "q"), [(0.02, 0.02, 0.5), (0.5, 0.01, 0.1)])
def test_few_users_per_cohort_are_estimated_without_bias(f: float, p: float, q: float) -> None:
    # About five users in each cohort, of whom most bits get no report at all.
    mechanism, rng, scores = Rappor(64, 2, 64, f=f, p=p, q=q), np.random.default_rng(7), []
    for _ in range(20):
        found = decode(BitCounts.sample(mechanism, {"word 1": 100, "word 2": 200}, rng), ["word 1", "word 2", *ABSENT])
        scores.append((found.counts[:2] - [100, 200]) / found.deviations[:2])
    assert abs(np.mean(scores)) < 0.5


@pytest.mark.long
def test_many_candidates_are_no_more_certain_than_said() -> None:
    # Over random hash functions: other strings in every run. 80 candidates of 512 bits.
    rng, scores, named = np.random.default_rng(5), [], 0
    for run in range(150):
        held = {f"{run} {word}": number for word, number in HELD.items()}
        absent = [f"{run} {word}" for word in ABSENT]
        found = decode(BitCounts.sample(MECHANISM, held, rng), [*held, *absent])
        scores.append((found.counts - np.array([*held.values(), *[0] * 40])) / found.deviations)
        named += bool(set(found.found(0.05)) & set(absent))
    assert_mean(np.stack(scores), 0.0)
    assert 0.9 < np.stack(scores)[:, 40:].std() < 1.05
    assert not named_too_often(named, 150)


def test_the_frequent_strings_are_found_in_order() -> None:
    counts = BitCounts.sample(MECHANISM, HELD, np.random.default_rng(5))
    found = decode(counts, [*ABSENT, *HELD]).found()
    assert list(found)[:3] == ["word 1", "word 2", "word 3"]
    assert not set(found) & set(ABSENT)
    assert all(a >= b for a, b in itertools.pairwise(found.values()))


@pytest.mark.long
def test_strings_that_are_not_listed_cost_certainty_and_no_false_names() -> None:
    rng = np.random.default_rng(6)
    heavy = {**HELD, "unlisted": 60_000}
    named = 0
    for _ in range(60):
        counts = BitCounts.sample(MECHANISM, heavy, rng)
        known, blind = (decode(counts, listed) for listed in ([*heavy, *ABSENT], [*HELD, *ABSENT]))
        assert blind.deviations[:40].mean() > 1.5 * known.deviations[:40].mean()
        named += bool(set(blind.found(0.05)) & set(ABSENT))
    assert not named_too_often(named, 60)


def test_more_candidates_than_bits() -> None:
    mechanism = Rappor(32, 2, cohorts=8, f=0.25, p=0.05, q=0.95)
    counts = BitCounts.sample(mechanism, {"a": 3000, "b": 1000}, np.random.default_rng(7))
    found = decode(counts, ["a", "b", *(f"absent {index}" for index in range(500))]).found(1e-3)
    assert list(found) == ["a", "b"]


def test_cohorts_without_users_are_left_out() -> None:
    cohorts, bits = MECHANISM.randomize(["a"] * 4000, np.random.default_rng(8), cohorts=np.arange(4000) % 3)
    assert list(decode(BitCounts.of(MECHANISM, cohorts, bits[:, 0]), ["a", "b"]).found()) == ["a"]


def test_the_candidates_of_several_batches_are_those_of_one() -> None:
    values = rows(np.random.default_rng(9).integers(0, 3, (200, 1)))
    texts = [str(value[0]) for value in values]
    whole = counted(texts, 10, MECHANISM)
    np.testing.assert_array_equal(decode(whole, ["0", "1"]).counts, decode(whole, np.array(["0", "1"])).counts)


@pytest.mark.parametrize(
    ("candidates", "error", "message"),
    [
        ([], ValueError, "candidates is empty, but must hold at least one string."),
        (["a", 1], TypeError, "candidates[1]=1 must be a string."),
        ("ab", TypeError, "candidates='ab' must be a sequence of strings."),
        (
            ["\u00e1", "a\u0301"],
            ValueError,
            "candidates[1]='á' must not have the bits of candidates[0]='á' in every cohort: list each string once, "
            "and have more bits or cohorts.",
        ),
    ],
)
def test_candidates_are_checked(candidates: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        decode(counted(["a"], 11, MECHANISM), candidates)
    assert str(caught.value) == message


@pytest.mark.filterwarnings("error")
def test_one_candidate_of_few_bits_is_decoded_without_a_warning() -> None:
    mechanism = Rappor(4, 1, f=0.1, p=0.1, q=0.9)
    found = decode(BitCounts.sample(mechanism, {"a": 1000}, np.random.default_rng(3)), ["a"])
    assert found.counts == pytest.approx([1000], abs=200)


def test_a_filter_without_room_is_refused() -> None:
    one_bit = Rappor(1, 1, f=0.5, p=0.25, q=0.75)
    with pytest.raises(ValueError, match=r"^candidates\[0\]='a' must leave a bit at 0 in some cohort: have more bits"):
        decode(counted(["a"], 12, one_bit), ["a"])


def test_candidates_that_bits_cannot_tell_apart_are_refused() -> None:
    # One cohort and one hash function: strings with a bit each, which with the constant are more columns than rows.
    mechanism = Rappor(8, 1, f=0.01, p=0.01, q=0.99)
    apart = {int(mechanism.filter.positions([text])[0, 0, 0]): text for text in map(str, range(100))}
    rng = np.random.default_rng(16)
    held = {text: 1000 + 1000 * bit for bit, text in sorted(apart.items())}
    with refused("candidates"):
        decode(BitCounts.sample(mechanism, held, rng), list(apart.values()))


def test_counts_are_checked() -> None:
    with pytest.raises(ValueError, match=r"^bits has shape \(2, 2\), but must have shape \(users, 3\)\.$"):
        BitCounts.of(SMALL, [0, 1], np.zeros((2, 2)))
    with refused("bits"):
        BitCounts.of(SMALL, [0], [[0, 2, 1]])
    with pytest.raises(ValueError, match=r"^cohorts\[0\]=2 must be in \[0, 2\)\.$"):
        BitCounts.of(SMALL, [2], [[0, 1, 1]])
    with pytest.raises(ValueError, match=r"^values\['a'\]=-1 must be an integer in \[0, inf\)\.$"):
        BitCounts.sample(SMALL, {"a": -1}, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"^values has 18000000000000000000 users, but must have at most 2\^62\.$"):
        BitCounts.sample(SMALL, {"a": 9 * 10**18, "b": 9 * 10**18}, np.random.default_rng(0))
    two = np.full(2, 2)
    for users, ones, message in (
        (
            two,
            np.zeros((2, 4), dtype=int),
            r"^ones has shape \(2, 4\) and dtype int64, but must hold integers, \(2, 3\)\.$",
        ),
        (two.astype(float), np.zeros((2, 3), dtype=int), "^users has shape .* must hold integers"),
        (two, np.full((2, 3), 3), "^ones must hold at least 0 and at most as many reports"),
        (two, np.full((2, 3), -1), "^ones must hold at least 0 and at most as many reports"),
    ):
        with pytest.raises(ValueError, match=message):
            BitCounts(SMALL, users, ones)
    nobody = BitCounts.sample(SMALL, {"a": 0}, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"^counts hold no reports, but must hold at least one\.$"):
        decode(nobody, ["a"])
    with pytest.raises(ValueError, match=r"^counts of .* and of .* must not be added\.$"):
        nobody + counted(["a"], 13, MECHANISM)
    with refused("level=1"):
        decode(counted(["a"], 14, MECHANISM), ["a"]).found(1)
