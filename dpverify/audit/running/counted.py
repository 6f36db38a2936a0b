"""What an audit with known laws keeps of the outputs: counts, and the first ones in their order.

Whether outputs follow their law, and what two datasets show, depends on how often each outcome occurs, whenever it
does: these counts add up over blocks, and take as much memory for ten million runs as for a thousand. Only tests that
compare runs need the runs themselves: the first `COMPARED` on each dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.calls import COMPARED
from dpverify.audit.running.packed import PackedOutputs
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.tally import Tally
from dpverify.statistics.instances import Sides
from dpverify.statistics.outputs.events import EventCounts, likelihood_ratio_events
from protocols.classes.frozen import dataclass

__all__ = ["CountedDataset", "CountedOutputs", "CountedPair"]


class CountedDataset:
    """The outputs on one dataset, counted: each column with a law, the view, and the columns tested together.

    `product` counts the product of the view's columns, each less its centre: whether they go together.
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.columns = {column: Tally(law) for column, (_, law) in dataset.laws.items()}
        self.view = None if dataset.view is None else Tally(dataset.view[1])
        self.product: Tally | None = None
        if self.view is not None and self.view.law.points.ndim > 1:
            law = self.view.law
            self._centre = np.rint(law.pmf @ law.points / law.pmf.sum()) + 0.5
            self.product = Tally(law.image(self._multiplied))
        self.independent = None if dataset.independent is None else Sides(dataset.independent[1])

    def update(self, rows: NDArray[np.float64]) -> None:
        """Count more outputs, shape (runs, columns)."""
        for column, tally in self.columns.items():
            tally.update(rows[:, column])
        if self.view is not None and self.dataset.view is not None:
            seen = rows[:, self.dataset.view[0]]
            self.view.update(seen)
            if self.product is not None:
                self.product.update(self._multiplied(seen))
        if self.independent is not None and self.dataset.independent is not None:
            self.independent.update(rows[:, self.dataset.independent[0]])

    def _multiplied(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(np.prod(rows - self._centre, axis=1))


@dataclass(frozen=True, eq=False)
class CountedPair:
    """What tells two neighbouring datasets apart, counted: the view if its law is known, else a column.

    - name: What is looked at.
    - where: Its columns.
    - tallies: Of what is looked at on the two datasets, by its laws.
    - counts: Of the events that would show most against the claim; None where nothing is claimed, or the laws are the
      same.
    """

    name: str
    where: int | slice
    tallies: tuple[Tally, Tally]
    counts: EventCounts | None

    @property
    def laws(self) -> tuple[DiscreteLaw, DiscreteLaw]:
        """Of what is looked at, on the two datasets."""
        return self.tallies[0].law, self.tallies[1].law

    @property
    def guessed(self) -> tuple[float, float]:
        """How often the likelier dataset is the right one, if either has half of the runs: by the laws, and here."""
        (first, second), right = self.laws, [0.0, 0.0]
        for tally, own, other in zip(self.tallies, (first, second), (second, first), strict=True):
            likelier = 0.5 + 0.5 * np.sign(own.pmf - other.probabilities(own.points))
            right[0] += 0.5 * float(own.pmf @ likelier)
            right[1] += 0.5 * float(tally.counts[:-1] @ likelier) / max(1, tally.trials)
        return right[0], right[1]


class CountedOutputs:
    """The outputs of a subject, counted as they come.

    - epsilon: The claim that neighbours are held against.
    - trials: How many outputs there will be on each dataset.
    - all_kept: Whether to keep all outputs, for tests of other packages, and not just the first `COMPARED`.
    """

    def __init__(self, subject: Subject, epsilon: float | None, trials: int, *, all_kept: bool = False) -> None:
        self.datasets = [CountedDataset(dataset) for dataset in subject.datasets]
        self.pairs = [(pair, list(self._compared(pair, epsilon, trials))) for pair in subject.neighbours]
        self.kept = PackedOutputs(len(subject.datasets), None if all_kept else COMPARED)

    def _compared(self, pair: Neighbours, epsilon: float | None, trials: int) -> Iterator[CountedPair]:
        first, second = (self.datasets[place] for place in (pair.first, pair.second))
        for name, where, *tallies in _observed(first, second, pair.columns):
            counts = None
            if epsilon is not None:
                with suppress(ValueError):  # the same law for both: nothing to tell them apart by
                    counts = EventCounts(likelihood_ratio_events(tallies[0].law, tallies[1].law, epsilon, trials))
            yield CountedPair(name, where, (tallies[0], tallies[1]), counts)

    def update(self, outputs: Sequence[NDArray[np.float64]]) -> None:
        """Count more outputs, as many on every dataset: shape (runs, columns), or (runs,) of numbers."""
        rows = [array.reshape(len(array), -1) for array in outputs]
        self.kept.update(rows)
        for dataset, seen in zip(self.datasets, rows, strict=True):
            dataset.update(seen)
        for pair, compared in self.pairs:
            for one in compared:
                if one.counts is not None:
                    one.counts.update(rows[pair.first][:, one.where], rows[pair.second][:, one.where])


def _observed(
    first: CountedDataset, second: CountedDataset, columns: Sequence[int] | None
) -> Iterator[tuple[str, int | slice, Tally, Tally]]:
    """Yield what a claim is tested on: its name, its columns, and both datasets' tallies."""
    if columns is None and first.view is not None and second.view is not None and first.dataset.view is not None:
        yield "the view", first.dataset.view[0], first.view, second.view
        return
    for column in [column for column in first.columns if column in second.columns] if columns is None else columns:
        yield first.dataset.laws[column][0], column, first.columns[column], second.columns[column]
