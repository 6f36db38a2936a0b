"""What the sources claim about binary sums, and what was found about each claim."""

from __future__ import annotations

import math

from dpverify.claims.theorem import Theorem, Verdict
from dpverify.formulas import Hypothesis, negative_binomial, randomized_response

__all__ = ["NEGATIVE_BINOMIAL", "PURE", "RANDOMIZED_RESPONSE", "THREE_NB"]

RANDOMIZED_RESPONSE: tuple[Theorem, ...] = (
    Theorem(
        name="cheu2019-lemma-4.8",
        source="cheu2019, Lemma 4.8 (cited by wagner2025, Appendix A.2, footnote 4)",
        statement="RR with p = lambda / 2n is (eps0, delta0)-DP, L = ln(4/delta0), lambda = 64 L / eps0^2 if "
        "eps0 >= sqrt(192 L / n), else n - eps0 n^(3/2) / sqrt(432 L)",
        hypotheses=randomized_response.HYPOTHESES,
        verdict=Verdict.HOLDS,
        finding="Holds wherever it was checked, with large slack: at n = 30000, eps0 = 0.0126, delta0 = 6.5e-10 "
        "the exact loss is a small fraction of eps0.",
    ),
    Theorem(
        name="wagner2025-b1-rr-analyzer",
        source="wagner2025, Appendix B.1",
        statement="The analyzer releases the sum of the reports as an unbiased estimate of the bitsum",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="The sum of the reports has bias p (n - 2 sum), n p for the all-zero dataset; the estimate "
        "(reports - n p) / (1 - 2p), implemented here, is unbiased.",
    ),
)

THREE_NB: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-a2-three-nb",
        source="wagner2025, Appendix A.2 (after ghazi2020)",
        statement="3NB with r = 1, p = e^(-0.99 eps0), r' = 3(1 + ln(2 e^(0.99 eps0) / delta0)), "
        "p' = e^(-c eps0 / (eps0 + ln 1/delta0)), c = Theta(1), is (eps0, delta0)-DP",
        hypotheses=(
            Hypothesis("epsilon0-positive", "epsilon0 > 0.", lambda epsilon0, delta0: epsilon0 > 0),
            Hypothesis("delta0-in-unit", "0 < delta0 < 1.", lambda epsilon0, delta0: 0 < delta0 < 1),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="The constant matters: at (0.0134, 6.5e-10), c = 1 gives delta 1.2e-6 and c = 0.5 gives 2.3e-8. "
        "The largest private c is smallest near (1.27, 3.6e-7): 0.2514 is private there and 0.2515 is not. c = 0.2 "
        "is private on a grid of eps0 from 0.003 to 6 and delta0 from 1e-12 to 1e-2; elsewhere that is open.",
    ),
)

NEGATIVE_BINOMIAL: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-theorem-39",
        source="ghazi2021, Theorem 39 (after ghazi2020, Theorem 13)",
        statement="NB noise with p = e^(-0.2 eps0), r = 3(1 + ln(1/delta0)) is (eps0, delta0)-DP",
        hypotheses=negative_binomial.HYPOTHESES,
        verdict=Verdict.HOLDS,
        finding="Holds wherever it was checked, with large slack: for epsilon0 from 0.01 to 1 and delta0 from 1e-2 "
        "to 1e-12 the exact delta is below delta0^3. At (1, 1e-6) it is 3.4e-21, and with the same r the least "
        "standard deviation that is (1, 1e-6)-DP is 7.78 against 33.28.",
    ),
    Theorem(
        name="ghazi2021-lemma-38",
        source="ghazi2021, Lemma 38",
        statement="n - (count of 1 - x_i, with NB noise) is never above the sum, and as private",
        hypotheses=(),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="All n users must take part: each one who does not adds 1 to the estimate, which then may exceed "
        "the sum of those who do.",
    ),
    Theorem(
        name="wagner2025-b1-single-noise-analyzer",
        source="wagner2025, Appendix B.1",
        statement="The count of the messages is released as the estimate of the bitsum (unbiased, as Theorem 3.2 asks)",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="The count is the sum plus noise of mean r p / (1-p): at (1, 1e-6) with Theorem 39's parameters it "
        "is 201 too large on average, six standard deviations. ghazi2020 subtracts the mean, as done here.",
    ),
)

_PURE_HYPOTHESES = (
    Hypothesis("epsilon0-positive", "epsilon0 > 0.", lambda epsilon0, rho, n: epsilon0 > 0),
    Hypothesis("rho-in-half", "0 < rho <= 1/2.", lambda epsilon0, rho, n: 0 < rho <= 0.5),
    Hypothesis(
        "drop-probability-below-one",
        "0.2 rho / (e^epsilon0 (1 - e^-epsilon0)^2 n) < 1.",
        lambda epsilon0, rho, n: rho < -5 * math.expm1(epsilon0) * math.expm1(-epsilon0) * n,
    ),
)

PURE: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-pure-sum-view",
        source="wagner2025, section 4 (parameters of the experiments, after ghazi2023)",
        statement="With eps' = eps0 - 0.01 rho min(eps0, 1) and q = 0.2 rho / (e^eps0 (1 - e^-eps0)^2 n) the sum "
        "is eps0-DP",
        hypotheses=_PURE_HYPOTHESES,
        verdict=Verdict.HOLDS,
        finding="The exact epsilon is ln(q + (1-q) e^eps'), below eps' < eps0, for every dataset: dropping is not "
        "needed for the sum.",
    ),
    Theorem(
        name="wagner2025-pure-message-view",
        source="wagner2025, section 4 and Appendix B.1 (after ghazi2023)",
        statement="With the same parameters the shuffled messages are eps0-DP",
        hypotheses=_PURE_HYPOTHESES,
        verdict=Verdict.FAILS,
        finding="Not if the noise and the flood are drawn independently of the bit, as described here: where no "
        "message +1 is sent, the loss is ln(1/q), 12.7 at eps0 = 1, n = 30000, rho = 1/2, whatever the flood. "
        "ghazi2023 itself was not at hand; its randomizer must treat the two bits apart in more than the dropping.",
    ),
    Theorem(
        name="wagner2025-pure-estimate",
        source="a published implementation of wagner2025, section 4",
        statement="The sum of the messages is an unbiased estimate of the bitsum",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="Its bias is -q times the sum. With n = 30000 ones and rho = 1/2 that is 0.09 at eps0 = 1 (noise "
        "1.4), 632 at 0.0126 (noise 112) and 14,746 at 2/768 (noise 543). Dividing by 1 - q, as here, removes it.",
    ),
)
