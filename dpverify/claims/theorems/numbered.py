"""Numbered statements of wang_lecture9, ghazi2021 and wagner2025 that stand for themselves, and what was found."""

from __future__ import annotations

from dpverify.claims.theorem import Concern, Evidence, Kind, Method, Theorem, Verdict
from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within

__all__ = ["GHAZI2021", "WAGNER2025", "WANG_LECTURE9"]

WANG_LECTURE9: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-definition-9.1",
        source="wang_lecture9, Definition 9.1",
        kind=Kind.DEFINITION,
        statement="Q is (eps, delta)-LDP if P(Q(x) in S) <= e^eps P(Q(x') in S) + delta for all x, x' and S; delta = 0 "
        "is pure",
        hypotheses=(
            within("epsilon", "[0, inf)"),
            within("delta", "[0, 1]"),
        ),
        verdict=Verdict.HOLDS,
        finding="At delta = 0 single outcomes decide; at delta > 0 they do not: of three outcomes all events need "
        "delta {all_events:.1f} at eps = 0 where single ones need {single_outcomes:.1f}. The engine takes the supremum "
        "over events.",
        checked_by=(
            Evidence(
                Method.ENUMERATION,
                "statements:levels_by_definition",
                "all events of a report of three outcomes, in fractions",
            ),
        ),
        links=(
            "dpverify.claims.local.base",
            "dpverify.privacy_loss.distribution",
        ),
    ),
    Theorem(
        name="wang_lecture9-definition-9.5",
        source="wang_lecture9, Definition 9.5",
        kind=Kind.DEFINITION,
        statement="A protocol (R, S, A) is (eps, delta)-SDP if the shuffled messages of all users are (eps, delta)-DP",
        hypotheses=(
            within("epsilon", "[0, inf)"),
            within("delta", "[0, 1]"),
        ),
        verdict=Verdict.HOLDS,
        finding="The uniformly random order tells nothing that the counts of the messages do not, so that the view is "
        "a multiset: what every twin accounts.",
        checked_by=(
            Evidence(
                Method.ENUMERATION, "statements:views_by_definition", "all orders of two users' reports, in fractions"
            ),
        ),
        links=(
            "protocols.shuffler",
            "dpverify.guarantee:ThreatModel",
        ),
    ),
)

GHAZI2021: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-corollary-27",
        source="ghazi2021, Corollary 27",
        kind=Kind.COROLLARY,
        statement="m = O~_beta(PRDim(C)^3 / alpha^2) samples are enough for a stable learner",
        hypotheses=(
            within("alpha", "(0, 1)"),
            Hypothesis(
                "beta-below-0.98", "0 < beta < 0.98, as for Theorem 26 (not stated).", lambda beta: 0 < beta < 0.98
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="For a class that represents itself, by m = gamma^2 ln(2 |H|) / (2 beta^4), which grows like "
        "d^{exponent:.2f} from d = 400 to 800. Lemma 10, which bounds PRDim at alpha/2 and beta/2 by PRDim, stands in "
        "the main part, which was not at hand.",
        checked_by=(
            Evidence(Method.PROOF, "dpverify.claims.user_level.stable_learner", "that so many samples are enough"),
            Evidence(Method.ACCOUNTING, "statements:pseudo_stable_budget", "the growth of m from d = 400 to 800"),
        ),
        links=("dpverify.claims.user_level.stable_learner:enough_samples",),
        concern=Concern.TEXT,
        repair="Ask for beta < 0.98.",
    ),
    Theorem(
        name="ghazi2021-definition-31",
        source="ghazi2021, Definition 31",
        kind=Kind.DEFINITION,
        statement="An oracle STAT_D(tau) answers a query of values in [-1, 1] within tau of its mean",
        hypotheses=(within("tau", "(0, inf)", "ghazi2021, Definition 31"),),
        verdict=Verdict.HOLDS,
        finding="The repaired Algorithm 5 is one, with room: its answers are within {worst_in_tau:.2f} tau of the mean "
        "that it is given, which leaves 2/3 tau for the samples.",
        checked_by=(
            Evidence(
                Method.ENUMERATION,
                "statements:statistical_queries",
                "answers at 41 means, three tolerances and offsets",
            ),
        ),
        links=("protocols.user_level.statistical_queries",),
    ),
    Theorem(
        name="ghazi2021-algorithm-8",
        source="ghazi2021, Algorithm 8 and Corollary 40, overestimation",
        kind=Kind.ALGORITHM,
        statement="The total number of messages is never below the sum",
        hypotheses=(
            Hypothesis("everyone-takes-part", "All n users take part.", lambda n, participants: participants == n),
        ),
        verdict=Verdict.HOLDS,
        finding="A user sends her bit at least ({least_excess:.0f} is the least excess).",
        checked_by=(
            Evidence(Method.PROOF, "docs/buckets.md#the-error-of-a-selection", "that noise only adds"),
            Evidence(Method.ENUMERATION, "statements:overestimates", "all bits and noises up to 4 of three users"),
        ),
        links=("protocols.bitsum.negative_binomial",),
    ),
)

WAGNER2025: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-definition-2.1",
        source="wagner2025, Definition 2.1",
        kind=Kind.DEFINITION,
        statement="f, g map to [-R, R]^Q with at most S non-zero entries, and E[f . g] is within beta of the kernel",
        hypotheses=(
            within("R", "(0, inf)"),
            within("beta", "[0, inf)"),
        ),
        verdict=Verdict.HOLDS,
        finding="Every family here keeps to it on its domain (largest feature {largest:.3f} R). The definition asks it "
        "of all x, y in R^d, which inner products do not meet beyond the unit ball.",
        checked_by=(
            Evidence(
                Method.ACCOUNTING,
                "statements:features_by_definition",
                "range and sparsity of four families at random points",
            ),
        ),
        links=(
            "protocols.lsq",
            "dpverify.claims.lsq.base",
        ),
    ),
    Theorem(
        name="wagner2025-definition-3.1",
        source="wagner2025, Definition 3.1",
        kind=Kind.DEFINITION,
        statement="supRMSE is the largest root mean squared error over all queries, not the error of the worst query "
        "of a draw",
        hypotheses=(within("n", "[1, inf)"),),
        verdict=Verdict.HOLDS,
        finding="Its exact value is enclosed for every family; for users at one point the printed bound is "
        "{quiet_slack:.1f} times as much without noise.",
        checked_by=(
            Evidence(Method.ACCOUNTING, "density:users_at_one_point", "the exact supremum for users at one point"),
        ),
        links=("dpverify.claims.kde.error:sup_rmse",),
    ),
    Theorem(
        name="wagner2025-claim-a.2",
        source="wagner2025, Claim A.2 and Algorithm 1, rounding",
        kind=Kind.CLAIM,
        statement="|E[fbar . g(y)] - k(x, y)| <= beta for features that are rounded to -R and R",
        hypotheses=(within("R", "(0, inf)"),),
        verdict=Verdict.HOLDS,
        finding="Rounding is unbiased for every f in [-R, R], with a fair coin ({coin_for_zero:.1f}) for f = 0, and "
        "independent of g.",
        checked_by=(
            Evidence(Method.PROOF, "docs/densities.md#the-error", "the moments of rounded features"),
            Evidence(Method.ENUMERATION, "statements:bits_of_a_density", "the mean for three values, in fractions"),
        ),
        links=(
            "protocols.kde",
            "dpverify.claims.kde.error",
        ),
    ),
    Theorem(
        name="wagner2025-claim-a.3",
        source="wagner2025, Claim A.3",
        kind=Kind.CLAIM,
        statement="The errors E_ij are independent given all else, of mean 0 and mean square (2 R E)^2",
        hypotheses=(
            Hypothesis("unbiased-bitsum", "The bitsum is unbiased (wagner2025, Theorem 3.2).", lambda bias: bias == 0),
        ),
        verdict=Verdict.HOLDS,
        finding="With <= for a bitsum whose error depends on its input, as of Pure ({share:.0f} times (2 R E)^2 for "
        "one of a single error).",
        checked_by=(
            Evidence(Method.PROOF, "docs/densities.md#the-error", "the error, with E averaged over the bits"),
            Evidence(
                Method.ENUMERATION, "statements:two_step_moments", "both moments for an error of 2 or -2, in fractions"
            ),
        ),
        links=("dpverify.claims.kde.error",),
    ),
    Theorem(
        name="wagner2025-table-4",
        source="wagner2025, Table 4 with Table 2",
        kind=Kind.NUMBER,
        statement="Accuracies of the inner product kernel on SST2: from 7.8 to 93.1 %",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="All {equal_entries} entries of the inner product rows are those of Table 2, with their deviations: on "
        "DBPedia-14, of 14 classes. SST2 has two classes and 1,820 test examples, where {least_accuracy} % could be "
        "exchanged for 92.2 %: chance gives so little with probability 10^{log10_chance:.0f}.",
        checked_by=(
            Evidence(Method.ENUMERATION, "statements:copied_rows", "the printed rows of both tables"),
            Evidence(
                Method.ACCOUNTING, "statements:flipped_labels", "the binomial tail at 7.8 % of 1820, in fractions"
            ),
        ),
        concern=Concern.ACCURACY,
        repair="Print the rows of SST2.",
    ),
)
