"""Outputs in little memory, exact to the last bit: columns of few different numbers as places among these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass

__all__ = ["Packed", "PackedOutputs"]


@dataclass(frozen=True, eq=False)
class Packed:
    """One array of outputs.

    - shape: Of the array.
    - columns: For each column of outputs its different numbers and the place of each run's one among these; no places
      where there are too many, and the numbers are those of the runs.
    """

    shape: tuple[int, ...]
    columns: tuple[tuple[NDArray[np.float64], NDArray[Any] | None], ...]

    @classmethod
    def of(cls, outputs: NDArray[np.float64]) -> Packed:
        """Pack an array of shape (trials, ...)."""
        rows = np.ascontiguousarray(outputs).reshape(len(outputs), math.prod(outputs.shape[1:]))
        return cls(outputs.shape, tuple(_packed(rows[:, column].copy()) for column in range(rows.shape[1])))

    def array(self) -> NDArray[np.float64]:
        """Return the array."""
        return self.rows(slice(None)).reshape(self.shape)

    def rows(self, wanted: slice) -> NDArray[np.float64]:
        """Return some columns, shape (trials, columns)."""
        columns = self.columns[wanted]
        rows = np.empty((self.shape[0], len(columns)))
        for column, (numbers, places) in enumerate(columns):
            rows[:, column] = numbers if places is None else numbers[places]
        return rows


def _packed(column: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    bits, places = np.unique(column.view(np.int64), return_inverse=True)  # 0 and -0 differ
    short = places.astype(np.min_scalar_type(max(0, bits.size - 1)))
    return (column, None) if bits.nbytes + short.nbytes >= column.nbytes else (bits.view(np.float64), short)


class PackedOutputs(Sequence[NDArray[np.float64]]):
    """The outputs on several datasets, as they come; unpacked one dataset at a time.

    - most: Of each dataset only so many are kept, the first ones; all when omitted.
    """

    def __init__(self, datasets: int, most: int | None = None) -> None:
        self._packed: list[list[Packed]] = [[] for _ in range(datasets)]
        self._left = math.inf if most is None else most

    def update(self, outputs: Sequence[NDArray[np.float64]]) -> None:
        """Add as many outputs on every dataset, one array of shape (trials, ...) each."""
        if self._left <= 0:
            return
        kept = int(min(self._left, max(map(len, outputs))))
        self._left -= kept
        for packed, array in zip(self._packed, outputs, strict=True):
            packed.append(Packed.of(array[:kept]))

    def __len__(self) -> int:
        return len(self._packed)

    def __getitem__(self, dataset: int) -> NDArray[np.float64]:  # type: ignore[override]
        """Return the outputs on one dataset, shape (trials, columns)."""
        return self.part(dataset, slice(None))

    def part(self, dataset: int, columns: int | slice, most: int | None = None) -> NDArray[np.float64]:
        """Return some columns on one dataset, shape (trials, columns), or one, shape (trials,); of the first trials."""
        wanted = columns if isinstance(columns, slice) else slice(columns, columns + 1)
        left, parts = math.inf if most is None else most, []
        for packed in self._packed[dataset]:
            if left <= 0:
                break
            parts.append(packed.rows(wanted)[: None if most is None else int(left)])
            left -= packed.shape[0]
        found = np.concatenate(parts)
        return found if isinstance(columns, slice) else found[:, 0]
