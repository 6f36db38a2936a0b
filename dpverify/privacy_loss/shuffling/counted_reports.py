"""How often a set of reports is made, hers among the others': a pair that the view of shuffled reports attains.

The count of reports in a set T is post-processing of the view. Where all others hold one input it is Bin(n - 1, w(T))
and her report, which is in T with probability a(T) or b(T): a pair in one dimension, that composes. What it does not
tell is which report of T was made: of k-ary randomized response it has all of the loss but a factor of sqrt(2).
"""

from __future__ import annotations

import numpy as np

from dpverify.laws import noise as laws
from dpverify.laws.window import DEFAULT_TAIL
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from dpverify.rounding import UNIT

__all__ = ["counted_reports"]

_LEAST, _SEEN = 1e-290, 0.999
_SUMMED = 64.0 * UNIT


def counted_reports(report: HiddenReport, tail: float = DEFAULT_TAIL) -> PrivacyLossDistribution:
    """Return the pair of how many reports are likelier given her first input than given the second.

    Parameters
    ----------
    report : HiddenReport
        Her report among others; what the others' law leaves out is outside of the set, and so is what is missing of
        hers.
    tail : float
        The mass that may be cut from each side of the others' count.
    """
    chosen = report.first > report.second
    w, a, b = (float(law[chosen].sum()) for law in (report.others, report.first, report.second))
    if max(w, a) > _SEEN:
        # Each report of the set is overlooked now and then: next to 1 a probability's complement is only rounding.
        w, a, b = _SEEN * w, _SEEN * a, _SEEN * b
    off = report.error + _SUMMED
    others = laws.binomial(report.users - 1, w, tail)
    stop = others.start + others.pmf.size - 1
    pmf = np.concatenate([[0.0], others.pmf, [0.0]])
    first, second = ((1.0 - mass) * pmf[1:] + mass * pmf[:-1] for mass in (a, b))
    # At the ends of the window a part is cut: what is listed there is no probability.
    kept = (np.minimum(first, second) > _LEAST) & (pmf[1:] + pmf[:-1] > 0.0)
    kept[0] &= others.start == 0
    kept[-1] &= stop == report.users - 1
    missing = float(first[~kept].sum()) * (1.0 + 1e-6) + others.tail_below + others.tail_above
    # The logarithm of a binomial probability moves by (k - n w) / (1 - w) times that of w, and its rate by n / (1 - w).
    far = float(np.abs(np.arange(others.start, stop + 1) - (report.users - 1) * w).max()) + 1.0
    moved = 2.0 * off * (far + off * report.users) / (1.0 - w) + 2.0 * off / (1.0 - max(a, b))
    return PrivacyLossDistribution.from_pmfs(
        first[kept],
        second[kept],
        missing_mass=missing,
        relative_error=others.relative_error + moved + 8.0 * UNIT,
    )
