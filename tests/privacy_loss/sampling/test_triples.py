"""Triples of laws: every mass against Arb, one and two steps against sums in Arb, and that none are further apart."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from flint import arb, ctx

from dpverify.laws.noise import discrete_gaussian, skellam
from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.sampling.pairs import ListedPair
from dpverify.privacy_loss.sampling.triples import NoiseTriple
from dpverify.privacy_loss.windows.transform import Composition
from dpverify.rounding import UNIT
from tests.privacy_loss.sampling.exact import BITS, number

TAIL = 1e-25
Pmf = Callable[[int], arb]


def exact(law: str, noise: float) -> Pmf:
    """Return a pmf on the integers, in Arb."""
    s = number(noise)
    if law == "skellam":
        return lambda z: (s * s).bessel_i(arb(abs(z)), scaled=True)
    weights = [(-(arb(z) ** 2) / (2 * s * s)).exp() for z in range(int(40 * noise) + 5)]
    total = weights[0] + 2 * sum(weights[1:], arb(0)) + arb(0, 1e-200)
    return lambda z: (-(arb(z) ** 2) / (2 * s * s)).exp() / total


def triple_of(law: str, noise: float, shift: int) -> NoiseTriple:
    listed = skellam if law == "skellam" else discrete_gaussian
    return NoiseTriple.of_law(listed(noise, TAIL, beyond=2 * shift), shift, TAIL)


CASES = [("discrete-gaussian", 2.0, 1, 0.1), ("skellam", 1.5, 2, 0.3), ("discrete-gaussian", 0.6, 1, 0.9)]


@pytest.mark.parametrize(("law", "noise", "shift", "rate"), CASES)
def test_one_and_two_steps_contain_the_sums_over_all_outcomes(law: str, noise: float, shift: int, rate: float) -> None:
    made = triple_of(law, noise, shift)
    with ctx.workprec(BITS):
        f, q = exact(law, noise), number(rate)
        reach = int(14 * noise) + 3 * shift + 4
        low, zero, high = ([f(z + at) for z in range(-reach, reach + 1)] for at in (shift, 0, -shift))
        rows: list[tuple[ListedPair, list[arb], list[arb]]] = [
            (made.comes(rate), [(1 - q) * a + q * b for a, b in zip(zero, high, strict=True)], zero),
            (made.comes(rate, 2), [(1 - q) * a + q * b for a, b in zip(low, high, strict=True)], low),
            (made.comes(1.0, 2), high, low),
            (
                made.becomes(rate),
                [(1 - q) * a + q * b for a, b in zip(zero, high, strict=True)],
                [(1 - q) * a + q * b for a, b in zip(zero, low, strict=True)],
            ),
        ]
        for pair, p, other in rows:
            grids = pair.on_grid(0.003)
            for epsilon in (0.0, 0.31, -0.2, 1.3):
                a = number(epsilon).exp()
                for grid, (first, second) in zip(grids[:2], ((p, other), (other, p)), strict=True):
                    terms = [x - a * y for x, y in zip(first, second, strict=True)]
                    truth = sum((term for term in terms if term > 0), arb(0)) + arb(0, 1e-30)
                    found = Composition([(grid, 1)]).delta(epsilon)
                    assert found.lower <= truth.upper()
                    assert truth.lower() <= found.upper
                    assert found.width < 1e-3
    # Two steps, in floats: the errors are 1e-13.
    firsts, seconds = (np.array([float(x) for x in side]) for side in (rows[3][1], rows[3][2]))
    for epsilon in (0.1, 0.7):
        two = np.maximum(np.outer(firsts, firsts) - math.exp(epsilon) * np.outer(seconds, seconds), 0.0).sum()
        found = Composition([(made.becomes(rate).on_grid(0.002).remove, 2)]).delta(epsilon)
        assert found.lower - 1e-13 <= two <= found.upper + 1e-13
        assert found.width < 1e-3


@pytest.mark.parametrize(("law", "noise", "shift", "rate"), CASES)
def test_masses_are_within_their_errors_and_what_is_left_out_is_charged(
    law: str, noise: float, shift: int, rate: float
) -> None:
    made = triple_of(law, noise, shift)
    with ctx.workprec(BITS):
        f = exact(law, noise)
        reach = (made.base.size - 1) // 2
        for masses, at in ((made.base, 0), (made.one, shift), (made.other, -shift)):
            for z in {-reach, -3, 0, 2, reach}:
                assert bool(abs(number(float(masses[z + reach])) / f(z - at) - 1) <= made.relative_error)
            outside = sum((f(z - at) + f(-z - at) for z in range(reach + 1, reach + 40)), arb(0))
            assert bool(outside <= made.missing)
            assert bool(outside > 1e-6 * made.missing) or at == 0


def test_tails_on_both_sides_and_roundings_reach_every_pair() -> None:
    # f falls slowly: a shifted law has nearly one tail on either side of the window and its two shifts.
    fall, reach = Fraction(19, 20), 30
    places = [*range(-reach - 2, reach + 3)]
    exact_law = [fall ** abs(z) * (1 - fall) / (1 + fall) for z in places]
    tail = fall ** (reach + 1) / (1 + fall)
    law = IntegerLaw(places[0], np.array([float(each) for each in exact_law]), 2.0**-50, float(tail), float(tail))
    made = NoiseTriple.of_law(law, 1, float(tail))
    outside = 1 - sum(exact_law[: made.one.size], Fraction(0))
    assert 1.8 * float(tail) < float(outside) <= made.missing
    with mock.patch.object(PrivacyLossDistribution, "from_pmfs", wraps=PrivacyLossDistribution.from_pmfs) as given:
        for pair in (made.comes(0.3), made.comes(0.3, 2), made.becomes(0.3)):
            assert all(loss.missing_mass >= made.missing for loss in pair.listed()[0])
    assert given.call_count == 5
    for call in given.call_args_list:  # two products and a sum
        assert call.kwargs["relative_error"] >= made.relative_error + 3.0 * UNIT


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize(("loss", "steps"), [(0.25, 4), (3.0, 7), (290.0, 3), (1e-3, 1)])
def test_masses_of_laplace_noise_are_within_their_errors(loss: float, steps: int, rounded: bool) -> None:
    made = NoiseTriple.laplace(loss, steps, rounded=rounded)
    assert made.missing == 0.0
    with ctx.workprec(8 * BITS):  # differences of tails next to 1
        d = number(loss) / steps

        def above(k: int) -> arb:
            """Return P(Z >= k), of noise on the integers or the line."""
            if k < 0 or (k == 0 and not rounded):
                return 1 - above(1 - k) if not rounded else 1 - above(-k)
            return (-d * k).exp() / (2 if rounded else 1 + (-d).exp())

        for masses, at in ((made.base, 0), (made.one, steps), (made.other, -steps)):
            places = range(-steps if rounded else 1 - steps, steps)
            cells = [above(k - at) - above(k + 1 - at) for k in places]
            truth = [1 - above(places[0] - at), *cells, above(steps - at)] if len(places) else []
            assert masses.size == len(truth)
            for found, mass in zip(masses.tolist(), truth, strict=True):
                assert bool(abs(number(found) / mass - 1) <= made.relative_error)


def mixtures(f: list[Fraction], q: Fraction, shift: int) -> list[Fraction]:
    size = len(f)
    moved = [f[(z - shift) % size] for z in range(size)]  # zeros around: nothing wraps
    return [(1 - q) * a + q * b for a, b in zip(f, moved, strict=True)]


def divergence(p: list[Fraction], q: list[Fraction], a: Fraction) -> Fraction:
    return sum((max(x - a * y, Fraction(0)) for x, y in zip(p, q, strict=True)), Fraction(0))


def test_no_two_records_are_further_apart_than_opposites() -> None:
    # In rationals, for log-concave symmetric laws of finite support, those of all shifts u, v up to s.
    rng = np.random.default_rng(3)
    for _ in range(3):
        reach, s = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        falls = sorted(Fraction(int(rng.integers(1, 40)), 40) for _ in range(reach))
        half = list(itertools.accumulate(reversed(falls), lambda mass, fall: mass * fall, initial=Fraction(1)))
        weights = [*half[:0:-1], *half]
        law = [*[Fraction(0)] * 6, *(w / sum(weights) for w in weights), *[Fraction(0)] * 6]
        q = Fraction(int(rng.integers(1, 20)), 20)
        for a in (Fraction(1), Fraction(int(rng.integers(21, 90)), 20), Fraction(int(rng.integers(4, 20)), 20)):
            worst = divergence(mixtures(law, q, s), mixtures(law, q, -s), a)
            for u, v in itertools.product(range(-s, s + 1), repeat=2):
                assert divergence(mixtures(law, q, u), mixtures(law, q, v), a) <= worst
            # In a batch of fixed size: any two shifts up to 2 s, which are 2 s apart at most.
            moved = mixtures(law, q, 2 * s)
            worst = divergence(moved, law, a) if a >= 1 else divergence(law, moved, a)
            for u, v in itertools.product(range(-2 * s, 2 * s + 1), repeat=2):
                if abs(u - v) <= 2 * s:
                    assert divergence(mixtures(law, q, u), mixtures(law, q, v), a) <= worst


def test_continuous_noise_lies_between_that_of_steps_and_that_which_is_rounded() -> None:
    # Sums of cells of a fine grid; both ends come together.
    rate, loss = 0.2, 1.5
    x = (np.arange(-60_000, 60_000) + 0.5) / 4_000.0
    cells = [np.exp(-loss * np.abs(x - at)) * (0.5 * loss / 4_000.0) for at in (0.0, 1.0, -1.0)]
    p, q = ((1.0 - rate) * cells[0] + rate * cells[at] for at in (1, 2))
    for steps in (1, 4, 64):
        ends = [
            Composition([(NoiseTriple.laplace(loss, steps, rounded=rounded).becomes(rate).on_grid(1e-3).remove, 1)])
            for rounded in (True, False)
        ]
        for epsilon in (0.0, 0.2, 0.45):
            truth = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
            low, high = (end.delta(epsilon) for end in ends)
            assert low.lower - 1e-6 <= truth <= high.upper + 1e-6
            assert high.upper - low.lower < 3.0 / steps**2 * truth + 1e-4


def test_limits_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^loss=301\.0 must be"):
        NoiseTriple.laplace(301.0, 2)
    with pytest.raises(ValueError, match=r"^shift=0 must be"):
        NoiseTriple.of_law(skellam(1.0, 0.1), 0, 0.1)
    with pytest.raises(ValueError, match=r"^rate=0\.0 must be"):
        NoiseTriple.laplace(1.0, 2).becomes(0.0)
