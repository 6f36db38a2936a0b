"""Products of three and four columns' signs: what they show that neither a column nor two of them do."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["MULTIPLIED", "index_sets", "products_of", "telling_parities"]

MULTIPLIED = 24
"""Columns that are multiplied, three and four at a time."""
_PRODUCTS = 2
"""Products that are looked at."""

_AT_ONCE = 2**14
_MOST_ROWS = 10_000
"""Rows that products are searched on."""

Signs = NDArray[np.float32]
"""Shape (rows, columns): 1 and -1."""


@lru_cache(maxsize=8)
def index_sets(columns: int) -> NDArray[np.int64]:
    """Return all sets of three and of four columns, shape (sets, 4); of three the last one is -1."""
    threes = [(*each, -1) for each in itertools.combinations(range(columns), 3)]
    return np.array([*threes, *itertools.combinations(range(columns), 4)], dtype=np.int64).reshape(-1, 4)


def products_of(signs: Signs) -> NDArray[np.float64]:
    """Return the sums over rows of the products of all `index_sets`, by a matrix product of those of two.

    They are exact: in float32 up to 2^24 rows, and few are multiplied at a time.
    """
    columns = signs.shape[1]
    first, second = np.triu_indices(columns, 1)
    three, four = np.zeros((first.size, columns)), np.zeros((first.size, first.size))
    for start in range(0, len(signs), _AT_ONCE):
        rows = signs[start : start + _AT_ONCE]
        pairs = rows[:, first] * rows[:, second]
        three += pairs.T @ rows
        four += pairs.T @ pairs
    place = np.zeros((columns, columns), dtype=np.int64)
    place[first, second] = np.arange(first.size)
    a, b, c, d = index_sets(columns).T
    found = np.where(d < 0, three[place[a, b], c], four[place[a, b], place[c, np.maximum(d, 0)]])
    return np.asarray(found, dtype=np.float64)


def telling_parities(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Return the sets of three or four columns whose parities differ most between two samples, in standard deviations.

    - first, second (ndarray of bool, shape (rows, columns)): Columns that are always the same are left out.
    """
    moves = np.flatnonzero((np.concatenate([first, second]) != first[:1]).any(axis=0))
    if moves.size < 3:
        return []
    rows = [np.where(bits[:_MOST_ROWS, moves], np.float32(-1.0), np.float32(1.0)) for bits in (first, second)]
    means = [products_of(signs) / len(signs) for signs in rows]
    spread = np.sqrt(np.maximum(2.0 - means[0] ** 2 - means[1] ** 2, 1e-6))
    best = np.argsort(-np.abs(means[0] - means[1]) / spread, kind="stable")[:_PRODUCTS]
    return [tuple(moves[each[each >= 0]].tolist()) for each in index_sets(moves.size)[best]]
