"""Runs as they are typed for `dpverify account`, taken as values: what to compose, or to write down as spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dpverify.guarantee import ThreatModel
from protocols.classes.frozen import dataclass

__all__ = ["AND", "TypedRun", "taken", "typed_runs"]

AND = "--and"
"""Stands between the runs of different protocols."""


@dataclass(frozen=True)
class TypedRun:
    """What was typed behind `dpverify account`, for one protocol.

    - instances: How many runs.
    - delta, epsilon: Where it is to be accounted, if that was typed here.
    - adversary: Whose view, if that can be typed for this protocol.
    - honest: How many of its users follow the protocol, if that was typed here.
    """

    protocol: Any
    instances: int
    delta: str | None
    epsilon: str | None
    adversary: ThreatModel | None
    honest: str | None = None

    @property
    def entry(self) -> tuple[Any, int, str | None]:
        """The run as an entry of a schedule."""
        return self.protocol, self.instances, self.honest


_taken: list[TypedRun] | None = None


def taken(run: TypedRun, **others: object) -> bool:
    """Take a run instead of accounting it, if it is wanted as a value; and return whether it was.

    Raises ValueError if another option was typed that only an account of its own has.
    """
    if _taken is None:
        return False
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name}={value} must be omitted where runs are composed with others.")
    _taken.append(run)
    return True


@contextmanager
def _taking() -> Iterator[list[TypedRun]]:
    global _taken
    before, _taken = _taken, []
    try:
        yield _taken
    finally:
        _taken = before


def typed_runs(words: Sequence[str], run: Callable[[list[str]], int]) -> list[TypedRun]:
    """Return the runs that words describe, `--and` between them.

    - words: What would be typed behind `dpverify account`.
    - run: Runs a command, given all its words.

    Raises ValueError if what stands on a side of `--and` describes no run.
    """
    parts: list[list[str]] = [[]]
    for word in words:
        if word == AND:
            parts.append([])
        else:
            parts[-1].append(word)
    if not all(parts):
        raise ValueError(f"{AND} must stand between two protocols with their options.")
    with _taking() as found:
        for part in parts:
            before = len(found)
            run(["account", *part])
            if len(found) != before + 1:
                raise ValueError(f"`{' '.join(part)}` must be one protocol with its options.")
        return list(found)
