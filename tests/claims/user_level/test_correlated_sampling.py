"""The exact probability that shared clocks disagree, against rational arithmetic, simulation and the bound."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpverify.claims.user_level.correlated_sampling import disagreement, disagreement_bound, total_variation
from protocols.user_level.correlated_sampling import CorrelatedSampler

laws = st.integers(1, 5).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(0, 20), min_size=size, max_size=size).filter(any) for _ in range(2)])
)


def exact(first: list[Fraction], second: list[Fraction]) -> Fraction:
    """Add up, outcome by outcome, the integrals of the module's proof, over when the clocks stop in each order."""
    agree = Fraction(0)
    for w, (p, q) in enumerate(zip(first, second, strict=True)):
        if p and q:
            # E_w ~ Exp(1) and all other clocks are later than E_w max(P(x)/P(w), Q(x)/Q(w)).
            others = [max(a / p, b / q) for x, (a, b) in enumerate(zip(first, second, strict=True)) if x != w]
            agree += 1 / (1 + sum(others))
    return 1 - agree


def fractions(weights: list[int]) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


@given(laws)
def test_the_vectorised_formula_is_the_exact_one(pair: tuple[list[int], list[int]]) -> None:
    first, second = map(fractions, pair)
    found = float(disagreement([float(p) for p in first], [float(q) for q in second]))
    assert found == pytest.approx(float(exact(first, second)), abs=1e-14)


@given(laws)
def test_the_guarantee_holds_exactly(pair: tuple[list[int], list[int]]) -> None:
    first, second = map(fractions, pair)
    distance = sum(abs(p - q) for p, q in zip(first, second, strict=True)) / 2
    found = exact(first, second)
    # No coupling does better than d; ours is within 2 d / (1 + d), which is below the theorem's 2 d.
    assert distance <= found <= 2 * distance / (1 + distance)
    assert float(total_variation([float(p) for p in first], [float(q) for q in second])) == pytest.approx(
        float(distance), abs=1e-14
    )
    if len(first) == 2:
        assert found == distance


def test_the_bound_is_attained_by_overlapping_sets() -> None:
    first, second = fractions([1, 1, 1, 0, 0]), fractions([0, 0, 1, 1, 1])
    assert exact(first, second) == Fraction(4, 5)
    assert disagreement_bound(2 / 3) == pytest.approx(0.8)
    assert disagreement([1, 0], [0, 1]) == 1.0 == disagreement_bound(1.0)


@pytest.mark.parametrize("pair", list(itertools.combinations([(0.5, 0.3, 0.2), (0.2, 0.3, 0.5), (0.0, 0.9, 0.1)], 2)))
def test_samplers_disagree_as_often_as_that(pair: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    rng, trials = np.random.default_rng(7), 20_000
    gumbels = rng.gumbel(size=(trials, 3))
    with np.errstate(divide="ignore"):
        drawn = [np.argmax(np.log(law) + gumbels, axis=1) for law in pair]
    one = CorrelatedSampler(gumbels[0])
    assert [int(one.sample(law)) for law in pair] == [int(column[0]) for column in drawn]
    differ = int((drawn[0] != drawn[1]).sum())
    assert stats.binomtest(differ, trials, float(disagreement(*pair))).pvalue > 1e-6


def test_laws_are_checked() -> None:
    for wrong in ([0.5, 0.6], [-0.5, 1.5], [], [np.nan, 1.0]):
        with pytest.raises(ValueError, match=r"^first .*must "):
            disagreement(wrong, [0.5, 0.5])
    with pytest.raises(ValueError, match=r"^distance=1\.5 must be"):
        disagreement_bound(1.5)
