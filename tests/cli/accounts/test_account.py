"""`account`: every protocol, at delta or at epsilon, as an interval in a table or in strict JSON."""

import math

import pytest

from dpverify import cli
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.guarantee import Interval
from tests.cli.words import RR, THREE_NB, Run

ACCOUNTED = {
    "nb": ["--shape", "40", "--p", "0.8"],
    "poisson": ["--mean", "50"],
    "pure": ["--p", "0.5", "--drop-probability", "0.1", "--flood-shape", "9", "--flood-p", "0.9"],
    "central-gaussian": ["--sigma", "7"],
    "central-discrete-gaussian": ["--sigma", "7"],
    "central-discrete-laplace": ["--p", "0.8"],
    "local-rr": ["--flip-probability", "0.3"],
}


def test_every_protocol_can_be_accounted() -> None:
    assert {*ACCOUNTED, "rr", "3nb"} == set(BITSUM_CLAIMS)


@pytest.mark.parametrize("name", ACCOUNTED)
def test_account(name: str, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    found = run("account", name, *ACCOUNTED[name], "--instances", "2", "--delta", "1e-4", "--json")
    assert found["protocol"] == name
    epsilon = found["epsilon"]
    assert isinstance(epsilon, dict)
    assert 0 < epsilon["lower"] <= epsilon["upper"] < 10
    assert cli.main(["account", name, *ACCOUNTED[name], "--instances", "2", "--epsilon", "1"]) == 0


def test_account_of_a_joint_change_and_of_points_of_a_ball(run: Run) -> None:
    words = ["account", "poisson", *ACCOUNTED["poisson"], "--instances", "4", "--delta", "1e-4"]
    change = ["--squared-change", "1.5"]
    found, ball = run(*words, *change, "--json"), run(*words, *change, "--ball", "--json")
    assert found["change"] == {"kind": "joint", "squared_change": 1.5, "coordinates": 4}
    assert ball["change"] == {"kind": "ball", "squared_change": 1.5, "coordinates": 4}
    assert ball["epsilon"]["upper"] <= found["epsilon"]["upper"] * (1.0 + 1e-3)
    shown = [" ".join(run(*words, *change, *more).split()) for more in ([], ["--ball"])]
    assert "I = 4 instances, T^2 = 1.5" in shown[0]
    assert "Change: the squared changes of the bits' probabilities add up to 1.5 at most." in shown[0]
    assert "the squares of 2b - 1" in shown[1]


@pytest.mark.parametrize(
    "words",
    [
        ["3nb", "--users", "9", "--p", "0.7", "--flood-shape", "9", "--flood-p", "0.9"],
        ["pure", "--p", "0.7", "--flood-shape", "9", "--flood-p", "0.9"],
        ["pure", "--p", "0.7", "--threat-model", "model"],
    ],
)
def test_the_shape_of_the_noise(words: list[str], run: Run) -> None:
    def upper(*shape: str) -> float:
        found = run("account", *words, *shape, "--instances", "2", "--delta", "1e-4", "--json")
        return float(found["epsilon"]["upper"])

    assert upper() == upper("--shape", "1") > upper("--shape", "3")


def test_the_two_views_of_pure(run: Run) -> None:
    words = ["account", "pure", "--p", "0.5", "--drop-probability", "0.1", "--instances", "2", "--delta", "0", "--json"]
    for threat_model, loss in (("communication", math.log(10)), ("model", math.log(0.1 + 0.9 / 0.5))):
        found = run(*words, "--threat-model", threat_model)
        assert found["epsilon"]["upper"] == pytest.approx(2 * loss)
        assert found["guarantee"]["threat_model"] == threat_model


def test_account_contains_the_closed_form(run: Run) -> None:
    # One user: delta(eps) = (1 - p) - e^eps p.
    at_delta = run(*RR, "--delta", "0.1", "--json")
    assert math.log(0.65 / 0.25) in Interval(**at_delta["epsilon"])
    assert at_delta["epsilon"]["upper"] - at_delta["epsilon"]["lower"] < 1e-3
    # A tenth lies between two floats.
    assert at_delta["delta"]["lower"] < 0.1 <= at_delta["delta"]["upper"] < 0.1 + 1e-15
    assert at_delta["guarantee"]["epsilon"] == at_delta["epsilon"]["upper"]
    at_epsilon = run(*RR, "--epsilon", "0", "--json")
    assert 0.5 in Interval(**at_epsilon["delta"])
    assert at_epsilon["epsilon"] == {"lower": 0.0, "upper": 0.0}


def test_an_infinite_epsilon_is_strict_json(run: Run) -> None:
    # No count of ones at all, probability 0.45, happens for the bit 0 only: no epsilon is enough.
    assert run(*THREE_NB, "--delta", "1e-6", "--json")["epsilon"]["upper"] == "inf"
    assert "inf" in run(*THREE_NB, "--delta", "1e-6")
