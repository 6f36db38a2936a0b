"""Which cover is chosen for joint changes: many moves take the pieces, few moves never do."""

import math

import pytest

from dpverify.changes import L2Ball, L2Bounded
from dpverify.planning.account import account
from dpverify.privacy_loss.datasets.cover_choice import loss_grid, sharpest
from dpverify.privacy_loss.datasets.covers import Covers
from dpverify.privacy_loss.joint.change_rates import ChangeGrid
from dpverify.privacy_loss.losses.pairs import approximate_dp
from protocols.bitsum import RandomizedResponse


@pytest.mark.long
@pytest.mark.parametrize(
    ("users", "p", "coordinates", "delta", "ball"),
    [(30_000, 0.001, 768, 1e-6, True), (30_000, 0.001, 768, 1e-6, False), (1_600, 0.05, 384, 1e-5, False)],
)
def test_many_moves_are_bounded_within_three_per_mille(
    users: int, p: float, coordinates: int, delta: float, ball: bool
) -> None:
    found = account(RandomizedResponse(users, p), instances=coordinates, squared_change=25.0, ball=ball, delta=delta)
    assert found.epsilon.upper <= 1.003 * found.epsilon.lower


def test_pieces_are_for_many_moves() -> None:
    strong, weak = approximate_dp(1.0, 0.0), approximate_dp(0.5, 0.0)
    covers = Covers([strong], [], pieces=[[weak, weak]])
    many, few = L2Ball(25.0, 768), L2Bounded(4.0, 768)
    assert sharpest(covers, ChangeGrid(many, -math.log(1e-6)), 1e-6, 0.0) == (weak, weak)
    assert sharpest(covers, ChangeGrid(few, -math.log(1e-6)), 1e-6, 0.0) is covers
    assert sharpest(Covers([strong], []), ChangeGrid(many, -math.log(1e-6)), 1e-6, 0.0) == (strong,)


def test_another_pair_must_be_worth_its_time() -> None:
    pair = approximate_dp(0.5, 0.0)
    covers = Covers([pair], [], pieces=[[pair, pair]])
    assert sharpest(covers, ChangeGrid(L2Ball(25.0, 768), -math.log(1e-6)), 1e-6, 0.0) is covers


def test_a_grid_has_a_step_where_there_is_no_spread() -> None:
    spread, largest, step = loss_grid([approximate_dp(0.0, 0.0)])
    assert (spread, largest) == (0.0, 0.0)
    assert step > 0.0
