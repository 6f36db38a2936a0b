"""What is likely to be asked next: where the slider that moved goes on, and one stop of every other."""

from __future__ import annotations

from dpverify.serve.pieces import NEXT, SOON, Piece, first_pieces
from dpverify.serve.state import CONTROLS, BadState, State
from protocols.classes.frozen import dataclass

__all__ = ["Move", "ahead", "opening"]

_FARTHEST = 3
"""So many stops further on in the direction of the last move are looked ahead, and one against it."""
_SOON = 2
"""So many of these before the curves of the page."""


@dataclass(frozen=True)
class Move:
    """Which slider was moved last, and which way.

    - name: The control.
    - step ({-1, 1}): Down or up.
    """

    name: str
    step: int

    @classmethod
    def between(cls, before: State, after: State) -> Move | None:
        """Return it; None where more than one control differs, or none."""
        changed = [name for name in CONTROLS if getattr(before, name) != getattr(after, name)]
        if len(changed) != 1 or before.bitsum != after.bitsum:
            return None
        (name,) = changed
        first, then = getattr(before, name), getattr(after, name)
        if first is None or then is None:
            return None
        return cls(name, 1 if CONTROLS[name].nearest(str(then)) > CONTROLS[name].nearest(str(first)) else -1)


def ahead(state: State, move: Move | None = None) -> list[Piece]:
    """Return the first pieces of the states that sliders may go to, the likeliest first.

    Changes of T^2 are not looked ahead: joint plans take long, and the plan without joint changes stays.

    - state: Where they stand.
    - move: How it came to that.
    """
    found: list[Piece] = []
    names = [name for name in CONTROLS if name != "squared_change"]
    if move is not None and move.name in names:
        names.remove(move.name)
        for place, step in enumerate((*range(1, _FARTHEST + 1), -1)):
            found += _at(state, move.name, step * move.step, NEXT if place < _SOON else SOON)
    for name in names:
        for step in (1, -1):
            found += _at(state, name, step, SOON)
    return found


def opening() -> list[Piece]:
    """Return the first pieces of a page that no link says anything of."""
    return [piece for piece in first_pieces(State.read([])) if piece.curve != "quick"]


def _at(state: State, name: str, step: int, turn: int) -> list[Piece]:
    """Return the pieces of the state so many stops of one slider away, if there is one."""
    stops = CONTROLS[name].stops
    place = CONTROLS[name].nearest(str(getattr(state, name))) + step
    if not 0 <= place < len(stops):
        return []
    try:
        there = State.read({**state.texts(), name: stops[place]}.items())
    except BadState:
        return []
    return [piece for piece in first_pieces(there, turn) if piece.curve != "account"]
