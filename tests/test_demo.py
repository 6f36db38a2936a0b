import io
import math
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from dpverify import demo
from dpverify.guarantee import Adjacency, InfeasibleBudgetError, Side, ThreatModel
from dpverify.planning.plan import PlanRow
from dpverify.report import plots, tables
from tests.conftest import cached_plan


def text_of(result: demo.DemoResult) -> str:
    console = Console(file=io.StringIO(), width=tables.WIDTH)
    console.print(tables.demo_table(result))
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.long
def test_every_classifier_runs_and_is_reported(small_demo: demo.DemoResult) -> None:
    names = ["no privacy", "rr, published", "rr, exact", "3nb, published", "3nb, exact"]
    assert [row.name for row in small_demo.rows] == names
    assert (small_demo.users, small_demo.queries, small_demo.users_per_class) == (1347, 450, 135)
    text = text_of(small_demo)
    assert all(name in text for name in names)


def test_exact_parameters_beat_the_published_ones(small_demo: demo.DemoResult) -> None:
    rows = {row.name: row for row in small_demo.rows}
    assert rows["rr, exact"].accuracy > 0.4
    assert rows["rr, published"].accuracy < 0.25
    assert rows["3nb, exact"].rmse < rows["3nb, published"].rmse  # type: ignore[operator]
    # One image cannot change all bits: half of them in full is what is charged, where all of them take 19.7.
    assert 13.0 < rows["rr, exact"].rmse < 16.0  # type: ignore[operator]
    # The features of the exact rows spend their budget, and not more.
    for name in ("rr, exact", "3nb, exact"):
        spent = rows[name].exact_epsilon
        assert 3.0 < spent.lower <= spent.upper <= demo.BUDGET.epsilon


def test_the_guarantee_is_that_of_features_and_label(small_demo: demo.DemoResult) -> None:
    assert small_demo.rows[0].guarantee is None
    for row in small_demo.rows[1:]:
        guarantee = row.guarantee
        # Not per class, not per run: one reported class per user, whose features cost at most the budget.
        assert 3.9 + demo.LABEL_EPSILON < guarantee.epsilon <= demo.BUDGET.epsilon + demo.LABEL_EPSILON
        assert guarantee.delta <= demo.BUDGET.delta
        assert guarantee.adjacency is Adjacency.REPLACE_ONE
        assert guarantee.threat_model is ThreatModel.COMMUNICATION


def test_one_unproved_class_makes_the_whole_unproved() -> None:
    row = cached_plan("3nb", demo.BUDGET, users=100, instances=8, method="published")
    unproved = replace(row, guarantee=replace(row.guarantee, side=Side.ESTIMATE))
    assert demo._whole([row, row]).side is row.guarantee.side
    assert demo._whole([row, unproved]).side is Side.ESTIMATE


@pytest.mark.long
def test_the_same_seed_gives_the_same_numbers(small_demo: demo.DemoResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "plan", cached_plan)
    monkeypatch.setattr(demo, "_COUNT_STEP", 100)
    heard: list[str] = []
    assert demo.run(repeats=1, instances=256, progress=heard.append) == small_demo
    assert heard == [row.name for row in small_demo.rows]


def test_an_infeasible_plan_is_a_row_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def published_only(bitsum: str, *args: Any, **options: Any) -> PlanRow:
        if bitsum == "rr":
            raise InfeasibleBudgetError("epsilon=4 is too little.")
        return cached_plan(bitsum, *args, **{**options, "method": "published", "squared_change": None})

    monkeypatch.setattr(demo, "plan", published_only)
    result = demo.run(repeats=1, instances=8)
    assert [row.error for row in result.rows] == [
        None,
        "epsilon=4 is too little.",
        "epsilon=4 is too little.",
        None,
        None,
    ]
    assert math.isnan(result.rows[1].accuracy)
    assert "no plan [1]" in text_of(result)
    assert "[1] epsilon=4 is too little." in text_of(result)
    drawn = plots.demo_figure(result).axes[0].get_yticklabels()
    assert [label.get_text().split("  ")[0] for label in drawn] == ["no privacy", "3nb, published", "3nb, exact"]
