"""The reference of the benchmarks and the engine, which share nothing, agree."""

import math
from pathlib import Path

import pytest

from benchmarks.accounting import INSTANCES, TRIALS, P, shifted_pair
from benchmarks.accounting_reference import bromwich
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.step import choose_step
from dpverify.privacy_loss.windows.transform import Composition

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("delta", [pytest.param(1e-6, marks=pytest.mark.long), 1e-30])
def test_the_bromwich_integral_is_in_the_interval_of_the_engine(delta: float) -> None:
    for pair, found in zip(shifted_pair(TRIALS, P), bromwich(TRIALS, P, INSTANCES, delta), strict=True):
        step = choose_step(pair, INSTANCES, relative_width=1e-6, reference_delta=delta)
        interval = Composition([(connect_the_dots(pair, step), INSTANCES)]).epsilon(delta)
        assert found in interval
        assert math.isclose(interval.lower, interval.upper, rel_tol=2e-6)
