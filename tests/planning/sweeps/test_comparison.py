"""Each row is what is planned for it alone, or the reason why it cannot be; a bug still raises."""

import pytest

from dpverify.claims.bitsum import three_nb
from dpverify.claims.shared import divisible_noise
from dpverify.guarantee import Budget, CapacityError, Side
from dpverify.planning.plan import plan
from dpverify.planning.sweeps import setting
from dpverify.planning.sweeps.comparison import PlanGrid, plan_bitsums, plan_grid
from dpverify.planning.sweeps.setting import FailedPlan


def test_what_is_too_large_costs_its_own_row_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*args: object, **kwargs: object) -> None:
        raise CapacityError("the flood needs many atoms; pass a larger tail.")

    for module in (divisible_noise, three_nb):  # a twin that is first loaded here would keep what is put in its place
        monkeypatch.setattr(module, "counts", too_large)
    found = plan_bitsums(
        Budget("1", "1e-6"), users=100, instances=2, bitsums=["3nb", "central-gaussian"], methods=["exact"]
    )
    failed, planned = found.rows
    assert isinstance(failed, FailedPlan)
    # Nobody typed the engine's own arguments.
    assert ";" not in failed.error
    assert found.plans == (planned,)


def test_a_bug_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(setting, "plan", broken)
    with pytest.raises(ValueError, match="a bug"):
        plan_bitsums(Budget("1", "1e-6"), users=100, instances=1)


@pytest.mark.parametrize("bitsum", ["3nb", "nb", "pure"])
@pytest.mark.parametrize("epsilon", ["1e-17", "1e-300"])
def test_published_parameters_beyond_the_floats_cost_their_own_row_only(bitsum: str, epsilon: str) -> None:
    (failed,) = plan_bitsums((epsilon, "1e-6"), users=10, instances=1, bitsums=[bitsum], methods=["published"]).rows
    assert isinstance(failed, FailedPlan)


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-20"])
def test_noise_that_floats_cannot_hold_is_a_reason(epsilon: str) -> None:
    found = plan_bitsums(Budget(epsilon, 0), users=100, instances=1, bitsums=["local-rr", "central-discrete-laplace"])
    assert len(found.failures) == 4
    for row in found.failures:
        assert "too small for floats" in row.error or "beyond what floats hold" in row.error


def test_a_budget_beyond_all_losses_costs_no_row_its_plan() -> None:
    bitsums = ["rr", "pure", "central-discrete-laplace", "central-discrete-gaussian", "local-rr"]
    for epsilon in ("1000", "1e300"):
        found = plan_bitsums(Budget(epsilon, "1e-6"), users=100, instances=1, bitsums=bitsums, methods=["exact"])
        assert not found.failures
        assert max(row.guarantee.epsilon for row in found.plans) <= float(epsilon)


def test_a_crowd_beyond_the_floats_costs_its_own_row_only() -> None:
    found = plan_bitsums((1, "1e-6"), users=10**18, instances=2, bitsums=["rr", "3nb"])
    (failed,) = found.failures
    assert (failed.bitsum, failed.method) == ("rr", "published")
    assert "only integers in [0, 2^53) are exact" in failed.error


def test_a_delta_that_next_to_no_law_can_be_listed_for_is_a_reason_in_a_row() -> None:
    found = plan_bitsums(("1", "1e-300"), users=1000, instances=4, bitsums=["3nb", "nb"], methods=["published"])
    assert len(found.rows) == 2
    assert all("tail=" not in row.error for row in found.failures)
    # The flood of 3NB is proved in closed form all the same.
    sides = {row.bitsum: row.guarantee.side for row in found.plans}
    assert sides.pop("3nb") is Side.UPPER_BOUND
    assert all(side is Side.ESTIMATE for side in sides.values())


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

    monkeypatch.setattr(setting, "plan", planned)
    with pytest.raises(ValueError, match=said):
        small(**options)
    with pytest.raises(ValueError, match="budgets"):
        plan_grid([], users=1, instances=1)


def test_progress_is_told_after_every_row() -> None:
    heard: list[tuple[int, int]] = []
    small(progress=lambda done, total: heard.append((done, total)))
    assert heard == [(done, 8) for done in range(1, 9)]
