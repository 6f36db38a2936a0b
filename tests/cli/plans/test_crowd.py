import json
from pathlib import Path

import pytest

from dpverify import cli

WORDS = ["crowd", "--epsilon", "1", "--delta", "1e-3", "--users", "400", "--instances", "1", "--bitsum", "poisson"]


def test_the_command_shows_and_draws_what_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "crowd.png"
    assert cli.main([*WORDS, "--plot", str(plot), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["honest"] == [400, 360, 300, 200, 100, 40, 4]
    ends = [end["upper"] for end in found["rows"][0]["epsilons"]]
    assert ends[0] <= 1.0 < ends[1] < ends[2]
    assert ends[-1] == "inf"  # four users' share of the noise
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_plan_for_nine_in_ten_keeps_the_budget_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WORDS, "--honest", "0.9", "--json"]) == 0
    ends = [end["upper"] for end in json.loads(capsys.readouterr().out)["rows"][0]["epsilons"]]
    assert ends[1] <= 1.0 < ends[2]


def test_one_user_is_no_plural(capsys: pytest.CaptureFixture[str]) -> None:
    one = ["--delta", "1e-6", "--users", "1"]
    for words in (
        ["crowd", "--epsilon", "1", "--instances", "1", "--bitsum", "3nb", *one],
        ["amplify", "--epsilon0", "1", *one],
    ):
        assert cli.main(words) == 0
        assert "n = 1 user," in capsys.readouterr().out


def test_what_malicious_users_can_do_is_told_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WORDS, "--malicious", "7", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["rows"][0]["attack"]
    assert told["freely"] == {"malicious": 7, "lower": 0.0, "upper": "inf"}
    assert told["capped"]["upper"] == 7 * told["cap"]["messages"]
    assert cli.main([*WORDS, "--malicious", "7"]) == 0
    shown = capsys.readouterr().out
    assert "What 7 users who send what they like can add to a sum" in shown
    assert f" {told['cap']['messages']} " in shown


def test_an_epsilon_beyond_all_floats_has_no_cap_and_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*WORDS, "--malicious", "7", "--json"]
    words[words.index("--epsilon") + 1] = "1e5"
    assert cli.main(words) == 0
    told = json.loads(capsys.readouterr().out)["rows"][0]["attack"]
    assert told["cap"] is None
    assert "is proved for no cap" in told["note"]


@pytest.mark.long
def test_a_density_estimator_among_cheaters(capsys: pytest.CaptureFixture[str]) -> None:
    budget = ["--epsilon", "2", "--delta", "1e-3", "--users", "100"]
    words = ["crowd", *budget, "--kernel", "inner-product", "--dimension", "1", "--malicious", "3"]
    assert cli.main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (row,) = told["rows"]
    ends = [end["upper"] for end in row["epsilons"]]
    assert ends[0] <= 2.0 < ends[2] < ends[3]
    assert told["density"]["bits"] == told["instances"]
    assert 0.0 < row["attack"]["freely"]["upper"] == -row["attack"]["freely"]["lower"] < 1.0
