"""Audits of many instances together: of a density estimator, a classifier, a client, several calls of one protocol.

The instances are independent given the data, so that the privacy loss of all of them is the sum of theirs, whose law is
exact. Noise that instances share is seen in it, and in their pairs, though each by itself has its law.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import ReadTarget, Target
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.instances import SummedLoss

__all__ = ["whole_subject", "with_summed_losses"]

_SILENT = "what three or more instances tell together, other than by the sum of their losses"


def whole_subject(
    name: str,
    target: Target,
    inputs: NDArray[Any],
    laws: Sequence[DiscreteLaw],
    neighbours: Mapping[str, tuple[NDArray[Any], Sequence[DiscreteLaw]]],
) -> Subject:
    """Return all instances of a pipeline on a dataset, and on neighbours of it, as a subject.

    Parameters
    ----------
    name : str
        As in a report.
    target : Target
        `function(inputs, rng)` returns the outcomes of all instances, shape (instances,).
    inputs : ndarray
        The dataset.
    laws : sequence of DiscreteLaw
        The exact laws of the instances on it, which are independent.
    neighbours : mapping of str to (ndarray, sequence of DiscreteLaw)
        By name: a dataset that differs in one user, and the laws there. At least one.

    Examples
    --------
    Two calls of a binary sum that use the same noise:

    >>> from dpverify.audit.protocol import audit_protocol
    >>> from dpverify.audit.subjects.pipelines import bitsum_calls
    >>> from protocols.bitsum import CentralDiscreteLaplace
    >>> promised = CentralDiscreteLaplace(20, 0.5)
    >>> def twice(bits, rng):
    ...     noise = rng.geometric(0.5) - rng.geometric(0.5)
    ...     return bits.sum(axis=0) + noise
    >>> report = audit_protocol(bitsum_calls(promised, 2, implementation=twice), trials=500)
    >>> [result.check for result in report.violations][:1]
    ['pairs of instances, the dataset']
    """
    if not neighbours:
        raise ValueError("neighbours is empty, but must hold at least one dataset.")
    cases = {"the dataset": (inputs, laws), **neighbours}
    datasets = [Dataset(at, values, independent=(slice(0, len(here)), here)) for at, (values, here) in cases.items()]
    pairs = [Neighbours(0, place) for place in range(1, len(datasets))]
    return with_summed_losses(Subject(name, target, datasets, pairs, silent_on=(_SILENT,)))


def with_summed_losses(subject: Subject) -> Subject:
    """Return a subject with one more column for each pair of neighbours, which its claim is tested on.

    It holds the privacy loss of all `independent` columns of the pair's first dataset against the second's, summed:
    what tells the two apart best. Nothing is added for a pair with the same laws.
    """
    width, losses = subject.target.seen[0], list[tuple[slice, SummedLoss]]()
    columns = [dict(dataset.laws) for dataset in subject.datasets]
    pairs = []
    for pair in subject.neighbours:
        both = [subject.datasets[place].independent for place in (pair.first, pair.second)]
        if both[0] is None or both[1] is None:
            raise ValueError(f"{subject.name} must have independent columns on neighbours, whose losses are added.")
        loss = SummedLoss(both[0][1], both[1][1])
        if not loss.informative:
            continue
        added = width + len(losses)
        losses.append((both[0][0], loss))
        name = "summed privacy loss" if len(subject.neighbours) == 1 else f"summed privacy loss {len(losses)}"
        for place, laws in ((pair.first, loss.first), (pair.second, loss.second)):
            columns[place][added] = (name, loss.law(laws))
        pairs.append(replace(pair, columns=(added,)))
    return replace(
        subject,
        target=ReadTarget.of(subject.target, functools.partial(_scored, losses), len(losses)),
        datasets=[replace(dataset, laws=laws) for dataset, laws in zip(subject.datasets, columns, strict=True)],
        neighbours=pairs,
    )


def _scored(losses: Sequence[tuple[slice, SummedLoss]], outputs: NDArray[Any]) -> NDArray[np.float64]:
    """Return the outputs with the sum of each pair's losses behind them."""
    return np.column_stack([outputs, *(loss.scores(outputs[:, where]) for where, loss in losses)])
