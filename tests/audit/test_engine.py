"""One audit: which tests run on what is known, what each can see, and that faults of every kind are seen."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dpverify.audit import engine
from dpverify.audit.engine import audit
from dpverify.audit.outcome import AuditReport
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.running.target import Target, TargetError
from dpverify.audit.subject import Dataset, Messages, Neighbours, Subject
from dpverify.guarantee import Budget
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.family import AuditResult, Verdict
from protocols.bitsum import RandomizedResponse
from protocols.user_level.central_selection import ExponentialSelection
from protocols.vector_sum import VectorSum

CLAIM = Budget("0.6", 0)
DIE = DiscreteLaw.of(np.arange(1, 7), np.full(6, 1 / 6))
LOADED = DiscreteLaw.of(np.arange(1, 7), np.array([0.1, 0.15, 0.15, 0.2, 0.2, 0.2]))


def dice(law: DiscreteLaw, *, batch: Any = None) -> Target:
    return Target(
        batch or (lambda inputs, rng, trials: (LOADED if inputs[0] else law).sample(trials, rng)), True, name="d"
    )


def thrown(target: Target, *, known: bool = True, messages: Messages | None = None, **options: Any) -> AuditReport:
    datasets = [
        Dataset(name, np.array([bit]), {0: ("throw", law)} if known else {})
        for bit, (name, law) in enumerate((("fair", DIE), ("loaded", LOADED)))
    ]
    subject = Subject("dice", target, datasets, [Neighbours(0, 1)], messages)
    return audit(subject, **{"trials": 4000, "level": 1e-3, "seed": 1, **options})


def refuted(report: AuditReport) -> list[str]:
    return [result.check for result in report.results if result.verdict is Verdict.VIOLATES]


CALLS = [
    "repeated runs",
    "dependence of near runs",
    "dependence of runs in a row",
    "steadiness of runs",
    "dependence of runs",
]


def test_fair_dice_pass_every_test_that_is_due() -> None:
    first, second = (thrown(dice(DIE), claim=CLAIM, seed=seed) for seed in (1, 2))
    report = second if refuted(first) else first
    assert refuted(report) == []  # both alarms are false with probability at most 1e-6
    assert [result.check for result in report.results] == [
        "conformance of throw, fair",
        "conformance of throw, loaded",
        *(f"{check}, fair" for check in CALLS),
        "repeated outputs, runs of two blocks",
        *(f"{check}, loaded" for check in CALLS),
        "privacy loss of throw, fair against loaded",
        "privacy of throw, fair against loaded",
        "lowest digits",
    ]
    assert all(result.power is not None and result.fault for result in report.results)
    # Without a claim there is no test of privacy, and without laws none at all.
    assert len(thrown(dice(DIE)).results) == 13
    assert thrown(dice(DIE), known=False, claim=CLAIM).results == ()


def test_every_kind_of_fault_has_its_test() -> None:
    assert "conformance of throw, fair" in refuted(thrown(dice(LOADED)))

    def stuck(inputs: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
        return np.repeat(DIE.sample(trials // 2, rng), 2)

    assert "dependence of runs, fair" in refuted(thrown(dice(DIE, batch=stuck), block_size=500))

    def reseeded(inputs: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
        return DIE.sample(trials, np.random.default_rng(5))

    assert "repeated outputs, runs of two blocks" in refuted(thrown(dice(DIE, batch=reseeded), block_size=500))

    def revealing(inputs: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
        return DIE.sample(trials, rng) + 3 * inputs[0]

    found = refuted(thrown(dice(DIE, batch=revealing), claim=CLAIM))
    assert "privacy of throw, fair against loaded" in found


def watched(sent: Any = None, arrived: Any = None, **options: Any) -> Messages:
    def own(inputs: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return rng.integers(0, 2, inputs.size), np.arange(inputs.size)

    def shuffled(inputs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.permutation(inputs)

    users = np.repeat([0, 1], 20)
    coin = DiscreteLaw.of([0, 1], [0.5, 0.5])
    return Messages(sent or own, arrived or shuffled, users, np.zeros(40), 1, coin, fewest=1, most=1, **options)


@pytest.mark.long
def test_what_users_and_shuffler_do_is_watched() -> None:
    checks = {
        "message count, per user": {"sent": lambda bits, rng: (np.zeros(41, dtype=int), np.arange(41) % 40)},
        "message order, after the shuffler": {"arrived": lambda bits, rng: bits},
        "common randomness, between users": {
            "sent": lambda bits, rng: (np.full(40, rng.integers(0, 2)), np.arange(40))
        },
        "pieces of single users": {"sent": lambda bits, rng: ((rng.random(40) < 0.9).astype(int), np.arange(40))},
    }
    quick = {"trials": 100, "level": 0.05}
    good = thrown(dice(DIE), messages=watched(), **quick)
    assert {result.check for result in good.results} >= set(checks)
    for check, faulty in checks.items():
        found = refuted(thrown(dice(DIE), messages=watched(**faulty), **quick))
        assert check in found

    def lost(bits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        raise RuntimeError("lost")

    with pytest.raises(TargetError, match=r"RuntimeError while its messages were watched: lost"):
        thrown(dice(DIE), messages=watched(arrived=lost), trials=100)


def test_tests_of_other_packages_join_the_family(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, tuple[int, ...], float, float]] = []

    def test(dataset: Dataset, outputs: np.ndarray, rng: Any, *, level: float, detect: float) -> Sequence[AuditResult]:
        given.append((dataset.name, outputs.shape, level, detect))
        return [AuditResult(f"own, {dataset.name}", 1e-9 if dataset.name == "fair" else 1.0, 5, "exact", "odd")]

    monkeypatch.setattr("dpverify.audit.results.registered", lambda group: {"own": test})
    beforehand = [AuditResult("known before", 1.0, 0, "exact", "nothing", power=1.0)]
    report = thrown(dice(DIE), beforehand=beforehand, detect=0.2)
    # One known before, two of each law, two of each dataset, seven of structure, four of the pair, one of its digits,
    # two of this package.
    assert given == [(name, (4000, 1), pytest.approx(1e-3 / 17), 0.2) for name in ("fair", "loaded")]
    assert "own, fair" in refuted(report)
    assert "own, loaded" not in refuted(report)
    assert report.results[0].check == "known before"


def test_loss_rows_are_for_a_plot_where_the_law_is_known() -> None:
    rows = thrown(dice(DIE), trials=500).loss_rows
    losses = np.log(DIE.pmf / LOADED.pmf)
    assert {round(row["loss"], 9) for row in rows} == {round(float(loss), 9) for loss in losses}
    for row in rows:
        exact = DIE.pmf[losses >= row["loss"] - 1e-6].sum()
        assert row["exact"] == pytest.approx(exact, rel=1e-12)
        assert row["lower"] <= row["empirical"] <= row["upper"]
    assert thrown(dice(DIE), known=False, trials=500).loss_rows == ()


def test_the_power_of_a_loss_is_against_one_that_varies_less(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[np.ndarray, np.ndarray, int]] = []

    def record(claimed: np.ndarray, other: np.ndarray, trials: int, level: float) -> float:
        asked.append((np.asarray(claimed), np.asarray(other), trials))
        return 0.5

    monkeypatch.setattr(engine, "g_test_power", record)
    report = thrown(dice(DIE), claim=CLAIM, detect=0.25)
    (result,) = (result for result in report.results if result.check.startswith("privacy loss"))
    assert (result.power, result.fault) == (0.5, "loss with a standard deviation 25 % smaller")
    # One bin for each of three losses; in order of the loss, or against it.
    claimed, other, trials = next(entry for entry in asked if entry[0].size == 3)
    losses = np.unique(np.round(np.log(DIE.pmf / LOADED.pmf), 9))
    losses = losses if claimed[0] == pytest.approx(1 / 2) else losses[::-1]
    spread = [math.sqrt(masses @ losses**2 - (masses @ losses) ** 2) for masses in (claimed, other)]
    assert sorted(claimed) == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    assert other.sum() == pytest.approx(1.0)
    assert spread[1] == pytest.approx(0.75 * spread[0], rel=1e-6)
    assert trials == 4000


@pytest.mark.long
def test_a_loss_that_is_nearly_always_the_same_is_decided_by_how_often_another_comes() -> None:
    # No number of trials that one would ask for tells its standard deviation to a tenth.
    report = audit_protocol(ExponentialSelection(users=7, candidates=3, epsilon=2.2), (2.2, 0), trials=20_000)
    assert report.verdict is Verdict.CONSISTENT, report.statement
    (fault,) = (each.fault for each in report.results if each.fault.startswith("another loss than the likeliest"))
    assert 0.2 < float(fault.split()[6]) < 0.4  # of 36 other ones in 20,000 twice as many more


def test_a_view_whose_law_is_known_is_tested_in_place_of_its_columns() -> None:
    points = [[0, 0], [0, 1], [1, 0], [1, 1]]
    both = [DiscreteLaw.of(points, pmf) for pmf in ([0.4, 0.1, 0.1, 0.4], [0.25, 0.25, 0.25, 0.25])]

    def draw(inputs: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
        view = both[inputs[0]].sample(trials, rng)
        return np.column_stack([view.sum(axis=1), view])

    coin = DiscreteLaw.of([0, 1], [0.5, 0.5])
    bits = {1: ("first bit", coin), 2: ("second bit", coin)}
    datasets = [Dataset("ab"[i], np.array([i]), bits, (slice(1, 3), both[i])) for i in (0, 1)]
    subject = Subject("bits", Target(draw, True, (3,), "bits"), datasets, [Neighbours(0, 1)])
    report = audit(subject, claim=Budget("0.1", 0), trials=4000, level=1e-3)
    # Each bit alone is fair in both: only together do they tell the two apart.
    assert "privacy of the view, a against b" in refuted(report)
    assert not any("bit" in check for check in refuted(report) if check.startswith("privacy"))
    assert "privacy loss of the view, a against b" in [result.check for result in report.results]


def test_the_size_of_the_fault_is_in_range() -> None:
    with pytest.raises(ValueError, match=r"^detect=1\.0 must be a finite number in \(0, 1\)\.$"):
        thrown(dice(DIE), detect=1.0)


SUMS = VectorSum(users=20, dimension=2, levels=2, blanket_probability=0.5)


def _summed(vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(SUMS.analyze(SUMS.sample_view(vectors, rng)), dtype=np.float64)


def _told_by_digits(vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return _summed(vectors, rng) + 1e-10 * vectors[-1, 0]


def _rounded_anyhow(vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return _summed(vectors, rng) * (1.0 + 2.0**-52 * rng.integers(-3, 4, 2))


@pytest.mark.long
@pytest.mark.parametrize("claim", [None, (3, "1e-2")])
@pytest.mark.parametrize("run", [_summed, _told_by_digits, _rounded_anyhow])
def test_the_lowest_digits_of_an_estimate_are_held_against_the_claim(run: Any, claim: Any) -> None:
    report = audit_protocol(SUMS, claim, implementation=run, trials=500, seed=3)
    faulty = run is _told_by_digits
    assert [result.check for result in report.violations] == ["lowest digits"] * faulty


def test_the_lowest_digits_of_a_binary_sum_are_too() -> None:
    protocol = RandomizedResponse(users=20, flip_probability=0.25)

    def noisy(bits: np.ndarray, rng: np.random.Generator) -> float:
        ones = int((bits ^ (rng.random(bits.size) < 0.25)).sum())
        return float((ones - 5.0) / 0.5 * (1.0 + 2.0**-52 * bits[0]))

    checks = [result.check for result in audit_protocol(protocol, implementation=noisy, trials=2_000).violations]
    assert checks == ["lowest digits"]
