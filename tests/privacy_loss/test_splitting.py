"""The lower bound from connect-the-dots alone: below the truth, always, and second order in the step."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpverify.privacy_loss.compose import Composition
from dpverify.privacy_loss.gaussian import GaussianPrivacyLoss
from dpverify.privacy_loss.grid import connect_the_dots
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth


@settings(max_examples=200, deadline=None)
@given(rational_pairs(6), st.integers(1, 5), st.sampled_from([0.05, 0.4, 1.5]), st.floats(-2, 6))
def test_never_above_the_truth_however_coarse(pair: RationalPair, count: int, step: float, epsilon: float) -> None:
    distribution = floats(pair)
    assume(distribution.losses.size)
    assert (
        Composition([(connect_the_dots(distribution, step), count)]).delta(epsilon).lower
        <= truth([pair], [count], epsilon).upper
    )


def test_gap_shrinks_with_the_square_of_the_step() -> None:
    law, count, epsilon = GaussianPrivacyLoss(1 / 20), 100, 2.0
    exact = law.composed(count).delta(epsilon).midpoint
    gaps = [
        1 - Composition([(law.on_grid(step), count)]).delta(epsilon).lower / exact for step in (8e-4, 4e-4, 2e-4, 1e-4)
    ]
    for coarse, fine in itertools.pairwise(gaps):
        assert math.log2(coarse / fine) == pytest.approx(2, abs=0.15)
    # A fixed multiple of what connect-the-dots itself overshoots.
    overshoot = Composition([(law.on_grid(1e-4), count)]).delta(epsilon).upper / exact - 1
    assert gaps[-1] <= 12 * overshoot
