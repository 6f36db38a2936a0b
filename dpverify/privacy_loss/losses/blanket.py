"""One report hidden in a privacy blanket: the two values that it may take, among the random reports of others.

The others contribute m ~ Bin(trials, cover) fair coins, each one of the two values. The report is the one value with
probability `kept`, the other with probability `swapped`, and elsewhere otherwise; the neighbour exchanges the two.
Given that a + b = S reports carry the two values, the likelihood is proportional to `kept a + swapped b` against
`swapped a + kept b`: the pair of counts is one-dimensional given S. Both directions have the same law, by symmetry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.laws import noise as laws
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_probability, check_real

__all__ = ["report_in_blanket", "report_in_view"]

_MOST_ATOMS, _FEWER_ATOMS = 2**25, 2**21
"""How many a view may have, and how many it is made of where it has more."""
_MOST_MERGED = 2**32


def _elsewhere(trials: int, cover: float, kept: float, swapped: float, elsewhere: float | None) -> float:
    """Check the arguments and return the probability of a report elsewhere."""
    check_integer("trials", trials, low=0)
    check_probability("cover", cover)
    check_real("kept", kept, low=0.0, high=1.0, low_open=True)
    check_real("swapped", swapped, low=0.0, high=kept)
    rest = math.fsum((1.0, -kept, -swapped))
    if rest < -4.0 * UNIT:
        raise ValueError(f"kept={kept!r} and swapped={swapped!r} must sum to at most 1.")
    if elsewhere is None:
        return max(rest, 0.0)
    if abs(check_probability("elsewhere", elsewhere) - rest) > 8.0 * UNIT:
        raise ValueError(f"elsewhere={elsewhere!r} must be what kept={kept!r} and swapped={swapped!r} leave.")
    return elsewhere


def report_in_blanket(
    trials: int,
    cover: float,
    kept: float,
    swapped: float,
    tail: float = 1e-30,
    *,
    elsewhere: float | None = None,
    cells: int = 256,
) -> PrivacyLossDistribution:
    """Return a pair that dominates that of the two counts, whatever the truthful reports of the others are.

    The view is enlarged: all that the others report truthfully, m, and whether the report lies elsewhere. More coins
    are post-processing, so the values of m may be taken together in cells at their smallest m.

    - trials: The number of others.
    - cover: The probability that one of them contributes a coin, in [0, 1].
    - kept, swapped: The probabilities that the report is the one value or the other, `kept >= swapped >= 0`.
    - tail: Mass that may be cut from each side of each law.
    - elsewhere: The probability that the report is neither, if known better than by what is left: like the other two it
      may be off by four units.
    - cells: The number of cells; exact (for this enlarged view) if it is at least the number of values of m.
    """
    elsewhere = _elsewhere(trials, cover, kept, swapped, elsewhere)
    # Fewer coins can only reveal more: the rounding of `cover` is harmless on this side.
    others = laws.binomial(trials, max(cover * (1.0 - 4.0 * UNIT), 0.0), tail)
    width = math.ceil(others.pmf.size / check_integer("cells", cells, low=1))
    found = _Atoms(neutral=elsewhere, missing=others.tail_below + others.tail_above)
    lows = range(0, others.pmf.size, width)
    for low, coins in zip(lows, _fair_coins(others.start + 1, width, len(lows), tail), strict=True):
        found.add(float(others.pmf[low : low + width].sum()), coins, kept, swapped, 0.0)
    return found.distribution(others.relative_error)


def report_in_view(
    trials: int, cover: float, kept: float, swapped: float, tail: float = 1e-20, *, elsewhere: float | None = None
) -> PrivacyLossDistribution:
    """Return the exact pair of the two counts alone, where all truthful reports of the others lie elsewhere.

    Some dataset attains it if there is a third value, so it bounds the divergence of the protocol from below. The
    parameters are those of `report_in_blanket`. Where that needs more than 2^25 atoms, coins are added until totals
    are the same in each of several cells: what is seen then is made of the exact view, whose pair dominates its pair.

    Raises CapacityError if it would need more than 2^32 atoms.
    """
    elsewhere = _elsewhere(trials, cover, kept, swapped, elsewhere)
    check_real("cover", cover, low=0.0, high=1.0, low_open=True, high_open=True)
    others = laws.binomial(trials, cover, tail)
    atoms = others.pmf.size * 20.0 * math.sqrt(others.stop)
    if atoms > _MOST_MERGED:
        raise CapacityError(f"{trials} other users need more than {_MOST_MERGED} atoms; a larger tail needs fewer.")
    width = 1 if atoms <= _MOST_ATOMS else math.ceil(atoms / _FEWER_ATOMS)
    found = _Atoms(missing=others.tail_below + others.tail_above)
    odds = (1.0 - cover) / cover
    lows = range(0, others.pmf.size, width)
    for low, coins in zip(lows, _fair_coins(others.start + width, width, len(lows), tail), strict=True):
        # S = m + 1 counts: m others and the report, or S others and a report elsewhere, whose weight relative to the
        # first is P(S) / P(m) = (trials - m) / (S odds). Coins that are added hide both alike.
        m, weights = others.support[low : low + width], others.pmf[low : low + width]
        weight = float(weights.sum())
        more = float((weights * ((trials - m) / (m + 1))).sum()) / (weight * odds)
        found.add(weight, coins, kept, swapped, elsewhere * more * coins.total / 2.0)
    if others.start == 0:
        # S = 0: nobody reports either value. Its loss is 0.
        found.neutral = float(others.pmf[0]) * elsewhere
    else:
        found.missing += float(others.pmf[0]) * elsewhere * (1.0 + others.relative_error)
    return found.distribution(others.relative_error + 8.0 * (trials + width + 1) * UNIT)


class _Coins(NamedTuple):
    """The number of heads among `total` fair coins: the law on [start, start + size), what it lacks, and its error."""

    total: int
    start: int
    pmf: NDArray[np.float64]
    missing: float
    relative_error: float


def _fair_coins(first: int, step: int, count: int, tail: float) -> Iterator[_Coins]:
    """Yield the law of fair coins for totals first, first + step, ..., one coin at a time: cheaper than from scratch.

    What the first law's cut tails would have added at the edges stays within their mass, and is charged with it.
    """
    law = laws.binomial(first, 0.5, tail)
    pmf, tails, error = np.array(law.pmf), law.tail_below + law.tail_above, law.relative_error
    for number in range(count):
        if number:
            for _ in range(step):
                grown = np.zeros(pmf.size + 1)
                grown[:-1] = pmf
                grown[1:] += pmf
                pmf = grown * 0.5
            error += step * UNIT
        yield _Coins(first + number * step, law.start, pmf, tails, error)


@dataclass
class _Atoms:
    """The atoms of a pair of counts, collected from one total at a time."""

    losses: list[NDArray[np.float64]] = field(default_factory=list)
    masses: list[NDArray[np.float64]] = field(default_factory=list)
    neutral: float = 0.0
    infinite: float = 0.0
    missing: float = 0.0
    error: float = 0.0

    def add(self, weight: float, coins: _Coins, kept: float, swapped: float, outside: float) -> None:
        """Add the counts (a, S - a): likelihoods `kept a + swapped (S - a) + outside`, and with the two exchanged."""
        total = coins.total
        ones = coins.start + np.arange(coins.pmf.size, dtype=np.float64)
        up, down = kept * ones + swapped * (total - ones) + outside, swapped * ones + kept * (total - ones) + outside
        mass = weight * coins.pmf * (2.0 * up / total)
        finite = (up > 0) & (down > 0)
        self.losses.append(np.log(up[finite] / down[finite]))
        self.masses.append(mass[finite])
        self.infinite += float(mass[down == 0].sum())
        self.missing += weight * 2.0 * (kept + outside / total) * coins.missing
        self.error = max(self.error, coins.relative_error)

    def distribution(self, relative_error: float) -> PrivacyLossDistribution:
        """Return the distribution of all atoms, with the errors of the laws and of the arithmetic."""
        losses = np.append(np.concatenate(self.losses), 0.0)
        return PrivacyLossDistribution.from_atoms(
            losses,
            np.append(np.concatenate(self.masses), self.neutral),
            self.infinite,
            self.missing * (1.0 + 1e-6),
            relative_error=self.error + relative_error + 64.0 * UNIT,
            loss_error=UNIT * (32.0 + 4.0 * float(np.abs(losses).max())),
        )
