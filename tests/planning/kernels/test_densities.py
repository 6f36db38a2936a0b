"""Density estimators over lists of budgets and users."""

import pytest

from dpverify.planning.kernels.densities import plan_densities
from dpverify.planning.kernels.density import plan_density
from tests.planning.normal import normal_noise


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Normal noise in place of every bitsum's plan, and none at all for few users."""

    normal_noise(monkeypatch, refuse=lambda users, **more: "too few users." if users < 10 else None)


def test_each_entry_is_the_plan_for_it_alone() -> None:
    heard: list[tuple[int, int]] = []
    budgets = [("1", "1e-4"), ("2", "1e-4"), ("1", "1e-4")]
    found = plan_densities(
        "gaussian", 3, budgets, users=[100, 200], bandwidth=0.5, progress=lambda *each: heard.append(each)
    )
    assert [(plan.budget.epsilon, plan.users) for plan in found.plans] == [(1, 100), (1, 200), (2, 100), (2, 200)]
    for one in found.plans:
        assert one == plan_density("gaussian", 3, one.budget, users=one.users, bandwidth=0.5)
    assert heard == [(done, 28) for done in range(1, 29)]
    assert len(list(found.rows)) == len(found.to_dict()["rows"]) == 28


def test_what_cannot_be_planned_is_an_entry_with_the_reason() -> None:
    found = plan_densities("gaussian", 3, [("1", "1e-4"), ("1", "0")], users=[5, 100])
    assert [(float(one.budget.exact_delta), one.users) for one in found.plans] == [(1e-4, 100)]
    assert [(float(one.budget.exact_delta), one.users) for one in found.failures] == [(1e-4, 5), (0, 5), (0, 100)]
    assert found.failures[0].error == "too few users."
    assert [row["error"] for row in found.to_dict()["rows"] if "error" in row] == [one.error for one in found.failures]
    told = str(found)
    assert "no plan at (1, 0.0001) for n = 5: too few users." in told
    assert found.plot().get_ylabel() == "RMSE of a density"


def test_why_a_plan_has_no_row_of_some_size_is_said_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def few(users: int, instances: int, **more: object) -> str | None:
        return "too many bits." if users == 100 and instances > 500 else None

    normal_noise(monkeypatch, refuse=few)
    found = plan_densities("gaussian", 3, [("1", "1e-4")], users=[100, 200])
    assert found.plans[0].failures == ("too many bits.",)
    reasons = [row for row in found.to_dict()["rows"] if "error" in row]
    assert [(row["users"], row["error"]) for row in reasons] == [(100, "too many bits.")]


def test_a_table_may_be_of_reasons_alone() -> None:
    found = plan_densities("gaussian", 3, [("1", "1e-4")], users=[5, 6])
    assert not found.plans
    assert "no plan at (1, 0.0001) for n = 6: too few users." in str(found)


def test_lists_must_hold_something() -> None:
    with pytest.raises(ValueError, match=r"^users=\[\] must have at least one entry\.$"):
        plan_densities("gaussian", 3, [("1", "1e-4")], users=[])
    with pytest.raises(ValueError, match=r"^honest='0.01' must be at least 1/50"):
        plan_densities("gaussian", 3, [("1", "1e-4")], users=[500, 50], honest="0.01")
