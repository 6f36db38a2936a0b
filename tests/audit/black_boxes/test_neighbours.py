"""Pairs of neighbouring inputs: one user differs, and all kinds of others and places are there."""

import numpy as np
import pytest

from dpverify.audit.black_boxes.neighbours import InputPair, changed_bits, input_pairs, neighbouring_inputs


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 5), (-0.5, 2.0)])
def test_one_user_differs_by_the_whole_range(low: float, high: float) -> None:
    pairs = neighbouring_inputs(9, low, high)
    places = set()
    for pair in pairs:
        (place,) = np.flatnonzero(pair.first != pair.second)
        places.add(int(place))
        assert (pair.first[place], pair.second[place]) == (low, high)
        assert pair.first.min() >= low
        assert pair.second.max() <= high
    assert places == {0, 4, 8}
    names = " ".join(pair.name for pair in pairs)
    assert all(kind in names for kind in ("low", "high", "mixed", "random", "middle"))
    # The mixed dataset is not sorted: what depends on the order shows.
    mixed = next(pair.first for pair in pairs if "mixed" in pair.name)
    assert (np.diff(mixed) > 0).any()
    assert (np.diff(mixed) < 0).any()


def test_equal_pairs_come_once() -> None:
    (pair,) = neighbouring_inputs(1)
    assert (pair.first.tolist(), pair.second.tolist()) == ([0], [1])


def test_a_pair_has_a_name() -> None:
    (pair,) = input_pairs(([0], [1]))
    assert pair.name == "the first input against the second"
    assert input_pairs([pair, pair]) == (pair, pair)
    with pytest.raises(ValueError, match="inputs=0"):
        input_pairs([])
    with pytest.raises(ValueError, match="high=1"):
        neighbouring_inputs(3, 1, 1)
    with pytest.raises(ValueError, match=r"high=1e\+308 must be .*, 1e\+300\]"):
        neighbouring_inputs(3, -1e300, 1e308)
    for high, kind in ((7, int), (0.5, float), (2.0**53, float), (1e300, float)):  # of no integers beyond floats
        held = [each for pair in neighbouring_inputs(3, 0, high) for each in (pair.first, pair.second)]
        assert all(each.dtype == kind for each in held)
    assert InputPair("x", [1], [2]).first.dtype == int  # type: ignore[arg-type]


def test_every_bit_changes_once() -> None:
    pairs = changed_bits([3, 128])
    changes = [np.unpackbits(pair.first ^ pair.second, bitorder="little") for pair in pairs]
    np.testing.assert_array_equal(changes, np.eye(16))
    assert pairs[15].name == "bit 7 of byte 1 changes"
    assert all(pair.first.tolist() == [3, 128] for pair in pairs)


def test_inputs_must_differ() -> None:
    # An audit of an input against itself would pass, and say nothing.
    record = np.array([None, "a"], dtype=object)
    for same in (0, [0.0, 1.0], "a", record):
        with pytest.raises(ValueError, match="inputs must differ, but both of 'x' are"):
            InputPair("x", same, np.copy(same))  # type: ignore[arg-type]
    for first, second in ((1, 1.0), (True, 1), ([0.0], [-0.0]), (np.float32(0.5), 0.5)):
        with pytest.raises(ValueError, match=r"^inputs must differ, .* \(.*\); two samplers compare"):
            InputPair("x", first, second)  # type: ignore[arg-type]
    for first, second in (([0], [[0]]), (2**53 + 1, 2.0**53), (record, record[::-1]), ("1", 1), (np.nan, 0.0)):
        InputPair("x", first, second)  # type: ignore[arg-type]
