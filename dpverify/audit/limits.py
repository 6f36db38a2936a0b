"""What an audit looked at, with the size of the fault that each look would have found, and what it did not look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dpverify.shown import Plain

__all__ = ["ELSEWHERE", "Limits", "Look"]

ELSEWHERE = "by a test of another package"
"""What is said of a look that is not ours."""


@dataclass(frozen=True)
class Look:
    """One aspect of an implementation that an audit looked at.

    Parameters
    ----------
    aspect : str
        Such as `view`, `order`, `users`, `datasets`, `tails`, `calls`, `numbers`, `parameters`.
    where : str
        What of it was looked at, in plain words.
    fault : str
        The smallest fault that would have been found with the audit's power; empty where that is not known.
    """

    aspect: str
    where: str
    fault: str = ""

    def __str__(self) -> str:
        return f"{self.aspect}: {self.where}" + (f" (would have shown {self.fault})" if self.fault else "")


@dataclass(frozen=True)
class Limits(Plain):
    """What a verdict rests on, and what it says nothing about.

    Parameters
    ----------
    tested : sequence of Look
        What was looked at.
    not_tested : sequence of str
        What was not, in plain words.
    """

    tested: Sequence[Look] = field(default=())
    not_tested: Sequence[str] = field(default=())
