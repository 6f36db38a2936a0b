"""A move's pair, from that of a full change: against the laws themselves, and the formulas of its profile."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from dpverify.privacy_loss.joint import bit_change
from dpverify.privacy_loss.joint.bit_change import FullChange, Move
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import approximate_dp
from dpverify.privacy_loss.windows.characteristic import LossAtoms
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss, connect_the_dots, dominating_grid

MOVES = [
    Move.from_zero(0.3),
    Move.to_one(0.3),
    Move.from_zero(1.0),
    Move.to_one(1.0),
    Move.around(0.25, 0.0),
    Move.around(0.25, -0.5),
    Move.around(0.5, 0.5),
    Move.around(2.0**-18, 2.0**-36),
    Move.from_zero(1e-9),
]


def of_one(full: FullChange, move: Move, *, finite: bool) -> tuple[LossAtoms, float]:
    """Return what one move has by itself."""
    (atoms,), error = full.all_moved([move], [finite])
    return atoms, error


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("loss", [1e-6, 0.5, 5.0, 40.0])
def test_a_move_has_the_losses_and_masses_of_its_laws(move: Move, loss: float) -> None:
    full = FullChange(connect_the_dots(approximate_dp(loss, 0.0), loss))
    atoms, error = of_one(full, move, finite=True)
    likelier, rarer = 1.0 / (1.0 + math.exp(-loss)), 1.0 / (1.0 + math.exp(loss))
    expected = {}
    for one, zero, sign in ((likelier, rarer, 1.0), (rarer, likelier, -1.0)):
        before, after = (ends[0] * zero + ends[1] * one for ends in (move.before, move.after))
        # Relative to the law before, so that small moves keep their digits.
        moved = sign * move.size * math.tanh(0.5 * loss) / before
        expected[math.log1p(moved) if abs(moved) < 0.5 else math.log(after / before)] = after
    found = dict(zip(atoms.losses.tolist(), np.exp(atoms.log_masses).tolist(), strict=True))
    for value, mass in expected.items():
        nearest = min(found, key=lambda known: abs(known - value))
        assert abs(nearest - value) <= error + 1e-15 * abs(value)
        assert found[nearest] == pytest.approx(mass, rel=1e-12)
    assert error <= 1e-14 * (1.0 + loss)


def test_moves_lie_where_they_are_said_to() -> None:
    move = Move.around(0.25, -0.125)
    assert move.after[1] - move.before[1] == move.size == 0.25
    assert move.after[1] + move.before[1] == 1.0 - 0.125
    assert Move.from_zero(0.25).before == (1.0, 0.0)
    assert Move.to_one(0.25).after == (0.0, 1.0)


def test_the_profile_of_a_move_is_that_of_the_full_change_elsewhere() -> None:
    pair = PrivacyLossDistribution.from_pmfs([0.1, 0.2, 0.7], [0.6, 0.3, 0.1])
    move = Move.around(0.5, 0.25)
    atoms, _ = of_one(FullChange(connect_the_dots(pair, 1e-4)), move, finite=True)
    before, after = move.before[1], move.after[1]
    for a in (0.2, 0.5, 0.9, 1.3, 2.0, 5.0):
        found = float(np.sum(np.exp(atoms.log_masses) * np.maximum(1.0 - a * np.exp(-atoms.losses), 0.0)))
        if a * (1 - before) <= 1 - after:
            exact = 1.0 - a
        elif a * before >= after:
            exact = 0.0
        else:
            weight = after - a * before
            exact = weight * pair.delta(math.log((a * (1 - before) - (1 - after)) / weight)).midpoint
        assert found == pytest.approx(exact, abs=1e-8)


def test_mass_that_either_law_lacks_has_the_loss_of_a_sure_bit() -> None:
    pair = PrivacyLossDistribution.from_pmfs([0.0, 0.9, 0.1], [0.8, 0.2, 0.0])
    full = FullChange(dominating_grid([pair], 0.1))
    atoms, _ = of_one(full, Move.around(0.5, 0.0), finite=True)
    assert atoms.losses.min() == pytest.approx(math.log(0.25 / 0.75))
    assert atoms.losses.max() == pytest.approx(math.log(0.75 / 0.25))
    assert float(np.sum(np.exp(atoms.log_masses))) == pytest.approx(1.0, abs=1e-9)
    assert math.exp(float(atoms.log_masses[np.argmax(atoms.losses)])) == pytest.approx(0.75 * 0.1)
    # Where it would be infinite, or is not wanted, it is left out.
    for move, finite in ((Move.around(0.5, 0.0), False), (Move.from_zero(0.5), True)):
        atoms, _ = of_one(full, move, finite=finite)
        assert float(np.sum(np.exp(atoms.log_masses))) == pytest.approx(1.0 - 0.1 * move.after[1], abs=1e-9)


def test_an_error_of_the_losses_is_not_lost() -> None:
    listed = approximate_dp(1.0, 0.0)
    pair = PrivacyLossDistribution(listed.losses, listed.masses, loss_error=1e-3)
    full = FullChange(connect_the_dots(pair, 1.0))
    assert of_one(full, Move.from_zero(1.0), finite=True)[1] >= 1e-3
    # The derivative around one half is t / (2 cosh(L/2))^2 and more, with e^L = e.
    slope = 0.25 / ((0.375 * math.exp(-0.5) + 0.625 * math.exp(0.5)) * (0.625 * math.exp(-0.5) + 0.375 * math.exp(0.5)))
    error = of_one(full, Move.around(0.25, 0.0), finite=True)[1]
    assert slope * 1e-3 <= error <= 1.01 * slope * 1e-3


@pytest.mark.parametrize("move", [Move.around(0.5, 0.0), Move.around(0.25, -0.25), Move.around(0.9, 0.05)])
def test_differences_of_large_logarithms_are_charged_for_both(move: Move) -> None:
    # Beyond e^700, and far below 0, a loss is the difference of two logarithms that are as large.
    rng = np.random.default_rng(3)
    for scale, most in ((40.0, 1e-13), (20_000.0, 1e-9)):
        pair = PrivacyLossDistribution(np.sort(rng.uniform(-scale, scale, 400)), np.full(400, 1.0 / 400.0))
        full = FullChange(replace(connect_the_dots(pair, scale / 50.0), loss_error=0.0))
        losses, error = full._losses([move])
        with mpmath.workdps(50):
            grown = [mpmath.exp(mpmath.mpf(float(loss))) for loss in full.grid.losses]
            exact = [
                mpmath.log(move.after[0] + mpmath.mpf(move.after[1]) * ratio)
                - mpmath.log(move.before[0] + mpmath.mpf(move.before[1]) * ratio)
                for ratio in grown
            ]
            worst = max(abs(mpmath.mpf(float(loss)) - known) for loss, known in zip(losses[0], exact, strict=True))
        assert worst <= error <= most


def test_masses_of_the_other_law_are_off_by_more() -> None:
    # True masses are up to 1/(1 - r) times those listed.
    grid = connect_the_dots(approximate_dp(1.0, 0.0), 1.0)
    assert FullChange(replace(grid, relative_error=0.4)).relative_error >= 1.0 / (1.0 - 0.4) - 1.0


def exactly(step: float) -> FullChange:
    """Return a change whose losses and masses have no error."""
    return FullChange(GridPrivacyLoss(step, np.arange(-3, 4), np.full(7, 0.125), 0.0, 0.125, 0.0, 0.0, 0.0))


def test_what_the_second_law_lacks_counts_the_errors_of_its_masses() -> None:
    full = FullChange(replace(connect_the_dots(approximate_dp(0.5, 0.0), 0.5), relative_error=0.01))
    assert full.unlisted >= 0.01


def test_masses_of_the_second_law_are_as_near_as_they_are_said_to_be() -> None:
    full = exactly(0.7)
    with mpmath.workdps(50):
        for mass, loss, found in zip(full.grid.masses, full.grid.losses, full.reference, strict=True):
            exact = mpmath.mpf(float(mass)) * mpmath.exp(-mpmath.mpf(float(loss)))
            assert abs(mpmath.mpf(float(found)) - exact) <= full.relative_error * exact


def test_the_loss_of_a_sure_0_is_rounded_as_it_is_charged() -> None:
    # Beside losses that are so small that their own rounding is nothing.
    full = exactly(1e-9)
    for size in np.linspace(0.05, 0.95, 40):
        move = Move.around(float(size), 0.0)
        atoms, error = of_one(full, move, finite=False)
        with mpmath.workdps(50):
            exact = mpmath.log(mpmath.mpf(move.after[0])) - mpmath.log(mpmath.mpf(move.before[0]))
            assert abs(mpmath.mpf(float(atoms.losses.min())) - exact) <= error


def test_moves_together_are_as_they_are_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bit_change, "_TOGETHER", 200)  # three at a time
    losses = np.sort(np.random.default_rng(5).uniform(-30.0, 30.0, 60))
    pair = PrivacyLossDistribution(losses, np.full(60, 0.0166), infinite_mass=0.004, loss_error=1e-6)
    full = FullChange(connect_the_dots(pair, 1.0))
    finite = [row % 2 == 0 for row in range(len(MOVES))]
    together, error = full.all_moved(MOVES, finite)
    alone = [of_one(full, move, finite=one) for move, one in zip(MOVES, finite, strict=True)]
    for found, (single, _) in zip(together, alone, strict=True):
        assert (np.diff(found.losses) >= 0.0).all()
        assert found.losses.tolist() == single.losses.tolist()
        assert found.log_masses.tolist() == single.log_masses.tolist()
    most = max(each for _, each in alone)
    assert most <= error <= most * (1.0 + 1e-6)


@pytest.mark.parametrize("step", [0.01, 3.0])
def test_a_loss_that_is_off_moves_others_by_the_steepest_slope_on_the_grid(step: float) -> None:
    rng = np.random.default_rng(6)
    for places in (np.arange(-9, 10), np.arange(3, 8), np.arange(-8, -2)):
        exact = GridPrivacyLoss(step, places, np.full(places.size, 1e-3), 0.0, 0.1, 0.0, 0.0, 0.0)
        full = FullChange(replace(exact, loss_error=1e-3))
        for move in [*MOVES, *(Move.around(float(size), 0.9 * (1.0 - float(size))) for size in rng.random(5))]:
            ratio = np.exp(exact.losses)
            before, after = ((1.0 - ends[1]) + ends[1] * ratio for ends in (move.before, move.after))
            steepest = float((move.size * ratio / (before * after)).max())
            room = full._losses([move])[1] - FullChange(exact)._losses([move])[1]
            assert room == pytest.approx(min(steepest * math.exp(1e-3), 1.0) * 1e-3, rel=1e-9)
