"""What wang_lecture9 claims about local means, and what was found about each claim."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import (
    Concern,
    Kind,
    Theorem,
    Verdict,
    accounting,
    enumeration,
    monte_carlo,
    proof,
    symbolic,
)

__all__ = ["CENTRAL", "LAPLACE", "LOWER_BOUND", "ONE_BIT", "RESPONSE"]

_EPSILON, _USERS = within("epsilon", "(0, inf)"), within("n", "[1, inf)")
_BITS = Hypothesis("bits", "The values are bits (wang_lecture9, section 9.1).", lambda values: set(values) <= {0, 1})
_RANGE = Hypothesis(
    "values-in-range",
    "The values are in [0, m] (wang_lecture9, section 9.1).",
    lambda values, m: all(0 <= x <= m for x in values),
)

CENTRAL: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-equation-9.1",
        source="wang_lecture9, equation 9.1",
        kind=Kind.BOUND,
        statement="The mean of n bits plus Lap(1/(n eps)) is within 1/(n eps) of the mean",
        hypotheses=(_EPSILON, _USERS, _BITS),
        verdict=Verdict.FAILS,
        finding="Not for sure: the error is larger with probability 1/e = {beyond:.3f} ({sampled:.3f} of 10^6 draws). "
        "1/(n eps) is exactly its expected absolute value, and sqrt(2) times as much its root mean square.",
        checked_by=(
            symbolic("local:laplace_error", "the tail and the mean of the density"),
            monte_carlo("local:laplace_error_sampled", "the share of 10^6 draws, within five standard errors, 0.0025"),
        ),
        links=("protocols.local.baselines", "dpverify.claims.local.baselines"),
        concern=Concern.ACCURACY,
        repair="Write E|error| = 1/(n eps), or within ln(1/beta) / (n eps) with probability 1 - beta.",
    ),
)

RESPONSE: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-randomized-response",
        source="wang_lecture9, section 9.1, randomized response",
        statement="Randomized response is eps-DP for each user, its estimate of the mean is unbiased, and has variance "
        "O(1/(n eps^2))",
        hypotheses=(_EPSILON, _USERS, _BITS),
        verdict=Verdict.HOLDS,
        finding="The variance is 1 / (4 n sinh^2(eps/2)) for every dataset, below 1/(n eps^2) for every eps: the "
        "constant is 1, and is needed as eps goes to 0. At eps = 1 it is {share_at_one:.3f} of that.",
        checked_by=(symbolic("local:response_variance", "mean and variance for either bit and any eps"),),
        links=(
            "protocols.local.randomized_response",
            "dpverify.claims.local.randomized_response",
            "docs/local_means.md#error",
        ),
    ),
    Theorem(
        name="wang_lecture9-randomized-response-error",
        source="wang_lecture9, section 9.1, error (and again for Laplace noise, and in section 9.2)",
        kind=Kind.BOUND,
        statement="Thus the error is O(1/sqrt(n eps))",
        hypotheses=(_EPSILON, _USERS, _BITS),
        verdict=Verdict.FAILS,
        finding="(If the text that was at hand has the roots as the document has them.) The root of the variance is "
        "1/(eps sqrt(n)), with eps outside: at eps = 0.01 the exact root "
        "mean squared error is {ratio:.1f} times 1/sqrt(n eps), and the ratio grows as {growth}. The sample size that "
        "follows in the text, 1/(alpha eps)^2, is the one of the right error.",
        checked_by=(
            accounting("local:response_error", "the exact error at eps = 0.01"),
            symbolic("local:response_error_symbolic", "the limit of the ratio as eps goes to 0"),
        ),
        links=("docs/local_means.md#error",),
        concern=Concern.ACCURACY,
        repair="O(1/(eps sqrt(n))).",
    ),
)

LAPLACE: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-laplace-mean",
        source="wang_lecture9, section 9.1, Laplace noise",
        statement="Values in [0, m] plus Lap(m/eps), averaged, are eps-DP for each user, and unbiased",
        hypotheses=(
            _EPSILON,
            _RANGE,
            Hypothesis(
                "real-numbers",
                "Reports are real numbers, or discrete noise on a grid that divides [0, m] (not stated).",
                lambda floating_point: not floating_point,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="In real numbers, where eps is attained, with variance 2 m^2 / (n eps^2). In floating point the last "
        "bits of a report tell values apart (mironov2012): near 0 the value 1 has no report below "
        "{smallest_from_one:.1e}, and 0 has. Noise on any grid that divides [0, m] has losses that dominate those of "
        "continuous noise, and at delta > 0 many reports cost more with fewer steps.",
        checked_by=(
            proof("docs/local_means.md#privacy", "the loss of a report, in real numbers and on grids"),
            enumeration("local:floating_point_reports", "floats that can be reported for the value 0 and not for 1"),
        ),
        links=(
            "protocols.local.laplace",
            "dpverify.claims.local.laplace",
            "tests/claims/local/test_laplace.py::test_fewer_steps_cost_more_where_many_reports_compose",
        ),
        concern=Concern.PRIVACY,
        repair="Send discrete noise on a grid, `DiscreteLaplaceMean`.",
    ),
    Theorem(
        name="wang_lecture9-laplace-communication",
        source="wang_lecture9, section 9.1, communication of Laplace noise",
        kind=Kind.BOUND,
        statement="Most values are of order m, so that a report requires Omega(log m) bits",
        hypotheses=(
            _EPSILON,
            _RANGE,
            Hypothesis("fixed-unit", "Reports are resolved to a fixed unit (not stated).", lambda unit: unit == 1),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="If values are resolved to a fixed unit: a report then has {with_unit} bits at least. Neither privacy "
        "nor the error asks for that: on a grid of steps of order m the law of the steps depends on {depends_on}, not "
        "on m. With one step a report has an entropy of {entropy:.2f} bits at eps = 1 for the worst value, and the "
        "variance of the mean is {variance:.2f} m^2/n, where continuous noise has 2 m^2/n.",
        checked_by=(
            accounting("local:bits_of_a_report", "entropy and variance of discrete noise with one step at eps = 1"),
            symbolic("local:bits_of_a_report_symbolic", "the entropy with a unit, and that a law of steps has no m"),
        ),
        links=(
            "protocols.local.laplace",
            "tests/claims/local/test_laplace.py::test_a_coarse_report_has_few_bits_whatever_the_range",
        ),
        concern=Concern.COST,
        repair="Say 'to a fixed unit'; on a grid of steps of order m it is O(1 + log(1/eps)) bits.",
    ),
)

ONE_BIT: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-theorem-9.3",
        source="wang_lecture9, Theorem 9.3 and equation 9.2 (after ding2017)",
        kind=Kind.THEOREM,
        statement="The one-bit mean of equation 9.2 is eps-LDP, unbiased, and has variance O(m^2/(n eps^2))",
        hypotheses=(
            _EPSILON,
            _RANGE,
            Hypothesis("bounded-epsilon", "epsilon is bounded, say by 1 (not stated).", lambda epsilon: epsilon <= 1),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="eps is attained by the values 0 and m. The variance is {worst_variance} where all values are m/2, "
        "which is at most {constant:.2f} m^2/(n eps^2) for eps <= 1, but never below {floor} m^2/n: the bound needs "
        "eps to be bounded. Laplace noise has the smaller worst variance from eps = {crossing:.3f} on, so that the two "
        "are not the same.",
        checked_by=(
            symbolic("local:one_bit_variance", "mean and variance for every value and eps"),
            accounting("local:one_bit_worst", "the constant at eps = 1, the floor, and the crossing"),
        ),
        links=(
            "protocols.local.one_bit",
            "dpverify.claims.local.one_bit",
            "tests/claims/local/test_one_bit.py::test_laplace_noise_is_better_from_2_33_on",
        ),
        concern=Concern.ACCURACY,
        repair="O(m^2 (1 + 1/eps^2) / n).",
    ),
)

LOWER_BOUND: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-theorem-9.2",
        source="wang_lecture9, Theorem 9.2 (after chan2012)",
        kind=Kind.THEOREM,
        statement="Every 1-LDP algorithm errs on some dataset of n bits by Omega(1/sqrt(n)) with high probability",
        hypotheses=(
            Hypothesis(
                "pure-and-at-most-one",
                "0 < epsilon <= 1 and delta = 0 (wang_lecture9, Theorem 9.2 and item 2 of its proof).",
                lambda epsilon, delta: 0 < epsilon <= 1 and delta == 0,
            ),
            Hypothesis(
                "constant-probability",
                "The probability is a constant below 1, as near to it as wanted (not stated).",
                lambda probability: probability < 1,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="With a constant probability, as near to 1 as wanted: by more than 0.1/sqrt(n) with {at_tenth:.2f} at "
        "n = 10^4, and more than 0.05/sqrt(n) with {at_twentieth:.2f}. For no constant does the probability tend to 1: "
        "randomized response is within 0.1/sqrt(n) with probability {response_within:.3f} on every large dataset. The "
        "proof's bounds are on P(X_i = 1 | A = a), where it writes P(A = a | X_i = 1). The squared error is at least "
        "e^eps / ((e^eps + 1)^2 n) for some dataset; randomized response has e^eps / ((e^eps - 1)^2 n), {factor:.2f} "
        "times as much at eps = 1. As eps goes to 0 the proof loses the factor 1/eps^2.",
        checked_by=(
            proof("docs/local_means.md#what-no-local-mean-can-be-below-theorem-92", "the bound with its constants"),
            accounting(
                "local:least_error_of_local_means",
                "that bound at n = 10^4, and randomized response beside it",
                quick=False,
            ),
        ),
        links=(
            "dpverify.claims.shared.lower_bound:failure_probability",
            "tests/claims/shared/test_lower_bound.py::test_the_figures_of_theorem_9_2",
        ),
        repair="'With constant probability', and P(X_i = 1 | A = a) in the proof.",
    ),
)
