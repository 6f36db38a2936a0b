"""Sums of vectors: what an account covers, and what a simulation shows of error and messages."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpverify.changes import Full
from dpverify.claims.bitsum.baselines import least_sigma
from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.sums.vectors import bits_of_message
from dpverify.guarantee import ThreatModel
from dpverify.planning.account import account
from protocols.bitsum import NegativeBinomial, Poisson
from protocols.sums.vectors import UnaryVectorSum
from tests.samples import assert_law, sphere

PROTOCOL = UnaryVectorSum(Poisson(10_000, 2633.0), 384, 8.6)
CLAIMS = mechanism_claims_of(PROTOCOL)


def test_the_error_is_next_to_a_curators() -> None:
    found = account(PROTOCOL, delta=1e-6)
    assert 1.003 < found.epsilon.lower < found.epsilon.upper < 1.008
    assert found.parameters["noise"] == {"name": "poisson", "mean": 2633.0}
    curator = 2.0 * least_sigma(found.epsilon.upper, 1e-6) * math.sqrt(384)
    assert CLAIMS.rmse(PROTOCOL) < 1.16 * curator


def test_runs_add_up() -> None:
    small = UnaryVectorSum(Poisson(100, 400.0), 64, 2.0)
    twice = CLAIMS.curve(small, Full(2), ThreatModel.COMMUNICATION)
    one = CLAIMS.curve(
        UnaryVectorSum(Poisson(100, 400.0), 128, 2.0 * math.sqrt(2.0)), Full(1), ThreatModel.COMMUNICATION
    )
    assert twice.epsilon(1e-6).upper == pytest.approx(one.epsilon(1e-6).upper, rel=1e-9)
    with pytest.raises(ValueError, match="squared_change"):
        account(small, instances=2, squared_change=1.0, delta=1e-6)


def test_half_the_users_are_half_the_noise() -> None:
    half = account(PROTOCOL, delta=1e-6, honest=5_000)
    assert half.epsilon.upper == account(replace(PROTOCOL, noise=Poisson(5_000, 1316.5)), delta=1e-6).epsilon.upper


def test_what_is_clipped_in_the_plane() -> None:
    # A coordinate is a cosine of a uniform angle, whose own density is infinite at 1.
    clipped = CLAIMS.squared_errors(UnaryVectorSum(Poisson(1, 1.0), 2, 1.0, clip=1.0)).clipping
    assert clipped == pytest.approx(1.0 - 3.0 / math.pi, rel=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("noise", [Poisson(400, 60.0), NegativeBinomial(400, 30.0, 0.7)])
@pytest.mark.parametrize(("dimension", "clip"), [(1, 1.0), (2, 1.1), (7, 1.6), (48, 2.5)])
def test_simulated_errors_and_messages(noise: Poisson, dimension: int, clip: float) -> None:
    rng, vectors, squares, sent = np.random.default_rng(9), np.zeros((400, dimension)), [], []
    parts = []
    for seed in range(300):
        protocol = UnaryVectorSum(noise, dimension, 2.6, clip, seed)
        vectors[:] = sphere(400, dimension, 1)[:1]
        estimate = protocol.analyze(protocol.sample_view(vectors, rng))
        squares.append(float(np.sum((estimate - vectors.sum(axis=0)) ** 2)))
        sent.append(float(np.abs(protocol.scaled(vectors[:1])).sum()) + 2 * dimension * noise.noise_mean / 400)
        parts.append(float(np.sum((protocol.scaled(vectors[:1]) / 2.6 @ protocol.rotation - vectors[0]) ** 2)) * 400**2)
    errors = CLAIMS.squared_errors(protocol)
    assert np.mean(squares) == pytest.approx(sum(errors), abs=5.0 * np.std(squares) / math.sqrt(300))
    assert np.mean(parts) == pytest.approx(errors.clipping, abs=5.0 * np.std(parts) / math.sqrt(300) + 1e-9)
    assert np.mean(sent) <= CLAIMS.messages_per_user(protocol) + 5.0 * np.std(sent) / math.sqrt(300) + 1e-9
    assert (
        CLAIMS.bytes_per_user(protocol) == CLAIMS.messages_per_user(protocol) * {1: 1, 2: 2, 7: 4, 48: 7}[dimension] / 8
    )


@pytest.mark.long
def test_counts_and_differences_have_their_laws() -> None:
    protocol, rng = UnaryVectorSum(NegativeBinomial(3, 2.0, 0.4), 2, 1.7), np.random.default_rng(6)
    vectors = sphere(3, 2, 1)
    places = protocol.scaled(vectors)
    views = np.array([protocol.sample_view(vectors, rng) for _ in range(20_000)])
    for j in range(2):
        listed = {(0, 1): CLAIMS.difference_law(protocol, places[:, j])}
        listed |= {(k,): CLAIMS.count_law(protocol, np.maximum((1, -1)[k] * places[:, j], 0.0)) for k in (0, 1)}
        for columns, law in listed.items():
            drawn = views[:, j, columns[0]] - (views[:, j, 1] if len(columns) > 1 else 0)
            assert_law(drawn.tolist(), dict(zip(law.points.tolist(), law.pmf.tolist(), strict=True)))


def test_errors_and_messages_without_a_rotation() -> None:
    protocol = UnaryVectorSum(Poisson(200, 30.0), 3, 2.5, clip=1.6, l1=1.6)
    vectors = np.tile([0.9, -0.3, 0.2], (200, 1))
    views = [protocol.sample_view(vectors, np.random.default_rng(seed)) for seed in range(400)]
    squares = [np.sum((protocol.analyze(view) - vectors.sum(axis=0)) ** 2) for view in views]
    fractions = 2.5 * np.abs(vectors[0]) % 1.0
    exact = (2 * 3 * 30.0 + 200 * np.sum(fractions * (1 - fractions))) / 2.5**2
    assert np.mean(squares) == pytest.approx(exact, abs=5.0 * np.std(squares) / 20.0)
    assert exact <= CLAIMS.rmse(protocol) ** 2 == pytest.approx((180.0 + 200 * 0.75) / 2.5**2)
    assert CLAIMS.messages_per_user(protocol) == pytest.approx(2.5 * 1.6 + 6 * 30.0 / 200)
    assert CLAIMS.parameters(protocol)["l1"] == 1.6
    same = replace(protocol, l1=None)
    assert "l1" not in CLAIMS.parameters(same)
    assert account(protocol, delta=1e-6).epsilon == account(same, delta=1e-6).epsilon


def test_a_message_has_the_bits_that_tell_coordinates_and_signs_apart() -> None:
    assert [bits_of_message(d) for d in (1, 2, 3, 4, 384, 2**24)] == [1, 2, 3, 3, 10, 25]
