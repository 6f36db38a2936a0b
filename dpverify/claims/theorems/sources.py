"""What the sources claim about everything, and no single protocol, and what was found about each claim."""

from __future__ import annotations

from dpverify.claims.theorem import Concern, Evidence, Kind, Method, Theorem, Verdict
from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within

__all__ = ["SOURCES"]

SOURCES: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-section-4-delta-split",
        source="wagner2025, section 4, Privacy parameters",
        kind=Kind.PARAMETER,
        statement="Half of delta goes to delta', half to the total I Q delta0 of the bitsum instances",
        hypotheses=(Hypothesis("dense-features", "S = Q (not stated; true of its experiments).", lambda Q, S: Q == S),),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="Theorem 3.2 charges I S delta0. With S < Q the text wastes delta0 by the factor Q / S "
        "({sparse_waste:.0f} for Q = 20, S = 1); with S = Q, which is what its experiments use, the two agree "
        "({dense_waste:.0f}). Here S is used.",
        checked_by=(
            Evidence(Method.ENUMERATION, "density:split_of_delta", "both splits for S = Q and S < Q, in fractions"),
        ),
        links=("dpverify.composition.inverse:per_instance_budget",),
        concern=Concern.ACCURACY,
        repair="Write I S delta0.",
    ),
    Theorem(
        name="wagner2025-a2-per-user-shape",
        source="wagner2025, Appendix A.2 and Algorithm 2",
        kind=Kind.DEFINITION,
        statement="Each user draws psi_3 from NB(r', p') with r' = 3(1 + ln(2 e^(0.99 eps0) / delta0)), and sends 1 + "
        "o(1) messages",
        hypotheses=(within("epsilon0", "(0, inf)"), within("delta0", "(0, 1)"), within("n", "[2, inf)")),
        verdict=Verdict.FAILS,
        finding="As a definition r' is private, as more flood hides more; what fails is its message count. r is given "
        "per user (1/n) and r' in total: read literally, the flood is {factor} times what is needed, and at n = 30000 "
        "and (1, 1e-6) a user sends {literal:,.0f} messages for a bit instead of {meant:.2f}.",
        checked_by=(
            Evidence(Method.ACCOUNTING, "buckets:flood_per_user", "expected messages at n = 30000, (1, 1e-6)"),
            Evidence(Method.SYMBOLIC, "buckets:flood_per_user_symbolic", "the ratio of the floods"),
        ),
        links=("protocols.bitsum.three_nb", "dpverify.formulas.three_nb:flood_shape"),
        concern=Concern.COST,
        repair="r' / n per user, with which the totals are those of ghazi2020.",
    ),
)
