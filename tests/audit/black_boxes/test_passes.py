"""Audits of mechanisms without a law that are right: they pass, what they state is true, and alarms are rare."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.digits import rounded_up
from dpverify.statistics.family import Verdict
from tests.audit.black_boxes.test_black_box import Outputs, audited, geometric, labels, laplace


@pytest.mark.long
@pytest.mark.parametrize(("right", "claim"), [(geometric, 1.0), (geometric, 3.0), (labels, 1.1), (laplace, 1.0)])
def test_more_slack_makes_no_pass_harder(right: Outputs, claim: float) -> None:
    # At the boundary it needs more draws than with slack.
    report = audited(right, (claim, 0), trials=60_000, resolution=1e-6)
    assert report.verdict is Verdict.CONSISTENT
    assert 0.9 < report.epsilon_lower <= 1.0 <= report.epsilon_upper < 1.1
    assert f"shows more than epsilon {rounded_up(report.epsilon_upper, 4)} at" in report.statement
    assert (
        f"none more than delta {rounded_up(report.delta_upper, 3)} at epsilon {claim:g}; some shows" in report.statement
    )
    assert "Events not tried may show more" in report.statement


def gaussian(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    return bit + rng.normal(0, 1, runs)


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "delta", "truth"),
    # delta(1) of the Gaussian with mu = 1: Phi(-1/2) - e Phi(-3/2).
    [(geometric, 0.0, 1.0), (labels, 0.0, 1.0), (laplace, 0.0, 1.0), (gaussian, 0.12693673750664, 1.0)],
)
def test_epsilon_is_bounded_within_a_tenth_at_100_000_draws(right: Outputs, delta: float, truth: float) -> None:
    report = audited(right, None, trials=100_000, delta=delta, resolution=1e-6)
    # With delta > 0 all events that are tried count, however hard they are to tell.
    assert 0.9 * truth <= report.epsilon_lower <= truth <= report.epsilon_upper <= (1.1 if delta == 0 else 1.2) * truth
    assert report.verdict is Verdict.UNDECIDED
    assert report.statement.startswith("Undecided: nothing is claimed; no event tried shows more than epsilon")
    if right is gaussian:
        assert 0.9 < report.mu_lower <= 1.0
        assert all(0.3 * order < value <= 0.5 * order for order, value in report.renyi_lower.items() if order < 3)


def test_the_band_lies_around_the_tradeoff_of_a_gaussian() -> None:
    from scipy.stats import norm

    report = audited(gaussian, None, trials=40_000, resolution=1e-6, delta=0.1)
    assert len(report.tradeoff) > 10
    for row in report.tradeoff:
        # No test of the two has both errors below the curve: the upper ends are errors that are attained.
        at = norm.cdf(norm.isf(row["false_positive_upper"]) - 1.0)
        assert row["false_negative_upper"] >= at - 1e-9
        assert row["false_positive_lower"] <= row["false_positive_upper"]
        assert row["false_negative_lower"] <= row["false_negative_upper"]


def test_constant_outputs_show_nothing() -> None:
    report = audited(lambda bit, rng, runs: np.zeros(runs), (0.5, 0), trials=60_000)
    assert report.verdict is Verdict.CONSISTENT
    assert report.epsilon_lower == 0
    assert "Every output on an input is the same" in report.diagnosis


def test_too_few_trials_are_undecided_and_say_so() -> None:
    report = audited(geometric, (1, 0), trials=300)
    assert report.verdict is Verdict.UNDECIDED
    assert "which is too little for a pass, with 300 trials; by an estimate " in report.statement


@pytest.mark.long
def test_at_the_boundary_false_alarms_are_rare() -> None:
    # 20 audits at level .1, exactly at the claim: more than 7 alarms have probability 4e-4, and .58 at a level of .4.
    alarms = sum(
        audited(geometric, (1, 0), trials=600, seed=seed, level=0.1).verdict is Verdict.VIOLATES for seed in range(20)
    )
    assert alarms <= 7


@pytest.mark.long
def test_what_is_right_is_drawn_to_the_end() -> None:
    report = audited(geometric, trials=60_000, anytime=True)
    assert report.verdict is Verdict.CONSISTENT
    assert report.trials == 60_000
    with pytest.raises(ValueError, match="nothing to refute"):
        audited(geometric, None, trials=100, anytime=True)


TARGET = 2.5746570186373376  # the standard deviation of Gaussian noise that attains (1, 1e-3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("sigma", "claim", "trials", "seed"),
    [
        # A third below the truth: its proof was above the claim where it passed, and it passed.
        (TARGET, (0.75, "1e-3"), 50_000, 1),
        # Noise 1.41 times too small, whose delta at the claimed epsilon is 78 times the claim.
        (3.7306 / 1.41, (1, "1e-5"), 50_000, 0),
    ],
)
def test_what_is_not_excluded_at_a_delta_does_not_pass(sigma: float, claim: Any, trials: int, seed: int) -> None:
    def noisy(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
        return np.round(bit + rng.normal(0, sigma, runs), 4)

    report = audited(noisy, claim, trials=trials, seed=seed)
    assert report.verdict is not Verdict.CONSISTENT
    assert (report.epsilon_lower > claim[0]) == (report.verdict is Verdict.VIOLATES)
    assert report.epsilon_upper > 1.0
    # What is excluded in the claim's own terms is true, and stated.
    assert report.delta_upper > 1e-3
    if report.verdict is Verdict.UNDECIDED:
        assert f"delta {rounded_up(report.delta_upper, 3)} at epsilon {claim[0]:g}" in report.statement
