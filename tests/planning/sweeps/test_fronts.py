"""Error against messages: what is on the front, and what is recommended."""

import pytest

from dpverify.guarantee import InfeasibleBudgetError
from dpverify.planning.plan import plan
from dpverify.planning.sweeps.fronts import front, knee, undominated

POINTS = [(1.0, 9.0), (2.0, 3.0), (2.0, 4.0), (3.0, 3.0), (4.0, 2.0), (8.0, 1.98)]


def first(point: tuple[float, float]) -> float:
    return point[0]


def second(point: tuple[float, float]) -> float:
    return point[1]


def test_the_front_is_what_no_other_row_beats_in_both() -> None:
    assert undominated(POINTS[::-1], first, second) == ((1.0, 9.0), (2.0, 3.0), (4.0, 2.0), (8.0, 1.98))


def test_the_knee_saves_messages_for_little_error() -> None:
    rows = undominated(POINTS, first, second)
    found = knee(rows, first, second)
    assert found.row == (4.0, 2.0)
    assert found.reason == "knee: 1.0% more error than the best row, 0.5 of its messages"
    assert knee(rows, first, second, 0.0).row == (8.0, 1.98)
    assert knee(rows[:1], first, second).reason == "the least error, and the fewest messages"
    assert "no other row is within 0%" in knee(rows, first, second, 0.0).reason


def test_margins_trade_error_for_messages() -> None:
    budget = ("1", "1e-6")
    near, far = (plan("nb", budget, users=1000, instances=2, error_margin=margin) for margin in (0.01, 0.1))
    assert near.bitsum_rmse < far.bitsum_rmse
    assert near.messages_per_user > far.messages_per_user
    assert far.bitsum_rmse == pytest.approx(near.bitsum_rmse * 1.1 / 1.01, rel=1e-3)
    assert near == plan("nb", budget, users=1000, instances=2)  # what is taken where nothing is said
    assert max(row.guarantee.epsilon for row in (near, far)) <= 1.0


def test_fewer_messages_than_a_bound_on_them_finds() -> None:
    # At the error of its own choice 3NB sends fewer messages than a search that is given the number ends with.
    budget = ("1", "1e-3")
    far = plan("3nb", budget, users=200, instances=4, error_margin=0.05)
    same = plan("3nb", budget, users=200, instances=4, max_messages_per_user=far.messages_per_user)
    assert far.bitsum_rmse <= same.bitsum_rmse


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"error_margin": 0.0}, "error_margin=0.0 must be"),
        ({"error_margin": 0.1, "max_messages_per_user": 3}, "error_margin=0.1 must be omitted with max_messages"),
        ({"error_margin": 0.1, "method": "published"}, "error_margin=0.1 must be omitted: published parameters"),
    ],
)
def test_a_margin_that_means_nothing_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        plan("nb", ("1", "1e-6"), users=100, instances=1, **options)  # type: ignore[arg-type]


def test_the_front_of_a_budget() -> None:
    heard: list[tuple[int, int]] = []
    found = front(
        ("1", "1e-6"), users=1000, instances=2, bitsums=["rr", "nb", "poisson"], margins=[0.01, 0.1],
        progress=lambda done, total: heard.append((done, total)),
    )  # fmt: skip
    assert heard == [(done, 6) for done in range(1, 7)]
    assert [row.bitsum for row in found.rows] == ["rr", "nb", "nb", "poisson"]  # one row where nothing is traded
    assert found.front == undominated(found.rows, lambda row: row.messages_per_user, lambda row: row.bitsum_rmse)
    assert found.best.bitsum_rmse == min(row.bitsum_rmse for row in found.rows)
    rows = found.to_dict()["rows"]
    assert [row["recommended"] for row in rows].count(True) == 1
    assert sum(row["on_front"] for row in rows) == len(found.front)
    assert found.fewest(found.rows[0].bitsum_rmse) is found.rows[0]
    assert found.fewest(0.1) is None
    with pytest.raises(InfeasibleBudgetError, match="delta=0 cannot be met by poisson"):
        front(("1", 0), users=1000, instances=2, bitsums=["poisson", "nb"])


def test_a_front_of_no_bitsum_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"^bitsums=\[\] must have at least one entry\.$"):
        front(("1", "1e-6"), users=10, instances=1, bitsums=[])
