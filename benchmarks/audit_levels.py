"""Do the audits' error rates hold, and what power do they have? False alarms, coverage, and a power table.

python benchmarks/audit_levels.py [--audits 1000] [--repetitions 10000]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from dpverify.claims.bitsum import claims_of
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.bounds.betting import anytime_privacy_test, kelly_bets
from dpverify.statistics.bounds.claim_test import lower_curve, privacy_test
from dpverify.statistics.bounds.eprocess import log_evidence_path
from dpverify.statistics.bounds.intervals import clopper_pearson, lower_limit, simultaneous_intervals, upper_limit
from dpverify.statistics.conformance import LikelihoodRatio, choose_bins, g_statistic, g_test
from dpverify.statistics.error import ErrorClaim, ErrorNull
from dpverify.statistics.loss import LossLaw
from dpverify.statistics.outputs.events import histogram_score, likelihood_ratio_events, searched_events
from dpverify.statistics.power import trials_for
from protocols.bitsum.three_nb import ThreeNB

LEVEL = 0.01


def three_nb(epsilon: float, ones: int = 400) -> DiscreteLaw:
    protocol = ThreeNB(1000, math.exp(-epsilon), 5.0, 0.9)
    return claims_of(protocol).estimate_law(protocol, ones)


def checks(rng: np.random.Generator) -> dict[str, Callable[[], bool]]:
    """Return, per test, a callable that audits a correct implementation once and says whether it was refuted."""
    law, trials, epsilon = three_nb(0.8), 2000, 0.8
    first, second = three_nb(epsilon, 401), three_nb(epsilon)
    bins, ratio = choose_bins(law, trials), LikelihoodRatio(law, three_nb(0.8 * 1.1), "scale")
    events = likelihood_ratio_events(first, second, epsilon, trials)
    bets, losses = kelly_bets(events, epsilon, 0.0, 0.84), LossLaw(first, second)
    deviation = np.full(5, math.sqrt(law.variance))

    def errors(generator: np.random.Generator) -> np.ndarray:
        return law.sample(5 * 200, generator).reshape(200, 5) - law.mean

    claim = ErrorClaim(errors, deviation, np.zeros(5))

    def black_box() -> bool:
        train = first.sample(trials, rng), second.sample(trials, rng)
        (searched,) = searched_events(*train, epsilon, 0.0, scores=[histogram_score(*train)])
        samples = first.sample(trials, rng), second.sample(trials, rng)
        return lower_curve(*samples, searched, LEVEL).epsilon(0.0) > epsilon

    def pair() -> tuple[np.ndarray, np.ndarray]:
        return first.sample(trials, rng), second.sample(trials, rng)

    def null() -> ErrorNull:
        return ErrorNull(claim, rng, simulations=99)

    return {
        "G-test": lambda: g_test(law.sample(trials, rng), bins, rng, simulations=999).p_value <= LEVEL,
        "likelihood ratio": lambda: ratio.test(law.sample(trials, rng)).p_value <= LEVEL,
        "conformance e-process": lambda: log_evidence_path(law.sample(trials, rng), bins).max() >= -math.log(LEVEL),
        "privacy, Clopper-Pearson": lambda: (
            privacy_test(*pair(), events, [(epsilon, 0.0)], level=LEVEL).p_value <= LEVEL
        ),
        "privacy, betting": lambda: anytime_privacy_test(*pair(), bets, level=LEVEL).p_value <= LEVEL,
        "privacy, black box": black_box,
        "privacy loss": lambda: losses.test(first.sample(trials, rng), rng, simulations=999).p_value <= LEVEL,
        "supRMSE": lambda: null().test_rmse(errors(rng), level=LEVEL).p_value <= LEVEL,
        "bias": lambda: null().test_bias(errors(rng), level=LEVEL).p_value <= LEVEL,
    }


def false_alarms(audits: int) -> None:
    bounds = stats.binom.interval(0.999, audits, LEVEL)
    print(f"false alarms in {audits} audits of correct implementations at level {LEVEL}")
    print(f"(99.9 % of Bin({audits}, {LEVEL}): {bounds[0]:.0f} to {bounds[1]:.0f}; conservative tests have fewer)")
    for name, refuted in checks(np.random.default_rng(1)).items():
        print(f"  {name:28} {sum(refuted() for _ in range(audits)):4d}", flush=True)


def coverage(repetitions: int) -> None:
    rng, trials, level = np.random.default_rng(2), 1000, 0.05
    print(f"coverage in {repetitions} repetitions of {trials} trials, nominal {1 - level}")
    for p in (0.5, 0.1, 0.003):
        x = rng.binomial(trials, p, repetitions)
        low, high = clopper_pearson(x, trials, level)
        both, below = np.mean((low <= p) & (p <= high)), np.mean(lower_limit(x, trials, level) <= p)
        above = np.mean(p <= upper_limit(x, trials, level))
        print(f"  p = {p}: two-sided {both:.4f}, lower {below:.4f}, upper {above:.4f}")
    masses = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    low, high = simultaneous_intervals(rng.multinomial(trials, masses, repetitions), trials, level)
    print(f"  5 simultaneous intervals: {np.mean(((low <= masses) & (masses <= high)).all(axis=1)):.4f}")
    for p, q in ((0.3, 0.3), (0.01, 0.01), (0.69, 0.31), (0.05, 0.01)):
        x, y = rng.binomial(trials, p, repetitions), rng.binomial(trials, q, repetitions)
        bound = np.log(np.maximum(lower_limit(x, trials, level / 2), 1e-300) / upper_limit(y, trials, level / 2))
        true = math.log(p / q)
        print(f"  epsilon lower bound, P = {p}, Q = {q}: {np.mean(np.maximum(bound, 0.0) <= true):.4f}")


def power_table() -> None:
    print(f"power against 3NB noise of the wrong scale, level {LEVEL}")
    print(f"  {'epsilon':>8} {'error':>6} {'draws':>6} {'NP test':>9} {'G-test':>8} {'NP needs':>9}")
    rng = np.random.default_rng(3)
    for epsilon in (0.05, 0.5, 1.0):
        null = three_nb(epsilon)
        for error, draws in ((0.1, 4500), (-0.1, 4500), (0.05, 17_000), (-0.05, 17_000)):
            fault = three_nb(epsilon / (1.0 + error))
            ratio, bins = LikelihoodRatio(null, fault, "scale"), choose_bins(null, draws)
            p0, p1 = bins.probabilities, bins.probabilities_under(fault)
            critical = np.quantile(g_statistic(rng.multinomial(draws, p0, 100_000), p0), 1 - LEVEL)
            power = np.mean(g_statistic(rng.multinomial(draws, p1, 10_000), p0) > critical)
            needed = trials_for(lambda n, ratio=ratio: ratio.power(n, LEVEL))
            print(f"  {epsilon:8} {error:+6.2f} {draws:6} {ratio.power(draws, LEVEL):9.5f} {power:8.4f} {needed:9}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=10_000)
    options = parser.parse_args()
    coverage(options.repetitions)
    power_table()
    false_alarms(options.audits)


if __name__ == "__main__":
    main()
