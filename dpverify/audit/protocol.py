"""One audit for every protocol: its twin names the one that fits."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

from dpverify.audit.outcome import AuditReport
from dpverify.audit.running.target import Target
from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import BudgetLike

__all__ = ["audit_protocol"]


def audit_protocol(
    reference: Any,
    claim: BudgetLike | None = None,
    *,
    implementation: Target | Callable[..., Any] | str | None = None,
    **options: Any,
) -> AuditReport:
    """Audit an implementation of any protocol whose twin says what its outputs follow.

    Parameters
    ----------
    reference : object
        What is claimed to run: a bitsum, a local or central mechanism, a mean, or a RAPPOR.
    claim : Budget or (epsilon, delta), optional
        Of one run.
    implementation : Target, callable or str, optional
        What does run, `function(inputs, rng)`; `reference` itself when omitted.
    **options
        Those of `dpverify.audit.options.AuditOptions`, and what the audit of this kind of protocol takes.

    Returns
    -------
    AuditReport or DensityReport
        What the audit of that kind of protocol returns.

    Raises
    ------
    TypeError
        If no audit for this protocol, or no such option of it, is known.

    Examples
    --------
    >>> from protocols.bitsum import RandomizedResponse
    >>> promised = RandomizedResponse(users=20, flip_probability=0.25)
    >>> audit_protocol(promised, implementation=lambda bits, rng: float(bits.sum()), trials=200).verdict.value
    'violates'
    """
    claims = mechanism_claims_of(reference)
    if not claims.audited_by:
        raise TypeError(f"reference={reference!r} must be a protocol that has an audit, which {claims.name} has not.")
    where = claims.audited_by
    audit: Callable[..., AuditReport] = EntryPoint(where, where, "dpverify.audit").load()
    return audit(reference, claim, implementation=implementation, **options)
