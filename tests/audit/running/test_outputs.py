"""Outputs as rows: different outputs have different rows, equal ones the same row however they are drawn."""

import math
from typing import Any

import numpy as np
import pytest

from dpverify.audit.running.leaves import leaves_of
from dpverify.audit.running.outputs import RowTarget, Samplers
from dpverify.audit.running.target import Target, TargetError

RNG = np.random.default_rng(0)
NONE = np.zeros(1)
DIFFERENT: list[Any] = [
    1,
    1.0,
    True,
    -1,
    0.0,
    -0.0,
    float("nan"),
    float("inf"),
    2**53 + 1,
    2**53 + 2,
    10**400,
    None,
    "1",
    b"1",
    "",
    "x" * 40 + "a",
    "x" * 40 + "b",
    (1,),
    [1],
    (1, 2),
    (2, 1),
    ("ab", "c"),
    ("a", "bc"),
    {"a": 1},
    {"a": 2},
    {1, 2},
    1 + 2j,
    np.array([1.0, 2.0]),
    np.array([1.0, np.nan]),
    np.array([[1.0], [2.0]]),
    np.array(["a", "b"]),
]


def row_of(output: Any, width: int = 3) -> bytes:
    rows = RowTarget.of(Target(lambda x, rng: output), width)(NONE, RNG, 1, "trials")
    assert rows.shape == (1, 1 + width)
    return rows.tobytes()


def test_different_outputs_have_different_rows() -> None:
    for width in (1, 3):
        rows = [row_of(output, width) for output in DIFFERENT]
        repeated = [DIFFERENT[k] for k, row in enumerate(rows) if row in rows[:k]]
        # A list of one number is a number: the same numbers, and no more of them, are the same output.
        assert [entry for entry in repeated if entry not in ([1], (1,))] == []


@pytest.mark.parametrize(
    "outputs",
    [
        [(1.0, math.inf), (2.0, 3.0), (-0.0, 0.0), [1.0, 2.0]],
        [(2**60, 1), (2**70, 2), (3, 4)],
        [(1, 2), [1.0, 2.0], (True, False)],
        [("n", 1, 2.5), ("n", 2, 2.5), ("m", 1)],
        ["yes", "no", "yes"],
        [np.float64(1.5), np.float64(math.nan), np.float64(-0.0)],
        [(np.float64(1.5), 2), (np.float64(2.5), 2), (1.5, 2)],
    ],
    ids=["floats", "large integers", "three types", "with strings", "text", "numpy's numbers", "numpy's and others"],
)
def test_outputs_have_the_same_rows_at_once_and_one_by_one(outputs: list[Any]) -> None:
    width = max(len(leaves_of(output)[1]) for output in outputs)
    stock = iter(outputs)
    rows = RowTarget.of(Target(lambda x, rng: next(stock)), width)(NONE, RNG, len(outputs), "trials")
    assert [row.tobytes() for row in rows] == [row_of(output, width) for output in outputs]


def test_shapes_nests_and_masks_are_part_of_an_output() -> None:
    # As many numbers of one kind, in one order: flattened, all of a group would be the same row.
    groups: list[list[Any]] = [
        [np.zeros(6), np.zeros((2, 3)), np.zeros((3, 2)), [[0.0] * 3] * 2, [[0.0] * 2] * 3, [(0.0,) * 3] * 2],
        [np.zeros(0), [[]], [[], []], np.zeros((2, 0))],
        [[np.zeros(1), np.zeros(1)], [np.zeros(1), np.zeros(1, int)], [np.zeros(1, int), np.zeros(1)]],
        [[[1, 2.5]], [[1.0, 2.5]]],
        [np.ma.array([1, 2], mask=mask) for mask in ([0, 0], [0, 1], [1, 0])],
    ]
    for group in groups:
        rows = [row_of(output, len(leaves_of(group[0])[1])) for output in group]
        assert len(set(rows)) == len(group), group
    matrices = np.arange(12.0).reshape(2, 2, 3)
    batch = RowTarget.of(Target(lambda x, rng, trials: matrices, batch=True), 6)(NONE, RNG, 2, "trials")
    assert [row.tobytes() for row in batch] == [row_of(matrix, 6) for matrix in matrices]
    with pytest.raises(TargetError, match="of type longdouble"):  # a float would cut it
        row_of(np.ones(1, dtype=np.longdouble), 1)


def test_an_output_has_one_row_in_whatever_company() -> None:
    alone = [row_of(output) for output in DIFFERENT]

    def together(inputs: Any, rng: np.random.Generator, trials: int) -> list[Any]:
        return DIFFERENT

    rows = RowTarget.of(Target(together, batch=True), 3)(NONE, RNG, len(DIFFERENT), "trials")
    assert [row.tobytes() for row in rows] == alone
    # Of these numpy makes an array of floats, which would be of another kind, and cut.
    large: list[Any] = [-1, 2**63, 2**63 + 1, 5]
    found = RowTarget.of(Target(lambda x, rng, trials: large, batch=True), 3)(NONE, RNG, 4, "trials")
    assert [row.tobytes() for row in found] == [row_of(output) for output in large]
    assert len({row_of((2**63 + last, 2), 2) for last in range(3)}) == 3
    vectors = np.arange(12.0).reshape(4, 3)
    vectors[1, 1] = np.inf
    batch = RowTarget.of(Target(lambda x, rng, trials: vectors, batch=True), 3)(NONE, RNG, 4, "trials")
    assert [row.tobytes() for row in batch] == [row_of(vector) for vector in vectors]


def test_numbers_are_kept_and_counted() -> None:
    rows = RowTarget.of(Target(lambda x, rng: np.array([0.1, -2.0])), 2)(NONE, RNG, 2, "trials")
    np.testing.assert_array_equal(rows, [[0.0, 0.1, -2.0]] * 2)
    widths = RowTarget.widths(Target(lambda x, rng: (1, "a")))(NONE, RNG, 2, "trials")
    np.testing.assert_array_equal(widths, [31, 31])


def test_a_kept_output_does_not_change_with_the_next() -> None:
    same: list[Any] = [0]

    def growing(inputs: Any, rng: np.random.Generator) -> list[Any]:
        same[0] += 1
        return same

    rows = RowTarget.of(Target(growing), 1)(NONE, RNG, 3, "trials")
    np.testing.assert_array_equal(rows[:, 1], [1, 2, 3])


def test_samplers_run_by_the_input() -> None:
    both = Samplers.of(lambda rng: 1, lambda rng: 2)
    assert [both(np.array([k]), RNG, 1, "trials")[0] for k in (0, 1)] == [1, 2]
    assert " and " in both.shown
    with pytest.raises(ValueError, match="both take the number of trials"):
        Samplers.of(Target(np.sum, batch=True), np.sum)
    first, second = Samplers.of("json:dumps", "json:loads"), Samplers.of("json:dumps", "json:dumps")
    assert first.identity() != second.identity()
    with pytest.raises(TargetError, match="no_such"):
        Samplers.of("json:dumps", "json:no_such").load()


def test_other_things_are_refused() -> None:
    with pytest.raises(TargetError, match="an output is of type function in trials, but outputs must be made of"):
        row_of(lambda: 0)
    with pytest.raises(TargetError, match="1 outputs came of 2 runs"):
        RowTarget.of(Target(lambda x, rng, trials: [0], batch=True), 1)(NONE, RNG, 2, "trials")
