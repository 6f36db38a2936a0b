"""What can be watched of users and their shuffler: how many messages, in which order, and whether users are alike."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.results import CONTROL, POWER, checked, conforms, independent
from dpverify.audit.running.target import TargetError, happened
from dpverify.audit.subject import Messages
from dpverify.digits import rounded
from dpverify.statistics.family import AuditResult
from dpverify.statistics.instances import Sides
from dpverify.statistics.order.places import message_places
from dpverify.statistics.order.positions import PositionCounts
from dpverify.statistics.order.structure import common_randomness, message_count, message_order
from dpverify.statistics.users import forgetful_users, quiet_users

__all__ = ["WATCHED", "watched"]

_HEAVY = 4
"""The weight of a test by permutations, which takes as many fewer of them."""
WATCHED = 13 + 3 * _HEAVY
"""The weight of all tests together."""
_FEWEST_ORDERS, _FEWEST_LONG_ORDERS = 30, 4
"""Runs whose messages are permuted, however many that makes; and those of thousands of messages."""
_FEWEST_DRAWS = 120
_MOST_MESSAGES = 4_000_000
"""Messages, or what users send of them, that are looked at one by one."""
_OTHER_RUNS, _OTHER_MESSAGES = 2_000, 1_000_000
"""Runs on datasets of few or many ones, each, and messages: a shuffle that shows there shows all the order."""
_FEW = 10
"""Few users are one of so many."""
_PAIRED_USERS = 300
"""Up to so many users are compared two by two."""
_STATISTICS = 4.5
"""Statistics that permutations compare, and a little more."""
_MOST_PERMUTED = 60_000
"""Messages or pieces that are permuted, some hundred times; thousands of times where they are suspect."""


def watched(messages: Messages, rng: np.random.Generator, trials: int, level: float) -> list[AuditResult]:
    """Test users and shuffler on up to `trials` runs, fewer where there are millions of messages.

    Raises TargetError if the target fails while it is watched.
    """
    try:
        totals, pieces = _draws(messages, rng, trials)
        first, positions = _orders(messages, rng, trials)
        in_turn, dealt, held = _mixed(messages, rng, trials)
        others = _others(messages, rng, trials)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise TargetError(f"target {happened(error, when='while its messages were watched')}") from error
    return [
        *_counts(messages, totals, level),
        *_order(first, positions, rng, level),
        *_order_of_mixed(in_turn, dealt, held, rng, level),
        *_order_of_others(others, level),
        *_users(messages, pieces, rng, level),
    ]


def _draws(messages: Messages, rng: np.random.Generator, trials: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many messages each quiet user sends, and how many with the symbol, shapes (runs, users)."""
    users = len(messages.quiet)
    runs = max(_FEWEST_DRAWS, min(trials, _MOST_MESSAGES // users))
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
        if len(first) < _FEWEST_LONG_ORDERS or seen <= _MOST_PERMUTED:
            first.append(arrived)
        elif seen > _MOST_MESSAGES:
            break
    return first, positions


def _mixed(
    messages: Messages, rng: np.random.Generator, trials: int
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.bool_]], list[NDArray[np.bool_]]]:
    """Return the messages of runs on small and large inputs in turn; and of runs on inputs that are dealt anew.

    Of these which users had the larger inputs, and which messages are the symbol, in the order of their arrival.
    """
    users = len(messages.inputs)
    turns = np.argsort(np.arange(users) % max(1, -(-users // 2)), kind="stable")
    in_turn: list[NDArray[np.int64]] = []
    dealt: list[NDArray[np.bool_]] = []
    held: list[NDArray[np.bool_]] = []
    seen = 0
    while len(in_turn) < max(_FEWEST_ORDERS, trials) and (len(in_turn) < _FEWEST_LONG_ORDERS or seen <= _MOST_PERMUTED):
        in_turn.append(np.asarray(messages.arrived(messages.inputs[turns], rng)))
        seen += in_turn[-1].size
    while len(held) < max(_FEWEST_ORDERS, trials) and (len(held) < _FEWEST_ORDERS or seen <= _MOST_MESSAGES):
        order = rng.permutation(users)
        arrived = np.asarray(messages.arrived(messages.inputs[order], rng))
        dealt.append(order >= users // 2)
        held.append(arrived == messages.symbol)
        seen += arrived.size
    return in_turn, dealt, held


Marked = list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]
"""Of some runs, what is marked of what was sent, and which messages are the symbol in the order of their arrival."""


def _others(messages: Messages, rng: np.random.Generator, trials: int) -> dict[str, Marked]:
    """Return runs where few or all but few hold the larger input, and none or all: order may depend on the messages.

    Few users are dealt anew in every run. Where all users hold the same, the messages are marked that were sent from
    the same state of a generator: given these, a shuffler puts messages that are alike in law in any order.
    """
    users = len(messages.inputs)
    runs, few = min(_OTHER_RUNS, max(_FEWEST_ORDERS, trials)), max(1, users // _FEW)
    quiet, ends = messages.quiet[:1], messages.inputs[[0, -1]]
    one = ends[:1] if (ends[0] != quiet[0]).any() else ends[1:]

    def alike(inputs: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        while True:
            state = int(rng.integers(2**63))
            sent, _ = messages.sent(inputs.copy(), np.random.default_rng(state))
            arrived = messages.arrived(inputs.copy(), np.random.default_rng(state))
            yield np.asarray(sent) == messages.symbol, np.asarray(arrived)

    def dealt(larger: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        values = np.concatenate([one.repeat(larger, axis=0), quiet.repeat(users - larger, axis=0)])
        while True:
            order = rng.permutation(users)
            yield order < larger, np.asarray(messages.arrived(values[order], rng))

    found = {"nobody's one": alike(messages.quiet), "all ones": alike(one.repeat(users, axis=0))}
    if few < users // 2:
        found |= {"few ones": dealt(few), "all but few ones": dealt(users - few)}
    drawn: dict[str, Marked] = {}
    for name, each in found.items():
        seen, kept = 0, drawn.setdefault(name, [])
        for marked, arrived in itertools.islice(each, runs):
            kept.append((marked, arrived == messages.symbol))
            seen += arrived.size
            if seen > _OTHER_MESSAGES and len(kept) >= _FEWEST_ORDERS:
                break
    return drawn


def _counts(messages: Messages, totals: NDArray[np.int64], level: float) -> Iterator[AuditResult]:
    if messages.fewest > 0 or messages.most < np.inf:
        check = message_count(totals, messages.fewest, messages.most)
        yield checked(check, None, len(totals), level, "per user", "a user who sends another number")


def _order(
    first: list[NDArray[np.int64]], positions: PositionCounts, rng: np.random.Generator, level: float
) -> Iterator[AuditResult]:
    if not any(np.unique(sequence).size > 1 for sequence in first):
        return
    permutations = int(_STATISTICS / (_HEAVY * level))
    control = message_order([np.sort(sequence) for sequence in first], rng, permutations=CONTROL)
    check = message_order(first, rng, permutations=permutations)
    yield _heavy(checked(check, control, len(first), level, "after the shuffler", "messages sorted by symbol"))
    check, smallest = positions.check(), positions.smallest_shift(level, POWER)
    yield AuditResult(
        f"{check.name}, after the shuffler",
        check.p_value,
        positions.runs,
        "Chernoff bounds, union bound over positions; valid at any number of runs",
        check.evidence,
        f"a position that holds one symbol {rounded(100 * smallest, 2)} % of runs more often than chance",
        POWER if smallest < 1.0 else 0.0,
    )


def _order_of_mixed(
    in_turn: list[NDArray[np.int64]],
    dealt: list[NDArray[np.bool_]],
    held: list[NDArray[np.bool_]],
    rng: np.random.Generator,
    level: float,
) -> Iterator[AuditResult]:
    if not any(np.unique(sequence).size > 1 for sequence in in_turn):
        return
    control = message_order([np.sort(sequence) for sequence in in_turn], rng, permutations=CONTROL)
    check = message_order(in_turn, rng, permutations=int(_STATISTICS / (_HEAVY * level)))
    yield _heavy(checked(check, control, len(in_turn), level, "inputs in turn", "messages sorted by symbol"))
    users = dealt[0].size
    unmoved = [marked[np.arange(each.size) * users // each.size] for marked, each in zip(dealt, held, strict=True)]
    control = message_places(dealt, unmoved)
    yield checked(message_places(dealt, held), control, len(held), level, f"{users} inputs dealt anew", "no shuffle")


def _order_of_others(others: dict[str, Marked], level: float) -> Iterator[AuditResult]:
    for name, runs in others.items():
        sent, held = ([each[side] for each in runs] for side in (0, 1))
        if any(symbols.any() and not symbols.all() for symbols in held):
            unmoved = [marked[np.arange(each.size) * marked.size // each.size] for marked, each in runs]
            yield checked(
                message_places(sent, held), message_places(sent, unmoved), len(held), level, name, "no shuffle"
            )


def _heavy(result: AuditResult) -> AuditResult:
    return replace(result, weight=float(_HEAVY))


def _users(
    messages: Messages, pieces: NDArray[np.int64], rng: np.random.Generator, level: float
) -> Iterator[AuditResult]:
    users = pieces.shape[1]
    if users > 1:
        permuted = pieces[: max(_FEWEST_DRAWS, _MOST_PERMUTED // users)]
        control = common_randomness(np.repeat(permuted[:, :1], users, axis=1), rng, permutations=CONTROL)
        check = common_randomness(permuted, rng, permutations=int(3.5 / level))
        yield _heavy(checked(check, control, len(permuted), level, "between users", "one generator for all users"))
        memory = forgetful_users(pieces)
        control = forgetful_users(np.repeat(pieces[: (len(pieces) + 3) // 4], 4, axis=0))
        yield checked(memory, control, len(pieces), level, "between runs", "noise for four runs in a row")
    if messages.piece is not None and users <= _PAIRED_USERS:
        sides = Sides([messages.piece] * users)
        sides.update(pieces)
        yield from independent(sides, "users", level)
    if messages.piece is not None:
        yield quiet_users(pieces, messages.piece, level, POWER)
        # One user per run at random would waste the others; they are independent if the check before holds.
        yield conforms("pieces of single users", messages.piece, pieces.ravel(), rng, level, 0.5)
