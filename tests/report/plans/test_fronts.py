"""The front as a table and as a figure."""

from dpverify.planning.sums.fronts import sum_front
from dpverify.planning.sweeps.fronts import front


def test_the_front_and_what_is_recommended_are_marked() -> None:
    found = front(("1", "1e-6"), users=1000, instances=2, bitsums=["rr", "poisson"], margins=[0.01])
    text = str(found)
    assert f"Recommended (>): {found.recommended.row.bitsum}, {found.recommended.reason}." in " ".join(text.split())
    marks = [line.split()[-1] for line in text.split("\n") if line.startswith(("rr", "poisson"))]
    assert marks.count(">*") == 1
    assert all(len(line) <= 80 for line in text.split("\n"))
    axes = found.plot()
    labels = [line.get_label() for line in axes.lines]
    assert labels == ["front", "rr", "poisson", "recommended"]
    chosen = found.recommended.row
    assert axes.lines[-1].get_xydata().tolist() == [[chosen.messages_per_user, chosen.bitsum_rmse]]
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")  # all lie close together


def test_a_front_of_numbers_says_what_to_take() -> None:
    found = sum_front((1, "1e-6"), users=200, smallest=-1, largest=1, protocols=["poisson-sum", "nb-sum"])
    shown = " ".join(str(found).split())
    assert shown.startswith("Sums of integers from -1 to 1, budget (1, 1e-06), n = 200 users protocol steps messages")
    assert f"Recommended (>): {found.recommended.row.name} in 2 steps" in shown
    assert "upper bound, replace-one adjacency, communication threat model" in shown
    assert found.plot().get_ylabel() == "RMSE of one sum"
