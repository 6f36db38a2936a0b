"""The least of something for an error: the answer reaches it, and one step less does not."""

import math

import pytest

from dpverify.planning.plan import PlanRow, plan
from dpverify.planning.sweeps.fronts import front
from dpverify.planning.sweeps.least import least_epsilon, least_messages, least_users
from dpverify.planning.sweeps.setting import FailedPlan


@pytest.mark.parametrize("bitsum", ["poisson", "local-rr", "central-gaussian"])
def test_one_user_fewer_is_too_few(bitsum: str) -> None:
    found = least_users(("1", "1e-6"), error=0.02, instances=2, bitsums=[bitsum])
    (answer,) = found.found
    n = round(answer.least)
    assert answer.row == plan(bitsum, ("1", "1e-6"), users=n, instances=2)
    assert answer.row.bitsum_rmse <= 0.02 * n
    assert answer.less == n - 1
    assert answer.below == plan(bitsum, ("1", "1e-6"), users=n - 1, instances=2)
    assert isinstance(answer.below, PlanRow)
    assert answer.below.bitsum_rmse > 0.02 * (n - 1)


@pytest.mark.parametrize("bitsum", ["poisson", "nb", "central-discrete-laplace"])
def test_one_step_of_epsilon_less_is_too_little(bitsum: str) -> None:
    found = least_epsilon("1e-6", error=0.015, users=2000, instances=2, bitsums=[bitsum])
    (answer,) = found.found
    assert answer.row.guarantee.epsilon <= answer.least
    assert answer.less is not None
    assert 0.0 < answer.least - answer.less <= 1.001e-3 * answer.least
    assert isinstance(answer.below, PlanRow)
    assert answer.row.bitsum_rmse <= 30 < answer.below.bitsum_rmse


def test_what_fails_one_step_before_is_told() -> None:
    # All of ten honest users cannot hide at epsilon below some of their randomizer's.
    found = least_users(("1", "1e-6"), error=1.0, instances=1, bitsums=["rr"], honest="0.1")
    (answer,) = found.found
    entry = answer.to_dict()
    if isinstance(answer.below, FailedPlan):
        assert entry["one_less"]["error"] == answer.below.error
    else:
        assert entry["one_less"]["bitsum_rmse"] > entry["one_less"]["value"]


def test_fewest_messages_use_all_the_error_that_is_allowed() -> None:
    default = plan("nb", ("1", "1e-6"), users=1000, instances=2)
    limit = 1.05 * default.bitsum_rmse
    found = least_messages(("1", "1e-6"), error=limit / 1000, users=1000, instances=2, bitsums=["nb", "poisson", "rr"])
    nb, poisson, rr = found.found
    assert nb.least == nb.row.messages_per_user < default.messages_per_user
    assert 0.999 * limit < nb.row.bitsum_rmse <= limit
    assert rr.least == 1
    assert found.best is rr
    assert poisson.row.bitsum_rmse <= limit
    closer = least_messages(("1", "1e-6"), error=default.bitsum_rmse / 1005, users=1000, instances=2, bitsums=["nb"])
    assert closer.best.least > default.messages_per_user


def test_what_is_not_reached_is_a_row_with_its_reason() -> None:
    few = least_messages(("1", "1e-6"), error=0.001, users=1000, instances=2, bitsums=["nb", "poisson"])
    assert not few.found
    assert all("errs by at least" in row.error for row in few.failures)
    (failed,) = least_epsilon(0, error=0.015, users=2000, instances=2, bitsums=["poisson"]).failures
    assert "delta=0 cannot be met by poisson" in failed.error
    entry = few.to_dict()["rows"][0]
    assert set(entry) == {"bitsum", "method", "composition", "error"}


def test_more_of_anything_never_needs_more() -> None:
    def users(error: float) -> float:
        return least_users(("1", "1e-6"), error=error, instances=1, bitsums=["poisson"]).best.least

    found = [users(error) for error in (0.05, 0.02, 0.01)]
    assert found == sorted(found)
    assert found[2] == pytest.approx(5 * found[0], rel=0.05)
    assert math.isfinite(found[2])


def test_a_margin_is_a_share_of_the_error_however_narrow_the_noise() -> None:
    budget, options = ("6.452", "0.00283"), {"users": 341, "instances": 2, "honest": "0.5"}
    near, far = (plan("3nb", budget, error_margin=margin, **options) for margin in (0.01, 0.1))  # type: ignore[arg-type]
    assert far.bitsum_rmse / near.bitsum_rmse == pytest.approx(1.1 / 1.01, rel=1e-9)
    for row in front(budget, bitsums=["3nb"], **options).rows:  # type: ignore[arg-type]
        found = least_messages(budget, error=row.bitsum_rmse / 341, bitsums=["3nb"], **options)  # type: ignore[arg-type]
        assert found.best.least <= row.messages_per_user * (1 + 1e-5)
