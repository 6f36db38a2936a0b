"""Audits of mechanisms that every user runs by herself: the reports of single inputs against their exact laws."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import ReadTarget, Runnable, Target, target_of
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.claims.local.base import LocalClaims
from dpverify.claims.registry import mechanism_claims_of

__all__ = ["local_subject"]

_MOST_INPUTS = 5


def _reports(protocol: Any, inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
    return np.asarray(protocol.randomize(np.repeat(inputs, trials), rng))


def local_subject(reference: Any, *, implementation: Runnable | None = None) -> Subject:
    """Return an implementation as a subject: one user, with each of up to five inputs.

    Parameters
    ----------
    reference : object
        The mechanism that is claimed to run, whose twin is a `LocalClaims`.
    implementation : Target, callable or str, optional
        What does run: `function(inputs, rng)` with one user's input, shape (1,), returns her report. `reference` itself
        when omitted.

    Raises
    ------
    TypeError
        If the twin knows no law of single reports.
    """
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, LocalClaims):
        raise TypeError(f"reference={reference!r} must be a local mechanism, whose reports have a law each.")
    own = Target(functools.partial(_reports, reference), True, name=repr(reference))
    target = ReadTarget.of(target_of(implementation or own), functools.partial(claims.readable, reference))
    inputs = claims.inputs(reference)[:_MOST_INPUTS]
    datasets = [
        Dataset(f"input {value!r}", np.array([value]), {0: ("report", claims.report_law(reference, value))})
        for value in inputs
    ]
    return Subject(target.name or "target", target, datasets, (Neighbours(0, 1),), reference=reference)
