"""Whether a fault of an implementation with a known law can be found at all: by a test that has learned the fault."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.subject import Dataset
from dpverify.laws.discrete import DiscreteLaw
from tests.faults.fault import Fault

__all__ = ["between_runs", "detectable"]

SURE = 4.5
"""Standard deviations: some hundred tests of a level below 1e-5 each."""


def detectable(fault: Fault, draws: int = 200_000, seed: int = 12345) -> bool:
    """Return whether so many draws of one dataset can show it.

    The likelihood ratio of the true law and of the fault's, which another as large sample has told, is averaged over
    fresh draws, and compared with its mean and deviation under the true law: near the Neyman-Pearson test's power. An
    outcome that the law excludes is enough by itself. Implementations that run message by message are not measured, and
    said to be detectable unless the fault says otherwise.
    """
    subject = fault.build()
    if fault.detectable is not None or not subject.target.batch:
        return fault.detectable is not False
    for place, dataset in enumerate(subject.datasets):
        known, fresh = (
            subject.target(dataset.inputs, np.random.default_rng([seed, place, half]), draws, "an oracle's run")
            for half in range(2)
        )
        if any(_shown(*entry) for entry in _columns(dataset, known, fresh)):
            return True
    return fault.caught_by == "dependence"


def _columns(dataset: Dataset, *drawn: NDArray[Any]) -> list[tuple[DiscreteLaw, NDArray[Any], NDArray[Any]]]:
    known, fresh = (outputs.reshape(outputs.shape[0], -1) for outputs in drawn)
    return [(law, known[:, column], fresh[:, column]) for column, (_, law) in dataset.laws.items()]


def _shown(law: DiscreteLaw, known: NDArray[Any], fresh: NDArray[Any]) -> bool:
    points = np.asarray(law.points, dtype=np.float64)
    if points.ndim > 1:
        return False
    places = [_places(points, outputs) for outputs in (known, fresh)]
    if (places[1] < 0).any():
        return True
    seen = np.bincount(places[0][places[0] >= 0], minlength=points.size) + 0.5
    weights = np.where(law.pmf > 0, np.log(np.maximum(seen / seen.sum(), 1e-300) / np.maximum(law.pmf, 1e-300)), 0.0)
    if (law.pmf[places[1]] == 0).any():
        return True
    weights = np.clip(weights, -5.0, 5.0)
    mean = float(law.pmf @ weights)
    deviation = float(np.sqrt(max(law.pmf @ weights**2 - mean**2, 0.0)))
    return deviation > 0 and float(weights[places[1]].mean() - mean) > SURE * deviation / np.sqrt(places[1].size)


def _places(points: NDArray[np.float64], outputs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the place of each output among the law's points, -1 for one that is none of them."""
    right = np.clip(np.searchsorted(points, outputs), 1, max(points.size - 1, 1))
    near = np.where(
        np.abs(outputs - points[right - 1]) <= np.abs(outputs - points[right % points.size]), right - 1, right
    )
    near = np.minimum(near, points.size - 1)
    return np.where(np.abs(outputs - points[near]) <= 1e-9 * (1.0 + np.abs(outputs)), near, -1)


def between_runs(outputs: NDArray[Any], lags: int = 3) -> float:
    """Return the largest correlation of columns across runs, or with the run's place, in its standard deviations.

    Of values and of their distances from the mean, at each lag up to `lags`; places are the number of the run, and that
    modulo 2 and 3. Independent runs stay below 5.
    """
    rows = outputs.reshape(outputs.shape[0], -1).astype(np.float64)
    rows = np.concatenate([rows, np.abs(rows - rows.mean(axis=0))], axis=1)
    at = np.arange(rows.shape[0])
    places = _standardised(np.column_stack([at, at % 2, at % 3 == 0]))
    rows = _standardised(rows)
    pairs = [(rows[lag:], rows[:-lag]) for lag in range(1, lags + 1)] + [(rows, places)]
    return max(float(np.abs(first.T @ second).max()) / first.shape[0] ** 0.5 for first, second in pairs)


def _standardised(columns: NDArray[Any]) -> NDArray[np.float64]:
    centred = columns - columns.mean(axis=0)
    deviations = centred.std(axis=0)
    return np.asarray(centred[:, deviations > 0] / deviations[deviations > 0])
