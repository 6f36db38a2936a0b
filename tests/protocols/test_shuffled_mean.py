"""The mean of bits by shuffled randomized response."""

import numpy as np
import pytest

from protocols.shuffled_mean import ShuffledMean
from tests.refusals import refused
from tests.samples import assert_mean, assert_same_law, assert_variance

MEAN = ShuffledMean(6, 0.4)


@pytest.mark.parametrize("ones", [0, 2, 6])
def test_the_estimate_is_unbiased_with_the_variance_of_n_coins(ones: int) -> None:
    views = MEAN.sample_view(np.full(50_000, ones), np.random.default_rng(1))
    found = MEAN.analyze(views)
    variance = 6 * 0.2 * 0.8 / (6 * 0.6) ** 2
    assert_mean(found, ones / 6, variance)
    assert_variance(found, ones / 6, variance)


def test_messages_and_aggregates_have_one_law() -> None:
    rng, bits = np.random.default_rng(2), np.arange(6) < 2
    by_message = [round(MEAN.run(bits, rng), 9) for _ in range(4000)]
    sampled = np.round(MEAN.analyze(MEAN.sample_view(np.full(20_000, 2), rng)), 9)
    assert_same_law(by_message, sampled.tolist())


def test_a_report_is_the_bit_or_a_fair_coin() -> None:
    sent = MEAN.with_users(60_000).randomize(np.ones(60_000), np.random.default_rng(3))
    assert sent.per_user(60_000).max() == 1
    assert_mean(sent.symbols, 1.0 - 0.2, 0.16)


def test_fewer_users_have_the_same_randomizer() -> None:
    assert MEAN.with_users(3) == ShuffledMean(3, 0.4)
    with refused("users=0"):
        MEAN.with_users(0)


def test_every_user_has_a_bit() -> None:
    with pytest.raises(ValueError, match=r"^bits has 2 entries, but must have one for each of users=6\.$"):
        MEAN.run([0, 1], np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"^bits holds 7 users, but must hold at most users=6: "):
        MEAN.run([0] * 7, np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"^bits\[0\]=0\.5 must be 0 or 1\.$"):
        MEAN.run([0.5] * 6, np.random.default_rng(1))
