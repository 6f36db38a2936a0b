"""Plans over lists: each row is what is planned for it alone."""

from __future__ import annotations

import pytest

from dpverify.planning.plan import plan
from dpverify.planning.sweeps import comparison
from dpverify.planning.sweeps.comparison import FailedPlan
from dpverify.planning.sweeps.grid import PlanGrid, plan_grid

BUDGETS = [("0.5", "1e-6"), (2, "1e-6")]


def small(**options: object) -> PlanGrid:
    chosen: dict[str, object] = {"users": [100, 200], "instances": 2, "bitsums": ["poisson", "local-rr"]}
    return plan_grid(BUDGETS, methods=["exact"], **(chosen | options))  # type: ignore[arg-type]


def test_each_row_is_what_is_planned_for_it_alone() -> None:
    found = small()
    alone = [
        plan(bitsum, budget, users=users, instances=2)
        for budget in BUDGETS
        for users in (100, 200)
        for bitsum in ("poisson", "local-rr")
    ]
    assert list(found.plans) == alone
    rows = found.to_dict()["rows"]
    assert [(row["budget"]["epsilon"], row["users"], row["instances"]) for row in rows[::2]] == [
        (0.5, 100, 2),
        (0.5, 200, 2),
        (2.0, 100, 2),
        (2.0, 200, 2),
    ]
    assert [row["bitsum_rmse"] for row in rows] == [row.bitsum_rmse for row in alone]


def test_values_that_are_the_same_count_once() -> None:
    found = plan_grid([(2, "1e-6"), ("2.0", 1e-6), ("2", "1e-6")], users=[100, 100], instances=2, bitsums=["local-rr"])
    assert len(found.comparisons) == 2  # the float nearest to 1e-6 is another number
    assert found.users == (100,)


def test_a_row_that_fails_is_a_row_with_its_reason() -> None:
    found = plan_grid([(2, 0), (2, "1e-6")], users=100, instances=2, bitsums=["poisson"], methods=["exact"])
    (failed,), (planned,) = found.failures, found.plans
    assert isinstance(failed, FailedPlan)
    assert "delta=0 cannot be met" in failed.error
    assert [("error" in row) for row in found.to_dict()["rows"]] == [True, False]
    assert planned.guarantee.epsilon <= 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"users": []}, r"users=\[\] must have at least one entry"),
        ({"users": [100, 0]}, "users=0 must be"),
        ({"squared_change": 3, "instances": [8, 2]}, "squared_change=3 must be at most instances=2"),
        ({"honest": "0.005"}, "honest='0.005' must be at least 1/100"),
    ],
)
def test_arguments_are_checked_before_anything_is_planned(
    options: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planned(*args: object, **kwargs: object) -> None:
        raise AssertionError("planned before the arguments were checked")

    monkeypatch.setattr(comparison, "plan", planned)
    with pytest.raises(ValueError, match=said):
        small(**options)
    with pytest.raises(ValueError, match="budgets"):
        plan_grid([], users=1, instances=1)


def test_progress_is_told_after_every_row() -> None:
    heard: list[tuple[int, int]] = []
    small(progress=lambda done, total: heard.append((done, total)))
    assert heard == [(done, 8) for done in range(1, 9)]
