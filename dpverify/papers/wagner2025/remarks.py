"""What it says in passing, and about no single protocol."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, accounting, enclosure, enumeration, proof, symbolic

__all__ = ["REMARKS"]

REMARKS: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-equation-1",
        source="wagner2025, section 2.1, equation 1",
        kind=Kind.DEFINITION,
        statement="Pr[M(X) in T] <= e^eps Pr[M(X') in T] + delta for data sets that differ on at most one coordinate",
        hypotheses=(within("epsilon", "[0, inf)"), within("delta", "[0, 1]")),
        verdict=Verdict.HOLDS,
        finding="Replacement of a user, n being public: the adjacency of every guarantee here. Over all events, which "
        "at delta > 0 are more than single outcomes ({all_events:.1f} against {single_outcomes:.1f} in an example at "
        "eps = 0). The proof of Theorem 3.2 omits a user instead.",
        checked_by=(enumeration("local:levels_by_definition", "all events of three outcomes, in fractions"),),
        links=("dpverify.guarantee:Adjacency",),
    ),
    Theorem(
        name="wagner2025-section-2.1-post-processing",
        source="wagner2025, section 2.1, post-processing",
        statement="The output of the analyzer is as private as that of the shuffler",
        hypotheses=(within("epsilon", "[0, inf)"),),
        verdict=Verdict.HOLDS,
        finding="No map of a view increases a divergence (largest increase {largest_increase:.0f} over all maps of "
        "four views to two outputs).",
        checked_by=(
            proof("docs/accounting.md#what-is-composed", "what the engine composes"),
            enumeration("density:processed_views", "all maps at three epsilons, in fractions"),
        ),
        links=("dpverify.guarantee:ThreatModel",),
    ),
    Theorem(
        name="wagner2025-section-4-mean-kernel",
        source="wagner2025, section 4, Kernels, mean of inner products",
        statement="The inner product density at y is the inner product of y with the mean",
        verdict=Verdict.HOLDS,
        finding="By linearity ({value:.3f} both ways in an example).",
        checked_by=(
            proof("dpverify.claims.lsq.inner_product", "the moments of the families"),
            enumeration("classifier:mean_of_kernels", "two points, in fractions"),
        ),
        links=("protocols.lsq.inner_product",),
    ),
    Theorem(
        name="wagner2025-section-3.3-nearest-centre",
        source="wagner2025, section 3.3, classification, nearest class center, and section 4",
        statement="The nearest class center classifier is the highest density class classifier of the inner product "
        "kernel",
        hypotheses=(
            Hypothesis(
                "equal-lengths",
                "The class means have equal lengths (not stated).",
                lambda lengths: max(lengths) == min(lengths),
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="By inner product, not by distance, as section 3.3 says of it: |y - a|^2 also has |a|^2, and means of "
        "unit vectors are the shorter the more a class spreads. With means (1, 0) and (1/2, 1/10) the point (3/5, 1/5) "
        "has the larger inner product with the first ({inner_long:.2f} against {inner_short:.2f}) and is nearer to the "
        "second.",
        checked_by=(
            proof("dpverify.evidence.classifier:mean_as_classifier", "the squared distance written out"),
            enumeration("classifier:mean_as_classifier", "two means and a point, in fractions"),
        ),
        links=("protocols.classifier",),
        concern=Concern.ACCURACY,
        repair="Compare <y, a> - |a|^2/2, or say that similarity is the inner product.",
    ),
    Theorem(
        name="wagner2025-algorithm-2-query",
        source="wagner2025, Algorithm 2, query",
        kind=Kind.ALGORITHM,
        statement="2/(n I) sum (2 B_i - n) cos(sqrt 2 w_i y + beta_i) is Algorithm 1 for the Gaussian kernel",
        hypotheses=(within("n", "[1, inf)"), within("I", "[1, inf)")),
        verdict=Verdict.HOLDS,
        finding="R = sqrt 2 and g = sqrt 2 cos give the factor {factor}. B_i must be unbiased: for RR the printed "
        "analyzer does not correct the flips.",
        checked_by=(symbolic("features:features_of_algorithm_2", "the product of range and feature"),),
        links=("protocols.kde", "protocols.lsq.gaussian"),
    ),
    Theorem(
        name="wagner2025-algorithm-2-frequencies",
        source="wagner2025, Algorithm 2, frequencies",
        kind=Kind.ALGORITHM,
        statement="cos(sqrt 2 w x + beta), w normal and beta uniform, are features of exp(-|x - y|^2)",
        hypotheses=(within("d", "[1, inf)"),),
        verdict=Verdict.HOLDS,
        finding="The mean over the phase leaves the cosine of the difference, and that over w is {kernel}.",
        checked_by=(symbolic("features:frequencies_of_algorithm_2", "the integral over a normal frequency"),),
        links=("protocols.lsq.gaussian",),
    ),
    Theorem(
        name="wagner2025-section-4.2-few-times",
        source="wagner2025, section 4.2, cost of 3NB in practice",
        kind=Kind.NUMBER,
        statement="3NB costs a few times the messages of RR in practice",
        verdict=Verdict.OPEN,
        finding="It depends on the constant c of p', which is not given: for 40,000 users and 768 instances at eps = 7 "
        "(eps0 = {epsilon0:.4f} by Theorem 3.2) a user expects {messages_one:.1f} messages for a bitsum at c = 1, "
        "{messages_half:.1f} at 1/2 and {messages_fifth:.1f} at 0.2, the one that is private. RR sends 1.",
        checked_by=(accounting("bitsum:messages_of_three_nb", "expected messages for three constants"),),
        links=("dpverify.formulas.protocols.three_nb:expected_messages_per_user",),
        concern=Concern.COST,
        repair="State c.",
    ),
    Theorem(
        name="wagner2025-section-4.1-resilience",
        source="wagner2025, section 4.1, resilience, with Tables 2, 3 and 5",
        kind=Kind.NUMBER,
        statement="The Gaussian kernel is more resilient to errors than the inner product, and often more accurate "
        "under shuffled DP",
        verdict=Verdict.HOLDS,
        finding="With RR it is in {better} of {total} entries of Tables 2, 3 and 5 (Table 4 has the rows of another "
        "data set), and with 3NB in all {by_three_nb} of Table 5. There RR and the inner product are at chance, from "
        "{least_by_chance} to {most_by_chance} % of ten classes.",
        checked_by=(enumeration("classifier:resilient_kernel", "all printed entries"),),
    ),
    Theorem(
        name="wagner2025-a1.7-pure-composition",
        source="wagner2025, Appendix A.1.7, pure composition",
        kind=Kind.BOUND,
        statement="Pure bitsums compose to eps = I S eps0, delta = 0",
        hypotheses=(within("epsilon0", "(0, inf)"),),
        verdict=Verdict.HOLDS,
        finding="And no better at delta = 0 ({pure:.3f} for ten of 0.1); at delta = 1e-6 the exact value is "
        "{small:.4f}.",
        checked_by=(enclosure("density:composed_reports", "ten mechanisms of eps0 = 0.1"),),
        links=("dpverify.composition.theorems:CompositionTheorem",),
    ),
    Theorem(
        name="wagner2025-theorem-3.3-error",
        source="wagner2025, Theorem 3.3 and Appendix A.2, accuracy",
        kind=Kind.BOUND,
        statement="supRMSE is O(sqrt(alpha^2 (1 + log(1/delta) / (alpha eps n)^2))), so O(alpha) for alpha >= C' "
        "sqrt(log(1/delta)) / (eps n)",
        hypotheses=(within("alpha", "(0, 1)"), within("delta", "(0, 1)")),
        verdict=Verdict.HOLDS,
        finding="By Theorem 3.2 it is at most {error} for an RMSE of sqrt(log(1/delta)) / (alpha eps), which is "
        "{quiet_slack:.0f} times the truth without noise.",
        checked_by=(
            symbolic("density:error_of_theorem_3_3", "the setting in the bound"),
            accounting("density:users_at_one_point", "the exact supremum for users at one point"),
        ),
        links=("dpverify.formulas.protocols.kde:published_rmse_bound",),
    ),
    Theorem(
        name="wagner2025-section-4-flood-cancels",
        source="wagner2025, section 4, 3NB, footnote 2, and Algorithm 2",
        statement="The third noise cancels in the sum, whose error is asymptotically that of central DP",
        hypotheses=(within("epsilon0", "(0, inf)"),),
        verdict=Verdict.HOLDS,
        finding="The sum is b + psi_1 - psi_2, discrete Laplace noise at 0.99 eps0: {more_small:.2%} more error than "
        "at eps0 for eps0 = 0.01, {more_one:.2%} for 1.",
        checked_by=(
            proof("dpverify.claims.bitsum.three_nb", "the law of both counts"),
            enumeration("flood:sum_of_three_noises", "all small noises"),
        ),
        links=("protocols.bitsum.three_nb",),
    ),
    Theorem(
        name="wagner2025-appendix-c-flips",
        source="wagner2025, Appendix C, ablation (after cheu2019)",
        statement="The larger n is, the smaller is the flip probability of shuffled randomized response; the local one "
        "does not depend on n",
        hypotheses=(within("epsilon0", "(0, 1)"), within("n", "[1, inf)")),
        verdict=Verdict.HOLDS,
        finding="Both branches of Lemma 4.8 fall in n.",
        checked_by=(symbolic("bitsum:flips_over_users", "the derivatives of both branches"),),
        links=("dpverify.formulas.protocols.randomized_response:flip_probability",),
    ),
    Theorem(
        name="wagner2025-section-3.3-counts",
        source="wagner2025, section 3.3, published counts",
        statement="The counts of the reported labels are eps_lbl-DP, by post-processing",
        hypotheses=(within("label_epsilon", "(0, inf)"),),
        verdict=Verdict.HOLDS,
        finding="With two users the largest ratio is {largest_ratio:.3f} at e^eps_lbl = 3; with one it is e^eps_lbl.",
        checked_by=(
            proof("docs/classifier.md#her-label-changes-too-eps--eps_lbl-delta", "what is a function of the reports"),
            enumeration("classifier:reported_counts", "the counts of two users and three labels, in fractions"),
        ),
        links=("protocols.local.labels",),
    ),
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
        checked_by=(enumeration("density:split_of_delta", "both splits for S = Q and S < Q, in fractions"),),
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
            accounting("bitsum:flood_per_user", "expected messages at n = 30000, (1, 1e-6)"),
            symbolic("bitsum:flood_per_user_symbolic", "the ratio of the floods"),
        ),
        links=("protocols.bitsum.three_nb", "dpverify.formulas.protocols.three_nb:flood_shape"),
        concern=Concern.COST,
        repair="r' / n per user, with which the totals are those of ghazi2020.",
    ),
)
