"""The parameters of an experiment meet its budget, and its curator has the noise that it says."""

import functools

import numpy as np
import pytest

from dpverify.planning.account import account
from dpverify.reproduction.accuracy import DELTA, KERNELS, Way, accuracies, central, family_of, planned, squared_change
from tests.reproduction.small import small_setting


@pytest.mark.long
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bitsum", ["rr", "local-rr"])
@pytest.mark.parametrize("way", list(Way))
def test_parameters_meet_the_budget_by_their_own_accounting(kernel: str, bitsum: str, way: Way) -> None:
    protocol = planned(bitsum, way, kernel, 8, "2", 150)
    if protocol is None:
        assert way is Way.PUBLISHED
        return
    change = squared_change(kernel, 8) if way.joint else None
    found = account(protocol, instances=8, delta=float(DELTA), squared_change=change)
    assert found.epsilon.upper <= 2.0 * (1 + 1e-9)


@pytest.mark.long
def test_a_joint_change_is_smaller_than_all_bits_and_needs_less_noise() -> None:
    for kernel in KERNELS:
        assert squared_change(kernel, 64) < 64 / 1.9
        full, joint = (planned("rr", way, kernel, 64, "2", 150) for way in (Way.EXACT, Way.JOINT))
        assert joint.flip_probability < full.flip_probability  # type: ignore[union-attr]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("way", list(Way))
def test_every_way_has_d_bits_per_user(kernel: str, way: Way) -> None:
    family, pairs = family_of(kernel, 8, way)
    assert family.sample(pairs, np.random.default_rng(0)).coordinates == 8


@pytest.mark.long
def test_noise_costs_accuracy_and_little_noise_little() -> None:
    setting = small_setting()
    free = accuracies(setting, "IP", Way.JOINT, None, 2, None)
    private = accuracies(setting, "IP", Way.JOINT, None, 2, functools.partial(planned, "rr", Way.JOINT, "IP", 8, "7"))
    drowned = accuracies(
        setting, "IP", Way.JOINT, None, 2, functools.partial(planned, "rr", Way.JOINT, "IP", 8, "0.01")
    )
    assert free is not None
    assert private is not None
    assert drowned is not None
    assert np.mean(free) > 0.8
    assert np.mean(drowned) + 0.1 < np.mean(private) < np.mean(free) + 0.1
    assert np.mean(central(setting, "IP", None, "7", 2)) > 0.8
    assert np.mean(central(setting, "IP", None, "0.001", 2)) < 0.7


def test_where_nothing_meets_the_budget_there_is_no_accuracy() -> None:
    assert accuracies(small_setting(), "IP", Way.EXACT, None, 1, lambda users: None) is None
