"""What the sources claim about communication, and what was found about each claim."""

from __future__ import annotations

from dpverify.claims.theorem import Theorem, Verdict

__all__ = ["COMMUNICATION"]

COMMUNICATION: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-section-4.2-rr",
        source="wagner2025, section 4.2",
        statement="With RR each user sends exactly d messages for d bitsum instances",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="Holds: one message per bitsum, whatever the bit.",
    ),
    Theorem(
        name="wagner2025-section-4.2-3nb",
        source="wagner2025, section 4.2",
        statement="With 3NB a user sends (1 + o(1)) d messages in expectation; the o(1) vanishes as n or eps grows",
        hypotheses=(),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="As n grows. As epsilon grows at fixed n the flood r' p' / (1-p') first shrinks and then grows like "
        "3 eps0 / (e^c - 1), since r' has the term ln(e^(0.99 eps0)). And 1 is the worst case, a one in every "
        "instance: rounded features are fair coins over the public randomness, so the mean is (1/2 + o(1)) d.",
    ),
    Theorem(
        name="wagner2025-section-4.2-pure",
        source="wagner2025, section 4.2",
        statement="With Pure a user sends O(d^2 log(n) / eps0) messages in expectation",
        hypotheses=(),
        verdict=Verdict.OPEN,
        finding="The flood that it counts is not stated. With the least flood at which an instance of the published "
        "noise is (eps0, delta0)-DP for a delta0 > 0, Pure sends fewer than 3NB as published; no flood makes it pure.",
    ),
    Theorem(
        name="wagner2025-section-4.2-bits",
        source="wagner2025, section 4.2",
        statement="With RR, 3NB and Pure each message has ceil(log2 d) + 1 bits",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="Holds for I Q = d: a tag of the instance and one bit. In general it is ceil(log2(I Q)) + 1.",
    ),
)
