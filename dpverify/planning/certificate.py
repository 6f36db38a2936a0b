"""Which certificate shows what a protocol guarantees? Sizes, windows and cuts that `checker` needs, found by trying.

What is here only chooses: whether the claim holds is decided by `dpverify.certificates.checker` alone.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from dpverify.changes import Change, Full
from dpverify.claims.registry import mechanism_claims_of
from dpverify.digits import rounded_up, unrounded
from dpverify.files import replaced
from dpverify.guarantee import CapacityError, Number, ThreatModel, exact_number
from dpverify.planning.schedules.day import Day, days_of

__all__ = ["certificate", "certificate_of", "typed_delta", "write_certificate"]

checker: Any = importlib.import_module("dpverify.certificates.checker")  # untyped: integers all through
_NODES = 12_288
"""How many a window may have: twice as many take twice the time, and are a quarter as much too wide."""
_MANY = 768
"""From so many measures together on there are more nodes, as each makes their product wider by as much."""
_MORE = 1.5
"""How many times as many there are for two counts, whose cells make measures wider than nodes do; but fewer if many."""
_LEFT_OUT = 1e-5
"""The share of delta that windows may cut, at either end."""
_SLACK = 4e-3
"""What mixes may add to delta, of it, before there is another cut."""
_MOST_CUTS = 40
_SMALLEST = 1e-11
"""Of epsilon, where any would do: a certificate has none that is 0."""
_PARTS = 2**14
"""Of how many of a nat rough losses are multiples."""
_CELLS, _ALL_CELLS = 1300, 15_000
"""Into how many cells the datasets of randomized response are cut, at most: of an entry, and of all together."""
_COINS = 512
"""Into about how many cells the random reports of a vector sum's other users are cut."""
Losses = list[tuple[float, float]]
"""(probability, loss) of one instance, rounded: what windows are chosen by."""


def certificate(protocol: Any, *, delta: Number, instances: int = 1, honest: Number | None = None) -> dict[str, Any]:
    """Return a certificate of the least epsilon that one can show for a protocol, or several on the same users.

    - protocol: A protocol with a law in `dpverify.certificates.checker`; its parameters are certified as their floats
      print. Or a list of (protocol, instances) or (protocol, instances, honest) on the same users, as for `account`.
    - delta: In (0, 1): of everything together. A decimal is certified as it is, another number as its float prints.
    - instances: How many runs of one protocol, at least 1.
    - honest: How many of the users of one protocol follow it, or below 1 which share of them; all when omitted.

    Returns: What `dpverify check` reads, as JSON: plain integers, strings and lists. Raises TypeError or ValueError for
    a protocol that has no certificate, or an argument out of its range. Raises CapacityError if it would take more than
    the checker does.

    Its rules are proved in docs/certificates.md.
    """
    typed, share = typed_delta(delta)
    if isinstance(protocol, Sequence) and (instances != 1 or honest is not None):
        raise ValueError(f"instances={instances!r} and honest={honest!r} must be omitted: a list says them itself.")
    days = days_of(protocol if isinstance(protocol, Sequence) else [Day(protocol, instances, honest)])
    # Runs of the same law are one entry: their powers are composed by squaring.
    runs: dict[str, int] = {}
    for day in days:
        entry = json.dumps(_typed(day))
        runs[entry] = runs.get(entry, 0) + day.instances * _reports(day.protocol)
    entries = [{"instances": number, **json.loads(entry)} for entry, number in runs.items()]
    tail = math.ceil(math.log2(sum(runs.values()) / share)) + 16
    found = {"format": checker.FORMAT, "epsilon": "1000", "delta": typed, "together": entries, "tail": tail}
    found["bits"] = tail + 40
    try:
        return _completed(found, share)
    except (checker.Refused, ValueError) as reason:
        raise CapacityError(f"No certificate is within reach of the checker: {reason}") from None


def typed_delta(delta: Number, least: float = 0.0) -> tuple[str, float]:
    """Return a delta as a certificate has it, and the float; ValueError if it is not in (0, 1), or has no such form.

    - least: What numbers of the checker can show.
    """
    exact = exact_number("delta", delta)
    if not 0 < exact < 1:
        raise ValueError(f"delta={delta} must be in (0, 1).")
    if exact < least:
        raise ValueError(f"delta={delta} must be at least {rounded_up(least, 2)} for a certificate of so many steps.")
    typed = str(delta).lower() if isinstance(delta, (str, Decimal)) else repr(float(delta))
    typed = typed if checker.TYPED(typed) else unrounded(exact)  # .1 and 1/3, rounded down
    if not checker.TYPED(typed):
        raise ValueError(f"delta={delta} must be at least 1e-99 for a certificate.")
    return typed, float(exact)


def certificate_of(days: Sequence[Any], change: Change, adversary: ThreatModel, delta: str) -> dict[str, Any]:
    """Return the certificate of what a result is about, if that is what certificates can show; see `certificate`.

    - days: All that runs.
    - change: What one user's replacement changes.
    - adversary: Whose view.
    - delta: Of everything together.
    """
    entries = days_of(days)
    if not isinstance(change, Full):
        raise ValueError(f"squared_change={change.squared_change!r} must be omitted: certificates are of full changes.")
    if change.instances < sum(day.instances for day in entries):
        raise ValueError(f"at_most={change.instances} must be omitted: certificates are of users who are in all runs.")
    for day in entries:
        claims = mechanism_claims_of(day.protocol)
        if adversary is not claims.adversaries(day.protocol)[0]:
            raise ValueError(f"threat_model={adversary.value!r} must be the default one of {claims.name}.")
    return certificate(entries, delta=delta)


def write_certificate(path: str | Path, given: dict[str, Any]) -> None:
    """Write a certificate to a file that is whole, or not there."""
    with replaced(Path(path)) as name:
        text = re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), json.dumps(given, indent=1))
        Path(name).write_text(text + "\n", encoding="ascii")


def _typed(day: Day) -> dict[str, Any]:
    """Return the fields of an entry that say which protocol it is."""
    protocol = day.protocol
    name = mechanism_claims_of(protocol).name
    if name not in checker.PROTOCOLS:
        raise TypeError(
            f"protocol={protocol!r} must be one of {', '.join(checker.PROTOCOLS)}, which have certificates."
        )
    if name == "pure" and not protocol.drop_probability:
        name = "3nb"  # the same law, and no decimal of the checker is 0
    shown: dict[str, Any] = {"protocol": name}
    for field in checker.PROTOCOLS[name][1]:
        if field == "honest":
            shown[field] = shown["users"] if day.honest is None else day.honest
        elif field == "cells":
            shown[field] = [0] if name == "rr" else _coins(shown["honest"], protocol)
        else:
            value = getattr(protocol, field) if hasattr(protocol, field) else getattr(protocol.bitsum, field)
            shown[field] = value if checker.FIELDS[field][0] is checker.WHOLE else repr(float(value))
    return shown


def _coins(honest: int, protocol: Any) -> list[int]:
    """Return where the cells of a vector sum begin: those of the numbers of random reports that are likely."""
    mean = 2 * protocol.blanket_probability / (protocol.levels + 1) * (honest - 1)
    spread = 8 * math.sqrt(mean) + 8
    low, high = max(0, math.floor(mean - spread)), min(honest, math.ceil(mean + spread))
    return sorted({0, *range(low, high, max(1, (high - low) // _COINS))})


def _reports(protocol: Any) -> int:
    """Return how many instances a run is: of a vector sum each report is one, if no other block has anything of it."""
    if mechanism_claims_of(protocol).name != "vector-sum":
        return 1
    if not protocol.stratified and protocol.sampled not in (1, protocol.dimension):
        raise TypeError(f"protocol={protocol!r} must be stratified, or sampled 1 or dimension, for a certificate.")
    return int(protocol.sampled)


def _read(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an entry's fields, some of which are still to be found."""
    fields: dict[str, Any] = checker.entry_of({"window": [0, 1], "cuts": []} | entry)[1]
    return fields


def _completed(found: dict[str, Any], delta: float) -> dict[str, Any]:
    """Add grid, windows and cuts, and the epsilon that they show."""
    entries = found["together"]
    rough = checker.Checker(found["bits"], 1, found["tail"], (-checker.MOST_NODES, checker.MOST_NODES))
    losses = [_losses(rough, entry) for entry in entries]
    far = [max(_far(entries, losses, sign, delta * _LEFT_OUT), 0.0) for sign in (-1.0, 1.0)]
    widest = max(abs(loss) for sides in losses for side in sides for _, loss in side)
    many = max(1.0, sum(map(_factors, entries)) / _MANY)
    cells = any(checker.PROTOCOLS[entry["protocol"]][0] is checker.Checker.two_counts for entry in entries)
    nodes = _NODES * (_MORE * many**0.3 if cells else many**0.6)
    most = min(nodes / sum(far), (checker.MOST_NODES - 4) / (1.25 * max(widest, *far)))
    grid = min(16, math.floor(math.log2(most)))
    if grid < 1:
        raise CapacityError("No certificate is within reach: the losses are too large for the checker's nodes.")
    each = 1.0 / math.log1p(2.0**-grid)  # nodes of a nat: where losses are large, some more than 2^grid
    for entry, sides in zip(entries, losses, strict=True):
        reach = math.ceil(max(abs(loss) for side in sides for _, loss in side) * each) + 2
        entry["window"] = [-reach, reach]
    low, high = (math.ceil(end * each) + 2 for end in far)
    found["grid"], found["window"] = grid, [-low, high]
    sizes = found["bits"], grid, found["tail"], found["window"]
    work = checker.Checker(*sizes)
    cut = [entry for entry in entries if checker.PROTOCOLS[entry["protocol"]][2] is checker.CELLS]
    if cut:  # What choosing takes is no work of the checker's. Where there are several the middle one tells of all.
        runs = sum(entry["instances"] for entry in cut)
        room = _room(checker.Checker(*sizes), cut[len(cut) // 2] | {"instances": runs}, Fraction(found["delta"]))
    whole: Any = None
    for entry in reversed(entries):
        entry["cuts"] = []
        if entry in cut:
            most = max(min(_CELLS, _ALL_CELLS // len(cut)), 1)
            entry["cells"] = _cells(entry["honest"], most, room)
        for measures in checker.factors(work, entry["protocol"], entry["window"], _read(entry)):
            if len(measures) > 1 < entry["instances"]:
                entry["cuts"], mixed = _cuts(work, measures, entry["instances"], found["delta"])
                whole = work.product(mixed, whole) if whole else mixed
            else:
                whole = work.followed(measures, entry["instances"], [], whole)
    if whole[2] + 2 * work.apart > Fraction(found["delta"]) * work.one:
        raise CapacityError(f"delta={found['delta']} is less than a certificate leaves out at every epsilon.")
    found["epsilon"] = least_epsilon(work, whole, Fraction(found["delta"]))
    return found


def _factors(entry: dict[str, Any]) -> int:
    """Return how many measures are together in an entry."""
    both = checker.PROTOCOLS[entry["protocol"]][2] is checker.BOTH
    return int(entry["instances"]) * (1 + both)


def _losses(grid: Any, entry: dict[str, Any]) -> list[Losses]:
    """Return the losses of the pairs of one instance, and of their reverses if these are other ones."""
    make, own, how, _ = checker.PROTOCOLS[entry["protocol"]]
    # Two datasets are enough to choose by.
    few = {"cells": sorted({0, entry["honest"] // 2})} if how is checker.CELLS else {}
    values, floor = _read(entry | few), grid.one >> grid.tail
    blocks = make(grid, **{name: values[name] for name in own})
    seen: list[Losses] = []
    for pair in ([atoms] for _, atoms in blocks) if how is checker.CELLS else [blocks]:
        sides: list[dict[int, float]] = [{}, {}]
        for p, q in ((p, q) for atoms in pair for p, q in atoms if min(p, q) > floor):
            at = round(math.log(p / q) * _PARTS)
            for side, mass in zip(sides, (p / grid.one, q / grid.one), strict=True):
                side[at] = side.get(at, 0.0) + mass
        for sign, side in zip((1.0, -1.0), sides, strict=True):
            total = sum(side.values())
            seen.append([(mass / total, sign * at / _PARTS) for at, mass in side.items()])
    return seen


def _far(entries: Sequence[dict[str, Any]], losses: Sequence[list[Losses]], sign: float, share: float) -> float:
    """Return about which total loss is passed with so small a probability: Chernoff's bound."""

    def moment(side: Losses, t: float) -> float:
        largest = max(sign * loss for _, loss in side)
        return math.log(sum(p * math.exp(t * (sign * loss - largest)) for p, loss in side)) + t * largest

    best = math.inf
    for power in range(-12, 24):
        t, total = 2.0 ** (power / 2), 0.0
        for entry, sides in zip(entries, losses, strict=True):
            together = sum if checker.PROTOCOLS[entry["protocol"]][2] is checker.BOTH else max
            total += entry["instances"] * together(moment(side, t) for side in sides)
        best = min(best, (total - math.log(share)) / t)
    return best


def least_epsilon(grid: Any, measure: Any, delta: Fraction) -> str:
    """Return the least epsilon, rounded up to 7 digits, at which a measure's delta is small enough.

    What views that are apart from the measure cost grows with epsilon. All together is convex in e^epsilon: where it is
    too much and grows, epsilon is too large.
    """
    low, high, apart = 0.0, 1000.0, bool(getattr(grid, "apart", 0))

    def at(epsilon: float) -> int:
        return int(grid.delta(measure, Fraction(epsilon)))

    while high - low > 1e-8 * high and high > _SMALLEST:
        middle = (low + high) / 2 if low > 1e-3 else math.sqrt(max(low, 1e-12) * high)
        found = at(middle)
        fits = found <= delta * grid.one or (apart and found < at(middle * (1 + 1e-6)))
        low, high = (low, middle) if fits else (middle, high)
    digits = Decimal(1).scaleb(Decimal(high).adjusted() - 6)
    typed = format(Decimal(high).quantize(digits, ROUND_CEILING), "f")
    if high > 999.0:
        raise CapacityError("No epsilon below 999 is within reach of the checker.")
    if apart and grid.delta(measure, Fraction(typed)) > delta * grid.one:
        raise CapacityError("At no epsilon is delta enough for the distance of shares from their sum.")
    return typed


def _room(grid: Any, entry: dict[str, Any], delta: Fraction) -> list[float]:
    """Return which share of the users may be in one cell of each end, so that it is no worse than the other end.

    Revealing a share of the users costs half of it in epsilon, so that the better end has room for a wide cell.
    """
    honest, flip = entry["honest"], _read(entry)["flip_probability"]
    bad = []
    for k in (0, honest - 1):
        _, atoms = next(grid.responses(0, honest, flip, [k, k + 1][: honest - k]))
        measure = grid.measures([atoms], entry["window"], False)[0]
        bad.append(float(least_epsilon(grid, grid.power({1: measure}, entry["instances"]), delta)))
    return [2 * (1 - one / max(bad)) for one in bad]


def _cells(honest: int, most: int, room: Sequence[float]) -> list[int]:
    """Return where at most so many cells of datasets begin, each below the chord of both ends, which are as bad."""
    if honest <= most:
        return [*range(honest)]

    def cells(width: float) -> list[int]:
        found, at = [], 0
        while at < honest:
            found.append(at)
            at += max(1, int(width + room[0] * honest + (room[1] - room[0]) * at))
        return found

    narrow, wide = 0.0, float(honest)
    while wide - narrow > 0.1:
        width = (narrow + wide) / 2
        narrow, wide = (narrow, width) if len(cells(width)) <= most else (width, wide)
    return cells(wide)


def _cuts(grid: Any, measures: Sequence[Any], times: int, delta: str) -> tuple[list[int], Any]:
    """Return cuts between which mixes are no worse than the worst single ones by much, and the worst of all mixes."""
    known = [{1: measure} for measure in (*measures, grid.worst(measures))]
    ends = [grid.power(powers, times) for powers in known[:2]]
    epsilon = Fraction(max((least_epsilon(grid, end, Fraction(delta)) for end in ends), key=float))
    aim = float(Fraction(delta)) * (1 + _SLACK)

    def at(low: int, high: int) -> tuple[float, Any]:
        block = grid.block(known, low, high, times)
        return float(grid.delta(block, epsilon) / grid.one), block

    blocks = {(0, times): at(0, times)}
    while len(blocks) < _MOST_CUTS:
        (low, high), (worst, _) = max(blocks.items(), key=lambda block: block[1][0])
        if worst <= aim or high - low < 2:
            break
        del blocks[low, high]
        middle = (low + high) // 2
        blocks |= {part: at(*part) for part in pairwise([low, middle, high])}
    return sorted(low for low, _ in blocks if low), grid.worst([block for _, block in blocks.values()])
