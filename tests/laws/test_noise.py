"""Laws against other formulas: rational arithmetic, incomplete beta and gamma functions in Arb, and direct sums."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.laws.noise import binomial, discrete_gaussian, discrete_laplace, negative_binomial, poisson, skellam
from dpverify.laws.window import IntegerLaw

BITS = 300
TAILS = st.sampled_from([1e-3, 1e-12, 1e-60, 1e-200, 1e-290])
PROBABILITIES = st.one_of(st.floats(1e-12, 1.0, exclude_max=True), st.sampled_from([1e-300, 1e-9, 0.5, 1 - 1e-9]))


def probe(law: IntegerLaw) -> list[int]:
    """Some thirty atoms, with the window's ends and the places around the anchors among them."""
    size = law.pmf.size
    spread = np.linspace(0, size - 1, 20).astype(int).tolist()
    return sorted({i for i in [*spread, 1, 126, 127, 128, 129, 255, 256] if i < size})


def check(
    law: IntegerLaw,
    tail: float,
    pmf: Callable[[int], arb],
    below: Callable[[int], arb] | None = None,
    above: Callable[[int], arb] | None = None,
    lowest: int | None = 0,
    highest: int | None = None,
) -> None:
    """Compare the atoms with `pmf`, and the tails with `below(k) = P(X < k)` and `above(k) = P(X >= k)`, in Arb.

    Without `below` or `above`, the sum of the 300 nearest atoms outside takes their place.
    """
    assert law.relative_error <= 1e-12
    for i in probe(law):
        error = abs(arb(float(law.pmf[i])) / pmf(law.start + i) - 1)
        assert error <= law.relative_error, (law.start + i, error)
    assert law.pmf.min() >= 1e-300
    if below is None:
        down = range(law.start - 1, law.start - 301 if lowest is None else max(lowest - 1, law.start - 301), -1)
        below = lambda k: sum((pmf(z) for z in down), arb(0))  # noqa: E731
    if above is None:
        up = range(law.stop, law.stop + 300 if highest is None else min(highest + 1, law.stop + 300))
        above = lambda k: sum((pmf(z) for z in up), arb(0))  # noqa: E731
    for truth, bound in ((below(law.start), law.tail_below), (above(law.stop), law.tail_above)):
        assert truth <= bound <= tail * (1 + 1e-15)
    outside = law.tail_below + law.tail_above
    rounding = law.relative_error + 1e-13  # of the sum
    assert -outside - rounding <= law.pmf.sum() - 1 <= rounding


@pytest.fixture(autouse=True)
def precision():
    with ctx.workprec(BITS):
        yield


def regularised_beta(a: arb, b: arb, x: arb) -> arb:
    return arb(x).beta_lower(a, b, regularized=True)


def binomial_pmf(n: int, p: float) -> Callable[[int], arb]:
    """C(n, k) p^k (1-p)^(n-k) with the exact coefficient, or its logarithm to 300 bits where that is too large."""
    q = arb(p)
    if n < 10**6:
        return lambda k: arb(n).bin(k) * q**k * (1 - q) ** (n - k)
    log_all = arb(n + 1).lgamma()
    return lambda k: (
        log_all - arb(k + 1).lgamma() - arb(n - k + 1).lgamma() + k * q.log() + (n - k) * (1 - q).log()
    ).exp()


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 5000), p=PROBABILITIES, tail=TAILS)
def test_binomial_has_the_proved_accuracy(n, p, tail):
    with ctx.workprec(BITS):
        check(
            binomial(n, p, tail),
            tail,
            binomial_pmf(n, p),
            lambda k: regularised_beta(n - k + 1, k, 1 - arb(p)) if k > 0 else arb(0),
            lambda k: regularised_beta(k, n - k + 1, p) if k <= n else arb(0),
        )


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (10**9, 0.1), (10**9, 1 - 1e-8), (10**9, 3e-9), (2**53 - 1, 1e-11)])
def test_binomial_at_the_edges(n, p):
    check(binomial(n, p, 1e-40), 1e-40, binomial_pmf(n, p), highest=n)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(0, 40), p=st.floats(0.0, 1.0))
def test_binomial_in_rational_arithmetic(n, p):
    law, exact = binomial(n, p), Fraction(p)
    truth = {k: math.comb(n, k) * exact**k * (1 - exact) ** (n - k) for k in range(n + 1)}
    for k, value in zip(law.support.tolist(), law.pmf.tolist(), strict=True):
        assert abs(Fraction(value) - truth[k]) <= Fraction(law.relative_error) * truth[k]
    assert sum(truth[k] for k in truth if k < law.start) <= Fraction(law.tail_below)
    assert sum(truth[k] for k in truth if k >= law.stop) <= Fraction(law.tail_above)


def negative_binomial_pmf(r: float, p: float) -> Callable[[int], arb]:
    """The pmf with the rising factorial r (r+1) ... (r+z-1), or logarithms to 300 bits where that is too large."""
    shape, q = arb(r), arb(p)
    zero = (1 - q) ** shape
    if r < 1e4:
        return lambda z: shape.rising(z) * arb(z + 1).rgamma() * zero * q**z
    return lambda z: ((z + shape).lgamma() - arb(z + 1).lgamma() - shape.lgamma() + z * q.log()).exp() * zero


@settings(max_examples=25, deadline=None)
@given(r=st.one_of(st.floats(1e-3, 300.0), st.sampled_from([1.0, 1e-12])), p=st.floats(1e-9, 0.99), tail=TAILS)
def test_negative_binomial_has_the_proved_accuracy(r, p, tail):
    with ctx.workprec(BITS):
        check(
            negative_binomial(r, p, tail),
            tail,
            negative_binomial_pmf(r, p),
            lambda z: regularised_beta(r, z, 1 - arb(p)) if z > 0 else arb(0),
            lambda z: regularised_beta(z, r, p),
        )


@pytest.mark.parametrize(
    ("r", "p"), [(1e-3, 0.999), (1e6, 0.9), (1e6, 1e-6), (1.0, 0.9999), (0.5, 0.999), (1e12, 1e-12), (3.0, 1e-300)]
)
def test_negative_binomial_at_the_edges(r, p):
    check(negative_binomial(r, p, 1e-40), 1e-40, negative_binomial_pmf(r, p))


@settings(max_examples=25, deadline=None)
@given(mean=st.one_of(st.floats(1e-12, 5000.0), st.sampled_from([1e-300, 1.0])), tail=TAILS)
def test_poisson_has_the_proved_accuracy(mean, tail):
    with ctx.workprec(BITS):
        rate = arb(mean)
        check(poisson(mean, tail), tail, lambda k: (-rate).exp() * rate**k * arb(k + 1).rgamma())


@settings(max_examples=25, deadline=None)
@given(epsilon=st.one_of(st.floats(1e-3, 20.0), st.sampled_from([1e-4, 700.0, 1e9])), tail=TAILS)
def test_discrete_laplace_has_the_proved_accuracy(epsilon, tail):
    with ctx.workprec(BITS):
        q = (-arb(epsilon)).exp()
        law = discrete_laplace(epsilon, tail)
        assert law.start == 1 - law.stop

        def above(z):
            return q**z / (1 + q)

        check(law, tail, lambda z: (1 - q) / (1 + q) * q ** abs(z), lambda z: above(1 - z), above)


@settings(max_examples=25, deadline=None)
@given(sigma=st.one_of(st.floats(0.05, 60.0), st.sampled_from([0.01, 0.1, 0.3989])), tail=TAILS)
def test_discrete_gaussian_has_the_proved_accuracy(sigma, tail):
    with ctx.workprec(BITS):
        weight = [(-(arb(z) ** 2) / (2 * arb(sigma) ** 2)).exp() for z in range(int(sigma * 40) + 2)]
        missing = weight[-1] / (1 - weight[-1] / weight[-2])
        total = weight[0] + 2 * sum(weight[1:], arb(0)) + (2 * missing).union(arb(0))
        law = discrete_gaussian(sigma, tail)
        assert law.start == 1 - law.stop
        check(law, tail, lambda z: (-(arb(z) ** 2) / (2 * arb(sigma) ** 2)).exp() / total, lowest=None)


def test_wide_discrete_gaussian_is_normalised_by_poisson_summation():
    sigma = 1e5
    total = (2 * arb.pi()).sqrt() * arb(sigma)  # theta's next term is e^(-2 pi^2 1e10)
    law = discrete_gaussian(sigma, 1e-40)
    check(law, 1e-40, lambda z: (-(arb(z) ** 2) / (2 * arb(sigma) ** 2)).exp() / total, lowest=None)


@pytest.mark.parametrize(
    ("sigma", "tail", "beyond"), [(0.001, 1e-3, 0), (0.3, 1e-60, 3), (3.0, 1e-12, 0), (3.0, 0.4, 5), (40.0, 1e-200, 2)]
)
def test_skellam_has_the_proved_accuracy(sigma, tail, beyond):
    law = skellam(sigma, tail, beyond=beyond)
    assert law.start == 1 - law.stop
    v, far = arb(sigma) ** 2, law.stop + 40
    truth = {far + 1: v.bessel_i(arb(far + 1), scaled=True), far: v.bessel_i(arb(far), scaled=True)}
    for k in range(far, 0, -1):
        truth[k - 1] = truth[k + 1] + 2 * k / v * truth[k]
    assert truth[0].overlaps(v.bessel_i(arb(0), scaled=True))
    outside = sum((truth[k] for k in range(law.stop, far)), arb(0))
    check(law, tail, lambda z: truth[abs(z)], lambda _: outside, lambda _: outside, lowest=None)
    narrow = skellam(sigma, tail)
    assert narrow.stop + beyond == law.stop
    if narrow.stop > 1:  # Chernoff's bound, and not much more
        assert sum((truth[k] for k in range(narrow.stop - 1, far)), arb(0)) > 1e-3 * tail


def test_skellam_is_the_difference_of_two_poisson_numbers():
    law, one = skellam(3.0, 1e-30), poisson(4.5, 1e-40)
    padded = np.append(np.zeros(one.start), one.pmf)
    for z, mass in zip(law.support[law.support >= 0][:20].tolist(), law.pmf[law.support >= 0][:20], strict=True):
        assert abs(float(padded[z:] @ padded[: padded.size - z]) / mass - 1.0) < 1e-13


def test_a_discrete_gaussian_is_listed_beyond_its_window():
    law, wider = discrete_gaussian(3.0, 1e-20), discrete_gaussian(3.0, 1e-20, beyond=4)
    assert wider.stop == law.stop + 4 == 1 - wider.start
    assert (wider.pmf[4:-4] == law.pmf).all()
    assert wider.tail_above < law.tail_above


@pytest.mark.parametrize(
    "law",
    [binomial(0, 0.3), binomial(5, 0.0), binomial(7, 1.0), negative_binomial(2.0, 0.0), poisson(0.0)],
)
def test_degenerate_laws_are_point_masses(law):
    assert law.pmf.tolist() == [1.0]
    assert law.start in (0, 7)
    assert (law.relative_error, law.tail_below, law.tail_above) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: binomial(5, 1.5), r"p=1.5 must be"),
        (lambda: binomial(-1, 0.5), r"trials=-1 must be"),
        (lambda: negative_binomial(0.0, 0.5), r"shape=0.0 must be"),
        (lambda: negative_binomial(1.0, 1.0), r"p=1.0 must be"),
        (lambda: poisson(math.inf), r"mean=inf must be"),
        (lambda: discrete_laplace(1e-300), r"epsilon=1e-300 must be"),
        (lambda: discrete_gaussian(1e-30), r"sigma=1e-30 must be"),
        (lambda: skellam(0.0), r"sigma=0.0 must be"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
