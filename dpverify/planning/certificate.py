"""Which certificate shows what a protocol guarantees? Sizes, windows and cuts that `checker` needs, found by trying.

What is here only chooses: whether the claim holds is decided by `dpverify.certificates.checker` alone.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

from dpverify.files import replaced
from dpverify.guarantee import CapacityError, Number, exact_number

__all__ = ["certificate", "write_certificate"]

checker: Any = importlib.import_module("dpverify.certificates.checker")  # untyped: integers all through
_NODES = 12_288
"""How many a window may have: twice as many take twice the time, and are a quarter as much too wide."""
_LEFT_OUT = 1e-5
"""The share of delta that windows may cut, at either end."""
_SLACK = 4e-3
"""What mixes may add to delta, of it, before there is another cut."""
_MOST_CUTS = 40
_CELLS = 1000
"""Into how many cells the datasets of randomized response are cut: one revealed user of so many costs .05 %."""
Losses = list[tuple[float, float]]
"""(probability, loss) of one instance, rounded: what windows are chosen by."""


def certificate(
    protocols: Any, *, delta: Number, instances: int | Sequence[int] = 1, honest: Number | None = None
) -> dict[str, Any]:
    """Return a certificate of the least epsilon that one can show for a protocol, or several on the same users.

    Parameters
    ----------
    protocols : object or sequence of objects
        Protocols with a law in `dpverify.certificates.checker`; their parameters are certified as they print.
    delta : int, float, str, Decimal or Fraction
        In (0, 1): of everything together. A decimal is certified as it is, another number as its float prints.
    instances : int or sequence of ints
        How many runs of each, at least 1.
    honest : number, optional
        How many of the users follow the protocols, or below 1 which share of them; all when omitted.

    Returns
    -------
    dict
        What `dpverify check` reads, as JSON: plain integers, strings and lists.

    Raises
    ------
    TypeError, ValueError
        For a protocol that has no certificate, or an argument out of its range.
    CapacityError
        If it would take more than the checker does.

    Notes
    -----
    Its rules are proved in docs/certificates.md.
    """
    several = protocols if isinstance(protocols, Sequence) else [protocols]
    times = instances if isinstance(instances, Sequence) else [instances] * len(several)
    typed = str(delta).lower() if isinstance(delta, (str, Decimal)) else repr(float(delta))
    share = float(exact_number("delta", delta))
    if not 0.0 < share < 1.0:
        raise ValueError(f"delta={delta} must be in (0, 1).")
    entries = [
        {"instances": number, **_typed(protocol, honest)} for protocol, number in zip(several, times, strict=True)
    ]
    tail = math.ceil(math.log2(sum(times) / share)) + 24
    found = {"format": checker.FORMAT, "epsilon": "1000", "delta": typed, "together": entries, "tail": tail}
    found["bits"] = tail + 40
    try:
        return _completed(found, share)
    except (checker.Refused, checker.Malformed) as reason:
        raise CapacityError(f"No certificate is within reach of the checker: {reason}") from None


def write_certificate(path: str | Path, given: dict[str, Any]) -> None:
    """Write a certificate to a file that is whole, or not there."""
    with replaced(Path(path)) as name:
        Path(name).write_text(json.dumps(given, indent=1) + "\n", encoding="ascii")


def _typed(protocol: Any, honest: Number | None) -> dict[str, Any]:
    """Return the fields of an entry that say which protocol it is."""
    from dpverify.claims.registry import claims_of
    from dpverify.planning.result import checked_honest

    claims = claims_of(protocol)
    name = claims.name
    if name not in checker.PROTOCOLS:
        raise TypeError(
            f"protocol={protocol!r} must be one of {', '.join(checker.PROTOCOLS)}, which have certificates."
        )
    here = checked_honest(claims, protocol, honest)
    shown: dict[str, Any] = {"protocol": name}
    for field in checker.PROTOCOLS[name][1]:
        if field == "honest":
            shown[field] = shown["users"] if here is None else here
        elif field == "revealed":
            shown[field] = max(0, shown["honest"] // _CELLS - 1)
        else:
            value = getattr(protocol, field) if hasattr(protocol, field) else getattr(protocol.bitsum, field)
            shown[field] = value if field in checker.WHOLE else repr(float(value))
    return shown


def _factors(grid: Any, entry: dict[str, Any], window: Any, **others: int) -> list[list[Any]]:
    """Return the measures of an entry, for each count that changes."""
    make, own, _ = checker.PROTOCOLS[entry["protocol"]]
    found: list[list[Any]] = make(grid, window, **{name: checker.value(name, entry[name]) for name in own} | others)
    return found


def _completed(found: dict[str, Any], delta: float) -> dict[str, Any]:
    """Add grid, windows and cuts, and the epsilon that they show."""
    entries = found["together"]
    rough = checker.Grid(found["bits"], 1, found["tail"], (-checker.MOST_NODES, checker.MOST_NODES))
    losses = [_losses(rough, entry) for entry in entries]
    far = [max(_far(entries, losses, sign, delta * _LEFT_OUT), 0.0) for sign in (-1.0, 1.0)]
    widest = max(abs(loss) for sides in losses for side in sides for _, loss in side)
    most = min(_NODES / sum(far), (checker.MOST_NODES - 4) / max(widest, *far))
    grid = min(16, math.floor(math.log2(most)))
    if grid < 1:
        raise CapacityError("No certificate is within reach: the losses are too large for the checker's nodes.")
    for entry, sides in zip(entries, losses, strict=True):
        reach = math.ceil(max(abs(loss) for side in sides for _, loss in side) * 2**grid) + 2
        entry["window"] = [-reach, reach]
    low, high = (math.ceil(end * 2**grid) + 2 for end in far)
    found["grid"], found["window"] = grid, [-low, high]
    work = checker.Grid(found["bits"], grid, found["tail"], found["window"])
    parts = []
    for entry in entries:
        entry["cuts"] = []
        for measures in _factors(work, entry, entry["window"]):
            if len(measures) == 2:
                entry["cuts"] = _cuts(work, measures, entry["instances"], found["delta"])
            parts.append(work.mixes(measures, entry["instances"], entry["cuts"]))
    whole = reduce(work.product, parts)
    if whole[2] > Fraction(found["delta"]) * work.one:
        raise CapacityError(f"delta={found['delta']} is less than what no epsilon covers: there is no certificate.")
    found["epsilon"] = _least(work, whole, Fraction(found["delta"]))
    return found


def _losses(grid: Any, entry: dict[str, Any]) -> list[Losses]:
    """Return the losses of the pairs of one instance, and of their reverses if these are other ones."""
    # A dataset at either end is enough to choose by.
    few = {"revealed": max(entry["honest"] // 2, 1)} if "revealed" in entry else {}
    seen: list[Losses] = []
    floor = grid.one >> grid.tail

    class Seen(checker.Grid):  # type: ignore[misc]
        def measures(self, blocks: Iterable[Any], window: Any, both: bool = True) -> list[Any]:
            atoms = [(p, q) for block in blocks for _, p, _, q in block if min(p, q) > floor]
            for sign in (1.0, -1.0)[: 1 + both]:
                side = [(p if sign > 0 else q, sign * math.log(p / q)) for p, q in atoms]
                total = sum(mass for mass, _ in side)
                seen.append([(mass / total, loss) for mass, loss in side])
            return [(0, [self.one], 0)] * (1 + both)

    _factors(Seen(grid.bits, grid.grid, grid.tail, grid.window), entry, (0, 1), **few)
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
            together = sum if checker.PROTOCOLS[entry["protocol"]][0] is checker.buckets else max
            total += entry["instances"] * together(moment(side, t) for side in sides)
        best = min(best, (total - math.log(share)) / t)
    return best


def _least(grid: Any, measure: Any, delta: Fraction) -> str:
    """Return the least epsilon, rounded up to 7 digits, at which a measure's delta is small enough."""
    low, high = 0.0, 1000.0
    while high - low > 1e-8 * high:
        middle = (low + high) / 2 if low > 1e-3 else math.sqrt(max(low, 1e-12) * high)
        low, high = (low, middle) if grid.delta(measure, Fraction(middle)) <= delta * grid.one else (middle, high)
    digits = Decimal(1).scaleb(Decimal(high).adjusted() - 6)
    return format(Decimal(high).quantize(digits, ROUND_CEILING), "f")


def _cuts(grid: Any, measures: Sequence[Any], times: int, delta: str) -> list[int]:
    """Return cuts between which mixes are no worse than the worst single ones by much."""
    known = [{1: measure} for measure in (*measures, grid.worst(measures))]

    def at(low: int, high: int, epsilon: Fraction) -> float:
        return float(grid.delta(grid.block(known, low, high, times), epsilon) / grid.one)

    ends = [grid.power(powers, times) for powers in known[:2]]
    epsilon = Fraction(max((_least(grid, end, Fraction(delta)) for end in ends), key=float))
    aim = float(Fraction(delta)) * (1 + _SLACK)
    blocks = {(0, times): at(0, times, epsilon)}
    while len(blocks) < _MOST_CUTS:
        (low, high), worst = max(blocks.items(), key=lambda block: block[1])
        if worst <= aim or high - low < 2:
            break
        del blocks[low, high]
        middle = (low + high) // 2
        blocks |= {part: at(*part, epsilon) for part in pairwise([low, middle, high])}
    return sorted(low for low, _ in blocks if low)
