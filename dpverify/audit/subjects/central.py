"""Audits of a trusted curator's mechanisms: their outputs on neighbouring datasets against their exact laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from dpverify.audit.options import AuditKeywords
from dpverify.audit.outcome import AuditReport
from dpverify.audit.running.target import Target
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.audit.subjects.parameters import audit_reference
from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.shared.central import CentralClaims
from dpverify.guarantee import BudgetLike

__all__ = ["audit_central", "central_subject"]


def central_subject(reference: Any, *, implementation: Target | Callable[..., Any] | str | None = None) -> Subject:
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
    target = implementation if isinstance(implementation, Target) else Target(implementation or reference.run)
    name = repr(reference) if implementation is None else target.name or "target"
    datasets = [
        Dataset(f"{side} of pair {pair}", inputs, {0: ("output", claims.output_law(reference, inputs))})
        for pair, both in enumerate(claims.neighbours(reference), 1)
        for side, inputs in zip(("first", "second"), both, strict=True)
    ]
    return Subject(name, target, datasets, [Neighbours(at, at + 1) for at in range(0, len(datasets), 2)])


def audit_central(
    reference: Any,
    claim: BudgetLike | None = None,
    *,
    implementation: Target | Callable[..., Any] | str | None = None,
    **options: Unpack[AuditKeywords],
) -> AuditReport:
    """Audit an implementation of a curator's mechanism: whether it follows its law, and that keeps the promise.

    Parameters
    ----------
    reference, implementation
        See `central_subject`.
    claim : Budget or (epsilon, delta), optional
        Of one run.
    **options
        `trials`, `level`, `detect`, `seed`, `workers`, ...: see `dpverify.audit.options.AuditOptions`.
    """
    subject = central_subject(reference, implementation=implementation)
    return audit_reference(subject, reference, claim, **options)
