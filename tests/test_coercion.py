"""What people type is taken: pairs for budgets, words for members of enumerations, and scalars of numpy."""

import json
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.audit.protocol import audit_protocol
from dpverify.claims.histogram import HistogramClaims
from dpverify.claims.shared.buckets import least_shape
from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.composition.inverse import per_instance_budget
from dpverify.composition.theorems import CompositionTheorem, compose
from dpverify.guarantee import Budget, ThreatModel
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.planning.sweeps.comparison import plan_bitsums
from protocols.bitsum import Pure, RandomizedResponse
from tests.refusals import refused

PAIR = ("2", "1e-4")
BUDGET = Budget(*PAIR)


def test_a_theorem_may_be_its_word() -> None:
    for theorem in CompositionTheorem:
        slack = 0.0 if theorem is CompositionTheorem.BASIC else 1e-6
        expected = compose(theorem, 0.1, 1e-9, 10, delta_slack=slack)
        assert compose(theorem.value.title(), 0.1, 1e-9, 10, delta_slack=np.float64(slack)) == expected
        found = per_instance_budget(PAIR, np.int64(10), composition=theorem.value)  # type: ignore[arg-type]
        assert found == per_instance_budget(BUDGET, 10, composition=theorem)
        assert found.composition is theorem


def test_a_share_may_be_any_number() -> None:
    shares: list[Any] = ["6.103515625e-5", 2.0**-14, np.float32(2.0**-14)]
    assert len({per_instance_budget(PAIR, 3, composition="optimal", delta_slack=share) for share in shares}) == 1
    with refused("delta_slack='x'"):
        per_instance_budget(PAIR, 3, composition="optimal", delta_slack="x")


def test_plans_take_pairs_and_scalars_and_give_plain_json() -> None:
    users: Any = np.int64(50)
    row = plan("Local-RR", PAIR, users=users, instances=np.int64(3), threat_model="Local")  # type: ignore[arg-type]
    assert row == plan("local-rr", BUDGET, users=50, instances=3)
    rows = plan_bitsums(PAIR, users=users, instances=np.int64(3), bitsums=["3NB"], methods=["Published"])  # type: ignore[arg-type]
    assert rows == plan_bitsums(BUDGET, users=50, instances=3, bitsums=["3nb"], methods=["published"])
    assert json.loads(json.dumps(rows.to_dict()))["users"] == 50


def test_an_account_of_scalars_is_plain_json() -> None:
    protocol = RandomizedResponse(np.int64(50), np.float32(0.25))  # type: ignore[arg-type]
    assert (type(protocol.users), type(protocol.flip_probability)) == (int, float)
    found = account(protocol, instances=np.int64(2), epsilon=np.float32(1.0))  # type: ignore[arg-type]
    assert json.loads(json.dumps(found.to_dict()))["users"] == 50
    pure = Pure(5, 0.5, 0.1)
    assert account(pure, delta=0, threat_model="MODEL").guarantee.threat_model is ThreatModel.MODEL
    with refused("threat_model='local'"):
        account(pure, delta=0, threat_model=ThreatModel.LOCAL)


def test_the_claims_of_audits_may_be_pairs() -> None:
    reference = RandomizedResponse(10, 0.25)
    for anytime in (False, True):
        kept: dict[str, Any] = {"trials": 100, "anytime": anytime}
        tested = {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta}
        assert audit_protocol(reference, PAIR, **kept).claim == tested
        with refused("claim=2", TypeError):
            audit_protocol(reference, 2, **kept)
    inputs = np.zeros(1), np.ones(1)
    found = audit_mechanism(lambda x, rng: float(rng.random() + x[0]), PAIR, inputs, trials=100)
    assert found.claim == tested


def test_the_searches_of_the_claims_take_pairs() -> None:
    assert least_shape(PAIR, 0.5) == least_shape(BUDGET, 0.5)
    sums = VectorSumClaims()
    assert sums.least_blanket(1000, 2, 2, PAIR) == sums.least_blanket(1000, 2, 2, BUDGET)
    assert sums.least_error(1000, 2, PAIR, sampled=(1,), most_levels=1) == sums.least_blanket(
        1000, 2, 1, BUDGET, sampled=1, stratified=True, centre=0.5
    )
    histograms = HistogramClaims()
    assert histograms.least_error(9, 2, PAIR, 0.1) == histograms.least_error(9, 2, BUDGET, 0.1)


def test_a_parameter_may_be_a_fraction() -> None:
    for given, meant in [
        (RandomizedResponse(50, Fraction(1, 5)), RandomizedResponse(50, 0.2)),  # type: ignore[arg-type]
        (Pure(5, Fraction(1, 2), Fraction(1, 4)), Pure(5, 0.5, 0.25)),  # type: ignore[arg-type]
    ]:
        found = account(given, delta="1e-3")
        assert json.dumps(found.to_dict()) == json.dumps(account(meant, delta="1e-3").to_dict())
