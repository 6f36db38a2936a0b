"""Density estimators of least error within a budget."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from dpverify.changes import L2Ball
from dpverify.claims.kde.error import mse
from dpverify.claims.registry import claims_of
from dpverify.guarantee import Budget, InfeasibleBudgetError
from dpverify.planning import density
from dpverify.planning.account import account
from dpverify.planning.density import plan_density, rmse_at_one_point
from dpverify.planning.plan import PlanRow, plan
from protocols.kde import KernelDensityProtocol
from protocols.lsq import FourierPairs, GaussianFeatures, Identity, LaplacianBinning, LinearMap, LSQFamily


@pytest.mark.parametrize(
    ("family", "pairs"),
    [(FourierPairs(3), 7), (GaussianFeatures(3, 0.4), 5), (LaplacianBinning(3, 0.7, 4), 6)],
    ids=repr,
)
def test_the_error_at_one_point_is_exact_and_the_worst(family: LSQFamily, pairs: int) -> None:
    found = rmse_at_one_point(family, pairs, 20, 3.0)
    point = np.full((1, 3), 3.0**-0.5)
    far = point[0] + 900.0
    worst = mse(family, np.repeat(point, 20, axis=0), far, instances=pairs, bitsum_rmse=3.0) ** 0.5
    near = mse(family, np.repeat(point, 20, axis=0), point[0], instances=pairs, bitsum_rmse=3.0) ** 0.5
    assert found == pytest.approx(max(worst, near), rel=1e-9)


@pytest.mark.parametrize(
    "family", [LinearMap(6, "haar", 0.4, gain=1.1), Identity(6, 0.5), LinearMap(6, rows=2)], ids=repr
)
def test_the_error_of_maps_is_a_mean_over_points(family: LSQFamily) -> None:
    found = rmse_at_one_point(family, 1, 20, 3.0)
    rng = np.random.default_rng(5)
    same, across = [], []
    for _ in range(400):
        x, y = np.linalg.qr(rng.standard_normal((6, 2)))[0].T
        users = np.repeat(x[np.newaxis], 20, axis=0)
        same.append(mse(family, users, x, instances=1, bitsum_rmse=3.0))
        across.append(mse(family, users, y, instances=1, bitsum_rmse=3.0))
    assert found == pytest.approx(math.sqrt(max(np.mean(same), np.mean(across))), rel=0.35)


def test_a_plan_for_the_honest_keeps_the_budget_without_the_others() -> None:
    found = plan_density("gaussian", 8, ("2", "1e-4"), users=60, max_messages_per_user=40, honest_fraction="0.5")
    (best,) = found.rows
    protocol = KernelDensityProtocol(best.bitsum.protocol, best.family.sample(best.pairs, np.random.default_rng(0)))
    assert protocol.bitsum.users == 60
    assert account(protocol, delta="1e-4", relative_width=1e-3, honest=30).epsilon.upper <= 2.0
    assert account(protocol, delta="1e-4", relative_width=1e-3, honest=24).epsilon.upper > 2.0
    assert found.honest == found.to_dict()["honest"] == best.bitsum.honest == 30
    (alone,) = plan_density("gaussian", 8, ("2", "1e-4"), users=60, max_messages_per_user=40).rows
    assert best.bitsum.bitsum_rmse == pytest.approx(alone.bitsum.bitsum_rmse * 2**0.5, rel=0.05)


def test_what_is_planned_meets_the_budget_as_a_protocol() -> None:
    found = plan_density("gaussian", 8, ("2", "1e-4"), users=60, max_messages_per_user=40)
    (best,) = found.rows
    features = best.family.sample(best.pairs, np.random.default_rng(0))
    protocol = KernelDensityProtocol(best.bitsum.protocol, features)
    assert account(protocol, delta="1e-4", relative_width=1e-3).epsilon.upper <= 2.0
    assert best.bits == features.coordinates == best.messages_per_user == 32
    assert best.rmse == rmse_at_one_point(best.family, best.pairs, 60, best.bitsum.bitsum_rmse)
    assert found.failures  # of the longer rungs: more than 40 messages


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Normal noise in place of every bitsum's plan, which the choice of features does not depend on."""

    def planned(bitsum: str, budget: Budget, *, users: int, squared_change: float, **more: object) -> PlanRow:
        row = plan("central-gaussian", budget, users=users, instances=1)
        return dataclasses.replace(row, bitsum=bitsum, bitsum_rmse=row.bitsum_rmse * math.sqrt(squared_change))

    monkeypatch.setattr(density, "plan", planned)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kernel", ["inner-product", "gaussian", "laplacian", "exponential"])
def test_the_front_is_of_less_error_for_more_messages(kernel: str) -> None:
    found = plan_density(kernel, 16, ("2", "1e-4"), users=3000)
    assert [row.messages_per_user for row in found.rows] == sorted({row.bits for row in found.rows})
    errors = [row.rmse for row in found.front]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == found.best.rmse == min(row.rmse for row in found.rows)
    told = json.loads(json.dumps(found.to_dict()))
    assert [row["rmse"] for row in told["rows"] if row["on_front"]] == errors
    for row in found.rows:
        features = row.family.sample(row.pairs, np.random.default_rng(0))
        assert (row.bits, row.squared_change) == (
            features.coordinates,
            claims_of(row.family).squared_change(features),
        )


@pytest.mark.usefixtures("quick")
def test_a_range_below_one_beats_the_whole_range_at_the_same_messages() -> None:
    found = plan_density("inner-product", 64, ("2", "1e-4"), users=300)
    (row,) = (row for row in found.rows if row.bits == 64)
    assert isinstance(row.family, LinearMap)
    assert row.family.limit < 0.5
    whole = Identity(64, radius=1.0)
    assert row.rmse < 0.6 * rmse_at_one_point(whole, 1, 300, row.bitsum.bitsum_rmse * row.family.limit)


@pytest.mark.parametrize(("kernel", "ball"), [("gaussian", True), ("inner-product", True), ("laplacian", False)])
def test_points_of_a_ball_are_planned_as_such(kernel: str, ball: bool) -> None:
    found = plan_density(kernel, 16, ("2", "1e-4"), users=300, max_messages_per_user=40)
    for row in found.rows:
        assert isinstance(row.bitsum.change, L2Ball) == ball
        features = row.family.sample(row.pairs, np.random.default_rng(0))
        assert claims_of(row.family).in_ball(features) == ball
        assert row.bitsum.change.full == claims_of(row.family).squared_change(features)


def test_bad_arguments() -> None:
    for arguments, more, message in (
        (("cosine", 3, ("1", "1e-6")), {}, r"^kernel='cosine' must be one of inner-product, gaussian"),
        (("gaussian", 0, ("1", "1e-6")), {}, r"^dimension=0 must be an integer"),
        (("inner-product", 3, ("1", "1e-6")), {"bandwidth": 2.0}, r"^bandwidth=2\.0 must be 1 for the inner product"),
        (("gaussian", 3, ("1", "1e-6")), {"bitsums": ["xy"]}, r"^bitsum='xy' must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            plan_density(*arguments, users=9, **more)
    with pytest.raises(InfeasibleBudgetError, match=r"^delta=0 cannot be met here"):
        plan_density("gaussian", 3, ("1", 0), users=9)
    with pytest.raises(InfeasibleBudgetError, match=r"^max_messages_per_user="):
        plan_density("gaussian", 3, ("1", "1e-6"), users=9, max_messages_per_user=3)
