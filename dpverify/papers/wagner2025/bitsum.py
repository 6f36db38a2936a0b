"""What the sources claim about binary sums, and what was found about each claim."""

from __future__ import annotations

import math

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.formulas.protocols import negative_binomial, randomized_response
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, accounting, enclosure, enumeration, proof, symbolic

__all__ = ["NEGATIVE_BINOMIAL", "PURE", "RANDOMIZED_RESPONSE", "THREE_NB"]

_FLIPPED = within("p", "(0, 0.5)")
_EVERYONE = Hypothesis(
    "everyone-takes-part", "All n users take part: n is their number.", lambda n, participants: participants == n
)

RANDOMIZED_RESPONSE: tuple[Theorem, ...] = (
    Theorem(
        name="cheu2019-lemma-4.8",
        source="cheu2019, Lemma 4.8 (cited by wagner2025, Appendix A.2, footnote 4)",
        kind=Kind.LEMMA,
        statement="RR with p = lambda / 2n is (eps0, delta0)-DP, L = ln(4/delta0), lambda = 64 L / eps0^2 if eps0 >= "
        "sqrt(192 L / n), else n - eps0 n^(3/2) / sqrt(432 L)",
        hypotheses=randomized_response.HYPOTHESES,
        verdict=Verdict.CHECKED,
        finding="Held at all {points} points of a grid, with large slack: the exact delta is at most {worst:.1e} of "
        "the stated one, and at n = 30000, eps0 = 0.0126, delta0 = 6.5e-10 the exact loss is {share:.1%} of eps0. Its "
        "proof stands in cheu2019, which was not at hand.",
        checked_by=(
            accounting(
                "bitsum:lemma_4_8",
                "the exact delta at n of 10^3 and 3 10^4, eps0 from 0.01 to 0.99, delta0 from 1e-9 to 0.1",
                quick=False,
            ),
        ),
        links=(
            "protocols.bitsum.randomized_response",
            "dpverify.formulas.protocols.randomized_response:flip_probability",
            "dpverify.claims.bitsum.randomized_response",
        ),
    ),
    Theorem(
        name="wagner2025-b1-rr-analyzer",
        source="wagner2025, Algorithm 2 for RR, and Appendix B.1, randomized response",
        kind=Kind.ALGORITHM,
        statement="The analyzer of Algorithm 2, the same for RR and 3NB, takes the sum of the reports for the bitsum, "
        "of which Theorem 3.2 asks that it is unbiased",
        hypotheses=(_FLIPPED, within("n", "[1, inf)")),
        verdict=Verdict.FAILS,
        finding="The sum of the reports has bias {bias}, n p for the all-zero dataset ({bias_of_three:.2g} for bits 1, "
        "0, 0 and p = 1/5). B.1, which describes RR, does not call the sum unbiased; Algorithm 2 puts it into "
        "Theorem 3.2, which needs it. The authors' public code (talwagner/shuffle_dp_kde) does debias.",
        checked_by=(
            enumeration("bitsum:sum_bias", "the mean of the sum for three users, in fractions"),
            symbolic("bitsum:sum_bias_symbolic", "the bias for any n, sum and p"),
        ),
        links=("protocols.bitsum.randomized_response", "dpverify.claims.bitsum.randomized_response"),
        concern=Concern.ACCURACY,
        repair="Release (reports - n p) / (1 - 2p), which is unbiased, as implemented here.",
    ),
)

THREE_NB: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-a2-three-nb",
        source="wagner2025, Appendix A.2 (after ghazi2020), proof of Theorem 3.3",
        kind=Kind.PARAMETER,
        statement="3NB with r = 1, p = e^(-0.99 eps0), r' = 3(1 + ln(2 e^(0.99 eps0) / delta0)), p' = e^(-c eps0 / "
        "(eps0 + ln 1/delta0)), c = Theta(1), is (eps0, delta0)-DP",
        hypotheses=(
            within("epsilon0", "(0, inf)"),
            within("delta0", "(0, 1)"),
            Hypothesis("small-constant", "c <= 0.2 (not stated).", lambda c: 0 < c <= 0.2),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="The constant matters: at (0.0134, 6.5e-10), c = 1 gives delta {delta_one:.1e} and c = 0.5 gives "
        "{delta_half:.1e}. The largest private c is smallest near (1.27, 3.6e-7): 0.2514 is private there and 0.2515 "
        "is not. c = {rate:g} is private for all eps0 > 0 and delta0 in (0, 1), proved in docs/floods.md ({boxes} "
        "boxes in balls); at the {grid} points of a grid from eps0 = 0.0134 to 6, delta0 = 1e-12 to 1e-2 delta is at "
        "most {worst_share:.3f} of delta0. The authors' public code has p = e^(-0.8 eps0), which is more noise (RMSE "
        "{code_error:.2f} in place of {text_error:.2f} at eps0 = 1).",
        checked_by=(
            enclosure("flood:flood_rate", "delta for c of 1/2, 1, 0.2514 and 0.2515", quick=True),
            proof(
                "docs/floods.md#the-published-flood-for-all-budgets",
                "that delta is below a bound in closed form, for all eps0 and delta0",
            ),
            enclosure(
                "flood:published",
                "a bound on delta / delta0 at c = 0.2, over all eps0 and delta0 (docs/floods.md)",
                quick=False,
            ),
            enumeration("flood:enumerated", "the two lemmas of that proof, in fractions on small cases"),
            accounting("flood:flood_rate_grid", "delta at c = 0.2 on a grid", quick=False),
            enclosure("flood:code_of_three_nb", "the noise of the public code beside that of the text"),
        ),
        links=(
            "protocols.bitsum.three_nb",
            "dpverify.claims.bitsum.three_nb",
            "dpverify.formulas.protocols.three_nb:flood_p",
            "dpverify.formulas.protocols.three_nb:sufficient_flood_shape",
            "tests/claims/bitsum/test_three_nb.py::test_the_largest_constant_from_both_sides",
        ),
        concern=Concern.PRIVACY,
        repair="c = 0.2, or the least flood by the exact law.",
    ),
)

NEGATIVE_BINOMIAL: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-theorem-39",
        source="ghazi2021, Theorem 39 and Algorithm 7 (after ghazi2020, Theorem 13)",
        kind=Kind.THEOREM,
        statement="NB noise with p = e^(-0.2 eps0), r >= 3(1 + ln(1/delta0)) is (eps0, delta0)-DP",
        hypotheses=negative_binomial.HYPOTHESES,
        verdict=Verdict.HOLDS,
        finding="Holds for eps0 up to {still_private}, not only below 1, with large slack: delta is at most "
        "delta0^{power:.1f} e^-{power:.1f} for eps0 <= 1. At (1, 1e-6) it is {delta:.1e}, and with the same r the "
        "least standard deviation that is (1, 1e-6)-DP is {least_error:.2f} against {published_error:.2f}.",
        checked_by=(
            proof(
                "dpverify.evidence.bitsum:negative_binomial_chernoff",
                "that one likelihood ratio is at most e^(0.2 eps0), and Chernoff's bound on where the other exceeds "
                "e^eps0",
            ),
            enclosure("bitsum:negative_binomial_chernoff", "the exponent of that bound on all of 0 < eps0 <= 1"),
            enclosure("bitsum:negative_binomial_point", "delta at (1, 1e-6), and the least noise there"),
        ),
        links=(
            "protocols.bitsum.negative_binomial",
            "dpverify.claims.bitsum.negative_binomial",
            "dpverify.formulas.protocols.negative_binomial:shape",
            "tests/claims/bitsum/test_negative_binomial.py::test_theorem_39_holds_with_slack",
        ),
    ),
    Theorem(
        name="ghazi2021-lemma-38",
        source="ghazi2021, Lemma 38",
        kind=Kind.LEMMA,
        statement="n - (count of 1 - x_i, with NB noise) is never above the sum, as private, and within O(log(1/(beta "
        "delta)) / eps) of it with probability 1 - beta",
        hypotheses=(
            within("epsilon", "(0, 1)", "ghazi2021, Lemma 38"),
            within("delta", "(0, 0.5)", "ghazi2021, Lemma 38"),
            _EVERYONE,
        ),
        verdict=Verdict.HOLDS,
        finding="Holds as stated: privacy and error are those of Theorem 39 and Corollary 40 for the bits 1 - x_i, as "
        "the noise is never negative. In use all n users must take part: each one who does not adds "
        "{excess_if_one_is_absent:.0f} to the estimate, which then may exceed the sum of those who do.",
        checked_by=(
            proof("docs/buckets.md#the-error-of-a-selection", "that counting zeros never overestimates"),
            enumeration(
                "buckets:count_from_below",
                "the largest excess over all bits and noises of three users, and with one absent",
            ),
        ),
        links=("protocols.bitsum.negative_binomial", "dpverify.claims.bitsum.negative_binomial"),
    ),
    Theorem(
        name="wagner2025-b1-single-noise-analyzer",
        source="wagner2025, Appendix B.1, single-distribution protocol",
        kind=Kind.ALGORITHM,
        statement="The count of the messages, the true bitsum plus a total noise, is released as the bitsum estimate",
        hypotheses=(within("p", "(0, 1)"), within("r", "(0, inf)")),
        verdict=Verdict.HOLDS,
        finding="It is, with noise of mean {mean_of_noise}: at (1, 1e-6) with Theorem 39's parameters it is "
        "{excess:.0f} too large on average, {deviations:.1f} standard deviations. B.1 describes ghazi2020's protocol "
        "and does not call it unbiased; who puts it into Theorem 3.2, which asks for that, must subtract the mean.",
        checked_by=(
            accounting("buckets:count_bias", "the mean of the noise at (1, 1e-6), summed over its law"),
            symbolic("buckets:count_bias_symbolic", "the mean from the generating function"),
        ),
        links=("protocols.bitsum.negative_binomial", "dpverify.claims.bitsum.negative_binomial"),
    ),
)

_CODE = (
    "wagner2025, section 4, Pure (parameters from its public code, github.com/talwagner/shuffle_dp_kde, commit 3f38f15)"
)
_PURE_HYPOTHESES = (
    within("epsilon0", "(0, inf)"),
    within("rho", "(0, 0.5]", "wagner2025, comment of the public code"),
    Hypothesis(
        "drop-probability-below-one",
        "0.2 rho / (e^epsilon0 (1 - e^-epsilon0)^2 n) < 1.",
        lambda epsilon0, rho, n: rho < -5 * math.expm1(epsilon0) * math.expm1(-epsilon0) * n,
    ),
)

PURE: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-pure-sum-view",
        source=_CODE,
        kind=Kind.PARAMETER,
        statement="With eps' = eps0 - 0.01 rho min(eps0, 1) and q = 0.2 rho / (e^eps0 (1 - e^-eps0)^2 n) the sum is "
        "eps0-DP",
        hypotheses=_PURE_HYPOTHESES,
        verdict=Verdict.CODE_DIFFERS,
        finding="The text names no parameters; these stand in the code only. There the exact epsilon of the sum is "
        "ln(q + (1-q) e^eps'), below eps' < eps0 (at most {largest_share:.4f} eps0 on a grid), for every dataset: "
        "dropping is not needed for the sum.",
        checked_by=(
            proof("dpverify.claims.bitsum.pure", "the largest loss of the sum, for every dataset"),
            enclosure("bitsum:pure_sum", "that loss at 16 points"),
        ),
        links=(
            "protocols.bitsum.pure",
            "dpverify.formulas.protocols.pure:sum_view_loss",
            "tests/claims/bitsum/test_pure.py::test_published_sum_is_pure_without_slack_from_dropping",
        ),
    ),
    Theorem(
        name="wagner2025-pure-message-view",
        source=_CODE + ", Appendix B.1 (after ghazi2023)",
        statement="With the same parameters the shuffled messages are eps0-DP",
        hypotheses=_PURE_HYPOTHESES,
        verdict=Verdict.OPEN,
        finding="The code draws the sum alone, and ghazi2023 was not at hand. If the noise and the flood were drawn "
        "independently of the bit, as B.1 describes for its kind, it would not be so: where no message +1 is sent the "
        "loss is ln(1/q), {loss:.1f} at eps0 = 1, n = 30000, rho = 1/2, whatever the flood. The randomizer of "
        "ghazi2023 must treat the two bits apart in more than the dropping. At delta > 0 its least flood is that of "
        "3NB at an epsilon of its own, and a closed form gives {pure_mean:,.0f} pairs at (1, 1e-6), {pure_ratio:.1f} "
        "times the least (docs/floods.md).",
        checked_by=(
            enumeration("flood:dropping", "the divergence with and without dropping, in fractions"),
            accounting("flood:closed_form", "the flood of the closed form beside the least one"),
            enumeration("bitsum:first_message_of_pure", "the probabilities of no message +1 of the reconstruction"),
        ),
        links=(
            "protocols.bitsum.pure",
            "dpverify.claims.bitsum.pure",
            "tests/claims/bitsum/test_pure.py::test_no_flood_makes_the_messages_pure",
        ),
        concern=Concern.PROOF,
        repair="State the randomizer and its flood.",
    ),
    Theorem(
        name="wagner2025-pure-estimate",
        source=_CODE,
        kind=Kind.ALGORITHM,
        statement="The sum of the messages is an unbiased estimate of the bitsum",
        hypotheses=_PURE_HYPOTHESES,
        verdict=Verdict.CODE_DIFFERS,
        finding="Released as it is, its bias is -q times the sum. With n = 30000 ones and rho = 1/2 that is "
        "{bias_one:.2f} at eps0 = 1 (noise {noise_one:.2g}), {bias_small:,.0f} at 0.0126 (noise {noise_small:.0f}) and "
        "{bias_least:,.0f} at 2/768 (noise {noise_least:.0f}). The code's test passes rho = True, that is 1, beyond "
        "its own range (0, 1/2]: q is then {q_of_code:.2f} at 2/768, and nothing refuses a q above 1.",
        checked_by=(accounting("bitsum:code_of_pure", "bias and noise at three budgets, and q at rho = 1"),),
        links=(
            "protocols.bitsum.pure",
            "dpverify.formulas.protocols.pure:released_bias",
            "tests/claims/bitsum/test_pure.py::test_bias_of_a_published_implementation",
        ),
        concern=Concern.ACCURACY,
        repair="Divide by 1 - q, as here, and refuse q >= 1.",
    ),
)
