"""Sums of vectors by signed unary messages: messages and views have one law, and the estimate is of the sum."""

import math
import random

import numpy as np
import pytest

from protocols.bitsum import NegativeBinomial, Poisson
from protocols.bitsum.negative_binomial import Estimate
from protocols.sums.vectors import UnaryVectorSum
from tests.samples import assert_mean, assert_same_law, rows, sphere

SMALL = UnaryVectorSum(Poisson(3, 0.6), dimension=2, scale=1.7, clip=1.2)


@pytest.mark.long
def test_messages_and_views_have_one_law() -> None:
    vectors, rng, entropy = sphere(3, 2, 1), np.random.default_rng(5), random.Random(5)
    sent = [SMALL.randomize(vectors, rng) for _ in range(3000)]
    by_messages = [SMALL.view(each.symbols).ravel() for each in sent]
    assert_same_law(
        rows(np.array(by_messages)), rows(np.array([SMALL.sample_view(vectors, rng).ravel() for _ in sent]))
    )
    real = [SMALL.view([m for each in vectors for m in SMALL.report(each, entropy)]).ravel() for _ in range(1500)]
    assert_same_law(rows(np.array(by_messages)), rows(np.array(real)))
    assert_mean(np.array([each.per_user(3) for each in sent]), np.abs(SMALL.scaled(vectors)).sum(axis=1) + 4 * 0.2)


@pytest.mark.parametrize("noise", [Poisson(40, 30.0), NegativeBinomial(40, 20.0, 0.6)])
def test_the_estimate_is_unbiased(noise: Poisson) -> None:
    protocol, vectors, rng = UnaryVectorSum(noise, 3, 2.3), 0.8 * sphere(40, 3, 2), np.random.default_rng(6)
    assert_mean(
        np.array([protocol.analyze(protocol.sample_view(vectors, rng)) for _ in range(2000)]), vectors.sum(axis=0)
    )
    assert protocol.run(vectors[:7], rng, participants=7).shape == (3,)
    assert protocol.with_users(20).noise == noise.with_users(20)


def test_no_vector_is_longer_than_it_may_be() -> None:
    protocol = UnaryVectorSum(Poisson(400, 1.0), 5, 3.0)
    vectors = np.nextafter(1.0, 2.0) * sphere(400, 5, 3)
    assert (np.linalg.norm(protocol.scaled(vectors), axis=1) < 3.0).all()
    np.testing.assert_allclose(protocol.scaled(vectors) @ protocol.rotation, 3.0 * vectors, rtol=1e-9)
    # What is clipped is the only thing that is taken away.
    assert np.abs(SMALL.scaled(sphere(400, 2, 4))).max() == pytest.approx(1.7 * 1.2 / np.sqrt(2.0))
    assert SMALL.largest == pytest.approx(1.7 * 1.2 / np.sqrt(2.0))


def test_arguments_out_of_range() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"vectors\[1\] has norm 1.5, but must have one in \[0, 1\]"):
        SMALL.randomize([[1.0, 0.0], [0.0, 1.5]], rng)
    with pytest.raises(ValueError, match=r"vectors\[0\] has norm 1.5, but must have one in \[0, 1\]"):
        SMALL.report([0.0, 1.5])
    with pytest.raises(ValueError, match="vectors holds 4 users, but must hold at most users=3"):
        SMALL.sample_view(np.zeros((4, 2)), rng)
    with pytest.raises(ValueError, match=r"symbols contains \[2, 0\], but must hold rows"):
        SMALL.view([[0, 1], [2, 0]])
    for view in (np.zeros((2, 3), dtype=int), [[0, -1], [0, 0]]):
        with pytest.raises(ValueError, match="view has shape"):
            SMALL.analyze(view)
    with pytest.raises(TypeError, match="must hold integers"):
        SMALL.analyze(np.zeros((2, 2)))
    with pytest.raises(TypeError, match="must be Poisson or NegativeBinomial, with the estimate debiased"):
        UnaryVectorSum(Poisson(3, 0.6, estimate=Estimate.OVER), 2, 1.0)


def test_even_vectors_need_no_rotation() -> None:
    protocol = UnaryVectorSum(Poisson(300, 50.0), 4, 3.0, clip=1.2, l1=1.5)
    vectors = np.tile([0.6, -0.5, 0.0, 0.3], (300, 1))
    np.testing.assert_allclose(protocol.scaled(vectors), 3.0 * vectors, rtol=1e-11)
    views = [protocol.sample_view(vectors, np.random.default_rng(seed)) for seed in range(60)]
    errors = np.array([protocol.analyze(view) for view in views]) - vectors.sum(axis=0)
    assert np.abs(errors.mean(axis=0)).max() < 6.0 * math.sqrt((100 + 75) / 9 / 60)
    assert np.mean(errors[:, 2] ** 2) == pytest.approx(100 / 9, abs=6.0 * math.sqrt(2 / 60) * 100 / 9)
    with pytest.raises(ValueError, match=r"^vectors\[1\] has a coordinate of size 0.7, but must have at most 0.6\.$"):
        protocol.scaled([[0.1, 0, 0, 0], [0.7, 0, 0, 0]])
    with pytest.raises(ValueError, match=r"^vectors\[0\] has sizes that add up to 1.9, but must have at most 1.5\.$"):
        protocol.scaled([[0.5, 0.5, 0.5, 0.4]])
    with pytest.raises(ValueError, match=r"^l1=1\.5 must be None for a rotation"):
        _ = protocol.rotation
