"""Intervals of RAPPOR's strings: how many users hold each of some candidates, if every user holds one of them.

Reports are turned into one number for each user and candidate v: `Y = sum a_cb (report_b - p*) / (q* - p*)`, c her
cohort, with weights a for which Y has the mean 1 if she holds v, and 0 if she holds another candidate, over both
responses and her random cohort; they add up to 0, so that strings which are spread over all bits add nothing. The law
of Y is known for every candidate w, and with it `l_w(s) = ln E e^(s Y)`. So of T users with v among n the sum Z of all
Y has, whatever other candidates the others hold,

    P(Z >= z) <= exp(T l_v(s) + (n - T) max_w l_w(s) - s z),   s > 0,

by Markov's inequality, and the same for P(Z <= z) with s < 0. Each s bounds the T that are not refuted, and the best
counts: each of them bounds the chance that Z is beyond a number that T and s decide, and so does the least of these.

The weights of all candidates add up to a number of which the mean is 1 for all of them: where it says that they are
not n, users hold other strings, or do not follow the protocol.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.collection.client import cell
from dpverify.collection.query import Asked
from protocols.rappor.bloom import check_texts
from protocols.rappor.decoder import BitCounts
from protocols.rappor.response import Rappor

__all__ = ["bit_counts", "candidate_moves", "candidate_rows", "named_cells", "strange_strings"]

Floats = NDArray[np.float64]
_TRIED = np.geomspace(0.5, 2.0, 7)
"""Tilts, as multiples of the one that is best for normal tails."""
_ROUNDED = 1e-9
_MOST = 2**28
"""Numbers of a table of weights, at most."""


def bit_counts(mechanism: Rappor, counts: NDArray[np.int64]) -> BitCounts:
    """Return a batch's counts, of each cohort its reports and then the ones of each bit, in a row."""
    rows = counts.reshape(mechanism.cohorts, 1 + mechanism.bits)
    return BitCounts(mechanism, rows[:, 0], rows[:, 1:])


class _Candidates:
    """What reports of all candidates are turned into.

    - texts: Different ones, at least one.
    """

    def __init__(self, mechanism: Rappor, texts: list[str]) -> None:
        self.mechanism, self.places = mechanism, mechanism.filter.positions(texts)
        # Two functions may fill one bit, which counts once.
        same = self.places[..., :, np.newaxis] == self.places[..., np.newaxis, :]
        self.first = ~np.tril(same, -1).any(axis=-1)
        shape = (len(texts), mechanism.cohorts, mechanism.bits)
        if math.prod(shape) > _MOST:
            raise ValueError(f"candidates has {len(texts):,} strings, but must have fewer of so many bits.")
        patterns = np.zeros(shape)
        np.put_along_axis(patterns, self.places, 1.0, axis=2)
        flat = patterns.reshape(len(texts), -1) / mechanism.cohorts
        flat = np.vstack([flat, np.full(flat.shape[1], 1.0 / flat.shape[1])])  # as of strings that are spread evenly
        gram = flat @ flat.T
        if np.linalg.matrix_rank(gram, hermitian=True) <= len(texts):
            raise ValueError("candidates must not be combinations of each other's bits: list fewer.")
        self.weights = np.asarray(np.linalg.solve(gram, flat)[:-1].reshape(shape), dtype=np.float64)

    def total(self, counts: BitCounts, weights: Floats) -> float:
        """Return the sum of all users' numbers."""
        return float(np.sum(weights * counts.debiased))

    def logs(self, weights: Floats, tilts: Floats) -> Floats:
        """Return ln E e^(s Y) for every candidate that a user may hold, shape (tilts, candidates)."""
        zero, one = self.mechanism.report_probabilities
        s = tilts[:, np.newaxis, np.newaxis] * weights / (one - zero)
        grown = np.expm1(s)
        low, high = np.log1p(zero * grown), np.log1p(one * grown)
        none = (low - zero * s).sum(axis=2)
        filled = np.zeros((tilts.size, *self.places.shape[:2]))
        for function in range(self.places.shape[2]):
            places = self.places[..., function]
            more = np.take_along_axis(high - low, places.T[np.newaxis], axis=2)
            filled += more.transpose(0, 2, 1) * self.first[..., function]
        return np.asarray(np.logaddexp.reduce(none[:, np.newaxis] + filled, axis=2) - math.log(none.shape[1]))

    def ends(self, at: int, users: int, log: float) -> Callable[[float], tuple[int, int]]:
        """Return what says, of the sum of all numbers, which T it does not refute: the first and the last."""
        tilts = self.tilts(self.weights[at], users, log)
        signed = np.concatenate([tilts, -tilts])
        logs = self.logs(self.weights[at], signed)
        others = logs[:, [other for other in range(logs.shape[1]) if other != at] or [at]].max(axis=1)
        apart = logs[:, at] - others

        def told(value: float) -> tuple[int, int]:
            # T times what they are apart is at least this, where T is not refuted.
            left = signed * value - users * others - log
            left -= _ROUNDED * (1.0 + np.abs(signed * value) + users * np.abs(others))
            if (left[apart == 0.0] > 0.0).any():
                return 1, 0
            low = (left[apart > 0.0] / apart[apart > 0.0]).max(initial=0.0)
            high = (left[apart < 0.0] / apart[apart < 0.0]).min(initial=float(users))
            return math.ceil(low - 1e-6), math.floor(high + 1e-6)

        return told

    def tilts(self, weights: Floats, users: int, log: float) -> Floats:
        """Return positive tilts, among them about the best."""
        zero, one = self.mechanism.report_probabilities
        spread = max(p * (1.0 - p) for p in (zero, one)) / (one - zero) ** 2
        variance = spread * float(np.square(weights).sum()) / self.mechanism.cohorts
        return np.asarray(math.sqrt(2.0 * log / (users * max(variance, 1e-300))) * _TRIED)


def candidate_rows(
    counts: BitCounts, texts: list[str], side: float
) -> list[tuple[float, float, float, tuple[str, ...]]]:
    """Return how many users hold each candidate, about, and the ends of its interval.

    Parameters
    ----------
    counts : BitCounts
        Of one report of each user.
    texts : list of str
        The candidates, different ones: those of all users.
    side : float
        How likely any low end misses at most, and any high end.

    Returns
    -------
    list of (float, float, float, (str,))
        The ends in [0, users]; low is above high where the reports contradict every number. The last is the candidate.

    Raises
    ------
    ValueError
        For candidates that their bits do not tell apart.
    """
    if not texts:
        return []
    found = list[tuple[float, float, float, tuple[str, ...]]]()
    users, log = int(counts.users.sum()), math.log(len(texts) / side)
    known = _Candidates(counts.mechanism, texts)
    for at, text in enumerate(texts):
        value = known.total(counts, known.weights[at])
        low, high = known.ends(at, users, log)(value)
        found.append((value, float(low), float(high), (text,)))
    return found


def candidate_moves(mechanism: Rappor, texts: Sequence[str]) -> list[tuple[float, float]]:
    """Return the least and the most that one report can add to the number of users of each candidate; both attained.

    The number is a sum over reports of `Y`: whoever sends what she likes takes the cohort and the bits for which hers
    is largest, or smallest. So m cheats move it by at most m times that, compared with staying away.

    >>> [(least, most)] = candidate_moves(Rappor(bits=8, hashes=1, cohorts=2, f=0.5, p=0.25, q=0.75), ["red"])
    >>> round(least, 2), round(most, 2)
    (-4.0, 4.0)
    """
    zero, one = mechanism.report_probabilities
    weights = _Candidates(mechanism, check_texts("candidates", texts)).weights / (one - zero)
    found = [np.maximum(side * weights * (1.0 - zero), -side * weights * zero).sum(axis=2) for side in (-1.0, 1.0)]
    return [(-float(low), float(high)) for low, high in zip(*(each.max(axis=1) for each in found), strict=True)]


def strange_strings(counts: BitCounts, texts: list[str], side: float) -> list[str]:
    """Return what no users who hold candidates and follow the protocol send, but for `side` at each end."""
    if not texts:
        return []
    known, users, log = _Candidates(counts.mechanism, texts), int(counts.users.sum()), -math.log(side)
    weights = np.asarray(known.weights.sum(axis=0), dtype=np.float64)
    value, tilts = known.total(counts, weights), known.tilts(weights, users, log)
    for sign in (1.0, -1.0):
        most = users * known.logs(weights, sign * tilts).max(axis=1)
        if (sign * tilts * value - most - log > _ROUNDED * (1.0 + np.abs(tilts * value) + np.abs(most))).any():
            return [
                f"the candidates are those of {value:,.0f} of {users:,} users: some hold others, or flip otherwise."
            ]
    return []


def named_cells(asked: Sequence[Asked], candidates: Sequence[str]) -> dict[tuple[str, int | None], list[str]]:
    """Return the candidates of each cell of queries of strings, in which there are any."""
    if isinstance(candidates, str):
        raise TypeError(f"candidates={candidates!r} must be a sequence of strings, not one.")
    cells: dict[tuple[str, int | None], list[str]] = {}
    for each in asked:
        if each.asks == "strings":
            query = {"name": each.name, "instances": each.instances}
            for text in dict.fromkeys(candidates):
                cells.setdefault((each.name, cell(query, text)), []).append(text)
    return cells
