import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpverify.audit.one_run import _result, audit_one_run, local_canaries
from dpverify.audit.running.target import Target, TargetError
from dpverify.statistics.bounds.claims import GaussianDP
from dpverify.statistics.bounds.one_run import guesses_needed, one_run_power
from dpverify.statistics.family import Verdict, decide
from dpverify.statistics.one_run_claim import OneRunClaim
from protocols.bitsum import RandomizedResponse
from protocols.local.labels import LabelRandomizedResponse
from tests.samples import FALSE_ALARM

CANARIES = 1500


def flipped(secrets: NDArray[Any], rng: np.random.Generator, flip: float) -> NDArray[np.float64]:
    return 2.0 * (secrets ^ (rng.random(secrets.size) < flip)) - 1.0


def response(epsilon: float) -> Target:
    """Randomized response, which attains epsilon."""
    return Target(
        lambda secrets, rng: flipped(secrets, rng, 1.0 / (1.0 + np.exp(epsilon))), shape=(CANARIES,), name="response"
    )


def test_too_little_noise_is_found_in_one_run() -> None:
    report = audit_one_run(response(1.5), (1, 0), canaries=CANARIES)
    assert report.verdict is Verdict.VIOLATES
    (result,) = report.results
    assert 1.1 < result.details["epsilon_lower"] < 1.5
    assert "secret bits are read off the output" in report.diagnosis[0]


@pytest.mark.long
@pytest.mark.parametrize(("delta", "seeds"), [("0", 60), ("1e-6", 6)])
def test_what_attains_the_claim_passes(delta: str, seeds: int) -> None:
    level = 0.1
    alarms = 0
    for seed in range(seeds):
        report = audit_one_run(response(1.0), (1, delta), canaries=CANARIES, level=level, seed=seed)
        alarms += report.verdict is Verdict.VIOLATES
        assert report.results[0].power >= 0.999
        assert report.verdict is not Verdict.UNDECIDED
    assert alarms <= stats.binom.isf(FALSE_ALARM, seeds, level)


def test_secrets_that_all_leak_together_now_and_then_are_delta() -> None:
    # Published with probability 1/2, else nothing at all: (0, 1/2)-DP, though every guess may be right.
    def leaks(secrets: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        return flipped(secrets, rng, 0.0) if rng.random() < 0.5 else np.zeros(secrets.size)

    verdicts = {audit_one_run(leaks, (1, "0.5"), canaries=50, seed=seed).verdict for seed in range(8)}
    assert Verdict.VIOLATES not in verdicts
    verdicts = {audit_one_run(leaks, (1, "1e-3"), canaries=50, seed=seed).verdict for seed in range(8)}
    assert Verdict.VIOLATES in verdicts


def test_only_the_surest_guesses_count() -> None:
    # One canary in ten leaks entirely, and its score says so; the others say nothing.
    def scores(secrets: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        sure = np.arange(secrets.size) % 10 == 0
        return np.where(sure, 5.0 * flipped(secrets, rng, 0.0), rng.normal(size=secrets.size))

    every = audit_one_run(scores, ("0.5", "1e-6"), canaries=200)
    surest = audit_one_run(scores, ("0.5", "1e-6"), canaries=200, guesses=20)
    assert every.verdict is not Verdict.VIOLATES
    assert surest.verdict is Verdict.VIOLATES
    assert (surest.results[0].details["guesses"], surest.results[0].details["correct"]) == (20, 20)


def test_scores_of_zero_are_no_guesses_of_a_pure_claim() -> None:
    def scores(secrets: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        return np.where(np.arange(secrets.size) < 40, flipped(secrets, rng, 0.0), 0.0)

    assert audit_one_run(scores, (1, 0), canaries=100).results[0].details["guesses"] == 40
    assert audit_one_run(scores, (1, "1e-9"), canaries=100).results[0].details["guesses"] == 100
    nothing = audit_one_run(lambda secrets, rng: np.zeros(secrets.size), (1, 0), canaries=100)
    assert nothing.verdict is Verdict.UNDECIDED


def test_runs_add_up_and_have_new_secrets() -> None:
    seen: list[NDArray[Any]] = []

    def scores(secrets: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        seen.append(secrets)
        return flipped(secrets, rng, 0.1)

    report = audit_one_run(scores, (1, 0), canaries=50, runs=20, guesses=1000)
    assert report.results[0].details["guesses"] == 1000
    assert report.verdict is Verdict.VIOLATES
    assert len({tuple(secrets) for secrets in seen}) == 20
    assert 400 < sum(secrets.sum() for secrets in seen) < 600


def test_few_canaries_are_undecided_and_say_what_they_would_have_shown() -> None:
    report = audit_one_run(response(1.0), (1, 0), canaries=CANARIES, guesses=150)
    assert report.verdict is Verdict.UNDECIDED
    assert report.results[0].details["smallest_detectable_epsilon"] > 1.5
    (look,) = report.limits.tested
    assert look.aspect == "canaries"
    assert look.fault
    few = audit_one_run(response(1.0), (1, 0), canaries=CANARIES, guesses=3, control=response(50.0))
    assert few.results[0].details["needed"] is None
    assert few.limits.tested[0].fault == ""


def test_local_reports_are_guessed_by_their_exact_law() -> None:
    promised = LabelRandomizedResponse(4, 1.0)
    report = audit_one_run(local_canaries(promised, 3000), (1, 0), canaries=3000)
    assert report.verdict is Verdict.CONSISTENT
    # Reports of the two labels that no canary has say nothing.
    report = audit_one_run(local_canaries(promised, 3000), (1, 0), canaries=3000, detect=0.1)
    expected = 3000 * (promised.keep_probability + promised.other_probability)
    assert abs(report.results[0].details["guesses"] - expected) < 5.0 * 3000**0.5

    def faulty(labels: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        return LabelRandomizedResponse(4, 1.6).randomize(labels, rng)

    found = audit_one_run(local_canaries(promised, 3000, implementation=faulty), (1, 0), canaries=3000)
    assert found.verdict is Verdict.VIOLATES


def test_bad_targets_are_named() -> None:
    with pytest.raises(TargetError, match="shape"):
        audit_one_run(lambda secrets, rng: secrets[1:], (1, 0), canaries=10)
    with pytest.raises(ValueError, match="one score per canary"):
        audit_one_run(response(1.0), (1, 0), canaries=10)
    with pytest.raises(ValueError, match="guesses"):
        audit_one_run(response(1.0), (1, 0), canaries=CANARIES, guesses=CANARIES + 1)
    with pytest.raises(TypeError, match="local mechanism"):
        local_canaries(RandomizedResponse(9, 0.1), 10)
    short = local_canaries(LabelRandomizedResponse(4, 1.0), 10, implementation=lambda labels, rng: labels[1:])
    with pytest.raises(TargetError, match="one each"):
        audit_one_run(short, (1, 0), canaries=10)


def test_a_curve_refutes_what_its_points_do_not() -> None:
    # Sixty secrets of sixty: more than Gaussian privacy with mu = 1 allows, though each point of its curve allows it.
    def scores(secrets: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        return flipped(secrets, rng, 0.0)

    mu, epsilons = 1.0, np.arange(0.25, 4.1, 0.25)
    below, above = stats.norm.cdf(mu / 2 - epsilons / mu), stats.norm.cdf(-mu / 2 - epsilons / mu)
    points = [(float(e), float(d)) for e, d in zip(epsilons, below - np.exp(epsilons) * above, strict=True)]
    p_values = [audit_one_run(scores, point, canaries=60).results[0].p_value for point in points]
    together = audit_one_run(scores, points[0], canaries=60, curve=points[1:])
    assert together.results[0].p_value < min(p_values) / 2.0
    assert together.diagnosis[0].endswith("the claim allows fewer than 60.")


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_guesses_no_better_than_chance_pass_nothing(delta: str) -> None:
    # Scores that know nothing of the secrets would find no fault: a pass of each has probability 1e-4.
    def noise(secrets: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.normal(size=secrets.size)

    for seed in range(2):
        report = audit_one_run(noise, (1, delta), canaries=CANARIES, seed=seed)
        assert report.verdict is Verdict.UNDECIDED
        assert "not surely better than chance (p = " in report.statement
        assert report.limits.tested[0].fault == ""
    # Ten of ten right are better than chance, at a level that is no pass: the sentence may not deny its own figure.
    few = audit_one_run(lambda secrets, rng: 2.0 * secrets - 1.0, (1, delta), canaries=10)
    assert few.results[0].details["epsilon_lower"] > 0.0
    assert "; not surely better than chance (p = 0.00098), so they may show no fault" in few.statement


def test_a_positive_control_shows_that_there_was_power() -> None:
    # Right guesses of so small a claim are hardly more than chance gives.
    how: dict[str, Any] = {"canaries": CANARIES, "detect": 9.0}
    assert audit_one_run(response(0.02), ("0.1", 0), **how).verdict is Verdict.UNDECIDED
    shown = audit_one_run(response(0.02), ("0.1", 0), control=response(1.0), **how)
    assert shown.verdict is Verdict.CONSISTENT
    weak = audit_one_run(response(0.02), ("0.1", 0), control=response(0.05), **how)
    assert weak.verdict is Verdict.UNDECIDED
    assert "of the positive control" in weak.statement
    assert "does not refute the claim either" in weak.statement


@pytest.mark.long
def test_as_many_guesses_are_taken_as_have_power_and_these_are_the_surest() -> None:
    # Of all guesses 73 % are right, fewer than (1, 0) allows; of the surest seventh more than 90 %.
    def scores(secrets: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        return 1.2 * (secrets - 0.5) + rng.normal(size=secrets.size)

    for claim in ((1, 0), (1, "1e-6")):
        every = audit_one_run(scores, claim, canaries=5_000, guesses=5_000)
        planned = audit_one_run(scores, claim, canaries=5_000)
        assert every.verdict is not Verdict.VIOLATES
        assert planned.verdict is Verdict.VIOLATES
        taken = planned.results[0].details["guesses"]
        power = [one_run_power(r, guesses_needed(r, 5_000, 1.0, float(claim[1]), 0.01), 0.8176) for r in (taken, 450)]
        assert power[0] >= 0.999 > power[1]


@pytest.mark.long
def test_the_lower_end_never_contradicts_the_verdict() -> None:
    for claims in ([(1.0, 0.0)], [(0.7, 1e-5)], [(0.7, 1e-5), (0.3, 1e-2)]):
        verdicts = set()
        claimed = OneRunClaim.of(claims[0], claims[1:])
        for correct in range(60, 101, len(claims) ** 2):
            (found,) = decide([_result(correct, 100, 100, claimed, 0.05, 0.5, "", True)], 0.05)
            lower, needed = found.details["epsilon_lower"], found.details["needed"]
            verdicts.add(found.verdict)
            if found.verdict is Verdict.VIOLATES:
                assert lower >= claims[0][0] or (len(claims) > 1 and "and 1 more points" in found.evidence)
            else:
                assert lower <= claims[0][0]
                assert correct < needed
        assert Verdict.VIOLATES in verdicts
        assert len(verdicts) == 2


def noisy(mu: float, canaries: int) -> Target:
    """Every secret under Gaussian noise of its own, which attains the whole curve of mu-GDP."""
    return Target(lambda secrets, rng: secrets - 0.5 + rng.normal(size=secrets.size) / mu, shape=(canaries,))


def test_a_gaussian_claim_is_refuted_where_one_point_of_it_is_not() -> None:
    report = audit_one_run(noisy(2.0, 1000), GaussianDP(1.0), canaries=1000)
    (result,) = report.results
    assert report.verdict is Verdict.VIOLATES
    assert result.details["guesses"] in (125, 250)  # the surest, not all
    assert "claimed 1-GDP" in result.evidence
    assert report.claim is None
    assert 1.0 < report.mu_lower < 2.0
    assert report.gaussian_epsilon > result.details["epsilon_lower"]
    assert GaussianDP(report.mu_lower).delta(report.gaussian_epsilon) >= 1e-5
    # Lower bounds are rounded down, also where the nearest number is above them.
    told = replace(report, results=(replace(result, details={**result.details, "epsilon_lower": 2.34567}),))
    vars(told)["mu_lower"] = 1.23456
    assert "epsilon >= 2.345 at delta 1e-05, of any mechanism; not mu-GDP below mu = 1.234, so" in told.lower_ends
    last = re.search(r"so that epsilon >= (\S+) if the privacy curve is that of Gaussian noise", told.lower_ends)
    assert last is not None
    assert 0.999 * told.gaussian_epsilon < float(last[1]) <= told.gaussian_epsilon
    point = audit_one_run(noisy(2.0, 1000), (4.38, "1e-5"), canaries=1000)  # what 1-GDP is at 1e-5
    assert point.verdict is not Verdict.VIOLATES


@pytest.mark.long
def test_gaussian_noise_keeps_its_gaussian_claim() -> None:
    level, seeds = 0.2, 30
    alarms = 0
    for seed in range(seeds):
        report = audit_one_run(noisy(1.0, 200), GaussianDP(1.0), canaries=200, level=level, seed=seed, guesses=50)
        alarms += report.verdict is Verdict.VIOLATES
    assert alarms <= stats.binom.isf(FALSE_ALARM, seeds, level)


def test_a_gaussian_claim_passes_with_power() -> None:
    report = audit_one_run(noisy(0.5, 1000), GaussianDP(1.0), canaries=1000, detect=2.0)
    assert report.verdict is Verdict.CONSISTENT
    assert 0.95 <= report.results[0].power <= 1.0


def test_mu_is_told_only_where_the_number_of_guesses_was_fixed() -> None:
    blind = audit_one_run(lambda secrets, rng: (2.0 * secrets - 1.0) * (rng.random(100) < 0.2), (1, 0), canaries=100)
    assert blind.mu_lower is None
    assert blind.gaussian_epsilon is None
    assert "mu" not in blind.lower_ends
    pure = audit_one_run(response(1.5), (1, 0), canaries=CANARIES)
    assert 0.0 < pure.mu_lower < 1.5
    assert pure.gaussian_epsilon is None  # Gaussian noise has none at delta 0
