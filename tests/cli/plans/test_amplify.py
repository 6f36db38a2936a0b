import json

import pytest

from dpverify import cli
from dpverify.planning.amplify import RANDOMIZERS, amplify

WORDS = ["amplify", "--users", "100000", "--delta", "1e-3"]


def test_it_prints_the_interval(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WORDS, "--epsilon0", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == amplify(epsilon0=1.0, users=100_000, delta="1e-3").to_dict()
    assert 0.0 < found["epsilon"]["lower"] <= found["epsilon"]["upper"] < 1.0
    assert cli.main([*WORDS, "--epsilon0", "1"]) == 0
    assert "this mechanism or class" in capsys.readouterr().out


@pytest.mark.parametrize("randomizer", RANDOMIZERS)
def test_every_randomizer_is_known(randomizer: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--sigma", "4"] if randomizer == "gaussian" else ["--epsilon0", "0.5"]
    assert cli.main([*WORDS, "--randomizer", randomizer, *more, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["randomizer"] == randomizer


def test_infinity_is_a_string(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WORDS, "--epsilon0", "1", "--delta0", "0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"]["upper"] == "inf"


def test_noise_of_reports_without_an_epsilon0_is_refused_where_that_is_searched(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main([*WORDS, "--epsilon", "1", "--sigma", "4"]) == 2
    assert capsys.readouterr().err.startswith("--sigma=4.0 must not be given for epsilon")
