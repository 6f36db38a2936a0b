"""What the page shows of a state, piece by piece: the plans first, then curves, coarse before fine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Literal

from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.guarantee import Interval
from dpverify.planning.answers import share_of_users
from dpverify.planning.crowds import FRACTIONS
from dpverify.planning.plan import PlanRow
from dpverify.serve import work
from dpverify.serve.desk import Desk
from dpverify.serve.state import CONTROLS, State
from dpverify.serve.work import Question, Refusal, Way
from protocols.classes.frozen import dataclass

__all__ = ["AT_ONCE", "COARSE", "FINE", "HONEST", "NEXT", "SOON", "Piece", "first_pieces", "pieces", "streamed"]

_COARSE = 3
"""Of so many points of a curve, one is computed first."""
_FEWEST = 100
"""Curves against the number of users begin here."""
AT_ONCE, NEXT, COARSE, SOON, HONEST, FINE = range(6)
"""In which order pieces are wanted: the plans, where the slider goes next, a few points of each curve, where any slider
may go, and the rest."""


@dataclass(frozen=True)
class Piece:
    """A plan, its privacy profile, its epsilon, or one point of a curve.

    - curve ({"quick", "plan", "profile", "account", "meaning", "users", "epsilon", "honest"}): What it belongs to;
      "quick" is a plan until there is the best, "users" and "epsilon" are errors against that control.
    - way ({"published", "exact", "joint"}): See `dpverify.serve.work.WAYS`.
    - state: What is planned.
    - x: Where, for a point.
    - turn: When it is wanted, `AT_ONCE` to `FINE`.
    """

    curve: Literal["quick", "plan", "profile", "account", "meaning", "users", "epsilon", "honest"]
    way: Way
    state: State
    x: str = ""
    turn: int = AT_ONCE

    @property
    def name(self) -> str:
        """What tells it from the others of a page."""
        return "/".join(filter(None, (self.curve, self.way, self.x)))


def pieces(state: State) -> list[Piece]:
    """Return all pieces of a page, in the order in which they are wanted."""
    ways: list[Way] = ["exact", "published"] if state.squared_change is None else ["exact", "joint", "published"]
    swept = [_swept(state, name, way) for way in ways for name in ("users", "epsilon")]
    shares = [share for share in FRACTIONS if float(share) * state.users >= 1]
    honest = [Piece("honest", way, state, share, HONEST) for way in ways if way != "published" for share in shares]
    coarse = [piece for curve in swept for piece in curve[::_COARSE]]
    fine = [piece for curve in swept for piece in curve if piece not in coarse and piece.way != "joint"]
    # A formula's point is there in no time: a curve begins before the exact plan is found.
    begun = [piece for piece in coarse if piece.way == "published"][:1]
    first = first_pieces(state)
    return [
        *first[:1],
        *(replace(piece, turn=AT_ONCE) for piece in begun),
        *first[1:],
        *_others(state, ways[1:]),
        Piece("meaning", "exact", state, turn=COARSE),
        *(
            replace(piece, turn=COARSE)
            for piece in sorted(coarse, key=lambda piece: piece.way == "joint")
            if piece not in begun
        ),
        *honest,
        *fine,
    ]


def first_pieces(state: State, turn: int = AT_ONCE) -> list[Piece]:
    """Return what is wanted at once: the plan without joint changes, what it gives, and a quick one until it is there.

    - state: What is planned.
    - turn: When they are wanted; a quick plan is wanted at once or never.
    """
    quick = [Piece("quick", "exact", state)] if turn == AT_ONCE and BITSUM_CLAIMS[state.bitsum].coarse else []
    return [*quick, *(Piece(curve, "exact", state, turn=turn) for curve in ("plan", "profile", "account"))]


def _others(state: State, ways: list[Way]) -> list[Piece]:
    return [Piece(curve, way, state) for curve in ("plan", "profile", "account") for way in ways]


def _swept(state: State, name: Literal["users", "epsilon"], way: Way) -> list[Piece]:
    """Return the error at the stops of a slider, whose other plans are then at hand when it moves."""
    if name == "epsilon":
        return [Piece(name, way, replace(state, epsilon=stop), stop, FINE) for stop in CONTROLS[name].stops]
    counts = [stop for stop in CONTROLS[name].stops if int(stop) >= _FEWEST]
    return [Piece(name, way, replace(state, users=int(stop)), stop, FINE) for stop in counts]


async def _answered(piece: Piece, desk: Desk, rank: tuple[int, ...]) -> dict[str, Any]:
    """Return a piece as plain JSON values: with the key "error" where it is not known, and why."""
    try:
        return {"piece": piece.name, **await _answer(piece, desk, rank)}
    except Refusal as refusal:
        return {"piece": piece.name, "error": str(refusal)}


async def _answer(piece: Piece, desk: Desk, rank: tuple[int, ...]) -> dict[str, Any]:
    question = Question.of(piece.state, piece.way)
    if piece.curve == "quick":
        if desk.knows(question):
            return {}
        return {"plan": work.shown(await desk.ask(("quick", question), work.quickly, question, rank=rank))}
    row: PlanRow = await desk.ask(question, work.planned, question, rank=rank, near=question)
    if piece.curve == "plan":
        return {"plan": work.shown(row)}
    if piece.curve == "profile":
        ends = await desk.ask(("profile", question), work.profile, row, rank=rank, near=question)
        return {"points": [{"x": delta, **_both(end)} for delta, end in zip(work.DELTAS, ends, strict=True)]}
    if piece.curve == "account":
        return _both(await desk.ask(("account", question), work.accounted, question, row, rank=rank, near=question))
    if piece.curve == "meaning":
        return {"rows": await desk.ask(("meaning", question), work.meaning, row, rank=rank, near=question)}
    if piece.curve == "honest":
        users = share_of_users("share", piece.x, piece.state.users)
        return {
            "x": float(piece.x),
            **_both(await desk.ask(("honest", question, users), work.honest, question, row, users, rank=rank)),
        }
    plan = work.shown(row)
    return {"x": float(piece.x), "y": plan["bitsum_rmse"], "proved": plan["proved"]}


def _both(end: Interval) -> dict[str, Any]:
    return {"text": str(end), **end.to_dict()}


async def streamed(wanted: list[Piece], desk: Desk, number: int) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the pieces as they are answered, those together that are at hand; who stops does not wait for the others.

    Parameters
    ----------
    wanted : list of Piece
        The most wanted first.
    desk : Desk
        Who answers.
    number : int
        Of the page: what a later one wants is answered first.
    """
    found: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def put(piece: Piece, place: int) -> None:
        found.put_nowait(await _answered(piece, desk, (-number, piece.turn, place)))

    tasks = [asyncio.create_task(put(piece, place)) for place, piece in enumerate(wanted)]
    try:
        left = len(wanted)
        while left:
            answers = [await found.get()]
            while not found.empty():
                answers.append(found.get_nowait())
            left -= len(answers)
            yield answers
    finally:
        for task in tasks:
            task.cancel()
