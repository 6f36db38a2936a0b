"""Which protocols are listed of many that differ in one number: the more of it, the more private."""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from dpverify.claims.base import MechanismClaims, MoreUsers

__all__ = ["alike", "listed_levels"]

_MOST_LISTED = 129
"""So many are listed."""
_USERS = "users"


def alike(protocols: Sequence[Any], claims: MechanismClaims[Any]) -> Iterator[tuple[str, list[int]]]:
    """Yield groups of protocols of one kind that differ in one parameter at most, of which more is no less private.

    - protocols: Of one class.
    - claims: Their twin, which proves that.

    Yields: The name of the parameter, empty where all laws of a group are the same, and which protocols are in it.
    """
    fixed = [_without_users(protocol, claims) for protocol in protocols]
    axis = _axis(fixed, claims)
    if axis:
        yield axis, list(range(len(protocols)))
        return
    ordered = claims.more_users is MoreUsers.NO_WORSE
    groups: dict[Any, list[int]] = {}
    for number, protocol in enumerate(fixed):
        groups.setdefault(_key(dataclasses.replace(protocol, users=1) if ordered else protocol), []).append(number)
    for group in groups.values():
        yield _USERS if ordered else "", group


def listed_levels(values: Sequence[Any], axis: str) -> list[Any]:
    """Return which values to list, in increasing order, least and greatest included: all where they are few.

    What a day costs grows like 1 / n: numbers of users that are evenly spaced in n^(-1/2) lose the least in all. Of
    other parameters nothing is known, and the values are taken evenly by rank.
    """
    known = sorted(set(values))
    if len(known) <= _MOST_LISTED:
        return known
    parts = range(_MOST_LISTED)
    if axis != _USERS:
        return sorted({known[round(i * (len(known) - 1) / (_MOST_LISTED - 1))] for i in parts})
    first, last = known[-1] ** -0.5, known[0] ** -0.5
    wanted = [(first + (last - first) * i / (_MOST_LISTED - 1)) ** -2.0 for i in parts]
    return sorted({known[min(bisect_left(known, at * (1.0 - 1e-9)), len(known) - 1)] for at in wanted} | {known[0]})


def _without_users(protocol: Any, claims: MechanismClaims[Any]) -> Any:
    """Return the protocol with one number of users where that does not matter, and is one of its parameters."""
    known = claims.more_users is MoreUsers.SAME and _USERS in {field.name for field in dataclasses.fields(protocol)}
    return dataclasses.replace(protocol, users=1) if known else protocol


def _axis(protocols: Sequence[Any], claims: MechanismClaims[Any]) -> str:
    """Return the only parameter in which they differ, if more of it is proved to be no less private."""
    if not dataclasses.is_dataclass(protocols[0]):
        return ""
    differ = [
        field.name
        for field in dataclasses.fields(protocols[0])
        if any(_key(getattr(protocol, field.name)) != _key(getattr(protocols[0], field.name)) for protocol in protocols)
    ]
    return differ[0] if len(differ) == 1 and differ[0] in claims.more_private_towards else ""


def _key(value: Any) -> Any:
    """Return what is equal for equal protocols or parameters; those that hold arrays are equal to themselves alone."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
