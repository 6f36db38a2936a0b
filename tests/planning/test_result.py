"""What an account returns, as values that any reader of JSON takes."""

import json
import math

import pytest

from dpverify.changes import Full
from dpverify.claims.attacks.manipulation import manipulation
from dpverify.claims.bitsum.randomized_response import RandomizedResponseClaims
from dpverify.guarantee import Interval, ThreatModel
from dpverify.planning.account import account
from dpverify.planning.result import HonestView
from protocols.bitsum import NegativeBinomial, RandomizedResponse, ThreeNB


@pytest.mark.parametrize("runs", [NegativeBinomial(100, 2.0, 0.5), [(NegativeBinomial(100, 2.0, 0.5), 2)]])
def test_infinity_is_a_word_in_json(runs: object) -> None:
    found = account(runs, delta="1e-6")
    assert found.epsilon.upper == math.inf
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["epsilon"] == {"lower": "inf", "upper": "inf"}
    assert json.loads(text)["guarantee"]["epsilon"] == "inf"


def test_other_numbers_stay_numbers() -> None:
    found = account(RandomizedResponse(1000, 0.25), delta="1e-6")
    shown = found.to_dict()["epsilon"]
    assert shown["lower"] <= found.epsilon.lower <= found.epsilon.upper <= shown["upper"]
    boundless = manipulation(ThreeNB(users=10, p=0.5, flood_shape=9, flood_p=0.9), 1).to_dict()
    assert boundless == {"malicious": 1, "lower": "-inf", "upper": "inf"}


def test_a_view_of_few_honest_users_lies_between_those_of_two_protocols() -> None:
    noise = NegativeBinomial(9, 10.0, 0.9)
    assert len(HonestView.of(noise, None, ThreatModel.COMMUNICATION).protocols) == 1
    less, more = HonestView.of(noise, 7, ThreatModel.COMMUNICATION).protocols
    assert less.shape < 70 / 9 + 1e-9
    assert less.shape < more.shape
    assert less.users == more.users == 7


def test_what_lies_between_two_protocols_has_the_ends_of_both() -> None:
    pair = RandomizedResponse(9, 0.2), RandomizedResponse(9, 0.3)
    view = HonestView(RandomizedResponseClaims(), pair, ThreatModel.COMMUNICATION)
    less, more = (HonestView.of(each, None, ThreatModel.COMMUNICATION) for each in pair)
    assert view.pure_epsilon == Interval(more.pure_epsilon.lower, less.pure_epsilon.upper)
    of_both, *each = (one.curve(Full(1), 1e-3, 1e-4).epsilon(1e-4) for one in (view, less, more))
    assert of_both == Interval(each[1].lower, each[0].upper)
