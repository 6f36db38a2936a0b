"""Pipelines of independent instances: calls of a binary sum, densities and classifiers, a RAPPOR client.

The instances are independent given the data, so that the privacy loss of all of them is the sum of theirs, whose law is
exact. Noise that instances share is seen in it, and in their pairs, though each by itself has its law. The neighbour is
the worst of the candidates: the one whose outputs differ most, by the expected summed privacy loss.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.audit.running.target import ReadTarget, Runnable, Target, target_of
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.audit.subjects.rappor import count_law
from dpverify.claims.bitsum import claims_of
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.sums import Mixture, numbers_of_ones
from dpverify.statistics.instances import SummedLoss
from protocols.bitsum import BitsumProtocol
from protocols.kde import KernelDensityProtocol
from protocols.rappor.response import PermanentResponse, Rappor
from protocols.validation import check_integer, check_vectors

__all__ = [
    "bitsum_calls",
    "density_instances",
    "one_chances",
    "published_laws",
    "rappor_client",
    "whole_subject",
    "with_summed_losses",
]

_NEVER = 1e3
"""What an outcome that the neighbour does not have counts as in an expected loss."""


def bitsum_calls(
    reference: BitsumProtocol,
    calls: int,
    *,
    implementation: Runnable | None = None,
) -> Subject:
    """Return several calls of a binary sum, with the bits of half of the users set.

    The neighbours change the last user's bit in all calls: up, or in every second call up and in the others down.

    - reference: What is claimed to run.
    - calls: At least 1.
    - implementation: What does run: `function(bits, rng)` with bits of shape (users, calls) returns the estimates,
      shape (calls,).
    """
    check_integer("calls", calls, low=1)
    users = reference.users
    bits = np.zeros((users, calls), dtype=np.int64)
    bits[: users // 2] = 1
    down = np.arange(calls) % 2 == 1
    bits[-1, down] = 1  # the last user, who can go either way
    mixed, up = bits.copy(), bits.copy()
    mixed[-1] = 1 - bits[-1]
    up[-1] = 1

    @functools.cache
    def law(ones: int) -> DiscreteLaw:
        return claims_of(reference).estimate_law(reference, ones)

    def laws(rows: NDArray[np.int64]) -> list[DiscreteLaw]:
        return [law(int(ones)) for ones in rows.sum(axis=0)]

    ours = Target(functools.partial(_own_calls, reference), False, (calls,), f"{calls} calls of {reference!r}")
    target = target_of(implementation or ours, (calls,))
    neighbours = {"a user who changes every call": (mixed, laws(mixed))}
    if calls > 1:
        neighbours["a user who changes every second call"] = (up, laws(up))
    return whole_subject(target.name or "target", target, bits, laws(bits), neighbours)


def _own_calls(reference: BitsumProtocol, bits: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
    views = reference.sample_view(bits.sum(axis=0), rng)
    return np.asarray(reference.analyze(views), dtype=np.float64)


def density_instances(
    reference: KernelDensityProtocol | Sequence[KernelDensityProtocol],
    points: ArrayLike,
    candidates: ArrayLike,
    *,
    implementation: Runnable | None = None,
) -> Subject:
    """Return all bitsums of a density estimator, or of all classes of a classifier, with the public features fixed.

    The neighbour moves the first user to the candidate whose outputs differ most.

    - reference: What is claimed to run: one, or one per class, as `HighestDensityClassifier.class_protocols` returns
      them.
    - points (array_like, shape (users, dimension)): The users' points, class after class; few users, for the law at
      each number of ones is listed.
    - candidates (array_like, shape (candidates, dimension)): Where the first user may move to.
    - implementation: What does run: `function(points, rng)` returns `KernelDensity.published` of every class, as one
      row of classes times instances times Q numbers.
    """
    protocols = (reference,) if isinstance(reference, KernelDensityProtocol) else tuple(reference)
    family = protocols[0].features.family
    x = family.accepted(points)
    moves = check_vectors("candidates", candidates, dimension=family.dimension)
    ends = np.cumsum([protocol.users for protocol in protocols])
    if len(x) != ends[-1] or not len(moves):
        raise ValueError(
            f"points and candidates hold {len(x)} and {len(moves)} rows, but must hold {ends[-1]}, one per user, and "
            "at least 1."
        )
    listed = [published_laws(protocol) for protocol in protocols]

    def laws(which: int, rows: NDArray[np.float64]) -> list[DiscreteLaw]:
        chances = one_chances(protocols[which], rows)
        return [listed[which].law(ones) for ones in numbers_of_ones(chances)]

    parts = np.split(x, ends[:-1])
    own, *others = (laws(which, rows) for which, rows in enumerate(parts))
    rest = [law for part in others for law in part]

    def moved(to: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = x.copy()
        rows[0] = to
        return rows

    there = [laws(0, moved(to)[: ends[0]]) for to in moves]
    worst = int(np.argmax([_divergence(own, candidate) for candidate in there]))
    here = [*own, *rest]
    name = f"all {len(here)} instances of {len(protocols)} densities over {protocols[0].bitsum!r}"
    ours = Target(functools.partial(_own_densities, protocols), False, (len(here),), name)
    target = target_of(implementation or ours, (len(here),))
    neighbours = {f"the first user at {moves[worst].tolist()}": (moved(moves[worst]), [*there[worst], *rest])}
    return whole_subject(target.name or "target", target, x, here, neighbours)


def _own_densities(
    protocols: Sequence[KernelDensityProtocol], points: NDArray[Any], rng: np.random.Generator
) -> NDArray[np.float64]:
    parts = np.split(points, np.cumsum([protocol.users for protocol in protocols])[:-1])
    published = [protocol.simulate(rows, rng).published for protocol, rows in zip(protocols, parts, strict=True)]
    return np.concatenate([np.asarray(vector, dtype=np.float64).reshape(-1) for vector in published])


def published_laws(protocol: KernelDensityProtocol) -> Mixture:
    """Return the laws of a published number by the number of ones among its bits."""
    bitsum, reach = protocol.bitsum, protocol.features.family.R
    listed = [claims_of(bitsum).estimate_law(bitsum, ones) for ones in range(protocol.users + 1)]
    return Mixture.of(listed).image(lambda estimate: (2.0 * estimate - protocol.users) * reach)


def one_chances(protocol: KernelDensityProtocol, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return with which probability each user's bit is 1, shape (users, features)."""
    features = protocol.features
    return np.asarray(0.5 + features.f(points).reshape(len(points), -1) / (2.0 * features.family.R))


def _divergence(first: Sequence[DiscreteLaw], second: Sequence[DiscreteLaw]) -> float:
    """Return the expected summed loss."""
    total = 0.0
    for p, q in zip(first, second, strict=True):
        other = q.probabilities(p.points)
        with np.errstate(divide="ignore"):
            total += float(p.pmf @ np.minimum(np.log(p.pmf) - np.log(other), _NEVER))
    return total


def rappor_client(
    reference: PermanentResponse,
    value: str,
    candidates: Sequence[str],
    *,
    implementation: Runnable | None = None,
) -> Subject:
    """Return all reports of one user of cohort 0: how often each bit is 1 over her reports on one value.

    The neighbour has the candidate whose reports differ most.

    - reference: What is claimed to run.
    - value: The user's value.
    - candidates: What she might hold instead; at least one.
    - implementation: What does run: `function(value, rng)` with an array of one string returns how many of her reports
      have each bit set, shape (bits,), of a user who has just begun.
    """
    check_integer("candidates", len(candidates), low=1)

    def laws(held: str) -> list[DiscreteLaw]:
        filled = np.zeros(reference.bits, dtype=np.bool_)
        filled[reference.filter.positions([held])[0, 0]] = True
        return [both[int(bit)] for bit in filled]

    both = [DiscreteLaw.of(np.arange(law.size), law) for law in (count_law(reference, held=b) for b in (False, True))]
    here, there = laws(value), [laws(candidate) for candidate in candidates]
    worst = int(np.argmax([_divergence(here, candidate) for candidate in there]))
    name = f"all reports of {reference!r}"
    ours = Target(functools.partial(_own_reports, reference), False, (reference.bits,), name)
    target = target_of(implementation or ours, (reference.bits,))
    neighbours = {f"{candidates[worst]!r}": (np.array([candidates[worst]]), there[worst])}
    return whole_subject(target.name or "target", target, np.array([value]), here, neighbours)


def _own_reports(reference: PermanentResponse, values: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
    reports = reference.reports if isinstance(reference, Rappor) else 1
    bits = reference.randomize([str(values[0])], rng, cohorts=np.zeros(1, dtype=np.int64)).bits
    return np.asarray(bits.reshape(reports, reference.bits).sum(axis=0), dtype=np.float64)


_SILENT = "what three or more instances tell together, other than by the sum of their losses"


def whole_subject(
    name: str,
    target: Target,
    inputs: NDArray[Any],
    laws: Sequence[DiscreteLaw],
    neighbours: Mapping[str, tuple[NDArray[Any], Sequence[DiscreteLaw]]],
) -> Subject:
    """Return all instances of a pipeline on a dataset, and on neighbours of it, as a subject.

    - name: As in a report.
    - target: `function(inputs, rng)` returns the outcomes of all instances, shape (instances,).
    - inputs: The dataset.
    - laws: The exact laws of the instances on it, which are independent.
    - neighbours: By name: a dataset that differs in one user, and the laws there. At least one.

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
