"""The table and the figure of designs."""

from dataclasses import replace

import matplotlib.pyplot as plt

from dpverify.collection.design import design
from dpverify.collection.query import Query


def test_a_design_shows_what_binds_and_what_errs() -> None:
    found = design(
        [Query("features", bits=4), Query("words", buckets=9, weight=2)],
        [(("1", "1e-6"), 1), (("2.5", "1e-6"), 7)],
        users=2_000,
        honest=1_800,
    )
    shown = str(found).splitlines()
    assert shown[0] == "2,000 users, 1,800 of them honest"
    assert [line.split()[0] for line in shown if "binds" in line] == ["7"]
    assert any("words" in line and "9 buckets" in line and " 2 " in line for line in shown)
    few = str(replace(found, honest=90)).splitlines()[0]
    assert few == "2,000 users, 90 of them honest (a number, not 90 %, which is 0.9)"
    assert "errs less" not in str(found)
    assert "a: the middle of all possible answers, without" in str(
        design([Query("a", bits=99)], ("1", "1e-6"), users=2)
    )
    where = [Query("where", density=5, dimension=1, bandwidth=1, classes=2)]
    assert "density, 5 waves, 2 classes" in " ".join(str(design(where, ("1", "1e-3"), users=50)).split())
    budget = design([Query("a", bits=1)], ("0.12345649", "1.00000049e-6"), users=50)
    assert "weight" not in str(budget)
    (line,) = (line.split() for line in str(budget).splitlines() if "binds" in line)
    assert line[1:3] == ["0.12345649", "1.00000049e-06"]  # as it is: no other one is kept
    assert budget.limits[0].guarantee.epsilon <= float(line[4]) <= 0.12345649
    (limit,) = budget.limits
    near = replace(limit, guarantee=replace(limit.guarantee, epsilon=0.123456411))
    assert " 0.12345642 " in str(replace(budget, limits=(near,)))  # rounded up, but not beyond the budget
    axes = found.plot()
    assert [tick.get_text() for tick in axes.get_yticklabels()][:2] == ["features", "words"]
    assert "1,800 of them honest" in axes.get_title(loc="left")
    plt.close(axes.figure)
    assert [row["name"] for row in found.to_dict()["rows"]] == ["features", "words"]


def test_numbers_are_shown_by_their_range() -> None:
    asked = [
        Query("stars", number=(1, 5), bitsum="laplace"),
        Query("spent", number=(0, "0.5"), real=True, categories=3),
    ]
    shown = " ".join(str(design(asked, ("2", "1e-6"), users=2_000)).split())
    assert "stars an integer from 1 to 5 laplace" in shown
    assert "a number from 0 to 0.5," in shown
    assert "categories" in shown
    assert "Of numbers: RMSE in their unit" in shown
