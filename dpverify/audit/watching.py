"""What can be watched of users and their shuffler: how many messages, in which order, and whether users are alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.results import CONTROL, POWER, checked, conforms
from dpverify.audit.subject import Messages
from dpverify.audit.target import TargetError, happened
from dpverify.statistics.family import AuditResult
from dpverify.statistics.positions import PositionCounts
from dpverify.statistics.structure import common_randomness, message_count, message_order
from dpverify.statistics.users import quiet_users

__all__ = ["watched"]

_FEWEST_ORDERS = 30
_FEWEST_DRAWS = 120
_MOST_MESSAGES = 4_000_000
"""Messages that are looked at one by one."""
_MOST_PIECES = 4_000_000
_MOST_PERMUTED = 60_000
"""Messages or pieces that are permuted, some hundred times; thousands of times where they are suspect."""


def watched(messages: Messages, rng: np.random.Generator, trials: int, level: float) -> list[AuditResult]:
    """Test users and shuffler on up to `trials` runs, fewer where there are millions of messages.

    Raises
    ------
    TargetError
        If the target fails while it is watched.
    """
    try:
        totals, pieces = _draws(messages, rng, trials)
        first, positions = _orders(messages, rng, trials)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise TargetError(f"target {happened(error, when='while its messages were watched')}") from error
    return [
        *_counts(messages, totals, level),
        *_order(first, positions, rng, level),
        *_users(messages, pieces, rng, level),
    ]


def _draws(messages: Messages, rng: np.random.Generator, trials: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many messages each quiet user sends, and how many with the symbol, shapes (runs, users)."""
    users = len(messages.quiet)
    runs = max(_FEWEST_DRAWS, min(trials, _MOST_PIECES // users))
    totals, pieces = np.empty((runs, users), dtype=np.int64), np.empty((runs, users), dtype=np.int64)
    for run in range(runs):
        symbols, who = messages.sent(messages.quiet.copy(), rng)
        totals[run] = np.bincount(who, minlength=users)
        pieces[run] = np.bincount(who[symbols == messages.symbol], minlength=users)
    return totals, pieces


def _orders(
    messages: Messages, rng: np.random.Generator, trials: int
) -> tuple[list[NDArray[np.int64]], PositionCounts]:
    """Return the messages of the first runs in the order of their arrival, and where those of all runs stand."""
    first: list[NDArray[np.int64]] = []
    positions, seen = PositionCounts(messages.symbol), 0
    while positions.runs < max(_FEWEST_ORDERS, trials):
        arrived = np.asarray(messages.arrived(messages.inputs.copy(), rng))
        positions.update(arrived)
        seen += arrived.size
        if len(first) < _FEWEST_ORDERS or seen <= _MOST_PERMUTED:
            first.append(arrived)
        elif seen > _MOST_MESSAGES:
            break
    return first, positions


def _counts(messages: Messages, totals: NDArray[np.int64], level: float) -> Iterator[AuditResult]:
    if messages.fewest > 0 or messages.most < np.inf:
        check = message_count(totals, messages.fewest, messages.most)
        yield checked(check, None, len(totals), level, "per user", "a user who sends another number")


def _order(
    first: list[NDArray[np.int64]], positions: PositionCounts, rng: np.random.Generator, level: float
) -> Iterator[AuditResult]:
    if not any(np.unique(sequence).size > 1 for sequence in first):
        return
    permutations = int(3.5 / level)  # three statistics each
    control = message_order([np.sort(sequence) for sequence in first], rng, permutations=CONTROL)
    check = message_order(first, rng, permutations=permutations)
    yield checked(check, control, len(first), level, "after the shuffler", "messages sorted by symbol")
    check, smallest = positions.check(), positions.smallest_shift(level, POWER)
    yield AuditResult(
        f"{check.name}, after the shuffler",
        check.p_value,
        positions.runs,
        "Chernoff bounds, union bound over positions; valid at any number of runs",
        check.evidence,
        f"a position that holds one symbol {100 * smallest:.2g} % of runs more often than chance",
        POWER if smallest < 1.0 else 0.0,
    )


def _users(
    messages: Messages, pieces: NDArray[np.int64], rng: np.random.Generator, level: float
) -> Iterator[AuditResult]:
    users = pieces.shape[1]
    if users > 1:
        permuted = pieces[: max(_FEWEST_DRAWS, _MOST_PERMUTED // users)]
        control = common_randomness(np.repeat(permuted[:, :1], users, axis=1), rng, permutations=CONTROL)
        check = common_randomness(permuted, rng, permutations=int(3.5 / level))
        yield checked(check, control, len(permuted), level, "between users", "one generator for all users")
    if messages.piece is not None:
        yield quiet_users(pieces, messages.piece, level, POWER)
        # One user per run at random would waste the others; they are independent if the check before holds.
        yield conforms("pieces of single users", messages.piece, pieces.ravel(), rng, level, 0.5)
