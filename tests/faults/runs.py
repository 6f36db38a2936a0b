"""What the faults beyond bitsums share: subjects from a function that draws all trials, and entries about them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import Target
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.laws.discrete import DiscreteLaw
from tests.faults.fault import Fault

__all__ = ["C", "Run", "bernoulli_sum", "faults_of", "integers", "subject_of"]

Run = Callable[[NDArray[Any], np.random.Generator, int], NDArray[Any]]
"""(inputs, rng, trials) -> outputs, shape (trials, columns)."""


def subject_of(name: str, run: Run, datasets: Sequence[Dataset], pairs: Sequence[Neighbours] = ()) -> Subject:
    columns = 1 + max((column for dataset in datasets for column in dataset.laws), default=0)
    return Subject(name, Target(run, True, (columns,), name), datasets, pairs)


def integers(pmf: NDArray[np.float64], start: int = 0) -> DiscreteLaw:
    return DiscreteLaw.of(np.arange(start, start + pmf.size), pmf / pmf.sum())


def bernoulli_sum(probabilities: NDArray[np.float64]) -> DiscreteLaw:
    return integers(functools.reduce(np.convolve, [np.array([1.0 - p, p]) for p in probabilities.tolist()]))


C = "conformance"


def faults_of(
    protocol: str, subject: Callable[[Run], Subject], *entries: tuple[str, str, str, Run]
) -> tuple[Fault, ...]:
    return tuple(
        Fault(name, protocol, wrong, reason, C, functools.partial(subject, run)) for name, wrong, reason, run in entries
    )
