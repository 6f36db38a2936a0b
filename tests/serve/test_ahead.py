"""What is looked ahead is where sliders go, the likeliest first."""

from dataclasses import replace

import pytest

from dpverify.serve.ahead import Move, ahead, opening
from dpverify.serve.pieces import COARSE, NEXT, SOON, Piece, pieces
from dpverify.serve.state import CONTROLS, State

SMALL = State.read([("bitsum", "rr"), ("users", "50"), ("instances", "2")])


def changes(found: list[Piece]) -> list[tuple[str, str]]:
    """Return what differs from the state, in order, each once."""
    before = SMALL.texts()
    return list(
        dict.fromkeys(
            (name, value) for piece in found for name, value in piece.state.texts().items() if value != before[name]
        )
    )


def test_one_stop_of_every_slider_is_looked_ahead() -> None:
    assert set(changes(ahead(SMALL))) == {
        ("epsilon", "1.5"),
        ("epsilon", "0.7"),
        ("delta", "1e-5"),
        ("delta", "1e-7"),
        ("users", "100"),
        ("users", "20"),
        ("instances", "4"),
        ("instances", "1"),
        ("honest", "0.99"),
    }


@pytest.mark.parametrize(
    ("step", "first"), [(1, ["1e-5", "1e-4", "1e-3", "1e-7"]), (-1, ["1e-7", "1e-8", "1e-9", "1e-5"])]
)
def test_the_slider_that_moved_comes_first_and_goes_on(step: int, first: list[str]) -> None:
    found = ahead(SMALL, Move("delta", step))
    assert changes(found)[:4] == [("delta", value) for value in first]
    # Two stops on are wanted before the curves of the page, and the others after their first points.
    assert {piece.state.delta for piece in found if piece.turn == NEXT} == set(first[:2])
    assert {piece.turn for piece in found} == {NEXT, SOON}
    assert NEXT < COARSE < SOON


def test_what_is_looked_ahead_is_what_a_page_then_asks_first() -> None:
    for there in (replace(SMALL, epsilon="1.5"), replace(SMALL, users=100)):
        looked = {(piece.curve, piece.way) for piece in ahead(SMALL) if piece.state == there}
        wanted = [
            (piece.curve, piece.way) for piece in pieces(there) if piece.way == "exact" and piece.curve != "quick"
        ]
        assert looked == set(wanted[:2])


def test_a_move_is_one_control_up_or_down() -> None:
    assert Move.between(SMALL, replace(SMALL, epsilon="0.7")) == Move("epsilon", -1)
    assert Move.between(SMALL, replace(SMALL, users=1000)) == Move("users", 1)
    assert Move.between(SMALL, SMALL) is None
    assert Move.between(SMALL, replace(SMALL, users=1000, epsilon="2")) is None
    assert Move.between(SMALL, replace(SMALL, bitsum="nb")) is None
    assert Move.between(SMALL, replace(SMALL, squared_change="1")) is None


def test_changes_of_t_squared_are_not_looked_ahead_and_the_work_is_bounded() -> None:
    joint = replace(SMALL, squared_change="1", users=10_000, instances=16)
    found = ahead(joint, Move("squared_change", 1))
    assert {piece.state.squared_change for piece in found} == {"1"}
    assert {piece.way for piece in found} == {"exact"}
    assert len(ahead(joint, Move("users", 1))) <= 2 * (2 * len(CONTROLS) + 2)


def test_a_page_as_it_opens_is_prepared() -> None:
    assert [piece.name for piece in opening()] == ["plan/exact", "profile/exact", "account/exact"]
    assert [piece.name for piece in pieces(State.read([]))][2:5] == [piece.name for piece in opening()]
