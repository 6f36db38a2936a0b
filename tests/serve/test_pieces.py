"""Pieces come in the order in which they are wanted, and are answered as the library would."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.serve.desk import Desk
from dpverify.serve.pieces import pieces, streamed
from dpverify.serve.state import State
from dpverify.serve.work import Question

SMALL = State.read([("bitsum", "poisson"), ("users", "50"), ("instances", "2")])


class Here:
    """A desk that computes at once, in this process, in the order asked."""

    def __init__(self, known: object = None) -> None:
        self.asked = 0
        self._known = known

    def knows(self, key: object) -> bool:
        return key == self._known

    async def ask(
        self, key: object, function: Callable[..., Any], *arguments: Any, rank: tuple[int, ...], near: object = None
    ) -> Any:
        self.asked += 1
        return function(*arguments)


def answers(state: State, names: set[str], known: object = None) -> dict[str, dict[str, Any]]:
    async def collect() -> list[dict[str, Any]]:
        wanted = [piece for piece in pieces(state) if piece.name in names]
        return [answer async for some in streamed(wanted, cast(Desk, Here(known)), 1) for answer in some]

    return {answer["piece"]: answer for answer in asyncio.run(collect())}


def test_the_plan_comes_first_and_fine_points_come_last() -> None:
    names = [piece.name for piece in pieces(SMALL)]
    # A point by a formula is there before the exact plan, and begins a curve.
    assert names[:4] == ["quick/exact", "users/published/100", "plan/exact", "profile/exact"]
    assert len(names) == len(set(names))
    assert not [name for name in names if "joint" in name]
    assert names.index("users/exact/100") < names.index("honest/exact/1") < names.index("users/exact/200")


def test_joint_changes_are_asked_for_where_there_are_any_and_after_what_is_quick() -> None:
    state = State.read({**SMALL.texts(), "squared_change": "1"}.items())
    names = [piece.name for piece in pieces(state)]
    assert {"plan/joint", "profile/joint", "users/joint/100", "honest/joint/1"} <= set(names)
    assert names.index("users/published/100") < names.index("users/joint/100")
    assert "users/joint/200" not in names


def test_the_work_of_a_page_is_bounded() -> None:
    largest = State.read([("users", "1e7"), ("instances", "1e4"), ("squared_change", "8"), ("honest", "0.5")])
    assert len(pieces(largest)) < 100


def test_where_a_plan_takes_long_a_quick_one_comes_before_it() -> None:
    state = State.read([("bitsum", "rr"), ("users", "500"), ("instances", "4")])
    assert [piece.name for piece in pieces(state)][:3] == ["quick/exact", "users/published/100", "plan/exact"]
    found = answers(state, {"quick/exact", "plan/exact"})
    quick, best = found["quick/exact"]["plan"], found["plan/exact"]["plan"]
    assert best["bitsum_rmse"] < quick["bitsum_rmse"] < 1.02 * best["bitsum_rmse"]
    assert quick["proved"] is True
    # Where the best is at hand nobody waits, and nothing else is computed.
    assert answers(state, {"quick/exact"}, Question.of(state, "exact")) == {"quick/exact": {"piece": "quick/exact"}}


def test_points_are_the_plans_of_the_library() -> None:
    found = answers(SMALL, {"plan/exact", "users/exact/100", "epsilon/exact/0.5", "honest/exact/0.5"})
    row = plan("poisson", ("1", "1e-6"), users=50, instances=2)
    assert found["plan/exact"]["plan"]["parameters"] == row.parameters
    assert found["users/exact/100"]["y"] == plan("poisson", ("1", "1e-6"), users=100, instances=2).bitsum_rmse
    assert found["epsilon/exact/0.5"]["y"] == plan("poisson", ("0.5", "1e-6"), users=50, instances=2).bitsum_rmse
    assert found["honest/exact/0.5"]["lower"] > row.guarantee.epsilon


def test_what_the_plan_means_is_what_its_account_means() -> None:
    row = plan("poisson", ("1", "1e-6"), users=50, instances=2)
    meaning = account(row.protocol, instances=2, delta="1e-6").meaning(relative_width=1e-5)
    found = {each["about"]: each for each in answers(SMALL, {"meaning/exact"})["meaning/exact"]["rows"]}
    for risk, about in zip(meaning.risks[:2], ("advantage", "false negatives at rate 0.01"), strict=True):
        least, most = float(found[about]["least"]), float(found[about]["most"])
        assert least - 1e-6 <= risk.value.midpoint <= most + 1e-6
        assert most - least <= 0.02
    assert set(found) >= {"guess at prior 0.5", "guess at prior 0.01", "guess among 10 values"}


def test_what_has_no_plan_is_a_reason() -> None:
    found = answers(SMALL, {"plan/published", "users/published/100"})
    assert len({answer["error"] for answer in found.values()}) == 1
