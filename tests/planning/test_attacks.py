"""What malicious users can do to a plan: with and without a cap on their messages."""

from __future__ import annotations

import json
import math

import pytest

from dpverify.claims.caps import capped
from dpverify.claims.manipulation import manipulation
from dpverify.guarantee import Budget
from dpverify.planning.attacks import CAP_SHARE, attack
from protocols.bitsum import CentralGaussian, NegativeBinomial, Poisson, RandomizedResponse, ThreeNB

BUDGET = Budget("2", "1e-6")


@pytest.mark.parametrize("protocol", [Poisson(100, 50.0), ThreeNB(100, 0.5, 9.0, 0.5)])
def test_a_cap_is_the_least_that_costs_next_to_nothing(protocol: Poisson | ThreeNB) -> None:
    found = attack(protocol, 3, BUDGET, 4)
    assert found.freely.upper == math.inf
    assert found.cap is not None
    assert found.cap.delta(BUDGET) <= BUDGET.delta * (1.0 + CAP_SHARE)
    assert capped(protocol, found.cap.messages - 1, instances=4).delta(BUDGET) > BUDGET.delta * (1.0 + CAP_SHARE)
    assert found.capped == manipulation(protocol, 3, found.cap.messages)
    assert found.capped.upper == 3 * found.cap.messages
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["freely"]["upper"] == "inf"


@pytest.mark.parametrize("protocol", [RandomizedResponse(100, 0.1), CentralGaussian(100, 3.0)])
def test_a_fixed_number_of_messages_needs_none(protocol: RandomizedResponse | CentralGaussian) -> None:
    found = attack(protocol, 3, BUDGET, 4)
    assert (found.cap, found.capped, found.note) == (None, found.freely, "")
    assert found.to_dict()["cap"] is None


@pytest.mark.parametrize(
    ("p", "delta", "why"), [(0.9, "1e-30", "share=0.001 of "), (1 - 1e-6, "1e-6", "a law of 32681683 atoms is needed")]
)
def test_a_cap_that_is_not_known_has_a_reason(p: float, delta: str, why: str) -> None:
    found = attack(NegativeBinomial(2, 0.01, p), 1, Budget("2", delta), 4)
    assert found.cap is None
    assert found.capped.upper == math.inf
    assert found.note.startswith(why)


def test_nobody_does_nothing_and_more_than_all_are_refused() -> None:
    assert attack(Poisson(100, 50.0), 0, BUDGET, 1).freely.upper == 0.0
    with pytest.raises(ValueError, match=r"malicious=101 must be an integer in \[0, 100\]"):
        attack(Poisson(100, 50.0), 101, BUDGET, 1)
