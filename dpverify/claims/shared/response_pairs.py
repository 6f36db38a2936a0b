"""The pairs of neighbouring views of randomized response: what an adversary sees of one user among all others.

Exact pair for k ones among the other n - 1 users: `W + Bern(p)` against `W + Bern(1-p)`, `W = Bin(k, 1-p) +
Bin(n-1-k, p)`. Which k is worst depends on epsilon: an end point away from epsilon = 0, the middle next to it. All k
are covered at once, by cells and a chord:

- A dataset with between k and k + w ones can reveal, of up to w users, whose report is a coin toss (which it is with
  probability 2p, whatever her bit) and what the others report. That leaves the n - w users with k ones, and a binomial
  number of coins. Fewer coins only lose privacy, so the pair with so few that next to none of the mass has fewer
  dominates every dataset of the cell. Cells over [0, (n-1)/2] are enough: flipping all bits maps k to n-1-k and
  exchanges the directions.
- The cells lie below the chord between k = 0 and k = n-1, and below several others from k = n-1 to the supremum of all
  that are far from it; see `dpverify.privacy_loss.datasets.chord`. Which is best depends on how often it is used.
- With few flipped reports the worst cell, in all instances, bounds any mix; see
  `dpverify.privacy_loss.composing.any_mix`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.shared.bitsum_pairs import Pairs
from dpverify.privacy_loss.datasets.binned import BinnedPairs
from dpverify.privacy_loss.datasets.chord import Members, chord
from dpverify.privacy_loss.datasets.covers import Covers, Made
from dpverify.privacy_loss.datasets.listed_reports import ListedReports, sure_coins
from dpverify.privacy_loss.datasets.report_sums import ReportSums
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions, binomial_randomized_response, mixed_reports
from dpverify.rounding import UNIT

__all__ = [
    "DAYS_TAIL",
    "FEW_CELLS",
    "MOST_CELLS",
    "TAIL",
    "cover",
    "cover_of_day",
    "extreme",
    "note",
    "sampled",
    "tail_of",
]

Floats = NDArray[np.float64]
TAIL = 1e-42
"""Where binomials are cut, unless so little may be left out that this is too much."""
_SHORT_TAIL = 1e-26
"""Where they are cut for many users, if that is nothing beside what may be left out: cells then have more coins."""
_SMALL, _LEAST_TAIL, _LEAST_BINNED_TAIL = 1e-28, 1e-290, 1e-220
"""What may be left out before the tails must be cut further out, the least tail, and that of masses in bins."""
_MOST_LISTED, _MOST_CELLS_FAR_OUT = 10_000, 128
"""Up to so many users each cell is listed for a small delta; and how many cells, whatever the users."""
MOST_CELLS, _MOST_SKEWED_CELLS, _SKEWED_FLIPS = 512, 768, 2500.0
"""How many cells, and how many with fewer flipped reports: sums of these are skewed, which costs something, too."""
FEW_CELLS = 8
"""For bounds that need not be sharp."""
DAYS_CELLS, DAYS_TAIL, DAYS_BINS = 127, 1e-24, 20
"""For one of many days, of which each adds a little: several times as quick as the sharp cover, and .2 % looser."""
_EVEN = (FEW_CELLS, DAYS_CELLS)
"""So many cells need not be sharp, and are all of one width."""
_BINS_PER_DEVIATION = 40
_LARGEST_LISTED_DEVIATION = 300.0
"""Up to this standard deviation the attained pair is listed report by report, beyond it in bins."""
_FEWEST_FLIPS = 4.0
"""With fewer flipped reports in expectation every cell is listed."""
_MOST_LISTED_CELLS = 64
"""With few flips the end is worst by far, so that wide cells away from it do; `AnyMix` divides those that do not."""
_GROWTH, _NARROW = 0.04, 2**14
"""The cells next to the end are of so many on either side, and grow by this share of their distance from it."""
_REACHES = ((0.5, 1.0), (0.2, 0.5), (0.05, 0.5), (0.03, 0.2), (0.012, 0.05), (0.005, 0.02), (1e-300, 1.0))
"""Up to where, as a share of all users, members are put below a chord to the end; none, at last. And its other foot."""
_CUTS = ((0.004, 0.05), (0.004, 0.05, 0.25))
"""Between the pieces of covers for joint changes, as shares of all users: near the end a wide one costs more."""
_NEAR, _FAR = 0.2, tuple(0.01 * hundredths for hundredths in range(21, 51))
"""Beyond this distance only suprema of binned members are kept, up to these ends: what is cut there is no nearer."""
_ROOM = 1.01
"""How far a grid of losses reaches beyond the largest of the first cells."""
_FIRST, _SAMPLED = 8, 12
"""So many cells next to the end and then each so manyth tell a search where the bound of all is."""
_MOST_LISTED_FLIPS, _MOST_DIVIDED_FLIPS = 128.0, 512.0
"""With fewer flips the cells are listed report by report rather than in bins, which do not resolve rare losses.

And with fewer than the second they are listed, and divided, where the chords do not do.
"""
_LEAST_BINNED = 1e-280
"""Losses of smaller flip probabilities leave the floats in bins."""


def tail_of(users: int, p: float, left_out: float) -> float:
    """Return the tails to cut: a small delta needs smaller ones, as entries that a cut could change are cut too."""
    many = users > _MOST_LISTED and users * p >= _MOST_LISTED_FLIPS
    if left_out >= _SMALL:
        return _SHORT_TAIL if many and left_out >= 1e6 * _SHORT_TAIL else TAIL
    # Bins keep the digits of every mass, and of a law that is listed those that are 1e16 times what is cut.
    return max(1e-14 * left_out, _LEAST_BINNED_TAIL) if many else max(1e-20 * left_out * p, _LEAST_TAIL)


def extreme(users: int, p: float, tail: float) -> Directions:
    """Return the pair for all other users holding 0, or bins of it, which a curator may report instead."""
    if users * p * (1.0 - p) <= _LARGEST_LISTED_DEVIATION**2:
        return binomial_randomized_response(users, p, tail)
    return ReportSums([users - 1], [0], [0], p).pairs(tail=tail, bins_per_deviation=_BINS_PER_DEVIATION).merged(0)


def _cells(half: int, most_cells: int) -> Iterator[tuple[int, int]]:
    """Yield the least number of ones of each cell of [0, half], and how many more its largest has.

    The end is a cell of its own, and those next to it are narrower: what a wide cell costs would matter there, but for
    bounds that need not be sharp. The narrower ones come on top of the most.
    """
    widest = math.ceil((half + 1) / most_cells)
    narrowest = widest if most_cells in _EVEN else math.ceil((half + 1) / _NARROW)
    first, width = 0, 1
    while first <= half:
        width = min(width, half + 1 - first)
        yield first, width - 1
        first += width
        width = min(max(narrowest, int(_GROWTH * first)), widest)


def _next_to_the_end(users: int, p: float, tail: float) -> list[PrivacyLossDistribution]:
    """Return attained pairs that may exceed that of the end, whose losses have wide gaps if few reports are flipped."""
    distances = np.append(np.geomspace(0.02, 3.0, 12) / (users * p), 0.5)
    ones = {round(distance * (users - 1)) for distance in distances if distance <= 0.5} - {0}
    return [pair for k in sorted(ones) for pair in mixed_reports(users, k, p, tail)]


def _cells_at_most(users: int, p: float, most_cells: int, tail: float) -> int:
    if _listed(users, p, tail):
        return min(most_cells, _MOST_LISTED_CELLS if users * p < _MOST_LISTED_FLIPS else _MOST_CELLS_FAR_OUT)
    return _MOST_SKEWED_CELLS if most_cells == MOST_CELLS and users * p < _SKEWED_FLIPS else most_cells


def _listed(users: int, p: float, tail: float) -> bool:
    return users * p < _MOST_LISTED_FLIPS or (tail < TAIL and users <= _MOST_LISTED)


def _chorded(users: int, p: float, tail: float) -> bool:
    return not (_listed(users, p, tail) and (tail < TAIL or p < _LEAST_BINNED))


def note(users: int, p: float, most_cells: int, tail: float) -> str:
    """Return which datasets attain the pairs of `cover`, and how the others are covered, without listing any."""
    if users <= 2:
        return "attained by all others, one at most"
    cells = 2 * sum(1 for _ in _cells((users - 1) // 2, _cells_at_most(users, p, most_cells, tail)))
    chord = " and a chord between two pairs" if _chorded(users, p, tail) else ""
    return f"from below by datasets tried, as all others holding one bit; from above by {cells} cells{chord}"


@functools.lru_cache(maxsize=4)
def cover(users: int, p: float, most_cells: int, tail: float, bins: int = _BINS_PER_DEVIATION) -> Pairs:
    """Return pairs that cover every dataset.

    - users, p: n, and the flip probability.
    - most_cells: About how many cells the numbers of ones are divided into: more are sharper.
    - tail: See `tail_of`.
    - bins: How many of them a standard deviation has.
    """
    return _covered(users, p, most_cells, tail, bins, sample=False)


@functools.lru_cache(maxsize=32)
def cover_of_day(users: int, p: float, tail: float) -> Pairs:
    """Return a looser cover for one of many days, some 4 MB: who asks for more days asks for the same ones again."""
    return _covered(users, p, DAYS_CELLS, tail, DAYS_BINS, sample=False)


def sampled(users: int, p: float, tail: float) -> Pairs:
    """Return about the pairs of the sharp cover by a sample of its cells, for a search: they prove nothing."""
    return _covered(users, p, MOST_CELLS, tail, _BINS_PER_DEVIATION, sample=True)


def _covered(users: int, p: float, most_cells: int, tail: float, bins: int, *, sample: bool) -> Pairs:
    """Return the pairs of all cells, or of a sample."""
    told = note(users, p, most_cells, tail)
    if users <= 2:
        # All others, one at most, hold the same bit.
        alone = tuple(binomial_randomized_response(users, p, tail))
        return Pairs(alone, alone, note=told)
    half = (users - 1) // 2
    cells = list(_cells(half, _cells_at_most(users, p, most_cells, tail)))
    attained = tuple(extreme(users, p, tail))
    reports, once = ListedReports(users, p, tail), list[PrivacyLossDistribution]()
    wide = list(_cells(half, min(most_cells, _MOST_LISTED_CELLS)))
    if sample:
        # With few flips the worst by itself is next to the end.
        cells, wide = [*cells[:_FIRST], *cells[_FIRST::_SAMPLED]], wide[:2]
    single = functools.partial(reports.branches, wide) if users * p < _MOST_DIVIDED_FLIPS else None
    listed = _listed(users, p, tail)
    if listed and not _chorded(users, p, tail):
        pairs = [reports.pair(*cell) for cell in cells]
        groups = (tuple(pair.up for pair in pairs), tuple(pair.down for pair in pairs))
        return Pairs(Covers(groups, (), single=functools.partial(reports.branches, cells)), attained, note=told)
    if listed:
        # So few reports are flipped that their sum is no bell, or so few sent and so little left out.
        once = _next_to_the_end(users, p, tail)
        profiles = _listed_profiles(users, p, [reports.pair(*cell) for cell in cells], bins)
    else:
        profiles = _binned_profiles(users, p, cells, tail, bins)
    step, excess, missing = profiles
    shares = np.array([(first / (users - 1), (first + unsure) / (users - 1)) for first, unsure in cells])
    others = _others(profiles, shares, 1.0 if listed else _NEAR)
    few = users * p < _FEWEST_FLIPS
    nearby = Made([functools.partial(others.towards_end, *reach) for reach in _REACHES[few:]])
    fine = Made([functools.partial(others.pieces, cuts) for cuts in _CUTS])
    best = others.towards_end(*_REACHES[0]) if few else chord(step, excess[0], excess, shares, missing)
    return Pairs(Covers(best, nearby, once, single, fine), attained, note=told)


class _Profiles(NamedTuple):
    """Upper bounds on the excess profiles of all cells, shape (cells, 2m + 1), at the losses `step (-m, ..., m)`."""

    step: float
    excess: Floats
    missing: float


def _grid(users: int, p: float, listed_to: float, bins: int) -> tuple[float, Floats]:
    """Return the step and the losses of a grid as dense as the bins, up to beyond the largest loss."""
    deviation = (1.0 - 2.0 * p) / math.sqrt(users * p * (1.0 - p))
    # No loss is larger than that of a report by itself.
    largest = min(listed_to, (math.log1p(-p) - math.log(p)) * (1.0 + 16.0 * UNIT))
    points = min(max(math.ceil(largest / deviation * bins), 20 * bins), 80 * bins)
    step = largest / points * (1.0 + 1e-9)
    return step, step * np.arange(-points, points + 1, dtype=np.float64)


def _listed_profiles(users: int, p: float, listed: Sequence[Directions], bins: int) -> _Profiles:
    binned = BinnedPairs.listed(listed)
    step, losses = _grid(users, p, binned.largest_loss, bins)
    middle = losses.size // 2
    excess = binned.excess(losses)
    # A likelihood ratio near 0 is known from the other direction, where it is large, to all its digits.
    other = BinnedPairs.listed([Directions(pair.down, pair.up) for pair in listed]).excess(losses[middle:])
    excess[:, :middle] = np.exp(losses[:middle]) * (1.0 + 8.0 * UNIT) * other[:, :0:-1]
    if losses[-1] < binned.largest_loss:
        excess[:, [0, -1]] = 0.0
    return _Profiles(step, excess, float(binned.missing.max()))


def _binned_profiles(users: int, p: float, cells: Sequence[tuple[int, int]], tail: float, bins: int) -> _Profiles:
    coins, lost = zip(*(sure_coins(unsure, p, tail) for _, unsure in cells), strict=True)
    zeros, ones = [users - 1 - first - unsure for first, unsure in cells], [first for first, _ in cells]
    sums = ReportSums(zeros, ones, list(coins), p)
    listed_to = 0.0
    while True:
        row = 0
        for part in sums.blocks(tail=tail, bins_per_deviation=bins):
            if row == 0:
                # The end is first, and has the largest losses, but for where windows end: no more than a guess.
                listed_to = max(listed_to, part.largest_loss * _ROOM)
                step, losses = _grid(users, p, listed_to, bins)
                excess, missing = np.empty((len(cells), losses.size)), 0.0
            elif part.largest_loss > listed_to:
                listed_to = part.largest_loss * _ROOM
                break
            size = part.missing.size
            excess[row : row + size] = part.excess(losses)
            row, missing = row + size, max(missing, float(part.missing.max()))
        else:
            if losses[-1] < listed_to:
                excess[:, [0, -1]] = 0.0
            return _Profiles(step, excess, missing + max(lost))


def _others(profiles: _Profiles, shares: Floats, near: float) -> Members:
    """Return all cells but the end, k = n - 1, where the mirror image of k = 0 is; those not near by their suprema.

    The pairs that stand for the cells have as many ones, or zeros, as the least of the cell.
    """
    step, excess, missing = profiles
    middle = excess.shape[1] // 2
    grown = np.exp(step * np.arange(-middle, middle + 1, dtype=np.float64)) * (1.0 + 8.0 * UNIT)
    firsts, last = shares[:, 0], 1.0 - shares[:, 1]
    first = int(np.searchsorted(firsts, near))
    borders = [first, *np.searchsorted(firsts, [cut for cut in _FAR if cut > near]), len(shares)]
    groups = [(begin, end) for begin, end in pairwise(borders) if begin < end]
    mirrored = [*excess[1:first], *(excess[begin:end].max(axis=0) for begin, end in groups)]
    rows, distances = grown * np.array(mirrored)[:, ::-1], [*firsts[1:first], *(firsts[begin] for begin, _ in groups)]
    if near < 0.5:
        rows, distances = np.append(rows, excess.max(axis=0)[None], axis=0), [*distances, last[-1]]
    else:
        rows, distances = np.append(rows, excess[::-1], axis=0), [*distances, *last[::-1]]
    return Members(step, grown * excess[0, ::-1], rows, np.array(distances), missing)
