"""Pairs of a curve: lists as they are given, and lines; `test_curve` composes them."""

import pytest

from dpverify.privacy_loss.losses.pairs import Directions, approximate_dp, negative_binomial
from dpverify.privacy_loss.sampling.line import NoiseLine
from dpverify.privacy_loss.sampling.pairs import LinePair, ListedPair


def test_a_list_is_the_same_in_both_directions_only_if_it_is_given_so() -> None:
    one, pair = approximate_dp(0.5, 0.1), negative_binomial(3.0, 0.5, 1e-30)
    both = ListedPair(Directions(one, one))
    assert both.symmetric
    assert both.on_grid(0.1).remove is both.on_grid(0.1).add or both.on_grid(0.1).add.masses.size == 2
    listed = ListedPair(pair)
    assert not listed.symmetric
    assert listed.on_grid(0.1).remove.infinite_mass != listed.on_grid(0.1).add.infinite_mass
    assert listed.moments.losses is pair.up.losses


def test_a_line_is_the_same_in_both_directions_for_all_records_or_opposite_ones() -> None:
    assert LinePair(NoiseLine.gaussian(1.0), 1.0).symmetric
    assert LinePair(NoiseLine.gaussian(1.0, opposite=True), 0.5).symmetric
    assert not LinePair(NoiseLine.laplace(1.0), 0.5).symmetric
    with pytest.raises(ValueError, match=r"^rate=0\.0 must be"):
        LinePair(NoiseLine.laplace(1.0), 0.0)
