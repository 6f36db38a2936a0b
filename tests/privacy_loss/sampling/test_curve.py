"""Curves of many sampled steps: closed forms, references, both directions, and the width that was asked for."""

import math
from unittest import mock

import pytest
from flint import arb, ctx

from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.losses.pairs import Directions, approximate_dp, negative_binomial
from dpverify.privacy_loss.sampling import curve
from dpverify.privacy_loss.sampling.curve import SampledCurve
from dpverify.privacy_loss.sampling.line import NoiseLine
from dpverify.privacy_loss.sampling.pairs import LinePair, ListedPair, SampledPair
from dpverify.privacy_loss.windows.gaussian import NormalNoiseCurve
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.sampling.exact import BITS, ExactNoise, number


def meets(found: Interval, truth: Interval) -> bool:
    return found.lower <= truth.upper and truth.lower <= found.upper


def sampled(noise: float, rate: float, delta: float, steps: int, width: float = 1e-4) -> SampledCurve:
    line = NoiseLine.gaussian(noise, 1e-10 * delta / steps)
    return SampledCurve([(LinePair(line, rate), steps)], relative_width=width, reference_delta=delta)


@pytest.mark.parametrize("delta", [1e-3, 1e-30])
def test_every_record_in_every_step_is_the_closed_form(delta: float) -> None:
    made, exact = sampled(20.0, 1.0, delta, 1000), NormalNoiseCurve(20.0, 1000)
    found = made.epsilon(delta)
    assert meets(found, exact.epsilon(delta))
    assert found.width <= 1e-4 * found.upper
    assert meets(made.delta(0.7), exact.delta(0.7))


@pytest.mark.parametrize(
    ("delta", "lower", "upper"),
    [(1e-6, 6.90737953, 6.90738535), (1e-10, 9.3158, 9.3161), (1e-15, 11.7597, 11.7601)],
)
def test_a_training_of_ten_thousand_steps(delta: float, lower: float, upper: float) -> None:
    # The two ends at a width of 1e-6; dp-accounting 0.6.0 has 6.90742, 9.31517 (below both ends), and inf.
    found = sampled(1.0, 0.01, delta, 10_000).epsilon(delta)
    assert meets(found, Interval(lower, upper))
    assert found.width <= 1e-4 * found.upper


def test_a_step_that_is_too_large_is_chosen_again() -> None:
    made = SampledCurve([(LinePair(NoiseLine.laplace(1.0), 1.0), 3)], relative_width=1e-4, reference_delta=1e-5)
    found = made.epsilon(1e-5)
    assert len(made._made) > 1
    assert found.width <= 1e-4 * found.upper
    assert 2.9997 < found.lower < found.upper < 3.0


def test_no_smaller_step_is_tried_where_all_that_is_left_was_left_out() -> None:
    made = sampled(1.0, 0.1, 1e-6, 1)
    found = made.delta(1e3)
    assert found.lower == 0.0
    assert 0.0 < found.upper < 1e-15
    assert len(made._made) == 1


def test_the_worse_direction_counts() -> None:
    one = negative_binomial(3.0, 0.8, 1e-30)
    curves = [SampledCurve([(ListedPair(pair), 40)], reference_delta=1e-5) for pair in (one, Directions(*one[::-1]))]
    larger = max(Composition([(grid, 40)]).epsilon(1e-5).lower for grid in ListedPair(one).on_grid(1e-3))
    for made in curves:
        found = made.epsilon(1e-5)
        assert (
            found.upper
            >= larger
            > 1.05 * min(Composition([(grid, 40)]).epsilon(1e-5).upper for grid in ListedPair(one).on_grid(1e-3))
        )
        assert meets(found, curves[0].epsilon(1e-5))
        assert meets(made.delta(2.0), curves[1].delta(2.0))


def test_a_second_direction_that_is_a_little_worse_counts() -> None:
    remove, add = NoiseLine.gaussian(2.0, 1e-20).listed(0.97)[0]
    first, second, both = (
        SampledCurve([(ListedPair(Directions(*pair)), 4)], relative_width=1e-3, reference_delta=1e-5).epsilon(1e-5)
        for pair in ((remove, remove), (add, add), (add, remove))
    )
    assert 1.02 * second.upper < first.lower < 1.06 * second.lower
    assert meets(first, both)


def test_pairs_of_two_kinds_compose() -> None:
    # One report of loss +-1/2 says which divergence of the Gaussian step is left.
    response = approximate_dp(0.5, 0.0)
    parts: list[tuple[SampledPair, int]] = [
        (LinePair(NoiseLine.gaussian(1.0, 1e-20), 0.2), 1),
        (ListedPair(Directions(response, response)), 1),
    ]
    made = SampledCurve(parts, relative_width=1e-3, reference_delta=1e-3)
    noise = ExactNoise("gaussian", 1.0)
    with ctx.workprec(BITS):
        share = 1 / (1 + (-arb(1) / 2).exp())
        for epsilon in (0.0, 0.3, 1.2):
            a, half = number(epsilon).exp(), (arb(1) / 2).exp()
            ends = [
                share * mean(0.2, a / half) + (1 - share) * mean(0.2, a * half) for mean in (noise.remove, noise.add)
            ]
            exact, found = max(ends, key=float), made.delta(epsilon)
            assert exact.upper() >= found.lower
            assert exact.lower() <= found.upper
            assert found.width <= 1e-2 * found.upper


@pytest.mark.long
def test_what_does_not_fit_is_kept_or_refused() -> None:
    with mock.patch.object(curve, "_MOST_BYTES", 2**16):
        first = sampled(1.0, 0.01, 1e-6, 10_000, 1e-6)
        assert math.isfinite(first.epsilon(1e-6).upper)
    with mock.patch.multiple(curve, _MOST_BYTES=2**20, _MOST_BYTES_FIRST=2**20):
        found = sampled(1.0, 0.01, 1e-6, 10_000, 1e-6).epsilon(1e-6)
        assert 5.0 < found.lower < 6.9074 < found.upper < 9.0
    with (
        mock.patch.multiple(curve, _MOST_BYTES=2**16, _MOST_BYTES_FIRST=2**16),
        pytest.raises(CapacityError, match="a transform of about"),
    ):
        sampled(1.0, 0.01, 1e-6, 10_000, 1e-6).epsilon(1e-6)
    with pytest.raises(ValueError, match=r"^parts is empty, but must hold"):
        SampledCurve([])


def test_where_steps_go_either_way_the_wider_window_takes_a_larger_step() -> None:
    # At these limits one direction fits at a step at which both together do not: that was refused.
    line = NoiseLine.gaussian(1.0, 1e-20)
    found = []
    for most in (2**18, 2**22):
        with mock.patch.multiple(curve, _MOST_BYTES=most, _MOST_BYTES_FIRST=most):
            parts = [(LinePair(line, 0.25), 2)]
            made = SampledCurve(parts, relative_width=1e-4, reference_delta=1e-3, either_way=True)
            found.append(made.delta(0.0))
    small, large = found
    assert small.lower <= large.lower < large.upper < small.upper < 1.001 * large.upper
    with (
        mock.patch.object(SampledCurve, "_at", side_effect=CapacityError("no.")) as asked,
        pytest.raises(CapacityError, match=r"^no\."),
    ):
        made._either_upper(1e-3, lambda either: either.epsilon_upper(1e-3))
    assert asked.call_count == curve._ROUNDS
