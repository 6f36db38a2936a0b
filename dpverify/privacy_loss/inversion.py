"""From a bound on a privacy profile to a bound on epsilon at a given delta."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["crossing"]

_TOLERANCE = 1e-10


def crossing(
    profile: Callable[[float], float],
    delta: float,
    guess: float,
    *,
    slope: Callable[[float], float],
    above: bool,
    scale: float,
) -> float:
    """Return an epsilon >= 0 on the safe side of where a decreasing bound on a profile crosses delta.

    Safeguarded Newton steps on the logarithm of the profile. Only points at which it was evaluated are returned, so
    that the answer is as rigorous as the profile.

    Parameters
    ----------
    profile : callable
        A decreasing bound on the divergence.
    delta : float
        The level, in (0, 1).
    guess : float
        Where to start, in nats.
    slope : callable
        An estimate of `-d ln(profile) / d epsilon`, positive.
    above : bool
        True: the profile at the answer is at most delta (inf if that is not reached). False: it is more than delta, or
        the answer is 0.
    scale : float
        The smallest epsilon that matters, in nats.
    """
    safe: float | None = None
    unsafe: float | None = None
    point = max(guess, scale)
    boldness = 1.0
    for _ in range(200):
        value = profile(point)
        if (value <= delta) == above:
            safe = point
        else:
            unsafe = point
        width = _TOLERANCE * max(point, scale)
        if safe is not None and ((above and safe == 0.0) or (unsafe is not None and abs(safe - unsafe) <= 2.0 * width)):
            return safe
        if not above and unsafe == 0.0:
            return 0.0
        step = math.log(max(value, 1e-300) / delta) / slope(point)
        if safe is None or unsafe is None:
            # One-sided so far: step further each time, so that the crossing is soon bracketed.
            step, boldness = boldness * step, 2.0 * boldness
        point = max(point + step + (0.5 if above else -0.5) * width, 0.0)
        if safe is not None and unsafe is not None and not min(safe, unsafe) < point < max(safe, unsafe):
            point = 0.5 * (safe + unsafe)
    if safe is None:
        return math.inf if above else 0.0
    return safe
