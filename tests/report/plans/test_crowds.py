import math
from dataclasses import replace
from fractions import Fraction

from dpverify.claims.attacks.caps import Cap
from dpverify.claims.attacks.manipulation import Manipulation
from dpverify.guarantee import Budget, Interval
from dpverify.planning.attacks import Attack
from dpverify.planning.crowds import Crowd, CrowdRow
from dpverify.planning.plan import PlanRow, plan
from dpverify.planning.sweeps.setting import FailedPlan
from dpverify.report.plans.crowds import crowd_curves, crowd_table
from dpverify.report.tables import as_text

ENDS = (Interval(0.99, 0.99991), Interval(1.5, 1.50001), Interval(math.inf, math.inf))


def made(*epsilons: Interval | None) -> Crowd:
    row: PlanRow = plan("poisson", ("1", "1e-3"), users=100, instances=1, honest="1/2")
    fractions = (Fraction(1), Fraction(1, 2), Fraction(1, 4))
    failed = FailedPlan("rr", "exact", None, "out of reach.")
    return Crowd(
        Budget("1", "1e-3"), 100, 1, (100, 50, 25), fractions, (CrowdRow(row, epsilons, ("too wide.",)), failed)
    )


def test_the_table_rounds_up_and_says_why_something_is_missing() -> None:
    text = as_text(crowd_table(made(*ENDS[:2], None)))
    (line,) = [line for line in text.splitlines() if line.startswith("poisson ")]
    # Up, but not above the budget that is kept.
    assert line.split()[2:] == ["1", "1.501", "-"]
    assert "Planned for 50 honest users." in text
    assert "poisson: too wide." in text
    assert "rr: out of reach." in text
    assert max(map(len, text.splitlines())) <= 80


def test_how_far_an_estimate_moves_is_rounded_outwards() -> None:
    crowd = made(*ENDS)
    freely, capped = Manipulation(3, -1.000049, 1.000041), Manipulation(3, -123456.5, math.inf)
    moved = replace(crowd.plans[0], attack=Attack(freely, Cap(7, 1e-9, 0.0, 1.0), capped))
    text = as_text(crowd_table(replace(crowd, rows=(moved,))))
    _, line = (line.split() for line in text.splitlines() if line.startswith("poisson "))
    assert line[1:] == ["-1.0001", "1.0001", "7", "-123460", "inf"]


def test_infinity_is_marked_at_the_edge_and_not_drawn() -> None:
    axes = crowd_curves(made(*ENDS))
    curve, mark, legend, budget = axes.lines
    assert legend.get_label() == "infinite from here on"
    assert curve.get_xydata().tolist() == [[1.0, 0.99991], [0.5, 1.50001]]  # type: ignore[union-attr]
    assert mark.get_xydata().tolist() == [[0.25, 1.0]]  # type: ignore[union-attr]
    assert list(budget.get_ydata()) == [1.0, 1.0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "0.5", "0.25"]
