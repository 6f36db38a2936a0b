"""Steps among days of protocols: against brute force, and what is known in closed form; never mixed silently."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpverify
from dpverify.claims.records import protocol_of, record_of
from dpverify.claims.registry import Group, claims_of, registered
from dpverify.guarantee import Adjacency, ThreatModel
from dpverify.planning.schedules.days import read_days
from dpverify.planning.steps.account import _STEPS, is_step
from dpverify.planning.steps.listed import ResponseStep
from dpverify.privacy_loss.windows.gaussian import NormalNoiseCurve
from protocols.bitsum import CentralDiscreteGaussian

RR = dpverify.RandomizedResponse(3, 0.25)
STEPS: list[Any] = [
    dpverify.NoisyStep(1.0, 0.01),
    dpverify.NoisyStep(4.0, law="laplace", rate=0.3),  # type: ignore[arg-type]
    dpverify.NoisyStep(2.0, 0.05, sampling="fixed-size"),  # type: ignore[arg-type]
    dpverify.IntegerStep(9.0, 2, 0.5),
    dpverify.DiscreteLaplaceStep(0.2, 3),
    dpverify.OpaqueStep(0.3, 1e-9),
    dpverify.BoundedRangeStep(0.4),
    ResponseStep(0.5, 4),
    dpverify.ConcentratedStep(0.01),
    dpverify.RenyiStep([2, 8], [0.01, 0.04]),
    dpverify.RandomAllocation(9.0, 2),
    dpverify.MixtureStep(9.0, [0, 1], [0.9, 0.1]),  # type: ignore[arg-type]
]


def test_every_step_has_its_twin_and_is_written_down_and_read_back() -> None:
    twins = registered(Group.STEPS).values()
    assert {claims.protocol for claims in twins} >= {type(step) for step in STEPS}
    assert all(issubclass(claims.protocol, _STEPS) for claims in twins)
    for step in STEPS:
        assert is_step(protocol_of(json.loads(json.dumps(record_of(step)))))
        assert protocol_of(json.loads(json.dumps(record_of(step)))) == step


def divergence(first: dict[Any, Fraction], second: dict[Any, Fraction], a: Fraction) -> Fraction:
    return sum((max(mass - a * second[at], Fraction(0)) for at, mass in first.items()), Fraction(0))


def test_a_response_and_shuffled_bits_against_all_datasets() -> None:
    keep = {(bit, said): Fraction(3, 4) if bit == said else Fraction(1, 4) for bit in (0, 1) for said in (0, 1)}

    def counts(bits: tuple[int, ...]) -> dict[int, Fraction]:
        law = dict.fromkeys(range(4), Fraction(0))
        for said in itertools.product((0, 1), repeat=3):
            mass = Fraction(1)
            for bit, one in zip(bits, said, strict=True):
                mass *= keep[bit, one]
            law[sum(said)] += mass
        return law

    def response(value: int) -> dict[int, Fraction]:
        return {said: Fraction(1, 6) + (Fraction(1, 2) if said == value else 0) for said in range(3)}

    days = [(RR, 1), (ResponseStep(0.5, 3), 1)]
    for epsilon in ("0.2", "1", "1.9"):
        found = dpverify.account(days, epsilon=epsilon, adjacency="replace-one").delta
        e = Fraction(math.exp(float(epsilon)))
        worst = max(
            divergence(
                {(x, y): p * q for x, p in counts((bit, *rest)).items() for y, q in response(0).items()},
                {(x, y): p * q for x, p in counts((1 - bit, *rest)).items() for y, q in response(1).items()},
                e,
            )
            for bit in (0, 1)
            for rest in itertools.product((0, 1), repeat=2)
        )
        assert found.lower * (1 - 1e-12) <= worst <= found.upper * (1 + 1e-12)
        assert found.width < 1e-3 * found.upper


@pytest.mark.parametrize(
    "step",
    [
        dpverify.NoisyStep(80.0),
        dpverify.IntegerStep(80.0, sensitivity=1, law="discrete-gaussian"),  # type: ignore[arg-type]
    ],
)
def test_days_of_normal_noise_are_one_of_all(step: Any) -> None:
    """Where a record is replaced a step's sum moves by 2, so that noise of 80 on it is one of 40 on a bit."""
    found = dpverify.account([(CentralDiscreteGaussian(9, 40.0), 5), (step, 6)], delta=1e-6, adjacency="replace-one")
    known = NormalNoiseCurve(40.0, 11).epsilon(1e-6)
    assert found.epsilon.lower <= known.upper * (1 + 1e-5)
    assert found.epsilon.upper >= known.lower * (1 - 1e-5)
    assert found.epsilon.width < 1e-3 * known.upper
    assert found.guarantee.adjacency is Adjacency.REPLACE_ONE
    assert found.guarantee.threat_model is ThreatModel.CENTRAL


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_what_stands_beside_a_protocol_is_what_it_is_alone(step: Any) -> None:
    """Shuffled bits that reveal nothing cost nothing: what is left is the account of the steps."""
    hidden = dpverify.RandomizedResponse(9, 0.5 - 1e-9)
    alone = dpverify.account([(step, 20)], delta="1e-5", adjacency="replace-one").epsilon
    beside = dpverify.account([(hidden, 1), (step, 20)], delta="1e-5", adjacency="replace-one").epsilon
    assert beside.lower <= alone.upper * (1 + 1e-6)
    assert beside.upper >= alone.lower * (1 - 1e-6)
    if 0.0 < alone.width < 0.01 * alone.upper:  # else other bounds are taken alone, such as of Renyi divergences
        assert beside.upper <= alone.upper * (1 + 1e-3) + 1e-6
        assert beside.lower >= alone.lower * (1 - 1e-3) - 1e-6


@pytest.mark.long
def test_files_and_ledgers_take_them(tmp_path: Path) -> None:
    file = tmp_path / "days.csv"
    file.write_text("protocol,users,flip_probability,noise,rate,instances\nrr,90,0.1,,,2\nnoisy-step,,,1,0.01,300\n")
    days = read_days(file)
    together = dpverify.account(days, delta="1e-6").epsilon
    assert [type(day.protocol).__name__ for day in days] == ["RandomizedResponse", "NoisyStep"]
    ledger = dpverify.PrivacyLedger.create(tmp_path / "spent", ("9", "1e-6"))
    for day in days:
        found = ledger.spend(day.protocol, day.instances)
    assert found.epsilon.lower <= together.upper
    assert together.lower <= found.epsilon.upper
    assert found.account is not None
    with pytest.raises(ValueError, match=r"^certificates are of protocols"):
        found.account.certificate()
    assert any("curator of steps is trusted" in note for note in found.account.notes)
    assert ledger.remaining(dpverify.NoisyStep(1.0, 0.01)) > 300
    with pytest.raises(dpverify.BudgetExceededError, match=r"^100000 of noisy-step would exceed the budget"):
        ledger.spend(dpverify.NoisyStep(1.0, 0.01), 100_000)


def test_a_ledger_where_a_record_is_added_or_removed(tmp_path: Path) -> None:
    ledger = dpverify.PrivacyLedger.create(tmp_path / "spent", ("3", "1e-6"), adjacency="add-remove")
    found = ledger.spend(dpverify.NoisyStep(1.0, 0.01), 1000)
    known = dpverify.account(dpverify.NoisyStep(1.0, 0.01), instances=1000, delta="1e-6", relative_width=1e-4).epsilon
    assert found.epsilon.lower <= known.upper
    assert known.lower <= found.epsilon.upper < 2.2  # 3.2 where one is replaced
    assert found.to_dict()["adjacency"] == "add-remove"
    assert "1,000 runs, add-remove" in str(found)
    assert found.account is not None
    assert found.account.guarantee.adjacency is Adjacency.ADD_REMOVE
    with pytest.raises(ValueError, match=r"^adjacency='add-remove' must be 'replace-one' for rr: only steps"):
        ledger.spend(RR)
    assert ledger.spent().runs == 1000


def test_what_has_no_pair_for_one_that_is_replaced_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^adjacency='replace-one' is not covered for an \(epsilon, delta\) step"):
        dpverify.account([(RR, 1), (dpverify.OpaqueStep(0.3, rate=0.5), 1)], delta=1e-6, adjacency="replace-one")
    with pytest.raises(ValueError, match=r"^adjacency=None must be 'replace-one' where steps stand beside protocols"):
        dpverify.account([(RR, 1), (STEPS[0], 1)], delta=1e-6)
    assert claims_of(STEPS[0]).note(STEPS[0], ThreatModel.CENTRAL).startswith("Poisson sampling is assumed")
