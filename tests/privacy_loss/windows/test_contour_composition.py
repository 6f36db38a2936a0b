"""Composition along a contour against exact products, and with each error made so large that its charge shows."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import acb, arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import (
    binomial_randomized_response,
    negative_binomial,
)
from dpverify.privacy_loss.windows import contour, contour_composition
from dpverify.privacy_loss.windows.characteristic import Line, LossAtoms, Nodes
from dpverify.privacy_loss.windows.contour import Contour
from dpverify.privacy_loss.windows.contour_composition import ContourComposition, MixesBound, _Line
from dpverify.privacy_loss.windows.grid import connect_the_dots, dominating_grid
from dpverify.privacy_loss.windows.transform import Composition
from dpverify.rounding import UNIT
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth
from tests.privacy_loss.test_engine_charges import COPIES, EPSILONS, LOSS, binomial, holds, pair


def composed(**errors: float) -> ContourComposition:
    return ContourComposition([(connect_the_dots(pair(**errors), LOSS), COPIES)])


@pytest.mark.long
@settings(max_examples=15)
@given(
    st.lists(st.tuples(rational_pairs(5), st.integers(1, 10)), min_size=1, max_size=2),
    st.floats(-2.0, 4.0),
    st.sampled_from([0.02, 0.3]),
    st.sampled_from([None, 0.2, 1e-6]),
)
def test_exact_products_lie_inside(
    parts: list[tuple[RationalPair, int]], epsilon: float, step: float, shared_at: float | None
) -> None:
    factors = [(connect_the_dots(floats(one), step), count) for one, count in parts]
    exact = truth([one for one, _ in parts], [count for _, count in parts], epsilon)
    found = ContourComposition(factors, shared_at=shared_at).delta(epsilon)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper


def test_other_numbers_of_the_same_factors_share_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    grids = [connect_the_dots(one, 2e-3) for one in binomial_randomized_response(1_000, 0.2, 1e-20)]
    made, line = [], LossAtoms._line
    monkeypatch.setattr(LossAtoms, "_line", lambda self, nodes, spared: made.append(nodes) or line(self, nodes, spared))
    for days in range(10, 60):
        factors = [(grids[0], days), (grids[1], 2 * days)]
        quick, exact = ContourComposition(factors, shared_at=1e-6).epsilon(1e-6), Composition(factors).epsilon(1e-6)
        assert exact.lower <= quick.upper <= exact.upper * (1.0 + 4e-4)
        assert exact.lower * (1.0 - 2e-3) <= quick.lower <= exact.upper
    assert len([nodes for nodes in made if nodes.number > 1]) < 30


@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-100])
def test_transforms_and_contours_agree(delta: float) -> None:
    up, down = (connect_the_dots(one, 2e-3) for one in binomial_randomized_response(1_000, 0.2, 1e-150))
    factors = [(up, 40), (down, 25)]
    one, other = ContourComposition(factors).epsilon(delta), Composition(factors).epsilon(delta)
    assert one.lower <= other.upper
    assert other.lower <= one.upper
    assert one.upper == pytest.approx(other.upper, rel=1e-5, abs=1e-5)
    assert one.width <= 1.2 * other.width + 1e-4 * other.upper


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-15])
@pytest.mark.parametrize("copies", [40, 3000])
def test_both_ends_bound_every_mix(copies: int, delta: float) -> None:
    grids = [connect_the_dots(one, 5e-3) for one in negative_binomial(5.0, 0.9, 1e-150)]
    every = MixesBound([ContourComposition([(grid, copies)]) for grid in grids], epsilon=6.0)
    found, largest = every.epsilon(delta), 0.0
    for share in (0.0, 0.1, 0.5, 0.8, 1.0):
        first = round(share * copies)
        parts = [(grid, count) for grid, count in zip(grids, (first, copies - first), strict=True) if count]
        mix = Composition(parts)
        largest = max(largest, mix.epsilon(delta).lower)
        assert largest <= found
        assert mix.delta(6.0).lower <= every.delta(6.0)
    close = MixesBound([ContourComposition([(grid, copies)]) for grid in grids], epsilon=largest).epsilon(delta)
    assert largest <= close <= 1.1 * largest


@pytest.mark.parametrize("error", ["loss_error", "relative_error", "missing_mass"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_bound_on_mixes_charges_what_a_composition_does(error: str, order: int) -> None:
    # Of one end the losses and masses are known to all digits.
    exact, off = (MixesBound([composed(), composed(**own)][::order], epsilon=1.2) for own in ({}, {error: 0.01}))
    grown = {
        "loss_error": binomial(1.2, shift=0.01),
        "relative_error": binomial(1.2, scale=1.01),
        "missing_mass": binomial(1.2) + 1.0 - 0.99**COPIES,
    }
    charge = grown[error] - binomial(1.2)
    assert off.delta(1.2) >= exact.delta(1.2) + 0.9 * charge > exact.delta(1.2)
    assert off.epsilon(0.1) > exact.epsilon(0.1) + (0.9 * COPIES * 0.01 if error == "loss_error" else 0.0)


def test_any_number_of_copies_is_a_matter_of_one_line() -> None:
    users, p, copies = 10**6, 0.4999, 10**11
    listed = binomial_randomized_response(users, p, 1e-60).up.trimmed(1e-30)
    spread = math.sqrt(float(np.sum(listed.masses * listed.losses**2)))
    found = ContourComposition([(connect_the_dots(listed, spread / 30.0), copies)]).epsilon(1e-6)
    assert 0.0 < found.width < 0.005 * found.upper
    # So many so small losses are normal.
    shift = math.sqrt(copies * (1 - 2 * p) ** 2 / (users * p * (1 - p)))

    def normal(x: float) -> float:
        return 0.5 * math.erfc(-x / math.sqrt(2.0))

    def delta(epsilon: float) -> float:
        return normal(shift / 2 - epsilon / shift) - math.exp(epsilon) * normal(-shift / 2 - epsilon / shift)

    assert delta(found.upper) < 1e-6 < delta(found.lower)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_loss_and_mass_errors_count_in_every_copy(epsilon: float, sign: float) -> None:
    assert holds(composed(loss_error=0.02).delta(epsilon), binomial(epsilon, shift=sign * 0.0199))
    assert holds(composed(relative_error=0.01).delta(epsilon), binomial(epsilon, scale=1.0 + sign * 0.0098))
    far = epsilon + sign * COPIES * 0.01
    if far > 0.0:
        found = composed(loss_error=0.01).epsilon(binomial(epsilon))
        assert found.lower <= far * (1.0 + 1e-12)
        assert far <= found.upper * (1.0 + 1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_missing_and_infinite_mass_count(epsilon: float) -> None:
    one = PrivacyLossDistribution(np.array([0.0]), np.array([0.7]), 0.2, 0.1)
    found = ContourComposition([(connect_the_dots(one, 1.0), COPIES)]).delta(epsilon)
    assert holds(found, 1.0 - 0.8**COPIES)
    assert found.upper >= 1.0 - 0.7**COPIES


@pytest.mark.parametrize("epsilon", [-0.5, *EPSILONS, 2.9])
@pytest.mark.parametrize("period", [0.5, 2.0, 4.0])
def test_aliases_are_charged(monkeypatch: pytest.MonkeyPatch, epsilon: float, period: float) -> None:
    monkeypatch.setattr(contour, "_PERIOD", period)
    monkeypatch.setattr(contour, "_POLE", 100.0)
    assert holds(composed().delta(epsilon), binomial(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("smoothing", [1e-8, 1e-3, 0.1])
def test_smoothing_is_charged(monkeypatch: pytest.MonkeyPatch, epsilon: float, smoothing: float) -> None:
    monkeypatch.setattr(contour_composition, "_SMOOTHING", smoothing)
    assert holds(composed().delta(epsilon), binomial(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_arb_encloses_the_same_integral(monkeypatch: pytest.MonkeyPatch, epsilon: float) -> None:
    # With so much smoothing nothing is left of the integrand at s = 60, and the sum's aliases are below 1e-9.
    monkeypatch.setattr(contour_composition, "_SMOOTHING", 0.02)
    composition = composed()
    smoothing, loss, x = arb(composition._smoothing), arb(LOSS), arb(epsilon)
    up = 1 / (1 + (-loss).exp())

    def integrand(s: acb, _: bool) -> acb:
        z = acb(2) + acb(0, 1) * s
        moment = up * ((z - 1) * loss).exp() + (1 - up) * (-(z - 1) * loss).exp()
        return moment**COPIES * (smoothing * z * (z - 1) / 2 + (1 - z) * x).exp() / (z * (z - 1))

    exact = (acb.integral(integrand, 0, 60).real / arb.pi()).mid()
    lower, upper = composition._finite_delta(epsilon)
    assert lower <= float(exact) * (1 + 1e-12)
    assert float(exact) * (1 - 1e-12) <= upper
    assert upper - lower < 1e-6


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("what", ["values", "scale"])
def test_rounding_of_a_line_counts_in_every_copy(
    monkeypatch: pytest.MonkeyPatch, epsilon: float, sign: float, what: str
) -> None:
    noise, exact = 1e-4, LossAtoms.along

    def noisy(self: LossAtoms, nodes: Nodes) -> Line:
        line = exact(self, nodes)
        if what == "scale":
            return line._replace(log_scale=line.log_scale + sign * noise, scale_error=noise * 1.001)
        off = sign * noise * np.exp(1j * np.angle(1.0 + line.deviations))
        return line._replace(deviations=line.deviations + off, errors=np.full(line.errors.shape, noise * 1.001))

    monkeypatch.setattr(LossAtoms, "along", noisy)
    assert holds(composed().delta(epsilon), binomial(epsilon))


def test_sums_over_many_factors_are_charged_for_their_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    # Values that are known to all digits, of a thousand factors of a thousand copies each.
    nodes = Contour(0.7, 0.1, 40, 1e-3)
    turns = np.exp(1j * np.linspace(0.0, 0.3, 40)) * np.linspace(1.0, 0.7, 40) - 1.0
    line = Line(turns, np.zeros(40), 0.1, 0.0)
    found, copies = composed(), 1000
    found._atoms = [(found._atoms[0][0], copies)] * 1000
    monkeypatch.setattr(LossAtoms, "along", lambda self, _: line)
    made = found._line(nodes, 1.0)
    for place, turn in enumerate(turns.tolist()):
        with mpmath.workdps(50):
            angle = mpmath.atan2(mpmath.mpf(turn.imag), 1 + mpmath.mpf(turn.real))
            assert abs(mpmath.mpf(float(made.phases[place])) - 1000 * copies * angle) <= float(made.errors[place])
    log_moduli = np.array([float(1000 * copies * Fraction(float(one))) for one in line.log_moduli])
    # A unit for each addition.
    assert found.log_integral(nodes) >= float(nodes.log_integral(log_moduli)) + 900 * UNIT * abs(log_moduli[0])


@pytest.mark.parametrize("epsilon", [0.3, -1e3 / 7.0, 1e5 / 3.0, 1e7 / 9.0])
def test_turns_and_scales_of_a_line_are_charged_for_their_rounding(epsilon: float) -> None:
    # Of a product all of whose values are 1, but for a scale.
    nodes, found = Contour(0.7, 0.1, 400, 1.0), composed()
    with mpmath.workdps(50):
        tilt, x = mpmath.mpf(0.7), mpmath.mpf(epsilon)
        # Without the gain, e^(tilt (1 + tilt) / 2), which is in the exponent.
        terms = [
            mpmath.exp((z * (z - 1) - tilt * (1 + tilt)) / 2 - 1j * z.imag * x) / (z * (z - 1))
            for z in (mpmath.mpc(1 + tilt, mpmath.mpf(0.1) * k) for k in range(400))
        ]
        total = mpmath.mpf(0.1) / mpmath.pi * (mpmath.fsum(term.real for term in terms) - terms[0].real / 2)
    for log_scale in [*np.random.default_rng(0).uniform(-1e6, 1e6, 50).tolist(), 1e9]:
        found._lines = [_Line(nodes, epsilon, 1.0, log_scale, 0.0, *np.zeros((3, 400)), ())]
        low, high, exponent, slack = found._scaled(epsilon)
        assert low <= max(total, 0) <= high
        with mpmath.workdps(50):
            assert abs(mpmath.mpf(exponent) - (mpmath.mpf(log_scale) + tilt * (1 + tilt) / 2 - tilt * x)) <= slack
    # What leaves the floats bounds nothing.
    assert found._sums(epsilon) == (0.0, math.inf)


def test_a_supremum_proves_no_lower_bound() -> None:
    grid = dominating_grid([pair()], LOSS)
    found = ContourComposition([(grid, COPIES)]).delta(0.3)
    assert found.lower == 0.0
    assert binomial(0.3) <= found.upper < 1.01 * binomial(0.3)


def test_disjoint_laws_have_no_finite_loss() -> None:
    one = PrivacyLossDistribution(np.zeros(0), np.zeros(0), 1.0)
    found = ContourComposition([(connect_the_dots(one, 0.1), 2)])
    assert found.delta(3.0) == Interval(1.0, 1.0) or found.delta(3.0).upper == 1.0
    assert found.epsilon(0.5).upper == math.inf
