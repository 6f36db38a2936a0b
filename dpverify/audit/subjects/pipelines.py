"""Pipelines as wholes of independent instances: calls of a binary sum, densities and classifiers, a RAPPOR client.

The neighbour is the worst of the candidates: the one whose outputs differ most, by the expected summed privacy loss.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.audit.running.target import Runnable, Target, target_of
from dpverify.audit.subject import Subject
from dpverify.audit.subjects.joint import whole_subject
from dpverify.audit.subjects.rappor import count_law
from dpverify.claims.bitsum import claims_of
from dpverify.laws.discrete import DiscreteLaw
from protocols.bitsum import BitsumProtocol
from protocols.kde import KernelDensityProtocol
from protocols.rappor.response import PermanentResponse, Rappor
from protocols.validation import check_integer, check_vectors

__all__ = ["bitsum_calls", "density_instances", "rappor_client"]

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

    Parameters
    ----------
    reference : BitsumProtocol
        What is claimed to run.
    calls : int
        At least 1.
    implementation : Target, callable or str, optional
        What does run: `function(bits, rng)` with bits of shape (users, calls) returns the estimates, shape (calls,).
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

    Parameters
    ----------
    reference : KernelDensityProtocol, or a sequence of them
        What is claimed to run: one, or one per class, as `HighestDensityClassifier.class_protocols` returns them.
    points : array_like, shape (users, dimension)
        The users' points, class after class; few users, for the law at each number of ones is listed.
    candidates : array_like, shape (candidates, dimension)
        Where the first user may move to.
    implementation : Target, callable or str, optional
        What does run: `function(points, rng)` returns `KernelDensity.published` of every class, as one row of classes
        times instances times Q numbers.
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
    listed = [
        [claims_of(protocol.bitsum).estimate_law(protocol.bitsum, ones) for ones in range(protocol.users + 1)]
        for protocol in protocols
    ]

    def laws(which: int, rows: NDArray[np.float64]) -> list[DiscreteLaw]:
        features = protocols[which].features
        chances = 0.5 + features.f(rows).reshape(len(rows), -1) / (2.0 * features.family.R)
        return [_published(listed[which], column, len(rows), features.family.R) for column in chances.T]

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


def _published(listed: Sequence[DiscreteLaw], chances: NDArray[np.float64], users: int, reach: float) -> DiscreteLaw:
    """Return the law of a published number: of the estimate, mixed over the number of ones, on the kernel's scale."""
    ones = functools.reduce(lambda pmf, chance: np.convolve(pmf, [1.0 - chance, chance]), chances, np.ones(1))
    points = np.concatenate([law.points for law in listed])
    masses = np.concatenate([chance * law.pmf for chance, law in zip(ones, listed, strict=True)])
    outside = float(sum(chance * law.outside for chance, law in zip(ones, listed, strict=True)))
    mixed = DiscreteLaw.of(points, np.maximum(masses, 0.0), min(1.0, outside))
    return mixed.image(lambda estimate: (2.0 * estimate - users) * reach)


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

    Parameters
    ----------
    reference : Rappor or PermanentResponse
        What is claimed to run.
    value : str
        The user's value.
    candidates : sequence of str
        What she might hold instead; at least one.
    implementation : Target, callable or str, optional
        What does run: `function(value, rng)` with an array of one string returns how many of her reports have each bit
        set, shape (bits,), of a user who has just begun.
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
