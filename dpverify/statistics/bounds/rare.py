"""Are single outcomes and far tails as likely as an exact law says? The cells of a G-test are too wide to show it."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.tally import Tally

__all__ = ["count_rare_events", "rare_events"]

_LEAST_EXPECTED = 1.0
"""Tails are halved until so few samples are expected there."""


def rare_events(law: DiscreteLaw, samples: ArrayLike | Tally) -> tuple[float, str]:
    """Test every single outcome and, of a law of numbers, ever farther tails; return a p-value and what it saw.

    Each event has a binomial number of hits under the law, and both its tails are tested: the smallest p-value times
    twice the number of events bounds the chance that a correct sample shows any so extreme (union bound), so the
    level is exact. The events are fixed by the law and the number of samples alone. Samples that the law does not list
    count for no event; whoever tests for them charges `samples * law.outside`, which bounds what that changes.

    - samples: array_like, shape (trials,) or (trials, coordinates); or Tally.

    Returns: The p-value in [0, 1], and the most extreme event in words.
    """
    counts = Tally.of(law, samples).counts
    trials = int(counts.sum())
    hits, masses = [counts[:-1]], [law.pmf]
    tails: list[str] = []
    if law.points.ndim == 1:
        for words, step in (("at least", -1), ("at most", 1)):
            mass = np.cumsum(law.pmf[::step])
            ends = _halvings(mass, trials)
            hits.append(np.cumsum(counts[:-1][::step])[ends])
            masses.append(mass[ends])
            tails += [f"{words} {law.points[::step][end]:.6g}" for end in ends]
    seen, chance = np.concatenate(hits), np.minimum(np.concatenate(masses), 1.0)
    least = np.minimum(scipy.stats.binom.sf(seen - 1, trials, chance), scipy.stats.binom.cdf(seen, trials, chance))
    at = int(np.argmin(least))
    event = f"outcome {law.points[at]}" if at < law.atoms else tails[at - law.atoms]
    evidence = f"{event} {int(seen[at])} times where {trials * chance[at]:.4g} are expected"
    return min(1.0, 2.0 * seen.size * float(least[at])), evidence


def count_rare_events(law: DiscreteLaw, trials: int) -> int:
    """Return how many events `rare_events` tests, each with both tails, of so many samples of a law of numbers."""
    return law.atoms + sum(len(_halvings(np.cumsum(law.pmf[::step]), trials)) for step in (1, -1))


def _halvings(tail: NDArray[np.float64], trials: int) -> list[int]:
    """Return the places of the largest tails of mass at most 1/2, 1/4, ..., while samples are expected there."""
    wanted = 0.5 ** np.arange(1, 1 + max(1, int(np.log2(max(2.0, trials / _LEAST_EXPECTED)))))
    places = np.searchsorted(tail, wanted, side="right") - 1
    return sorted({int(place) for place in places if place >= 0})
