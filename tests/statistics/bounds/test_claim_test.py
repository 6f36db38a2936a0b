import math
import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpverify.digits import unrounded
from dpverify.laws import noise as laws
from dpverify.laws.discrete import DiscreteLaw
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.statistics.bounds.betting import Bets, anytime_privacy_test, kelly_bets
from dpverify.statistics.bounds.claim_test import (
    LowerCurve,
    claim_p_value,
    curve_p_value,
    event_limits,
    lower_curve,
    privacy_test,
    shown_against,
)
from dpverify.statistics.bounds.claims import CurveClaim, GaussianDP, most_likely
from dpverify.statistics.bounds.intervals import lower_limit, upper_limit
from dpverify.statistics.bounds.renyi_claims import ConcentratedDP, RenyiDP
from dpverify.statistics.family import Verdict, decide
from dpverify.statistics.outputs.events import EventCounts, Events, likelihood_ratio_events
from tests.refusals import refused
from tests.samples import FALSE_ALARM


def neighbours(epsilon: float) -> tuple[DiscreteLaw, DiscreteLaw]:
    """The discrete Laplace mechanism on neighbouring sums: pure epsilon-DP, attained in both directions."""
    zero = DiscreteLaw.from_integer_law(laws.discrete_laplace(epsilon, 1e-18))
    return DiscreteLaw(zero.points + 1, zero.pmf.copy(), zero.outside), zero


def binomial_neighbours(trials: int, p: float) -> tuple[DiscreteLaw, DiscreteLaw]:
    """A binomial noise, which is not pure: Z + 1 against Z."""
    noise = DiscreteLaw.from_integer_law(laws.binomial(trials, p))
    return DiscreteLaw(noise.points + 1, noise.pmf.copy(), noise.outside), noise


def test_a_complement_needs_no_correction() -> None:
    events = likelihood_ratio_events(*neighbours(0.8), 0.8, 1000)
    assert (len(events), events.distinct) == (2, 1)
    outcomes = np.arange(-3, 4)
    assert (events.members(outcomes)[:, 0] != events.members(outcomes)[:, 1]).all()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 50), st.integers(0, 50), st.floats(0.0, 3.0), st.floats(0.0, 0.5), st.floats(0.001, 0.5))
def test_the_p_value_is_where_the_curve_reaches_the_claim(
    x: int, y: int, epsilon: float, delta: float, level: float
) -> None:
    p_value = float(claim_p_value(x, y, 50, epsilon, delta))
    for a, refuted in ((min(0.999, p_value * 1.0001), True), (p_value * 0.9999, False)):
        if 1e-12 < a < 0.999 and p_value < 0.999:
            curve = LowerCurve(lower_limit([x], 50, a / 2), upper_limit([y], 50, a / 2), a)
            gap = float(curve.p_lower[0] - math.exp(epsilon) * curve.q_upper[0] - delta)
            assert (gap > -1e-7) if refuted else (gap < 1e-7)


def test_the_level_is_shared_by_all_limits_of_distinct_events() -> None:
    first, second = binomial_neighbours(50, 0.4)
    events, rng = likelihood_ratio_events(first, second, 0.5, 5000), np.random.default_rng(39)
    assert (len(events), events.distinct) == (4, 4)
    samples = first.sample(5000, rng), second.sample(5000, rng)
    up, counts = (events.score(samples[0]) > events.thresholds[0]).sum(), events.counts(*samples)
    curve = lower_curve(counts, 0.08)
    assert curve.p_lower[0] == lower_limit(up, 5000, 0.01)
    # What the test says of it has the same limits.
    said = privacy_test(counts, [(0.2, 0.01)], level=0.08)
    assert said.details["epsilon_lower"] == curve.epsilon(0.01) > 0.0
    # The p-value of the test is the level at which the lower bound reaches the claim.
    p_value = privacy_test(counts, [(0.2, 0.01)], level=0.05).p_value
    assert 1e-6 < p_value < 0.5
    bounds = [lower_curve(counts, a * p_value).delta(0.2) for a in (1.001, 0.999)]
    assert bounds[1] < 0.01 < bounds[0]


def test_the_whole_curve_is_below_the_truth() -> None:
    first, second = binomial_neighbours(50, 0.4)
    everything = np.union1d(first.points, second.points)
    pld = [
        PrivacyLossDistribution.from_pmfs(a.probabilities(everything), b.probabilities(everything))
        for a, b in ((first, second), (second, first))
    ]
    epsilons = np.linspace(0.0, 2.0, 21)
    truth = np.array([max(pair.delta(float(e)).upper for pair in pld) for e in epsilons])
    events, rng, level, wrong = likelihood_ratio_events(first, second, 0.5, 500), np.random.default_rng(32), 0.1, 0
    for _ in range(400):
        curve = lower_curve(events.counts(first.sample(500, rng), second.sample(500, rng)), level)
        wrong += any(curve.delta(float(e)) > d for e, d in zip(epsilons, truth, strict=True))
    assert wrong <= stats.binom.isf(FALSE_ALARM, 400, level)


def test_a_violation_is_found_in_time_and_a_correct_mechanism_is_consistent() -> None:
    rng, claim = np.random.default_rng(33), [(0.8, 0.0)]
    events = likelihood_ratio_events(*neighbours(0.8), 0.8, 31_000)
    samples = [law.sample(31_000, rng) for law in neighbours(0.84)]
    start = time.perf_counter()
    found = privacy_test(events.counts(*samples), claim, level=0.05)
    anytime = anytime_privacy_test(*samples, kelly_bets(events, 0.8, 0.0, 0.84), level=0.05)
    assert time.perf_counter() - start < 5.0  # a second on an idle core
    assert found.p_value <= 0.05
    assert anytime.p_value <= 0.05
    assert found.details["epsilon_lower"] > 0.8
    assert found.power == 0.95
    assert found.details["smallest_detectable_epsilon"] <= 0.84
    correct = privacy_test(events.counts(*(law.sample(31_000, rng) for law in neighbours(0.8))), claim, level=0.05)
    assert correct.p_value > 0.05


def test_a_claimed_curve_is_tested_at_all_its_points() -> None:
    first, second = binomial_neighbours(50, 0.4)
    rng = np.random.default_rng(34)
    events = likelihood_ratio_events(first, second, 0.5, 20_000)
    samples = [law.sample(20_000, rng) for law in (first, second)]
    gap = float(np.max(events.expected[:, 0] - math.exp(0.1) * events.expected[:, 1]))
    weak, broken = (0.9, 0.5), (0.1, gap / 3)
    counts = events.counts(*samples)
    results = [privacy_test(counts, claims, level=0.01) for claims in ([weak], [weak, broken], [broken])]
    assert results[0].p_value == 1.0
    assert results[1].p_value == results[2].p_value < 1e-6


def test_bad_input() -> None:
    events = likelihood_ratio_events(*neighbours(0.8), 0.8, 1000)
    with pytest.raises(ValueError, match=r"^claims is empty"):
        privacy_test(events.counts([0], [0]), [], level=0.05)
    with refused("fault_epsilon=0.8"):
        kelly_bets(events, 0.8, 0.0, 0.8)
    with pytest.raises(ValueError, match=r"^first and second have the same law"):
        likelihood_ratio_events(neighbours(0.8)[1], neighbours(0.8)[1], 0.8, 1000)
    with pytest.raises(ValueError, match=r"^fractions must be non-negative"):
        Bets(events, np.array([[0.4, 0.4]]), np.ones(1), 0.8, 0.0)


@pytest.mark.long
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_lower_end_is_above_the_claim_if_and_only_if_that_is_refuted(delta: float) -> None:
    rng, level, trials = np.random.default_rng(7), 0.03, 2_000
    verdicts = []
    for _ in range(40):
        shares = np.sort(rng.random((2, 4)), axis=1)
        likely, other = (rng.binomial(trials, share) for share in (shares.max(axis=0), shares.min(axis=0)))
        events = Events(lambda x: x, np.arange(4.0), np.ones(4, dtype=bool), np.tile([0.5, 0.1], (4, 1)))
        counts = EventCounts(events)
        counts.likely, counts.other, counts.trials = likely, other, trials
        each = level / 8
        shown = LowerCurve(lower_limit(likely, trials, each), upper_limit(other, trials, each), level).epsilon(delta)
        # Claims at the lower end itself, to the last bits, and around it.
        for epsilon in (shown, shown * (1 + 1e-12), shown * (1 - 1e-12), shown * rng.uniform(0.8, 1.2), 0.1):
            for claims in ([(epsilon, delta)], [(2 * epsilon, delta), (epsilon, delta / 2)]):
                (found,) = decide([privacy_test(counts, claims, level=level)], level)
                lower, claimed = found.details["epsilon_lower"], found.details["epsilon_claimed"]
                refuted = found.verdict is Verdict.VIOLATES
                assert lower >= claimed if refuted else lower <= claimed
                verdicts.append(refuted)
                if refuted and found.evidence.endswith("the claim"):  # no eight digits tell the two apart
                    assert lower <= claimed * (1.0 + 1e-6)
                    assert found.evidence.startswith(f"epsilon > {unrounded(claimed)} at")
                    continue
                least, most = re.findall(r"epsilon >= ([^ ]+) .*claimed ([^ ]+)$", found.evidence)[0]
                assert float(least) > float(most) if refuted else float(least) <= float(most)
    assert 0.1 * len(verdicts) < sum(verdicts) < 0.9 * len(verdicts)


@pytest.mark.long
@pytest.mark.parametrize("claim", [GaussianDP(1.0), ConcentratedDP(0.3), RenyiDP(8.0, 1.0)], ids=str)
def test_the_level_of_a_curve_is_exact_at_its_edge(claim: CurveClaim) -> None:
    # Every outcome of 60 draws on either input, of the coins that a claim just allows.
    trials = 60
    x, y = np.meshgrid(np.arange(trials + 1), np.arange(trials + 1), indexing="ij")
    found = curve_p_value(x, y, trials, claim.points)
    for q in (0.01, 0.2, 0.5, 0.8):
        p = float(most_likely(claim.points, q))
        mass = np.outer(*(stats.binom.pmf(np.arange(trials + 1), trials, chance) for chance in (p, q)))
        for level in (0.3, 0.05, 0.01):
            assert mass[found <= level].sum() <= level
    # All points together cost nothing: no more than any alone.
    alone = claim_p_value(x, y, trials, *claim.points[len(claim.points) // 4])
    assert (found <= alone * (1 + 1e-9)).all()
    assert (found < 0.5 * alone).any()


def test_limits_hold_all_at_once() -> None:
    p, q, trials, level = np.array([0.5, 0.01, 0.9]), np.array([0.2, 0.003, 0.7]), 500, 0.2
    rng, wrong = np.random.default_rng(9), 0
    for _ in range(200):
        limits = event_limits(rng.binomial(trials, p), rng.binomial(trials, q), trials, level)
        inside = (limits.p_lower <= p) & (p <= limits.p_upper) & (limits.q_lower <= q) & (q <= limits.q_upper)
        wrong += not inside.all()
        shown = limits.lower.epsilon(0.0), limits.epsilon_upper(0.0)
        if inside.all():
            assert shown[0] <= np.log(p / q).max()
            assert (np.log(p / q) <= shown[1]).all()
    assert wrong <= stats.binom.isf(1e-6, 200, level)


def test_the_delta_of_what_is_shown_is_told_as_it_was_typed() -> None:
    shown = [shown_against(0.5, 1.0, delta, refuted=False)[1] for delta in (1.004999e-3, math.nextafter(1e-5, 0.0))]
    assert shown == [f"epsilon >= 0.5 at delta {delta}, claimed 1" for delta in ("0.001004999", "1e-05")]


def test_the_upper_end_of_an_event() -> None:
    limits = event_limits(np.array([0, 100, 100]), np.array([0, 0, 100]), 100, 0.01)
    upper = limits.epsilon_upper(0.0)
    assert np.isinf(upper[1])
    assert 0 < upper[2] < 0.1
    assert event_limits(np.array([3]), np.array([0]), 100, 0.01).epsilon_upper(0.5)[0] == 0.0
