"""The results of one audit's tests, and one error rate over all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.shown import Plain
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_probability, check_real

__all__ = ["AuditResult", "Verdict", "decide", "holm", "overall"]


class Verdict(StrEnum):
    """What an audit, or one of its tests, came to."""

    VIOLATES = "violates"
    """The claim is refuted, at the stated level."""
    CONSISTENT = "consistent"
    """Not refuted, and a fault of the size that was asked for would have been, with the stated power."""
    UNDECIDED = "undecided"
    """Not refuted, but the trials are too few for such a fault."""


@dataclass(frozen=True)
class AuditResult(Plain):
    """One test of one claim.

    - check: What was tested, for instance `conformance` or `privacy`.
    - p_value: Valid at every level: a correct implementation has P(p_value <= a) <= a, for a fixed number of trials or,
      where `method` says anytime-valid, for any stopping rule.
    - trials: Trials used, per dataset.
    - method: The test, and whether its level is exact.
    - fault: The fault that `power` refers to, for instance `scale +10 %` or `epsilon 0.84 at delta 1e-6`.
    - power: The probability that these trials refute an implementation with that fault; None if it has not been
      computed.
    - evidence: The finding in one sentence.
    - verdict: Set by `decide` over the whole family; `undecided` before.
    - weight: Positive: the share of the level that this test has, next to the others' weights.
    - level: A fixed part of the family's level, at which the figures of the evidence are stated and the test is
      decided: so that the two agree. Where omitted, by Holm's method with the others, at what the fixed parts leave.
    - details: More figures, as plain JSON values.
    """

    plain_as: ClassVar[str] = "check verdict p_value trials method evidence fault power details"

    check: str
    p_value: float
    trials: int
    method: str
    evidence: str
    fault: str = ""
    power: float | None = None
    verdict: Verdict = Verdict.UNDECIDED
    weight: float = 1.0
    level: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_probability("p_value", self.p_value)
        check_real("weight", self.weight, low=0.0, low_open=True)
        if self.level is not None:
            check_real("level", self.level, low=0.0, high=1.0, low_open=True, high_open=True)
        check_integer("trials", self.trials, low=0)
        if self.power is not None:
            check_probability("power", self.power)


def holm(p_values: ArrayLike, weights: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return Holm's adjusted p-values: rejecting those <= a errs with probability <= a over the whole family.

    Valid whatever the dependence of the tests (holm1979, section 2 for the weights).

    - p_values: array_like, shape (tests,).
    - weights (array_like, shape (tests,)): Positive shares of the level, fixed without looking at the p-values; equal
      ones when omitted.
    """
    raw = np.asarray(p_values, dtype=np.float64)
    if raw.ndim != 1 or not ((raw >= 0) & (raw <= 1)).all():
        raise ValueError("p_values must be a vector of numbers in [0, 1].")
    shares = np.ones(raw.size) if weights is None else np.asarray(weights, dtype=np.float64)
    if shares.shape != raw.shape or not (shares > 0).all():
        raise ValueError(f"weights must be {raw.size} positive numbers.")
    order = np.argsort(raw / shares, kind="stable")
    left = np.cumsum(shares[order][::-1])[::-1]  # of this test and those after it
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(raw[order] / shares[order] * left))
    return adjusted


def decide(results: Sequence[AuditResult], level: float, *, power: float = 0.95) -> tuple[AuditResult, ...]:
    """Return the results with their verdicts: at most `level` of false alarms over all of them together.

    Tests with a level of their own are decided at it, the others by Holm's method at the rest: a union bound of the
    two. In `details` stands `adjusted_p_value`, the least level of the family that refutes the test.

    - results: All tests of one audit; leaving one out after seeing it voids the level.
    - level: In (0, 1): the family-wise error rate.
    - power: A test that refutes nothing is `consistent` if its power against its fault is at least this, else
      `undecided`. A test without a stated power counts as `undecided`.

    Raises ValueError if the tests' own levels leave nothing to the others.
    """
    check_probability("level", level)
    check_probability("power", power)
    shared = [result for result in results if result.level is None]
    left = level - math.fsum(result.level for result in results if result.level is not None)
    if left < (0.0 if shared else -1e-12) or (shared and left == 0.0):
        raise ValueError(f"level={level!r} must be above the sum of the results' own levels, {level - left!r}.")
    by_holm = iter(holm([result.p_value for result in shared], [result.weight for result in shared]).tolist())
    decided = []
    for result in results:
        p_value, own = (next(by_holm), left) if result.level is None else (result.p_value, result.level)
        sharp = result.power is not None and result.power >= power
        quiet = Verdict.CONSISTENT if sharp else Verdict.UNDECIDED
        verdict = Verdict.VIOLATES if p_value <= own else quiet
        details = {**result.details, "adjusted_p_value": min(1.0, p_value * level / own)}
        decided.append(replace(result, verdict=verdict, details=details))
    return tuple(decided)


def overall(results: Sequence[AuditResult]) -> Verdict:
    """Return the verdict of a whole audit: violates if any test does, else undecided if any is, else consistent."""
    verdicts = {result.verdict for result in results}
    if Verdict.VIOLATES in verdicts:
        return Verdict.VIOLATES
    return Verdict.CONSISTENT if verdicts == {Verdict.CONSISTENT} else Verdict.UNDECIDED
