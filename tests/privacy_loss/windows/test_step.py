"""Steps are found for every pair, and reach the width that was asked for."""

import math

import pytest

from dpverify.privacy_loss.losses.pairs import binomial_randomized_response, negative_binomial, poisson
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.step import choose_step, least_step
from dpverify.privacy_loss.windows.transform import Composition


@pytest.mark.parametrize("instances", [1, 1000, 100_000])
@pytest.mark.parametrize("delta", [1e-3, 1e-12])
def test_chosen_steps_reach_the_wanted_width(instances: int, delta: float) -> None:
    pair = binomial_randomized_response(30_000, 0.1).up
    step = choose_step(pair, instances, relative_width=1e-5, reference_delta=delta)
    found = Composition([(connect_the_dots(pair, step), instances)]).epsilon(delta)
    assert found.width <= 2e-5 * max(found.upper, 0.05 * pair.losses.std() * math.sqrt(instances))


def test_a_pair_that_loses_nothing_or_everything_has_a_step() -> None:
    for pair in (*negative_binomial(1e-300, 0.5), *binomial_randomized_response(10, 1e-300), *poisson(1.0)):
        assert choose_step(pair, 2, reference_delta=1e-4) > 1e-12


def test_the_least_step_lets_cells_reach_the_losses_of_every_pair() -> None:
    few, many = poisson(1.0).up, poisson(1e-3).up
    assert many.largest_loss > few.largest_loss
    assert least_step([few, many], 64) * 32 == many.largest_loss
