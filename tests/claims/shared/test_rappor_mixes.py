"""Totals of several instances: each choice is covered by every cut of the path, and blocks of one are exact."""

import functools
import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from dpverify.claims.rappor.bloom import Split, largest
from dpverify.claims.shared.rappor_mixes import Bits, MixedSplits, corners
from dpverify.guarantee import Interval, PrivacyCurve

SPLITS = st.lists(st.builds(Split, st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=5)


class Weighed:
    """A stand-in for a curve: not monotone along the path, as a mix of both kinds may be worse than either alone."""

    def __init__(self, bits: Bits, lost: float, gained: float, both: float) -> None:
        splits = ((bits.lost + more, bits.gained + bits.either - more) for more in range(bits.either + 1))
        self.value = max(lost * a + gained * b + both * math.sqrt(a * b) for a, b in splits)

    def delta(self, epsilon: float) -> Interval:
        return Interval(self.value, self.value)

    epsilon = delta


def reachable(found: list[Split], instances: int) -> set[Split]:
    sums: set[Split] = {Split(0, 0)}
    for _ in range(instances):
        sums = {Split(a + c, b + d) for (a, b), (c, d) in itertools.product(sums, found)}
    return sums


@given(SPLITS, st.integers(1, 6), st.data())
def test_every_choice_is_in_a_block_of_every_cut(found: list[Split], instances: int, data: st.DataObject) -> None:
    mixes = MixedSplits(found, instances, lambda bits, quick: Weighed(bits, 1.0, 1.0, 0.0), 1e-4)
    last = (len(corners(largest(found))) - 1) * instances
    cuts = sorted(data.draw(st.sets(st.integers(0, last))) | {last})
    blocks = [mixes.cover(first, end) for first, end in zip([0, *(cut + 1 for cut in cuts[:-1])], cuts, strict=True)]
    for lost, gained in reachable(list(largest(found)), instances):
        assert any(
            lost >= block.lost and lost - block.lost + max(gained - block.gained, 0) <= block.either for block in blocks
        )


@given(SPLITS, st.integers(1, 6))
def test_the_path_is_attained(found: list[Split], instances: int) -> None:
    mixes = MixedSplits(found, instances, lambda bits, quick: Weighed(bits, 1.0, 1.0, 0.0), 1e-4)
    last = (len(corners(largest(found))) - 1) * instances
    path = [mixes.total(place) for place in range(last + 1)]
    assert set(path) <= reachable(found, instances)
    assert path == sorted(path)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 30), st.floats(0, 1), st.floats(0, 1), st.floats(0, 5))
def test_neighbours_of_one_bit_are_exact(
    hashes: int, more: int, instances: int, lost: float, gained: float, both: float
) -> None:
    # As of any two values where the filter has fewer bits than two patterns.
    bits = min(hashes + more, 2 * hashes)
    found = [Split(first, bits - first) for first in range(bits - hashes, hashes + 1)]

    @functools.cache
    def weighed(split: Bits, quick: bool = False) -> PrivacyCurve:
        return Weighed(split, lost, gained, both)

    mixes = MixedSplits(found, instances, weighed, 1e-4)
    worst = max(weighed(Bits(*total, 0)).epsilon(0.1).upper for total in reachable(found, instances))
    interval = mixes.epsilon(0.1)
    assert interval.lower <= worst <= interval.upper * (1.0 + 1e-12)
    last = instances * (2 * hashes - bits)
    assert [mixes.cover(place, place) for place in range(last + 1)] == [
        Bits(*mixes.total(place), 0) for place in range(last + 1)
    ]
    if last < 16:
        assert interval.width <= 1e-4 * worst + 1e-12


def test_corners_leave_out_what_lies_below() -> None:
    assert corners([Split(0, 4), Split(1, 2), Split(2, 2), Split(4, 0)]) == (Split(0, 4), Split(2, 2), Split(4, 0))
    assert corners([Split(0, 4), Split(1, 1), Split(4, 0)]) == (Split(0, 4), Split(4, 0))
