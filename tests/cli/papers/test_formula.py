"""Closed forms from the command line."""

from __future__ import annotations

import json

import pytest

from dpverify import cli


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["formula", *words]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["formula", *words]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
    return err


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope"], "NAME='nope' must be part of a formula's name or first line"),
        (["rmse", "n=3"], "NAME='rmse' must name one formula; it could be kde.biased-rmse-bound,"),
        (["noise_p", "eps=1"], "'eps' must be an argument of three-nb.noise-p: epsilon0."),
        (["noise_p", "epsilon0"], "'epsilon0' must be ARGUMENT=NUMBER, each argument once."),
        (["noise_p", "epsilon0=1", "epsilon0=2"], "'epsilon0=2' must be ARGUMENT=NUMBER, each argument once."),
        (["noise_p", "epsilon0=1/0"], "epsilon0='1/0' must be a finite number in (-inf, inf)."),
        (["noise_p", "epsilon0=-1"], "epsilon0=-1.0000000000000000 must be in (0, inf)."),
        (["noise_p", "epsilon0=1e99"], "the value has a size of about 2^-"),
        (["noise_p", "--solve", "epsilon0"], "--solve and --equals must be given together, or neither."),
        (["noise_p", "--equals", ".5"], "--solve and --equals must be given together, or neither."),
        (["noise_p", "epsilon0=1", "--which", "1"], "--low, --high and --which must be given with --solve"),
        (["noise_p", "epsilon0=1", "--low", "1"], "--low, --high and --which must be given with --solve"),
        (
            ["noise_p", "--solve", "epsilon0", "--equals", ".5", "--which", "3"],
            "--which=3 must be an integer in [1, 1].",
        ),
        (
            ["noise_p", "--solve", "epsilon0", "--equals", ".5", "--low", "3", "--high", "2"],
            "--low=3 must be in (-inf, 2), below high.",
        ),
        (
            ["gamma-theorem", "epsilon=.5", "delta=1e-6", "d=2", "k=3", "n=100", "t=5"],
            "t=5.0000000000000000 must be in [1, d], and d=2.0000000000000000.",
        ),
        (["gamma-theorem", "--latex"], "vector-sum.gamma-theorem needs values for some of epsilon,"),
    ],
)
def test_mistakes_are_one_sentence(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, *words).startswith(message)
