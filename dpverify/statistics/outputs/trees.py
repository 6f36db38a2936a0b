"""A sum of small trees without walking them: of each number it is known beforehand which leaves it leaves open.

The thresholds on a feature cut it into cells. For each cell a byte per tree says which of up to eight leaves may still
be reached; the bytes of all features together (bitwise and) leave the one that is. So a row costs a table's line for
each feature, and one number for each tree, where walking costs three steps for each, most of them guessed wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass

__all__ = ["SmallTrees"]

_LEAVES = 8
_AT_ONCE = 4096
"""Rows whose bytes are looked up at a time: these stay in the cache."""
_JOINED = 4096
"""Cells of several features with few thresholds that share one table, at most."""

_Group = list[tuple[int, NDArray[np.float64]]]
"""Features, each with where its cells begin."""
_Leaf = tuple[float, dict[int, tuple[float, float]]]
"""A leaf's value, and between which thresholds the features are that lead to it: above the first, up to the second."""


@dataclass(frozen=True, eq=False)
class SmallTrees:
    """A constant and trees of at most eight leaves, of rows of numbers.

    - constant: What is added.
    - groups: For each table the features that it is of, with their thresholds in order.
    - open: For each table the leaves that a cell leaves open, shape (cells, words): eight trees a word.
    - values: The value of a leaf by its bit, shape (trees, 256).
    """

    constant: float
    groups: Sequence[_Group]
    open: Sequence[NDArray[np.uint64]]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, constant: float, trees: Sequence[NDArray[Any]]) -> SmallTrees | None:
        """Return the sum of trees, each an array of nodes as scikit-learn keeps them; None if one has more leaves."""
        leaves = [list(_leaves(nodes, 0, {})) for nodes in trees]
        if max(map(len, leaves), default=0) > _LEAVES:
            return None
        values = np.zeros((len(trees), 256))
        ends: dict[int, set[float]] = {}
        for tree, found in enumerate(leaves):
            values[tree, 2 ** np.arange(len(found))] = [value for value, _ in found]
            for feature, between in (item for _, allowed in found for item in allowed.items()):
                ends.setdefault(feature, set()).update(end for end in between if math.isfinite(end))
        groups: list[_Group] = [[]]
        cells = 1
        for feature, own in sorted(ends.items(), key=lambda item: (len(item[1]), item[0])):
            if cells * (len(own) + 1) > _JOINED and cells > 1:
                groups.append([])
                cells = 1
            cells *= len(own) + 1
            groups[-1].append((feature, np.array(sorted(own))))
        return cls(float(constant), groups, [_open(group, leaves) for group in groups], values)

    @classmethod
    def of_classifier(cls, model: Any, rows: NDArray[np.float64]) -> SmallTrees | None:
        """Return the log-odds of a classifier of scikit-learn's, where some rows say that they are these; None if not.

        How it keeps its trees is no part of what it promises.
        """
        try:
            trees = [each.nodes for (each,) in model._predictors]
            found = cls.of(float(np.asarray(model._baseline_prediction).item()), trees)
        except (AttributeError, LookupError, TypeError, ValueError):
            return None
        return found if found is not None and np.array_equal(found(rows), model.decision_function(rows)) else None

    @property
    def used(self) -> list[int]:
        """The features that the sum depends on."""
        return sorted(feature for group in self.groups for feature, _ in group)

    def __call__(self, samples: ArrayLike) -> NDArray[np.float64]:
        """Return the sums, shape (rows,), of rows, shape (rows, features); of one feature shape (rows,)."""
        rows = np.asarray(samples, dtype=np.float64)
        rows = rows.reshape(len(rows), -1)
        found = np.empty(len(rows))
        for at in range(0, len(rows), _AT_ONCE):
            found[at : at + _AT_ONCE] = self._some(rows[at : at + _AT_ONCE])
        return found

    def _some(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        places = [_cells(group, rows) for group in self.groups]
        if len(places) == 1:
            return self._known.take(places[0])
        left = self.open[0].take(places[0], axis=0)
        for table, cells in zip(self.open[1:], places[1:], strict=True):
            left &= table.take(cells, axis=0)
        return self._sums(left)

    @cached_property
    def _known(self) -> NDArray[np.float64]:
        """The sums of all cells of a single table."""
        return self._sums(self.open[0])

    def _sums(self, left: NDArray[np.uint64]) -> NDArray[np.float64]:
        found = np.full(len(left), self.constant)
        for values, bits in zip(self.values, left.view(np.uint8).T, strict=False):
            found += values.take(bits)
        return found


def _cells(group: _Group, rows: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the cell of a table that each row is in."""
    cells = np.zeros(len(rows), dtype=np.intp)
    for feature, thresholds in group:
        cells = cells * (thresholds.size + 1) + np.searchsorted(thresholds, rows[:, feature])
    return cells


def _leaves(nodes: NDArray[Any], at: int, between: dict[int, tuple[float, float]]) -> Iterator[_Leaf]:
    node = nodes[at]
    if node["is_leaf"]:
        yield float(node["value"]), between
        return
    feature, threshold = int(node["feature_idx"]), float(node["num_threshold"])
    low, high = between.get(feature, (-math.inf, math.inf))
    yield from _leaves(nodes, int(node["left"]), between | {feature: (low, min(high, threshold))})
    yield from _leaves(nodes, int(node["right"]), between | {feature: (max(low, threshold), high)})


def _open(group: _Group, leaves: Sequence[Sequence[_Leaf]]) -> NDArray[np.uint64]:
    """Return which leaves the cells of some features together leave open, shape (cells, words)."""
    table = np.zeros((1, -(-len(leaves) // 8) * 8), dtype=np.uint8)
    table[0, : len(leaves)] = [2 ** len(found) - 1 for found in leaves]
    for feature, thresholds in group:
        own = np.zeros((thresholds.size + 1, table.shape[1]), dtype=np.uint8)
        for tree, found in enumerate(leaves):
            for leaf, (_, allowed) in enumerate(found):
                low, high = allowed.get(feature, (-math.inf, math.inf))
                # Cell k is above the first k thresholds, and up to the next.
                begin, end = np.searchsorted(thresholds, low, "right"), np.searchsorted(thresholds, high) + 1
                own[begin:end, tree] |= np.uint8(1 << leaf)
        table = (table[:, np.newaxis] & own).reshape(-1, table.shape[1])
    return table.view(np.uint64)
