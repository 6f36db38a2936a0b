"""Moments of losses against 50 digits, and tilts that solve what they say."""

import math

import mpmath as mp
import numpy as np
import pytest

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.saddle import LossMoments, ManyMoments, TotalLoss, total_loss

LOSSES = np.array([-1.5, -0.25, 0.0, 0.5, 3.0])
LOG_MASSES = np.array([-0.5, -3.0, -2.0, -300.0, -40.0])


def exact(tilt: float) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    with mp.workdps(50):
        weights = [mp.exp(mp.mpf(m) + mp.mpf(tilt) * mp.mpf(x)) for x, m in zip(LOSSES, LOG_MASSES, strict=True)]
        total = mp.fsum(weights)
        mean = mp.fsum(w * x for w, x in zip(weights, LOSSES, strict=True)) / total
        return mp.log(total), mean, mp.fsum(w * (x - mean) ** 2 for w, x in zip(weights, LOSSES, strict=True)) / total


@pytest.mark.parametrize("tilt", [0.0, 0.5, 8.0, 9.0, 1000.0])
def test_moments_of_any_size(tilt: float) -> None:
    one, other = LossMoments(LOSSES, LOG_MASSES), LossMoments(np.array([2.0]), np.array([-0.5]))
    found = one.at(tilt)
    for value, truth in zip(found, exact(tilt), strict=True):
        assert value == pytest.approx(float(truth), rel=1e-12, abs=1e-12)
    log_mgf, mean, variance = TotalLoss([(one, 3), (other, 2)], 0.01).moments(tilt)
    assert log_mgf == pytest.approx(3 * found[0] + 2 * (2.0 * tilt - 0.5), rel=1e-14)
    assert mean == pytest.approx(3 * found[1] + 4.0, rel=1e-14)
    assert variance == pytest.approx(3 * found[2], rel=1e-14)


def test_moments_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one = LossMoments(LOSSES, LOG_MASSES)
    first = one.at(0.5)
    monkeypatch.setattr(np, "exp", None)
    assert one.at(0.5) is first


@pytest.mark.parametrize("count", [1, 100, 10**6])
def test_a_tilt_moves_the_mean_to_where_it_was_asked(count: int) -> None:
    total = TotalLoss([(LossMoments(LOSSES, np.log([0.4, 0.3, 0.2, 0.08, 0.02])), count)], 1e-4)
    start = total.moments(0.0)[1]
    assert total.tilt_at(start - 1.0) == total.tilt_at(start) == 0.0
    for share in (0.01, 0.5, 0.9):
        mean = start + share * (3.0 * count - start)
        tilt = total.tilt_at(mean)
        _, reached, variance = total.moments(tilt)
        assert abs(reached - mean) <= 0.5 * math.sqrt(variance)
    # No tilt reaches beyond the largest loss.
    assert 0.0 < total.tilt_at(3.0 * count + 1.0) <= 1e4


@pytest.mark.parametrize("epsilon", [2.0, 5.0, 9.0])
@pytest.mark.parametrize("off", [0.9, 1.0, 1.1])
def test_a_sum_of_moduli_is_least_at_its_tilt(epsilon: float, off: float) -> None:
    # Losses of N(1, 2) are normal at every tilt, and their sum of moduli is known for each.
    losses = np.linspace(-14.0, 16.0, 1501)
    total = TotalLoss(
        [(LossMoments(losses, -0.25 * (losses - 1.0) ** 2 - 0.5 * math.log(4.0 * math.pi) - 3.912), 1)], 1e-4
    )
    heights = np.linspace(0.0, 30.0, 3001)

    def log_sum(tilt: float) -> float:
        moduli = np.exp(-(heights**2)) / np.abs((1.0 + tilt + 1j * heights) * (tilt + 1j * heights))
        return tilt * tilt + tilt * (1.0 - epsilon) + math.log(float(moduli.sum()))

    tilts = np.linspace(0.3, 6.0, 500)
    best = float(tilts[np.argmin([log_sum(float(tilt)) for tilt in tilts])])
    found = total.least_sum(epsilon, off * best)
    assert log_sum(found) <= log_sum(best) + 1e-3


@pytest.mark.parametrize(("delta", "off"), [(1e-3, 0.05), (1e-12, 0.02), (1e-100, 0.02)])
def test_the_saddle_point_estimates_epsilon_of_a_normal_loss(delta: float, off: float) -> None:
    # Losses of N(m, 2m): delta(eps) is known, and so is its inverse.
    m, copies = 0.01, 400
    losses = np.linspace(m - 12 * math.sqrt(2 * m), m + 12 * math.sqrt(2 * m), 2001)
    log_masses = -((losses - m) ** 2) / (4 * m)
    log_masses -= math.log(np.exp(log_masses).sum())
    found, tilt, deviation = TotalLoss([(LossMoments(losses, log_masses), copies)], 1e-3).saddle_point(delta)
    mean, spread = m * copies, math.sqrt(2 * m * copies)
    with mp.workdps(150):

        def log_delta(epsilon: mp.mpf) -> mp.mpf:
            above = mp.ncdf((mean - epsilon) / spread)
            return mp.log(above - mp.exp(epsilon) * mp.ncdf(-(epsilon + mean) / spread))

        truth = float(mp.findroot(lambda epsilon: log_delta(epsilon) - mp.log(delta), (found, found + 0.1)))
    assert found == pytest.approx(truth, rel=off)
    assert tilt == pytest.approx((found - mean) / spread**2, rel=1e-2)
    assert deviation == pytest.approx(spread, rel=1e-2)


def test_no_delta_is_too_large_for_an_estimate() -> None:
    epsilon, tilt, deviation = TotalLoss([(LossMoments(LOSSES, LOG_MASSES), 1)], 0.01).saddle_point(0.999)
    assert epsilon == 0.0
    assert tilt >= 0.0
    assert deviation >= 0.0


def test_neighbouring_problems_meet_at_one_tilt() -> None:
    # Tilts are multiples of a power of two: what was computed for one serves the next.
    shared = LossMoments(np.array([-0.1, 0.1]), np.log([0.475, 0.525]))
    tilts = [TotalLoss([(shared, count)], 0.01).tilt_at(count * 0.03) for count in range(1000, 1040)]
    assert len(set(tilts)) == 1


@pytest.mark.parametrize("tilt", [0.0, 0.7, 40.0])
def test_moments_of_several_losses_are_those_of_each(tilt: float) -> None:
    laws = [(LOSSES, LOG_MASSES), (np.array([2.0]), np.array([-0.5])), (np.array([-0.1, 0.1]), np.log([0.475, 0.525]))]
    for log_mgf, variance, law in zip(*ManyMoments(laws).at(tilt), laws, strict=True):
        alone = LossMoments(*law).at(tilt)
        assert (log_mgf, variance) == pytest.approx((alone[0], alone[2]), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rare", [1e-9, 1e-12])
def test_saddle_points_of_laws_of_two_scales(rare: float) -> None:
    # A rare large loss makes the tilted mean jump: the tilt must be found on the right side.
    pair = PrivacyLossDistribution.from_atoms(
        np.array([-1e-3, 0.0, 1e-3, 20.0]), np.array([0.3, 0.4, 0.3 - rare, rare])
    )
    total = total_loss([(pair, 5000)])
    for mean in (0.01, 1.0, 100.0):
        _, reached, variance = total.moments(total.tilt_at(mean))
        assert abs(reached - mean) <= 0.5 * math.sqrt(variance)


def test_moments_at_doubled_tilts_are_those_at_each() -> None:
    laws = [(LOSSES, LOG_MASSES), (np.array([2.0]), np.array([-0.5])), (np.array([-0.1, 0.1]), np.log([0.475, 0.525]))]
    tilts, many, each = [0.3, 0.6, 1.2, 2.4], ManyMoments(laws), ManyMoments(laws)
    many.know(tilts)
    for tilt in tilts:
        assert tilt in many._known
        for found, alone in zip(many.at(tilt), each.at(tilt), strict=True):
            assert found == pytest.approx(alone, rel=1e-9, abs=1e-12)
    # What would leave the floats is left to be asked for one by one.
    for losses, log_masses, steepest in (([-9.0, 9.0], [-1.0, -1.0], 80.0), ([-9.0, 9.0], [-1.0, -720.0], 1.0)):
        far = ManyMoments([(np.array(losses), np.array(log_masses))])
        far.know([0.5 * steepest, steepest])
        assert not far._known
        assert np.isfinite(far.at(steepest)).all()
