"""What the exact law of the parameters says of a claim, without a trial."""

import math

import pytest

from dpverify.audit.exact import exact_result
from dpverify.guarantee import Budget
from protocols.bitsum import RandomizedResponse
from protocols.local.labels import LabelRandomizedResponse
from protocols.sums.split_and_mix import SplitAndMix

LABELS = LabelRandomizedResponse(4, 1.0)


@pytest.mark.parametrize(
    ("claim", "p_value", "power"),
    [(("1", "0"), 1.0, 1.0), (("1.01", "0"), 1.0, 1.0), (("0.999", "0"), 0.0, 0.0), (("0.5", "0.9"), 1.0, 1.0)],
)
def test_a_claim_is_proved_or_refuted(claim: tuple[str, str], p_value: float, power: float) -> None:
    result = exact_result(LABELS, Budget(*claim))
    assert (result.p_value, result.power, result.trials) == (p_value, power, 0)
    assert result.check == "privacy of the parameters"


def test_a_claim_inside_the_interval_is_left_open() -> None:
    protocol = RandomizedResponse(50, 0.1)
    ends = exact_result(protocol, Budget("1", "1e-6")).details["epsilon"]
    inside = 0.5 * (ends["lower"] + ends["upper"])
    assert ends["lower"] < inside < ends["upper"]
    result = exact_result(protocol, Budget(inside, "1e-6"))
    assert (result.p_value, result.power) == (1.0, 0.0)
    assert "no number of trials can decide" in result.evidence


def test_where_no_epsilon_is_proved_a_larger_delta_is_asked_for() -> None:
    result = exact_result(SplitAndMix(20, 1, modulus=2**20, shares=4, p=0.7, shape=9.0), Budget(1, 0))
    assert (result.p_value, result.power) == (1.0, 0.0)
    assert result.evidence.endswith("claim a larger delta to have it proved")


def test_pure_claims_are_compared_with_the_largest_loss() -> None:
    protocol = RandomizedResponse(50, 0.1)
    assert exact_result(protocol, Budget(math.log(9.0) + 1e-6, 0)).power == 1.0
    assert exact_result(protocol, Budget(math.log(9.0) - 1e-6, 0)).p_value == 0.0
