"""One entry of a schedule: a protocol or a step, how often it runs, and how many of its users are honest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpverify.claims.registry import mechanism_claims_of
from dpverify.planning.result import checked_honest
from dpverify.planning.steps.events import is_event, steps_of_event
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer

__all__ = ["Day", "days_of"]


@dataclass(frozen=True)
class Day:
    """One entry of a schedule.

    - protocol: Any protocol whose twin lists its law, or a step of a trusted curator.
    - instances: How many times it runs, at least 1.
    - honest: As for `account`; kept as their number.
    """

    protocol: Any
    instances: int = 1
    honest: Any = None

    def __post_init__(self) -> None:
        check_integer("instances", self.instances, low=1)
        honest = checked_honest(mechanism_claims_of(self.protocol), self.protocol, self.honest)
        object.__setattr__(self, "honest", honest)


def days_of(entries: Sequence[Any]) -> tuple[Day, ...]:
    """Return entries (protocol, instances), (protocol, instances, honest), protocols or days as days, in their order.

    An event of dp-accounting is as many days as it has different steps.

    Raises ValueError or TypeError if there is none, they have no order, or one is out of range.
    """
    if isinstance(entries, str) or not isinstance(entries, Sequence):
        raise TypeError(f"schedule={entries!r} must be a list of (protocol, instances).")
    if not entries:
        raise ValueError("schedule is empty, but must hold at least one (protocol, instances).")
    found = []
    for place, entry in enumerate(entries):
        if isinstance(entry, (tuple, list)):
            if len(entry) not in (2, 3):
                raise ValueError(
                    f"schedule[{place}]={entry!r} must be (protocol, instances) or (protocol, instances, honest)."
                )
        else:
            entry = entry if isinstance(entry, Day) else (entry,)
        if isinstance(entry, Day):
            found.append(entry)
        elif is_event(entry[0]):
            count = check_integer("instances", entry[1] if len(entry) > 1 else 1, low=1)
            found += [Day(step, number * count, *entry[2:]) for step, number in steps_of_event(entry[0])]
        else:
            found.append(Day(*entry))
    return tuple(found)
