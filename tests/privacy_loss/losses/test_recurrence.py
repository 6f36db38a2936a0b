"""Decaying sums: within the stated error of rational arithmetic, for every rate, length and sign."""

import math
import subprocess
import sys
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpverify.privacy_loss.losses import recurrence
from dpverify.privacy_loss.losses.recurrence import decayed_sums, decayed_sums_error

RATES = [0.0, 1e-300, 1e-3, 0.5, 60.0, 740.0, math.inf]


def exact(terms: list[Fraction], rate: float) -> list[Fraction]:
    """Return the sums for a decay that is `e^-rate` to 60 digits."""
    with mp.workdps(60):
        weight = mp.exp(-mp.mpf(rate))
        decay = Fraction(int(mp.floor(weight * mp.mpf(2) ** 1300)), 2**1300)
    sums, total = [], Fraction(0)
    for term in terms:
        total = term + decay * total
        # Rounded to a relative 2^-300: the exact denominators would grow with every place.
        total = Fraction(round(total * 2**1400), 2**1400)
        sums.append(total)
    return sums


@pytest.mark.parametrize("block", [4, 2**16])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("size", [0, 1, 3, 64, 257])
def test_every_sum_is_within_the_stated_error(
    monkeypatch: pytest.MonkeyPatch, size: int, rate: float, block: int
) -> None:
    monkeypatch.setattr(recurrence, "_LEVELS", block.bit_length() - 1)
    monkeypatch.setattr(recurrence, "_BLOCK", block)
    rng = np.random.default_rng(size)
    terms = rng.normal(size=size) * 10.0 ** rng.uniform(-300.0, 3.0, size)
    given = terms.copy()
    found = decayed_sums(terms, rate)
    np.testing.assert_array_equal(terms, given)
    fractions = [Fraction(term) for term in terms.tolist()]
    allowed = exact([abs(term) for term in fractions], rate)
    tiny = Fraction(2.0**-1021) * size * (1 + sum(map(abs, fractions)))
    for value, truth, scale in zip(found.tolist(), exact(fractions, rate), allowed, strict=True):
        assert abs(Fraction(value) - truth) <= Fraction(decayed_sums_error(size)) * scale + tiny


def test_blocks_hand_on_their_last_sum() -> None:
    terms = np.ones(3 * 2**16 + 5)
    np.testing.assert_array_equal(decayed_sums(terms, 0.0), np.arange(1.0, terms.size + 1.0))
    assert decayed_sums(terms, 1e-9)[-1] == pytest.approx(-math.expm1(-1e-9 * terms.size) / -math.expm1(-1e-9))


def test_error_is_far_below_a_rounding_per_place() -> None:
    assert 0.0 < decayed_sums_error(2**22) < 1e-2 * 2**22 * 2.0**-53


def test_engine_does_not_load_the_signal_processing_library() -> None:
    # It alone takes longer to import than all else together.
    code = "import sys, dpverify.privacy_loss as e; e.Composition, e.Directions; print('scipy.signal' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "False"
