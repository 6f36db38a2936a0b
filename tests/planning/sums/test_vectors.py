"""Plans of sums of vectors: what is planned is proved, kept within its limits, and seen in a simulation."""

import math
from typing import Any

import numpy as np
import pytest

from dpverify.claims.sums.vectors import UnaryVectorClaims
from dpverify.guarantee import InfeasibleBudgetError
from dpverify.planning.account import account
from dpverify.planning.sums.vectors import central_rmse, plan_vectors, vector_front
from tests.samples import sphere


@pytest.mark.long
def test_a_plan_keeps_its_ratio_and_its_budget() -> None:
    found = plan_vectors(("1", "1e-6"), users=10_000, dimension=384, ratio=1.15)
    assert 1.13 < found.ratio <= 1.15
    assert found.messages_per_user < 210
    assert found.bytes_per_user < 260
    assert 0.998 < found.guarantee.epsilon <= 1.0
    assert found.guarantee.delta == 1e-6
    assert found.central_rmse == central_rmse((1, 1e-6), 384) == pytest.approx(2 * 4.224679 * math.sqrt(384))
    assert account(found.protocol, delta="1e-6").epsilon.upper == pytest.approx(found.guarantee.epsilon, rel=1e-12)
    assert found.to_dict()["parameters"]["noise"]["name"] == "nb"
    # With fewer messages the error is no less, and they are kept to.
    fewer = plan_vectors(("1", "1e-6"), users=10_000, dimension=384, max_bytes=100)
    assert fewer.bytes_per_user <= 100
    assert 1.4 < fewer.ratio < 1.5
    # What is planned is what is seen, whether users hold different vectors or the same.
    rng = np.random.default_rng(4)
    for vectors in (sphere(10_000, 384, 5), np.repeat(sphere(1, 384, 6), 10_000, axis=0)):
        estimates = [fewer.protocol.analyze(fewer.protocol.sample_view(vectors, rng)) for _ in range(3)]
        errors = np.linalg.norm(np.array(estimates) - vectors.sum(axis=0), axis=1)
        # 3 x 384 squares: 5 deviations are 10 %.
        assert np.sqrt(np.mean(errors**2)) == pytest.approx(fewer.rmse, rel=0.1)


@pytest.mark.long
def test_more_bytes_are_less_error() -> None:
    limits = (40.0, 160.0)
    front = vector_front((2, 1e-6), users=10_000, dimension=100, max_bytes=(0.01, *limits))
    assert list(front.failures) == ["0.01"]
    assert front.plans[0].ratio > front.plans[1].ratio > 1.0
    for row, limit in zip(front.plans, limits, strict=True):
        assert row.bytes_per_user <= limit
        assert 0.998 < row.guarantee.epsilon / 2.0 <= 1.0


def test_guesses_lead_to_what_is_proved_once_or_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs, bound = [], UnaryVectorClaims.moves

    def counted(*arguments: Any, guess: bool, **options: Any) -> Any:
        proofs.append(not guess)
        return bound(*arguments, guess=guess, **options)

    monkeypatch.setattr(UnaryVectorClaims, "moves", counted)
    front = vector_front((1, "1e-6"), users=300, dimension=32, max_bytes=(40,))
    assert 1 <= sum(proofs) <= 2 < len(proofs)
    assert all(0.9985 <= row.guarantee.epsilon <= 1.0 for row in front.plans)


def test_what_cannot_be_planned() -> None:
    with pytest.raises(InfeasibleBudgetError, match=r"cannot be met with 0\.01 messages for each user"):
        plan_vectors(("1", "1e-6"), users=100, dimension=8, max_messages=0.01)
    with pytest.raises(InfeasibleBudgetError, match=r"allows less noise than is tried"):
        plan_vectors(("30", "1e-6"), users=400, dimension=9, ratio=1.1)
    with pytest.raises(InfeasibleBudgetError, match=r"delta=0\.0 must be positive"):
        plan_vectors((1, 0), users=100, dimension=8)
    with pytest.raises(ValueError, match=r"^delta=1e-300 must be at least 1e-280: "):
        plan_vectors((1, "1e-300"), users=1000, dimension=4)
    with pytest.raises(ValueError, match="max_bytes=3 must be omitted where ratio=2 is given"):
        plan_vectors((1, 1e-6), users=100, dimension=8, ratio=2, max_bytes=3)
    with pytest.raises(ValueError, match=r"ratio=1\.0 must be"):
        plan_vectors((1, 1e-6), users=100, dimension=8, ratio=1.0)


@pytest.mark.long
def test_a_plan_of_few_messages_is_found_though_no_guess_comes_near() -> None:
    found = plan_vectors(("1", "1e-6"), users=10_000, dimension=64, ratio=3.0)
    assert found.ratio <= 3.0
    assert found.guarantee.epsilon <= 1.0
    assert found.bytes_per_user < 12.0
