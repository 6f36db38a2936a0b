"""What is least for an error, as a table and as a figure."""

from __future__ import annotations

from dpverify.planning.sweeps.least import least_epsilon, least_messages, least_users

BUDGET = ("1", "1e-6")


def test_the_answer_and_one_step_less_stand_side_by_side() -> None:
    found = least_users(BUDGET, error=0.02, instances=2, bitsums=["poisson", "nb"])
    text = str(found)
    assert text.startswith("Least n for an RMSE of at most 0.02 n: budget (1, 1e-06), I = 2 instances")
    (row,) = (line.split() for line in text.split("\n") if line.startswith("poisson"))
    assert row[1] == f"{found.found[0].least:,.0f}"
    assert float(row[2]) <= 0.02 < float(row[3])
    assert [bar.get_width() for bar in found.plot().patches] == [answer.least for answer in found.found]


def test_the_table_says_what_was_asked() -> None:
    epsilon = str(least_epsilon("1e-6", rmse=30, users=2000, instances=2, bitsums=["poisson"]))
    assert "Least epsilon for an RMSE of at most 30 users: delta = 1e-06, n = 2,000 users" in " ".join(epsilon.split())
    few = str(least_messages(BUDGET, rmse=30, users=2000, instances=2, bitsums=["poisson", "local-rr"]))
    assert few.startswith("Fewest messages for an RMSE of at most 30 users")
    assert "local-rr [1]" in few
    assert "[1] local-rr errs by at least" in few
