"""Does where a message arrives tell who sent it? Learned on half of the runs, tested on the others.

The users' inputs are dealt anew in every run. Of a half of the runs it is learned how much more often a part of the
arrivals holds the symbol where a part of the users has the larger inputs; these weights judge the runs of the other
half. Given the messages of a run, a shuffler puts them in uniformly random order, whatever the inputs: the score of a
run has mean 0 and a known variance, and Bernstein's inequality bounds the sum over runs (boucheron2013, 2.10).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.statistics.order.structure import StructureCheck

__all__ = ["message_places"]

_PARTS = 64
"""Users, and arrivals, are taken in so many parts at most."""
_SEEM = (1.5, 3.0)
"""Standard deviations from which on a weight counts, in scores of their own."""
_FEWEST = 20
"""Fewer runs teach nothing."""
_AT_ONCE = 65_536
"""Messages that are judged together."""


def message_places(dealt: Sequence[NDArray[np.bool_]], held: Sequence[NDArray[np.bool_]]) -> StructureCheck:
    """Test whether the order of arrival tells which users sent which messages.

    - dealt (sequence of ndarray of bool, shape (users,) each): Which users had the larger inputs, in runs that are
      independent given these.
    - held (sequence of ndarray of bool, shape (messages,) each): Which messages, in the order of their arrival, are the
      symbol.
    """
    name, half = "message places", len(held) // 2
    if half < _FEWEST:
        return StructureCheck(name, 1.0, "there are too few runs to learn from")
    users, arrivals = (min(_PARTS, max(1, *(x.size for x in xs))) for xs in (dealt, held))
    marks = np.array([_parts_of(marked, users) for marked in dealt])
    learned = marks[:half].T @ np.array([_parts_of(symbols, arrivals) for symbols in held[:half]])
    # A few users who stay in few places, or many of whom each goes a little oftener to one side.
    spread = math.sqrt(float(np.mean(learned**2)))
    left, _, right = np.linalg.svd(learned)
    weights = [np.where(np.abs(learned) > least * spread, learned, 0.0) for least in _SEEM]
    weights.append(np.multiply.outer(left[:, 0], right[0]))
    judged = list(_blocks(marks[half:], held[half:]))
    p_value, off = min(_judged(weight / max(float(np.abs(weight).max()), 1e-300), judged) for weight in weights)
    shown = f"places learned from {half} runs score {-off:.3g} deviations in others"
    return StructureCheck(name, min(1.0, len(weights) * p_value), shown)


def _blocks(
    marks: NDArray[np.float64], held: Sequence[NDArray[np.bool_]]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Yield the marks and symbols of runs with as many messages, (runs, users) and (runs, messages), 2 at least."""
    sizes = np.array([symbols.size for symbols in held])
    for size in np.unique(sizes[sizes >= 2]).tolist():
        alike, number = np.flatnonzero(sizes == size), max(1, _AT_ONCE // size)
        for start in range(0, alike.size, number):
            chosen = alike[start : start + number]
            yield marks[chosen], np.array([held[run] for run in chosen])


def _judged(
    weights: NDArray[np.float64], blocks: Sequence[tuple[NDArray[np.float64], NDArray[np.bool_]]]
) -> tuple[float, float]:
    """Return the p-value of the runs' score, and less how many standard deviations it has."""
    total, variance, most, arrivals = 0.0, 0.0, 0.0, weights.shape[1]
    for marks, symbols in blocks:
        size = symbols.shape[1]
        weight = (marks @ weights)[:, np.arange(size) * arrivals // size]
        weight -= weight.mean(axis=1, keepdims=True)
        centred = symbols - symbols.mean(axis=1, keepdims=True)
        total += float(np.vdot(weight, centred))
        variance += float(np.sum(weight**2, axis=1) @ np.sum(centred**2, axis=1)) / (size - 1)
        most = max(most, float(np.sum(np.sort(weight, axis=1) * np.sort(centred, axis=1), axis=1).max()))
    if total <= 0.0 or variance <= 0.0:
        return 1.0, 0.0
    return math.exp(-(total**2) / (2.0 * (variance + most * total / 3.0))), -total / math.sqrt(variance)


def _parts_of(marked: NDArray[np.bool_], parts: int) -> NDArray[np.float64]:
    """Return by how much more of each part is marked than of all, summed over the part."""
    if not marked.size:
        return np.zeros(parts)
    at = np.arange(marked.size) * parts // marked.size
    return np.bincount(at, marked - marked.mean(), parts).astype(np.float64)
