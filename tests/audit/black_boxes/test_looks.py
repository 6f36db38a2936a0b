"""Looks at a black box, again and again until it is decided: at a level that all of them share."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.black_boxes import black_box, looks, pooled
from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.audit.black_boxes.examined import Examination
from dpverify.audit.black_boxes.mechanism_report import MechanismReport
from dpverify.audit.black_boxes.neighbours import input_pairs
from dpverify.audit.black_boxes.own_terms import TwoCalls
from dpverify.audit.options import AuditOptions
from dpverify.audit.running.target import Target
from dpverify.guarantee import Budget
from dpverify.statistics.family import Verdict

PAIR = np.array([0]), np.array([1])
EPSILON = 1.5


def response(bits: NDArray[Any], rng: np.random.Generator, runs: int) -> NDArray[Any]:
    """Randomized response of epsilon 1.5."""
    return np.asarray(bits[0] ^ (rng.random(runs) < 1.0 / (1.0 + np.exp(EPSILON))))


TARGET = Target(response, batch=True)


def audited(claim: float, **options: Any) -> MechanismReport:
    return audit_mechanism(TARGET, (claim, 0), PAIR, **options)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> tuple[int, ...]:
    sizes = (500, 2_000, 8_000)
    monkeypatch.setattr(black_box, "GROWING", sizes)
    return sizes


def test_the_looks_share_the_levels_evenly() -> None:
    # The union bound itself: each look is an examination at its share, of which p-values are multiples.
    rng = np.random.default_rng(5)
    rows = [(rng.random((4_000, 1)) < p) * 1.0 for p in (0.5, 0.3)]
    given: dict[str, Any] = {"epsilon": 0.45, "delta": 0.0, "detect": 0.1, "seed": 0, "check": "privacy"}
    alone = Examination(4_000, level=0.01, upper=0.002, **given)
    shared = Examination(4_000, level=0.05, upper=0.01, looks=5, **given)
    for each in (alone, shared):
        each.update(*rows)
    one, five = alone.result(), shared.result()
    assert 0.0 < 5.0 * one.result.p_value < 1.0
    assert five.result.p_value == pytest.approx(5.0 * one.result.p_value, rel=1e-9)
    for side in ("p_lower", "p_upper", "q_lower", "q_upper"):
        np.testing.assert_allclose(getattr(five.limits, side), getattr(one.limits, side), rtol=1e-9)
    assert five.result.level == 0.05
    assert five.result.details["confidence"] == pytest.approx(0.94)


def test_each_look_tests_outputs_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # What a look tests must not have taught it, nor have decided that there is another look.
    seen: list[tuple[Examination, list[NDArray[np.float64]]]] = []

    class Watched(Examination):
        def __init__(self, trials: int, **given: Any) -> None:
            super().__init__(trials, epsilon=EPSILON, delta=0.0, **given)
            assert given["looks"] == 3
            seen.append((self, []))

        def update(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> None:
            seen[-1][1].append(first[:, 0])
            super().update(first, second)

    two = partial(TwoCalls, partial(Examination, epsilon=EPSILON, delta=0.0))
    monkeypatch.setattr(looks, "examinations", lambda _, trials, __: (partial(Watched, trials), partial(two, trials)))
    sizes, rows = (500, 2_000, 8_000), np.arange(8_000.0)[:, np.newaxis]
    pairs, inputs = input_pairs(PAIR), list(PAIR)
    taken = looks.Looks(pairs, [(0, 1)], inputs, Budget(EPSILON, 0), 0.0, AuditOptions(), 0.01, sizes)
    blocks = ([rows[start : start + 300]] * 2 for start in range(0, 8_000, 300))
    assert list(taken.at(blocks)) == list(sizes)
    decided = 0.0  # outputs up to here may have decided that there is this look
    for size, (look, parts) in zip(sizes, seen, strict=True):
        order, teaching = np.concatenate(parts), 2 * look._held
        assert order.size == size == order.max() + 1
        assert order[teaching:].min() >= max(decided, order[:teaching].max() + 1)
        decided = size


def test_it_grows_until_the_verdict_stands(
    few: tuple[int, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(looks, "_RAREST", 1.0)  # whatever passes stands
    told: list[tuple[int, int]] = []
    passed = audited(EPSILON, detect=0.3, block_size=250, progress=lambda done, all_of: told.append((done, all_of)))
    assert passed.verdict is Verdict.CONSISTENT
    assert passed.trials == few[1]
    assert passed.trials_needed == 0
    assert told == [(done, 1_000 if done <= 1_000 else 4_000) for done in range(250, 4_001, 250)]
    # A gross fault is refuted by the first look, and a file of its draws changes nothing.
    kept: dict[str, Any] = {"checkpoint": tmp_path / "draws.npz", "block_size": 250}
    named = Target(response, batch=True, name="response")
    first, again = (audit_mechanism(named, (0.5, 0), PAIR, **kept) for _ in range(2))
    assert first.verdict is Verdict.VIOLATES
    assert first.trials == few[0]
    assert first.to_dict() == again.to_dict()


@pytest.mark.long
def test_a_pass_waits_until_a_leak_in_a_thousand_would_have_shown() -> None:
    def leaking(bits: NDArray[Any], rng: np.random.Generator, runs: int) -> NDArray[Any]:
        said = np.where(rng.random(runs) < 0.6, bits[0], 1 - bits[0])
        return np.where((rng.random(runs) < 1e-3) & (bits[0] == 1), 2, said)

    target = Target(leaking, batch=True)
    early = audit_mechanism(target, (1, 0), PAIR, trials=20_000)
    assert early.verdict is Verdict.CONSISTENT  # it says what it cannot see
    assert f"were its probability about {early.rarest:.2g} or more" in early.statement
    assert early.rarest > 1e-3
    assert audit_mechanism(target, (1, 0), PAIR).violations[0].check.startswith("privacy of the output in rare")
    # Where no more is kept for rare outcomes, more looks would see no rarer ones.
    right = audited(1.2 * EPSILON)
    assert right.rarest <= 1e-3 < 4.0 * right.rarest
    most = looks.RareOutcomes(2, 0)
    most.update([np.zeros((pooled._MOST + 200, 2))] * 2)
    assert most.full


def test_a_forecast_multiplies_what_grows_with_the_outputs() -> None:
    sizes, given = (500, 2_000, 8_000), (input_pairs(PAIR), [(0, 1)], list(PAIR), Budget(EPSILON, 0), 0.0)
    taken = looks.Looks(*given, AuditOptions(), 0.01, sizes)
    taken._spent = [(1.0, 10.0)]
    assert taken._forecast(2_000) == 3.0 + 10.0
    taken._look, taken._spent = 1, [(1.0, 10.0), (4.0, 22.0)]
    assert taken._forecast(8_000) == 4.0 * 3.0 + 12.0 + 2.0 * (6_000 - 1_500) / (1_500 - 500)
    assert taken._forecast(4_000) == 4_000 / 3_000 * 3.0 + 12.0 + 2.0 * (2_000 - 1_500) / (1_500 - 500)


def test_rare_outcomes_are_forgotten_once_the_last_look_has_seen_them() -> None:
    given = input_pairs(PAIR), [(0, 1)], list(PAIR), Budget(EPSILON, 0), 0.0
    taken, rows = looks.Looks(*given, AuditOptions(), 0.01, (500, 2_000)), np.zeros((2_000, 2))
    for size in taken.at([[rows, rows]]):
        found, held = taken.rare(), taken._rare._outputs
        assert (held is None) is (size == 2_000)
        assert taken.rare() is found  # and what they showed stays
        assert taken._rare.kept == size - pooled._SHOWN


def test_a_last_look_of_what_time_allows_tests_no_output_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its number depends on the outputs before it, which may therefore teach it, but are never tested again.
    taught: list[tuple[int, int]] = []

    class Watched(Examination):
        def _choose(self) -> None:
            taught.append((2 * self._held, self._trials))
            super()._choose()

    two = partial(TwoCalls, partial(Examination, epsilon=EPSILON, delta=0.0))
    one = partial(Watched, epsilon=EPSILON, delta=0.0)
    monkeypatch.setattr(looks, "examinations", lambda _, trials, __: (partial(one, trials), partial(two, trials)))
    rng, sizes = np.random.default_rng(1), (500, 2_000, 8_000, 32_000)
    rows = [(rng.random((32_000, 1)) < p) * 1.0 for p in (0.5, 0.4)]
    given = input_pairs(PAIR), [(0, 1)], list(PAIR), Budget(EPSILON, 0), 0.0
    taken = looks.Looks(*given, AuditOptions(), 0.01, sizes)
    monkeypatch.setattr(taken, "_forecast", lambda size: 0.0 if size <= 4_000 else 1e9)  # time for half of the third
    seen, before = [], []
    for size in taken.at([each[at : at + 300] for each in rows] for at in range(0, 32_000, 300)):
        compared = [taken.rare(), taken.calls(), taken.together()]
        seen.append(size)
        before.append(compared)
        if taken.stands(Verdict.UNDECIDED):
            break
    assert seen == [500, 2_000, 4_000]
    assert taught[-1] == (2_000, 2_000)  # learned and chosen on all before, tested on as many fresh ones
    assert before[-1] == before[-2]  # of all outputs together, whose numbers are fixed
    assert taken.compared == 2_000
    assert taken.found()[0].result.trials == 2_000
    passing = looks.Looks(*given, AuditOptions(), 0.01, sizes)
    monkeypatch.setattr(passing, "_forecast", lambda size: 0.0 if size <= 4_000 else 1e9)
    for _ in passing.at([each[at : at + 300] for each in rows] for at in range(0, 2_100, 300)):
        stood = passing.stands(Verdict.CONSISTENT)
    assert stood  # a pass waits for rare outcomes alone, which such a look would not see


def test_when_the_time_is_over_it_says_how_many_more_would_decide() -> None:
    report = audited(EPSILON, seconds=1e-9)
    assert report.verdict is Verdict.UNDECIDED
    assert report.trials == 5_000
    more = report.trials_needed - report.trials
    assert more > 0
    assert "with 5,000 trials; by an estimate " in report.statement
    assert " more would decide." in report.statement
    # The estimate is of the same share of the level; chance and what is learned anew are within this.
    assert audited(EPSILON, trials=int(2 * report.trials_needed)).verdict is Verdict.CONSISTENT
    assert audited(EPSILON, trials=int(report.trials_needed / 3)).verdict is Verdict.UNDECIDED
    assert audited(EPSILON, trials=20_000).trials_needed == 0
