"""Does every single user draw her noise, anew in each run? Each user's runs against exact chances, and each other."""

from __future__ import annotations

import itertools

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpverify.digits import rounded
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.family import AuditResult
from dpverify.statistics.order.dependence import pairs_at
from dpverify.statistics.order.structure import Least, StructureCheck, fisher
from dpverify.statistics.power import least_share

__all__ = ["forgetful_users", "quiet_users"]

_LAGS = 8
"""Runs of one user are compared that are up to so many apart."""
_SHIFTS = (0, -1)
"""A user's runs are compared with her own, and with those of the next user."""


def quiet_users(pieces: ArrayLike, law: DiscreteLaw, level: float, power: float) -> AuditResult:
    """Test how often each user's piece is 0: a user without noise, or with another's, is named.

    - pieces (array_like of int, shape (runs, users)): What each user sent in independent runs on users with the same
      input.
    - law: Of one user's piece, a number.
    - level: At which the fault that would have been found is stated.
    - power: The power that it would have been found with.

    Returns: The least binomial p-value of all users, both sides, times twice their number.
    """
    drawn = np.asarray(pieces)
    runs, users = drawn.shape
    chance = float(law.probabilities(np.zeros(1, dtype=law.points.dtype))[0])
    zeros = np.count_nonzero(drawn == 0, axis=0)
    # What the law does not list may be anywhere.
    more = scipy.stats.binom.sf(zeros - 1, runs, min(1.0, chance + law.outside))
    fewer = scipy.stats.binom.cdf(zeros, runs, max(0.0, chance - law.outside))
    p_values = np.minimum(more, fewer)
    user = int(np.argmin(p_values))
    p_value = min(1.0, 2.0 * users * float(p_values[user]))
    noisy = 1.0 - chance
    least = least_share(runs, chance, level / (2 * users), power)
    shown = f"user {user} sends nothing in {zeros[user]} of {runs} runs; {chance * runs:.5g} expected"
    details: dict[str, object] = {"user": user}
    if p_value <= level:
        often = "never" if zeros[user] == runs else f"{100 * (runs - zeros[user]) / runs:.3g} % of the time"
        details["diagnosis"] = (
            f"user {user}'s reports are noisy {often}, where {100 * noisy:.3g} % of the time is claimed."
        )
    return AuditResult(
        "noise of each user",
        p_value,
        runs,
        "binomial tails, union bound over users; exact level",
        shown,
        "a user who never adds noise"
        if least is None
        else f"a user who leaves out {rounded(100 * least, 2)} % of her noise",
        0.0 if least is None else power,
        details=details,
    )


def forgetful_users(pieces: ArrayLike) -> StructureCheck:
    """Test whether each user's pieces in one run tell those of a near run, hers or the next user's.

    They are alike as often as in runs far apart where all is drawn anew.

    - pieces (array_like of int, shape (runs, users)): What each user sent in independent runs on users with the same
      input.

    Returns: The least p-value over all users and lags, times their number.
    """
    sent = np.asarray(pieces) > 0
    runs, users = sent.shape
    near, far = sent[: runs // 2], sent[runs // 2 :]
    pairs = len(far) // 2
    least, comparisons = Least("memory of users", "users' pieces are alike as often in near runs as in others"), 0
    for lag, shift in itertools.product(range(1, min(_LAGS, len(near) // 2) + 1), _SHIFTS[: 2 if users > 1 else 1]):
        alike_far = np.count_nonzero(far[:pairs] == np.roll(far[pairs : 2 * pairs], shift, axis=1), axis=0)
        for offset in (0, lag):
            first, later = pairs_at(near, lag, offset)
            alike = np.count_nonzero(first == np.roll(later, shift, axis=2), axis=(0, 1))
            size = first.shape[0] * first.shape[1]
            comparisons += users
            user = int(np.argmax(np.abs(alike / max(1, size) - alike_far / max(1, pairs))))
            p_value = float(fisher(alike[user], size, alike[user] + alike_far[user], size + pairs))
            who = "the next user" if shift else "she"
            shown = f"of {size} pairs of runs {lag} apart user {user} sends what {who} sends later in {alike[user]}"
            least.see(p_value, f"{shown}, of {pairs} far apart in {alike_far[user]}")
    return least.of(comparisons)
