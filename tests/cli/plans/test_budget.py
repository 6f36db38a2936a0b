"""The shares of a budget as they are printed: whoever reads them composes to within the budget."""

import json
from fractions import Fraction

import pytest

from dpverify import cli
from dpverify.composition.inverse import per_instance_budget
from dpverify.composition.theorems import compose
from dpverify.guarantee import Budget
from dpverify.planning.budgets import split_budget
from dpverify.report.plans.budgets import budget_table
from tests.report.printing import printed

ASKED = ["--epsilon", "0.1", "--delta", "1e-7", "--instances", "30"]


def test_the_command_prints_shares_that_compose_to_within_the_budget(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["budget", *ASKED, "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_float=Fraction)
    assert (found["instances"], found["sparsity"], found["bitsum"], found["users"]) == (30, 1, None, None)
    budget = Budget("0.1", "1e-7")
    for row in found["rows"]:
        one = per_instance_budget(budget, 30, composition=row["composition"])
        # The decimals themselves, whoever reads them: none is above the float that was proved.
        for name, proved in (("epsilon0", one.epsilon0), ("delta0", one.delta0), ("delta_slack", one.delta_slack)):
            assert Fraction(proved) * (1 - Fraction(1, 10**15)) <= row[name] <= Fraction(proved)
        numbers = [float(row[name]) for name in ("epsilon0", "delta0")]
        epsilon, delta = compose(row["composition"], *numbers, 30, delta_slack=float(row["delta_slack"]))
        assert epsilon <= budget.epsilon
        assert delta <= budget.delta


def test_every_option_reaches_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--sparsity", "2", "--bitsum", "Central-Gaussian", "--users", "9"]
    expected = split_budget(("0.1", "1e-7"), 30, sparsity=2, bitsum="central-gaussian", users=9)
    assert cli.main(["budget", *ASKED, *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected.to_dict()
    assert cli.main(["budget", *ASKED, *options]) == 0
    assert capsys.readouterr().out == printed(budget_table(expected), 80)


@pytest.mark.parametrize(
    "words", ["1e-300 1e-300 1e18 --sparsity 1e18", "1e-300 1e-6 768", "1e300 1e-6 768", "1e-149 1e-300 1e18"]
)
def test_shares_at_the_edges_of_the_floats_are_rows(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    epsilon, delta, instances, *more = words.split()
    given = ["--epsilon", epsilon, "--delta", delta, "--instances", instances, *more]
    assert cli.main(["budget", *given, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["composition"] for row in rows] == ["basic", "advanced", "optimal"]
    assert all(row["epsilon0"] > 0 if "error" not in row else row["error"].endswith(".") for row in rows)
