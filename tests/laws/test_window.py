"""Windows: as small as their bounds allow, never larger than what was asked for."""

import math

import numpy as np
import pytest
from flint import arb

from dpverify.laws import window
from dpverify.laws.noise import binomial, discrete_gaussian, discrete_laplace, negative_binomial


def test_a_support_that_fits_has_no_tail():
    law = binomial(100, 0.3)
    assert (law.start, law.stop, law.tail_below, law.tail_above) == (0, 101, 0.0, 0.0)


def test_the_window_is_as_small_as_its_bound_allows():
    law = negative_binomial(1.0, 0.5, 1.01 * 2.0**-20)  # P(Z >= z) = 2^-z is the bound itself
    assert (law.start, law.stop) == (0, 20)
    assert 2.0**-20 <= law.tail_above <= np.nextafter(2.0**-20, 1.0)
    assert not law.pmf.flags.writeable


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: binomial(10**9, 0.1, max_atoms=1000), r"a law of \d+ atoms is needed, .* needs max_atoms >= \d+"),
        (lambda: discrete_laplace(2.0**-53), r"a law of \d+ atoms is needed"),
        (lambda: negative_binomial(2.0**53, 1 - 2.0**-53), r"a law of \d+ atoms is needed"),
        (lambda: negative_binomial(1e12, 1 - 1e-8, 0.5, max_atoms=10**20), r"exact as floats"),
        (lambda: binomial(5, 0.1, 1e-291), r"tail=1e-291 must be a finite number in \[1e-290, 0.5\]"),
    ],
)
def test_windows_that_do_not_fit_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_max_atoms_in_the_message_is_enough():
    with pytest.raises(ValueError, match=r"needs max_atoms >= (\d+)") as caught:
        discrete_gaussian(40.0, max_atoms=100)
    needed = int(str(caught.value).split("max_atoms >= ")[1].split(",")[0])
    assert discrete_gaussian(40.0, max_atoms=needed).pmf.size == needed


MASSES = {
    "normal": (lambda d: -(d**2) / 2e4, lambda d: -(2 * d + 1) / 2e4),
    "geometric": (lambda d: -3e-2 * d, lambda d: -3e-2),
    "ends": (lambda d: -0.1 * d if d < 50 else -math.inf, lambda d: -0.1 if d < 49 else -math.inf),
    # Ratios that tell nothing of the masses cost time only.
    "stairs": (lambda d: -4.0 * (d // 100), lambda d: -1e-12),
    "misled": (lambda d: -(math.log1p(d) ** 3), lambda d: -50.0),
    "rising": (lambda d: -1e-4 * max(0, d - 300) ** 2, lambda d: 0.5 if d < 300 else -2e-4 * (d - 300)),
    "unknown": (lambda d: math.inf if d < 40 else -0.5 * d, lambda d: 0.0 if d < 40 else -0.5),
}


@pytest.mark.parametrize("tail", [0.5, 1e-3, 1e-60, 1e-290])
@pytest.mark.parametrize("kind", MASSES)
def test_the_first_mass_within_the_tail_is_found_from_any_guess(kind, tail):
    mass, ratio = (lambda d, of=of: arb(of(d)).exp() if of(d) > -math.inf else arb(0) for of in MASSES[kind])
    first = next(d for d in range(10**6) if mass(d) <= tail)
    assert window._reach(mass, ratio, tail) == first
