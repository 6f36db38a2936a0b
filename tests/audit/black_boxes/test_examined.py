"""What outputs show: learned, chosen and tested on outputs of their own."""

import re
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpverify.audit.black_boxes.examined import Examination, Examined, _weights
from dpverify.audit.black_boxes.mechanism_report import MechanismReport
from dpverify.audit.black_boxes.own_terms import TwoCalls
from dpverify.audit.black_boxes.tried import allowed, held_out
from dpverify.digits import rounded_up
from dpverify.statistics.family import Verdict, decide
from dpverify.statistics.outputs.chosen import ChosenEvents


def examined(first: np.ndarray, second: np.ndarray, epsilon: float | None = 1.0, delta: float = 0.0) -> Examined:
    rows = [np.asarray(x, dtype=float).reshape(len(x), -1) for x in (first, second)]
    examination = Examination(
        len(first), epsilon=epsilon, delta=delta, level=0.0075, upper=0.0025, detect=0.1, seed=0, check="privacy"
    )
    for start in range(0, len(first), 7_001):
        examination.update(*(x[start : start + 7_001] for x in rows))
    return examination.result()


def test_a_claim_is_tested_at_its_delta() -> None:
    # With probability .2 the first input shows itself: (0, .2) holds, (0, .1) does not.
    rng = np.random.default_rng(4)
    first, second = np.where(rng.random(60_000) < 0.2, 2, rng.integers(0, 2, 60_000)), rng.integers(0, 2, 60_000)
    assert examined(first, second, 0.5, 0.1).result.p_value < 1e-6
    held = examined(first, second, 0.5, 0.21)
    assert held.result.p_value == 1.0
    assert held.epsilon_lower < 0.05
    assert held.result.power is not None
    assert examined(first, second, None, 0.0).epsilon_lower > 5


def test_what_is_shown_does_not_depend_on_the_blocks() -> None:
    rng = np.random.default_rng(7)
    rows = [rng.integers(0, 4, (4_001, 1)) + bit * (rng.random((4_001, 1)) < 0.2) for bit in (1, 0)]
    given: dict[str, Any] = {"epsilon": 0.3, "delta": 1e-3, "detect": 0.1, "seed": 0, "check": "privacy"}
    for kind in (partial(Examination, level=0.0075, upper=0.0025), partial(TwoCalls, Examination, level=0.01)):
        at_once, in_parts = kind(4_001, **given), kind(4_001, **given)
        at_once.update(rows[0] * 1.0, rows[1] * 1.0)
        for start, end in ((0, 333), (333, 334), (334, 2_001), (2_001, 4_001)):
            in_parts.update(*(x[start:end] * 1.0 for x in rows))
        found = [x.result() for x in (at_once, in_parts)]
        first, second = (x.result if isinstance(x, Examined) else x for x in found)
        assert first == second
        assert 0.0 < first.p_value < 1.0 or first.details["epsilon_lower"] > 0.0


def test_fresh_outputs_decide_where_the_held_out_ones_are_all_alike() -> None:
    trials = 40_000
    first, second = np.zeros(trials), np.zeros(trials)
    same = examined(first, second)
    assert same.epsilon_lower == 0
    assert same.epsilon_upper < 0.01
    second[2 * held_out(trials) :] = 1  # never seen in training
    assert examined(first, second).result.p_value < 1e-6


def test_few_outputs_pass_nothing() -> None:
    coin = np.random.default_rng(3).integers(0, 2, (2, 1_000))
    assert examined(*coin).result.power is None


def test_what_shows_it_is_named_plainly() -> None:
    rng = np.random.default_rng(1)
    noise = 2 * rng.integers(0, 1000, (2, 10_000))
    assert examined(noise[0], noise[1] + 1).seen_in == "column 0 mod 2"
    assert examined(*noise).seen_in == ""


def test_the_surest_event_has_most_of_the_level_and_the_next_one_enough() -> None:
    def score(rows: np.ndarray) -> np.ndarray:
        return rows

    expected = np.array([[0.5, 0.4], [0.5, 0.1], [0.01, 0.001]])
    ranks = np.array([0, 0, 1])
    events = ChosenEvents(score, np.zeros(3), np.ones(3, dtype=bool), expected, names=("a", "b", "c"), ranks=ranks)
    weights = _weights(events, 1.0, 0.0)
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)
    # 0.4 for the surest, 0.3 in the order of sureness, and 0.3 as for the limits: 4/10 of it each, and 2/10.
    order = 0.3 / (1 + 1 / 2 + 1 / 3)
    np.testing.assert_allclose(weights, [order / 3 + 0.12, 0.4 + order + 0.12, order / 2 + 0.06])


@pytest.mark.long
@pytest.mark.parametrize("claim", [(1.0, 0.0), (1.0, 1e-3)])
def test_no_figure_contradicts_the_verdict(claim: tuple[float, float]) -> None:
    # The counts of many audits near the claim: what agrees by chance would not agree in all of them.
    rng, trials, level = np.random.default_rng(8), 60_000, 0.05
    _, delta = claim
    rows = [rng.normal(bit, 2.0, (6_000, 1)) for bit in (1, 0)]
    given: dict[str, Any] = {"detect": 0.3, "seed": 0, "check": "privacy", "level": level, "upper": 0.01}
    examination = Examination(6_000, epsilon=claim[0], delta=delta, **given)
    examination.update(*rows)
    assert examination._counts is not None
    examination._trials = trials
    shares = [
        {name: getattr(counts, name) / (6_000 - 2 * held_out(6_000)) for name in ("members", "above", "scanned")}
        for counts in examination._counts
    ]
    seen: Counter[Verdict] = Counter()
    runs = 60 if delta == 0.0 else 12
    for _ in range(runs):
        for counts, share in zip(examination._counts, shares, strict=True):
            for name, p in share.items():
                setattr(counts, name, rng.binomial(trials, p))
        examination._claim = examination.result().epsilon_lower * rng.uniform(0.95, 1.06), delta
        found = examination.result()
        (decided,) = decide([found.result], level)
        report = MechanismReport(
            "a thing",
            dict(zip(("epsilon", "delta"), examination._claim, strict=True)),
            (decided,),
            level,
            trials,
            0,
            delta=delta,
            epsilon_lower=found.epsilon_lower,
            epsilon_upper=found.epsilon_upper,
            delta_upper=found.delta_upper,
        )
        epsilon, shown = examination._claim[0], found.curve.delta(examination._claim[0])
        seen[decided.verdict] += 1
        refuted = decided.verdict is Verdict.VIOLATES
        assert (found.epsilon_lower > epsilon) == refuted == (decided.details["adjusted_p_value"] <= level)
        assert (shown > delta) == refuted
        assert found.epsilon_lower <= found.epsilon_upper
        assert shown <= found.delta_upper
        if decided.verdict is Verdict.CONSISTENT:
            assert found.epsilon_upper <= allowed(epsilon, 0.3)
        # And as they are printed.
        numbers = [float(x) for x in re.findall(r"epsilon >= ([^ ]+) .*claimed ([^ ]+)$", decided.evidence)[0]]
        assert (numbers[0] > numbers[1]) == refuted
        figures = re.findall(r"more than epsilon ([^ ]+) .*at least epsilon ([^ ]+) ", report.statement)
        assert all(float(least) <= float(most) for most, least in figures)
    assert seen[Verdict.VIOLATES] > runs / 8
    assert seen[Verdict.UNDECIDED] + seen[Verdict.CONSISTENT] > runs / 8


def test_what_a_pass_excludes_at_a_delta() -> None:
    # A million outputs of Gaussian noise that attains (1, 1e-3): a pass with this slack, and none with less.
    sigma, trials = 2.5746570186373376, 1_000_000
    rng = np.random.default_rng(1)

    def drawn(runs: int) -> list[np.ndarray]:
        return [np.round(rng.normal(bit, sigma, (runs, 1)), 6) for bit in (1, 0)]

    given: dict[str, Any] = {"seed": 0, "check": "privacy", "level": 0.0075, "upper": 0.0025, "detect": 0.25}
    examination = Examination(40_000, epsilon=1.0, delta=1e-3, **given)
    examination.update(*drawn(40_000))
    for counts, rows in zip(examination._counts, drawn(trials - 30_000), strict=True):
        counts.update(rows)
    examination._trials = trials
    found = examination.result()
    assert decide([found.result], 0.01)[0].verdict is Verdict.CONSISTENT
    # The event that shows most is among those tried, nearly: nothing below the true figures is excluded.
    assert 0.85 < found.epsilon_lower < 1.0 < found.epsilon_upper <= allowed(1.0, 0.25)
    assert 1e-3 <= found.delta_upper < 4e-3
    assert found.least_mass == 0.0
    assert "more than epsilon 1." in found.result.fault
    assert " at delta 0.001, or delta 0.00" in found.result.fault
    examination._detect = 0.1
    assert decide([examination.result().result], 0.01)[0].verdict is Verdict.UNDECIDED


def stable(epsilon: float, threshold: int, counts: tuple[int, int], trials: int) -> list[np.ndarray]:
    """Return counts with discrete Laplace noise that are published, else 0, if there are any and above a threshold."""
    rng = np.random.default_rng(5)
    p = 1 - np.exp(-epsilon)
    noisy = [count + rng.geometric(p, trials) - rng.geometric(p, trials) for count in counts]
    return [np.where((count > 0) & (x > threshold), x, 0) for count, x in zip(counts, noisy, strict=True)]


def test_counts_above_a_threshold_pass_at_the_delta_that_they_attain() -> None:
    # What one input alone publishes has probability delta exactly: no number of outputs excludes that it has more.
    delta = np.exp(-0.2 * 8) / (1 + np.exp(-0.2))
    found = examined(*stable(0.2, 8, (1, 0), 120_000), 0.2, delta)
    assert found.result.power is not None
    assert np.isinf(found.epsilon_upper)
    assert delta < found.delta_upper <= 1.1 * delta
    assert (
        found.result.fault
        == f"an event tried that shows more than delta {rounded_up(found.delta_upper, 3)} at epsilon 0.2"
    )
    # A tenth less than that, and it is held to delta; a third less, and it is refuted.
    assert examined(*stable(0.2, 8, (1, 0), 120_000), 0.2, delta / 1.1).result.power is None
    assert examined(*stable(0.2, 8, (1, 0), 120_000), 0.2, delta / 1.5).result.p_value < 1e-3


def test_a_claim_is_decided_as_soon_as_all_that_its_delta_allows_is_told() -> None:
    # Epsilon by itself, .05, would take five times as many; nothing is shown at this delta.
    found = examined(*stable(0.05, 34, (35, 34), 160_000), 0.05, 0.0927)
    assert found.epsilon_upper == 0.0
    assert found.result.power is not None


def test_outputs_beyond_the_scan_are_bounded_before_a_pass() -> None:
    # Both inputs alike, but few outputs: what is rarer than they show may have more than delta.
    rng = np.random.default_rng(3)
    for trials, upper in ((4_000, np.inf), (60_000, 0.5)):
        first, second = rng.normal(size=(2, trials))
        found = examined(first, second, 0.5, 2e-3)
        assert found.epsilon_upper <= upper
        assert np.isinf(found.epsilon_upper) == np.isinf(upper)
        assert found.delta_upper < 0.1


def counted(epsilon: float, delta: float) -> Examination:
    """Return an examination of 100,000 outputs on each input, half of which are in every event on both."""
    given: dict[str, Any] = {"detect": 0.1, "seed": 0, "check": "privacy", "level": 0.04, "upper": 0.01}
    examination = Examination(2_000, epsilon=epsilon, delta=delta, **given)
    examination.update(*np.random.default_rng(2).integers(0, 9, (2, 2_000, 1)).astype(float))
    examination._trials = 100_000
    assert examination._counts is not None
    for counts in examination._counts:
        counts.members[:], counts.above[:], counts.scanned[:] = 50_000, 50_000, 50_000
        if counts.scanned.size:
            counts.scanned[counts._ends[:-1]], counts.scanned[counts._ends[1:] - 1] = 100_000, 0
    return examination


@pytest.mark.long
def test_what_the_band_shows_is_tested_as_it_is_stated() -> None:
    # Of the first threshold's complement, k outputs on the second input and none on the first.
    refuted = []
    for k in range(5, 40):
        examination = counted(0.5, 0.0)
        for counts, above in zip(examination._counts, (100_000, 100_000 - k), strict=True):
            counts.above[0] = above
        found = examination.result()
        refuted.append(found.result.p_value <= 0.04)
        assert (found.curve.epsilon(0.0) > 0.5) == refuted[-1]
    assert 5 < sum(refuted) < 34


def test_an_event_that_shows_more_counts_though_it_is_not_resolved() -> None:
    examination = counted(0.5, 0.0)
    assert examination.result().epsilon_upper < 0.1
    examination._counts[0].above[0], examination._counts[1].above[0] = 50_000, 0
    assert np.isinf(examination.result().epsilon_upper)


def test_outputs_beyond_either_end_are_bounded() -> None:
    # As many on both inputs, so that no event that was tried shows anything: but some part of them may.
    assert counted(0.5, 0.01).result().epsilon_upper < 0.1
    for end, above in ((0, 98_000), (-1, 2_000)):
        examination = counted(0.5, 0.01)
        assert examination._counts is not None
        for counts in examination._counts:
            counts.scanned[counts._ends[:-1] if end == 0 else counts._ends[1:] - 1] = above
        assert np.isinf(examination.result().epsilon_upper)
