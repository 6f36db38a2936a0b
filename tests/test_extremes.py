"""Accounts at the edge of what floats and memory allow answer, or refuse, with little work."""

import math
import tracemalloc

import pytest

from dpverify.claims.bitsum import three_nb as twin
from dpverify.laws import window
from dpverify.planning.account import account
from dpverify.privacy_loss.losses.pairs import three_nb
from dpverify.privacy_loss.windows.transform import Composition
from protocols.bitsum import (
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    LocalRandomizedResponse,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.bitsum.base import BitsumProtocol
from protocols.vector_sum import VectorSum

MANY = 10**11


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the cells of the transforms made; too many, or too large a one, fail at once."""
    cells: list[int] = []
    window = Composition._window

    def counted(self: Composition, tilt: float, log_mgf: float, variance: float) -> tuple[int, int, float]:
        first, length, outside = window(self, tilt, log_mgf, variance)
        cells.append(length)
        assert length <= 2**21, f"a transform of {length} cells"
        assert sum(cells) <= 2**25, f"{len(cells)} transforms of {sum(cells)} cells"
        return first, length, outside

    monkeypatch.setattr(Composition, "_window", counted)
    return cells


@pytest.mark.long
@pytest.mark.parametrize(
    ("protocol", "instances", "delta", "transforms"),
    [
        (Poisson(1, 30.0), 10**6, 1e-6, 0),
        (RandomizedResponse(30_000, 0.1), 10**6, 1e-6, 0),
        (NegativeBinomial(1, 40.0, 0.98), 10**6, 1e-6, 0),
        (ThreeNB(1, 0.984, 10.0, 0.9936), 10**6, 1e-6, 0),
        (NegativeBinomial(1, 40.0, 0.98), 768, 1e-30, 40),
        (Pure(1, 0.9, 1.0 - 1e-16, 10.0, 0.99), 768, 1e-6, 8),
        (Poisson(1, 1e3), 10**9, 1e-6, 0),
        (NegativeBinomial(1, 40.0, 0.98), 10**9, 1e-6, 0),
        (RandomizedResponse(20, 0.4), MANY, 1e-6, 0),
        (RandomizedResponse(10**6, 0.4), MANY, 1e-6, 0),
        (NegativeBinomial(1, 40.0, 0.98), MANY, 1e-6, 0),
        (ThreeNB(1, 0.984, 10.0, 0.9936), MANY, 1e-6, 0),
        (Pure(1, 0.984, 1e-3, 50.0, 0.99), MANY, 1e-6, 0),
        (CentralDiscreteGaussian(1, 1e3), MANY, 1e-6, 0),
        (CentralDiscreteLaplace(1, 0.99), MANY, 1e-6, 0),
    ],
    ids=lambda value: str(value)[:40],
)
def test_extremes_answer_with_bounded_work(
    work: list[int], protocol: BitsumProtocol, instances: int, delta: float, transforms: int
) -> None:
    found = account(protocol, instances=instances, delta=delta).epsilon
    assert 0.0 <= found.lower <= found.upper < math.inf
    # The chord over the other users' bits costs more where few reports are flipped.
    loose = isinstance(protocol, RandomizedResponse) and protocol.users < 100
    assert found.lower >= (0.97 if loose else 0.995) * found.upper or found.upper < 1e-6
    assert len(work) <= transforms


@pytest.mark.parametrize(
    ("protocol", "instances", "delta"),
    [(ThreeNB(71, 0.475, 2.0, 0.744), 8, 2.8e-15), (Poisson(1, 30.0), MANY, 1e-6)],
)
def test_known_infinite_mass_answers_without_a_grid(
    work: list[int], protocol: BitsumProtocol, instances: int, delta: float
) -> None:
    found = account(protocol, instances=instances, delta=delta).epsilon
    assert found.lower == found.upper == math.inf
    assert not work


def test_trimming_follows_the_delta_that_is_asked_for() -> None:
    # At an epsilon where delta is far below the reference, rare losses count again.
    found = account(NegativeBinomial(1, 40.0, 0.98), instances=100, epsilon=0.3).delta
    assert 0.0 < found.lower <= found.upper < 1.01 * found.lower < 1e-18


def test_local_reports_have_a_lower_end_at_a_million_instances(work: list[int]) -> None:
    found = account(LocalRandomizedResponse(10, 0.3), instances=10**6, delta=1e-6).epsilon
    assert 0.98 * found.upper < found.lower <= found.upper < 342_620


def test_a_heavy_flood_takes_the_memory_of_ten_lists_of_its_atoms() -> None:
    # 700,000 atoms, and four lists of them are the answer.
    tracemalloc.start()
    try:
        up, _ = three_nb(0.9, 1e-3, 0.9999, 1e-19)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * up.losses.nbytes


def test_a_budget_out_of_reach_needs_no_list_of_a_heavy_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    # Seven million atoms otherwise.
    monkeypatch.delattr(twin, "counts")
    found = account(ThreeNB(1, 0.9, 1e-3, 0.99999), instances=768, delta=1e-6).epsilon
    assert found.lower == found.upper == math.inf


@pytest.mark.parametrize("drop_probability", [1e-300, 0.5, 1.0 - 1e-5])
def test_a_flood_too_heavy_to_sort_is_left_out_at_once(
    monkeypatch: pytest.MonkeyPatch, drop_probability: float
) -> None:
    monkeypatch.delattr(window, "_anchored")
    found = account(Pure(1, 0.9, drop_probability, 1e-3, 0.99999), instances=768, delta=1e-6)
    assert 0.0 < found.epsilon.upper < math.inf
    assert "atoms" in found.notes[-1]


def test_steep_noise_has_a_finite_bound_at_a_tiny_delta() -> None:
    found = account(CentralDiscreteGaussian(1, 0.1), instances=10, delta=1e-50).epsilon
    assert 500.0 < found.lower <= found.upper < 800.0


@pytest.mark.long
def test_a_crowd_beyond_the_floats_leaves_out_what_counts_it() -> None:
    found = account(VectorSum(10**18, 10, 10, 0.3), delta="1e-6")
    assert found.epsilon.upper < 8.0
    assert found.notes[-1].startswith("left out: ")
    assert not found.notes[-1].endswith(".")
    assert account(VectorSum(10**9, 10**6, 1000, 0.3), delta="1e-6").epsilon.lower > 0.005
    found = account(RandomizedResponse(2**63 - 1, 0.4), delta="1e-6")
    assert found.epsilon.upper == pytest.approx(math.log(1.5 - 2.5e-6))  # what one report shows by itself at this delta
    assert found.notes[-1].startswith("left out: ")
    assert "at most 2^52 are" in found.notes[-1]
