"""Density estimators of least error within a budget."""

import json

import numpy as np
import pytest

from dpverify.changes import L2Ball
from dpverify.claims.registry import claims_of
from dpverify.guarantee import InfeasibleBudgetError
from dpverify.planning.account import account
from dpverify.planning.kernels.density import plan_density, rmse_at_one_point
from protocols.kde import KernelDensityProtocol
from protocols.lsq import Identity, LinearMap
from tests.planning.normal import normal_noise


@pytest.mark.long
def test_a_plan_keeps_the_budget_as_a_protocol_and_one_for_the_honest_without_the_others() -> None:
    found = plan_density("gaussian", 8, ("2", "1e-4"), users=60, max_messages_per_user=40, honest="0.5")
    (best,) = found.rows
    protocol = KernelDensityProtocol(best.bitsum.protocol, best.family.sample(best.pairs, np.random.default_rng(0)))
    assert protocol.bitsum.users == 60
    assert account(protocol, delta="1e-4", relative_width=1e-3, honest=30).epsilon.upper <= 2.0
    assert account(protocol, delta="1e-4", relative_width=1e-3, honest=24).epsilon.upper > 2.0
    assert found.honest == found.to_dict()["honest"] == best.bitsum.honest == 30
    among_all = plan_density("gaussian", 8, ("2", "1e-4"), users=60, max_messages_per_user=40)
    (alone,) = among_all.rows
    features = alone.family.sample(alone.pairs, np.random.default_rng(0))
    everyone = KernelDensityProtocol(alone.bitsum.protocol, features)
    assert account(everyone, delta="1e-4", relative_width=1e-3).epsilon.upper <= 2.0
    assert alone.bits == features.coordinates == alone.messages_per_user == 32
    assert alone.rmse == rmse_at_one_point(alone.family, alone.pairs, 60, alone.bitsum.bitsum_rmse)
    assert among_all.failures  # of the longer rungs: more than 40 messages
    assert best.bitsum.bitsum_rmse == pytest.approx(alone.bitsum.bitsum_rmse * 2**0.5, rel=0.05)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Normal noise in place of every bitsum's plan, which the choice of features does not depend on."""

    normal_noise(monkeypatch)


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


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "ball"), [("gaussian", True), ("inner-product", True), ("laplacian", False)])
def test_points_of_a_ball_are_planned_as_such(kernel: str, ball: bool) -> None:
    found = plan_density(kernel, 16, ("2", "1e-4"), users=300, bitsums=["central-gaussian"], every_rung=False)
    for row in found.rows:
        assert isinstance(row.bitsum.change, L2Ball) == ball
        features = row.family.sample(row.pairs, np.random.default_rng(0))
        assert claims_of(row.family).in_ball(features) == ball
        assert row.bitsum.change.full == claims_of(row.family).squared_change(features)


@pytest.mark.usefixtures("quick")
def test_each_bitsum_has_a_row_at_the_recommended_number_of_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = plan_density("laplacian", 5, ("2", "1e-4"), users=300)
    heard: list[tuple[int, int]] = []
    found = plan_density(
        "laplacian",
        5,
        ("2", "1e-4"),
        users=300,
        bitsums=["rr", "nb"],
        every_rung=False,
        progress=lambda *told: heard.append(told),
    )
    assert [(row.bitsum.bitsum, row.bits) for row in found.rows] == [
        (name, whole.recommended.row.bits) for name in ("rr", "nb")
    ]
    assert {row.rmse for row in found.rows} == {whole.recommended.row.rmse}
    assert heard == [(1, 2), (2, 2)]

    def few(bitsum: str, instances: int, **more: object) -> str | None:
        return "too many bits." if bitsum == "nb" and instances > 100 else None

    normal_noise(monkeypatch, refuse=few)
    found = plan_density("laplacian", 5, ("2", "1e-4"), users=300, bitsums=["rr", "nb"], every_rung=False)
    assert [(row.bitsum.bitsum, row.bits) for row in found.rows] == [("nb", 64), ("rr", 2048)]


@pytest.mark.usefixtures("quick")
def test_too_few_messages_are_told_in_one_sentence_with_the_limit_that_was_given() -> None:
    with pytest.raises(
        InfeasibleBudgetError,
        match=r"^max_messages_per_user=0\.5 is too few for rr, nb with 32 bits a user or more, as a bit takes about a "
        r"message\.$",
    ):
        plan_density("gaussian", 3, ("1", "1e-4"), users=90, bitsums=["rr", "nb"], max_messages_per_user=0.5)
    found = plan_density("gaussian", 3, ("1", "1e-4"), users=90, max_messages_per_user=100)
    assert [row.bits for row in found.rows] == [32, 64]
    (reason,) = found.failures
    assert reason.startswith("max_messages_per_user=100 is too few for rr with 128 bits a user or more")


@pytest.mark.long
def test_what_needs_a_trusted_curator_is_not_recommended_beside_what_does_not() -> None:
    names = ["central-gaussian", "local-rr"]
    found = plan_density("inner-product", 32, ("1", "1e-4"), users=90, bitsums=names, every_rung=False)
    assert {row.bitsum.bitsum for row in found.rows} == set(names)
    assert {row.bitsum.bitsum for row in found.front} == {"local-rr"}
    assert found.recommended.row.bitsum.bitsum == "local-rr"
    assert found.best.bitsum.bitsum == "central-gaussian"
    assert found.recommended.reason.endswith("; of those that need no trusted curator")


def test_bad_arguments() -> None:
    for arguments, more, message in (
        (("cosine", 3, ("1", "1e-6")), {}, r"^kernel='cosine' must be one of inner-product, gaussian"),
        (("gaussian", 0, ("1", "1e-6")), {}, r"^dimension=0 must be an integer"),
        (
            ("gaussian", 3, ("1", "1e-6")),
            {"bandwidth": 1e300},
            r"^bandwidth=1e\+300 must be .* in \[1e-100, 1e\+100\]\.$",
        ),
        (("gaussian", 3, ("1", "1e-6")), {"bandwidth": 1e-300}, r"^bandwidth=1e-300 must be .* in \[1e-100, 1e\+100\]"),
        (
            ("inner-product", 3, ("1", "1e-6")),
            {"bandwidth": 2.0},
            r"^bandwidth=2\.0 must be 1 for the kernel inner",
        ),
        (("gaussian", 3, ("1", "1e-6")), {"bitsums": []}, r"^bitsums=\[\] must have at least one entry\.$"),
        (("gaussian", 3, ("1", "1e-6")), {"bitsums": ["xy"]}, r"^bitsum='xy' must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            plan_density(*arguments, users=9, **more)
    with pytest.raises(InfeasibleBudgetError, match=r"^delta=0 cannot be met here"):
        plan_density("gaussian", 3, ("1", 0), users=9)
    with pytest.raises(InfeasibleBudgetError, match=r"^max_messages_per_user="):
        plan_density("gaussian", 3, ("1", "1e-6"), users=9, max_messages_per_user=3)
