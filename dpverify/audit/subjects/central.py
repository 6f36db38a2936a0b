"""Audits of a trusted curator's mechanisms: their outputs on neighbouring datasets against their exact laws."""

from __future__ import annotations

from typing import Any

from dpverify.audit.running.target import Runnable, Target, target_of
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.claims.central import CentralClaims
from dpverify.claims.registry import mechanism_claims_of

__all__ = ["central_subject"]


def central_subject(reference: Any, *, implementation: Runnable | None = None) -> Subject:
    """Return an implementation as a subject: the datasets of the twin's neighbours.

    Parameters
    ----------
    reference : object
        The mechanism that is claimed to run, whose twin is a `CentralClaims`.
    implementation : Target, callable or str, optional
        What does run: `function(inputs, rng)` with all users' inputs, shape (users,), returns the output. `reference`
        itself when omitted.

    Raises
    ------
    TypeError
        If the twin knows no law of the output.
    """
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, CentralClaims):
        raise TypeError(f"reference={reference!r} must be a curator's mechanism, whose output has a law.")
    target = target_of(implementation or Target(reference.run, name=repr(reference)))
    datasets = [
        Dataset(f"{side} of pair {pair}", inputs, {0: ("output", claims.output_law(reference, inputs))})
        for pair, both in enumerate(claims.neighbours(reference), 1)
        for side, inputs in zip(("first", "second"), both, strict=True)
    ]
    pairs = [Neighbours(at, at + 1) for at in range(0, len(datasets), 2)]
    return Subject(target.name or "target", target, datasets, pairs, reference=reference)
