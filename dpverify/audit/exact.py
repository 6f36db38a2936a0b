"""Whether the parameters of a protocol keep a promise: by their exact law, which runs nothing."""

from __future__ import annotations

import math
from typing import Any

from dpverify.digits import typed
from dpverify.guarantee import Budget
from dpverify.planning.account import account
from dpverify.statistics.family import AuditResult

__all__ = ["exact_result"]


def exact_result(reference: Any, claim: Budget) -> AuditResult:
    """Compare the claim with the exact privacy of the parameters, which needs no trials and has no error rate."""
    # Not at the float below the claim's delta: that gives another epsilon than `account` does.
    epsilon = account(reference, instances=1, delta=claim.exact_delta).epsilon
    refuted, proved = epsilon.lower > claim.exact_epsilon, epsilon.upper <= claim.exact_epsilon
    ends = epsilon.to_dict()  # as decimals, of which a claim of the upper one is proved
    shown = f"the parameters give epsilon in [{ends['lower']!r}, {ends['upper']!r}] at delta {typed(claim.delta)}"
    if refuted or proved:
        shown += f", claimed {claim.epsilon:.15g}"
    else:
        decidable = f"{ends['upper']!r} or more" if math.isfinite(epsilon.upper) else "a larger delta"
        shown += (
            f" and the claim {claim.epsilon:.17g} lies inside, which no number of trials can decide; claim {decidable} "
            "to have it proved"
        )
    return AuditResult(
        "privacy of the parameters",
        0.0 if refuted else 1.0,
        0,
        "exact law, both directions and all datasets",
        shown,
        "any excess beyond the interval",
        1.0 if proved else 0.0,
        details={"epsilon": ends},
    )
