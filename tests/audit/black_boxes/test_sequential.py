"""Bets on a black box: they refute what is wrong soon, and rarely what is right."""

import numpy as np
import pytest
from scipy import stats

from dpverify.audit.black_boxes.sequential import StagedBets

P = -np.expm1(-1.0)


def rows(bit: int, rng: np.random.Generator, runs: int) -> np.ndarray:
    return (bit + rng.geometric(P, runs) - rng.geometric(P, runs)).astype(float)[:, None]


def bet(claim: float, seed: int, runs: int, level: float = 0.05, pairs: int = 1) -> StagedBets:
    rng = np.random.default_rng(seed)
    outputs = [rows(bit, rng, runs) for bit in (0, 1)]
    bets = StagedBets([(0, 1), (1, 0)][:pairs], [(claim, 0.0)], level=level, detect=0.1, seed=0)
    for start in range(0, runs, 500):
        if bets.update([x[start : start + 500] for x in outputs]):
            break
    return bets


@pytest.mark.long
def test_a_true_claim_is_rarely_refuted() -> None:
    # Exactly at the boundary.
    alarms = sum(bet(1.0, seed, 2_000, level=0.2).refuted_after is not None for seed in range(20))
    assert alarms <= stats.binom.isf(1e-6, 20, 0.2)


@pytest.mark.long
def test_a_wrong_claim_is_refuted_the_sooner_the_more_wrong_it_is() -> None:
    soon = bet(0.2, 1, 64_000).refuted_after
    later = bet(0.9, 2, 64_000, pairs=2).refuted_after
    assert soon <= 1_500 < later
    assert bet(0.2, 1, 2_000).seen_in


def test_the_stages_do_not_depend_on_the_blocks() -> None:
    rng = np.random.default_rng(3)
    outputs = [rows(bit, rng, 1_000) for bit in (0, 1)]
    bets = [StagedBets([(0, 1), (1, 0)], [(0.6, 0.0)], level=1e-6, detect=0.1, seed=0) for _ in range(2)]
    assert bets[0].update(outputs)
    after = next(n for n in range(50, 1_001, 50) if bets[1].update([x[n - 50 : n] for x in outputs]))
    assert bets[0].refuted_after == bets[1].refuted_after
    assert after - 50 < bets[0].refuted_after <= after


def test_pairs_share_one_wealth() -> None:
    rng = np.random.default_rng(3)
    outputs = [rows(bit, rng, 500) for bit in (0, 1)]
    wealth = []
    for places in ([(0, 1)], [(1, 0)], [(0, 1), (1, 0)]):
        bets = StagedBets(places, [(0.6, 0.0)], level=1e-300, detect=0.1, seed=0)
        assert not bets.update(outputs)
        wealth.append(bets.log_wealth)
    assert 1.0 < wealth[2] <= max(wealth[:2])
