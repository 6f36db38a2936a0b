"""Protocols written down and read back are equal; what cannot be read is refused in one sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpverify.claims.buckets import under_estimating
from dpverify.claims.records import protocol_of, record_of
from protocols.bitsum import NegativeBinomial, Pure, RandomizedResponse, ThreeNB
from protocols.histogram import Histogram
from protocols.local.labels import LabelRandomizedResponse
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
    ],
)
def test_what_was_written_is_read_back(protocol: Any) -> None:
    assert protocol_of(json.loads(json.dumps(record_of(protocol)))) == protocol


def test_texts_are_read_as_what_each_parameter_is() -> None:
    texts = {"protocol": "RR", "users": "1e4", "flip_probability": ".25"}
    assert protocol_of(texts) == RandomizedResponse(10_000, 0.25)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "protocol=None must be the name of a protocol."),
        ({"protocol": "rr", "users": 9}, "flip_probability of rr is missing."),
        ({"protocol": "rr", "users": 9, "p": 0.1}, "'p' must be a parameter of rr: users, flip_probability."),
        ({"protocol": "rr", "users": "many", "flip_probability": 0.1}, "users='many' must be an integer."),
        ({"protocol": "rr", "users": "9.5", "flip_probability": 0.1}, "users='9.5' must be an integer."),
        ({"protocol": "rr", "users": True, "flip_probability": 0.1}, "users=True must be an integer."),
        ({"protocol": "rr", "users": None, "flip_probability": 0.1}, "users=None must be an integer."),
        ({"protocol": "rr", "users": 9, "flip_probability": "x"}, "flip_probability='x' must be a number."),
    ],
)
def test_what_cannot_be_read_is_refused(record: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        protocol_of(record)
