"""The command that puts protocols for a sum side by side."""

import json

import pytest

from dpverify import cli
from dpverify.cli.plans.sums import held

BUDGET = ["sums", "--epsilon", "1", "--delta", "1e-6"]
ASKED = [*BUDGET, "--users", "200", "--largest", "3"]


def test_the_table_and_json_have_the_same_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(ASKED) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Sums of integers from 0 to 3, budget (1, 1e-06), n = 200 users" in shown
    assert "communication threat model" in shown
    assert cli.main([*ASKED, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in found["rows"]] == ["split-and-mix", "poisson-sum", "nb-sum"]
    assert found["rows"][0]["bytes"] == found["rows"][0]["messages"] * 2 > 0


def test_ratings_and_real_numbers_have_a_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*BUDGET, "--users", "200", "--smallest", "1", "--largest", "4", "--json"]) == 0
    rating = json.loads(capsys.readouterr().out)
    assert rating["rows"][0]["parameters"]["smallest"] == rating["smallest"] == 1
    assert cli.main([*BUDGET, "--users", "200", "--smallest=-.5", "--largest", ".5", "--real"]) == 0
    assert "Sums of numbers from -0.5 to 0.5, budget" in " ".join(capsys.readouterr().out.split())


@pytest.mark.long
def test_vectors_have_a_row_for_each_number_of_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [*BUDGET, "--users", "1000", "--dimension", "16"]
    assert cli.main([*asked, "--bytes", "20,60", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    few, many = found["rows"]
    assert 1.0 < many["ratio"] < few["ratio"]
    assert few["bytes_per_user"] <= 20 < many["bytes_per_user"] <= 60
    assert cli.main(["front", *BUDGET[1:], "--users", "200", "--dimension", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dimension"] == 3


def test_front_takes_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["front", *BUDGET[1:], "--users", "200", "--largest", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["parameters"].get("steps") for row in found["rows"]} == {None, 1}
    assert sum(row["recommended"] for row in found["rows"]) == 1
    assert cli.main(["front", *BUDGET[1:], "--users", "200", "--largest", "2", "--within", "9", "--json"]) == 0
    most = json.loads(capsys.readouterr().out)
    (taken,) = (row["messages"] for row in most["rows"] if row["recommended"])
    assert most["within"] == 9.0
    assert taken == min(row["messages"] for row in most["rows"])
    assert cli.main(["front", *BUDGET[1:], "--users", "200", "--dimension", "2", "--within", "9"]) == 2
    assert capsys.readouterr().err == "--within=9 must be omitted for vectors, of which no row is recommended.\n"


def test_peers_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.planning.sums.vectors.vector_front", lambda budget, **given: given)
    (vectors,) = held(dimension=3, peers=True)
    assert vectors(None, 200, 1) == {"users": 200, "dimension": 3, "peers": True}
