"""What the local means share."""

from __future__ import annotations

import numpy as np
import pytest

from protocols.local.means import BoundedMean, LocalMean, check_values
from protocols.local.one_bit import OneBitMean


def test_values_are_numbers_up_to_the_largest() -> None:
    assert check_values("values", [0, 1, 2.5], 2.5).tolist() == [0.0, 1.0, 2.5]
    assert check_values("values", [True, False], 1.0, whole=True).dtype == np.int64
    with pytest.raises(ValueError, match=r"^values\[0\]=0\.5 must be an integer in \[0, 3\]\.$"):
        check_values("values", [0.5], 3.0, whole=True)


def test_a_bounded_mean_has_a_largest_value() -> None:
    assert OneBitMean(1.0, 7.0).most == 7.0
    with pytest.raises(ValueError, match=r"^largest=0\.0 must be a finite number in \[1e-100, 1e\+100\]\.$"):
        OneBitMean(1.0, 0.0)


def test_nothing_of_a_mean_is_optional() -> None:
    assert LocalMean.__abstractmethods__ == {"most", "check", "_randomize", "debias", "report"}
    assert BoundedMean.__abstractmethods__ == {"_randomize", "debias", "report"}
