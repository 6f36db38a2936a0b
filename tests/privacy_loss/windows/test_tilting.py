"""Tilted transforms of one factor: exact within their error, folded around the window, and kept within bounds."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpverify.privacy_loss.windows import tilting
from dpverify.privacy_loss.windows.saddle import LossMoments
from dpverify.privacy_loss.windows.tilting import FactorTransforms
from dpverify.rounding import summation_error

STEP = 0.375


def transforms(indices: np.ndarray, log_masses: np.ndarray) -> FactorTransforms:
    return FactorTransforms(indices, LossMoments(indices * STEP, log_masses))


@pytest.mark.parametrize("length", [8, 64])
@pytest.mark.parametrize("tilt", [0.0, 2.5, 100.0])
def test_transforms_lie_within_their_errors(tilt: float, length: int) -> None:
    # Forty indices in a window of eight: what falls outside is folded over.
    rng = np.random.default_rng(length)
    indices = np.sort(rng.choice(np.arange(-60, 61), 40, replace=False)).astype(np.int64)
    log_masses = -rng.uniform(0.0, 400.0, 40)
    found = transforms(indices, log_masses).at(tilt, length)
    with mp.workdps(40):
        weights = [mp.exp(mp.mpf(m) + tilt * STEP * mp.mpf(int(i))) for i, m in zip(indices, log_masses, strict=True)]
        total = mp.fsum(weights)
        wrapped = [mp.mpf(0)] * length
        for index, weight in zip(indices, weights, strict=True):
            wrapped[int(index) % length] += weight / total
        squares = mp.mpf(0)
        for k in range(length // 2 + 1):
            truth = mp.fsum(w * mp.expjpi(mp.mpf(-2 * j * k) / length) for j, w in enumerate(wrapped))
            # All frequencies: those between the ends stand for two.
            squares += abs(mp.mpc(complex(found.values[k])) - truth) ** 2 * (1 if k in (0, length // 2) else 2)
        evaluation = found.relative_error * mp.sqrt(length) * mp.sqrt(mp.fsum(w * w for w in wrapped))
        assert mp.sqrt(squares) <= found.error + evaluation
    assert found.values.shape == (length // 2 + 1,)
    assert 0.0 < found.error < 1e-12
    # The transform at frequency 0 is the sum of the weights.
    assert abs(Fraction(float(found.values[0].real)) - 1) <= Fraction(found.excess + found.error)
    assert found.excess == summation_error(40)


def test_the_charge_grows_with_what_cancels_and_what_meets_in_a_cell() -> None:
    indices, log_masses = np.arange(-8, 8), np.full(16, -2.0)
    factor = transforms(indices, log_masses)
    charge = {
        (tilt, length): factor.at(tilt, length).relative_error / tilting.UNIT
        for tilt in (0.0, 4.0)
        for length in (4, 16)
    }
    # Six for each nat of the two parts of the exponent, four more, and one per mass of a cell.
    assert charge == {(0.0, 4): 20.0, (0.0, 16): 17.0, (4.0, 4): 92.0, (4.0, 16): 89.0}


def test_transforms_are_kept_until_they_fill_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tilting, "_KEPT_CELLS", 64)
    factor = transforms(np.arange(4), np.full(4, -1.0))
    one, two = factor.at(0.0, 32), factor.at(1.0, 32)
    assert factor.at(0.0, 32) is one
    three = factor.at(2.0, 32)  # the one used longest ago leaves
    assert factor.at(0.0, 32) is one
    assert factor.at(2.0, 32) is three
    assert factor.at(1.0, 32) is not two
    large = factor.at(0.0, 128)  # more than there is room for is kept by itself
    assert factor.at(0.0, 128) is large
    assert factor.at(0.0, 32) is not one
