"""Numbered statements and equations that stand for themselves."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, accounting, enumeration, proof, symbolic

__all__ = ["NUMBERED"]

NUMBERED: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-definition-2.1",
        source="wagner2025, Definition 2.1",
        kind=Kind.DEFINITION,
        statement="f, g map to [-R, R]^Q with at most S non-zero entries, and E[f . g] is within beta of the kernel",
        hypotheses=(within("R", "(0, inf)"), within("beta", "[0, inf)")),
        verdict=Verdict.HOLDS,
        finding="Every family here keeps to it on its domain (largest feature {largest:.3f} R). The definition asks it "
        "of all x, y in R^d, which inner products do not meet beyond the unit ball.",
        checked_by=(
            accounting("features:features_by_definition", "range and sparsity of four families at random points"),
        ),
        links=("protocols.lsq", "dpverify.claims.lsq.base"),
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
        checked_by=(accounting("density:users_at_one_point", "the exact supremum for users at one point"),),
        links=("dpverify.claims.kde.error:sup_rmse",),
    ),
    Theorem(
        name="wagner2025-claim-a.2",
        source="wagner2025, Claim A.2 and Algorithm 1, rounding",
        statement="|E[fbar . g(y)] - k(x, y)| <= beta for features that are rounded to -R and R",
        hypotheses=(within("R", "(0, inf)"),),
        verdict=Verdict.HOLDS,
        finding="Rounding is unbiased for every f in [-R, R], with a fair coin ({coin_for_zero:.1f}) for f = 0, and "
        "independent of g.",
        checked_by=(
            proof("docs/densities.md#the-error", "the moments of rounded features"),
            enumeration("density:bits_of_a_density", "the mean for three values, in fractions"),
        ),
        links=("protocols.kde", "dpverify.claims.kde.error"),
    ),
    Theorem(
        name="wagner2025-claim-a.3",
        source="wagner2025, Claim A.3",
        statement="The errors E_ij are independent given all else, of mean 0 and mean square (2 R E)^2",
        hypotheses=(
            Hypothesis("unbiased-bitsum", "The bitsum is unbiased (wagner2025, Theorem 3.2).", lambda bias: bias == 0),
        ),
        verdict=Verdict.HOLDS,
        finding="With <= for a bitsum whose error depends on its input, as of Pure ({share:.0f} times (2 R E)^2 for "
        "one of a single error).",
        checked_by=(
            proof("docs/densities.md#the-error", "the error, with E averaged over the bits"),
            enumeration("density:two_step_moments", "both moments for an error of 2 or -2, in fractions"),
        ),
        links=("dpverify.claims.kde.error",),
    ),
    Theorem(
        name="wagner2025-table-4",
        source="wagner2025, Table 4 with Table 2",
        kind=Kind.NUMBER,
        statement="Accuracies of the inner product kernel on SST2: from 7.8 to 93.1 %",
        verdict=Verdict.FAILS,
        finding="All {equal_entries} entries of the inner product rows are those of Table 2, with their deviations: on "
        "DBPedia-14, of 14 classes. SST2 has two classes and 1,820 test examples, where {least_accuracy} % could be "
        "exchanged for 92.2 %: chance gives so little with probability 10^{log10_chance:.0f}.",
        checked_by=(
            enumeration("classifier:copied_rows", "the printed rows of both tables"),
            accounting("classifier:flipped_labels", "the binomial tail at 7.8 % of 1820, in fractions"),
        ),
        concern=Concern.ACCURACY,
        repair="Print the rows of SST2.",
    ),
    Theorem(
        name="wagner2025-theorem-3.3-efficiency",
        source="wagner2025, Theorem 3.3 and Appendix A.2, efficiency",
        kind=Kind.BOUND,
        statement="For every alpha >= C' sqrt(log(1/delta)) / (eps n) a user sends O~(1/alpha^2) bits and runs in "
        "min(O(d/alpha^2), O~(d + 1/alpha^4)), and the analyzer in O(n/alpha^2), all expected",
        hypotheses=(
            within("alpha", "(0, 1)"),
            within("delta", "(0, 1)"),
            Hypothesis(
                "little-flood",
                "n eps0 >= ln(1/delta0)^2 with eps0 = eps alpha / sqrt(log(1/delta)) <= 1 (not stated).",
                lambda n, epsilon0, log: epsilon0 <= 1 and n * epsilon0 >= log**2,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="A bitsum's flood is of order ln(1/delta0)^2 / eps0 messages in all, which n users share: 1 + o(1) for "
        "each only where n eps0 is larger than that. At the least alpha of the theorem n eps0 is C'. With n = 10^4, "
        "(1, 1e-6), C' = 1 and c = 0.2 a user then expects {least_messages:,.0f} messages for each of the I bitsums, "
        "which the analyzer must read, and {tenth_messages:.0f} at alpha = {tenth_alpha}.",
        checked_by=(
            proof(
                "dpverify.evidence.bitsum:cost_at_least_error",
                "that a constant number of messages is left under the condition",
            ),
            accounting("bitsum:cost_at_least_error", "expected messages at the least alpha and 0.1"),
        ),
        links=("dpverify.formulas.protocols.three_nb:expected_messages_per_user", "docs/floods.md"),
        concern=Concern.COST,
        repair="Multiply by 1 + log(1/delta0)^2 / (n eps0), or ask for alpha >= C' sqrt(log(1/delta)) log(1/delta0)^2 "
        "/ (eps n).",
    ),
    Theorem(
        name="wagner2025-equation-2",
        source="wagner2025, Appendix A.1.3, equation 2",
        kind=Kind.BOUND,
        statement="E |KDE - estimate|^2 is at most twice the mean square of the discretized estimate's error and twice "
        "that of the bitsums' errors",
        hypotheses=(within("instances", "[1, inf)"),),
        verdict=Verdict.HOLDS,
        finding="What is missing to equality is {difference}. The second line adds the bitsums' errors where they are "
        "subtracted, which changes neither side: they have mean 0 given all else, so that the mean squares simply add "
        "up, and both factors 2 can be dropped.",
        checked_by=(symbolic("features:square_of_two_errors", "the difference as a square"),),
        links=("dpverify.formulas.protocols.kde:rmse_bound", "docs/densities.md#the-error"),
    ),
    Theorem(
        name="wagner2025-equations-3-4",
        source="wagner2025, Appendix A.1.4, equation 3 and equation 4",
        kind=Kind.BOUND,
        statement="The error of the discretized estimate is the mean of I independent Z_i, whose squared sum has the "
        "mean sum E Z_i^2 + sum over i != i' of E Z_i E Z_i'",
        hypotheses=(within("instances", "[1, inf)"),),
        verdict=Verdict.HOLDS,
        finding="By linearity and independence (expanded for {instances} instances).",
        checked_by=(symbolic("density:square_of_instances", "both, for three instances"),),
        links=("docs/densities.md#the-error",),
    ),
    Theorem(
        name="wagner2025-a1.5-second-summand",
        source="wagner2025, Appendix A.1.5, second summand",
        kind=Kind.BOUND,
        statement="E (sum Y_i)^2 < 4 I S R^4 E^2, so that the second summand of (2) is at most 8 S R^4 E^2 / (n^2 I)",
        hypotheses=(within("instances", "[1, inf)"),),
        verdict=Verdict.HOLDS,
        finding="With <= in the place of <: where S entries of g are R or -R it is attained ({share:.0f} of it).",
        checked_by=(
            proof("dpverify.evidence.density:squared_noise", "the mean square given all else"),
            enumeration("density:squared_noise", "all queries and errors for S = Q = 2"),
        ),
        links=("docs/densities.md#the-error",),
    ),
    Theorem(
        name="wagner2025-section-3.1-dropouts",
        source="wagner2025, section 3.1, user counts",
        statement="If some users drop out, the protocol fails to meet its DP guarantee for the remaining users",
        hypotheses=(
            Hypothesis(
                "no-slack",
                "The noise is the least that keeps the promise with all users (not stated).",
                lambda slack: slack == 0,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="Delta can only grow as users leave ({four:.4f} with four users, {three:.4f} with three at p = 1/4 and "
        "e^eps = 3/2). But what is published has much slack: RR by Lemma 4.8 for 30,000 users at (0.0126, 6.5e-10) "
        "keeps it with half of them (delta {half:.0e}), and a protocol may be planned for the least number that comes.",
        checked_by=(
            proof("dpverify.evidence.bitsum:absent_users", "that one report more is post-processing"),
            enumeration("bitsum:absent_users", "all datasets of four and three users, in fractions"),
        ),
        links=("docs/crowds.md",),
        repair="Say 'may fail', or plan for fewer users (docs/crowds.md).",
    ),
    Theorem(
        name="wagner2025-theorem-3.2-bit-width",
        source="wagner2025, Theorem 3.2 and section 3.1, bit-width",
        kind=Kind.NUMBER,
        statement="The protocol has optimal bit-width 1",
        verdict=Verdict.HOLDS,
        finding="A value is one of two. A message also names its bitsum ({bits_768} bits for 768), and a shuffler that "
        "adds modulo a number, as that of Kairouz et al. (2021a), which section 3.1 takes the word from, needs room "
        "for the sum and its noise, some log2(n) bits.",
        checked_by=(enumeration("bitsum:bits", "the number of different messages"),),
        links=("dpverify.claims.shared.communication:message_bits",),
    ),
    Theorem(
        name="wagner2025-b2-rounding",
        source="wagner2025, Appendix B.2, little gain in realsums",
        statement="The Hoeffding-like error of rounding is built into LSQ anyway, so that sums of real numbers would "
        "improve low-order terms only",
        hypotheses=(
            Hypothesis(
                "random-features",
                "The features' product has a variance of its own, as random Fourier features and random signs have "
                "(not stated).",
                lambda variance: variance > 0,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="For random features: an instance of the Gaussian kernel has a second moment of {with_bits} with bits "
        "and {with_real_sums} with real sums for users at one point and a far query. But the identity, (d, 1, d), by "
        "which section 4 and the authors' program run the inner product, has no error of its own: there all but the "
        "noise is rounding (variance {variance:.4f} for one user at x = y = (3/5, 4/5)), and real sums have none.",
        checked_by=(
            symbolic("density:rounded_features", "second moments of one instance"),
            enumeration("features:rounded_identity", "all roundings of a point, in fractions"),
        ),
        links=("dpverify.claims.kde.error", "protocols.lsq.inner_product"),
        concern=Concern.ACCURACY,
        repair="Say 'for random features'.",
    ),
    Theorem(
        name="wagner2025-footnote-4-range",
        source="wagner2025, Appendix A.2, footnote 4, with section 4 and the RR rows of Tables 2 to 5",
        kind=Kind.PARAMETER,
        statement="The flip probability of RR should be set by 'Lemma 4.8 in Chen et al. (2020a)', which makes every "
        "bitsum (eps0, delta0)-DP",
        hypotheses=(within("epsilon0", "(0, 1)"), within("delta0", "(0, 1)")),
        verdict=Verdict.PROOF_WRONG,
        finding="The lemma, which is of cheu2019, asks for eps0 > sqrt(3456) ln(4/delta0) / n. In {outside} of the "
        "{runs} settings of RR in Tables 2 to 5 Theorem 3.2's eps0 is below that for a class of average size: AG News "
        "at eps = 2 needs {needed:.4f} and has {ag_news:.4f}. The flips are private all the same, by the exact law: "
        "delta is at most {worst:.0e} of delta0 in all of them.",
        checked_by=(
            accounting(
                "classifier:runs_of_response", "eps0, the lemma's range and the exact delta of all twelve", quick=False
            ),
        ),
        links=(
            "dpverify.formulas.protocols.randomized_response:flip_probability",
            "protocols.bitsum.randomized_response",
        ),
        concern=Concern.PROOF,
        repair="Cite cheu2019 with its range, or find the least flip probability by the exact law.",
    ),
)
