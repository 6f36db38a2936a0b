"""Pairs of laws whose probabilities are off by as much as they say, or whose windows lack much: the divergence stays.

At a relative error of 1e-13 and tails of 1e-40 no charge for either shows. Here both are per cents, and the interval
must meet that of the same pair from exact laws.
"""

import functools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.guarantee import Interval
from dpverify.laws import noise as laws
from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.losses import pairs
from dpverify.privacy_loss.losses.blanket import report_in_blanket, report_in_view
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import two_valued

EPSILONS = (-30.0, -1.0, -0.3, 0.0, 0.1, 0.4, 0.9, 1.5, 2.5)
STATED, REAL = 0.01, 0.0098
"""The bounds are of first order: a product of three laws that are off by the one is off by three times the other."""
TAILS = (1e-30, 1e-3, 0.03)
Builder = Callable[[float], tuple[PrivacyLossDistribution, ...]]
BUILDERS: dict[str, Builder] = {
    "negative binomial": lambda tail: pairs.negative_binomial(5.0, 0.7, tail),
    "poisson": lambda tail: pairs.poisson(6.0, tail),
    "discrete gaussian": lambda tail: pairs.discrete_gaussian(1.5, tail),
    "randomized response": lambda tail: pairs.binomial_randomized_response(9, 0.2, tail),
    "reports of zeros": lambda tail: pairs.mixed_reports(7, 0, 0.02, tail),
    "mixed reports": lambda tail: pairs.mixed_reports(9, 3, 0.2, tail),
    "mixed reports and coins": lambda tail: pairs.mixed_reports(9, 2, 0.2, tail, coins=3),
    "3nb": lambda tail: pairs.three_nb(0.6, 3.0, 0.7, tail),
    "3nb far from zero": lambda tail: pairs.three_nb(0.3, 40.0, 0.7, tail),
    "report in a blanket": lambda tail: (report_in_blanket(12, 0.5, 0.6, 0.1, tail),),
    "report in a view": lambda tail: (report_in_view(12, 0.5, 0.6, 0.1, tail),),
}
PATTERNS: dict[str, Callable[[NDArray[np.int64]], NDArray[np.float64]]] = {
    "too small": lambda k: -np.ones(k.size),
    "too large": lambda k: np.ones(k.size),
    "rising": lambda k: np.linspace(-1.0, 1.0, k.size),
    "alternating": lambda k: np.where(k % 2 == 0, 1.0, -1.0),
}


@functools.cache
def exact(name: str) -> list[list[tuple[float, Interval]]]:
    """The divergences of exact laws: also next to the largest loss, where an error of the loss is all there is."""
    return [
        [
            (epsilon, pair.delta(float(epsilon)))
            for epsilon in (*EPSILONS, pair.losses[-1] - 0.004, pair.losses[-1] + 0.004)
        ]
        for pair in BUILDERS[name](1e-60)
    ]


def check(name: str, tail: float) -> None:
    for pair, intervals in zip(BUILDERS[name](tail), exact(name), strict=True):
        for epsilon, truth in intervals:
            found = pair.delta(epsilon)
            assert found.lower <= truth.upper, epsilon
            assert truth.lower <= found.upper, epsilon


@pytest.mark.parametrize("name", BUILDERS)
def test_what_the_window_lacks_is_charged(name: str) -> None:
    for tail in TAILS:
        check(name, tail)


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_errors_of_the_law_are_charged(monkeypatch: pytest.MonkeyPatch, name: str, pattern: str) -> None:
    exact(name)
    for law in ("binomial", "negative_binomial", "poisson", "discrete_gaussian"):
        monkeypatch.setattr(laws, law, wrong(getattr(laws, law), pattern))
    for tail in (1e-30, 0.03):
        check(name, tail)


def wrong(law: Callable[..., IntegerLaw], pattern: str) -> Callable[..., IntegerLaw]:
    """Return a builder of laws that state, and have, a relative error of a per cent."""

    def build(*arguments: float, **limits: int) -> IntegerLaw:
        made = law(*arguments, **limits)
        if made.pmf.size == 1:
            return made
        factor = (1.0 + REAL) ** PATTERNS[pattern](made.support)
        return IntegerLaw(made.start, made.pmf * factor, made.relative_error + STATED, made.tail_below, made.tail_above)

    return build


@pytest.mark.parametrize("end", [0.9, 1.0, 1.1])
def test_a_pure_mechanism_of_uncertain_loss_is_covered(end: float) -> None:
    found = two_valued(Interval(0.9, 1.1))
    for epsilon in EPSILONS:
        truth = pairs.approximate_dp(end, 0.0).delta(epsilon)
        assert found.delta(epsilon).lower <= truth.upper
        assert truth.lower <= found.delta(epsilon).upper


@pytest.mark.parametrize("coins", [3, 4, -1])
def test_the_user_under_attack_is_no_coin(coins: int) -> None:
    with pytest.raises(ValueError, match=rf"^coins={coins} must be an integer in \[0, 2\]"):
        pairs.mixed_reports(3, 0, 0.1, coins=coins)
