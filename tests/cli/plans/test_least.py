"""`least` and `front`: they print what the library returns, with commands that check it."""

import csv
import shlex
from pathlib import Path

import pytest

from dpverify.planning.kernels.least_density import error_for_margin, least_density_users
from dpverify.planning.sweeps.fronts import front
from dpverify.planning.sweeps.least import least_epsilon, least_messages, least_users
from tests.cli.words import Run
from tests.planning.normal import normal_noise

DELTA = ["--delta", "1e-6", "--instances", "2", "--bitsum", "poisson"]
USERS = ["least", "users", "--epsilon", "1", *DELTA, "--error", "0.02"]
EPSILON = ["least", "epsilon", *DELTA, "--error", "0.015", "--users", "2e3"]
MESSAGES = ["least", "messages", "--epsilon", "1", *DELTA, "--error", "0.015", "--users", "2e3"]
FRONT = ["front", "--epsilon", "1", *DELTA, "--users", "2e3"]


@pytest.mark.long
def test_they_print_what_the_library_returns(run: Run) -> None:
    common = {"instances": 2, "bitsums": ["poisson"]}
    for words, expected in (
        (USERS, least_users((1, "1e-6"), error=0.02, **common)),
        (EPSILON, least_epsilon("1e-6", error=0.015, users=2000, **common)),
        (MESSAGES, least_messages((1, "1e-6"), error=0.015, users=2000, **common)),
    ):
        found = run(*words, "--json")
        check = found["rows"][0].pop("check")
        assert found == expected.to_dict()
        epsilon = run(*shlex.split(check)[1:], "--json")["epsilon"]
        assert epsilon["upper"] <= (expected.best.least if words is EPSILON else 1.0)
    found = run(*FRONT, "--json")
    assert found.pop("check").startswith("dpverify account poisson ")
    assert found == front((1, "1e-6"), users=2000, **common).to_dict()


@pytest.mark.long
def test_a_kernel_goes_back_to_users_and_to_epsilon(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    normal_noise(monkeypatch)
    kernel = ["--kernel", "inner-product", "--dimension", "8", "--delta", "1e-4", "--csv", str(tmp_path / "x.csv")]
    found = run("least", "users", "--epsilon", "2", *kernel, "--error", "0.05", "--json")
    assert found == least_density_users("inner-product", 8, (2, "1e-4"), error=0.05).to_dict()
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        assert [float(row["least"]) for row in csv.DictReader(file)] == [row["least"] for row in found["rows"]]
    users = ["--users", "300", "--bitsum", "poisson"]
    found = run("least", "epsilon", *kernel, *users, "--margin", "0.2", "--confidence", "0.8", "--json")
    assert {row["bitsum"]["bitsum"] for row in found["rows"]} == {"poisson"}
    assert found["error"] == error_for_margin(0.2, 0.8)


def test_files_are_written(run: Run, tmp_path: Path) -> None:
    rows, figure = tmp_path / "rows.csv", tmp_path / "front.svg"
    found = run(*FRONT, "--csv", str(rows), "--plot", str(figure), "--json")
    with rows.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["bitsum_rmse"]) == found["rows"][0]["bitsum_rmse"]
    assert row["recommended"] == "True"
    assert b"<svg" in figure.read_bytes()[:500]


def test_a_margin_is_an_option_of_plan(run: Run) -> None:
    words = ["plan", "--epsilon", "1", "--delta", "1e-6", "--users", "1000", "--instances", "2", "--bitsum", "nb"]
    published, exact = run(*words, "--error-margin", "0.1", "--json")["rows"]
    assert "published parameters trade nothing" in published["error"]
    assert exact["messages_per_user"] < run(*words, "--json")["rows"][1]["messages_per_user"]
