"""The searches that calibrations, windows and inversions share, over integers and over floats.

What a search returns is an argument that was tried, so that it is as rigorous as the predicate; only where a docstring
says that an end is taken unasked may that end itself be returned. A predicate need not be monotone for that: it then
holds at the answer and fails just before it, and there may be others.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = [
    "before_first",
    "bisected",
    "crossing",
    "crossing_height",
    "galloped",
    "largest_float",
    "largest_integer",
    "least_argument",
    "least_integer",
    "smallest",
    "smallest_at_level",
]

_Number = TypeVar("_Number", int, float)

_TOLERANCE, _MOST_STEPS = 1e-10, 100
_PATIENCE = 3
"""How many steps in a row may leave more than half of the bracket of a crossing before it is halved."""
_PATIENCE_AT_LEVEL = 2
"""The same for a level: each step costs more there."""
_HALVED = 0.51
"""What is left of a bracket that was halved, with room for rounding, which would else decide where the search goes."""
_JUMP = 20.0
"""The slope over a bracket from which on it is halved: no power that falls smoothly, but a jump inside."""
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_FLATTEST, _STEEPEST = 0.1, 1e3
_FARTHEST, _DOUBLED = math.log(16.0), math.log(2.0)
_LEAST = 1e-12
"""No search for a positive argument looks for a smaller one."""


def _doubled(value: _Number) -> _Number:
    return value * 2


def galloped(
    holds: Callable[[_Number], bool],
    low: _Number,
    high: _Number,
    *,
    grow: Callable[[_Number], _Number] = _doubled,
    ceiling: float = math.inf,
) -> tuple[_Number, _Number] | None:
    """Return two neighbours among low, high, grow(high), grow(grow(high)), ...: the first one fails, the second holds.

    `low` is taken to fail, unasked. None if nothing below `ceiling` holds.
    """
    while high < ceiling:
        if holds(high):
            return low, high
        low, high = high, grow(high)
    return None


def least_integer(holds: Callable[[int], bool], low: int, high: int, *, tolerance: float = 0.0) -> int:
    """Return an integer in (low, high] that holds while one before it, by default the last one before it, fails.

    Both ends are taken unasked: `low` to fail and `high` to hold.

    - holds: Takes an integer between the two.
    - low, high: The ends, low < high.
    - tolerance: How far before the answer, relative to it, the failing integer may be.
    """
    while high - low > max(1, int(high * tolerance)):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def largest_integer(allowed: Callable[[int], bool], guess: int, low: int, high: int) -> int:
    """Return an allowed integer in [low, high) whose successor is not allowed; `low` is, and `high` is not, unasked.

    Gallops from the guess, and then bisects.
    """
    step, probe = 1, min(max(guess, low), high)
    if probe == low or (probe < high and allowed(probe)):
        low = probe
        while (probe := low + step) < high and allowed(probe):
            low, step = probe, 8 * step
        high = min(probe, high)
    else:
        high = probe
        while (probe := high - step) > low and not allowed(probe):
            high, step = probe, 8 * step
        low = max(probe, low)
    return least_integer(lambda probe: not allowed(probe), low, high) - 1


def largest_float(accepts: Callable[[float], bool], guess: float) -> float:
    """Return a positive float that is accepted while the next larger one is not; 0.0 if no positive float was accepted.

    For a monotone `accepts` that is the largest accepted float. Non-negative doubles are ordered like their bit
    patterns, so the search is one over integers.

    - accepts: Takes a positive finite float; taken to be true near 0 and false near infinity.
    - guess: Where to start, at least 0 and finite.
    """

    def bits(value: float) -> int:
        return int(struct.unpack("<q", struct.pack("<d", value))[0])

    def number(pattern: int) -> float:
        return float(struct.unpack("<d", struct.pack("<q", pattern))[0])

    return number(largest_integer(lambda pattern: accepts(number(pattern)), bits(guess), 0, bits(math.inf)))


def bisected(
    holds: Callable[[float], bool],
    low: float,
    high: float,
    *,
    relative: float = 0.0,
    absolute: float = 0.0,
    steps: int = 2000,
    geometric: bool = False,
) -> tuple[float, float]:
    """Return two floats in [low, high], the first of which fails while the second holds.

    Both ends are taken unasked: `low` to fail and `high` to hold.

    - holds: Takes a float strictly between the two.
    - low, high: The ends, finite, low < high; with `geometric` low > 0, and their product a normal float.
    - relative, absolute: The search ends once the two differ by at most `relative` of the larger (with `geometric`, of
      the smaller) or by `absolute`: by default when no float is left between them.
    - steps: The most bisections.
    - geometric: Whether the middle is the geometric mean.
    """
    for _ in range(steps):
        if high - low <= absolute:
            break
        if high <= low * (1.0 + relative) if geometric else high - low <= relative * high:
            break
        middle = math.sqrt(low * high) if geometric else 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def before_first(holds: Callable[[float], bool], ends: Iterable[float], low: float, tolerance: float) -> float | None:
    """Return about the first argument at which a predicate holds before the first end at which it does, or None.

    - holds: Takes a positive float.
    - ends: In ascending order; those that are not above `low` are not asked.
    - low: Where the predicate is taken to fail, unasked; positive.
    - tolerance: Relative, of the argument.
    """
    for end in ends:
        if end > low:
            if holds(end):
                return bisected(holds, low, end, relative=tolerance)[1]
            low = end
    return None


def smallest(holds: Callable[[float], bool], start: float, ceiling: float, tolerance: float) -> float | None:
    """Return the least positive argument, within a relative tolerance, at which a predicate holds, or None.

    Gallops from `start`, because the predicate costs more the larger its argument. Every argument that is returned was
    tried and held; below 1e-12 no smaller one is looked for.
    """
    high = min(start, ceiling)
    low = None
    while not holds(high):
        if high >= ceiling:
            return None
        low, high = high, min(2.0 * high, ceiling)
    while low is None and high > _LEAST:
        if holds(high / 2.0):
            high /= 2.0
        else:
            low = high / 2.0
    return high if low is None else bisected(holds, low, high, relative=tolerance, geometric=True)[1]


def smallest_at_level(
    value: Callable[[float], float],
    level: float,
    start: float,
    ceiling: float,
    tolerance: float,
    *,
    slope: float | None = None,
    least: float = _LEAST,
) -> float | None:
    """Return about the least positive argument at which a falling function is at most a level, or None.

    Secant steps on the logarithms: a few evaluations where `smallest`, which is told less, takes a dozen. The argument
    that is returned was tried, and its value is at most the level. That none smaller by more than the tolerance would
    do was tried too, or is what the last slope says.

    - value: Best nearly a power of its argument; inf where undefined, and not to be relied on where it is below 0.
    - level: Positive.
    - start, ceiling: Where to begin, and beyond which no argument is tried.
    - tolerance: Relative, of the argument.
    - slope: Of which power the function falls, about, where that is known: a good start then takes one evaluation or
      two.
    - least: No smaller argument is looked for than this one.
    """
    low, high = 0.0, math.inf
    known = slope is not None
    point, slope = min(max(start, least), ceiling), slope or 1.0
    last: tuple[float, float] | None = None
    bracket, slow, ends = math.inf, 0, [math.inf, 0.0]
    for _ in range(_MOST_STEPS):
        found = value(point)
        low, high = (low, point) if found <= level else (point, high)
        ends[found <= level] = found
        if low >= ceiling:
            return None
        if 0.0 < found < math.inf:
            if last is not None and (found - last[1]) * (point - last[0]) < 0.0:
                slope = math.log(found / last[1]) / math.log(last[0] / point)
                slope = min(max(slope, _FLATTEST), _STEEPEST)
            sure, last = known or last is not None, (point, found)
            # A first step upwards is short: what is asked costs more, as a rule, the larger the argument.
            factor = math.exp(min(max(math.log(found / level) / slope, -_FARTHEST), _FARTHEST if sure else _DOUBLED))
            if sure and point == high and factor * (1.0 + tolerance) >= 1.0:
                return high
        else:
            factor = 2.0 if found > level else 0.5
        if high <= low * (1.0 + tolerance) or high <= least:
            return high
        point = min(max(point * factor * (1.0 + 0.3 * tolerance), least), ceiling)
        if 0.0 < low < high < math.inf:
            # Next to a jump the slope between two points leads to either side of it, a little nearer each time.
            slow = 0 if math.log(high / low) <= _HALVED * bracket else slow + 1
            bracket = math.log(high / low)
        jumps = low > 0.0 and 0.0 < ends[1] <= ends[0] < math.inf and math.log(ends[0] / ends[1]) > _JUMP * bracket
        if jumps or not low < point < high or slow == _PATIENCE_AT_LEVEL:
            slow = 0
            point = math.sqrt(low * high) if low > 0.0 and high < math.inf else 0.5 * high if low == 0.0 else 2.0 * low
    return high if high < math.inf else None


def crossing(
    profile: Callable[[float], float],
    delta: float,
    guess: float,
    *,
    slope: Callable[[float], float],
    above: bool,
    scale: float,
    relative: float = _TOLERANCE,
) -> float:
    """Return an epsilon >= 0 on the safe side of where a decreasing bound on a privacy profile crosses delta.

    Safeguarded Newton steps on the logarithm of the profile, by the given slope until the crossing is bracketed and
    then by that between the last two points; halving where these do not get far, as at the kinks of few atoms. Only
    points at which it was evaluated are returned, so that the answer is as rigorous as the profile.

    - profile: A decreasing bound on the divergence.
    - delta: The level, in (0, 1).
    - guess: Where to start, in nats.
    - slope: A first estimate of `-d ln(profile) / d epsilon`, positive.
    - above: True: the profile at the answer is at most delta (inf if that is not reached). False: it is more than
      delta, or the answer is 0.
    - scale: The smallest epsilon that matters, in nats.
    - relative: How far the answer may be from the crossing, about, over the larger of epsilon and `scale`.
    """
    log_delta = math.log(delta)

    def height(epsilon: float) -> float:
        value = profile(epsilon)
        if value <= 0.0:
            return -math.inf
        above_delta = math.log(value) - log_delta
        return min(above_delta, 0.0) if value <= delta else max(above_delta, 5e-324)

    return crossing_height(height, guess, slope=slope, above=above, scale=scale, relative=relative)


def crossing_height(
    height: Callable[[float], float],
    guess: float,
    *,
    slope: Callable[[float], float],
    above: bool,
    scale: float,
    relative: float = _TOLERANCE,
) -> float:
    """Return the same for a decreasing bound that is told by its height above delta, in logarithms, however large.

    - height: At most 0 where the bound is at most delta; -inf where it is 0, which tells nothing of how far the
      crossing is.
    - guess, slope, above, scale, relative: As for `crossing`.
    """
    safe: float | None = None
    unsafe: float | None = None
    point = max(guess, scale)
    boldness = 1.0
    bracket, slow = math.inf, 0
    last: tuple[float, float] | None = None
    for _ in range(200):
        high = height(point)
        reached = (high <= 0.0) == above
        if reached:
            safe = point
        else:
            unsafe = point
        width = relative * max(point, scale)
        if safe is not None and ((above and safe == 0.0) or (unsafe is not None and abs(safe - unsafe) <= 2.0 * width)):
            return safe
        if not above and unsafe == 0.0:
            return 0.0
        bracketed = safe is not None and unsafe is not None
        if high == -math.inf:
            # No slope says how far: on by growing steps, and then to the middle.
            step, boldness = -math.inf if bracketed else -boldness * scale, 8.0 * boldness
        elif not bracketed:
            # One-sided so far: step further each time, so that the crossing is soon bracketed.
            step, boldness = boldness * high / slope(point), 2.0 * boldness
        else:
            fallen = 0.0 if last is None or last[0] == point else (last[1] - high) / (point - last[0])
            step = high / (fallen if fallen > 0.0 else slope(point))
        last = None if high == -math.inf else (point, high)
        # To the other side of the crossing than this point's, so that a step that hits it leaves a narrow bracket.
        point = max(point + step + (0.5 if above != reached else -0.5) * width, 0.0)
        if point == math.inf:
            # A bound that includes its rounding need not fall below a subnormal delta anywhere.
            break
        if safe is not None and unsafe is not None:
            # Where the slope is far off, as next to the largest loss, Newton's steps creep along one side.
            bracket, slow = abs(safe - unsafe), 0 if abs(safe - unsafe) <= _HALVED * bracket else slow + 1
            if slow == _PATIENCE or not min(safe, unsafe) < point < max(safe, unsafe):
                point, slow = 0.5 * (safe + unsafe), 0
    if safe is None:
        return math.inf if above else 0.0
    return safe


def least_argument(function: Callable[[float], float], low: float, high: float, steps: int = 24) -> float:
    """Return an argument in [low, high] near the least value of a function with one valley, by golden sections."""
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    values = [function(point) for point in inner]
    for _ in range(steps):
        if values[0] <= values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - _GOLDEN * (high - low)
            values[0] = function(inner[0])
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + _GOLDEN * (high - low)
            values[1] = function(inner[1])
    return inner[0] if values[0] <= values[1] else inner[1]
