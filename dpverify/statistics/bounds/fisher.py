"""Fisher's exact test of whether hits are as frequent in one part of some runs as in the others."""

from __future__ import annotations

from scipy import stats

__all__ = ["fisher"]


def fisher(hits: int, size: int, all_hits: int, runs: int, *, more: bool = False) -> float:
    """Return the p-value of so many hits in a part: given all hits, their number there is hypergeometric.

    Parameters
    ----------
    hits, size : int
        In the part, and how many runs it has.
    all_hits, runs : int
        In the whole.
    more : bool
        Whether only too many count; else both sides do, and the smaller tail is doubled.
    """
    above = float(stats.hypergeom.sf(hits - 1, runs, all_hits, size))
    if more:
        return min(1.0, above)
    return min(1.0, 2.0 * min(above, float(stats.hypergeom.cdf(hits, runs, all_hits, size))))
