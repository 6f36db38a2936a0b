"""The lines that are shown to copy give the page's numbers."""

import json
import shlex

import pytest

from dpverify.planning.plan import PlanRow
from dpverify.serve.lines import python_lines, shell_lines
from dpverify.serve.state import State
from dpverify.serve.work import Question, Way, accounted, honest, planned
from tests.cli.words import Run, runner

LINKS = (
    {"bitsum": "poisson", "users": "50", "instances": "2", "honest": "1/2"},
    {
        "bitsum": "central-discrete-laplace",
        "users": "40",
        "instances": "4",
        "squared_change": "1",
        "epsilon": "2",
    },
)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def plan_of(state: State, way: Way) -> PlanRow:
    return planned(Question.of(state, way))


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link["bitsum"])
def test_the_commands_print_the_plans_and_the_epsilons(link: dict[str, str], run: Run) -> None:
    state = State.read(link.items())
    full, *joint, crowd = [shlex.split(line)[1:] for line in shell_lines(state).splitlines()]
    exact = plan_of(state, "exact")
    by_method = {row["method"]: row for row in run(*full, "--json")["rows"]}
    assert by_method["exact"] == json.loads(json.dumps(exact.to_dict())) | {"check": by_method["exact"]["check"]}
    assert [run(*words, "--json")["rows"][0]["bitsum_rmse"] for words in joint] == [
        plan_of(state, way).bitsum_rmse for way in ("joint",) if state.squared_change is not None
    ]
    found = run(*crowd, "--json")
    for users, epsilon in zip(found["honest"], found["rows"][0]["epsilons"], strict=True):
        assert honest(Question.of(state, "exact"), exact, users).to_dict() == epsilon


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link["bitsum"])
def test_the_program_prints_the_error_and_epsilon(link: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    state = State.read(link.items())
    way: Way = "exact" if state.squared_change is None else "joint"
    exec(compile(python_lines(state), "page.py", "exec"), {})
    error, epsilon = capsys.readouterr().out.splitlines()
    row = plan_of(state, way)
    assert error == f"{row.bitsum_rmse} users"
    assert epsilon == str(accounted(Question.of(state, way), row))


def test_no_state_can_say_more_than_numbers_in_a_line() -> None:
    state = State.read([("epsilon", "1/3"), ("squared_change", "1e0"), ("honest", ".5")])
    words = shlex.split(shell_lines(state))
    assert not {word for word in words if set(word) & set(";|&$`<>\"'\\")}
