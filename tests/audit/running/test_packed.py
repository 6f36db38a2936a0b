"""Packed outputs are the same to the last bit, and small where they take few values."""

import numpy as np
import pytest

from dpverify.audit.running.packed import Packed, PackedOutputs

RNG = np.random.default_rng(2)


@pytest.mark.parametrize(
    "outputs",
    [
        RNG.normal(size=1000),
        RNG.integers(0, 9, (1000, 3)) / 7.0,
        np.c_[np.zeros(500), RNG.normal(size=500)],
        np.array([0.0, -0.0, 1e-300, -0.0]),
        RNG.integers(0, 2, (4, 2, 3)).astype(float),
        np.empty((0, 2)),
    ],
)
def test_nothing_is_lost(outputs: np.ndarray) -> None:
    packed = Packed.of(outputs)
    assert packed.array().tobytes() == outputs.tobytes()
    assert packed.array().shape == packed.shape == outputs.shape


def test_few_values_take_a_byte_each() -> None:
    packed = Packed.of(RNG.integers(0, 21, (1000, 3)).astype(float))
    assert sum(numbers.nbytes + (0 if places is None else places.nbytes) for numbers, places in packed.columns) < 4000


def test_datasets_are_put_together_one_at_a_time() -> None:
    outputs = PackedOutputs(2)
    blocks = [[RNG.integers(0, 5, (10, 2)).astype(float) for _ in range(2)] for _ in range(3)]
    for block in blocks:
        outputs.update(block)
    assert len(outputs) == 2
    for dataset, whole in enumerate(outputs):
        np.testing.assert_array_equal(whole, np.concatenate([block[dataset] for block in blocks]))
    numbers = PackedOutputs(1)
    numbers.update([np.arange(4.0)])
    assert numbers[0].shape == (4, 1)


def test_parts_are_those_of_the_whole() -> None:
    outputs = PackedOutputs(1)
    for seed in range(3):
        outputs.update([np.random.default_rng(seed).normal(size=(5, 4))])
    whole = outputs[0]
    np.testing.assert_array_equal(outputs.part(0, 2), whole[:, 2])
    np.testing.assert_array_equal(outputs.part(0, slice(1, 3)), whole[:, 1:3])
    for most in (3, 5, 8, 15, 99):
        np.testing.assert_array_equal(outputs.part(0, slice(None), most), whole[:most])
