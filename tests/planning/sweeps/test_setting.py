"""A sweep plans its settings in order; what cannot be planned is a row with its reason."""

import inspect
from dataclasses import fields, replace

from dpverify.planning.plan import plan
from dpverify.planning.sweeps.setting import FailedPlan, Setting, sweep


def test_a_sweep_is_of_one_plan_for_each_setting() -> None:
    heard: list[tuple[int, int]] = []
    setting = Setting("central-gaussian", ("1", "1e-6"), 100, 2, honest="0.5")
    least, none = sweep(
        [replace(setting, users=200), replace(setting, budget=(1, 0))], lambda *told: heard.append(told)
    )
    assert least == plan("central-gaussian", ("1", "1e-6"), users=200, instances=2, honest="0.5")
    assert least.change == setting.change
    assert isinstance(none, FailedPlan)
    assert none.to_dict() == {
        "bitsum": "central-gaussian", "method": "exact", "composition": None, "error": none.error,
    }  # fmt: skip
    assert none.error.startswith("delta=0 cannot be met")
    assert heard == [(1, 2), (2, 2)]


def test_a_setting_has_the_names_of_a_plans_arguments() -> None:
    assert {field.name for field in fields(Setting)} <= set(inspect.signature(plan).parameters)
