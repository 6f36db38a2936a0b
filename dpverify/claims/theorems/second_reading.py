"""What a second reading of the documents added: equations, costs, ranges, citations; and what was found about each."""

from __future__ import annotations

from dpverify.claims.theorem import Concern, Evidence, Kind, Method, Theorem, Verdict
from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.formulas.vector_sum import HYPOTHESES

__all__ = ["GHAZI2021", "SCOTT2022", "WAGNER2025", "WANG_LECTURE9"]

WAGNER2025: tuple[Theorem, ...] = (
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
            Evidence(
                Method.PROOF,
                "dpverify.claims.evidence.second_reading:cost_at_least_error",
                "that a constant number of messages is left under the condition",
            ),
            Evidence(
                Method.ACCOUNTING, "second_reading:cost_at_least_error", "expected messages at the least alpha and 0.1"
            ),
        ),
        links=("dpverify.formulas.three_nb:expected_messages_per_user", "docs/floods.md"),
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
        checked_by=(Evidence(Method.SYMBOLIC, "second_reading:square_of_two_errors", "the difference as a square"),),
        links=("dpverify.formulas.kde:rmse_bound", "docs/densities.md#the-error"),
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
        checked_by=(Evidence(Method.SYMBOLIC, "second_reading:square_of_instances", "both, for three instances"),),
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
            Evidence(
                Method.PROOF, "dpverify.claims.evidence.second_reading:squared_noise", "the mean square given all else"
            ),
            Evidence(Method.ENUMERATION, "second_reading:squared_noise", "all queries and errors for S = Q = 2"),
        ),
        links=("docs/densities.md#the-error",),
    ),
    Theorem(
        name="wagner2025-section-3.1-dropouts",
        source="wagner2025, section 3.1, user counts",
        kind=Kind.CLAIM,
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
            Evidence(
                Method.PROOF,
                "dpverify.claims.evidence.second_reading:absent_users",
                "that one report more is post-processing",
            ),
            Evidence(
                Method.ENUMERATION, "second_reading:absent_users", "all datasets of four and three users, in fractions"
            ),
        ),
        links=("docs/crowds.md",),
        repair="Say 'may fail', or plan for fewer users (docs/crowds.md).",
    ),
    Theorem(
        name="wagner2025-theorem-3.2-bit-width",
        source="wagner2025, Theorem 3.2 and section 3.1, bit-width",
        kind=Kind.NUMBER,
        statement="The protocol has optimal bit-width 1",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="A value is one of two. A message also names its bitsum ({bits_768} bits for 768), and a shuffler that "
        "adds modulo a number, as that of Kairouz et al. (2021a), which section 3.1 takes the word from, needs room "
        "for the sum and its noise, some log2(n) bits.",
        checked_by=(Evidence(Method.ENUMERATION, "communication:bits", "the number of different messages"),),
        links=("dpverify.claims.communication:message_bits",),
    ),
    Theorem(
        name="wagner2025-b2-rounding",
        source="wagner2025, Appendix B.2, little gain in realsums",
        kind=Kind.CLAIM,
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
            Evidence(Method.SYMBOLIC, "second_reading:rounded_features", "second moments of one instance"),
            Evidence(Method.ENUMERATION, "second_reading:rounded_identity", "all roundings of a point, in fractions"),
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
            Evidence(
                Method.ACCOUNTING,
                "second_reading:runs_of_response",
                "eps0, the lemma's range and the exact delta of all twelve",
                quick=False,
            ),
        ),
        links=("dpverify.formulas.randomized_response:flip_probability", "protocols.bitsum.randomized_response"),
        concern=Concern.PROOF,
        repair="Cite cheu2019 with its range, or find the least flip probability by the exact law.",
    ),
)

SCOTT2022: tuple[Theorem, ...] = (
    Theorem(
        name="scott2022-theorem-4.6-existence",
        source="scott2022, Theorem 4.6 and Corollary 4.7, for any d and n there is a k",
        kind=Kind.PARAMETER,
        statement="For any d, n, t, eps < 6 and delta there is a k with which the protocol exists, at the gamma of "
        "Theorem 4.1",
        hypotheses=(
            *HYPOTHESES,
            Hypothesis(
                "gamma-below-one",
                "56 d log(1/delta) log(2t/delta) < (n-1) eps^2, with 2016 for 1 <= eps < 6 (not stated).",
                lambda gamma_of_one_level: gamma_of_one_level < 1,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="k is a whole number, and gamma grows with it: where k = 1 gives more than 1 there is none. At d = "
        "100, n = 50000, (0.95, 0.01) k = 1 needs gamma {gamma:.2f}; up to d = {most_coordinates} there is one. Nor "
        "does a whole k always have the stated error: where the proof's k is 1.2, the best whole one is at "
        "{rounded:.4f} of its bound.",
        checked_by=(Evidence(Method.ACCOUNTING, "second_reading:one_level", "gamma at k = 1, and whole k beside 1.2"),),
        links=("dpverify.formulas.vector_sum:gamma_theorem", "dpverify.formulas.vector_sum:balancing_levels"),
        concern=Concern.ACCURACY,
        repair="Ask for 56 d log(1/delta) log(2t/delta) < (n-1) eps^2, or take the least gamma by the exact law.",
    ),
    Theorem(
        name="scott2022-corollary-4.7-estimand",
        source="scott2022, Corollary 4.7, what is estimated",
        kind=Kind.COROLLARY,
        statement="The protocol is unbiased for (d/n) sum q(x_i), with the standard deviation of Theorem 4.6 in the "
        "unit n/d",
        hypotheses=(within("n", "[1, inf)"), Hypothesis("fewer-than-all", "t < d.", lambda d, t: t < d)),
        verdict=Verdict.FAILS,
        finding="A coordinate is sampled by n t/d users, so that (d/n) z, of which that is the standard deviation, has "
        "the mean {share} of what is stated: the mean (1/n) sum q(x_i) at t = 1 ({estimate} where {stated} is stated, "
        "for two users and d = 3), t times it otherwise. The deviation is that from the sampled users' values, as in "
        "Theorem 4.6.",
        checked_by=(
            Evidence(Method.ENUMERATION, "second_reading:estimand", "two users of three coordinates, in fractions"),
            Evidence(Method.SYMBOLIC, "second_reading:estimand_symbolic", "the mean for any n, d and t"),
        ),
        links=("protocols.vector_sum:VectorSum.analyze", "dpverify.formulas.vector_sum:standard_deviation"),
        concern=Concern.ACCURACY,
        repair="(1/n) sum q(x_i), estimated by d z / (t n).",
    ),
    Theorem(
        name="scott2022-equation-1",
        source="scott2022, section 4.3, equation 1, and equation 2",
        kind=Kind.CLAIM,
        statement="A view is (eps, delta)-DP if its likelihood ratio is e^eps or more with probability at most delta",
        hypotheses=(within("epsilon", "[0, inf)"), within("delta", "[0, 1]")),
        verdict=Verdict.HOLDS,
        finding="It is enough, and more than needed: what counts is by how much the ratio exceeds e^eps, and delta may "
        "be {least:.0f} where the probability is not.",
        checked_by=(
            Evidence(
                Method.PROOF, "dpverify.claims.evidence.second_reading:likely_losses", "the split of an event by losses"
            ),
            Evidence(Method.ENUMERATION, "second_reading:likely_losses", "laws of three outcomes, in fractions"),
        ),
        links=("docs/accounting.md",),
    ),
    Theorem(
        name="scott2022-section-4.5-factor",
        source="scott2022, section 4.5, gamma without composition",
        kind=Kind.NUMBER,
        statement="For t = 1 gamma changes by a factor of O(log(1/delta))",
        hypotheses=(within("delta", "(0, 0.5]"),),
        verdict=Verdict.HOLDS,
        finding="By {small} for eps < 1, and {large} from 1 on, where the first of its two terms decides.",
        checked_by=(Evidence(Method.SYMBOLIC, "second_reading:adaptive_factor", "both ratios"),),
        links=("dpverify.formulas.vector_sum:gamma_refined",),
    ),
    Theorem(
        name="scott2022-section-1-matrices",
        source="scott2022, section 1, sums of matrices",
        kind=Kind.CLAIM,
        statement="To sum matrices as vectors it is important that they are reduced, so that their rows are linearly "
        "independent",
        hypotheses=(within("d", "[1, inf)"),),
        verdict=Verdict.FAILS,
        finding="Nothing asks for that: error and privacy of a vector sum depend on the number of coordinates, not on "
        "how they hang together. Matrices of two equal rows are summed without bias ({bias:.0f}); reduced ones would "
        "have another sum.",
        checked_by=(
            Evidence(
                Method.PROOF,
                "dpverify.claims.evidence.second_reading:repeated_rows",
                "that coordinates are summed one by one",
            ),
            Evidence(Method.ENUMERATION, "second_reading:repeated_rows", "one user's 2 x 2 matrix, in fractions"),
        ),
        links=("docs/vector_sums.md",),
        repair="Leave the sentence out.",
    ),
    Theorem(
        name="scott2022-section-2-single-message",
        source="scott2022, section 2, on its reference 19",
        kind=Kind.CLAIM,
        statement="Reference 19 is a protocol of the single-message shuffle model for private summation, with zero-sum "
        "noise by the 'invisibility cloak'",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="Zero-sum noise needs several messages: split into one share, a number is sent as it is (two users' "
        "views differ by {one:.0f} in total variation with one share, {two:.2f} with two and {three:.2f} with three). "
        "By their abstracts the reference has a constant number of messages per user, and the cloak is of an earlier "
        "work (ghazi2019).",
        checked_by=(
            Evidence(
                Method.PROOF,
                "dpverify.claims.evidence.second_reading:shares_of_a_secret",
                "that a single share is the number",
            ),
            Evidence(Method.ENUMERATION, "second_reading:shares_of_a_secret", "all splits of two users' numbers mod 3"),
        ),
        repair="Say 'multi-message', and cite ghazi2019 for the cloak.",
    ),
)

GHAZI2021: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-equation-4",
        source="ghazi2021, proof of Theorem 26, equation 4",
        kind=Kind.DEFINITION,
        statement="With probability 1 - beta/2 over the hypotheses H that represent a class some h* in H has error at "
        "most alpha/2",
        hypotheses=(within("alpha", "(0, 1)"), within("beta", "(0, 1)")),
        verdict=Verdict.HOLDS,
        finding="It is the definition of an (alpha/2, beta/2)-representation, and is about each distribution by "
        "itself: halves of the thresholds on three points, one of which is drawn, miss 1/2 with probability "
        "{failing} at the worst distribution, and with 0 if the whole class is taken.",
        checked_by=(
            Evidence(Method.ENUMERATION, "second_reading:representation", "all distributions of sixths, in fractions"),
        ),
        links=("dpverify.claims.user_level.stable_learner",),
    ),
)

WANG_LECTURE9: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-section-9.2-risks",
        source="wang_lecture9, section 9.2, empirical risk minimization",
        kind=Kind.BOUND,
        statement="The gap between the local and the central model is O(sqrt n) for many queries, and the same for "
        "empirical risk",
        hypotheses=(
            Hypothesis(
                "not-strongly-convex",
                "The loss is convex, and no more is used of it (not stated).",
                lambda strongly_convex: not strongly_convex,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="By the printed rates, with eps outside the root, it is {general} for convex losses; for strongly "
        "convex ones, whose excess risk is a square, d / (n eps^2) and d log(1/delta) / (n eps)^2 are {strong} apart.",
        checked_by=(Evidence(Method.SYMBOLIC, "second_reading:gap_of_risks", "both ratios"),),
        links=("docs/local_means.md#error",),
        repair="'n for strongly convex losses'.",
    ),
    Theorem(
        name="wang_lecture9-section-9.2.2-histogram",
        source="wang_lecture9, section 9.2.2, end (after cheu2021 and others)",
        kind=Kind.CLAIM,
        statement="The shuffle model still cannot deal with selection, and even in low dimension is separated from the "
        "central one, such as for histograms",
        hypotheses=(),
        verdict=Verdict.OPEN,
        finding="Which separations are meant is not said, and the works were not at hand. Where every user holds one "
        "item, Lemma 36 of ghazi2021 selects with an error that does not depend on their number. With several messages "
        "per user, as Definition 9.5 allows, Lemma 37 of ghazi2021 has the error of the best known central histogram "
        "for delta below 1/poly(n) (ghazi2021-lemma-37: holds); with one message per user the error is of order "
        "n^(1/4) at least, by the abstract of 'On the Power of Multiple Anonymous Messages'.",
    ),
)
