"""A certificate shows what the engine accounts, next to no more, and never less than its lower end."""

import json
from pathlib import Path
from typing import Any

import pytest

from dpverify import account, plan
from dpverify.claims.shared.buckets import under_estimating
from dpverify.guarantee import CapacityError
from dpverify.planning.certificate import certificate, checker, typed_delta, write_certificate
from protocols.bitsum import (
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    CentralGaussian,
    LocalRandomizedResponse,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.histogram import Histogram
from protocols.local.labels import LabelRandomizedResponse
from protocols.sums import PoissonSum, SplitAndMix
from protocols.vector_sum import VectorSum
from tests.refusals import refused

CASES: list[tuple[Any, int, float, float | None]] = [
    (Poisson(400, 40.0), 16, 1e-4, 0.5),
    (NegativeBinomial(400, 8.0, 0.9), 16, 1e-4, None),
    (RandomizedResponse(60, 0.3), 8, 2e-3, 45),
    (ThreeNB(100, 0.7, 6.0, 0.7, 1.0), 2, 1e-2, None),
    (SplitAndMix(400, 3, modulus=2**14, shares=10, p=0.9, shape=16.0), 16, 1e-5, 0.5),
    (Pure(100, 0.7, 0.05, 6.0, 0.7), 2, 1e-2, None),
    (Histogram(under_estimating(100, 8.0, 0.9), 10), 4, 1e-3, None),
    (CentralDiscreteLaplace(100, 0.9), 64, 1e-5, None),
    (CentralDiscreteGaussian(100, 5.0), 64, 1e-5, None),
    (LocalRandomizedResponse(100, 0.4), 64, 1e-5, None),
    (LabelRandomizedResponse(3, 0.5), 16, 1e-5, None),
    (VectorSum(400, 8, 2, 0.4, sampled=4, stratified=True), 4, 1e-4, None),
]


@pytest.fixture(autouse=True)
def _few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the nodes take a quarter of the time."""
    monkeypatch.setattr("dpverify.planning.certificate._NODES", 3_072)


@pytest.mark.long
@pytest.mark.parametrize(("protocol", "instances", "delta", "honest"), CASES, ids=lambda case: type(case).__name__)
def test_the_checker_accepts_what_the_engine_accounts(
    protocol: Any, instances: int, delta: float, honest: float | None
) -> None:
    found = certificate(protocol, delta=delta, instances=instances, honest=honest)
    truth = account(protocol, instances=instances, delta=delta, honest=honest).epsilon
    # Of few instances one is of the supremum of both directions, or of all datasets.
    room = 1.03 if isinstance(protocol, RandomizedResponse) else 1.015 if instances < 64 else 1.001
    assert truth.lower <= float(found["epsilon"]) <= room * truth.upper
    assert checker.checked(found).startswith("Accepted: ")
    with pytest.raises(checker.Refused):
        checker.checked(found | {"epsilon": repr(0.999 * truth.lower)})


@pytest.mark.long
def test_days_of_different_protocols_have_one_certificate(tmp_path: Path) -> None:
    days = [Poisson(400, 40.0), NegativeBinomial(400, 8.0, 0.9)]
    found = certificate([(days[0], 3), (days[1], 16), (days[0], 5)], delta="1e-4")
    assert [entry["instances"] for entry in found["together"]] == [8, 16]
    truth = account([(days[0], 8), (days[1], 16)], delta=1e-4).epsilon
    assert truth.lower <= float(found["epsilon"]) <= 1.015 * truth.upper
    write_certificate(tmp_path / "both.json", found)
    assert json.loads((tmp_path / "both.json").read_text()) == found


def test_days_share_the_cells_of_their_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.planning.certificate._ALL_CELLS", 30)
    days = [(RandomizedResponse(60 + day, 0.3), 1) for day in range(3)]
    found = certificate(days, delta="1e-3")
    assert [1 < len(entry["cells"]) <= 10 for entry in found["together"]] == [True] * 3
    truth = account(days, delta=1e-3).epsilon
    assert truth.lower <= float(found["epsilon"]) <= 1.2 * truth.upper


def test_what_has_no_certificate_is_named() -> None:
    with pytest.raises(TypeError, match="which have certificates"):
        certificate(CentralGaussian(100, 5.0), delta=1e-5)
    with pytest.raises(ValueError, match=r"delta=1.0 must be in \(0, 1\)"):
        certificate(Poisson(400, 40.0), delta=1.0)


def test_large_losses_are_inside_the_window() -> None:
    """The largest loss of sums of numbers was once counted as infinite, as nodes are less than 2^-grid apart."""
    protocol = PoissonSum(1000, 5, 20.0)
    truth = account(protocol, delta="2e-5").epsilon
    assert truth.lower <= float(certificate(protocol, delta="2e-5")["epsilon"]) <= 1.001 * truth.upper


def test_where_any_epsilon_would_do_there_is_a_certificate() -> None:
    """It was once sought for ever."""
    assert 0.0 < float(certificate(Poisson(1000, 500.0), delta="0.3")["epsilon"]) < 1e-10


@pytest.mark.long
def test_results_have_certificates_of_what_they_say(tmp_path: Path) -> None:
    row = plan("poisson", ("1", "1e-5"), users=300, instances=4, honest=200)
    found = row.certificate()
    assert found["together"][0]["mean"] == repr(row.parameters["mean"])
    assert found["delta"] == "1e-05"
    truth = account(row.protocol, instances=4, delta="1e-5", honest=200)
    assert truth.certificate() == found
    assert truth.epsilon.lower <= float(found["epsilon"]) <= 1.015
    days = [(row.protocol, 2), (row.protocol, 2, 200)]
    assert [entry["honest"] for entry in account(days, delta="1e-5").certificate()["together"]] == [300, 200]


def test_results_of_something_else_have_none() -> None:
    days = [(Poisson(400, 40.0), 3)]
    with refused("at_most=2"):
        account(days, delta=1e-5, at_most=2).certificate()
    with refused("epsilon=0.5"):
        account(Poisson(400, 40.0), epsilon=0.5).certificate()
    with pytest.raises(ValueError, match=r"^delta=1e-100 must be at least 1e-99 for a certificate"):
        certificate(Poisson(400, 40.0), delta="1e-100")
    assert typed_delta(".1") == ("0.1", 0.1)
    with refused("threat_model='model'"):
        account(Pure(100, 0.7, 0.05, 6.0, 0.7), delta=1e-2, threat_model="model").certificate()


def test_numbers_that_the_checker_does_not_read_are_out_of_reach() -> None:
    with pytest.raises(CapacityError, match="flip_probability"):
        certificate(LocalRandomizedResponse(100, 1e-200), delta=1e-5)
