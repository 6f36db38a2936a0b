"""Audits of estimators of a mean: whether the estimate has its exact law, the mean included, on a few datasets."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.options import AuditKeywords
from dpverify.audit.outcome import AuditReport
from dpverify.audit.running.target import ReadTarget, Target
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.audit.subjects.parameters import audit_reference
from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.shared.means import MeanClaims
from dpverify.guarantee import BudgetLike

__all__ = ["audit_mean", "mean_subject"]

_USERS = 6
"""How many users there are where the protocol does not say."""


def _run(protocol: Any, values: NDArray[Any], rng: np.random.Generator) -> float:
    return float(protocol.run(values, rng))


def mean_subject(reference: Any, *, implementation: Target | Callable[..., Any] | str | None = None) -> Subject:
    """Return an implementation as a subject: nobody, one user, and half of the users hold the largest value.

    Parameters
    ----------
    reference : object
        The estimator that is claimed to run, whose twin is a `MeanClaims`.
    implementation : Target, callable or str, optional
        What does run: `function(values, rng)` with all users' values, shape (users,), returns the estimate of their
        mean. `reference` itself when omitted.

    Raises
    ------
    TypeError
        If the twin knows no law of the estimate.
    """
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, MeanClaims):
        raise TypeError(f"reference={reference!r} must estimate a mean, with an exact law of the estimate.")
    if implementation is None:
        target, name = Target(functools.partial(_run, reference)), repr(reference)
    else:
        target = implementation if isinstance(implementation, Target) else Target(implementation)
        name = target.name or "target"
    target = ReadTarget.of(target, functools.partial(claims.readable_estimate, reference))
    users, most = claims.users(reference) or _USERS, claims.most(reference)
    datasets = []
    for holders, shown in ((0, "all users at 0"), (1, "one user at the most"), (users // 2, "half at the most")):
        values = np.where(np.arange(users) < holders, most, 0.0)
        datasets.append(Dataset(shown, values, {0: ("estimate", claims.estimate_law(reference, values))}))
    return Subject(name, target, datasets, (Neighbours(0, 1),))


def audit_mean(
    reference: Any,
    claim: BudgetLike | None = None,
    *,
    implementation: Target | Callable[..., Any] | str | None = None,
    **options: Unpack[AuditKeywords],
) -> AuditReport:
    """Audit an implementation of an estimator of a mean: whether its estimates follow their law, and that the promise.

    Parameters
    ----------
    reference
        See `mean_subject`.
    claim : Budget or (epsilon, delta), optional
        Of one estimate.
    implementation
        See `mean_subject`.
    **options
        `trials`, `level`, `detect`, `seed`, `workers`, ...: see `dpverify.audit.options.AuditOptions`.

    Returns
    -------
    AuditReport
        `verdict`, `statement`, every single test, and `limits`.

    Examples
    --------
    >>> from protocols.shuffled_mean import ShuffledMean
    >>> promised = ShuffledMean(users=100, coin_probability=0.5)
    >>> audit_mean(promised, implementation=lambda bits, rng: float(bits.mean()), trials=200).verdict.value  # no noise
    'violates'
    """
    subject = mean_subject(reference, implementation=implementation)
    return audit_reference(subject, reference, claim, **options)
