"""What a client does for one instance: the law of a protocol, and what its tables cost."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpverify.collection.recipes import cut_draws, randomizers, recipe_of, unary_recipe
from dpverify.collection.rotations.turned import Turned, planned
from dpverify.collection.tables import coin, negative_binomial, poisson
from dpverify.guarantee import ThreatModel
from protocols.bitsum import (
    CentralGaussian,
    LocalRandomizedResponse,
    NegativeBinomial,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.histogram import Histogram
from protocols.local.labels import LabelRandomizedResponse
from protocols.rappor.response import Rappor
from protocols.sums import PoissonSum, SplitAndMix
from protocols.vector_sum import VectorSum
from tests.refusals import refused

TAIL = Fraction(1, 10**20)


def test_each_user_draws_the_exact_share_of_the_noise() -> None:
    # A third of a float is none: the table is that of the rational number.
    made = recipe_of(NegativeBinomial(3, 0.1, 0.5, estimate="under"), TAIL)
    assert made.tables["noise"] == negative_binomial(Fraction(0.1) / 3, Fraction(1, 2), TAIL)
    assert (made.kind, made.settings) == ("counts", {"counted": 0})


@pytest.mark.parametrize(
    ("protocol", "cuts"),
    [
        (RandomizedResponse(9, 0.1), 0),
        (NegativeBinomial(9, 4.0, 0.5), 1),
        (ThreeNB(9, 0.5, 4.0, 0.9), 3),
        (Pure(9, 0.5, 0.25, 4.0, 0.9), 3),
        (Histogram(NegativeBinomial(9, 4.0, 0.5, estimate="under"), 5), 2),
        (VectorSum(9, 3, 4, 0.3), 0),
    ],
)
def test_the_charge_of_an_instance_is_that_of_its_draws(protocol: Any, cuts: int) -> None:
    assert cut_draws(protocol) == cuts
    made = recipe_of(protocol, TAIL)
    assert cuts * TAIL / 1000 <= made.charge <= cuts * TAIL + Fraction(10**4, 2**128)
    assert (made.charge > 0) == (not isinstance(protocol, RandomizedResponse))


TINY = 1e-300
"""A probability that 128 bits do not hold."""
WHOLE = Fraction(1, 2**128)


@pytest.mark.parametrize(
    ("protocol", "draws", "more"),
    [
        (ThreeNB(9, 0.5, 4.0, 0.9), {"noise": 2, "flood": 1}, 0),
        (Pure(9, 0.5, TINY, 4.0, 0.9), {"noise": 2, "flood": 1, "drop": 1}, 0),
        (Histogram(NegativeBinomial(9, 4.0, 0.5, estimate="under"), 5), {"noise": 2}, 0),
        (VectorSum(9, 5, 4, TINY, sampled=2, stratified=True), {"replaced": 2}, 2 * 5 + 3),  # blocks of 3 and 2
        (Rappor(4, 1, f=TINY, p=TINY, q=0.7, reports=3), {"flip": 4, "zero": 12, "one": 12}, 0),
        (PoissonSum(9, 5, 40.0), {"noise": 1}, 0),
        (SplitAndMix(9, 5, 2**9, 3, 0.75), {"noise": 2}, 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_draw_is_charged_as_often_as_it_is_made(protocol: Any, draws: dict[str, int], more: int) -> None:
    made = recipe_of(protocol, TAIL)
    assert made.charge == sum(number * made.tables[name].charge for name, number in draws.items()) + more * WHOLE
    assert all(made.tables[name].charge > 0 for name in draws if name != "one")


def test_a_vector_is_charged_all_counts_and_all_of_them_together() -> None:
    turned = Turned("0" * 5, planned(2_000, 5, 40.0))
    made = unary_recipe(turned, TAIL)
    assert made.charge == 16 * made.tables["noise"].charge + TAIL + Fraction(1, 2**112)
    assert cut_draws(turned.protocol) == 17


def test_reports_cost_nothing() -> None:
    for protocol in (
        LocalRandomizedResponse(5, 0.1),
        LabelRandomizedResponse(7, 0.3),
        Rappor(4, 1, f=0.1, p=0.2, q=0.7),
    ):
        assert recipe_of(protocol, Fraction(0)).charge == 0
    assert recipe_of(VectorSum(9, 4, 3, 0.1), Fraction(0)).charge == 0  # powers of two
    made = recipe_of(Rappor(4, 1, f=0.5, p=0.2, q=0.7), Fraction(0)).tables
    assert made == {"flip": coin(Fraction(1, 4)), "zero": coin(Fraction(0.2)), "one": coin(Fraction(0.7))}
    # A probability that 128 bits do not hold is charged, for each bit and report.
    tiny = Rappor(4, 1, f=1e-300, p=0.2, q=0.7, reports=3)
    assert 0 < recipe_of(tiny, Fraction(0)).charge <= Fraction(4 * 4, 2**128)


def test_only_the_user_herself_matters_to_who_knows_senders() -> None:
    protocol = RandomizedResponse(9, 0.1)
    assert randomizers(protocol, None, ThreatModel.COMMUNICATION) == 9
    assert randomizers(protocol, 5, ThreatModel.COMMUNICATION) == 5
    assert randomizers(protocol, 5, ThreatModel.LOCAL) == 1


def test_a_whole_vector_has_a_block_for_each_coordinate() -> None:
    whole = recipe_of(VectorSum(9, 3, 4, 0.3, sampled=3), Fraction(0))
    assert whole.settings == {"blocks": [1, 1, 1], "levels": 4}
    assert recipe_of(VectorSum(9, 5, 4, 0.3, sampled=2, stratified=True), Fraction(0)).settings["blocks"] == [3, 2]


def test_what_has_no_client_is_refused() -> None:
    with refused("protocol", TypeError):
        recipe_of(CentralGaussian(9, 1.0), TAIL)
    with refused("stratified=False"):
        recipe_of(VectorSum(9, 5, 4, 0.3, sampled=2), TAIL)
    with refused("levels"):
        recipe_of(VectorSum(9, 5, 2**31, 0.3), TAIL)
    for modulus in (96, 2**32):
        with refused(f"modulus={modulus}"):
            recipe_of(SplitAndMix(9, 5, modulus, 3, 0.75), TAIL)
    assert poisson(Fraction(0), TAIL).thresholds == ()
