"""The table of a schedule, however many days it has."""

from dpverify.planning.account import account
from dpverify.planning.schedules.result import ScheduleResult
from dpverify.report.plans.schedules import schedule_table
from dpverify.report.tables import as_text
from protocols.bitsum import RandomizedResponse


def test_few_days_are_listed_and_many_are_summed_up() -> None:
    days = [(RandomizedResponse(n, 0.25), 1) for n in (20, 30)]
    found = account(days, delta="1e-3")
    assert isinstance(found, ScheduleResult)
    few = as_text(schedule_table(found, curve=True))
    assert "2 runs, in all of which the same user may be" in few
    assert "Basic composition of the same runs: epsilon " in few
    assert "epsilon at most" in few
    many = [(RandomizedResponse(n, 0.25), 2) for n in range(20, 40)]
    text = str(account(many, delta="1e-3", at_most=3))
    assert "40 runs, at most 3 a user" in text
    assert "20 to 39" in text


def test_the_figure_draws_both_ends() -> None:
    found = account([(RandomizedResponse(n, 0.25), 1) for n in (20, 30)], delta="1e-3")
    drawn = found.plot()
    assert [line.get_label() for line in drawn.get_lines()] == ["at most (proved)", "at least"]
    assert list(drawn.get_lines()[0].get_xdata()) == [1, 2]
