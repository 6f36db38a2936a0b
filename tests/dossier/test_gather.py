"""A report gathers what belongs together, and refuses what it cannot show."""

from dataclasses import replace

import pytest

from dpverify.dossier.contents import Evidence
from dpverify.dossier.curves import loss_curves
from dpverify.dossier.gather import _own_audit, applying, checked_audit, full_report
from dpverify.evidence.theorems import theorems
from dpverify.planning.plan import PlanRow, plan
from dpverify.planning.sweeps.comparison import plan_bitsums
from protocols.bitsum import Poisson
from tests.dossier.small import audit, small
from tests.refusals import refused


def test_everything_is_there() -> None:
    found = small()
    assert len(found.plans.rows) == 18
    assert [line.label for line in found.profile.lines] == [
        "exact plan",
        "published, by advanced composition",
        "published, by exact law",
    ]
    assert found.losses.lines
    assert len(found.tail.lines) == 1
    assert {line.label for line in found.by_users.lines} >= {"rr, exact", "trusted curator", "no shuffler"}
    assert [row.plan.bitsum for row in found.crowd.plans] == ["rr", "3nb", "local-rr"]
    assert found.audit.report == audit()


@pytest.mark.long
def test_joint_changes_stand_beside_full_ones() -> None:
    found = small("0.5")
    assert found.joint_plan.bitsum_rmse < found.chosen.bitsum_rmse
    assert {row.bitsum for row in found.joint.plans} == {"rr", "central-discrete-gaussian"}
    exact, joint = found.profile.lines[0], found.profile.lines[-1]
    assert joint.label == "exact plan, joint change"
    for every, less in zip(exact.y, joint.y, strict=True):
        assert less.lower <= every.upper
    assert [line.label for line in found.tail.lines] == ["every bit may change", "joint change"]


def test_curves_meet_at_the_budget() -> None:
    found = small()
    for line, least in zip(found.profile.lines[:2], (0.99, 0.99), strict=True):
        end = dict(zip(line.x, line.y, strict=True))[found.plans.budget.delta]
        assert least <= end.upper <= 1.0 + 1e-3
    rmse = dict(zip(found.by_users.lines[0].x, found.by_users.lines[0].y, strict=True))[60.0]
    assert rmse.upper == found.chosen.bitsum_rmse


@pytest.mark.long
def test_an_honest_share_is_kept_everywhere() -> None:
    found = full_report(("1", "1e-3"), users=20, instances=1, honest="0.5", bitsum="poisson", trials=0)
    assert {row.honest for row in found.plans.plans} == {10}
    assert found.chosen.protocol.users == 20
    assert found.profile.lines[0].label == "exact plan"
    for lines, at, least in ((found.profile.lines[0], found.plans.budget.delta, 0.99), (found.tail.lines[0], 1.0, 0.0)):
        end = dict(zip(lines.x, lines.y, strict=True))[at]
        assert least <= end.upper <= (1.001 if least else 1.001e-3)
    # With all of the noise the loss is that of ten users, whatever n: the noise of twenty is twice theirs.
    alone = replace(
        found.chosen, protocol=replace(found.chosen.protocol, users=10, mean=found.chosen.protocol.mean / 2)
    )
    assert [line.y for line in found.losses.lines[:1]] == [
        line.y for line in loss_curves(replace(alone, honest=None))[:1]
    ]
    assert all(
        plan("poisson", ("1", "1e-3"), users=int(n), honest=int(n) // 2).bitsum_rmse == end.upper
        for n, end in zip(found.by_users.lines[0].x, found.by_users.lines[0].y, strict=True)
        if end is not None and n > 2
    )
    page = found.to_html()
    assert "10 of the 20 users follow the protocol" in page
    assert "--honest 10" in page
    assert "honest=10" in page


def test_the_claims_are_about_these_protocols_and_about_composition() -> None:
    plans = plan_bitsums(("1", "1e-4"), users=60, instances=2, bitsums=["rr"], methods=["published"])
    names = [theorem.name for theorem in applying(plans)]
    assert {"cheu2019-lemma-4.8", "wagner2025-theorem-3.2-composition", "wagner2025-section-4.2-rr"} <= set(names)
    assert "wagner2025-a2-three-nb" not in names
    assert set(names) <= {theorem.name for theorem in theorems()}


@pytest.mark.long
def test_our_own_audit_says_whose_it_is_and_progress_ends() -> None:
    seen: list[tuple[int, int, str]] = []
    found = full_report(
        ("1", "1e-3"), users=20, instances=1, bitsum="rr", trials=100, progress=lambda *step: seen.append(step)
    )
    assert "own simulation of rr" in found.audit.about
    assert found.audit.report["trials"] == 100
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    assert seen[-1][0] == seen[-1][1] == max(total for _, total, _ in seen)
    assert "1 sum over 20 users" in found.title


@pytest.mark.long
def test_our_own_audit_decides_however_many_users_share_the_noise() -> None:
    found = _own_audit(plan("poisson", ("1", "1e-6"), users=10_000, instances=4), 1_000, 0)
    assert isinstance(found, Evidence)
    assert found.report["verdict"] == "consistent"
    assert "decide" not in found.about


@pytest.mark.long
def test_an_audit_that_cannot_decide_says_why() -> None:
    found = _own_audit(plan("rr", ("3", "1e-6"), users=10**6, instances=1), 100, 0)
    assert isinstance(found, Evidence)
    assert found.report["verdict"] == "undecided"
    assert "It could not decide: some faults are too rare to show in 100 runs" in found.about


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"budget": ("1", "0")}, r"delta=0 must be in \(0, 1\)"),
        ({"trials": 99}, r"trials=99 must be 0 or in \[100, inf\)"),
        ({"trials": -1}, "trials=-1 must be"),
        ({"seed": -1}, "seed=-1 must be"),
        ({"bitsum": "none"}, "bitsum='none' must be one of"),
        ({"squared_change": "3"}, "squared_change=3.0 must"),
        ({"audit": {"verdict": "consistent"}}, "audit must be what"),
    ],
    ids=str,
)
def test_what_it_cannot_show_is_refused_before_any_work(changed: dict[str, object], message: str) -> None:
    arguments = {"budget": ("1", "1e-4"), "users": 60, "instances": 2, "progress": lambda *_: pytest.fail("worked")}
    with pytest.raises(ValueError, match=message):
        full_report(**{**arguments, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        "text",
        {},
        audit(results="many"),
        audit(results=[{"verdict": "consistent"}]),
        audit(results=[{"check": 1}]),
        audit(subject=None),
        audit(statement=[]),
    ],
    ids=str,
)
def test_what_is_no_audit_is_refused(wrong: object) -> None:
    assert checked_audit(audit()) == audit()
    with refused("audit"):
        checked_audit(wrong)  # type: ignore[arg-type]


def noisy(mean: float) -> PlanRow:
    row = plan("poisson", ("1", "1e-3"), users=20, instances=1)
    return replace(row, protocol=Poisson(20, mean))


@pytest.mark.long
def test_runs_of_many_messages_are_fewer_or_none() -> None:
    few = _own_audit(noisy(5_000.0), 4_000, 0)
    assert isinstance(few, Evidence)
    assert "796 runs instead of 4,000, as each has 5,020 messages." in few.about
    assert few.report["trials"] == 796
    none = _own_audit(noisy(50_000.0), 4_000, 0)
    assert isinstance(none, str)
    assert "each run of the plan has 50,020 messages, and 500 runs of them" in none
    # Who asks for so few has them.
    assert isinstance(_own_audit(noisy(30_000.0), 100, 0), Evidence)


def test_a_report_that_is_late_leaves_parts_out_and_says_so() -> None:
    found = full_report(("1", "1e-3"), users=20, instances=1, bitsum="rr", trials=100, seconds=1e-9)
    assert {row.bitsum for row in found.plans.rows} >= {"rr", "3nb", "nb"}
    assert (found.crowd, found.audit) == (None, None)
    assert set(found.left_out) == {"crowd", "audit", "meaning"}
    for curves in (found.profile, found.losses, found.tail, found.by_users, found.by_epsilon):
        assert "took 1e-09 seconds of processor time" in "".join(curves.notes)
    page = found.to_html()
    assert page.rstrip().endswith("</html>")
    assert page.count("took 1e-09 seconds of processor time") == 6
    with pytest.raises(ValueError, match=r"seconds=0\.0 must be"):
        full_report(("1", "1e-3"), users=20, instances=1, seconds=0.0)
