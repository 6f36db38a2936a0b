"""Schedules to and from dp-accounting's events; needs the optional dependency `dp-accounting`.

Only what is exact is translated: the parameters of a mechanism, so that an account of what was imported is proved here
as that of any schedule. (A distribution of dp-accounting's, in which its own rounding is unknown, is another matter:
see `privacy_loss.interop`.) Adjacency is replace-one on both sides. There a Gaussian event has noise of
`noise_multiplier` times the largest norm of a value, of which one is replaced: the sum moves by twice that norm at
most. A bit less 1/2 has norm 1/2, so that noise of standard deviation sigma on a sum of bits is a noise multiplier of
2 sigma.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dpverify.claims.registry import mechanism_claims_of
from dpverify.planning.schedules.schedule import Day, days_of
from dpverify.privacy_loss.losses.interop import ShuffleEvent
from protocols.bitsum import CentralGaussian
from protocols.classes.optional import needing

with needing("The exchange with dp-accounting"):
    import attr
    import dp_accounting

__all__ = ["ProtocolEvent", "from_event", "to_event"]

_TAIL = 1e-24
"""What the exported laws leave out: nothing beside any delta above 1e-12 or so; it is charged."""


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ProtocolEvent(ShuffleEvent):
    """A `ShuffleEvent` that knows its protocol, to be read back."""

    protocol: Any


def to_event(days: Sequence[Any]) -> dp_accounting.DpEvent:
    """Return a schedule as an event for dp-accounting, replace-one adjacency.

    A Gaussian sum becomes a `GaussianDpEvent`, for its `PLDAccountant`, all else a `ProtocolEvent`, for
    `dpverify.privacy_loss.losses.interop.ShuffleAccountant`. Its `RdpAccountant` accepts replace-one adjacency but
    takes such an event as if one value were added or removed, so says half of what replacing one costs (version 0.6).

    - days: As for `account`.

    Raises ValueError if the schedule is empty, or a protocol has no listed law here.
    """
    made = days_of(days)
    for day in made:
        if day.honest is not None:
            raise ValueError(f"honest={day.honest!r} must be omitted: an event is of all users.")
    events = [_repeated(_event(day.protocol), day.instances) for day in made]
    return events[0] if len(events) == 1 else dp_accounting.ComposedDpEvent(events)


def _repeated(event: dp_accounting.DpEvent, count: int) -> dp_accounting.DpEvent:
    return event if count == 1 else dp_accounting.SelfComposedDpEvent(event, count)


def _event(protocol: Any) -> dp_accounting.DpEvent:
    if type(protocol) is CentralGaussian:
        return dp_accounting.GaussianDpEvent(2.0 * protocol.sigma)
    claims = mechanism_claims_of(protocol)
    families = claims.families(protocol, claims.adversaries(protocol)[0], _TAIL)
    if len(families) != 1:
        raise ValueError(f"protocol={protocol!r} must be of one family of pairs to be one event.")
    ((entries, attained),) = families
    return ProtocolEvent(tuple(entries), tuple(attained), protocol)


def from_event(event: dp_accounting.DpEvent) -> tuple[Day, ...]:
    """Return an event of dp-accounting, replace-one adjacency, as a schedule.

    - event: Made of (self-)composed `GaussianDpEvent` and `ProtocolEvent`. Composition there may be adaptive; that the
      runs did not depend on each other's results is for the caller to know.

    Raises ValueError for any other event, and where nothing is left: only what is translated exactly is translated.
    """
    return days_of([Day(protocol, count) for protocol, count in _parts(event, 1)])


def _parts(event: dp_accounting.DpEvent, count: int) -> Iterator[tuple[Any, int]]:
    match event:
        case dp_accounting.NoOpDpEvent():
            return
        case dp_accounting.SelfComposedDpEvent():
            yield from _parts(event.event, count * event.count)
        case dp_accounting.ComposedDpEvent():
            for part in event.events:
                yield from _parts(part, count)
        case dp_accounting.GaussianDpEvent() if event.noise_multiplier > 0.0:
            yield CentralGaussian(1, 0.5 * event.noise_multiplier), count
        case ProtocolEvent():
            yield event.protocol, count
        case _:
            raise ValueError(
                f"event={event!r} must be composed of GaussianDpEvent with noise and ProtocolEvent: no other is "
                "translated exactly."
            )
