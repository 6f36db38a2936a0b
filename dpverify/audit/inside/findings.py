"""A look inside: what is wrong with the draws of a target, each finding with the line that drew."""

from __future__ import annotations

import functools
import inspect
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.inside.parts import bits_of, parts_of
from dpverify.audit.inside.recording import FRESH, GIVEN, GLOBAL, SYSTEM, Draw, Tape, given, patched, place_of
from dpverify.audit.inside.replay import shift_of
from dpverify.audit.running.target import Target, TargetError
from dpverify.digits import rounded_down, typed
from dpverify.guarantee import Budget
from dpverify.shown import Plain
from dpverify.statistics.bounds.claim_test import curve_p_value
from dpverify.statistics.bounds.claims import CurveClaim
from protocols.classes.frozen import dataclass

__all__ = ["Finding", "findings"]

_WATCHED = 20
"""Runs on each input whose draws are recorded."""
_FRESH = 200
"""Runs in which a draw may change the output before it is called unused."""
_FEWEST, _MOST = 200, 20_000
"""Runs on each input in which parts of the output may vary."""
_CHANGED = 64
"""Other inputs that are tried."""
_STREAM = 2**20
"""Of the runs that are not recorded."""
_WHERE = "a look inside"
_PLACES = 50
Parts = Mapping[str, Any]


@dataclass(frozen=True)
class Finding(Plain):
    """What is wrong, or may be, inside a target.

    - kind: `bare`: a part of the output without noise. `scale`: noise too small for what neighbours differ by.
      `dependence`: draws that depend on the input. `unused`: draws that change nothing. `repeats`: draws that come
      again. `source`: a generator that it should not use. `floats`: noise added in floating point.
    - sentence: What was seen.
    - place: File and line of the target.
    - p_value: Of the claim on the given inputs; 1 for a hint, which says nothing of it. 0 where runs with the same
      draws show it: a proof for those that were seen, if noise is added to all alike, and has the law that it is called
      by.
    """

    plain_as: ClassVar[str] = "kind sentence place p_value refutes"

    kind: str
    sentence: str
    place: str
    p_value: float = 1.0

    @property
    def refutes(self) -> bool:
        """Whether it speaks against the claim, and is no hint."""
        return self.p_value < 1.0

    def __str__(self) -> str:
        return f"{self.kind}{'' if self.refutes else ' (a hint)'}: {self.sentence} [{self.place}]"


def findings(
    target: Target,
    datasets: Sequence[NDArray[Any]],
    pairs: Sequence[tuple[int, int]],
    claim: Budget | CurveClaim | None,
    level: float,
    seed: int = 0,
    seconds: float = 10.0,
) -> tuple[list[tuple[str, str, str, float]], str]:
    """Return the fields of all findings, and what was recorded, as plain values that a process can send.

    - target: Run in this process.
    - datasets, pairs: Inputs, and the places of neighbours among them.
    - level: A bare part of a correct target is called one with at most this probability.
    - seed: Of the given generator, and of replayed draws.
    - seconds: After which no other kind is looked for.

    Raises TargetError if the target fails on the inputs.
    """
    look = _Look(target, datasets, pairs, claim, level, seed, time.monotonic() + seconds)
    with patched() as run:
        look.run = run
        found = list(look.found())
    return [(one.kind, one.sentence, one.place, one.p_value) for one in found], look.recorded


@dataclass
class _Look:
    target: Target
    datasets: Sequence[NDArray[Any]]
    pairs: Sequence[tuple[int, int]]
    claim: Budget | CurveClaim | None
    level: float
    seed: int
    end: float
    run: Callable[..., Any] = lambda *_: None
    recorded: str = ""

    def replay(self, inputs: NDArray[Any], tape: Tape, stream: int = 0) -> dict[str, Any]:
        rng = given(np.random.Generator(np.random.PCG64([self.seed, stream])))
        return parts_of(self.run(tape, self.target.raw, inputs, rng, 1, _WHERE)[0])

    def found(self) -> Iterator[Finding]:
        watched = [
            [self._watched(inputs, place, at) for at in range(_WATCHED)] for place, inputs in enumerate(self.datasets)
        ]
        every = [draw for own in watched for draws in own for draw in draws]
        bare = list(self._bare())
        yield from bare
        if not every:
            self.recorded = "nothing was recorded: draws, if any, are outside Python"
            return
        places = dict.fromkeys(draw.place for draw in every)
        self.recorded = f"{len(every):,} draws in {sum(map(len, watched))} runs, at {', '.join(list(places)[:5])}"
        yield from _sources(every)
        yield from _repeats(watched[0])
        for first, second in self.pairs:
            if self.datasets[first].shape == self.datasets[second].shape:
                yield from _dependence(watched[first], watched[second])
        inputs = self.datasets[0]
        if any(self.replay(inputs, Tape(1)) != self.replay(inputs, Tape(1), 1) for _ in range(3)):
            self.recorded += "; others are outside Python, so that nothing was replayed"
            return
        yield from self._unused(list(places), every)
        # What never varies differs under any draws.
        yield from (one for one in self._shifts((1, 2, 3)) if not (bare and one.kind == "bare"))

    def _watched(self, inputs: NDArray[Any], place: int, at: int) -> list[Draw]:
        tape = Tape()
        self.replay(inputs, tape, place * _WATCHED + at)
        return tape.draws

    @property
    def _points(self) -> tuple[tuple[float, float], ...]:
        if isinstance(self.claim, CurveClaim):
            return self.claim.points
        return ((0.0, 0.0),) if self.claim is None else ((self.claim.epsilon, self.claim.delta),)

    def _bare(self) -> Iterator[Finding]:
        epsilon = min(each for each, _ in self._points)
        runs = int(min(max(_FEWEST, 40.0 * math.exp(min(epsilon, 10.0))), _MOST))
        place = _defined(self.target)
        pairs = [*self.pairs, *((second, first) for first, second in self.pairs)]
        held = {at: self._constant(self.datasets[at], runs) for at in dict.fromkeys(first for first, _ in pairs)}
        tried = 2 * max(1, *(size for _, size in held.values())) * (len(pairs) + _CHANGED)
        told = set[str]()

        def compared(one: Parts, inputs: NDArray[Any], who: str, given: bool) -> Iterator[Finding]:
            others = self._never(inputs, runs, one)
            bare = [name for name in others if name not in told]
            p_value = min(1.0, tried * float(curve_p_value([runs - 1], [0], runs - 1, self._points)[0]))
            if bare and p_value <= self.level:
                told.update(bare)
                rare = (self.level / tried / 2.0) ** (1.0 / (runs - 1))
                _, delta = max(self._points, key=lambda point: rare - point[1] - math.exp(point[0]) * (1.0 - rare))
                lower = math.log(max(1.0, (rare - delta) / (1.0 - rare)))
                more = f" (and {len(bare) - 1} other parts)" if len(bare) > 1 else ""
                sentence = (
                    f"{bare[0]}{more} never varies, and tells {who}: {one[bare[0]]!r} in each of {runs:,} runs on one, "
                    f"on the other never, but {others[bare[0]]!r} first; epsilon >= {rounded_down(lower, 4)} at delta "
                    f"{typed(delta)}"
                )
                yield Finding("bare", sentence, place, p_value if given and self.claim else 1.0)

        for first, second in pairs:
            yield from compared(held[first][0], self.datasets[second], "the two inputs", True)
        first, second = self.pairs[0]
        for name, changed in _changed(self.datasets[first], self.datasets[second]):
            if not held[first][0] or time.monotonic() > self.end:
                return
            with suppress(TargetError):  # it may be outside of what the target takes
                yield from compared(held[first][0], changed, f"an input from one with {name}", False)

    def _constant(self, inputs: NDArray[Any], runs: int) -> tuple[dict[str, Any], int]:
        """Return the parts of the output that are the same in all runs, and how many parts there are."""
        held: dict[str, Any] | None = None
        parts = 0
        for bits in self._runs(inputs, runs):
            if held is None:
                parts, held = len(bits), dict(bits)
            held = {name: part for name, part in held.items() if name in bits and bits[name] == part}
            if not held or time.monotonic() > self.end:
                return {}, parts
        return held or {}, parts

    def _never(self, inputs: NDArray[Any], runs: int, held: Parts) -> dict[str, Any]:
        """Return, of parts that are held on another input, those that no run has so, as they are in the first run."""
        others: dict[str, Any] | None = None
        for bits in self._runs(inputs, runs) if held else ():
            if others is None:
                others = {name: bits.get(name, "nothing") for name in held}
            others = {name: part for name, part in others.items() if name not in bits or bits[name] != held[name]}
            if not others or time.monotonic() > self.end:
                return {}
        return others or {}

    def _runs(self, inputs: NDArray[Any], runs: int) -> Iterator[dict[str, Any]]:
        rng = np.random.Generator(np.random.PCG64([self.seed, _STREAM]))
        for _ in range(runs):
            yield bits_of(parts_of(self.target.raw(inputs, rng, 1, _WHERE)[0]))

    def _unused(self, places: Sequence[str], every: Sequence[Draw]) -> Iterator[Finding]:
        inputs = self.datasets[0]
        used = {draw.place: draw for draw in every}
        for place in places[:_PLACES]:
            for key in range(_FRESH):
                if self.replay(inputs, Tape(key)) != self.replay(inputs, Tape(key, place)):
                    break
                if time.monotonic() > self.end:
                    return
            else:
                sentence = f"{used[place].name} draws here, and the output is the same in {_FRESH} runs that draw anew"
                yield Finding("unused", sentence, place)

    def _shifts(self, keys: tuple[int, ...]) -> Iterator[Finding]:
        floats: tuple[str, ...] = ()
        for first, second in self.pairs:
            if time.monotonic() > self.end:
                return
            shift = shift_of(self.replay, self.datasets[first], self.datasets[second], keys)
            if shift is None:
                continue
            if shift.uneven:
                sentence = f"{shift.uneven} moves by another multiple of the same noise on the other input"
                yield Finding("dependence", sentence, ", ".join(shift.places))
                continue
            self.recorded += f"; with the same draws the inputs differ by {shift}"
            floats = floats if shift.integers else shift.places
            against = shift.against(self.claim) if self.claim else ""
            if against:
                sentence = f"with the same draws the inputs differ by {shift}; {against}"
                yield Finding("bare" if shift.bare else "scale", sentence, ", ".join(shift.places), 0.0)
        if floats:
            sentence = "noise is drawn and added in floating point, whose lowest bits show the input (mironov2012)"
            yield Finding("floats", sentence, ", ".join(floats))


def _sources(every: Sequence[Draw]) -> Iterator[Finding]:
    sources = {draw.source for draw in every}
    for source in (*GLOBAL, FRESH, SYSTEM):
        first = next((draw for draw in every if draw.source == source), None)
        if first is None:
            continue
        if source in GLOBAL:
            yield Finding("source", f"{first.name} draws from {source}, which any code may seed", first.place)
        elif GIVEN in sources:
            yield Finding("source", f"{first.name} draws from {source}, and others from {GIVEN}", first.place)


def _repeats(runs: Sequence[Sequence[Draw]]) -> Iterator[Finding]:
    """Yield what is drawn again: in all runs, or twice in one."""
    for draw in runs[0]:
        content = _content(draw)
        same = [[other for other in run if _content(other) == content] for run in runs]
        if content and all(same):
            yield Finding("repeats", f"{draw.name} draws the same in each of {len(runs)} runs", draw.place)
            return
        if content and len(same[0]) > 1:
            yield Finding(
                "repeats", f"{draw.name} draws what {same[0][0].place} drew in the same run", same[0][1].place
            )
            return


def _content(draw: Draw) -> bytes:
    """Return what was drawn if it cannot come again by chance; else nothing."""
    value = draw.value
    if isinstance(value, bytes):
        return value if len(value) >= 8 else b""
    array = np.asarray(value) if isinstance(value, (float, np.ndarray, np.floating)) else np.zeros(0)
    sure = array.dtype.kind == "f" and array.dtype.itemsize >= 8 and np.unique(array).size == array.size > 0
    many = array.dtype.kind in "iu" and np.unique(array).size >= 16
    return array.tobytes() if sure or many else b""


def _dependence(first: Sequence[Sequence[Draw]], second: Sequence[Sequence[Draw]]) -> Iterator[Finding]:
    """Yield the first draw that differs on two inputs, but on neither from run to run."""
    counts = [{len(run) for run in runs} for runs in (first, second)]
    if not all(len(count) == 1 for count in counts):
        return
    if counts[0] != counts[1]:
        longest = max(first[0], second[0], key=len)
        fewer = min(map(len, (first[0], second[0])))
        yield Finding(
            "dependence",
            f"{len(first[0])} draws on one input and {len(second[0])} on the other, in each of {len(first)} runs",
            longest[fewer].place,
        )
        return
    looks: tuple[tuple[str, Callable[[Draw], Any]], ...] = (
        ("place", lambda draw: draw.place),
        ("size", lambda draw: np.shape(draw.value)),
        ("scale", lambda draw: draw.scale),
    )
    for at in range(len(first[0])):
        for name, of in looks:
            one, two = ({of(run[at]) for run in runs} for runs in (first, second))
            if len(one) == len(two) == 1 and one != two:
                a, b = one.pop(), two.pop()
                places = dict.fromkeys(run[0][at].place for run in (first, second))
                sentence = f"the {name} of {first[0][at].name} is {a} on one input and {b} on the other, in each run"
                yield Finding("dependence", sentence, ", ".join(places))
                return


def _changed(first: NDArray[Any], second: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield inputs that differ from the first as the second does, but elsewhere; of bytes in any of their bits."""
    if first.shape != second.shape or first.dtype != second.dtype or first.dtype.kind not in "iufb":
        return
    where = np.flatnonzero(first != second)
    if not where.size:
        return
    if first.dtype.kind in "iu" and (first.dtype.itemsize == 1 or not first.ndim):
        for at in range(min(_CHANGED, 8 * first.size)):
            changed = first.copy()
            changed.flat[at // 8] ^= first.dtype.type(1 << at % 8 if at % 8 < 7 or first.dtype != np.int8 else -128)
            yield f"bit {at % 8} of entry {at // 8} changed", changed
        return
    old, new = first.flat[where[0]], second.flat[where[0]]
    for at in range(min(_CHANGED, first.size)):
        changed = first.copy()
        changed.flat[at] = new if first.flat[at] != new else old
        yield f"entry {at} changed", changed


def _defined(target: Target) -> str:
    """Return where a target is defined."""
    function: Any = target.load()
    while isinstance(function, functools.partial):
        function = next((part for part in function.args if callable(part)), function.func)
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    return target.shown if code is None else place_of(code.co_filename, code.co_firstlineno)
