"""Intervals of sums of numbers hold the truth as often as they say, whatever is held; shares are read like messages."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverify.collection.analysis.aggregate import aggregate
from dpverify.collection.analysis.intervals import Tails, sum_law
from dpverify.collection.analysis.numbers import of_numbers, steps_in, wrapped
from dpverify.collection.analysis.sums import Reader
from dpverify.collection.batches import Batches
from dpverify.collection.client import Client
from dpverify.collection.manifest import manifest
from dpverify.collection.query import Asked
from dpverify.collection.uploads import Collector
from protocols.sums import NegativeBinomialSum, PoissonSum, SplitAndMix


@pytest.mark.parametrize("steps", [None, 3])
@pytest.mark.parametrize("side", [0.2, 0.01])
def test_no_true_sum_is_missed_more_often_than_the_level(steps: int | None, side: float) -> None:
    """By the exact law of what four users send, of numbers on a grid finer than the steps."""
    users, most = 4, 60
    protocol = PoissonSum(users, 3, 4.0, smallest=-1 if steps is None else 0, steps=steps)
    rows = list(of_numbers(Asked("q", protocol), np.arange(most)[:, np.newaxis], users, side))
    noise = stats.poisson.pmf(np.arange(most), 4.0)
    grid = (-1, 0, 2, 3) if steps is None else (0.0, 0.5, 1.25, 3.0)
    for held in itertools.combinations_with_replacement(grid, users):
        law = noise
        for number in held:
            whole, rest = divmod(number - protocol.smallest, 1)
            own = np.zeros(int(whole) + 2)
            own[int(whole) :] = 1.0 - rest, rest
            law = np.convolve(law, own)
        chance, true = law[:most], sum(held)
        assert chance[[row[4] < true for row in rows]].sum() <= side
        assert chance[[row[3] > true for row in rows]].sum() <= side
        mean = sum(p * row[2] for p, row in zip(chance, rows, strict=True))
        assert mean == pytest.approx(true, abs=1e-6)


def test_rounding_has_half_of_each_level_and_weights_share_all_of_it() -> None:
    """Ends are no nearer than noise at half the level, Hoeffding's bound at the other half and floats leave them."""
    users, side, counts = 40, Fraction(1, 20), np.array([[3, 50, 117, 90]])
    protocol = PoissonSum(users, 0.7, 9.0, steps=3)
    for asks, shape in (("bits", (4, 1)), ("weights", (1, 4))):
        asked = Asked("q", protocol, 4, None, asks)
        half = side / shape[1] / 2
        tails = Tails(sum_law(protocol, users), float(half))
        with localcontext(prec=40):
            off = Fraction((Decimal(users) / 2 * -(Decimal(half.numerator) / half.denominator).ln()).sqrt())
        off += Fraction(users * 3, 2**51)
        rows = list(of_numbers(asked, counts.reshape(shape), users, float(side)))
        assert [row[:2] for row in rows] == [(at, None) if asks == "bits" else (0, at) for at in range(4)]
        for count, row in zip(counts[0].tolist(), rows, strict=True):
            low, high = tails.interval(count)
            ends = [protocol.step * end for end in (max(low - off, Fraction(0)), min(high + off, Fraction(3 * users)))]
            assert row[3] <= ends[0]
            assert row[4] >= ends[1]
            assert row[3:] == pytest.approx([float(end) for end in ends], rel=1e-9)


def test_shares_of_real_clients_add_up_to_what_is_held(tmp_path: Path) -> None:
    users, rng = 500, np.random.default_rng(5)
    protocol = SplitAndMix(users, 5, 2**13, 9, 0.9, smallest=1)
    plan = manifest([Asked("stars", protocol)], delta="1e-6")
    held = rng.integers(1, 6, users)
    uploads = [Client(plan.data, plan.hash).upload("stars", int(each)) for each in held]
    (messages,) = Collector(plan.data, plan.hash).messages("stars", uploads)
    shares = rng.permutation(messages.symbols)[:, np.newaxis]
    assert stats.chisquare(np.bincount(shares[:, 0] >> 9, minlength=16)).pvalue > 1e-6
    path = tmp_path / "0.batch"
    Batches(plan.data, plan.hash).write(
        path, [shares], batch="day", query=0, instance=0, users=users, count=len(shares)
    )
    sums = Reader(plan.data, plan.hash).files([path])
    (row,) = aggregate(plan, sums, confidence=1 - 1e-6).estimates
    assert (row.of, row.value) == ("numbers", float(protocol.analyze(int(shares.sum()) % 2**13)))
    assert row.low <= held.sum() <= row.high
    assert row.high - row.low < 2 * 30 * 14
    with pytest.raises(ValueError, match="must be one of those with messages"):
        Reader(plan.data, plan.hash).symbols("stars")


def test_what_wraps_round_is_read_below_0_and_charged() -> None:
    protocol = SplitAndMix(10, 4, 64, 2, 0.8)
    np.testing.assert_array_equal(steps_in(protocol, np.array([[63, 64 * 9 + 3, 52, 53]])), [[-1, 3, 52, -11]])
    noise = protocol.sample_view(np.zeros(20_000, dtype=int), np.random.default_rng(1))
    beyond = np.mean((noise >= 12) & (noise <= 52))
    assert 0.5 * beyond < wrapped(protocol) < 2.0
    others: list[Any] = [NegativeBinomialSum(10, 4, 3.0, 0.5), PoissonSum(10, 4, 3.0)]
    for other in others:
        assert wrapped(other) == 0
        assert steps_in(other, np.array([[99]])) == 99
