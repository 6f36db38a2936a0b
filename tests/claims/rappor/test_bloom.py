"""In how many bits patterns differ, against all patterns and all values."""

import itertools

import pytest

from dpverify.claims.rappor.bloom import Split, largest, splits, splits_of
from protocols.rappor.bloom import BloomFilter


def covers(one: Split, other: Split) -> bool:
    return one.lost >= other.lost and one.gained >= other.gained


@pytest.mark.parametrize(("bits", "hashes"), [(k, h) for k in range(1, 8) for h in range(1, k + 1)])
def test_the_worst_splits_are_those_of_all_patterns(bits: int, hashes: int) -> None:
    patterns = [set(chosen) for size in range(1, hashes + 1) for chosen in itertools.combinations(range(bits), size)]
    every = {Split(len(a - b), len(b - a)) for a in patterns for b in patterns}
    found = splits(BloomFilter(bits, hashes))
    assert set(found) <= every
    assert all(any(covers(worst, other) for worst in found) for other in every)
    assert largest(every) == found


def test_those_of_values_are_those_of_a_loop() -> None:
    bloom, values = BloomFilter(12, 3, 4), [f"value {index}" for index in range(6)]
    every = set()
    for cohort in range(4):
        sets = [set(places[cohort].tolist()) for places in bloom.positions(values)]
        every |= {Split(len(a - b), len(b - a)) for a in sets for b in sets}
    found = splits_of(bloom, values)
    assert found == largest(every)
    assert all(any(covers(worst, other) for worst in found) for other in every)


def test_collisions_leave_fewer_bits() -> None:
    # Two hash functions of one cohort on two bits: some values have both bits.
    bloom = BloomFilter(2, 2)
    assert splits(bloom) == (Split(1, 1),)
    values = [str(index) for index in range(20)]
    sizes = bloom.patterns(values)[:, 0].sum(axis=1)
    both = [value for value, size in zip(values, sizes, strict=True) if size == 2]
    assert splits_of(bloom, both[:2]) == (Split(0, 0),)


def test_one_value_has_no_split() -> None:
    with pytest.raises(ValueError, match=r"^values has 1 strings, but must have at least two\.$"):
        splits_of(BloomFilter(4, 1), ["a"])
