"""The pair of a remembered bit against exact rational arithmetic."""

import math
from collections.abc import Iterable
from fractions import Fraction

import pytest
from flint import arb, ctx

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.memoized_bit import flipped_bit, memoized_bit
from dpverify.privacy_loss.losses.pairs import Directions

CASES = [
    (0.5, 0.5, 0.75, 1),
    (0.5, 0.5, 0.75, 7),
    (1e-12, 0.25, 0.5, 3),
    (1.0 - 2**-50, 0.25, 0.5, 3),
    (0.3, 1e-9, 1 - 1e-9, 5),
    (0.3, 0.4, 0.4 + 1e-12, 40),
    (0.1, 0.1, 0.9, 60),
    (0.3, 0.25, 0.75, 4),
]


def test_both_directions_are_one_where_zeros_tell_what_ones_tell() -> None:
    mirrored, other = memoized_bit(0.3, 0.25, 0.75, 4), memoized_bit(0.3, 0.25, 0.75 - 2**-53, 4)
    assert mirrored.up is mirrored.down
    assert other.up is not other.down


def laws(f: float, p: float, q: float, reports: int) -> list[list[Fraction]]:
    """The exact laws of the number of ones, given a 1 and a 0."""
    counts = [
        [
            Fraction(math.comb(reports, c)) * Fraction(one) ** c * (1 - Fraction(one)) ** (reports - c)
            for c in range(reports + 1)
        ]
        for one in (q, p)
    ]
    half = Fraction(f) / 2
    return [[w * a + (1 - w) * b for a, b in zip(*counts, strict=True)] for w in (1 - half, half)]


def divergence(first: Iterable[Fraction], second: Iterable[Fraction], epsilon: float) -> Fraction:
    # The ball's middle: 300 bits are far more than the floats that it is compared with.
    with ctx.workprec(300):
        mantissa, exponent = arb(epsilon).exp().mid().man_exp()
    grown = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return sum((max(a - grown * b, Fraction(0)) for a, b in zip(first, second, strict=True)), Fraction(0))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_directions_contain_the_truth(case: tuple[float, float, float, int]) -> None:
    one, zero = laws(*case)
    pairs = memoized_bit(*case)
    largest = max(abs(math.log(a / b)) for a, b in zip(one, zero, strict=True))
    for share in (-0.5, 0.0, 0.1, 0.5, 0.9, 0.999):
        for pair, first, second in ((pairs.up, one, zero), (pairs.down, zero, one)):
            exact, found = divergence(first, second, share * largest), pair.delta(share * largest)
            assert Fraction(found.lower) <= exact <= Fraction(found.upper)
            assert found.width <= 1e-13 * max(1.0, largest)
            # Relative too, where the answer is no difference of large numbers.
            if share == 0.5:
                assert found.upper <= float(exact) * (1 + 1e-9) + 4 * pair.loss_error


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_stated_errors_cover_every_loss(case: tuple[float, float, float, int]) -> None:
    one, zero = laws(*case)
    with ctx.workprec(300):
        exact = sorted(
            float(((arb(a.numerator) / a.denominator) / (arb(b.numerator) / b.denominator)).log())
            for a, b in zip(one, zero, strict=True)
        )
    up = memoized_bit(*case).up
    for loss in up.losses.tolist():
        assert min(abs(loss - true) for true in exact) <= up.loss_error + 1e-17
    assert up.loss_error < 1e-12


@pytest.mark.parametrize("case", [*CASES[:2], (0.3, 0.2, 0.6, 6), (0.9, 0.1, 0.2, 12)], ids=str)
def test_the_stated_errors_cover_every_mass(case: tuple[float, float, float, int]) -> None:
    one, _ = laws(*case)
    up = memoized_bit(*case).up
    # Losses rise with the number of ones; no two of these are one float.
    for mass, exact in zip(up.masses.tolist(), one, strict=True):
        assert abs(Fraction(mass) / exact - 1) <= Fraction(up.relative_error)
    assert up.relative_error < 1e-12


def test_what_the_windows_cut_is_missing() -> None:
    case = (0.3, 0.4, 0.6, 60)
    one, zero = laws(*case)
    pairs = memoized_bit(*case, 0.01)
    for pair, first, second in ((pairs.up, one, zero), (pairs.down, zero, one)):
        assert pair.missing_mass > 1e-3
        for epsilon in (0.0, 0.5, 1.0, 1.7):
            exact, found = divergence(first, second, epsilon), pair.delta(epsilon)
            assert Fraction(found.lower) <= exact <= Fraction(found.upper)


@pytest.mark.parametrize("reports", [10**4, 10**7])
def test_very_many_reports_reveal_the_kept_bit_and_no_more(reports: int) -> None:
    limit = flipped_bit(0.5)
    for pair in memoized_bit(0.5, 0.5, 0.75, reports):
        for epsilon in (0.0, 0.5, 1.0, 1.09):
            found, known = pair.delta(epsilon), limit.delta(epsilon)
            assert found.lower <= known.upper
            assert known.lower <= found.upper
            assert found.width < 1e-8


def test_reports_next_to_nothing_apart() -> None:
    # At 10^9 reports the logarithm of the likelihood ratio is a difference of numbers of 10^9.
    pairs: Directions = memoized_bit(0.5, 0.5, 0.5001, 10**9)
    found = pairs.up.delta(0.25)
    assert found.width < 1e-9
    assert 0.0 < found.lower < flipped_bit(0.5).delta(0.25).upper


@pytest.mark.parametrize("f", [1e-300, 0.1, 0.3, 0.5, 0.7, 1 - 2**-53])
def test_a_flipped_bit(f: float) -> None:
    pair: PrivacyLossDistribution = flipped_bit(f)
    half = Fraction(f) / 2
    for epsilon in (-1.0, 0.0, 0.5, 2.0):
        exact, found = divergence([1 - half, half], [half, 1 - half], epsilon), pair.delta(epsilon)
        assert Fraction(found.lower) <= exact <= Fraction(found.upper)
        assert found.width < 1e-13
    masses = {1.0: 1 - half, -1.0: half}
    with ctx.workprec(300):
        loss = ((arb(2) - arb(f)) / arb(f)).log()
        for listed, mass in zip(pair.losses.tolist(), pair.masses.tolist(), strict=True):
            sign = math.copysign(1.0, listed)
            assert abs(arb(listed) - sign * loss) <= arb(pair.loss_error)
            assert abs(Fraction(mass) / masses[sign] - 1) <= Fraction(pair.relative_error)


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match=r"^f=1.0 must be a finite number in \(0, 1\)\.$"):
        flipped_bit(1.0)
    with pytest.raises(ValueError, match=r"^q=0.5 must be above p=0.5\.$"):
        memoized_bit(0.5, 0.5, 0.5, 1)
    with pytest.raises(ValueError, match=r"^reports=0 must be an integer in \[1, inf\)\.$"):
        memoized_bit(0.5, 0.25, 0.5, 0)
