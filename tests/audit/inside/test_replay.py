"""Shifts: what neighbours differ by, in scales of the noise, against closed forms; nothing where that is not known."""

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverify.audit.inside.parts import parts_of
from dpverify.audit.inside.recording import Tape, given, patched
from dpverify.audit.inside.replay import Shift, shift_of

FIRST, SECOND = np.zeros(3), np.array([1.0, 2.0, 0.0])


def shifted(function: Callable[[Any, Any], Any]) -> Shift | None:
    with patched() as run:

        def replay(inputs: Any, tape: Tape) -> Mapping[str, Any]:
            return parts_of(run(tape, function, inputs, given(np.random.default_rng(0))))

        return shift_of(replay, FIRST, SECOND, (1, 2, 3))


def test_laplace_noise_adds_up_over_the_numbers_of_an_output() -> None:
    shift = shifted(lambda x, rng: 7.0 - 2.0 * (x + rng.laplace(scale=[1.0, 4.0, 1.0], size=3)))
    assert shift.laplace == pytest.approx((1.0, 0.5, 0.0))
    assert shift.epsilon == pytest.approx(1.5)
    assert shift.delta(0.9) == pytest.approx(-math.expm1(-0.05))  # of the largest alone
    assert (shift.mu, shift.bare) == (0.0, "")


def test_gaussian_noise_adds_up_even_in_one_number() -> None:
    shift = shifted(lambda x, rng: x.sum() + rng.normal(scale=3.0) + 4.0 * rng.standard_normal())
    assert shift.laplace is None
    assert shift.mu == pytest.approx(3.0 / 5.0)
    exact = stats.norm.cdf(0.3 - 1 / 0.6) - math.e * stats.norm.cdf(-0.3 - 1 / 0.6)
    assert shift.delta(1.0) == pytest.approx(exact)


def test_two_laplace_draws_in_one_number_say_nothing() -> None:
    shift = shifted(lambda x, rng: x.sum() + rng.laplace() + rng.laplace())
    assert (shift.laplace, shift.epsilon, shift.delta(0.1)) == (None, 0.0, 0.0)


def test_integer_noise_is_held_to_the_delta_of_its_exact_law() -> None:
    shift = shifted(lambda x, rng: int(x[0]) + rng.geometric(0.5) - rng.geometric(0.5))
    # Two-sided geometric noise of epsilon ln 2: the loss is ln 2 wherever an output is at most the input, 2/3.
    for epsilon in (0.0, 0.3, 0.69):
        assert shift.delta(epsilon) == pytest.approx(2 / 3 * (1 - math.exp(epsilon) / 2), abs=1e-11)
    assert shift.delta(math.log(2)) == 0.0
    assert shift.renyi(2.0) == pytest.approx(math.log(2 / 3 * 2 + 1 / 3 / 2), rel=1e-6)


def test_integer_noise_of_several_numbers_is_enumerated() -> None:
    def noisy(x: Any, rng: Any) -> Any:
        noise = rng.binomial(3, 0.25, size=3)
        return [5 - 2 * (noise[0] - x[0]), noise[1] + noise[2] - x[1], noise[0] - x[0], x[2]]  # one up, one down

    shift = shifted(noisy)
    assert shift is not None
    coins = [math.comb(3, k) * 3 ** (3 - k) / 64 for k in range(4)]
    laws: list[dict[tuple[int, int], float]] = [{}, {}]
    for law, (one, two) in zip(laws, ((0, 0), (1, 2)), strict=True):
        for (i, a), (j, b), (k, c) in itertools.product(enumerate(coins), repeat=3):
            at = i - one, j + k - two
            law[at] = law.get(at, 0.0) + a * b * c
    for epsilon in (0.0, 0.5, 2.0):
        sums = [
            sum(max(0.0, p.get(at, 0.0) - math.exp(epsilon) * q.get(at, 0.0)) for at in p)
            for p, q in (laws, laws[::-1])
        ]
        assert shift.delta(epsilon) == pytest.approx(max(sums), abs=1e-10)


def test_noise_that_cannot_fill_the_gap_is_bare() -> None:
    shift = shifted(lambda x, rng: x.sum() / 2 + 4 * rng.poisson(3.0))
    assert shift.bare == "output, modulo 4,"


def test_a_combination_without_noise_is_bare() -> None:
    shift = shifted(lambda x, rng: [x[0] + (noise := rng.laplace()), x[1] + noise])
    assert shift.bare in {"output[0]", "output[1]"}
    assert shift.delta(10.0) == 1.0
    assert str(shift).endswith("differs, whatever is drawn")


@pytest.mark.parametrize(
    "function",
    [
        lambda x, rng: round(x.sum() + rng.laplace()),
        lambda x, rng: abs(x.sum() + rng.laplace(scale=3.0)),
        lambda x, rng: x.sum() + rng.laplace() * rng.random(),
        lambda x, rng: x.sum() * rng.laplace() ** 2,
        lambda x, rng: x.sum() + rng.laplace(scale=1.0 + x.max()),
        lambda x, rng: "words" if rng.laplace() > x.sum() else "others",
        lambda x, rng: x.sum(),
    ],
)
def test_what_is_no_added_noise_has_no_shift(function: Callable[[Any, Any], Any]) -> None:
    assert shifted(function) is None
