"""The table of means: numbers on the safe side, failures with their reasons."""

from dpverify.planning.means import plan_means
from dpverify.report.plans.means import means_table
from dpverify.report.tables import as_text


def test_what_failed_and_what_is_not_stated_is_said() -> None:
    found = plan_means(("1e-15", 0), users=3)
    shown = as_text(means_table(found))
    assert "rr-mean: the budget (1e-15, 0) cannot be met" in shown.replace("\n", " ")
    assert str(found) == shown


def test_many_means_are_in_the_title() -> None:
    shown = as_text(means_table(plan_means((1, 0), users=50, instances=3)))
    assert shown.startswith("Means of values in [0, 1], budget (1, 0), n = 50 users, I = 3 means of each user")
    # What is bounded from above is printed rounded up, and a parameter rounded down.
    assert "0.3333" in shown
    assert "shuffled-mean" in shown
