"""Samples and seconds to one decision: the audits of this project against DP-Auditorium-style testers.

A discrete Laplace mechanism is claimed to be 0.80-DP and is 0.84-DP. Each tester gets n outputs on each of two
neighbouring datasets; "samples" is the smallest n of a grid at which it refutes the claim in 95 % of the repetitions.
The peers follow DP-Auditorium (kong2023): half of the samples train a histogram or a classifier, whose event
{density ratio > e^epsilon} gives the hockey-stick divergence on the other half, less a concentration bound. They are
written here, with scikit-learn. For the betting test, which may stop when it likes, the median stop is printed as well.

    python benchmarks/audit_peers.py [--repetitions 40] [--level 0.05]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from dpverify.laws import noise as laws
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.bounds.betting import anytime_privacy_test, kelly_bets
from dpverify.statistics.bounds.claim_test import lower_curve
from dpverify.statistics.conformance import LikelihoodRatio
from dpverify.statistics.outputs.events import histogram_score, likelihood_ratio_events, searched_events, value_score

CLAIMED, TRUE = 0.80, 0.84
GRID = [2**k * 1000 for k in range(1, 9)]
Samples = np.ndarray
Tester = Callable[[Samples, Samples], bool]


def neighbours(epsilon: float) -> tuple[DiscreteLaw, DiscreteLaw]:
    zero = DiscreteLaw.from_integer_law(laws.discrete_laplace(epsilon, 1e-18))
    return DiscreteLaw(zero.points + 1, zero.pmf.copy(), zero.outside), zero


def refutes(first: Samples, second: Samples, event: Callable[[Samples], np.ndarray], level: float) -> bool:
    """Refute by the divergence of one event and McDiarmid's bound: one sample moves it by 1/n or e^epsilon/n."""
    grown, n = math.exp(CLAIMED), len(first)
    bound = math.sqrt(math.log(1 / level) * (1 + grown**2) / (2 * n))
    return bool(event(first).mean() - grown * event(second).mean() - bound > 0)


def halves(x: Samples) -> tuple[Samples, Samples]:
    return x[: len(x) // 2], x[len(x) // 2 :]


def histogram_tester(level: float) -> Tester:
    def test(first: Samples, second: Samples) -> bool:
        (a, c), (b, d) = halves(first), halves(second)
        score = histogram_score(a, b, bins=20)
        return refutes(c, d, lambda x: score(x) > 0, level)

    return test


def classifier_tester(level: float) -> Tester:
    def test(first: Samples, second: Samples) -> bool:
        (a, c), (b, d) = halves(first), halves(second)
        # The best event for the hockey-stick: weigh the second dataset by e^epsilon, and classify.
        model = HistGradientBoostingClassifier(max_iter=50, max_depth=3, random_state=0)
        model.fit(
            np.concatenate([a, b])[:, None],
            np.repeat([1, 0], [len(a), len(b)]),
            sample_weight=np.repeat([1.0, math.exp(CLAIMED) * 0.99], [len(a), len(b)]),
        )
        return refutes(c, d, lambda x: model.predict(x[:, None]) == 1, level)

    return test


def ours_known_law(level: float) -> Tester:
    events = likelihood_ratio_events(*neighbours(CLAIMED), CLAIMED, GRID[-1])
    return lambda first, second: lower_curve(first, second, events, level).epsilon(0.0) > CLAIMED


def ours_anytime(level: float) -> Tester:
    events = likelihood_ratio_events(*neighbours(CLAIMED), CLAIMED, GRID[-1])
    bets = kelly_bets(events, CLAIMED, 0.0, TRUE)
    return lambda first, second: anytime_privacy_test(first, second, bets, level=level).p_value <= level


def ours_black_box(level: float) -> Tester:
    def test(first: Samples, second: Samples) -> bool:
        # A fifth is enough to find the event.
        cut = len(first) // 5
        (events,) = searched_events(first[:cut], second[:cut], CLAIMED, 0.0, scores=[value_score])
        return lower_curve(first[cut:], second[cut:], events, level).epsilon(0.0) > CLAIMED

    return test


def ours_conformance(level: float) -> Tester:
    test = LikelihoodRatio(neighbours(CLAIMED)[1], neighbours(TRUE)[1], "less noise")
    return lambda first, second: test.test(second).p_value <= level


TESTERS: dict[str, Callable[[float], Tester]] = {
    "conformance, likelihood ratio (known law)": ours_conformance,
    "privacy, betting, anytime (known law)": ours_anytime,
    "privacy, Clopper-Pearson (known law)": ours_known_law,
    "privacy, Clopper-Pearson (black box)": ours_black_box,
    "peer: histogram hockey-stick": histogram_tester,
    "peer: classifier hockey-stick": classifier_tester,
}


def rate(tester: Tester, epsilon: float, n: int, repetitions: int, seed: int) -> tuple[float, float]:
    """Return how often the tester refutes, and the median seconds of a test."""
    first, second = neighbours(epsilon)
    refuted, seconds = 0, []
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, n, repetition])
        samples = first.sample(n, rng), second.sample(n, rng)
        start = time.perf_counter()
        refuted += tester(*samples)
        seconds.append(time.perf_counter() - start)
    return refuted / repetitions, float(np.median(seconds))


def median_stop(level: float, repetitions: int) -> int:
    bets = kelly_bets(likelihood_ratio_events(*neighbours(CLAIMED), CLAIMED, GRID[-1]), CLAIMED, 0.0, TRUE)
    stops = []
    for repetition in range(repetitions):
        rng = np.random.default_rng([3, repetition])
        samples = (law.sample(GRID[4], rng) for law in neighbours(TRUE))
        decided = anytime_privacy_test(*samples, bets, level=level).details["decided_after"]
        stops.append(math.inf if decided is None else decided)
    return int(np.median(stops))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--level", type=float, default=0.05)
    options = parser.parse_args()
    print(f"claimed {CLAIMED}, true {TRUE}, level {options.level}, {options.repetitions} repetitions")
    print(f"{'tester':58} {'samples':>9} {'refuted':>8} {'seconds':>8} {'false alarms':>13}")
    for name, build in TESTERS.items():
        tester = build(options.level)
        for n in GRID:
            refuted, seconds = rate(tester, TRUE, n, options.repetitions, 1)
            if refuted >= 0.95:
                break
        alarms, _ = rate(tester, CLAIMED, n, options.repetitions, 2)
        shown = str(n) if refuted >= 0.95 else f"> {n}"
        if build is ours_anytime:
            name += f", median stop {median_stop(options.level, 10 * options.repetitions)}"
        print(f"{name:58} {shown:>9} {refuted:8.2f} {seconds:8.3f} {alarms:13.2f}", flush=True)


if __name__ == "__main__":
    main()
