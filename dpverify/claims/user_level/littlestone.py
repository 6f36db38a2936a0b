"""What is true of `protocols.user_level.littlestone`: how often one hypothesis is found, and how stable the learner is.

Examples are of a law D and labelled by a concept c of the class; SOA is the standard optimal algorithm.

**Told.** Let a tournament of k rounds know every label that it asks for. Two entrants, each the winner of k - 1 rounds
with n more examples, predict f and g. If f is wrong at a point that the second entrant asked for, the first wins, with
the first such point and its label; else, at the first point where f and g differ, the one that is wrong there; and
nobody wins if they are equal, or an entrant is missing. So D_k <= 2 D_(k-1) + 1 = 2^k - 1 labels are asked for. The
winner's concepts include c and have dimension d - k at most, as each round adds a mistake of SOA; after d, only c is
left.

**Guessed.** A run knows no labels. It guesses the first entrant, and plays the second's tournaments with f's
predictions for labels. If f is right about all that the second then asks for, so was the second told, and f or g is
wrong at the point where they differ; else it is wrong at one of these points first, up to which the second asked for
the same. These are D_(k-1) + 2 spaces at most, one of which wins where labels are told: a run that takes any of them
with equal probability finds, on the same examples, what wins there with probability 1 / N_k or more, N_k the product of
2^j + 1 for j < k. (A fair coin for each label of each tournament, of which it also chooses the winner, is not right k
times with probability 2^-k: who is wrong where the other is right may have guessed worse before. All 2^k - 1 coins are
right with 2^-(2^k - 1); and there is a class of d = 2 where nothing is found by more than .154 of such runs.)

**Frequent.** Where labels are told, let nobody win k rounds with probability v_k, and let w_k be the largest
probability of anything predicted from a winner and n more examples. Then v_k <= 2 v_(k-1) + w_(k-1): of two independent
entrants one is missing, or they predict the same. So v_d <= sum_(k<d) 2^(d-1-k) w_k, and w_d = 1 - v_d. If all w_k were
below N_k / L_d, where

    L_d = N_d + sum_(k<d) 2^(d-1-k) N_k  (1, 3, 10, 44, 328, ...),

that would be a contradiction. So for some k a run of k rounds finds some f with probability w_k / N_k >= 1 / L_d, and
as k is guessed, one run finds it with probability

    eta = 1 / ((d + 1) L_d),  log2(1 / eta) <= d (d - 1) / 2 + log2(d + 1) + 2.5.

It has (2^(d+1) - 1) n examples: a batch for each entrant, and the last one.

**Accurate.** A run's prediction is always consistent with its last n examples: so one of error e has a frequency of at
most (1 - e)^n. Whatever is chosen with a frequency of eta / 2 or more has an error of at most ln(2 / eta) / n.

**Stable.** Let Q(h) be the probability that a run finds h, and Q^ the share of t runs. In any order of hypotheses, a
frequency is the difference of two values of a distribution function: `|Q^ - Q| <= s` for all of them but for
probability 2 e^(-t s^2 / 2) (massart1990), however many they are. Then Q^ and Q have the same set above a threshold
that is not within s of any Q(h). At most 1 / (eta/2 - s) of them are above eta/2 - s, each of which forbids 2 s: so a
threshold uniform in [eta/2, eta] is bad with probability at most `8 s / (eta^2 (1 - 2 s / eta))`. Where Q(h) >= eta for
some h, that set is never empty. With s = (7/128) u eta^2 the former is u / 2 at most; and so is the latter from
`t = 2 ln(4 / u) / s^2` on. By Markov, as for Algorithm 3, `u = (1 - share)(1 - nu)` makes it (share, nu)-stable.

So samples depend on d, alpha and beta alone, not on the number of points or concepts: their logarithm grows with d^2,
where the source has (d / alpha)^O(1), by a learner of the main part.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.user_level.littlestone import VersionSpaces
from protocols.validation import check_integer, check_real

__all__ = ["enough_batch", "enough_runs", "frequencies_of_law", "stable_share"]

Law = dict[int, float]
Told = tuple[int, tuple[int, ...]]
Outcome = TypeVar("Outcome")


def stable_share(dimension: int) -> float:
    """Return eta: some hypothesis is found by a run with this probability or more, for every law and concept."""
    guesses, lost = 1, 0
    for rounds in range(check_integer("dimension", dimension, low=0)):
        guesses, lost = guesses * (2**rounds + 1), 2 * lost + guesses
    return 1 / ((dimension + 1) * (guesses + lost))


def enough_batch(share: float, alpha: float) -> int:
    """Return n at which every hypothesis of at least half the share has error alpha or less.

    - share, alpha: eta, in (0, 1], and alpha, in (0, 1).
    """
    check_real("share", share, low=0.0, high=1.0, low_open=True)
    check_real("alpha", alpha, low=0.0, high=1.0, low_open=True, high_open=True)
    return math.ceil(math.log(2.0 / share) / -math.log1p(-alpha) * (1.0 + 1e-12))


def enough_runs(share: float, unstable: float) -> int:
    """Return t at which a sample leads to another hypothesis than its law with at most this probability.

    - share: eta, in (0, 1], which some hypothesis has.
    - unstable: In (0, 1): over samples and public randomness.
    """
    check_real("share", share, low=0.0, high=1.0, low_open=True)
    check_real("unstable", unstable, low=0.0, high=1.0, low_open=True, high_open=True)
    near = 7.0 / 128.0 * unstable * share**2
    return math.ceil(2.0 * math.log(4.0 / unstable) / near**2 * (1.0 + 1e-12))


def frequencies_of_law(spaces: VersionSpaces, law: ArrayLike, batch: int) -> NDArray[np.float64]:
    """Return exactly how often runs of 0, ..., d rounds find each hypothesis.

    - spaces: Of the class.
    - law (array_like, shape (domain, 2)): The probability of every point with either label; a concept has these labels.
    - batch: n.

    Returns: One law per number of rounds, exact but for rounding. (ndarray of float64, shape (d + 1, hypotheses).)
    """
    laws = _Laws(spaces, np.asarray(law, dtype=np.float64), check_integer("batch", batch, low=1))
    found = np.zeros((spaces.dimension + 1, len(spaces.table)))
    for rounds, row in enumerate(found):
        for space, chance in laws.guessed(rounds).items():
            for last, other in laws.batches.items():
                row[spaces.predicts(space & last, last)] += chance * other
    return found


class _Laws:
    """The laws of winners, by guessed and by told labels; 0 is that nobody wins."""

    def __init__(self, spaces: VersionSpaces, law: NDArray[np.float64], batch: int) -> None:
        self._spaces = spaces
        likely = [(point, label, law[point, label]) for point, label in np.argwhere(law > 0.0).tolist()]
        self.batches: Law = {spaces.full: 1.0}
        for _ in range(batch):
            self.batches = _counted(
                (spaces.after(space, point, label), chance * own)
                for space, chance in self.batches.items()
                for point, label, own in likely
            )
        self._entered: dict[tuple[int, int], dict[Told, float]] = {}

    def guessed(self, rounds: int) -> Law:
        """Return the law of a run's winner after so many rounds."""
        if rounds == 0:
            return {self._spaces.full: 1.0}
        before = self.guessed(rounds - 1).items()
        firsts = _counted(
            (space & own, chance * other) for space, chance in before for own, other in self.batches.items()
        )
        parts = [(0, firsts.pop(0, 0.0))]
        for first, chance in firsts.items():
            for (second, asked), other in self._told(rounds - 1, self._spaces.predicts(first, first)).items():
                made = self._spaces.guesses(first, second, asked) or [0]
                parts += [(space, chance * other / len(made)) for space in made]
        return _counted(parts)

    def _told(self, rounds: int, row: int) -> dict[Told, float]:
        """Return the law of an entrant and of what was asked for, where a row of the table says the labels."""
        if (rounds, row) not in self._entered:
            winners = {(self._spaces.full, ()): 1.0} if rounds == 0 else _counted(self._won(rounds, row))
            self._entered[rounds, row] = _counted(
                ((space & own, asked), chance * other)
                for (space, asked), chance in winners.items()
                for own, other in self.batches.items()
            )
        return self._entered[rounds, row]

    def _won(self, rounds: int, row: int) -> Iterator[tuple[Told, float]]:
        entered = self._told(rounds - 1, row)
        for (first, before), chance in entered.items():
            for (second, asked), other in entered.items():
                own = list(asked)
                space = self._spaces.tournament(first, second, own, self._spaces.table[row]) if first else 0
                yield (space, (*before, *own)), chance * other


def _counted(parts: Iterable[tuple[Outcome, float]]) -> dict[Outcome, float]:
    found = defaultdict[Outcome, float](float)
    for outcome, chance in parts:
        found[outcome] += chance
    return found
