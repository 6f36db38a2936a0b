import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.guarantee import Interval
from dpverify.privacy_loss.shuffling.amplification import (
    Amplification,
    adaptive,
    approximate,
    clones,
    pure,
    randomized_response,
    reports,
    variation_ratio,
)
from tests.privacy_loss.shuffled_views import divergence, rationals

USERS = 4


def least_private(matrix: np.ndarray, users: int, epsilon: float) -> Fraction:
    """Return the largest divergence over all datasets and neighbours, by brute force."""
    laws = [rationals(row) for row in matrix]
    crowds = itertools.combinations_with_replacement(laws, users - 1)
    return max(
        divergence([first, *crowd], [second, *crowd], epsilon)
        for crowd in crowds
        for first, second in itertools.permutations(laws, 2)
    )


def private_matrix(rng: np.random.Generator, epsilon0: float, inputs: int, outputs: int) -> np.ndarray:
    """Return a mechanism whose rows have ratios within e^epsilon0, mostly at its ends, and add up to 1."""
    while True:
        low = rng.dirichlet(np.ones(outputs), 1)
        lifted = np.where(rng.random((inputs, outputs)) < 0.5, 1.0, math.exp(epsilon0 * rng.choice([1.0, 0.9])))
        rows = low * lifted
        rows /= rows.sum(axis=1, keepdims=True)
        ratio = (rows[:, None, :] / rows[None, :, :]).max()
        if 1.2 < ratio <= math.exp(epsilon0) * (1.0 - 1e-12):
            return np.asarray(rows)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_every_mechanism_of_the_class_is_covered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    epsilon0 = float(rng.choice([0.5, 1.5, 3.0]))
    matrix = private_matrix(rng, epsilon0, 3, 4) if seed else randomized_response(epsilon0, 3)
    for epsilon in (0.05, 0.3):
        truth = least_private(matrix, USERS, epsilon)
        assert truth <= pure(epsilon0, USERS).delta(epsilon).upper
        assert truth in reports(matrix, USERS).delta(epsilon)
        ratios = [np.max(matrix[x] / matrix[y]) for x, y in itertools.permutations(range(3), 2)]
        p, q = max(ratios), max(ratios)
        beta = max(0.5 * np.abs(matrix[x] - matrix[y]).sum() for x, y in itertools.combinations(range(3), 2))
        assert truth <= variation_ratio(p * (1 + 1e-9), beta, q * (1 + 1e-9), USERS).delta(epsilon).upper


def test_three_classes_attain_the_blanket() -> None:
    found = reports(randomized_response(4.0, 3), 10**5).epsilon(1e-6)
    assert found.width <= 2e-6 * found.upper


def test_every_mechanism_is_nearly_as_private_as_the_conjectured_clones() -> None:
    """Twice 1/(e^eps0 + 1) for e^-eps0 is what feldman2023 claims; the cells cost less than 1e-6 of epsilon."""
    epsilon0, users = 4.0, 10**5
    found = pure(epsilon0, users).epsilon(1e-6)
    conjectured = reports(randomized_response(epsilon0, 2), users).covers[0][0].epsilon(1e-6)
    assert conjectured.lower <= found.upper <= conjectured.upper * (1.0 + 1e-6)
    assert found.lower > 0.99 * found.upper
    # Users who adapt have the clones that any order leaves.
    ordered = clones(epsilon0, users).epsilon(1e-6)
    assert found.upper < 0.7 * ordered.lower
    assert adaptive(epsilon0, users).epsilon(1e-6) == Interval(found.lower, ordered.upper)


def attaining(p: float, alpha: float, q: float) -> tuple[list[float], list[float], list[float]]:
    """Return the three laws of reports that such a mechanism may have, one of them of others only."""
    rest = 1.0 - (p + 1.0) * alpha
    others = [alpha * p / q, alpha * p / q, rest / q]
    return [p * alpha, alpha, rest, 0.0], [alpha, p * alpha, rest, 0.0], [*others, 1.0 - sum(others)]


def two_counts(p: float, alpha: float, q: float) -> tuple[list[float], list[float], list[float]]:
    """Return the same with the third report taken for one of the others': the published reduction."""
    first, second, others = attaining(p, alpha, q)
    return [*first[:2], first[2]], [*second[:2], second[2]], [*others[:2], others[2] + others[3]]


@pytest.mark.parametrize(("p", "share", "q"), [(4.0, 0.5, 4.0), (20.0, 0.02, 20.0), (3.0, 0.9, 6.0)])
def test_the_ratios_are_attained(p: float, share: float, q: float) -> None:
    first, second, others = map(rationals, attaining(p, share / (p + 1.0), q))
    found = variation_ratio(p, share / (p + 1.0) * (p - 1.0), q, USERS)
    for epsilon in (0.0, 0.3):
        truth = divergence([first, *[others] * (USERS - 1)], [second, *[others] * (USERS - 1)], epsilon)
        assert truth <= Fraction(found.delta(epsilon).upper) * (1 + Fraction(1, 10**9))
        assert truth >= Fraction(found.delta(epsilon).lower) * (1 - Fraction(1, 10**9))


def test_the_published_reduction_to_two_counts_is_no_bound() -> None:
    p, share, q, epsilon = 20.0, 0.02, 20.0, 2.4
    truth, claimed = (
        divergence([first, *[others] * 8], [second, *[others] * 8], epsilon)
        for first, second, others in (
            tuple(map(rationals, laws(p, share / (p + 1.0), q))) for laws in (attaining, two_counts)
        )
    )
    assert truth > 10**6 * claimed
    assert variation_ratio(p, share / (p + 1.0) * (p - 1.0), q, 9).delta(epsilon).upper >= float(truth)


@pytest.mark.parametrize("delta0", [1e-3, 1e-2])
def test_approximate_mechanisms_are_covered(delta0: float) -> None:
    epsilon0 = 1.0
    base = randomized_response(epsilon0, 2) * (1.0 - delta0)
    # With probability delta0 the input itself is told.
    matrix = np.hstack([base, delta0 * np.eye(2)])
    found = approximate(epsilon0, delta0, USERS)
    for epsilon in (0.1, 0.5):
        assert least_private(matrix, USERS, epsilon) <= found.delta(epsilon).upper
    assert approximate(epsilon0, 0.0, USERS).delta(0.1) == pure(epsilon0, USERS).delta(0.1)


def test_the_approximate_bound_is_inverted_with_what_it_adds() -> None:
    found = approximate(4.0, 1e-12, 10**5)
    epsilon = found.epsilon(1e-6).upper
    assert found.delta(epsilon).upper <= 1e-6 < found.delta(epsilon * (1.0 - 1e-6)).upper
    assert found.epsilon(1e-13).upper == math.inf


def test_smaller_distances_are_covered_by_larger_ones() -> None:
    p, users, epsilon = 20.0, 9, 2.4
    above = variation_ratio(p, 0.6 / (p + 1.0) * (p - 1.0), p, users).delta(epsilon).upper
    for share in (0.02, 0.3, 0.5999):
        assert variation_ratio(p, share / (p + 1.0) * (p - 1.0), p, users).attained[0].delta(epsilon).lower <= above


@pytest.mark.parametrize("made", [pure(2.0, 50), reports(randomized_response(2.0, 5), 50)], ids=["any", "5-rr"])
def test_the_ends_of_the_curve(made: Amplification) -> None:
    assert 2.0 in made.epsilon(0.0) or made.epsilon(0.0).upper == pytest.approx(2.0)
    assert made.delta(2.1).upper == 0.0
    assert made.delta(0.0).lower <= made.delta(0.0).upper <= 1.0


def test_the_band_of_indices_collapses_from_three_classes_on() -> None:
    for classes in (3, 5, 50):
        band = reports(randomized_response(2.0, classes), 100).index
        assert band.width <= 1e-12 * band.upper
    two = reports(randomized_response(2.0, 2), 100).index
    assert two.width > 0.1 * two.upper


def test_bad_arguments_are_told() -> None:
    with pytest.raises(ValueError, match=r"epsilon0=0\.0 must be"):
        pure(0.0, 10)
    with pytest.raises(ValueError, match="users=0 must"):
        pure(1.0, 0)
    with pytest.raises(ValueError, match=r"delta0=1\.0 must"):
        approximate(1.0, 1.0, 10)
    with pytest.raises(ValueError, match=r"total_variation=0\.9 must"):
        variation_ratio(3.0, 0.9, 3.0, 10)
    with pytest.raises(ValueError, match=r"blanket_ratio=1\.0 must be at least 2 p beta"):
        variation_ratio(3.0, 0.5, 1.0, 10)
    with pytest.raises(ValueError, match="adds up to"):
        reports(np.array([[0.5, 0.4], [0.5, 0.5]]), 10)
    with pytest.raises(ValueError, match="no report that all inputs make"):
        reports(np.eye(2), 10)
    with pytest.raises(ValueError, match="nothing to hide"):
        reports(np.full((2, 2), 0.5), 10)


@pytest.mark.parametrize("users", [2, 5])
def test_a_report_that_others_always_make(users: int) -> None:
    """One input is always reported as it is: the others' report is a constant where all hold it."""
    matrix = np.array([[0.0, 1.0], [0.75, 0.25]])
    found = reports(matrix, users)
    for epsilon in (0.0, 0.5):
        crowds = [[rationals(matrix[z])] * (users - 1) for z in (0, 1)]
        for x, y in ((0, 1), (1, 0)):
            worst = max(
                divergence([rationals(matrix[x]), *crowd], [rationals(matrix[y]), *crowd], epsilon) for crowd in crowds
            )
            assert worst <= found.delta(epsilon).upper


def test_what_is_not_listed_and_what_delta0_allows_count_as_seen() -> None:
    """Alone, a report that only one input has tells her input whatever epsilon is."""
    listed = np.array([[0.59, 0.4], [0.4, 0.59]])
    assert reports(listed, 1, outside=0.01).delta(3.0).upper >= 0.01
    assert approximate(1.0, 0.01, 1).delta(2.0).upper >= 0.01


@pytest.mark.parametrize("own", [0.3, 0.05])
def test_labels_are_seen_as_three_of_them(own: float) -> None:
    # A thousand labels have a million pairs, all alike: seven rounds took minutes.
    matrix = np.full((6, 6), (1.0 - own) / 5.0)
    np.fill_diagonal(matrix, own)
    quick, whole = reports(matrix, 30), reports(matrix[:, ::-1].copy(), 30)
    assert max(pair.others.size for cover in quick.covers for pair in cover) <= 4
    assert quick.largest == pytest.approx(whole.largest, rel=1e-14)
    for epsilon in (0.0, 0.1, 0.4):
        found, wanted = quick.delta(epsilon), whole.delta(epsilon)
        assert (found.lower, found.upper) == pytest.approx((wanted.lower, wanted.upper), rel=1e-9)
