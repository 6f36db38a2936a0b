"""What a worker answers, and how it says that it cannot."""

from dataclasses import replace

import pytest

from dpverify.guarantee import Interval, Side
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.serve.state import State
from dpverify.serve.work import DELTAS, Question, Refusal, accounted, honest, planned, profile, shown

SMALL = State.read([("bitsum", "poisson"), ("users", "50"), ("instances", "2"), ("squared_change", "1")])


def test_a_plan_is_that_of_the_library() -> None:
    assert planned(Question.of(SMALL, "exact")) == plan("poisson", ("1", "1e-6"), users=50, instances=2)
    quick = State.read({**SMALL.texts(), "bitsum": "central-discrete-laplace"}.items())
    joint = plan("central-discrete-laplace", ("1", "1e-6"), users=50, instances=2, squared_change="1")
    assert planned(Question.of(quick, "joint")) == joint
    half = Question.of(State.read({**SMALL.texts(), "honest": "0.5"}.items()), "exact")
    row = planned(half)
    assert row == plan("poisson", ("1", "1e-6"), users=50, instances=2, honest="0.5")
    assert accounted(half, row) == account(row.protocol, instances=2, delta="1e-6", honest=25).epsilon
    assert float(shown(row)["text"]) >= row.guarantee.epsilon


def test_what_does_not_matter_makes_no_other_question() -> None:
    other = State.read({**SMALL.texts(), "squared_change": "2"}.items())
    assert Question.of(SMALL, "exact") == Question.of(other, "exact")
    assert Question.of(SMALL, "joint") != Question.of(other, "joint")


def test_an_epsilon_is_that_of_the_library_and_the_profile_encloses_it() -> None:
    question = Question.of(SMALL, "exact")
    row = planned(question)
    exact = account(row.protocol, instances=2, delta="1e-6").epsilon
    assert accounted(question, row) == exact
    seen = profile(row)[DELTAS.index(1e-6)]
    assert seen.lower <= exact.upper
    assert exact.lower <= seen.upper
    assert seen.width < 0.01
    assert seen.upper <= row.guarantee.epsilon  # what the plan keeps is not drawn as broken


def test_fewer_honest_users_never_give_less_epsilon() -> None:
    question = Question.of(SMALL, "exact")
    row = planned(question)
    all_of_them, half = honest(question, row, 50), honest(question, row, 25)
    assert isinstance(half, Interval)
    assert all_of_them.upper <= 1.0 < half.lower


def test_what_cannot_be_planned_is_a_reason() -> None:
    with pytest.raises(Refusal, match="No source of this project states a mean for Poisson noise"):
        planned(Question.of(SMALL, "published"))
    big = State.read([("bitsum", "pure"), ("users", "1e6"), ("instances", "100")])
    question = Question.of(big, "published")
    assert accounted(question, planned(question))  # a flood too large to be listed is proved in closed form


def test_a_formula_that_is_not_confirmed_is_not_shown_as_proved() -> None:
    state = State.read([("bitsum", "rr"), ("users", "50"), ("instances", "1"), ("epsilon", "0.9"), ("delta", "1e-6")])
    question = Question.of(state, "published")
    row = planned(question)
    assert shown(row)["proved"] is (row.guarantee.side is Side.UPPER_BOUND)
    claimed = replace(row, guarantee=replace(row.guarantee, side=Side.ESTIMATE, epsilon=1e-9))
    assert shown(claimed)["proved"] is False
    # Nor does what is only claimed narrow what is proved.
    assert honest(question, claimed, 50).upper > 1e-9
