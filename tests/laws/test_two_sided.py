"""The law of a difference of two negative binomial variables, against convolutions in high precision."""

import mpmath
import numpy as np
import pytest

from dpverify.guarantee import CapacityError
from dpverify.laws import noise
from dpverify.laws.two_sided import two_sided


def convolved(shape: float, p: float, z: int) -> mpmath.mpf:
    """The probability of z, by hypergeometric series in 60 digits."""
    r, p = mpmath.mpf(shape), mpmath.mpf(p)
    first = (1 - p) ** (2 * r) * p**z * mpmath.rf(r, z) / mpmath.factorial(z)
    return first * mpmath.hyp2f1(r, r + z, z + 1, p * p)


@pytest.mark.parametrize("shape", [1e-3, 0.4, 1.0, 1.7, 30.0])
@pytest.mark.parametrize("p", [1e-6, 0.3])
def test_atoms_and_tails_are_right(shape: float, p: float) -> None:
    law = two_sided(shape, p, 1e-40)
    assert law.relative_error < 1e-13
    assert law.tail_below == law.tail_above <= 1e-40
    with mpmath.workdps(50):
        for z in {0, 1, law.stop // 3, law.stop - 1} & set(range(law.stop)):
            for place in (z, -z):
                assert abs(law.pmf[place - law.start] / convolved(shape, p, z) - 1) <= law.relative_error
        assert sum(convolved(shape, p, law.stop + i) for i in range(3)) <= law.tail_above


@pytest.mark.parametrize(("shape", "p"), [(1e4, 0.01), (1e3, 0.5), (20.0, 0.99), (0.2, 0.99), (5.5, 0.9)])
def test_much_noise_is_that_of_a_convolution(shape: float, p: float) -> None:
    single, law = noise.negative_binomial(shape, p, 1e-30), two_sided(shape, p, 1e-20)
    difference = np.convolve(single.pmf, single.pmf[::-1])
    listed = difference[law.start - (single.start - single.stop + 1) :][: law.pmf.size]
    assert law.relative_error < 1e-14
    assert np.abs(listed / law.pmf - 1.0).max() < 1e-8  # what the window of one variable cuts
    assert np.abs(listed / law.pmf - 1.0)[law.pmf > 1e-12].max() < 1e-11


@pytest.mark.parametrize(("shape", "p", "tail"), [(5.5, 0.999, 1e-3), (1.5, 0.999, 1e-3)])
def test_noise_that_falls_off_slowly_is_known_as_closely(shape: float, p: float, tail: float) -> None:
    law = two_sided(shape, p, tail)
    assert law.relative_error < 1e-13
    with mpmath.workdps(40):
        for z in (0, law.stop // 9, law.stop - 1):
            assert abs(law.pmf[z - law.start] / convolved(shape, p, z) - 1) <= law.relative_error


@pytest.mark.parametrize(("shape", "p"), [(5.5, 0.6), (0.1, 0.999)])
def test_constants_cost_accuracy_and_never_truth(monkeypatch: pytest.MonkeyPatch, shape: float, p: float) -> None:
    # As they are, what the first ratio and the window of one variable leave open is less than a rounding.
    monkeypatch.setattr("dpverify.laws.two_sided._FORGOTTEN", 0.9)
    monkeypatch.setattr("dpverify.laws.two_sided._FARTHER", 1e-6)
    law = two_sided(shape, p, 2e-6)
    assert law.relative_error > 1e-7
    with mpmath.workdps(40):
        for z in (0, 1, law.stop // 2, law.stop - 1):
            assert abs(law.pmf[z - law.start] / convolved(shape, p, z) - 1) <= law.relative_error


def test_shape_1_is_discrete_laplace_and_no_noise_is_none() -> None:
    law, known = two_sided(1.0, 0.75), noise.discrete_laplace(-np.log(0.75))
    assert law.pmf.tolist() == known.pmf.tolist()
    assert two_sided(3.0, 0.0).pmf.tolist() == [1.0]


def test_what_is_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^p=1\.0 must be .*\.$"):
        two_sided(1.0, 1.0)
    with pytest.raises(CapacityError, match=r"^a law of \d+ atoms is needed, but at most 131072 are computed"):
        two_sided(2.0, 1.0 - 1e-5)
