"""Exact draws against their laws, and the arithmetic that makes them exact."""

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from protocols.exact_draws import (
    Entropy,
    bernoulli,
    bernoulli_exp,
    bernoulli_logistic,
    bernoullis,
    discrete_laplace,
    negative_binomial,
    poisson,
    system_entropy,
)
from tests.samples import assert_law

DRAWS = 20_000


def draws(draw: Callable[[Entropy], int], count: int = DRAWS) -> list[int]:
    entropy = random.Random(7)
    return [int(draw(entropy)) for _ in range(count)]


def coin(probability: float) -> dict[int, float]:
    return {1: probability, 0: 1.0 - probability}


@pytest.mark.parametrize("probability", [Fraction(0), Fraction(1), Fraction(1, 3), Fraction(0.1)])
def test_a_coin_has_its_probability(probability: Fraction) -> None:
    assert_law(draws(lambda entropy: bernoulli(probability, entropy)), coin(float(probability)))


def test_coins_of_one_integer_are_independent_and_exact() -> None:
    probabilities = [Fraction(3, 16), Fraction(1), Fraction(0), Fraction(5, 8)]
    # Bytes that decide nothing are 0: of all others each pair comes once.
    drawn = [
        tuple(bernoullis(range(4), probabilities, Scripted([first << 24 | last])))
        for first in range(256)
        for last in range(256)
    ]
    found = {pair: drawn.count((pair[0], True, False, pair[1])) for pair in itertools.product((True, False), repeat=2)}
    for (first, last), count in found.items():
        chance = (Fraction(3, 16) if first else Fraction(13, 16)) * (Fraction(5, 8) if last else Fraction(3, 8))
        assert count == chance * 2**16
    # 0.1 is a float of 55 binary digits, which take seven bytes: the boundary is at its very numerator.
    numerator = (0.1).as_integer_ratio()[0] << 1
    assert [bernoullis([0], [Fraction(0.1)], Scripted([numerator - below])) for below in (0, 1)] == [[False], [True]]
    for probability in (Fraction(1, 3), Fraction(3, 2), Fraction(-1, 2)):
        with pytest.raises(ValueError, match=r"^probability=.* must be in \[0, 1\], with a power of two below"):
            bernoullis([0, 1], [Fraction(1, 2), probability], system_entropy())


@pytest.mark.long
@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(5, 2)])
def test_exponentials(exponent: Fraction) -> None:
    assert_law(draws(lambda entropy: bernoulli_exp(exponent, entropy)), coin(math.exp(-exponent)))
    assert_law(draws(lambda entropy: bernoulli_logistic(exponent, entropy)), coin(1.0 / (1.0 + math.exp(exponent))))


@pytest.mark.long
@pytest.mark.parametrize("decay", [Fraction(1), Fraction(2, 3), Fraction(5, 2), Fraction(0.3)])
def test_discrete_laplace_noise(decay: Fraction) -> None:
    found = [max(-9, min(9, z)) for z in draws(lambda entropy: discrete_laplace(decay, entropy))]
    q = math.exp(-decay)
    law = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-8, 9)}
    law |= dict.fromkeys((-9, 9), q**9 / (1 + q))
    assert_law(found, law)


class Scripted:
    """Returns given integers in turn."""

    def __init__(self, choices: list[int]) -> None:
        self.choices = choices

    def randrange(self, stop: int, /) -> int:
        return self.choices.pop(0)


def test_a_coin_divides_the_integers_exactly() -> None:
    third = [bernoulli(Fraction(2, 3), Scripted([k])) for k in range(3)]
    assert third == [True, True, False]


def test_sources_that_never_end_are_not_needed_for_sure_results() -> None:
    assert bernoulli_exp(Fraction(0), Scripted([0])) is True
    assert bernoulli_logistic(Fraction(3), Scripted([0])) is False


def test_the_default_is_the_operating_system() -> None:
    assert isinstance(system_entropy(), random.SystemRandom)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: bernoulli(Fraction(4, 3), e), r"^probability=4/3 must be in \[0, 1\]\.$"),
        (lambda e: bernoulli_exp(Fraction(-1), e), r"^exponent=-1 must be in \[0, inf\)\.$"),
        (lambda e: discrete_laplace(Fraction(0), e), r"^decay=0 must be in \(0, inf\)\.$"),
    ],
)
def test_ranges(call: Callable[[Entropy], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(random.Random(1))


@pytest.mark.long
@pytest.mark.parametrize("mean", [Fraction(1, 5), Fraction(1, 2), Fraction(7, 3)])
def test_poisson_noise(mean: Fraction) -> None:
    law = {k: math.exp(-mean) * float(mean) ** k / math.factorial(k) for k in range(9)}
    law[9] = 1.0 - sum(law.values())
    assert_law([min(9, k) for k in draws(lambda entropy: poisson(mean, entropy), 8000)], law)


@pytest.mark.parametrize(("shape", "p"), [(Fraction(1, 50), 0.9), (Fraction(1), 0.5), (Fraction(5, 2), 0.3)])
def test_negative_binomial_noise(shape: Fraction, p: float) -> None:
    found = draws(lambda entropy: negative_binomial(shape, Fraction(p), entropy), 4000)
    law = {0: (1 - p) ** float(shape)}
    for z in range(7):
        law[z + 1] = law[z] * (float(shape) + z) / (z + 1) * p
    law[8] = 1.0 - sum(law.values())
    assert_law([min(8, z) for z in found], law)


def test_noise_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^mean=-1 must be in \[0, inf\)\.$"):
        poisson(Fraction(-1), system_entropy())
    with pytest.raises(ValueError, match=r"^shape=1 must be in \[0, inf\) and p=1 in \[0, 1\)\.$"):
        negative_binomial(Fraction(1), Fraction(1), system_entropy())
