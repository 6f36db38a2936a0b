"""The command that audits any code: two inputs, a search, or two samplers."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpverify import cli

HERE = "tests.cli.audits.test_black_box"
CLAIM = ["--claim-epsilon", "1.1", "--claim-delta", "0"]
AUDIT = ["audit", "mechanism"]
PAIR = ["--input", "0,0", "--neighbour", "1,0"]


def noisy(values: np.ndarray, rng: np.random.Generator) -> tuple[str, int]:
    p = -np.expm1(-1.0)
    return "count", int(values.sum() + rng.geometric(p) - rng.geometric(p))


def kind(values: np.ndarray, rng: np.random.Generator) -> str:
    return values.dtype.kind


def forgetful(values: np.ndarray, rng: np.random.Generator) -> float:
    return float(values[-1] + rng.normal())


def coin(rng: np.random.Generator) -> str:
    return "ab"[rng.integers(2)]


def biased(rng: np.random.Generator) -> str:
    return "ab"[int(rng.random() < 0.99)]


@pytest.mark.long
def test_an_anytime_audit_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claim = ["--claim-epsilon", "0.2", "--claim-delta", "0"]
    kept = ["--resume", str(tmp_path / "draws.npz"), "--trials", "20_000", "--anytime", "--json"]
    words = [*AUDIT, "--target", f"{HERE}:noisy", *PAIR, *claim, *kept]
    assert cli.main(words) == 1
    first = json.loads(capsys.readouterr().out)
    assert first["trials"] < 2_000
    assert cli.main([*words, "--workers", "2"]) == 1
    assert json.loads(capsys.readouterr().out) == first


def test_a_look_inside_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*AUDIT, "--target", "tests.audit.inside.targets:half_scale", *PAIR, *CLAIM, "--inside"]
    assert cli.main([*words, "--plot", str(tmp_path / "a.png")]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "Violates: inside, scale: with the same draws the inputs differ by epsilon 2 of Laplace noise" in text
    assert "targets.py:" in text
    assert "Diagnosis: floats (a hint)" in text


@pytest.mark.long
def test_a_search(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*AUDIT, "--target", f"{HERE}:forgetful", "--users", "4", "--high", "50", *CLAIM, "--trials", "1_000"]
    assert cli.main([*words, "--resolution", "1e-6", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    wrong = [result["check"] for result in found["results"] if result["verdict"] == "violates"]
    assert wrong[0] == "privacy of the output, others mixed, the last user changes"
    assert all(check.endswith("others mixed, the last user changes") for check in wrong)


@pytest.mark.long
def test_two_samplers(capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["--first", f"{HERE}:coin", "--second", f"{HERE}:biased", "--trials", "2_000"]
    assert cli.main([*AUDIT, *pair, *CLAIM]) == 1
    capsys.readouterr()
    assert cli.main([*AUDIT, *pair, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert 2.5 < found["epsilon_lower"] < np.log(50)
    assert found["claim"] is None


@pytest.mark.parametrize(("text", "shown"), [("1,-2", "i"), ("1,2.0", "f")])
def test_whole_numbers_are_integers(text: str, shown: str) -> None:
    from dpverify.cli.audits.black_box import _numbers

    assert kind(_numbers("--input", text), np.random.default_rng()) == shown


@pytest.mark.long
@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (["--claim-mu", "0.1"], "mu 0.1"),
        (["--claim-rho", "0.01"], "rho 0.01"),
        (["--claim-renyi", "4:0.05"], "order 4, divergence 0.05"),
        (["--claim-curve", "curve.csv"], "points 2"),
    ],
)
def test_claims_in_other_terms(claim: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "curve.csv").write_text("epsilon, delta\n0.1, 0.01\n0.2, 0.001\n", encoding="utf-8")
    if claim[0] == "--claim-curve":
        claim = [claim[0], str(tmp_path / claim[1])]
    words = [*AUDIT, "--target", f"{HERE}:noisy", *PAIR, *claim, "--trials", "4_000"]
    assert cli.main(words) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert f"claim {said}: violates" in text
    assert ", claimed " in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--input", "0", "--neighbour", "1", "--low", "5"], "--low and --high must be omitted without --users"),
        (["--users", "3", "--trials", "100", "--seconds", "5"], "--seconds=5 must be omitted with --trials"),
    ],
)
def test_what_would_be_ignored_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["audit", "mechanism", "--target", "math:fsum", *words]) == 2
    assert capsys.readouterr().err.startswith(message)
