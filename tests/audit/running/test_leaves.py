"""What outputs are made of: strings have features, lengths are told, and parts are rounded whatever holds them."""

import math

import numpy as np
import pytest

from dpverify.audit.running.leaves import leaves_of, leaves_together


def test_strings_have_features_and_what_is_nested_gives_its_length() -> None:
    assert leaves_of("12.5")[1][:3] == [4.0, 12.5, ord("1")]
    assert leaves_of((1, [2.5, None])) == (
        b"tuple 2 int 1;list 2 float 0x1.4000000000000p+1;NoneType None;",
        [1, 2, 2.5, 0],
    )


def test_numbers_of_several_types_are_read_together_as_one_by_one() -> None:
    large = [[2**60, math.inf, True], [10**400, -0.0, False], [-3, math.nan, True]]
    for outputs in (large, [(np.float64(0.1), np.int64(-3), np.bool_(k), 2.5) for k in range(2)]):
        assert str(leaves_together(outputs)) == str([leaves_of(output) for output in outputs])
    ragged = [(1, 2.5), [1, 2.5]], [(1, 2.5), (2.5, 1)], [(1, 2.5), (1, 2.5, 3)], [(1, "a")] * 2, [(1.5, 2.5)] * 2
    assert [leaves_together(outputs) for outputs in (*ragged, [1, 2], [(), ()])] == [None] * 7


@pytest.mark.parametrize("resolution", [1e-6, 0.5, 4.0])
def test_parts_are_rounded_and_their_kinds_are_not(resolution: float) -> None:
    def read(output: object) -> tuple[bytes, list[float]]:
        return leaves_of(output, resolution)

    tiny = resolution / 8
    for made in (
        lambda x: {"a": x, x: 1},
        lambda x: (x, "b"),
        lambda x: {x, 64.0},
        lambda x: [np.array([x, math.nan])],
        lambda x: np.array([x, None]),
        lambda x: complex(x, 1),
        lambda x: (np.float64(x), x),
    ):
        assert read(made(8.0)) == read(made(8.0 + tiny)) != read(made(8.0 + 2 * resolution))
    assert read((1, "a")) != read((1.0, "a"))
    assert read((True, "a")) != read((False, "a"))
    # Shapes and lengths are no numbers of an output, and integers of more than 53 bits are not cut.
    assert read(np.zeros((2, 3))) != read(np.zeros((3, 2)))
    assert read(np.empty((2, 3), dtype=object)) != read(np.empty((3, 2), dtype=object))
    big = 2**60
    for made in (lambda k: [k, "a"], lambda k: np.array([k]), lambda k: np.array([k, "a"], dtype=object)):
        assert (read(made(big)) == read(made(big + 1))) == (resolution > 1.0)
        assert read(made(big)) != read(made(big + 8))
