"""What the local means share."""

import math

import numpy as np
import pytest

from protocols.local.laplace import LaplaceMean
from protocols.local.means import BoundedMean, LocalMean, check_values
from protocols.local.one_bit import OneBitMean
from protocols.local.randomized_response import RandomizedResponseMean
from tests.refusals import refused


def test_values_are_numbers_up_to_the_largest() -> None:
    assert check_values("values", [0, 1, 2.5], 2.5).tolist() == [0.0, 1.0, 2.5]
    assert check_values("values", [True, False], 1.0, whole=True).dtype == np.int64
    with pytest.raises(ValueError, match=r"^values\[0\]=0\.5 must be an integer in \[0, 3\]\.$"):
        check_values("values", [0.5], 3.0, whole=True)


def test_a_bounded_mean_has_a_largest_value() -> None:
    assert OneBitMean(1.0, 7.0).most == 7.0
    with refused("largest=0.0"):
        OneBitMean(1.0, 0.0)


def test_nothing_of_a_mean_is_optional() -> None:
    assert LocalMean.__abstractmethods__ == {"most", "check", "_randomize", "debias", "report"}
    assert BoundedMean.__abstractmethods__ == {"_randomize", "debias", "report"}


def test_complex_values_and_reports_that_nobody_sends_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^values has dtype complex128, but must hold numbers in \[0, 1\]\.$"):
        OneBitMean(1.0).run([1j], np.random.default_rng(0))
    for mean, reports, message in (
        (LaplaceMean(1.0), [0.5, math.nan], r"^reports\[1\]=nan must be a finite number\.$"),
        (OneBitMean(1.0), [7.5], r"^reports\[0\]=7\.5 must be an integer in \[0, 1\]\.$"),
        (RandomizedResponseMean(1.0, 3), [0, 3], r"^reports\[1\]=3 must be an integer in \[0, 2\]\.$"),
    ):
        with pytest.raises(ValueError, match=message):
            mean.estimate(reports)


def test_levels_are_numbers_that_floats_hold() -> None:
    most = RandomizedResponseMean(1.0, 2**53)
    assert most.check([2**53 - 1])[0] == 2**53 - 1
    with refused("levels=9007199254740993"):
        RandomizedResponseMean(1.0, 2**53 + 1)
