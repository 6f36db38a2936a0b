"""`account` and `plan` for the protocols beyond rr and 3nb."""

from __future__ import annotations

import json
import math

import pytest

from dpverify import cli
from dpverify.claims.bitsum import BITSUM_CLAIMS

ACCOUNTED = {
    "nb": ["--shape", "40", "--p", "0.8"],
    "poisson": ["--mean", "50"],
    "pure": ["--p", "0.5", "--drop-probability", "0.1", "--flood-shape", "9", "--flood-p", "0.9"],
    "central-gaussian": ["--sigma", "7"],
    "central-discrete-gaussian": ["--sigma", "7"],
    "central-discrete-laplace": ["--p", "0.8"],
    "local-rr": ["--flip-probability", "0.3"],
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert cli.main(arguments) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_every_protocol_can_be_accounted() -> None:
    assert {*ACCOUNTED, "rr", "3nb"} == set(BITSUM_CLAIMS)


@pytest.mark.parametrize("name", ACCOUNTED)
def test_account(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(capsys, "account", name, *ACCOUNTED[name], "--instances", "2", "--delta", "1e-4", "--json")
    assert found["protocol"] == name
    epsilon = found["epsilon"]
    assert isinstance(epsilon, dict)
    assert 0 < epsilon["lower"] <= epsilon["upper"] < 10
    assert cli.main(["account", name, *ACCOUNTED[name], "--instances", "2", "--epsilon", "1"]) == 0


@pytest.mark.parametrize("name", ["rr", *ACCOUNTED])
def test_account_of_a_joint_change(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    parameters = ["--users", "200", "--flip-probability", "0.2"] if name == "rr" else ACCOUNTED[name]
    words = ["account", name, *parameters, "--instances", "4", "--squared-change", "1.5", "--delta", "1e-4"]
    if name == "central-gaussian":
        assert cli.main(words) == 2
        said = "--squared-change=1.5 must be omitted: central-gaussian is accounted for full changes only.\n"
        assert capsys.readouterr().err == said
        return
    found = run(capsys, *words, "--json")
    assert found["change"] == {"kind": "joint", "squared_change": 1.5, "coordinates": 4}
    assert cli.main(words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "I = 4 instances, T^2 = 1.5" in out
    assert "Change: the squared changes of the bits' probabilities add up to 1.5 at most." in out


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("0", "--squared-change='0' must be a finite number in (0, inf)."),
        ("nan", "--squared-change='nan' must be a finite number in (0, inf)."),
        ("4.5", "--squared-change=4.5 must be a finite number in (0, 4]."),
    ],
)
def test_a_squared_change_out_of_range(typed: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["account", "local-rr", *ACCOUNTED["local-rr"], "--instances", "4", "--delta", "1e-4"]
    assert cli.main([*words, "--squared-change", typed]) == 2
    assert capsys.readouterr().err == f"{said}\n"


def test_the_two_views_of_pure(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["account", "pure", "--p", "0.5", "--drop-probability", "0.1", "--instances", "2", "--delta", "0", "--json"]
    for threat_model, loss in (("communication", math.log(10)), ("model", math.log(0.1 + 0.9 / 0.5))):
        found = run(capsys, *words, "--threat-model", threat_model)
        assert found["epsilon"]["upper"] == pytest.approx(2 * loss)  # type: ignore[index]
        assert found["guarantee"]["threat_model"] == threat_model  # type: ignore[index]
    assert cli.main([*words, "--threat-model", "nobody"]) == 2
    assert "--threat-model='nobody' must be one of communication, model" in capsys.readouterr().err


def test_plan_prints_every_kind_of_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "--epsilon", "1", "--delta", "1e-4", "--users", "100", "--instances", "1", "--method", "exact"]
    assert cli.main([*words, "--bitsum", "nb"]) == 0
    assert "estimate=debiased" in capsys.readouterr().out
