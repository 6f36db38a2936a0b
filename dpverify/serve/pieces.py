"""What the page shows of a state, piece by piece: the plans first, then curves, coarse before fine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from dpverify.guarantee import Interval
from dpverify.planning.answers import honest_users
from dpverify.planning.crowds import FRACTIONS
from dpverify.planning.plan import PlanRow
from dpverify.serve import work
from dpverify.serve.desk import Desk
from dpverify.serve.state import CONTROLS, BadState, State
from dpverify.serve.work import Question, Refusal, Way

__all__ = ["Piece", "neighbours", "opening", "pieces", "streamed"]

_COARSE = 3
"""Of so many points of a curve, one is computed first."""
_FEWEST = 100
"""Curves against the number of users begin here."""


@dataclass(frozen=True)
class Piece:
    """A plan, its privacy profile, its epsilon, or one point of a curve.

    Parameters
    ----------
    curve : {"plan", "profile", "account", "users", "epsilon", "honest"}
        What it belongs to; "users" and "epsilon" are errors against that control.
    way : {"published", "exact", "joint"}
        See `dpverify.serve.work.WAYS`.
    state : State
        What is planned.
    x : str
        Where, for a point.
    """

    curve: Literal["plan", "profile", "account", "users", "epsilon", "honest"]
    way: Way
    state: State
    x: str = ""

    @property
    def name(self) -> str:
        """What tells it from the others of a page."""
        return "/".join(filter(None, (self.curve, self.way, self.x)))


def pieces(state: State) -> list[Piece]:
    """Return all pieces of a page, in the order in which they are wanted."""
    ways: list[Way] = ["exact", "published"] if state.squared_change is None else ["exact", "joint", "published"]
    swept = [_swept(state, name, way) for way in ways for name in ("users", "epsilon")]
    shares = [share for share in FRACTIONS if float(share) * state.users >= 1]
    honest = [Piece("honest", way, state, share) for way in ways if way != "published" for share in shares]
    coarse = [piece for curve in swept for piece in curve[::_COARSE]]
    fine = [piece for curve in swept for piece in curve if piece not in coarse and piece.way != "joint"]
    return [*_plans(state, ways), *_first(coarse), *honest, *fine]


def _first_pieces(state: State) -> list[Piece]:
    """Return the pieces that are wanted at once: the plan without joint changes, and its profile."""
    return _plans(state, ["exact"])


def _plans(state: State, ways: list[Way]) -> list[Piece]:
    first, *others = [
        [Piece("plan", way, state), Piece("profile", way, state), Piece("account", way, state)] for way in ways
    ]
    return [*first, *(piece for same in zip(*others, strict=True) for piece in same)]


def _first(swept: list[Piece]) -> list[Piece]:
    """Return them with what takes long, joint changes, at the end."""
    return sorted(swept, key=lambda piece: piece.way == "joint")


def _swept(state: State, name: Literal["users", "epsilon"], way: Way) -> list[Piece]:
    """Return the error at the stops of a slider, whose other plans are then at hand when it moves."""
    if name == "epsilon":
        return [Piece(name, way, replace(state, epsilon=stop), stop) for stop in CONTROLS[name].stops]
    counts = [stop for stop in CONTROLS[name].stops if int(stop) >= _FEWEST]
    return [Piece(name, way, replace(state, users=int(stop)), stop) for stop in counts]


async def _answered(piece: Piece, desk: Desk, rank: tuple[int, ...]) -> dict[str, Any]:
    """Return a piece as plain JSON values: with the key "error" where it is not known, and why."""
    try:
        return {"piece": piece.name, **await _answer(piece, desk, rank)}
    except Refusal as refusal:
        return {"piece": piece.name, "error": str(refusal)}


async def _answer(piece: Piece, desk: Desk, rank: tuple[int, ...]) -> dict[str, Any]:
    question = Question.of(piece.state, piece.way)
    row: PlanRow = await desk.ask(question, work.planned, question, rank=rank, near=question)
    if piece.curve == "plan":
        return {"plan": work.shown(row)}
    if piece.curve == "profile":
        ends = await desk.ask(("profile", question), work.profile, row, rank=rank, near=question)
        return {"points": [{"x": delta, **_both(end)} for delta, end in zip(work.DELTAS, ends, strict=True)]}
    if piece.curve == "account":
        return _both(await desk.ask(("account", question), work.accounted, question, row, rank=rank, near=question))
    if piece.curve == "honest":
        users = honest_users("share", piece.x, piece.state.users)
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
        found.put_nowait(await _answered(piece, desk, (-number, place)))

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


def opening() -> list[Piece]:
    """Return the first pieces of a page that no link says anything of."""
    return _first_pieces(State.read([]))


def neighbours(state: State) -> list[Piece]:
    """Return the first pieces of the states that are one stop of a slider away, but for T^2, whose take long."""
    found: list[Piece] = []
    for name, control in CONTROLS.items():
        if name == "squared_change":
            continue
        place = control.nearest(str(getattr(state, name)))
        for step in (-1, 1):
            if 0 <= place + step < len(control.stops):
                query = {**state.texts(), name: control.stops[place + step]}
                try:
                    found += _first_pieces(State.read(query.items()))
                except BadState:
                    continue
    return found
