"""Outcomes have the law they are drawn from, and those with the same clocks agree."""

import numpy as np
import pytest

from protocols.user_level.correlated_sampling import CorrelatedSampler
from tests.refusals import refused
from tests.samples import assert_law

LAW = [0.5, 0.3, 0.15, 0.05, 0.0]


def test_outcomes_have_their_law() -> None:
    rng = np.random.default_rng(1)
    drawn = [int(CorrelatedSampler.drawn(5, rng).sample(LAW)) for _ in range(20_000)]
    assert_law(drawn, dict(enumerate(LAW)))


def test_weights_need_no_sum_and_come_in_any_shape() -> None:
    sampler = CorrelatedSampler.drawn(5, np.random.default_rng(2))
    rows = np.random.default_rng(3).random((4, 6, 5))
    found = sampler.sample(rows)
    assert found.shape == (4, 6)
    assert (found == sampler.sample(rows * 7.5)).all()
    assert (found == sampler.sample_logs(np.log(rows))).all()
    assert found[1, 2] == sampler.sample(rows[1, 2])


def test_impossible_outcomes_are_never_drawn() -> None:
    rng = np.random.default_rng(4)
    assert {int(CorrelatedSampler.drawn(3, rng).sample([0, 1, 0])) for _ in range(50)} == {1}


@pytest.mark.parametrize("weights", [[1.0], [[1, 2, 3, 4]], 1.0, [1, 1, -1], [1, np.nan, 1], [1, np.inf, 1], [0, 0, 0]])
def test_weights_are_checked(weights: object) -> None:
    with pytest.raises(ValueError, match=r"^weights .* must .*\.$"):
        CorrelatedSampler.drawn(3, np.random.default_rng(0)).sample(weights)


@pytest.mark.parametrize("logs", [[np.nan, 0, 0], [np.inf, 0, 0], [-np.inf] * 3])
def test_logarithms_are_checked(logs: object) -> None:
    with refused("log_weights"):
        CorrelatedSampler.drawn(3, np.random.default_rng(0)).sample_logs(logs)


def test_a_set_of_outcomes_is_not_empty() -> None:
    with refused("outcomes=0"):
        CorrelatedSampler.drawn(0, np.random.default_rng(0))
