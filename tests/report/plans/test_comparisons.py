"""Plans over lists as a table and as a figure."""

from fractions import Fraction

from dpverify.planning.sweeps.comparison import plan_grid


def test_the_table_names_what_was_listed_and_nothing_else() -> None:
    found = plan_grid([(1, "1e-6"), (2, "1e-6")], users=[100, 2000], instances=2, bitsums=["local-rr"])
    lines = str(found).split("\n")
    assert " ".join(lines[:2]).startswith(
        "Budgets: epsilon = 1, 2; delta = 1e-06; users: n = 100, 2,000; instances: I = 2"
    )
    (head,) = (line.split() for line in lines if "method" in line)
    assert head == ["budget", "epsilon", "n", "bitsum", "method", "RMSE", "messages", "epsilon"]
    assert sum("exact" in line for line in lines) == 4
    assert all(len(line) <= 80 for line in lines)


def test_what_an_instance_may_spend_is_rounded_down() -> None:
    (found,) = plan_grid([(1, "1e-6")], users=100, instances=7, bitsums=["local-rr"], methods=["published"]).comparisons
    (row,) = found.plans
    (line,) = (line.split() for line in str(found).split("\n") if line.startswith("local-rr") and "=" not in line)
    shown = [Fraction(word) for word in line[-3:-1]]
    assert shown[0] <= row.epsilon0 < shown[0] * Fraction("1.001")
    assert shown[1] <= row.delta0 < shown[1] * Fraction("1.01")


def test_a_plan_that_failed_is_told() -> None:
    found = plan_grid([(2, 0), (2, "1e-6")], users=100, instances=2, bitsums=["poisson"], methods=["exact"])
    assert "[1] no plan: delta=0 cannot be met by poisson" in str(found)
    axes = found.plot()  # delta = 0 is a value like others
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "log")


def test_the_figure_has_one_line_for_what_is_not_across() -> None:
    found = plan_grid([(e, "1e-6") for e in (1, 2, 4)], users=[100, 200], instances=2, bitsums=["local-rr", "poisson"])
    axes = found.plot()
    drawn = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert "local-rr, exact, n = 100" in drawn
    assert "local-rr, published, n = 200" in drawn
    expected = [
        [one.budget.epsilon, row.bitsum_rmse]
        for one, row in found.rows
        if one.users == 200 and (row.bitsum, row.method) == ("poisson", "exact")
    ]
    assert drawn["poisson, exact, n = 200"] == expected
    assert len(expected) == 3
