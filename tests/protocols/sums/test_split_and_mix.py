"""Split and mix: the contract, the shares, and what wraps round."""

import random
from collections import Counter

import numpy as np
import pytest

from protocols.sums import SplitAndMix
from tests.protocols.sums.test_base import SumContract
from tests.samples import assert_law


class TestSplitAndMix(SumContract):
    protocol = SplitAndMix(4, 3, 2**10, 3, 0.6, 1.5)
    variance = 2.0 * 1.5 * 0.6 / 0.16


def test_all_shares_but_one_are_uniform_and_independent() -> None:
    protocol, rng, entropy = SplitAndMix(1, 1, 3, 3, 0.0), np.random.default_rng(2), random.Random(2)
    drawn = [tuple(protocol.randomize([1], rng).symbols.tolist()) for _ in range(3000)]
    real = [tuple(protocol.report(1, entropy)) for _ in range(3000)]
    law = {(a, b, (1 - a - b) % 3): 1 / 9 for a in range(3) for b in range(3)}
    assert_law(drawn, law)
    assert_law(real, law)


def test_large_shares_add_up() -> None:
    q = 2**53
    protocol = SplitAndMix(3, 10, q, 1024, 0.0)
    assert protocol.run([9, 0, 10], np.random.default_rng(3)) == 19.0
    assert protocol.view([q - 1] * 1000) == (1000 * (q - 1)) % q


def test_estimates_are_the_integers_around_the_range_of_sums() -> None:
    protocol = SplitAndMix(2, 3, 11, 2, 0.5)
    assert protocol.margin == 2
    assert Counter(protocol.analyze(np.arange(11)).tolist()) == Counter(range(-2, 9))
    with pytest.raises(ValueError, match=r"^modulus=6 must be above 6, users times steps: the sum\.$"):
        SplitAndMix(2, 3, 6, 2, 0.5)


def test_only_integers_are_shares() -> None:
    with pytest.raises(TypeError, match=r"^symbols has dtype float64, but must hold integers in \[0, 64\)\.$"):
        SplitAndMix(users=3, largest=4, modulus=64, shares=2, p=0.5).view([1.5])
