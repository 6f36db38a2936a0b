"""Protocols written down and read back are equal; what cannot be read is refused in one sentence."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.claims.records import protocol_of, record_of
from dpverify.claims.shared.buckets import under_estimating
from dpverify.spending.ledger import PrivacyLedger
from protocols.bitsum import NegativeBinomial, Pure, RandomizedResponse, ThreeNB
from protocols.histogram import Histogram
from protocols.kde import KernelDensityProtocol
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import GaussianFeatures
from protocols.lsq.linear import LinearMap
from protocols.sums.unary import PoissonSum
from protocols.vector_sum import VectorSum


@pytest.mark.parametrize(
    "protocol",
    [
        RandomizedResponse(900, 0.1 + 0.2 / 3),
        ThreeNB(50, 0.9, 12.0, 0.8),
        NegativeBinomial(9, 40.0, 0.8),
        Pure(30, 0.6, 0.2, 9.0, 0.7),
        Histogram(under_estimating(9, 40.0, 0.8), 7),
        VectorSum(900, 4, 8, 0.1, 2, True),
        LabelRandomizedResponse(3, 0.5),
        PoissonSum(100, 1, 50, steps=4),
        PoissonSum(100, 4, 50),
    ],
)
def test_what_was_written_is_read_back(protocol: Any) -> None:
    record = record_of(protocol)
    assert protocol_of(json.loads(json.dumps(record))) == protocol
    if "bitsum" not in record:  # as a table has it: texts, and nothing for what is not there
        assert protocol_of({name: str(value) for name, value in record.items() if value is not None}) == protocol


def test_what_0_2_0_wrote_is_read() -> None:
    """All protocols that its ledgers took, as it wrote them: a parameter that is renamed must still be read."""
    for line in (Path(__file__).parent / "of_0_2_0.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        assert record_of(protocol_of(record)).items() >= record.items()


def test_a_density_of_a_deterministic_family_is_written_down_and_no_other() -> None:
    bitsum, rng = RandomizedResponse(900, 0.1), np.random.default_rng(3)
    for family in (LinearMap(5, limit=0.7, rows=6, seed=4), LinearMap(4, limit=1.0)):
        record = json.loads(json.dumps(record_of(KernelDensityProtocol(bitsum, family.sample(1, rng)))))
        again = protocol_of(record)
        assert again.bitsum == bitsum
        assert again.features.family == family
        assert record_of(again) == record
    drawn = KernelDensityProtocol(bitsum, GaussianFeatures(2).sample(3, rng))
    with pytest.raises(ValueError, match=r"^features of kde must be of a deterministic family to be written down, and"):
        record_of(drawn)


def test_a_ledger_takes_a_density(tmp_path: Path) -> None:
    bitsum, family = RandomizedResponse(900, 0.1), LinearMap(5, limit=0.7, rows=6)
    ledger = PrivacyLedger.create(tmp_path / "spent", ("9", "1e-6"))
    ledger.spend(KernelDensityProtocol(bitsum, family.sample(1, np.random.default_rng())), 1)
    assert "linear-map" in (tmp_path / "spent").read_text()


def test_texts_are_read_as_what_each_parameter_is() -> None:
    texts = {"protocol": "RR", "users": "1e4", "flip_probability": ".25"}
    assert protocol_of(texts) == RandomizedResponse(10_000, 0.25)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "protocol=None must be the name of a protocol."),
        (
            {"protocol": "user-level-classifier"},
            "protocol='user-level-classifier' must be one that its parameters make.",
        ),
        ({"protocol": "rr", "users": 9}, "flip_probability of rr is missing."),
        ({"protocol": "rr", "users": 9, "p": 0.1}, "'p' must be a parameter of rr: users, flip_probability."),
        ({"protocol": "rr", "users": "many", "flip_probability": 0.1}, "users='many' must be an integer."),
        ({"protocol": "rr", "users": "9.5", "flip_probability": 0.1}, "users='9.5' must be an integer."),
        ({"protocol": "rr", "users": True, "flip_probability": 0.1}, "users=True must be an integer."),
        ({"protocol": "rr", "users": None, "flip_probability": 0.1}, "users=None must be an integer."),
        (
            {"protocol": "poisson-sum", "users": 9, "largest": 1, "mean": 5, "steps": "x"},
            "steps='x' must be an integer.",
        ),
        ({"protocol": "rr", "users": 9, "flip_probability": "x"}, "flip_probability='x' must be a number."),
    ],
)
def test_what_cannot_be_read_is_refused(record: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        protocol_of(record)
