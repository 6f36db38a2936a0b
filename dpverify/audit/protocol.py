"""The audit of what has a law: a protocol's twin states it, or a subject brings laws of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal, Protocol, Unpack, overload, runtime_checkable

from dpverify.audit.anytime import AnytimeReport, audit_anytime
from dpverify.audit.engine import audit
from dpverify.audit.exact import exact_result
from dpverify.audit.options import AuditKeywords
from dpverify.audit.outcome import AuditReport
from dpverify.audit.subject import Subject
from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import Budget, BudgetLike

if TYPE_CHECKING:
    from dpverify.audit.subjects.density import DensityErrors, DensityReport

__all__ = ["Audited", "audit_protocol"]


@runtime_checkable
class Audited(Protocol):
    """A subject with an audit of its own: all instances of a pipeline, or the errors of a density."""

    def audited(self, claim: Budget | None, **options: Unpack[AuditKeywords]) -> AuditReport:
        """Audit it; see `audit_protocol`."""
        ...


@overload
def audit_protocol(reference: DensityErrors, claim: None = None, **options: Unpack[AuditKeywords]) -> DensityReport: ...
@overload
def audit_protocol(
    reference: Any,
    claim: BudgetLike | None = None,
    *,
    implementation: Any = None,
    anytime: Literal[True],
    **options: Unpack[AuditKeywords],
) -> AnytimeReport: ...
@overload
def audit_protocol(
    reference: Any,
    claim: BudgetLike | None = None,
    *,
    implementation: Any = None,
    fewer_users: bool = False,
    anytime: bool = False,
    **options: Unpack[AuditKeywords],
) -> AuditReport: ...
def audit_protocol(
    reference: Any,
    claim: BudgetLike | None = None,
    *,
    implementation: Any = None,
    fewer_users: bool = False,
    anytime: bool = False,
    **options: Unpack[AuditKeywords],
) -> AuditReport:
    """Audit an implementation: whether its outputs follow their law, and whether that keeps the promise.

    Parameters
    ----------
    reference : object
        What is claimed to run, with its parameters: a bitsum, a histogram, a selection, a vector sum, a density, a
        classifier, a learner that protects users, a local or central mechanism, a mean, or a RAPPOR, whose twin states
        the law. Or a subject, which holds its implementation: code with a law that you write down
        (`dpverify.audit.subjects.own_law.law_subject`), the mean that local reports estimate
        (`dpverify.audit.subjects.mechanisms.mean_subject`), many instances together
        (`dpverify.audit.subjects.pipelines`), the errors of a density over all features
        (`dpverify.audit.subjects.density.DensityErrors`). Or `functools.partial` of what makes a subject of an
        implementation: `partial(decoding_subject, protocol)` of `dpverify.audit.subjects.classifier`.
    claim : Budget or (epsilon, delta), optional
        Of one run, or of all instances of a pipeline. The parameters of a protocol are held against it, too, which
        needs no trials.
    implementation : Implementation, Target, callable, str or protocol, optional
        What does run, `function(inputs, rng)`: see the subject of this kind of protocol in `dpverify.audit.subjects`.
        A protocol of the same kind, such as a subclass of ours, is watched message by message, as `reference` is, which
        runs itself when this is omitted.
    fewer_users : bool
        Whether a bitsum promises the same randomizer where fewer users take part.
    anytime : bool
        Whether to look block by block (of 250 runs by default), and to stop as soon as a fault is proved, after
        `trials` at the latest. Only outputs are tested then, not the parameters.
    **options
        `trials`, `level`, `detect`, `seed`, `workers`, ...: see `dpverify.audit.options.AuditOptions`.

    Returns
    -------
    AuditReport, AnytimeReport or DensityReport
        `verdict`, `statement`, every single test, and `limits`.

    Raises
    ------
    TypeError
        If nothing is known of such a reference, or it has no such option.
    TargetError, CheckpointError
        See `dpverify.audit.running.runner.rounds`.

    Examples
    --------
    An implementation that forgets its noise, and parameters that promise too much.

    >>> from protocols.bitsum import RandomizedResponse
    >>> promised = RandomizedResponse(users=20, flip_probability=0.25)
    >>> audit_protocol(promised, implementation=lambda bits, rng: float(bits.sum()), trials=200).verdict.value
    'violates'
    >>> audit_protocol(promised, ("0.5", "1e-3"), trials=200).violations[0].check
    'privacy of the parameters'
    """
    if "seconds" in options:
        raise TypeError(
            f"seconds={options['seconds']!r} must be omitted: it ends audits of black boxes; give trials here."
        )
    budget = None if claim is None else Budget.of(claim, "claim")
    reference = getattr(reference, "protocol_", reference)  # a fitted estimator says so what it has run
    subject: Subject | Audited = reference
    if isinstance(reference, functools.partial):
        subject = reference(implementation=implementation)
    elif not isinstance(reference, Subject | Audited):
        kind: Mapping[str, Any] = {"fewer_users": True} if fewer_users else {}
        subject = _subject_of(reference)(reference, implementation=implementation, **kind)
    elif implementation is not None or fewer_users:
        raise TypeError("implementation and fewer_users must be omitted with a subject, which holds what runs.")
    if not isinstance(subject, Subject):
        if anytime:
            raise TypeError(f"anytime=True must be False for a {type(subject).__name__}, whose tests need all runs.")
        return subject.audited(budget, **options)
    if anytime:
        return audit_anytime(subject, budget, **options)
    if budget is None:
        return audit(subject, **options)
    before = () if subject.reference is None else (exact_result(subject.reference, budget),)
    return audit(subject, budget, beforehand=before, **options)


def _subject_of(reference: Any) -> Callable[..., Subject]:
    """Return what makes a subject of such a protocol: its twin names it."""
    claims = mechanism_claims_of(reference)
    where = claims.audited_as
    if not where:
        raise TypeError(f"reference={reference!r} must be a protocol that has an audit, which {claims.name} has not.")
    builder: Callable[..., Subject] = resolve_name(where)
    return builder
