"""Mixes that datasets attain, against all mixes."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from dpverify import account
from dpverify.privacy_loss.composing.attained_mix import (
    Choice,
    attained_delta,
    attained_epsilon,
    composed_mix,
    estimated_epsilon,
)
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import mixed_reports, poisson
from protocols.bitsum import RandomizedResponse


def _datasets(users: int, p: float) -> list[PrivacyLossDistribution]:
    return [mixed_reports(users, ones, p).up for ones in range(users)]


def _largest(choices: Sequence[Choice], epsilon: float) -> float:
    """Return the largest divergence of all mixes, by composing each of them."""
    every = [
        itertools.combinations_with_replacement(choice.pairs, choice.count)
        if choice.free
        else [(pair,) * choice.count for pair in choice.pairs]
        for choice in choices
    ]
    mixes = (list(itertools.chain(*parts)) for parts in itertools.product(*every))
    return max(composed_mix(tuple((pair, 1) for pair in mix), 1e-3).delta(epsilon).upper for mix in mixes)


@pytest.mark.long
@pytest.mark.parametrize(("users", "p", "instances"), [(4, 0.29707, 4), (6, 0.49, 3), (5, 0.1, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.9])
def test_no_mix_has_more(users: int, p: float, instances: int, epsilon: float) -> None:
    choices = [Choice(_datasets(users, p), instances)]
    truth = _largest(choices, epsilon)
    found = attained_delta(choices, epsilon, truth or 1e-3)
    assert truth * (1.0 - 1e-4) - 1e-15 <= found <= truth


def test_where_a_pair_is_met_in_all_instances_or_a_loss_is_infinite() -> None:
    choices = [Choice(_datasets(3, 0.0864), 2), Choice(poisson(2.0), 2, free=False), Choice(_datasets(4, 0.214), 1)]
    for epsilon in (0.7234, 3.4):
        truth = _largest(choices, epsilon)
        assert truth * (1.0 - 1e-4) <= attained_delta(choices, epsilon, truth) <= truth


def test_an_epsilon_is_attained_and_more_than_of_any_pair_alone() -> None:
    pairs = _datasets(6, 0.49)
    alone = max(FamilyComposition([pair], 8).epsilon(1e-6).lower for pair in pairs)
    found = attained_epsilon([Choice(pairs, 8)], 1e-6, alone)
    # One instance with one 1 among the others, and seven with three.
    best = composed_mix(((pairs[1], 1), (pairs[3], 7)), 1e-6).epsilon(1e-6)
    assert alone * 1.00005 < best.lower * (1.0 - 1e-6) <= found <= best.upper


def test_an_estimate_is_about_the_composition() -> None:
    pair = mixed_reports(50, 3, 0.2).up
    for instances in (3, 10**6):
        truth = FamilyComposition([pair], instances).epsilon(1e-6).upper
        assert np.isclose(estimated_epsilon(pair, instances, 1e-6), truth, rtol=1e-3)


def test_no_mix_is_looked_for_beyond_an_infinite_epsilon_nor_at_a_tilt_that_overflows() -> None:
    def made(p: list[float], q: list[float]) -> PrivacyLossDistribution:
        return PrivacyLossDistribution.from_pmfs(p, q)

    lost = made([0.5, 0.5], [1.0, 0.0])
    assert attained_epsilon([Choice([made([0.4, 0.6], [0.6, 0.4]), lost], 2)], 1e-3, 0.0) == np.inf
    rare = made([1.0, 2e-28], [1.0, 9e-53])
    assert attained_delta([Choice([made([1.0], [1.0]), rare], 3)], 0.0, 0.5) <= 1e-27
    assert attained_delta([Choice([made([1.0, 0.0], [0.0, 1.0]), rare], 3)], 0.0, 0.5) <= 1.0
    table = (
        [0.36990352787142067, 0.3680554261180409, 0.26204104601053846],
        [0.0, 0.4083826631508483, 0.5916173368491517],
    )
    steep = made([0.9999893518123084, 1.0648187691597247e-05], [1.2575019510010285e-11, 0.999999999987425])
    with np.errstate(over="raise", invalid="raise"):
        assert attained_epsilon([Choice([made(*table), steep], 1)], 1e-10, 0.0) == np.inf


@pytest.mark.parametrize("epsilon", [0.0, 5.0])
def test_days_of_one_of_which_everything_is_told(epsilon: float) -> None:
    p = 0.4999999701976776
    days = [(RandomizedResponse(2, p), 1), (RandomizedResponse(5, 0.279), 1), (RandomizedResponse(6, 1e-300), 1)]
    assert account(days, epsilon=epsilon).delta.upper == 1.0
