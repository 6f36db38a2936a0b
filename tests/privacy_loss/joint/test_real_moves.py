"""Real moves of counts: no exact product exceeds the bound, which is near what is attained, and what is charged."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.laws.noise import negative_binomial, poisson
from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.joint.real_moves import RealMoves
from dpverify.privacy_loss.windows.contour import Contour

Ints = NDArray[np.int64]


def fair(flips: int, tail: float = 0.0) -> IntegerLaw:
    """Noise whose masses are multiples of 2^-flips: none is rounded."""
    return IntegerLaw(0, np.array([math.comb(flips, k) for k in range(flips + 1)]) / 2.0**flips, 0.0, 0.0, 0.0)


def rounded(flips: int, place: int, grain: int, counts: int) -> Ints:
    """The law of fair noise plus place / 2^grain, rounded at random, in units of 2^-(flips + grain)."""
    low, fraction = divmod(place, 2**grain)
    law, noise = np.zeros(counts + 1, dtype=np.int64), np.array([math.comb(flips, k) for k in range(flips + 1)])
    law[low : low + noise.size] += (2**grain - fraction) * noise
    law[low + 1 : low + 1 + noise.size] += fraction * noise
    return law[:counts]


def exact(flips: int, grain: int, before: Ints, after: Ints, ratios: Ints) -> Ints:
    """The divergence of integer places at e^epsilon = ratio / 16, in units of 2^-(moved (flips + grain) + 4)."""
    p = q = np.ones(1, dtype=np.int64)
    counts = flips + 1 + math.ceil(max(before.max(initial=0), after.max(initial=0)) / 2**grain)
    for one, other in zip(before.tolist(), after.tolist(), strict=True):
        p, q = (
            np.multiply.outer(law, rounded(flips, place, grain, counts)).ravel()
            for law, place in ((p, other), (q, one))
        )
    return np.array([np.maximum(16 * p - ratio * q, 0).sum() for ratio in ratios])


def hunted(flips: int, grain: int, dimension: int, scale: float, clip: float, changes: int, seed: int) -> list[float]:
    """The largest share of the bound that vectors attain, in integers throughout, at each of a few epsilons."""
    ratios = np.array([12, 20, 40, 100])
    curve = RealMoves(partial(fair, flips), scale**2, clip, dimension, reference_delta=1e-2)
    bounds = [curve.delta_upper(math.nextafter(math.log(ratio / 16), -9.0)) for ratio in ratios]
    rng, largest = np.random.default_rng(seed), np.zeros(ratios.size)
    for _ in range(changes):
        ends = rng.standard_normal((2, dimension)) ** rng.choice([1, 3])
        ends *= scale / np.linalg.norm(ends, axis=1, keepdims=True) * rng.choice([1.0, rng.random()], (2, 1))
        if rng.random() < 0.3:
            ends[rng.integers(2)] = 0.0
        places = np.trunc(np.clip(ends, -clip, clip) * 2**grain).astype(np.int64)
        before, after = (np.maximum(np.append(place, -place), 0) for place in places)
        moved = before != after
        found = exact(flips, grain, before[moved], after[moved], ratios)
        largest = np.maximum(largest, found / 2.0 ** (moved.sum() * (flips + grain) + 4))
    assert (largest <= bounds).all()
    return [share / bound for share, bound in zip(largest, bounds, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("flips", "grain", "dimension", "scale", "clip"),
    [(16, 4, 1, 1.0, 1.0), (16, 4, 1, 0.4, 0.4), (16, 4, 1, 2.3, 2.3), (8, 3, 2, 1.2, 0.9)],
)
def test_no_change_exceeds_the_bound(flips: int, grain: int, dimension: int, scale: float, clip: float) -> None:
    found = hunted(flips, grain, dimension, scale, clip, 400 if dimension == 1 else 100, 7)
    assert found[1] > 0.5


ROWS = {
    "poisson": (partial(poisson, 2633.0), 8.6, 384, 1e-6, 0.004),
    "many": (partial(poisson, 269_456.0), 87.0, 384, 1e-6, 0.003),
    "nb": (partial(negative_binomial, 350.0, 0.75), 8.6, 384, 1e-6, 0.007),
    "few": (partial(poisson, 2633.0), 8.6, 4, 1e-6, 0.02),
    "little": (partial(poisson, 40.0), 1.0, 64, 1e-5, 0.1),
    "skewed": (partial(negative_binomial, 60.0, 0.9), 3.0, 100, 1e-6, 0.02),
}


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS)
def test_the_bound_is_near_what_is_attained(row: str) -> None:
    noise, scale, dimension, delta, width = ROWS[row]
    curve = RealMoves(noise, scale**2, scale * min(5.5 / math.sqrt(dimension), 1.0), dimension, reference_delta=delta)
    found = curve.epsilon(delta)
    assert 0.0 < found.width < width * found.lower
    assert curve.delta(found.upper).upper <= delta * (1.0 + 1e-9)


def test_no_integer_lies_below_the_first_size_nor_between_two() -> None:
    # Total variation is concave in the size: a chord from nothing to a first size of 3.8 is below what lies between.
    curve = RealMoves(partial(poisson, 1e4), 3600.0, 60.0, 1, reference_delta=1e-6)
    assert set(range(1, 61)) <= set(curve.grid.sizes.tolist())
    assert curve.grid.sizes[0] == 1.0


def test_attained_changes_fit_into_each_run() -> None:
    # Of the largest moves one fits into a run, but three into the squares of two runs.
    curve = RealMoves(partial(negative_binomial, 5.0, 0.95), 32.0, 3.0, 8, runs=2, reference_delta=1e-3)
    one = RealMoves(partial(negative_binomial, 5.0, 0.95), 16.0, 3.0, 4, reference_delta=1e-3)
    assert curve.epsilon_upper(1e-3) > 1.2
    for increase in (True, False):
        assert [each[1] for some in curve._some(increase) for each in some] == [8, 2, 2]
        assert [each[1] for some in one._some(increase) for each in some] == [4, 1, 1]


@pytest.mark.parametrize("noise", [partial(poisson, 1.5), partial(negative_binomial, 2.0, 0.6)])
def test_every_move_is_dominated_by_moves_of_the_grid(noise: partial[IntegerLaw]) -> None:
    curve, rng, epsilons = (
        RealMoves(noise, 9.0, 2.6, 4, reference_delta=1e-30),
        np.random.default_rng(3),
        (-0.9, 0.2, 1),
    )
    pmf = noise(1e-40).pmf

    def law(shift: float) -> NDArray[np.float64]:
        ends = (np.append(np.zeros(math.floor(shift) + more), np.append(pmf, np.zeros(9))) for more in (0, 1))
        below, above = (end[: pmf.size + 6] for end in ends)
        return np.asarray(below + (shift - math.floor(shift)) * (above - below))

    def of_grid(size: float, epsilon: float, increase: bool, low: bool) -> float:
        place = int(np.searchsorted(curve.grid.sizes, size))
        ends = [(0.0, max(-math.expm1(epsilon), 0.0))] if place == 0 else []
        for end in curve.grid.sizes[max(place - 1, 0) : place + 1].tolist():
            ends.append((end, curve.pair(end, increase=increase, low=low).delta(epsilon).upper))
        return float(np.interp(size, *zip(*ends, strict=True)))

    for size in (1.0, 2.0, *rng.uniform(0.0, 0.1, 5), *rng.uniform(0.0, 2.6, 40)):
        start, rest = rng.uniform(0.0, 2.0), size % 1.0
        # How far the move is from one with an integer at its low end, towards one with an integer at its high end.
        part = start % 1.0
        share = part / (1.0 - rest) if part < 1.0 - rest else (1.0 - part) / rest
        for increase in (True, False):
            after, before = (law(start + size * (increase == side)) for side in (True, False))
            for epsilon in epsilons:
                low, high = (of_grid(size, epsilon, increase, kind) for kind in (True, False))
                exact = float(np.maximum(after - math.exp(epsilon) * before, 0.0).sum())
                assert exact <= (1.0 - share) * low + share * high + 1e-12


def _paired(kinds: list[list[Any]]) -> list[tuple[Any, Any]]:
    """Grids and atoms of increases, of both kinds, and of decreases."""
    return [*zip(kinds[0], kinds[2], strict=True), *zip(kinds[1], kinds[3], strict=True)]


def test_what_is_charged_is_charged() -> None:
    def noise(tail: float, *, error: float = 0.0, outside: float = 0.0) -> IntegerLaw:
        law = poisson(50.0, tail)
        return IntegerLaw(law.start, law.pmf.copy(), error, outside, outside)

    made = [RealMoves(partial(noise, **given), 4.0, 1.5, 3) for given in ({}, {"error": 1e-3}, {"outside": 1e-3})]
    plain, wrong, unknown = made
    contour = Contour(1.0, 0.5, 50, 1e-2)
    # Six counts' masses, each off by 1e-3, and losses, each off by 2e-3; and what six counts lack at both ends.
    assert wrong.log_integral(contour) > plain.log_integral(contour) + 6e-3 + 12e-3
    assert unknown.delta_upper(1.0) > plain.delta_upper(1.0) + 12e-3
    # What has faded from so many moves of one size, up and down.
    for size, *kinds in zip(plain.grid.sizes, *plain._gridded, *plain.moved, strict=True):
        lost = [float(np.sum(grid.masses) - np.sum(np.exp(atoms.log_masses))) for grid, atoms in _paired(kinds)]
        assert min(4.0 / size**2, 3.0) * (max(lost[:2]) + max(lost[2:])) <= plain.left_out
    # What the first cell adds, to each of six counts.
    before, rates = plain.log_integral(contour), plain.grid.rates
    plain.grid.rates = lambda moduli: (lambda found, crowd: (found, crowd + 0.01))(*rates(moduli))  # type: ignore[method-assign]
    assert plain.log_integral(contour) == pytest.approx(before + 0.06, abs=1e-9)
    # Who moves nothing may use up nothing: less than what even moves have that always lose the same.
    flat = RealMoves(lambda tail: IntegerLaw(0, np.full(400, 1 / 400), 0.0, 0.0, 0.0), 4.0, 1.5, 3)
    assert flat.log_integral(contour) >= contour.log_integral(np.zeros(50))
    with pytest.raises(CapacityError, match="the noise has 3 atoms, but moves of 2 need more than twice"):
        RealMoves(partial(fair, 2), 4.0, 1.5, 3)
