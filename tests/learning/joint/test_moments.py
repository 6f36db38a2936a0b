"""Vectors of users: never too long, read back without error, and no change of one user is above the account's curve."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpverify.learning.joint.moments import COUNT_WEIGHT, SECOND_WEIGHT, ClassMoments
from dpverify.planning.account import account
from protocols.bitsum import Poisson
from protocols.sums.vectors import UnaryVectorSum
from tests.samples import sphere


@pytest.mark.parametrize(("dimension", "second"), [(1, True), (2, True), (7, True), (90, True), (90, False)])
def test_vectors_keep_their_limits_and_sums_are_read_back(dimension: int, second: bool) -> None:
    made, rng = ClassMoments(3, dimension, second), np.random.default_rng(1)
    points = sphere(200, dimension, 2) * np.where(np.arange(200) < 100, 1.0, rng.random(200))[:, np.newaxis]
    points[:dimension] = made.turned(np.eye(dimension)[:200]).T[:, :dimension]  # those that clipping is for
    labels = rng.integers(0, 3, 200)
    vectors = made.vectors(points, labels)
    assert vectors.shape == (200, made.coordinates)
    assert np.linalg.norm(vectors, axis=1).max() <= 1.0 + 1e-12
    assert np.abs(vectors).max() <= made.clip / math.sqrt(made.coordinates) * (1.0 + 1e-12)
    assert np.abs(vectors).sum(axis=1).max() <= made.l1 * (1.0 + 1e-12)
    found, limit = made.moments(vectors.sum(axis=0), 200), min(1.0, 5.5 / math.sqrt(dimension))
    turned = np.clip(made.turned(points), -limit, limit)
    assert found.shares == pytest.approx(np.bincount(labels, minlength=3) / 200)
    np.testing.assert_allclose(found.sums, np.eye(3)[labels].T @ turned / 200, atol=1e-12)
    if second:
        np.testing.assert_allclose(found.second, turned.T @ turned / 200, atol=1e-12)
    else:
        assert found.second is None


def _divergences(before: np.ndarray, after: np.ndarray, mean: float, epsilons: np.ndarray) -> np.ndarray:
    """Return less than the divergences of all counts together: losses down to a grid, and convolved.

    Each count has Poisson noise on one user's part of it, a real number that is rounded at random.
    """
    step, size = 1e-3, 2**14
    support = np.arange(math.ceil(mean + 9 * math.sqrt(mean) + 12))

    def law(place: float) -> np.ndarray:
        below = stats.poisson.pmf(support - math.floor(place), mean)
        return below + (place - math.floor(place)) * (np.append(0.0, below[:-1]) - below)

    total, infinite = np.ones(size // 2 + 1, dtype=complex), 0.0
    for up, down in zip(before, after, strict=True):
        if up != down:
            p, q = law(up), law(down)
            infinite = 1.0 - (1.0 - infinite) * (1.0 - p[q == 0.0].sum())
            kept = (p > 1e-16) & (q > 0.0)
            places = np.floor(np.log(p[kept] / q[kept]) / step).astype(int)
            total *= np.fft.rfft(np.bincount(places % size, p[kept], size))
    masses = np.fft.irfft(total, size)
    losses = step * ((np.arange(size) + size // 2) % size - size // 2)
    return infinite + np.maximum(-np.expm1(epsilons[:, np.newaxis] - losses), 0.0) @ masses


def test_no_change_of_one_user_is_above_the_account() -> None:
    made, mean, epsilons = ClassMoments(2, 2, True), 40.0, np.array([0.5, 1.0])
    protocol = UnaryVectorSum(Poisson(4, mean), made.coordinates, 2.6, made.clip, l1=made.l1)
    angles = np.linspace(0.0, 2.0 * math.pi, 4, endpoint=False) + 0.1
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = np.concatenate([points, 0.4 * points[:1], np.zeros((1, 2))])
    held = [
        np.maximum(np.concatenate([v, -v]), 0.0)
        for label in (0, 1)
        for v in protocol.scaled(made.vectors(points, np.full(len(points), label)))
    ]
    upper = [account(protocol, epsilon=epsilon).delta.upper for epsilon in epsilons]
    # Of both directions; what the labels are called does not matter.
    pairs = itertools.permutations(held[:6], 2), itertools.product(held[:6], held[6:])
    found = np.array([_divergences(*pair, mean, epsilons) for pair in itertools.chain(*pairs)]).max(axis=0)
    assert (found <= upper).all()
    assert (found > 0.6 * np.array(upper)).all()  # vectors without a common coordinate would attain it
    # Were second moments not charged, these changes would break the bound.
    free = math.sqrt((1.0 + COUNT_WEIGHT**2) / (1.0 + COUNT_WEIGHT**2 + SECOND_WEIGHT**2))
    mutant = replace(protocol, scale=protocol.scale * free)
    assert (found > [account(mutant, epsilon=epsilon).delta.upper for epsilon in epsilons]).all()
