"""Closed forms from the command line."""

import json

import pytest

from dpverify import cli


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["formula", *words]) == 0
    return capsys.readouterr().out


def test_a_value_is_its_digits_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    # e^-0.0099 by its series, in exact decimals.
    assert printed(capsys, "noise_p", "epsilon0=0.01", "--digits", "30") == "0.990148843682957151556018643139\n"
    assert printed(capsys, "rappor.report-probabilities", "f=1/2", "p=.5", "q=3/4") == "0.5625\n0.6875\n"


def test_an_inverse_names_its_argument(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["randomized-response.rmse", "n=30000", "--solve", "p", "--equals", "62", "--digits", "20"]
    text = printed(capsys, *words)
    assert text.startswith("p = 0.0934466658")
    (row,) = json.loads(printed(capsys, *words, "--json"))["values"]
    assert row["argument"] == "p"
    assert f"p = {row['value']}\n" == text
    assert row["lower"] <= row["value"] <= row["upper"]


def test_formulas_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    every = json.loads(printed(capsys, "--json"))["formulas"]
    assert len(every) > 60
    shown = printed(capsys, "3nb noise")
    assert "exp(-0.99 eps0)" in shown
    assert r"\varepsilon_{0}" in shown
    assert "flood_shape" in printed(capsys, "3nb")
    assert "expected-messages" in printed(capsys, "3nb")
    assert printed(capsys, "baselines.discrete-laplace-p", "--latex") == "e^{- \\varepsilon_{0}}\n"
    described = json.loads(printed(capsys, "three-nb.rmse", "--json"))["formulas"]
    assert described[0]["arguments"] == {"p": None, "shape": 1}
