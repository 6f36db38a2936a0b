"""Every user by herself: one without noise is named, and chance is let pass."""

import numpy as np
import pytest

from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.users import forgetful_users, quiet_users

COIN = DiscreteLaw.of([0, 1], [0.75, 0.25])


def pieces(seed: int, runs: int = 400, users: int = 60) -> np.ndarray:
    return (np.random.default_rng(seed).random((runs, users)) < 0.25).astype(np.int64)


def test_the_user_without_noise_is_named() -> None:
    drawn = pieces(1)
    drawn[:, 57] = 0
    result = quiet_users(drawn, COIN, 1e-4, 0.95)
    assert result.p_value < 1e-40
    assert result.details["user"] == 57
    assert result.details["diagnosis"] == "user 57's reports are noisy never, where 25 % of the time is claimed."
    drawn[:40, 57] = 1
    assert "noisy 10 % of the time" in str(quiet_users(drawn, COIN, 1e-4, 0.95).details["diagnosis"])


def test_one_with_too_much_noise_is_seen_too() -> None:
    drawn = pieces(2)
    drawn[:, 3] |= pieces(3)[:, 3]
    assert quiet_users(drawn, COIN, 1e-3, 0.95).details["user"] == 3


def test_what_too_few_runs_cannot_see_is_said() -> None:
    rare = DiscreteLaw.of([0, 1], [0.999, 0.001])
    weak = quiet_users(np.zeros((100, 5), dtype=int), rare, 1e-3, 0.95)
    assert (weak.p_value, weak.power, weak.fault) == (1.0, 0.0, "a user who never adds noise")
    strong = quiet_users(pieces(4), COIN, 1e-3, 0.95)
    assert strong.power == 0.95
    assert strong.p_value > 1e-3
    # The share that is said to be seen is seen that often.
    share = float(strong.fault.split("leaves out ")[1].split(" ")[0]) / 100
    rng, seen = np.random.default_rng(5), 0
    for seed in range(60):
        drawn = pieces(100 + seed)
        drawn[:, 0] &= rng.random(400) >= share
        seen += quiet_users(drawn, COIN, 1e-3, 0.95).p_value <= 1e-3
    assert seen >= 45  # 57 expected; fewer with probability below 1e-6


@pytest.mark.parametrize(("giver", "words"), [(5, "user 5 sends what she"), (6, "user 6 sends what the next user")])
def test_who_uses_a_piece_again_is_named(giver: int, words: str) -> None:
    """Of user 5 herself, or of the user after her: these go around, so 6 is the user before 5 among seven."""
    drawn = pieces(5, runs=2_000, users=7)
    taker = 5 if giver == 5 else 0
    drawn[4::2, taker] = drawn[1:-3:2, giver]
    check = forgetful_users(drawn)
    assert check.p_value < 1e-6
    assert words in check.evidence
    assert "3 apart" in check.evidence
