"""Audits of bitsum implementations: which datasets to run, and the exact laws that the protocol's twin claims there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.diagnosis import likely_parameters
from dpverify.audit.running.target import Runnable, Target
from dpverify.audit.subject import Arrived, Dataset, Messages, Neighbours, Sent, Subject, distinct
from dpverify.claims.bitsum import claims_of
from dpverify.laws.discrete import DiscreteLaw
from protocols.bitsum import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.shuffler import UserMessages, shuffle

__all__ = ["Implementation", "bitsum_subject", "message_by_message"]

_WATCHED_USERS = 200
"""Up to so many users our own protocols run message by message, beyond that by the sampler of their views."""
_SAME_LAW = 1e-9
"""How far apart laws of the same outputs may be: their rounding."""
_MIXED = 20
"""The seed of the order in which users with and without a one come."""

Shuffler = Callable[[UserMessages, np.random.Generator], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Implementation:
    """What can be watched of an implementation of a bitsum.

    - target: `function(bits, rng)` returns the estimate, shape (), or a row of the estimate and the counts of the view.
    - counts: Whether it returns such rows.
    - sent, arrived: See `dpverify.audit.subject.Messages`.
    - name: As in a report.
    """

    target: Target
    counts: bool = False
    sent: Sent | None = None
    arrived: Arrived | None = None
    name: str = "target"

    @classmethod
    def given(
        cls,
        implementation: Any,
        shape: tuple[int, ...],
        reference: Any,
        kind: type,
        own: Callable[[Any], Implementation],
    ) -> Implementation:
        """Return what was given, or of what returns outputs of a shape alone what can be watched of it.

        Of the reference, if nothing was given, and of any other protocol of its kind what `own` returns.
        """
        implementation = reference if implementation is None else implementation
        if implementation is reference or isinstance(implementation, kind):
            return own(implementation)
        if isinstance(implementation, Implementation):
            return implementation
        name = implementation if isinstance(implementation, str) else "target"
        target = implementation if isinstance(implementation, Target) else Target(implementation, shape=shape)
        return cls(target, name=target.name or name)

    @classmethod
    def of(
        cls,
        protocol: BitsumProtocol,
        *,
        aggregated: bool = False,
        shuffler: Shuffler = shuffle,
        watched: bool | None = None,
    ) -> Implementation:
        """Return what can be watched of one of our own protocols.

        - protocol: The implementation; a subclass may override anything.
        - aggregated: Whether to draw views by `sample_view`, which is fast, rather than message by message.
        - shuffler: The shuffler of the message-level path.
        - watched: Whether users' messages and their order are checked too; by default unless aggregated.
        """
        shape = (1 + max(1, len(protocol.alphabet)),)
        if aggregated or not protocol.alphabet:
            target = Target(functools.partial(_aggregated, protocol), True, shape)
        else:
            target = message_by_message(protocol, shuffler, _seen, shape[0])
        if not protocol.alphabet or not (not aggregated if watched is None else watched):
            return cls(target, True, name=repr(protocol))
        return cls.watching(protocol, target, shuffler)

    @classmethod
    def watching(
        cls,
        protocol: Any,
        target: Target,
        shuffler: Shuffler,
        numbered: Callable[[NDArray[np.int64]], NDArray[np.int64]] = np.asarray,
    ) -> Implementation:
        """Return what can be watched of a protocol of ours: a target that counts, its messages and their order.

        - protocol: With `randomize(inputs, rng)`, which returns `UserMessages`.
        - target: What it publishes and the counts behind that.
        - shuffler: See `of`.
        - numbered: Maps the symbols of messages, which may be rows, to one number each.
        """
        sent = functools.partial(_sent, protocol, numbered)
        return cls(target, True, sent, functools.partial(_arrived, protocol, numbered, shuffler), repr(protocol))


def _own(protocol: BitsumProtocol) -> Implementation:
    return Implementation.of(protocol, aggregated=protocol.users > _WATCHED_USERS, watched=True)


def _rows(protocol: BitsumProtocol, views: NDArray[Any]) -> NDArray[np.float64]:
    return np.concatenate([np.asarray(protocol.analyze(views))[..., np.newaxis], views], axis=-1)


def _aggregated(
    protocol: BitsumProtocol, bits: NDArray[Any], rng: np.random.Generator, trials: int
) -> NDArray[np.float64]:
    ones = np.full(trials, int(bits.sum()))
    return _rows(protocol, protocol.sample_view(ones, rng, participants=bits.size))


def _seen(protocol: BitsumProtocol, shuffled: NDArray[np.int64]) -> NDArray[np.float64]:
    return _rows(protocol, protocol.view(shuffled))


def message_by_message(
    protocol: Any, shuffler: Shuffler, seen: Callable[[Any, NDArray[np.int64]], NDArray[np.float64]], width: int
) -> Target:
    """Return a run of a protocol of ours as a target: `seen(protocol, shuffled)` returns a row of so many numbers."""
    return Target(functools.partial(_shuffled, protocol, shuffler, seen), False, (width,))


def _shuffled(
    protocol: Any,
    shuffler: Shuffler,
    seen: Callable[[Any, NDArray[np.int64]], NDArray[np.float64]],
    inputs: NDArray[Any],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    return seen(protocol, shuffler(protocol.randomize(inputs, rng), rng))


def _sent(
    protocol: Any,
    numbered: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    inputs: NDArray[Any],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    messages = protocol.randomize(inputs, rng)
    return numbered(messages.symbols), messages.senders


def _arrived(
    protocol: Any,
    numbered: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    shuffler: Shuffler,
    inputs: NDArray[Any],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    return numbered(shuffler(protocol.randomize(inputs, rng), rng))


def bitsum_subject(
    reference: BitsumProtocol,
    *,
    implementation: Implementation | BitsumProtocol | Runnable | None = None,
    fewer_users: bool = False,
) -> Subject:
    """Return an implementation as a subject: datasets without ones, with one, half and all, in mixed order.

    - reference: What is claimed to run: the protocol with its parameters, whose exact laws are known.
    - implementation: What does run: `function(bits, rng)` returns the estimate of the sum; of a protocol, such as a
      subclass of ours, all messages are watched. `reference` itself when omitted.
    - fewer_users: Whether it promises the same randomizer where fewer users take part than `reference.users`.
    """
    implementation = Implementation.given(implementation, (), reference, BitsumProtocol, _own)
    inputs = _inputs(reference.users, fewer_users)
    datasets = [
        Dataset(name, bits, *_laws(reference, int(bits.sum()), bits.size, implementation.counts))
        for name, bits in inputs.items()
    ]
    at = {name: place for place, name in enumerate(inputs)}
    silent = () if fewer_users else ("fewer users than announced",)
    if not implementation.counts and reference.alphabet:
        silent = (*silent, "the messages behind the estimate, which are what the adversary sees")
    return Subject(
        implementation.name,
        implementation.target,
        datasets,
        tuple(Neighbours(at[one], at[other]) for one, other in _NEIGHBOURS if one in at and other in at),
        _messages(reference, implementation),
        functools.partial(likely_parameters, reference, datasets),
        silent,
        reference,
    )


_NEIGHBOURS = (
    ("no ones", "a single one"),
    ("no ones", "the last user's one"),
    ("half ones", "half ones and one more"),
    ("all ones", "all ones but one"),
)


def _inputs(users: int, fewer_users: bool) -> dict[str, NDArray[np.int64]]:
    """Return the datasets: both extremes, and users in no order between them, each next to a neighbour."""
    zeros, ones = np.zeros(users, dtype=np.int64), np.ones(users, dtype=np.int64)
    mixed = np.random.default_rng(_MIXED).permutation(_sorted_bits(users // 2, users))
    first, last, more, fewer = zeros.copy(), zeros.copy(), mixed.copy(), ones.copy()
    first[0], last[-1], fewer[users // 3] = 1, 1, 0
    more[np.flatnonzero(mixed == 0)[0]] = 1
    inputs = {
        "no ones": zeros,
        "a single one": first,
        "the last user's one": last,
        "half ones": mixed,
        "half ones and one more": more,
        "all ones": ones,
        "all ones but one": fewer,
    }
    if fewer_users:
        inputs["half the users gone"] = mixed[: users - users // 2]
    return distinct(inputs)


def _sorted_bits(ones: int, present: int) -> NDArray[np.int64]:
    return (np.arange(present) < ones).astype(np.int64)


def _laws(
    reference: BitsumProtocol, ones: int, present: int, counts: bool
) -> tuple[dict[int, tuple[str, DiscreteLaw]], tuple[slice, DiscreteLaw] | None]:
    """Return the laws of the columns and of the view, and refuse a twin that states two laws of the same column."""
    claims = claims_of(reference)
    laws = claims.marginals(reference, ones, present)
    names = {0: "estimate"}
    if counts:
        names |= {1 + place: f"count of {symbol:+d}" for place, symbol in enumerate(reference.alphabet)}
    columns = {column: (name, laws[name]) for column, name in names.items() if name in laws}
    if not (counts and reference.alphabet):
        return columns, None  # the estimate is all there is
    try:
        view = claims.view_law(reference, ones, present)
    except ValueError:
        return columns, None  # too many cells for a joint law: the counts are tested one by one
    for column, (name, law) in columns.items():
        made = DiscreteLaw.of(
            view.points[:, column - 1] if column else reference.analyze(view.points), view.pmf, view.outside
        )
        if made.distance(law) > _SAME_LAW:
            raise ValueError(
                f"the claims {claims.name} state two laws of the {name} at {ones} ones of {present} users: that of "
                f"_view and another, which are {made.distance(law):.2g} apart in total variation."
            )
    return columns, (slice(1, None), view)


def _messages(reference: BitsumProtocol, implementation: Implementation) -> Messages | None:
    if implementation.sent is None or implementation.arrived is None:
        return None
    users, symbol = reference.users, reference.alphabet[-1]
    claims = claims_of(reference)
    fewest, most = claims.messages_range(reference)
    return Messages(
        implementation.sent,
        implementation.arrived,
        _sorted_bits(users // 2, users),
        np.zeros(users, dtype=np.int64),
        symbol,
        claims.marginals(reference, 0, 1).get(f"count of {symbol:+d}"),
        fewest,
        most,
    )
