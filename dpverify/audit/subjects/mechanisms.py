"""Audits of mechanisms against the law that their twin states: reports, a curator's outputs, estimates of a mean.

Each function takes what is claimed to run, and what does run: a target, `function(inputs, rng)` on an input of the
subject's datasets, or where it is omitted the reference itself. A TypeError says that the twin knows no such law.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import ReadTarget, Runnable, Target, target_of
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.claims.central import CentralClaims
from dpverify.claims.local.base import LocalClaims
from dpverify.claims.means import MeanClaims
from dpverify.claims.registry import mechanism_claims_of
from dpverify.laws.discrete import DiscreteLaw

__all__ = ["central_subject", "local_subject", "mean_subject"]

_MOST_INPUTS = 5
_USERS = 6
"""How many users there are where the protocol does not say."""

Cases = Sequence[tuple[str, NDArray[Any], DiscreteLaw]]


def local_subject(reference: Any, *, implementation: Runnable | None = None) -> Subject:
    """Return a local mechanism as a subject: one user's report, shape (1,), on each of up to five inputs."""
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, LocalClaims):
        raise _refused(reference, "a local mechanism, whose reports have a law each")
    values = claims.inputs(reference)[:_MOST_INPUTS]
    cases = [(f"input {value!r}", np.array([value]), claims.report_law(reference, value)) for value in values]
    own = Target(functools.partial(_reports, reference), True, name=repr(reference))
    read = functools.partial(claims.readable, reference)
    return _subject(reference, "report", cases, [Neighbours(0, 1)], implementation or own, read)


def central_subject(reference: Any, *, implementation: Runnable | None = None) -> Subject:
    """Return a curator's mechanism as a subject: its output on the neighbours that its twin names."""
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, CentralClaims):
        raise _refused(reference, "a curator's mechanism, whose output has a law")
    cases = [
        (f"{side} of pair {pair}", inputs, claims.output_law(reference, inputs))
        for pair, both in enumerate(claims.neighbours(reference), 1)
        for side, inputs in zip(("first", "second"), both, strict=True)
    ]
    pairs = [Neighbours(at, at + 1) for at in range(0, len(cases), 2)]
    return _subject(reference, "output", cases, pairs, implementation or Target(reference.run, name=repr(reference)))


def mean_subject(reference: Any, *, implementation: Runnable | None = None) -> Subject:
    """Return an estimator of a mean as a subject: nobody, one user, and half of them hold the largest value."""
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, MeanClaims):
        raise _refused(reference, "an estimator of a mean, with an exact law of the estimate")
    users, most = claims.users(reference) or _USERS, claims.most(reference)
    cases = []
    for holders, shown in ((0, "all users at 0"), (1, "one user at the most"), (users // 2, "half at the most")):
        values = np.where(np.arange(users) < holders, most, 0.0)
        cases.append((shown, values, claims.estimate_law(reference, values)))
    own = Target(functools.partial(_run, reference), name=repr(reference))
    read = functools.partial(claims.readable_estimate, reference)
    return _subject(reference, "estimate", cases, [Neighbours(0, 1)], implementation or own, read)


def _refused(reference: Any, wanted: str) -> TypeError:
    return TypeError(f"reference={reference!r} must be {wanted}.")


def _subject(
    reference: Any,
    column: str,
    cases: Cases,
    neighbours: Sequence[Neighbours],
    implementation: Runnable,
    read: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
) -> Subject:
    target = target_of(implementation)
    target = target if read is None else ReadTarget.of(target, read)
    datasets = [Dataset(name, inputs, {0: (column, law)}) for name, inputs, law in cases]
    return Subject(target.name or "target", target, datasets, neighbours, reference=reference)


def _reports(protocol: Any, inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
    return np.asarray(protocol.randomize(np.repeat(inputs, trials), rng))


def _run(protocol: Any, values: NDArray[Any], rng: np.random.Generator) -> float:
    return float(protocol.run(values, rng))
