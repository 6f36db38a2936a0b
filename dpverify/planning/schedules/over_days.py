"""A curve over the days of a schedule: where it is looked at, and that it never falls."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from dpverify.guarantee import Interval

__all__ = ["after_days", "never_falling"]

_FEWEST_POINTS, _MOST_POINTS = 12, 60


def after_days(counts: Sequence[int]) -> list[int]:
    """Return after how many runs a curve over days is looked at: at ends of days, the last one among them.

    Of more than sixty days as many are evenly chosen; fewer than a dozen are looked at in between, too.

    Parameters
    ----------
    counts : sequence of int
        How many runs each day has, one after the other, each at least 1; shape (days,).
    """
    ends = list(itertools.accumulate(counts))
    points, parts = min(len(ends), _MOST_POINTS), max(_FEWEST_POINTS // len(ends), 1)
    chosen = [math.ceil(len(ends) * (point + 1) / points) - 1 for point in range(points)]
    return sorted({ends[day] - counts[day] * part // parts for day in chosen for part in range(parts)})


def never_falling(known: Mapping[int, Interval]) -> dict[int, Interval]:
    """Return what is known of epsilon after so many runs, each with the best ends that all of them prove.

    What the first runs show is a part of what more of them show, and who is in at most k of the first is in at most k
    of more: by post-processing no divergence, and so no epsilon, is larger after fewer runs. So the lower end of any is
    one of all later ones, and the upper end one of all before.

    Parameters
    ----------
    known : mapping of int to Interval
        By how many runs there are, all of one schedule and at the same delta.

    Raises
    ------
    ArithmeticError
        If two of them contradict each other.
    """
    numbers = sorted(known)
    lower = itertools.accumulate((known[number].lower for number in numbers), max)
    upper = list(itertools.accumulate((known[number].upper for number in numbers[::-1]), min))[::-1]
    return {number: Interval.proved(*ends) for number, *ends in zip(numbers, lower, upper, strict=True)}
