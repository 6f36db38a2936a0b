"""What the sources claim about RAPPOR, and what was found about each claim."""

from __future__ import annotations

from dpverify.claims.theorem import Theorem, Verdict
from dpverify.formulas import Hypothesis

__all__ = ["RAPPOR", "RAPPOR_LIMIT"]

_ENOUGH_BITS = Hypothesis(
    "room-for-two-patterns",
    "k >= 2h: two values may share no bit (not stated; parameters k, h).",
    lambda bits, hashes: bits >= 2 * hashes,
)

RAPPOR_LIMIT: tuple[Theorem, ...] = (
    Theorem(
        name="erlingsson2014-theorem-1",
        source="erlingsson2014, Theorem 1 (quoted from memory); wang_lecture9, 9.1.1, without the number",
        statement="The permanent response is eps-DP with eps = 2h ln((1 - f/2) / (f/2))",
        hypotheses=(_ENOUGH_BITS,),
        verdict=Verdict.HOLDS,
        finding="And no better where k >= 2h: two patterns of h bits without a common one attain it, in both "
        "directions. With fewer bits the exact value has k for 2h, and is 0 for k = 1. Values that are known, with the "
        "hash functions of their cohorts, differ in fewer bits where hash functions collide.",
    ),
    Theorem(
        name="wang_lecture9-9.1.1-limit",
        source="wang_lecture9, 9.1.1; Figure 9.2",
        statement="Towards an adversary who views an infinite number of responses, the local DP guarantee of the "
        "permanent response is left",
        hypotheses=(),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="For reports on one and the same value, or if it is public when a value changes: then I values cost "
        "I times the limit. Else no epsilon is left: who changes her value has a new permanent response, which differs "
        "from the old one in some of all k bits, and after enough reports of each the change is seen with certainty. "
        "With k = 128, h = 2, f = p = 1/2 and q = 3/4 the limit is 4.394; telling a value that stays from one that "
        "changes has a largest loss of 8.6 after one report of each, 352 after 10 and 5,019 after 100.",
    ),
)

RAPPOR: tuple[Theorem, ...] = (
    Theorem(
        name="erlingsson2014-theorem-2",
        source="erlingsson2014, Theorem 2 (quoted from memory)",
        statement="One report is eps-DP with eps = h ln(q* (1-p*) / (p* (1-q*))), p* = f (p+q)/2 + (1-f) p, "
        "q* = f (p+q)/2 + (1-f) q",
        hypotheses=(_ENOUGH_BITS,),
        verdict=Verdict.HOLDS,
        finding="And no better where k >= 2h. With q < p the logarithm is negative: its absolute value is meant. After "
        "n reports on one value the exact value has (q/p)^n and ((1-p)/(1-q))^n as likelihood ratios of a kept bit, "
        "and tends to Theorem 1's.",
    ),
    Theorem(
        name="wang_lecture9-9.1.1-single",
        source="wang_lecture9, 9.1.1",
        statement="The instantaneous response strengthens the local guarantee towards an adversary who views a single "
        "response",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="Strictly, for all 0 < p < q < 1: the likelihood ratios of a kept bit are finite. With k = 128, h = 2, "
        "f = p = 1/2 and q = 3/4 epsilon is 1.074 instead of 4.394; it is 2.017 after two reports, 4.299 after ten.",
    ),
    Theorem(
        name="wang_lecture9-9.1.1-averaging",
        source="wang_lecture9, 9.1.1, the averaging attack",
        statement="If every response is yes with probability 1/4, 75 of 100 are with probability 1.39e-24",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="It is ten times less: 1.279e-25, and 1.435e-25 for 75 or more.",
    ),
    Theorem(
        name="wang_lecture9-9.1.1-hundred-rounds",
        source="wang_lecture9, 9.1.1, the averaging attack",
        statement="Without memoization 100 rounds at epsilon = ln 3 have an overall epsilon of 110",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="100 ln 3 = 109.86, rounded up, and attained at delta = 0. At delta = 1e-6 the exact value is 94.29.",
    ),
    Theorem(
        name="wang_lecture9-figure-9.2",
        source="wang_lecture9, Figure 9.2",
        statement="With k = 256, h = 4, p = 1/4, q = 3/4 and f = 1/2, 145 bits of a report are ones",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="97 are, on average, and 145 or more with probability 8.8e-10. With p = 1/2 the average is 144.5: the "
        "figure is that of p = 1/2, as in erlingsson2014.",
    ),
)
