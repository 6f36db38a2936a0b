"""What all sums promise, as a suite that each inherits, and randomized rounding."""

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from protocols.sums import PoissonSum, SplitAndMix, SumProtocol, exactly_rounded, rounded
from tests.samples import assert_law, assert_mean, assert_same_law, assert_variance


class SumContract:
    """Inherit it, set `protocol` to one for 3 to 6 users and a small L, and `variance` to that of its noise."""

    protocol: ClassVar[SumProtocol]
    variance: ClassVar[float]

    def test_messages_aggregates_and_real_clients_have_one_law(self) -> None:
        protocol, rng, entropy = self.protocol, np.random.default_rng(11), random.Random(11)
        for present in (protocol.users, 1):
            values = np.arange(present) % (protocol.largest + 1)
            total = int(values.sum())
            sampled = protocol.sample_view(np.full(20_000, total), rng, participants=present).tolist()
            sent = [protocol.view(protocol.shuffled(protocol.randomize(values, rng), rng)) for _ in range(400)]
            real = [
                protocol.view([s for v in values for s in protocol.report(v, entropy)] + protocol.dummies(entropy))
                for _ in range(400)
            ]
            assert_same_law(sent, sampled)
            assert_same_law(real, sampled)

    def test_the_estimate_is_unbiased(self) -> None:
        protocol = self.protocol
        for total in (0, protocol.users * protocol.largest):
            found = protocol.analyze(protocol.sample_view(np.full(100_000, total), np.random.default_rng(12)))
            assert_mean(found, total, self.variance)
            assert_variance(found, total, self.variance)

    def test_fewer_users_have_the_same_randomizer(self) -> None:
        fewer, rng = self.protocol.with_users(2), np.random.default_rng(13)
        assert_same_law(
            fewer.sample_view(np.full(20_000, 1), rng).tolist(),
            self.protocol.sample_view(np.full(20_000, 1), rng, participants=2).tolist(),
        )
        assert self.protocol.with_users(self.protocol.users) == self.protocol

    def test_the_generator_determines_everything_and_nobody_may_take_part(self) -> None:
        values = np.arange(self.protocol.users) % 2
        first, second = (np.random.default_rng(14) for _ in range(2))
        assert [self.protocol.run(values, first) for _ in range(5)] == [
            self.protocol.run(values, second) for _ in range(5)
        ]
        assert self.protocol.randomize(np.zeros(0, dtype=int), first).symbols.size == 0
        nobody = self.protocol.sample_view(np.zeros(200, dtype=int), first, participants=0)
        if self.protocol.divided:
            assert not nobody.any()

    def test_what_is_out_of_range_is_refused(self) -> None:
        protocol, rng = self.protocol, np.random.default_rng(15)
        for values in ([protocol.largest + 1], [-1], [[0]], [0] * (protocol.users + 1)):
            with pytest.raises(ValueError, match=r"^values.* must .*\.$"):
                protocol.randomize(values, rng)
        with pytest.raises(TypeError, match=r"^values has dtype float64"):
            protocol.randomize([0.5], rng)
        with pytest.raises(ValueError, match=r"^totals.* must be in \[0, \d+\)\.$"):
            protocol.sample_view([protocol.users * protocol.largest + 1], rng)
        with pytest.raises(ValueError, match=r"^value=-1 must be an integer in \[0, \d+\]\.$"):
            protocol.report(-1)
        with pytest.raises(ValueError, match=r"^symbols.*-3.* must .*\.$"):
            protocol.view([1, -3])
        with pytest.raises(TypeError, match=r"^view has dtype float64"):
            protocol.analyze(0.5)
        with pytest.raises(ValueError, match=r"^view.* must .*\.$"):
            protocol.analyze([-1])
        with pytest.raises(TypeError, match=r"^value=True must be an integer in"):
            protocol.report(True)
        real = replace(protocol, steps=2)
        with pytest.raises(ValueError, match=r"^value=True must be a number in"):
            real.report(True)
        with pytest.raises(TypeError, match=r"^values has dtype bool"):
            real.randomize([True], rng)

    def test_a_batch_of_nobody_is_a_sum(self) -> None:
        found = self.protocol.run([], np.random.default_rng(1), participants=0)
        assert found == 0.0 if self.protocol.divided else abs(found) < 200


def test_rounding_is_unbiased_and_exact_for_a_real_client() -> None:
    rng, entropy = np.random.default_rng(16), random.Random(16)
    law = {7: 0.25, 8: 0.75}
    assert_law(rounded(np.full(20_000, 3.1), 2.5, rng).tolist(), law)
    assert_law([exactly_rounded("3.1", "2.5", entropy) for _ in range(1500)], law)
    assert [exactly_rounded(Fraction(7, 2), 2), rounded(3.5, 2.0, rng).tolist()] == [7, 7]
    # Not 0.1 as a float, times 10: the fraction that is left over is met exactly.
    assert {exactly_rounded(0.1, 10, random.Random(seed)) for seed in range(99)} == {1}


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 2.0**60])
def test_numbers_that_cannot_be_rounded_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"^values contains .* must be in \[0, 2\^53 / scale\)\.$"):
        rounded([1.0, value], 2.0, np.random.default_rng(0))
    if value < 2.0**60:
        with pytest.raises(ValueError, match=r"^value=.* must be .*\.$"):
            exactly_rounded(value, 1)


def test_sums_stay_below_what_floats_hold() -> None:
    with pytest.raises(ValueError, match=r"^users=8192 times 1099511627776 steps must be below 2\^53\.$"):
        PoissonSum(2**13, 2**40, 1.0)


@pytest.mark.parametrize("made", [
    lambda **span: PoissonSum(4, mean=2.5, **span),
    lambda **span: SplitAndMix(4, modulus=2**10, shares=3, p=0.6, **span),
], ids=["unary", "shares"])  # fmt: skip
def test_signed_integers_and_real_numbers_are_sent_as_steps(made: Any) -> None:
    signed, rng, entropy = made(largest=2, smallest=-2), np.random.default_rng(21), random.Random(21)
    assert (signed.levels, signed.step) == (4, 1)
    values = [-2, 2, -1]
    assert_mean([signed.run(values, rng, participants=3) for _ in range(1500)], -1, 7.5)
    sent = [signed.report(v, entropy) for _ in range(500) for v in values]
    heard = [signed.view([s for each in sent[i : i + 3] for s in each]) for i in range(0, len(sent), 3)]
    assert_mean(signed.analyze(heard, participants=3), -1, 7.5)
    # The plain protocol reads the same of numbers moved by 2.
    assert_same_law(heard, made(largest=4).sample_view(np.full(20_000, 5), rng, participants=3).tolist())

    real = made(largest=0.3, smallest=-0.1, steps=3)
    rounding, step = 0.75 * 0.25, float(real.step)
    values = np.array([-0.1, 0.3, 0.0])
    variance = step**2 * (7.5 + rounding)
    assert_mean([real.run(values, rng, participants=3) for _ in range(1500)], 0.2, variance)
    sent = [real.report(v, entropy) for _ in range(500) for v in ("0", -0.1, Fraction(0.3))]
    heard = [real.view([s for each in sent[i : i + 3] for s in each]) for i in range(0, len(sent), 3)]
    assert_mean(real.analyze(heard, participants=3), 0.2, variance)
    for values, number in (([0.31], 0.31), ([float("nan")], "inf"), ([-0.2], -0.2)):
        with pytest.raises(ValueError, match=r"^values has .* must hold numbers in \[-0\.1, 0\.3\], one a user\.$"):
            real.randomize(values, rng)
        with pytest.raises(ValueError, match=r"^value=.* must be a number in \[-0\.1, 0\.3\]\.$"):
            real.report(number)
    with pytest.raises(ValueError, match=r"^value=3 must be an integer in \[-2, 2\]\.$"):
        signed.report(3)
    with pytest.raises(ValueError, match=r"^values\[0\]=-3 must be in \[-2, 3\)\.$"):
        signed.randomize([-3], rng)


def test_ranges_that_are_none_are_refused() -> None:
    for smallest, largest, steps, said in (
        (2, 2, None, r"^largest=2 must be above smallest=2\.$"),
        (0.5, 2, None, r"^smallest=0\.5 and largest=2 must be integers, or users hold real numbers, in steps\.$"),
        (0, 5e-324, 9, r"^smallest=0\.0 and largest=5e-324 must differ by a number in \[1e-100, 1e\+100\]\.$"),
        (-1.7e308, 1.7e308, 9, r"must differ by a number in"),
        (0, 10**400, None, r"^largest=10{400} must be a finite number in"),
    ):
        with pytest.raises(ValueError, match=said):
            PoissonSum(9, largest, 1.0, smallest=smallest, steps=steps)
