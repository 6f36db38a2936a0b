"""Audits of estimators of a mean: whether the estimate has its exact law, the mean included, on a few datasets."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import ReadTarget, Runnable, Target, target_of
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.claims.means import MeanClaims
from dpverify.claims.registry import mechanism_claims_of

__all__ = ["mean_subject"]

_USERS = 6
"""How many users there are where the protocol does not say."""


def _run(protocol: Any, values: NDArray[Any], rng: np.random.Generator) -> float:
    return float(protocol.run(values, rng))


def mean_subject(reference: Any, *, implementation: Runnable | None = None) -> Subject:
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
    own = Target(functools.partial(_run, reference), name=repr(reference))
    target = ReadTarget.of(target_of(implementation or own), functools.partial(claims.readable_estimate, reference))
    users, most = claims.users(reference) or _USERS, claims.most(reference)
    datasets = []
    for holders, shown in ((0, "all users at 0"), (1, "one user at the most"), (users // 2, "half at the most")):
        values = np.where(np.arange(users) < holders, most, 0.0)
        datasets.append(Dataset(shown, values, {0: ("estimate", claims.estimate_law(reference, values))}))
    return Subject(target.name or "target", target, datasets, (Neighbours(0, 1),), reference=reference)
