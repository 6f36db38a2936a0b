"""The least users or epsilon for an error of a density: the answer reaches it, and one step less does not."""

import pytest

from dpverify.guarantee import InfeasibleBudgetError
from dpverify.planning.kernels.density import DensityRow, plan_density
from dpverify.planning.kernels.least_density import error_for_margin, least_density_epsilon, least_density_users
from tests.planning.normal import normal_noise


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Normal noise, off its prediction by a fifth, in place of every bitsum's plan; returns what is asked."""
    return normal_noise(monkeypatch, factor=1.2, refuse=lambda users, **more: "too few users." if users < 20 else None)


@pytest.mark.long
def test_proved_plans_reach_the_error_and_one_step_less_does_not() -> None:
    found = least_density_users("inner-product", 8, ("2", "1e-4"), error=0.05, bitsums=["central-gaussian"])
    for answer in found.rows:
        assert answer.row.bitsum.guarantee.epsilon <= 2
        assert answer.row.bitsum.protocol.users == answer.least
        assert answer.less == answer.least - 1
        assert isinstance(answer.below, DensityRow)
        assert answer.row.rmse <= 0.05 < answer.below.rmse
    at = int(found.rows[0].least)
    (same, *_) = plan_density("inner-product", 8, ("2", "1e-4"), users=at, bitsums=["central-gaussian"]).rows
    assert same == found.rows[0].row


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kernel", ["inner-product", "gaussian", "laplacian", "exponential"])
def test_more_bits_need_no_more_users(kernel: str) -> None:
    found = least_density_users(kernel, 16, ("1", "1e-6"), error=0.01 if kernel == "inner-product" else 0.07)
    needed = [answer.least for answer in found.rows]
    assert len(needed) > 1
    assert needed == sorted(needed, reverse=True)
    assert found.best.least == needed[-1]
    for answer in found.rows:
        assert isinstance(answer.below, DensityRow)
        assert answer.row.rmse <= found.error < answer.below.rmse
        assert answer.less is not None
        assert 0.0 < answer.least - answer.less <= max(1.0, 1e-3 * answer.least)


def test_few_plans_are_made(quick: list[dict[str, object]]) -> None:
    found = least_density_users("gaussian", 3, ("1", "1e-6"), error=0.05)
    assert len(quick) <= 7 * len(found.rows)


@pytest.mark.usefixtures("quick")
def test_what_features_cannot_reach_is_said_once() -> None:
    found = least_density_users("gaussian", 3, ("1", "1e-6"), error=0.05)
    assert [answer.row.bits for answer in found.rows] == [512, 1024, 2048]
    assert found.failures == (
        "an error of 0.05 is not reached with 256 bits a user or fewer: without any noise they err by 0.0625.",
    )
    none = least_density_users("gaussian", 3, ("1", "1e-6"), error=0.001)
    assert not none.rows
    assert none.failures[0].startswith("an error of 0.001 is not reached with 2,048 bits a user or fewer")
    assert "an error of 0.001" in str(none)
    assert none.to_dict()["rows"] == []


@pytest.mark.usefixtures("quick")
def test_epsilon_goes_back_to_the_users() -> None:
    users = least_density_users("gaussian", 3, ("1", "1e-6"), error=0.05)
    epsilon = least_density_epsilon("gaussian", 3, "1e-6", users=int(users.best.least), error=0.05)
    assert epsilon.best.least == pytest.approx(1.0, rel=0.02)
    assert isinstance(epsilon.best.below, DensityRow)
    assert epsilon.best.row.rmse <= 0.05 < epsilon.best.below.rmse
    assert epsilon.best.row.bitsum.guarantee.epsilon <= epsilon.best.least


@pytest.mark.usefixtures("quick")
def test_a_margin_is_an_error_and_half_honest_users_are_more_users() -> None:
    margin = least_density_users("gaussian", 3, ("1", "1e-6"), margin=0.4, confidence=0.9375)
    plain = least_density_users("gaussian", 3, ("1", "1e-6"), error=0.05)
    assert margin.error == error_for_margin(0.4, 0.9375) == pytest.approx(0.05)
    assert [answer.least for answer in margin.rows] == [answer.least for answer in plain.rows]
    assert (margin.margin, margin.confidence) == (0.4, 0.9375)
    assert "differ by 0.4" in str(margin)
    assert least_density_users("gaussian", 3, ("1", "1e-6"), margin=0.2).confidence == 0.9


@pytest.mark.usefixtures("quick")
def test_all_bitsums_have_a_row_each_for_the_most_bits() -> None:
    heard: list[tuple[float, int]] = []
    found = least_density_users(
        "gaussian",
        3,
        ("1", "1e-6"),
        error=0.05,
        bitsums=["rr", "nb"],
        every_rung=False,
        progress=lambda *told: heard.append(told),
    )
    assert [(answer.row.bitsum.bitsum, answer.row.bits) for answer in found.rows] == [("rr", 2048), ("nb", 2048)]
    done = [told for told, _ in heard]
    assert {0.0, 1.0, 2.0} < set(done)
    assert len(done) > 6  # a search of minutes says so before its first answer, and after every plan
    assert done == sorted(done)
    assert {total for _, total in heard} == {2}


def test_bad_arguments() -> None:
    budget = ("1", "1e-6")
    for more, message in (
        ({}, r"^exactly one of error=None and margin=None must be given\.$"),
        ({"error": 0.1, "margin": 0.1}, r"^exactly one of error=0\.1 and margin=0\.1 must be given\.$"),
        ({"error": 0.1, "confidence": 0.5}, r"^confidence=0\.5 must be omitted without margin"),
        ({"error": 2}, r"^error=2 must be a finite number in \(0, 1\]\.$"),
        ({"margin": 3}, r"^margin=3 must be a finite number in \(0, 2\]\.$"),
        ({"margin": 1, "confidence": 1}, r"^confidence=1 must be a finite number in \(0, 1\)\.$"),
        ({"error": 0.1, "bitsums": []}, r"^bitsums=\[\] must have at least one entry\.$"),
        ({"error": 0.1, "honest": 1.5}, r"^honest=1\.5 must be an integer in \[1, \d+\], or a share"),
    ):
        with pytest.raises(ValueError, match=message):
            least_density_users("gaussian", 3, budget, **more)  # type: ignore[arg-type]
    with pytest.raises(InfeasibleBudgetError, match="delta=0 cannot be met here"):
        least_density_epsilon("gaussian", 3, 0, users=100, error=0.1)
