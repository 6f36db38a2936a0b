"""What is recommended keeps a guarantee with half of the users honest, if any protocol does, and says so."""

import math
from dataclasses import replace

import pytest

from dpverify.dossier.advice import recommended
from dpverify.guarantee import Budget, CapacityError, InfeasibleBudgetError, Interval
from dpverify.planning.account import account
from dpverify.planning.crowds import epsilon_among
from dpverify.planning.plan import PlanRow
from dpverify.planning.sweeps.comparison import plan_bitsums


def test_the_fewest_messages_among_the_best_are_recommended() -> None:
    plans = plan_bitsums(("1", "1e-4"), users=60, instances=2, methods=["exact"])
    row, reason = recommended(plans)
    shuffled = [each for each in plans.plans if each.guarantee.threat_model.value == "communication"]
    least = min(each.bitsum_rmse for each in shuffled)
    close = [each for each in shuffled if each.bitsum_rmse <= 1.05 * least]
    assert row in close
    assert row.messages_per_user <= 1.001 * min(each.messages_per_user for each in close)
    assert "5 %" in reason
    alone = replace(plans, rows=tuple(each for each in plans.plans if each.bitsum in {"rr", "3nb"}))
    assert recommended(alone)[1].startswith("Of the protocols with a shuffler it has the least error by more")
    central = replace(plans, rows=tuple(each for each in plans.plans if each.bitsum == "local-rr"))
    assert recommended(central)[0].bitsum == "local-rr"
    with pytest.raises(InfeasibleBudgetError, match="No source of this project"):
        recommended(plan_bitsums(("1", "1e-4"), users=60, instances=2, bitsums=["poisson"], methods=["published"]))


@pytest.mark.long
def test_a_protocol_that_half_of_the_users_break_is_not_recommended_beside_one_that_they_do_not() -> None:
    plans = plan_bitsums(("1", "1e-6"), users=1000, instances=8, bitsums=["3nb", "poisson", "rr"], methods=["exact"])
    row, reason = recommended(plans)
    assert row.bitsum != "3nb"
    left = {
        each.bitsum: account(each.protocol, instances=8, delta="1e-6", honest=500, relative_width=1e-2).epsilon.upper
        for each in plans.plans
    }
    assert left["3nb"] == math.inf
    assert left[row.bitsum] < math.inf
    assert "that keep a finite epsilon with half of the users honest" in reason
    assert "3nb would err less, but keeps none." in reason
    own = epsilon_among(500, row.protocol, row, plans.budget, instances=8).upper
    assert own <= float(reason.split(f"the epsilon of {row.bitsum} is at most ")[1].rstrip(".")) <= 1.01 * own


@pytest.mark.long
def test_what_keeps_far_more_of_the_guarantee_is_named() -> None:
    plans = plan_bitsums(("0.1", "1e-9"), users=1000, instances=8, bitsums=["3nb", "rr"], methods=["exact"])
    row, reason = recommended(plans)
    assert row.bitsum == "3nb"
    own, other = (
        epsilon_among(500, each.protocol, each, plans.budget, instances=8).upper
        for each in sorted(plans.plans, key=lambda each: each.bitsum)
    )
    assert 2.0 * other < own
    told = reason.split("the epsilon of 3nb is at most ")[1]
    said, another = told.split(". rr keeps ")
    assert own <= float(said) <= 1.01 * own
    assert other <= float(another.split(",")[0]) <= 1.01 * other
    assert "times the error" in another


def test_a_guarantee_that_half_of_the_users_break_is_warned_of() -> None:
    plans = plan_bitsums(("1", "1e-6"), users=1000, instances=8, bitsums=["3nb"], methods=["exact"])
    assert recommended(plans)[1].endswith("None of them keeps a finite epsilon with half of the users honest.")
    warned = recommended(plans, "3nb")[1]
    assert warned == "It was asked for. It does not keep a finite epsilon with half of the users honest."


def test_what_cannot_be_computed_is_not_said_to_be_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(honest: int, protocol: object, row: PlanRow, budget: Budget, *, instances: int) -> Interval:
        if row.bitsum == "pure":
            raise CapacityError("A law is too large.")
        return epsilon_among(honest, protocol, row, budget, instances=instances)

    plans = plan_bitsums(("1", "1e-4"), users=60, instances=2, bitsums=["rr", "pure"], methods=["exact"])
    assert recommended(plans)[0].bitsum == "pure"
    monkeypatch.setattr("dpverify.dossier.advice.epsilon_among", too_large)
    row, reason = recommended(plans)
    assert row.bitsum == "rr"
    assert "that are proved to keep a finite epsilon" in reason
    assert "Of pure it cannot be computed here." in reason
    alone = replace(plans, rows=tuple(each for each in plans.plans if each.bitsum == "pure"))
    assert "None of them is proved to keep" in recommended(alone)[1]
    kept = "a finite epsilon with half of the users honest"
    assert recommended(plans, "pure")[1] == f"It was asked for. Whether it keeps {kept} cannot be computed here."
