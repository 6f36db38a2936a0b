import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.order.structure import (
    StructureCheck,
    common_randomness,
    fisher,
    grid_exponents,
    message_count,
    message_order,
    repeated_outputs,
)

Sequences = list[np.ndarray]


def sorted_runs(runs: int, users: int, rng: np.random.Generator, flip: float = 0.2) -> Sequences:
    bits = np.arange(users) < users // 2
    return [(bits ^ (rng.random(users) < flip)).astype(int) for _ in range(runs)]


def in_user_order(runs: Sequences, rng: np.random.Generator) -> Sequences:
    return runs


def by_fixed_permutation(runs: Sequences, rng: np.random.Generator) -> Sequences:
    order = np.random.default_rng(3).permutation(runs[0].size)
    return [run[order] for run in runs]


def rotated(runs: Sequences, rng: np.random.Generator) -> Sequences:
    return [np.roll(run, rng.integers(run.size)) for run in runs]


def in_blocks(runs: Sequences, rng: np.random.Generator) -> Sequences:
    return [np.concatenate([rng.permutation(half) for half in np.array_split(run, 2)]) for run in runs]


@pytest.mark.long
@pytest.mark.parametrize("faulty", [in_user_order, by_fixed_permutation, rotated, in_blocks])
def test_no_shuffle_is_seen_in_each_of_its_forms(
    faulty: Callable[[Sequences, np.random.Generator], Sequences],
) -> None:
    rng = np.random.default_rng(1)
    check = message_order(faulty(sorted_runs(40, 20, rng), rng), rng, permutations=4999)
    assert check.p_value < 1e-3


def false_alarms(p_values: list[float], level: float) -> None:
    """At most as many p-values below the level as an exact binomial bound of error 1e-6 allows."""
    alarms = sum(p <= level for p in p_values)
    assert alarms <= stats.binom.ppf(1 - 1e-6, len(p_values), level), (alarms, len(p_values))


def test_permutation_tests_have_their_level() -> None:
    rng = np.random.default_rng(2)
    orders, shared = [], []
    for _ in range(150):
        runs = [rng.permutation(run) for run in sorted_runs(6, 12, rng)]
        orders.append(message_order(runs, rng, permutations=99).p_value)
        shared.append(common_randomness(rng.poisson(0.7, (12, 6)), rng, permutations=99).p_value)
    for p_values in (orders, shared):
        false_alarms(p_values, 0.1)
        # They are no constants: a test that always says 1 has no power.
        assert min(p_values) < 0.3


def test_one_symbol_tells_nothing() -> None:
    assert message_order([np.ones(5, dtype=int)] * 3, np.random.default_rng(0)).p_value == 1.0
    assert message_order([np.array([], dtype=int)], np.random.default_rng(0)).p_value == 1.0


def one_generator(noise: np.ndarray) -> np.ndarray:
    return np.repeat(noise[:, :1], noise.shape[1], axis=1)


def pairs_of_clones(noise: np.ndarray) -> np.ndarray:
    return np.repeat(noise[:, ::2], 2, axis=1)


def cancelling(noise: np.ndarray) -> np.ndarray:
    """The last user's noise takes back that of the others."""
    return np.column_stack([noise[:, 1:], -noise[:, 1:].sum(axis=1)])


@pytest.mark.parametrize("faulty", [one_generator, pairs_of_clones, cancelling])
def test_shared_generators_are_seen(faulty: Callable[[np.ndarray], np.ndarray]) -> None:
    rng = np.random.default_rng(4)
    noise = faulty(rng.poisson(0.5, (100, 10)))
    assert common_randomness(noise, rng, permutations=4999).p_value < 1e-3


def test_repeated_outputs_are_an_exact_binomial_tail() -> None:
    first = np.array([0, 1, 2, 3])
    assert repeated_outputs(first, first, 0.25).p_value == pytest.approx(0.25**4)
    assert repeated_outputs(first, [0, 1, 5, 5], 0.5).p_value == pytest.approx(11 / 16)
    assert repeated_outputs(first, first + 1, 0.25).p_value == 1.0
    assert repeated_outputs(first * 1.0, first * 1.0, 0.0).p_value == 0.0
    # Rows agree only as a whole.
    assert "1 of 2" in repeated_outputs([[1, 2], [3, 4]], [[1, 2], [3, 5]], 0.1).evidence
    with pytest.raises(ValueError, match="second has shape"):
        repeated_outputs(first, first[:2], 0.1)


def test_grid_exponents_are_the_lowest_bits() -> None:
    values = np.array([1.0, 3.0, 6.0, 0.5, 0.1, -0.75, 2.0**60, 0.0])
    expected = [0, 0, 1, -1, -55, -2, 60, 1024]
    assert grid_exponents(values).tolist() == expected
    rng = np.random.default_rng(5)
    bits = rng.integers(-(2**63), 2**63, 200).view(np.float64)  # of all sizes
    small = rng.integers(1, 2**52, 50).view(np.float64)  # below the least that has all its bits
    for value in [*rng.normal(size=50), *bits[np.isfinite(bits)], *small, 5e-324, -(2.0**-1022), np.finfo(float).max]:
        numerator, denominator = float(value).as_integer_ratio()
        assert Fraction(2) ** int(grid_exponents(value)) == Fraction(numerator & -numerator, denominator)


def test_message_count() -> None:
    assert message_count(np.ones(5), 1, 1).p_value == 1.0
    assert message_count([1, 0, 2], 1, 1) == StructureCheck(
        "message count", 0.0, "2 of 3 users sent fewer than 1 or more than 1 messages"
    )
    assert message_count([0, 7]).p_value == 1.0


def test_bad_input() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"noise has shape \(3,\), but must have shape \(runs, users\)"):
        common_randomness([1, 2, 3], rng)
    with pytest.raises(ValueError, match=r"collision=1\.5"):
        repeated_outputs([1], [1], 1.5)
    with pytest.raises(ValueError, match="permutations=0"):
        message_order([[0, 1]], rng, permutations=0)


@pytest.mark.parametrize("more", [False, True])
def test_fishers_level_is_exact_over_all_arrangements(more: bool) -> None:
    runs, all_hits, size = 9, 4, 3
    arrangements = list(itertools.combinations(range(runs), all_hits))
    p_values = fisher([sum(place < size for place in hit) for hit in arrangements], size, all_hits, runs, more=more)
    for level in sorted(set(p_values)):
        assert sum(p <= level for p in p_values) / len(p_values) <= level * (1 + 1e-12)
    assert min(p_values) < 0.1


def test_too_few_count_unless_only_more_do() -> None:
    assert fisher(0, 50, 50, 100) < 1e-12
    assert fisher(0, 50, 50, 100, more=True) == 1.0
