"""The largest exponent over changes: no move, and no mix of moves, has more than its cell allows."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from dpverify.changes import L2Ball, L2Bounded
from dpverify.privacy_loss.joint import change_rates
from dpverify.privacy_loss.joint.change_rates import ChangeGrid, looseness

Floats = NDArray[np.float64]
Moduli = Callable[[Floats, Floats], Floats]


def on_grid(grid: ChangeGrid, log_moduli: Moduli) -> Floats:
    """Return ln |phi| at the moves that are looked at, and nan elsewhere, for one node."""
    values = np.full((*grid.midpoints.shape, 1), np.nan)
    for index, size in enumerate(grid.sizes):
        for level, _ in grid.moves(index):
            values[index, level, 0] = log_moduli(np.array(size), grid.midpoints[index, level])
    return values


def most(grid: ChangeGrid, rates: Floats, crowd: Floats, t: float, c: float) -> float:
    """Return the bound on F at a move: by the cells that its size lies in, of whatever strip."""
    index = int(np.searchsorted(grid.sizes, t))
    cost = t * t + (c * c if isinstance(grid.change, L2Ball) else 0.0)
    return float(rates[min(index, grid.sizes.size - 1)].max()) * cost + float(crowd[0])


def reachable(rng: np.random.Generator, square: float = 1.0) -> tuple[float, float]:
    """Draw a move of the range that counts: |c| (1-|c|) <= t^2, |c| <= 1 - t, and t^2 + c^2 <= T^2."""
    top = min(1.0, math.sqrt(square))
    while True:
        t = top * float(rng.uniform() ** rng.choice([0.3, 1.0, 4.0]))
        farthest = 1.0 - t if t >= 0.5 else 0.5 * (1.0 - math.sqrt(1.0 - 4.0 * t * t))
        farthest = min(farthest, math.sqrt(square - t * t))
        c = float(rng.choice([0.0, 1.0, -1.0, rng.uniform(-1.0, 1.0)])) * farthest
        if t > 0.0:
            return t, c


def interpolated(grid: ChangeGrid, values: Floats, t: float, c: float) -> float:
    """Return the logarithm of the interpolation of |phi|, linear in t along the levels and in c between them."""
    sizes, columns = np.append(0.0, grid.sizes), np.vstack([np.ones((1, values.shape[1])), np.exp(values[:, :, 0])])
    middles = np.vstack([np.zeros((1, values.shape[1])), grid.midpoints])
    at = [np.interp(t, sizes, column) for column in columns.T]
    return math.log(float(np.interp(c, [np.interp(t, sizes, column) for column in middles.T], at)))


SHAPES: dict[str, Moduli] = {
    "quadratic": lambda t, c: 3.0 * t**2 + 0.0 * c,
    "steep": lambda t, c: 12.0 * t**2 + 30.0 * t**3,
    "leaning": lambda t, c: 2.0 * t**2 * (1.0 + 0.8 * c),
    "leaning-steeply": lambda t, c: 15.0 * t**2 * (1.0 + 1.5 * c),
    "bent-steeply": lambda t, c: 15.0 * t**2 * (1.0 + 6.0 * c**2),
    "bent": lambda t, c: 2.0 * t**2 * (1.0 + 2.0 * c**2),
    "falling": lambda t, c: -4.0 * t**2 * (1.0 - 0.5 * c),
    "turning": lambda t, c: t**2 * (1.0 - 6.0 * t),
}


@pytest.mark.long
@pytest.mark.parametrize("coarse", [1.0, 100.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_move_between_the_grid_exceeds_its_cell(shape: str, coarse: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_rates, "_INTERPOLATION", 3e-4 * coarse)
    rng = np.random.default_rng(5)
    for change in (L2Ball(1.7, 6), L2Ball(0.3, 4), L2Ball(6.0, 6)):
        grid = ChangeGrid(change, 14.0)
        values = on_grid(grid, SHAPES[shape])
        rates, crowd = grid.rates(values)
        full = grid._filled(values.copy())
        for _ in range(200):
            t, c = reachable(rng, change.squared_change)
            assert interpolated(grid, full, t, c) <= most(grid, rates, crowd, t, c) + 1e-14


@pytest.mark.parametrize("rate", [3.0, 0.2, -0.1, -5.0])
def test_in_the_middle_of_cells_and_of_the_first(rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_rates, "_INTERPOLATION", 0.03)
    grid = ChangeGrid(L2Bounded(3.0, 8), 14.0)
    values = rate * grid.sizes[:, None, None] ** 2
    rates, crowd = grid.rates(values)
    for low, high in zip(np.append(0.0, grid.sizes), grid.sizes, strict=False):
        middle = 0.5 * (low + high)
        # What the first cell adds is for that one alone.
        added = crowd if low == 0.0 else np.zeros(1)
        assert interpolated(grid, values, middle, 0.0) <= most(grid, rates, added, middle, 0.0) + 1e-14


def test_is_sharp_on_a_fine_grid() -> None:
    for change, charged in ((L2Bounded(25.0, 100), 1e-3), (L2Ball(25.0, 100), 3e-3)):
        grid = ChangeGrid(change, 14.0)
        rates, crowd = grid.rates(on_grid(grid, lambda t, c: 0.5 * t**2 + 0.0 * c))
        assert 0.5 <= rates.max() <= 0.5 * (1.0 + charged)
        assert 0.0 < 100 * crowd[0] <= 1e-3 * 0.5 * 25.0


def test_midpoints_cost_nothing_but_where_they_bring_something() -> None:
    grid = ChangeGrid(L2Ball(25.0, 100), 14.0)
    for lean in (0.2, 1.0):
        rates, _ = grid.rates(on_grid(grid, lambda t, c, lean=lean: 0.3 * t**2 * (1.0 + lean * c)))
        t, share = np.meshgrid(np.linspace(0.01, 1.0, 200), np.linspace(-1.0, 1.0, 101))
        c = share * np.where(t < 0.5, 0.5 * (1.0 - np.sqrt(np.maximum(1.0 - 4.0 * t**2, 0.0))), 1.0 - t)
        exact = float((0.3 * t**2 * (1.0 + lean * c) / (t**2 + c**2)).max())
        assert exact * (1.0 - 1e-3) <= rates.max() <= exact * 1.01


@pytest.mark.parametrize("square", [9.0, 1.0, 0.7, 0.5, 0.4, 0.2, 0.01])
def test_every_move_of_the_range_is_between_the_levels(square: float) -> None:
    grid = ChangeGrid(L2Ball(square, 50), 14.0)
    assert (0.5 in grid.sizes) == (square > 0.25)
    rng = np.random.default_rng(2)
    for _ in range(500):
        t, c = reachable(rng, square)
        assert abs(c) <= np.interp(t, np.append(0.0, grid.sizes), np.append(0.0, grid.midpoints[:, -1])) + 1e-15
    for index in range(grid.sizes.size):
        for level, moves in grid.moves(index):
            for move in moves:
                # Exactly: the bits' probabilities are what costs are computed for.
                assert move.after[1] - move.before[1] == grid.sizes[index]
                assert move.after[1] + move.before[1] - 1.0 == grid.midpoints[index, level]
                assert min(*move.before, *move.after) >= 0.0
                assert move.before[0] + move.before[1] == move.after[0] + move.after[1] == 1.0


def test_a_ball_of_tiny_changes_is_bounded_without_its_midpoints() -> None:
    grid = ChangeGrid(L2Ball(1e-12, 10), 14.0)
    assert grid.has_sure_bits
    assert not ChangeGrid(L2Ball(0.1, 10), 14.0).has_sure_bits


class TestTheLargestMean:
    """The worst mix of cells, of which as many moves as there are coordinates must make up T^2."""

    @staticmethod
    def grid(square: float, coordinates: int) -> ChangeGrid:
        return ChangeGrid(L2Bounded(square, coordinates), 14.0)

    def test_is_the_largest_where_large_moves_are_the_worst(self) -> None:
        grid = self.grid(4.0, 50)
        logs = np.linspace(0.0, 3.0, grid.sizes.size)
        assert grid.largest_mean(logs) == pytest.approx(3.0, abs=1e-12)

    def test_no_mix_of_moves_exceeds_it_and_some_reach_it(self) -> None:
        rng = np.random.default_rng(9)
        for _ in range(20):
            square, coordinates = float(rng.uniform(0.5, 9.0)), int(rng.integers(9, 30))
            grid = self.grid(square, coordinates)
            costs, few = grid.sizes**2, max(math.floor(square), 1)
            logs = rng.choice([1.0, 10.0]) * (rng.uniform() - grid.sizes ** rng.choice([-1.0, 1.0, 2.0]))
            logs = np.minimum(logs, 5.0) + 0.1 * rng.standard_normal(logs.size)
            alone = np.append(0.0, costs[:-1]) > square / (few + 1)
            limits = [(1.0 / costs, coordinates / square), (alone / costs, few / square if few < 5 else 1e9)]
            largest = min(
                -linprog(-logs, [weights], [limit], np.ones((1, logs.size)), [1.0]).fun for weights, limit in limits
            )
            assert grid.largest_mean(logs) == pytest.approx(largest, abs=1e-9)

    def test_no_changes_exceed_it(self) -> None:
        """Whatever moves make up T^2, each in its cell."""
        rng, reached = np.random.default_rng(10), 0
        for _ in range(300):
            square, number = float(rng.uniform(0.2, 4.5)), int(rng.integers(5, 9))
            grid = self.grid(square, number)
            t = rng.uniform(size=number) ** rng.choice([0.2, 1.0, 5.0])
            for _ in range(60):
                t = np.minimum(t * math.sqrt(square / float(t @ t)), 1.0)
            if abs(float(t @ t) - square) > 1e-9:
                continue
            cells = np.searchsorted(grid.sizes * (1.0 + 1e-9), t)
            # What is worst lies in the cells of the largest moves.
            logs = np.where(np.isin(np.arange(grid.sizes.size), cells[t >= np.sort(t)[-2]]), 3.0, 0.0)
            mean = float(np.sum(t**2 / square * logs[cells]))
            best = grid.largest_mean(logs)
            assert mean <= best + 1e-6
            reached += best < 3.0 - 1e-3
        assert reached > 20

    def test_an_infinite_integral_stays_one(self) -> None:
        grid = self.grid(1.0, 4)
        assert grid.largest_mean(np.full(grid.sizes.size, math.inf)) == math.inf


def test_less_accuracy_is_wanted_of_small_changes() -> None:
    assert [looseness(L2Bounded(square, 100)) for square in (100.0, 25.0, 4.0, 1.0)] == [1.0, 1.0, 2.5, 4.0]


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_rates_are_rounded_up(sign: float) -> None:
    grid = ChangeGrid(L2Bounded(2.0, 50), 14.0)
    values = (
        sign * np.random.default_rng(2).uniform(0.1, 0.11, (grid.sizes.size, 1, 40)) * grid.sizes[:, None, None] ** 2
    )
    rates, _ = grid.rates(values)
    for index in range(1, grid.sizes.size):
        # At both ends of the cell, where F is what was looked at.
        for end in (index - 1, index):
            square = Fraction(float(grid.sizes[end])) ** 2
            for rate, value in zip(rates[index, 0].tolist(), values[end, 0].tolist(), strict=True):
                assert Fraction(rate) * square >= Fraction(value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_logarithm_of_a_mean_weighs_each_by_its_share(share: float) -> None:
    for one, other in ((0.3, -2.0), (-2.0, 0.3), (1.0, 1.0), (-40.0, 0.0)):
        found = float(change_rates._logarithm_of_mean(np.array(one), np.array(other), share))
        exact = math.log((1.0 - share) * math.exp(one) + share * math.exp(other))
        assert exact - 1e-15 <= found <= exact + 1e-12


def test_what_the_first_cell_adds() -> None:
    grid, shares = ChangeGrid(L2Bounded(25.0, 100), 14.0), np.linspace(0.0, 1.0, 41)
    logarithms = np.array([-11.0, -1.0, -0.01, 0.01, 1.0])
    rates, crowd = grid.rates(np.broadcast_to(logarithms, (*grid.midpoints.shape, 5)))
    least = np.log1p(np.multiply.outer(shares, np.expm1(logarithms)))
    assert (least <= rates[0, 0] * (shares[:, None] * grid.sizes[0]) ** 2 + crowd + 1e-15).all()
    # Of counts that move far more, small |phi| of those that would move little says nothing.
    assert (crowd[:3] <= 1e-12).all()


@pytest.mark.parametrize("square", [16.0, 512.0])
def test_what_lies_between_moves_costs_little_where_midpoints_grow_fast_too(square: float) -> None:
    # Next to t = 1/2 the farthest midpoint grows without bound; F = t^2 is the least around it, as for normal noise.
    grid = ChangeGrid(L2Ball(square, 1024), 14.0)
    rates, _ = grid.rates(on_grid(grid, lambda t, _: 27.0 / square * t * t))
    assert float(rates[1:].max()) * square <= 27.0 * 1.0016
