"""What an audit looked at, with the size of the fault that each look would have found, and what it did not look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from dpverify.audit.running.calls import COMPARED
from dpverify.audit.subject import Subject
from dpverify.shown import Plain
from dpverify.statistics.family import AuditResult
from protocols.classes.frozen import dataclass

__all__ = ["ELSEWHERE", "Limits", "Look", "scope"]

ELSEWHERE = "by a test of another package"
"""What is said of a look that is not ours."""
_LEAST_EXPECTED = 5
"""How often an outcome must be expected to have a cell of its own."""
_ASPECTS = {
    "privacy of the parameters": ("parameters", "the exact law of the stated parameters, all datasets"),
    "conformance": ("outputs", "against their exact laws"),
    "columns of the view together": ("outputs", "the product of their distances from the middle"),
    "each instance": ("outputs", "every one of many columns: medians and spread"),
    "pairs of instances": ("outputs", "every pair of many columns: the sides of their medians"),
    "sets of instances": ("outputs", "three and four of up to twelve columns: odd numbers above their medians"),
    "dependence of runs": ("calls", "runs on one dataset, at lags up to a hundredth of their number"),
    "repeated runs": ("calls", "whole outputs that come again, at lags up to 1,024 and those that these name"),
    "dependence of near runs": ("calls", "medians, sizes and parities, of up to eight columns and of two"),
    "dependence of runs in a row": ("calls", "codes of two to a hundred runs in a row"),
    "steadiness of runs": ("calls", "places and arcs of cycles, waves, parts of all runs"),
    "repeated outputs": ("seeds", "runs of different blocks"),
    "privacy loss": ("privacy loss", "of what the adversary sees, against its exact law"),
    "lowest digits": ("numbers", "what is left of them, less the nearest outcome of their law"),
    "privacy": ("neighbours", "events of the likelihood ratio, both directions"),
    "message count": ("message count", "of every user"),
    "message order": ("order", "trend, common order and equal neighbours"),
    "message places": ("order", "which users' messages arrive where, with inputs dealt anew; few and many ones"),
    "message positions": ("order", "each of the first and last 512 positions, and sixteenths of a run"),
    "common randomness": ("users", "the sum of their noise, and equal neighbours"),
    "each instance, users": ("users", "each one's median and spread"),
    "pairs of instances, users": ("users", "two who draw together"),
    "sets of instances, users": ("users", "three and four who draw together"),
    "memory of users": ("users", "what one, or the next one, sends again up to eight runs later"),
    "noise of each user": ("users", "how often each one's noise is nothing"),
    "pieces of single users": ("users", "the law of single pieces"),
}
"""Aspect, and what of it was looked at, by how the check's name begins; the longest beginning counts."""


@dataclass(frozen=True)
class Look:
    """One aspect of an implementation that an audit looked at.

    - aspect: Such as `view`, `order`, `users`, `datasets`, `tails`, `calls`, `numbers`, `parameters`.
    - where: What of it was looked at, in plain words.
    - fault: The smallest fault that would have been found with the audit's power; empty where that is not known.
    """

    aspect: str
    where: str
    fault: str = ""

    def __str__(self) -> str:
        return f"{self.aspect}: {self.where}" + (f" (would have shown {self.fault})" if self.fault else "")


@dataclass(frozen=True)
class Limits(Plain):
    """What a verdict rests on, and what it says nothing about.

    - tested: What was looked at.
    - not_tested: What was not, in plain words.
    """

    tested: Sequence[Look] = field(default=())
    not_tested: Sequence[str] = field(default=())


def scope(subject: Subject, results: Sequence[AuditResult], trials: int, guesses: Sequence[Look] = ()) -> Limits:
    """Return the limits of an audit with known laws, from its tests, its runs per dataset and guesses of the input."""
    looks: dict[tuple[str, str], list[str]] = {}
    for result in results:
        name = max((begin for begin in _ASPECTS if result.check.startswith(begin)), key=len, default="")
        aspect, where = _ASPECTS.get(name, (result.check, ELSEWHERE))
        faults = looks.setdefault((aspect, where), [])
        strong = result.power is not None and result.power >= 0.5
        if result.fault and strong and result.fault not in faults:
            faults.append(result.fault)
    names = ", ".join(dataset.name for dataset in subject.datasets)
    tested = [Look(aspect, where, "; ".join(faults)) for (aspect, where), faults in looks.items()]
    tested.insert(0, Look("datasets", names))
    tested += guesses
    if any(dataset.laws for dataset in subject.datasets):
        tested.append(
            Look("tails", f"down to probabilities of {_LEAST_EXPECTED / trials:.2g}; what is rarer is pooled")
        )
    missing = [
        "datasets other than these, and neighbours that differ in another user",
        "several calls on the same users together, time, memory and other side channels",
        *subject.silent_on,
    ]
    if trials > COMPARED:
        missing.append(f"what the runs after the first {COMPARED:,} on a dataset tell of each other")
    if subject.messages is None:
        missing.append("single messages: their order, and whether users share their randomness")
    if not subject.neighbours or not any(result.check.startswith("privacy of") for result in results):
        missing.append("a privacy claim: none was made")
    return Limits(tuple(tested), tuple(missing))
