"""What the sources claim about RAPPOR, and what was found about each claim."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, accounting, enclosure, enumeration, proof, symbolic

__all__ = ["RAPPOR", "RAPPOR_LIMIT"]

_ENOUGH_BITS = Hypothesis(
    "room-for-two-patterns",
    "k >= 2h, for the bound to be attained: two values may then share no bit (parameters k, h).",
    lambda bits, hashes: bits >= 2 * hashes,
)
_CHANCES = (within("f", "(0, 1)"), within("p", "(0, 1)"), within("q", "(0, 1)"))
_ORDERED = Hypothesis("reports-tell", "p < q (wang_lecture9, Figure 9.3).", lambda p, q: p < q)

RAPPOR_LIMIT: tuple[Theorem, ...] = (
    Theorem(
        name="erlingsson2014-theorem-1",
        source="erlingsson2014, Theorem 1 (quoted from memory); wang_lecture9, 9.1.1, without the number",
        kind=Kind.THEOREM,
        statement="The permanent response is eps-DP with eps = 2h ln((1 - f/2) / (f/2))",
        hypotheses=(_ENOUGH_BITS, within("f", "(0, 1)")),
        verdict=Verdict.HOLDS,
        finding="And no better where k >= 2h: two patterns of h bits without a common one attain it, in both "
        "directions ({limit:.3f} at h = 2, f = 1/2). With fewer bits the exact value has k for 2h, and is 0 for k = 1. "
        "Values that are known, with the hash functions of their cohorts, differ in fewer bits where hash functions "
        "collide.",
        checked_by=(
            proof("docs/rappor.md#two-values", "the loss of two values"),
            enumeration("local:permanent_loss", "all responses for k of 4 and 5, h of 1 and 2, in fractions"),
        ),
        links=(
            "protocols.rappor",
            "dpverify.formulas.protocols.rappor:permanent_epsilon",
            "dpverify.claims.rappor.response",
        ),
    ),
    Theorem(
        name="wang_lecture9-9.1.1-limit",
        source="wang_lecture9, 9.1.1, infinitely many responses, Figure 9.2 and Figure 9.3",
        statement="Towards an adversary who views an infinite number of responses, the local DP guarantee of the "
        "permanent response is left",
        hypotheses=(
            *_CHANCES,
            Hypothesis(
                "one-value",
                "All reports are on one value, or it is public when it changes (not stated).",
                lambda values: len(set(values)) == 1,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="For reports on one and the same value, or if it is public when a value changes: then I values cost I "
        "times the limit. Else no epsilon is left: who changes her value has a new permanent response, which differs "
        "from the old one in some of all k bits, and after enough reports of each the change is seen with certainty. "
        "With k = 128, h = 2, f = p = 1/2 and q = 3/4 the limit is {limit:.3f}; telling a value that stays from one "
        "that changes has a largest loss of {change_one:.1f} after one report of each, {change_ten:.0f} after 10 and "
        "{change_hundred:,.0f} after 100.",
        checked_by=(
            enumeration("local:permanent_loss", "the limit for reports on one value, by all responses"),
            enclosure("local:limit_of_reports", "the loss of a value that changes after 1, 10 and 100 reports"),
        ),
        links=("protocols.rappor", "dpverify.claims.rappor.response:change_seen", "docs/rappor.md#many-values"),
        concern=Concern.PRIVACY,
        repair="Say 'on one value'; a value that changes needs its own permanent response in the account.",
    ),
)

RAPPOR: tuple[Theorem, ...] = (
    Theorem(
        name="erlingsson2014-theorem-2",
        source="erlingsson2014, Theorem 2 (quoted from memory)",
        kind=Kind.THEOREM,
        statement="One report is eps-DP with eps = h ln(q* (1-p*) / (p* (1-q*))), p* = f (p+q)/2 + (1-f) p, q* = f "
        "(p+q)/2 + (1-f) q",
        hypotheses=(_ENOUGH_BITS, *_CHANCES),
        verdict=Verdict.HOLDS,
        finding="And no better where k >= 2h. With q < p the logarithm is negative: its absolute value is meant. After "
        "n reports on one value the exact value has (q/p)^n and ((1-p)/(1-q))^n as likelihood ratios of a kept bit, "
        "and tends to Theorem 1's: {epsilon_one:.3f}, {epsilon_two:.3f} and {epsilon_ten:.3f} after one, two and ten "
        "at k = 128, h = 2, f = p = 1/2, q = 3/4.",
        checked_by=(
            proof("docs/rappor.md#two-values", "the loss of two values"),
            enclosure("local:single_report", "the loss of one, two and ten reports"),
        ),
        links=(
            "dpverify.formulas.protocols.rappor:published_epsilon_one",
            "tests/claims/rappor/test_response.py::test_the_figures_of_the_theorems",
        ),
    ),
    Theorem(
        name="wang_lecture9-9.1.1-single",
        source="wang_lecture9, 9.1.1, a single response",
        statement="The instantaneous response strengthens the local guarantee towards an adversary who views a single "
        "response",
        hypotheses=(*_CHANCES, _ORDERED),
        verdict=Verdict.HOLDS,
        finding="Strictly, for all 0 < p < q < 1: the likelihood ratios of a kept bit are finite. With k = 128, h = 2, "
        "f = p = 1/2 and q = 3/4 epsilon is {epsilon_one:.3f} instead of 4.394; it is {epsilon_two:.3f} after two "
        "reports, {epsilon_ten:.3f} after ten.",
        checked_by=(
            symbolic(
                "local:single_report_symbolic", "that the ratio of a report is below that of the permanent response"
            ),
            enclosure("local:single_report", "the loss of one, two and ten reports"),
        ),
        links=("protocols.rappor", "dpverify.claims.rappor.response"),
    ),
    Theorem(
        name="wang_lecture9-9.1.1-averaging",
        source="wang_lecture9, 9.1.1, the averaging attack",
        kind=Kind.NUMBER,
        statement="If every response is yes with probability 1/4, 75 of 100 are with probability 1.39e-24",
        verdict=Verdict.FAILS,
        finding="It is ten times less: {exactly:.3e}, and {or_more:.3e} for 75 or more.",
        checked_by=(
            enumeration("local:averaging_attack", "the binomial law, in fractions"),
            enclosure("local:averaging_attack_logarithms", "the same by logarithms, in balls"),
        ),
        links=("docs/rappor.md#what-was-found-in-the-sources",),
        repair="1.28e-25.",
    ),
    Theorem(
        name="wang_lecture9-9.1.1-hundred-rounds",
        source="wang_lecture9, 9.1.1, a hundred rounds",
        kind=Kind.NUMBER,
        statement="Without memoization 100 rounds at epsilon = ln 3 have an overall epsilon of 110",
        verdict=Verdict.HOLDS,
        finding="100 ln 3 = {pure:.2f}, rounded up, and attained at delta = 0. At delta = 1e-6 the exact value is "
        "{at_delta:.2f}.",
        checked_by=(enclosure("local:hundred_rounds", "the composed two-valued law"),),
        links=("dpverify.privacy_loss.losses.two_valued:composed_epsilon",),
    ),
    Theorem(
        name="wang_lecture9-figure-9.2",
        source="wang_lecture9, Figure 9.2",
        kind=Kind.NUMBER,
        statement="With k = 256, h = 4, p = 1/4, q = 3/4 and f = 1/2, 145 bits of a report are ones",
        verdict=Verdict.FAILS,
        finding="{mean:.0f} are, on average, and 145 or more with probability {tail:.1e} (at most {hoeffding:.1e} from "
        "the mean alone). With p = 1/2 the average is {other_mean:.1f}: the figure is that of p = 1/2, as in "
        "erlingsson2014.",
        checked_by=(
            enumeration("local:example_report", "the law of the number of ones, for p of 1/4 and 1/2"),
            accounting("local:example_report_moments", "Hoeffding's bound on the same tail"),
        ),
        links=("protocols.rappor", "tests/claims/rappor/test_response.py::test_the_figure_with_145_ones_has_another_p"),
        repair="p = 1/2.",
    ),
)
