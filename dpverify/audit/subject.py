"""What is audited: a target, the datasets it runs on, and the exact laws of what it should put out there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.audit.running.target import Target
from dpverify.laws.discrete import DiscreteLaw
from protocols.classes.frozen import dataclass

__all__ = ["Dataset", "Messages", "Neighbours", "Subject", "distinct", "narrowed"]

Sent = Callable[[NDArray[Any], np.random.Generator], tuple[NDArray[Any], NDArray[np.int64]]]
"""Maps a dataset to the messages in the order of arrival at the shuffler, and to their senders."""
Arrived = Callable[[NDArray[Any], np.random.Generator], NDArray[Any]]
"""Maps a dataset to the messages in the order of arrival at the analyzer."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """An input of the target, and what its outputs follow.

    - name: As in a report.
    - inputs: What the target is given.
    - laws: By column of the output (0 for a number): its name and exact law. Columns without one are not tested.
    - view: The columns that together are the adversary's view, and their joint law: what a privacy claim is tested on.
      Each column by itself when omitted, which cannot see all that the view shows.
    - independent: Columns that are independent of each other, such as the bits of a report, and the law of each: too
      many to test one by one.
    - truths: What some of the columns with laws estimate: the report has the largest of their errors.
    """

    name: str
    inputs: NDArray[Any]
    laws: Mapping[int, tuple[str, DiscreteLaw]] = field(default_factory=dict)
    view: tuple[slice, DiscreteLaw] | None = None
    independent: tuple[slice, Sequence[DiscreteLaw]] | None = None
    truths: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Neighbours:
    """Two datasets that the claim compares, by their places in `Subject.datasets`.

    Each of the `columns` is looked at by itself; the view if there is one, else every column, where they are omitted.
    """

    first: int
    second: int
    columns: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Messages:
    """What can be watched of users and shuffler, for the structural checks.

    - sent, arrived: See `Sent` and `Arrived`.
    - inputs (ndarray, shape (users, ...)): A dataset sorted by value, so that a forgotten shuffle shows.
    - symbol: The symbol whose number per user is tested.
    - piece: The law of that number for the users of `quiet`.
    - quiet (ndarray, shape (users, ...)): A dataset of users with the same input.
    - fewest, most: Messages that every user must send.
    """

    sent: Sent
    arrived: Arrived
    inputs: NDArray[Any]
    quiet: NDArray[Any]
    symbol: int
    piece: DiscreteLaw | None = None
    fewest: int = 0
    most: float = math.inf


@dataclass(frozen=True, eq=False)
class Subject:
    """An implementation, ready to be audited.

    - name: As in a report.
    - target: Its outputs are numbers, or rows of columns.
    - datasets: What it runs on.
    - neighbours: The pairs that a privacy claim compares.
    - messages: Where users and shuffler can be watched.
    - diagnose: Maps the outputs, one array of shape (runs, columns) per dataset, to sentences on what they look like;
      called where something was found, with the first 500,000 runs on each dataset.
    - silent_on: What of this subject no test looks at, in plain words.
    - digits: Columns whose lowest digits the claim is tested on, and those whose laws list the outcomes that they are
      near to; all columns with laws, and the same ones, where it is empty.
    - reference: What is claimed to run, if its twin knows its privacy: `audit_protocol` holds its parameters against a
      claim.
    """

    name: str
    target: Target
    datasets: Sequence[Dataset]
    neighbours: Sequence[Neighbours] = ()
    messages: Messages | None = None
    diagnose: Callable[[Sequence[NDArray[np.float64]]], Iterable[str]] | None = None
    silent_on: Sequence[str] = ()
    reference: object = None
    digits: Mapping[int, int] = field(default_factory=dict)


def distinct(inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return inputs by name, each once: with few users some of them coincide, and the first name stays."""
    names: dict[bytes, str] = {}
    for name, values in inputs.items():
        names.setdefault(values.tobytes(), name)
    return {name: inputs[name] for name in names.values()}


def narrowed(law: DiscreteLaw, share: float) -> tuple[DiscreteLaw, str] | None:
    """Return the law nearest to this one with a standard deviation smaller by a share, and what it is called.

    Nearest in Kullback-Leibler divergence, so the hardest to see of all faults of that size: weights
    `e^(-theta (z - mean)^2)`. Where that cannot be (two outcomes), the mean is shifted by that share of the standard
    deviation instead; None for a constant.
    """
    deviation = math.sqrt(law.variance)
    if deviation <= 1e-9 * (1.0 + abs(law.mean)):
        return None
    z = (law.points - law.mean) / deviation

    def tilted(theta: float, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        exponent = theta * direction
        weights = law.pmf * np.exp(exponent - exponent.max())
        return np.asarray(weights / weights.sum())

    def solve(direction: NDArray[np.float64], moment: Callable[[NDArray[np.float64]], float]) -> float | None:
        end = 1.0
        while moment(tilted(-end, direction)) > 0.0:
            end *= 2.0
            if end > 1e4:
                return None
        return float(scipy.optimize.brentq(lambda theta: moment(tilted(-theta, direction)), 0.0, end))

    def variance(weights: NDArray[np.float64]) -> float:
        return float(weights @ z**2 - (weights @ z) ** 2) - (1.0 - share) ** 2

    for direction, moment, name in (
        (z**2, variance, f"a standard deviation {100 * share:g} % smaller"),
        (z, lambda weights: float(weights @ z) + share, f"a mean off by {share:g} standard deviations"),
    ):
        theta = solve(direction, moment)
        if theta is not None:
            weights = tilted(-theta, direction)
            return DiscreteLaw.of(law.points, weights / weights.sum(), law.outside), name
    return None
