"""What the sources claim about communication, and what was found about each claim."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, accounting, enumeration, symbolic

__all__ = ["COMMUNICATION"]

_INSTANCES = Hypothesis(
    "as-many-instances",
    "I Q = d (wagner2025, section 4, Kernels).",
    lambda d, instances, buckets: instances * buckets == d,
)

COMMUNICATION: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-section-4.2-rr",
        source="wagner2025, section 4.2, RR",
        kind=Kind.NUMBER,
        statement="With RR each user sends exactly d messages for d bitsum instances",
        hypotheses=(_INSTANCES,),
        verdict=Verdict.HOLDS,
        finding="Holds: {messages:.0f} message per bitsum, whatever the bit.",
        checked_by=(enumeration("bitsum:one_message", "the messages of users of RR, by their randomizer"),),
        links=("protocols.bitsum.randomized_response", "dpverify.claims.shared.communication:communication"),
    ),
    Theorem(
        name="wagner2025-section-4.2-3nb",
        source="wagner2025, section 4.2, 3NB",
        kind=Kind.BOUND,
        statement="With 3NB a user sends (1 + o(1)) d messages in expectation; the o(1) vanishes as n or eps grows",
        hypotheses=(
            _INSTANCES,
            Hypothesis(
                "users-grow", "n grows, and eps stays (not stated: n or eps).", lambda n, epsilon0: n > epsilon0
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="As n grows. As epsilon grows at fixed n the flood r' p' / (1-p') first shrinks and then grows like "
        "{growth}, since r' has the term ln(e^(0.99 eps0)): at n = 100, delta0 = 1e-8 and c = 0.2, of which the source "
        "says Theta(1), the surplus over 1 is {at_tenth:,.0f} at eps0 = 0.1, {at_thirty:,.0f} at 30 and {at_many:,.0f} "
        "at 300. And 1 is the worst case, a one in every instance: rounded features are fair coins over the public "
        "randomness, so the mean is (1/2 + o(1)) d.",
        checked_by=(
            accounting("bitsum:surplus_of_three_nb", "the expected surplus at n = 100 and 10^6, eps0 from 0.1 to 300"),
            symbolic("bitsum:growth_of_flood", "the limit of the flood over eps0"),
        ),
        links=(
            "protocols.bitsum.three_nb",
            "dpverify.formulas.protocols.three_nb:expected_messages_per_user",
            "tests/claims/shared/test_communication.py::test_3nb_costs_more_again_where_epsilon_is_large",
        ),
        concern=Concern.COST,
        repair="Say 'as n grows'; per user the flood costs 2 r' p' / ((1-p') n) messages.",
    ),
    Theorem(
        name="wagner2025-section-4.2-pure",
        source="wagner2025, section 4.2, Pure",
        kind=Kind.BOUND,
        statement="With Pure a user sends O(d^2 log(n) / eps0) messages in expectation, orders of magnitude more than "
        "3NB",
        hypotheses=(_INSTANCES, within("epsilon0", "(0, inf)")),
        verdict=Verdict.OPEN,
        finding="The flood that it counts is not stated. By the abstract of ghazi2023 an instance costs O~(log(n) / "
        "eps0) messages, so that d of them cost d log(n) / eps0, which is d^2 log(n) / eps at eps0 = eps/d: one d too "
        "many beside eps0. And no flood makes the reconstruction pure. With the least flood at which an instance of "
        "the noise is (eps0, delta0)-DP for a delta0 > 0 it is neither orders of magnitude more nor always less than "
        "3NB as published: at n = 30000 and delta0 = 1e-6 a bitsum costs {pure_one:.3f} messages against {nb_one:.3f} "
        "at eps0 = 1, {pure_two:.3f} against {nb_two:.3f} at 2, and {pure_small:.3f} against {nb_small:.3f} at 0.03.",
        checked_by=(accounting("bitsum:flood_of_three_nb", "expected messages at eps0 of 0.03, 1 and 2", quick=False),),
        links=("protocols.bitsum.pure", "dpverify.claims.shared.communication:communication"),
        concern=Concern.COST,
    ),
    Theorem(
        name="wagner2025-section-4.2-bits",
        source="wagner2025, section 4.2, size of a message",
        kind=Kind.NUMBER,
        statement="With RR, 3NB and Pure each message has ceil(log2 d) + 1 bits",
        hypotheses=(_INSTANCES,),
        verdict=Verdict.HOLDS,
        finding="Holds for I Q = d: a tag of the instance and one bit ({bits_768} bits at d = 768). In general it is "
        "ceil(log2(I Q)) + 1.",
        checked_by=(enumeration("bitsum:bits", "the number of different messages for d from 1 to 1100"),),
        links=(
            "dpverify.claims.shared.communication:message_bits",
            "tests/claims/shared/test_communication.py::test_rows_and_bits",
        ),
    ),
)
