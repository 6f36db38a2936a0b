"""What is true of `protocols.user_level.littlestone`: how often one hypothesis is found, and how stable the learner is.

Examples are of a law D and labelled by a concept c of the class; SOA is the standard optimal algorithm.

**Frequent.** Let D_k be the law of the winner of k tournaments, one within the other, and f_k what is predicted from it
and n more examples. Some k <= d and some f have `Pr[f_k = f] >= 2^-d`. If none has for k < d, two predictions differ
with probability 1 - 2^-d or more, so that all tournaments end. With probability 2^-d all the coins of the d tournaments
that led to the winner are c's labels; then no example contradicts c, and the dimension of its version space, which each
of the d mistakes has made less, is 0: only c is left. (That is the lemma of bun2020.)

**Examples.** Let k be the least such number. Until then a tournament is repeated once on average, so that the mean
number of examples has `M_k <= 4 (M_(k-1) + n)`: `n 4^(d+1) / 3` at most. A part of 2^(d+1) times as many, and n, lacks
some with probability 2^-(d+1) at most. As k is guessed, one run finds f with probability

    eta = 2^-(d+1) / (d + 1).

**Accurate.** A run's prediction is always consistent with its last n examples: so one of error e has a frequency of at
most (1 - e)^n. Whatever is chosen with a frequency of eta / 2 or more has an error of at most ln(2 / eta) / n.

**Stable.** Let Q(h) be the probability that a run finds h, and Q^ the share of t runs. In any order of hypotheses, a
frequency is the difference of two values of a distribution function: `|Q^ - Q| <= s` for all of them but for
probability 2 e^(-t s^2 / 2) (massart1990), however many they are. Then Q^ and Q have the same set above a threshold
that is not within s of any Q(h). At most 1 / (eta/2 - s) of them are above eta/2 - s, each of which forbids 2 s: so a
threshold uniform in [eta/2, eta] is bad with probability at most `8 s / (eta^2 (1 - 2 s / eta))`. Where Q(h) >= eta for
some h, that set is never empty. With s = (7/128) u eta^2 the former is u / 2 at most; and so is the latter from
`t = 2 ln(4 / u) / s^2` on. By Markov, as for Algorithm 3, `u = (1 - share)(1 - nu)` makes it (share, nu)-stable.

So samples depend on d, alpha and beta alone, not on the number of points or concepts: exponentially on d, where the
source has (d / alpha)^O(1), by a learner of the main part.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.user_level.littlestone import VersionSpaces
from protocols.validation import check_integer, check_real

__all__ = ["enough_batch", "enough_examples", "enough_runs", "frequencies_of_law", "stable_share"]

Law = dict[int, float]
Outcome = TypeVar("Outcome")


def stable_share(dimension: int) -> float:
    """Return eta: some hypothesis is found by a run with this probability or more, for every law and concept."""
    check_integer("dimension", dimension, low=0)
    return 0.5 ** (dimension + 1) / (dimension + 1)


def enough_batch(share: float, alpha: float) -> int:
    """Return n at which every hypothesis of at least half the share has error alpha or less.

    Parameters
    ----------
    share, alpha : float
        eta and alpha, in (0, 1).
    """
    check_real("share", share, low=0.0, high=1.0, low_open=True, high_open=True)
    check_real("alpha", alpha, low=0.0, high=1.0, low_open=True, high_open=True)
    return math.ceil(math.log(2.0 / share) / -math.log1p(-alpha) * (1.0 + 1e-12))


def enough_examples(dimension: int, batch: int) -> int:
    """Return how many examples of one run are enough for `stable_share`."""
    check_integer("batch", batch, low=1)
    check_integer("dimension", dimension, low=0)
    # Without tournaments, a last batch alone.
    return batch if dimension == 0 else batch + -(-batch * 8 ** (dimension + 1) // 3)


def enough_runs(share: float, unstable: float) -> int:
    """Return t at which a sample leads to another hypothesis than its law with at most this probability.

    Parameters
    ----------
    share : float
        eta, in (0, 1), which some hypothesis has.
    unstable : float
        In (0, 1): over samples and public randomness.
    """
    check_real("share", share, low=0.0, high=1.0, low_open=True, high_open=True)
    check_real("unstable", unstable, low=0.0, high=1.0, low_open=True, high_open=True)
    near = 7.0 / 128.0 * unstable * share**2
    return math.ceil(2.0 * math.log(4.0 / unstable) / near**2 * (1.0 + 1e-12))


def frequencies_of_law(spaces: VersionSpaces, law: ArrayLike, batch: int) -> NDArray[np.float64]:
    """Return exactly how often each hypothesis is predicted after 0, ..., d tournaments, if examples do not run out.

    Parameters
    ----------
    spaces : VersionSpaces
        Of the class.
    law : array_like, shape (domain, 2)
        The probability of every point with either label; a concept has these labels.
    batch : int
        n.

    Returns
    -------
    ndarray of float64, shape (d + 1, hypotheses)
        One law per number of tournaments; up to the first one at which no two predictions differ, whose successors are
        0: there a tournament does not end.
    """
    array = np.asarray(law, dtype=np.float64)
    batches = _after(spaces, {spaces.full: 1.0}, array, check_integer("batch", batch, low=1))
    winners, found = {spaces.full: 1.0}, np.zeros((spaces.dimension + 1, len(spaces.table)))
    for row in found:
        entered = _counted(
            ((space & last, spaces.predicts(space & last, last)), chance * other)
            for space, chance in winners.items()
            for last, other in batches.items()
        )
        for (_, predicted), chance in entered.items():
            row[predicted] += chance
        winners = _winners(spaces, entered)
        if not winners:
            break
    return found


def _after(spaces: VersionSpaces, start: Law, law: NDArray[np.float64], examples: int) -> Law:
    """Return the law of what is left of a random version space after so many examples."""
    likely = [(point, label, law[point, label]) for point, label in np.argwhere(law > 0.0).tolist()]
    for _ in range(examples):
        start = _counted(
            (spaces.after(space, point, label), chance * own)
            for space, chance in start.items()
            for point, label, own in likely
        )
    return start


def _winners(spaces: VersionSpaces, entered: dict[tuple[int, int], float]) -> Law:
    """Return the law of a tournament's winner, of two that enter it independently."""
    parts = []
    for (first, one), chance in entered.items():
        for (second, other), its in entered.items():
            if one == other:
                continue
            point = int(np.flatnonzero(spaces.table[one] != spaces.table[other])[0])
            for label in (0, 1):
                wrong = first if spaces.table[one][point] != label else second
                parts.append((spaces.after(wrong, point, label), 0.5 * chance * its))
    made = _counted(parts)
    total = math.fsum(made.values())
    return {space: chance / total for space, chance in made.items()} if total > 0.0 else {}


def _counted(parts: Iterable[tuple[Outcome, float]]) -> dict[Outcome, float]:
    found = defaultdict[Outcome, float](float)
    for outcome, chance in parts:
        found[outcome] += chance
    return found
