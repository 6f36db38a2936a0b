"""What malicious users can do to a plan: with and without a cap on their messages."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpverify.claims.attacks.caps import capped
from dpverify.claims.attacks.manipulation import density_manipulation, manipulation
from dpverify.guarantee import Budget
from dpverify.planning.attacks import CAP_SHARE, attack, density_attack
from dpverify.planning.kernels.density import DensityRow
from dpverify.planning.plan import plan
from protocols.bitsum import CentralGaussian, NegativeBinomial, Poisson, RandomizedResponse, ThreeNB
from protocols.kde import KernelDensityProtocol
from protocols.lsq import FourierPairs, LaplacianBinning, LinearMap, LSQFamily

BUDGET = Budget("2", "1e-6")


@pytest.mark.parametrize("protocol", [Poisson(100, 50.0), ThreeNB(100, 0.5, 9.0, 0.5)])
def test_a_cap_is_the_least_that_costs_next_to_nothing(protocol: Poisson | ThreeNB) -> None:
    found = attack(protocol, 3, BUDGET, 4)
    assert found.freely.upper == math.inf
    assert found.cap is not None
    assert found.cap.delta(BUDGET) <= BUDGET.delta * (1.0 + CAP_SHARE)
    assert capped(protocol, found.cap.messages - 1, instances=4).delta(BUDGET) > BUDGET.delta * (1.0 + CAP_SHARE)
    assert found.capped == manipulation(protocol, 3, found.cap.messages)
    assert found.capped.upper == 3 * found.cap.messages
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["freely"]["upper"] == "inf"


@pytest.mark.parametrize("protocol", [RandomizedResponse(100, 0.1), CentralGaussian(100, 3.0)])
def test_a_fixed_number_of_messages_needs_none(protocol: RandomizedResponse | CentralGaussian) -> None:
    found = attack(protocol, 3, BUDGET, 4)
    assert (found.cap, found.capped, found.note) == (None, found.freely, "")
    assert found.to_dict()["cap"] is None


@pytest.mark.parametrize(
    ("p", "delta", "why"),
    [(0.9, "1e-30", "A loss of 0.001 of delta=1e-30 "), (1 - 1e-6, "1e-6", "a law of 32681683 atoms is needed")],
)
def test_a_cap_that_is_not_known_has_a_reason(p: float, delta: str, why: str) -> None:
    found = attack(NegativeBinomial(2, 0.01, p), 1, Budget("2", delta), 4)
    assert found.cap is None
    assert found.capped.upper == math.inf
    assert found.note.startswith(why)


def test_nobody_does_nothing_and_more_than_all_are_refused() -> None:
    assert attack(Poisson(100, 50.0), 0, BUDGET, 1).freely.upper == 0.0
    with pytest.raises(ValueError, match=r"malicious=101 must be an integer in \[0, 100\]"):
        attack(Poisson(100, 50.0), 101, BUDGET, 1)


def test_a_density_is_moved_to_the_farther_side() -> None:
    row = replace(plan("rr", BUDGET, users=60), protocol=Poisson(60, 40.0, estimate="under"))
    found = density_attack(DensityRow(FourierPairs(3, 1.0), 4, 8, 4.0, row, 0.1), 3, BUDGET)
    assert found.capped.upper == -found.capped.lower > 0.0


@pytest.mark.parametrize(
    ("family", "pairs", "reached"),
    [
        (LinearMap(3, "haar", 0.8, 3, radius=1.0), 1, 0.9),
        (LinearMap(3, "haar", 0.8, 8, radius=1.0), 1, 0.8),
        (FourierPairs(3, 1.0), 16, 0.5),
        (LaplacianBinning(3, 1.0, 1, True), 16, 0.5),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, LSQFamily) else None,
)
@pytest.mark.parametrize("bitsum", ["rr", pytest.param("poisson", marks=pytest.mark.long)])
def test_no_query_of_a_density_is_moved_by_more(family: LSQFamily, pairs: int, reached: float, bitsum: str) -> None:
    row = plan(bitsum, BUDGET, users=100, instances=4)
    made = DensityRow(family, pairs, pairs * family.Q, 4.0, row, 0.1)
    found = density_attack(made, 5, BUDGET)
    queries = np.random.default_rng(2).normal(size=(4000, 3))
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    density = KernelDensityProtocol(row.protocol, made.features)
    cap = None if found.cap is None else found.cap.messages
    least, most = density_manipulation(density, 5, queries, cap)
    farthest = float(max(most.max(), -least.min()))
    assert found.capped.lower == -found.capped.upper
    assert 0.6 * reached * found.capped.upper <= farthest <= found.capped.upper * (1.0 + 1e-12)
    assert (found.freely.upper == math.inf) == (bitsum == "poisson")
