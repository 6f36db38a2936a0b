import functools
import itertools
import json
import math

import numpy as np
import pytest

from dpverify.claims.kde.privacy import kde_pairs
from dpverify.claims.registry import claims_of
from dpverify.guarantee import ThreatModel
from dpverify.planning.account import account
from protocols.bitsum import CentralDiscreteLaplace, CentralGaussian, Poisson, Pure, RandomizedResponse, ThreeNB
from protocols.lsq import (
    FourierPairs,
    GaussianFeatures,
    Identity,
    LaplacianBinning,
    LinearMap,
    LSQFamily,
    RandomSigns,
    ScaledFeatures,
)
from tests.claims.kde.densities import account_kde, view_law
from tests.refusals import refused

RNG = np.random.default_rng(0)
EPSILONS = (0.0, 0.5, 2.0)


@functools.cache
def worst_delta(users: int, buckets: int, signed: bool, p: float, epsilon: float) -> float:
    """The largest divergence over all neighbouring datasets of one instance."""
    certain = np.eye(buckets)
    points = [*(0.5 * (1.0 + certain)), *(0.5 * (1.0 - certain) if signed else ())]
    worst = 0.0
    for others in itertools.combinations_with_replacement(points, users - 1):
        for here, there in itertools.permutations(points, 2):
            first, second = (view_law(np.array([*others, point]), p) for point in (here, there))
            worst = max(worst, float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum()))
    return worst


@pytest.mark.long
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("users", "buckets"), [(1, 2), (3, 2), (3, 3)])
def test_one_instance_against_all_datasets(users: int, buckets: int, signed: bool) -> None:
    p = 0.2
    bitsum, family = RandomizedResponse(users, p), LaplacianBinning(2, buckets=buckets, signed=signed)
    for epsilon in EPSILONS:
        exact = worst_delta(users, buckets, signed, p, epsilon)
        enclosed = account_kde(bitsum, family, 1, epsilon=epsilon, relative_width=1e-4).delta
        assert enclosed.lower <= exact * (1 + 1e-9) + 1e-12
        assert exact <= enclosed.upper * (1 + 1e-9)
        if users == 1:  # nobody else's coins: the upper end is exact too
            assert enclosed.upper == pytest.approx(exact, rel=1e-2, abs=1e-9)


@pytest.mark.long
def test_half_changes_cost_less_than_a_full_one() -> None:
    for bitsum in (RandomizedResponse(120, 0.2), ThreeNB(120, 0.97, 20.0, 0.99)):
        full = account(bitsum, instances=50, delta=1e-6, relative_width=1e-4).epsilon
        half = account_kde(bitsum, LaplacianBinning(2), 50, delta=1e-6).epsilon
        signed = account_kde(bitsum, LaplacianBinning(2, signed=True), 50, delta=1e-6).epsilon
        # Two halves have half the squared size of a full change, so about 1 / sqrt 2 of its epsilon.
        assert 0.6 * full.upper < half.upper < 0.8 * full.lower
        if isinstance(bitsum, RandomizedResponse):
            assert half.width < 0.05 * half.upper
        # With signs the one bit of a shared bucket may change fully, which is as bad as without buckets.
        assert signed.upper == pytest.approx(full.upper, rel=0.02)


def test_full_changes_are_those_of_the_bitsums() -> None:
    bitsum = RandomizedResponse(100, 0.2)
    for family, instances, mechanisms in (
        (GaussianFeatures(2), 6, 6),
        (Identity(3), 1, 3),
        (LaplacianBinning(2, buckets=1, signed=True), 6, 6),
    ):
        got = account_kde(bitsum, family, instances, delta=1e-6)
        assert got.epsilon.upper == pytest.approx(account(bitsum, instances=mechanisms, delta=1e-6).epsilon.upper, 1e-3)
        assert got.guarantee.epsilon == got.epsilon.upper
        assert got.guarantee.threat_model is ThreatModel.COMMUNICATION


@pytest.mark.long
def test_more_users_with_the_same_parameters_are_safer() -> None:
    """One more user's messages are independent of the replaced user's input, so they are post-processing."""
    family = LaplacianBinning(2)
    for kind in (GaussianFeatures(2), family):
        epsilons = [account_kde(RandomizedResponse(n, 0.2), kind, 20, delta=1e-6).epsilon for n in (20, 26, 40)]
        assert all(more.upper <= fewer.upper for fewer, more in itertools.pairwise(epsilons))


def test_bad_arguments() -> None:
    bitsum, family = RandomizedResponse(10, 0.2), LaplacianBinning(2)
    with pytest.raises(ValueError, match=r"^exactly one of delta=None and epsilon=None"):
        account_kde(bitsum, family, 1)
    with refused("instances=0"):
        account_kde(bitsum, family, 0, delta=1e-6)
    with pytest.raises(ValueError, match=r"^family\.Q=1 must be in \[2, inf\)"):
        kde_pairs(bitsum, GaussianFeatures(2))
    with refused("squared_change=1.0"):
        account_kde(bitsum, family, 2, squared_change=1, delta=1e-6)


@pytest.mark.parametrize("family", [GaussianFeatures(2), LaplacianBinning(2)])
def test_the_largest_loss_is_that_of_the_full_changes(family: LSQFamily) -> None:
    bitsum = RandomizedResponse(9, 0.2)
    found = account_kde(bitsum, family, 5, delta=0.0).epsilon
    # Five full changes, each of loss ln 4.
    assert found.upper == pytest.approx(5.0 * math.log(4.0), rel=1e-12)
    assert found.lower == (0.0 if family.S < family.Q else pytest.approx(found.upper, rel=1e-12))
    assert account_kde(bitsum, family, 5, epsilon=found.upper).delta.upper <= 1e-12


def test_runs_add_up_and_parameters_are_plain() -> None:
    bitsum = RandomizedResponse(40, 0.2)
    twice = account_kde(bitsum, GaussianFeatures(2), 3, instances=2, delta=1e-6, relative_width=1e-6)
    six = account(bitsum, instances=6, delta=1e-6)
    assert twice.epsilon == six.epsilon
    assert (twice.name, twice.users, twice.instances) == ("kde", 40, 2)
    parameters = json.loads(json.dumps(twice.to_dict()))["parameters"]
    assert parameters["bitsum"] == {"name": "rr", "flip_probability": 0.2}
    assert parameters["features"].items() >= {"name": "gaussian-features", "dimension": 2, "bandwidth": 1.0}.items()
    assert parameters["instances"] == 3
    wrapped = account_kde(bitsum, ScaledFeatures(Identity(2), 1, 0.5), 1, delta=1e-6).to_dict()["parameters"]
    assert json.loads(json.dumps(wrapped))["features"]["base"]["name"] == "identity"
    assert "every draw of the features" in twice.notes[0]


def test_the_adversary_is_that_of_the_bitsum() -> None:
    family, pure = GaussianFeatures(2), Pure(40, 0.9, 0.1, 5.0, 0.9)
    assert account_kde(CentralGaussian(40, 9.0), family, 3, delta=1e-6).guarantee.threat_model is ThreatModel.CENTRAL
    model, both = (account_kde(pure, family, 3, delta=0, threat_model=seen).epsilon for seen in ("model", None))
    assert model.upper < both.upper
    with refused("threat_model='central'"):
        account_kde(pure, family, 3, delta=0, threat_model="central")
    with refused("threat_model='model'"):
        account_kde(pure, LaplacianBinning(2), 3, delta=0, threat_model="model")


def test_sure_bits_with_next_to_no_flips_have_an_answer() -> None:
    found = account_kde(RandomizedResponse(2, 5.64e-299), LaplacianBinning(1, 1.0, 3, signed=True), 2, epsilon=0.7)
    assert found.delta.upper == 1.0


BALL = {"radius": 1.0, "outside": "scale"}


@pytest.mark.parametrize(
    ("family", "pairs"), [(LinearMap(40, "haar", 0.4, **BALL), 1), (FourierPairs(9), 20)], ids=["map", "pairs"]
)
def test_one_point_costs_less_than_all_bits_in_full(family: LSQFamily, pairs: int) -> None:
    bitsum = CentralDiscreteLaplace(300, 0.7)
    found = account_kde(bitsum, family, pairs, instances=2, delta=1e-6)
    square = claims_of(family).squared_change(family.sample(pairs, np.random.default_rng(0)))
    joint = account(bitsum, instances=80, squared_change=2.0 * square, delta=1e-6).epsilon.upper
    in_full = claims_of(family).bits_in_full(family.sample(pairs, np.random.default_rng(0)))
    assert found.epsilon.lower == pytest.approx(account(bitsum, instances=2 * in_full, delta=1e-6).epsilon.lower, 1e-3)
    assert found.epsilon.lower > 0.5 * found.epsilon.upper
    assert 0.8 * joint < found.epsilon.upper < joint  # the features lie in a ball, too
    assert joint < 0.95 * account(bitsum, instances=80, delta=1e-6, relative_width=1e-3).epsilon.lower
    assert f"the 40 bits' probabilities by squares that add up to {square:.3f}"[:-1] in found.notes[0]


def test_coordinates_of_a_ball_attain_their_lower_end() -> None:
    """11 coordinates at 0.3 have norm 0.995; the others of the 40 bits stay coins."""
    bitsum = Poisson(300, 400.0)
    found = account_kde(bitsum, Identity(40, 0.3, **BALL), 1, delta=1e-6).epsilon
    attained = account(bitsum, instances=11, delta=1e-6).epsilon
    assert found.lower == pytest.approx(attained.lower, rel=1e-3)
    assert found.lower < found.upper < 1.03 * found.lower
    # Twice the sizes of floats' errors decide whether the 25th coordinate at 0.2 fits in: it is not counted.
    counts = [claims_of(Identity(1)).bits_in_full(Identity(40, r, **BALL).sample(1, RNG)) for r in (0.3, 0.2, 1.0, 0.1)]
    assert counts == [11, 24, 0, 40]


def test_the_largest_loss_of_a_joint_change() -> None:
    bitsum = RandomizedResponse(300, 0.2)
    found = account_kde(bitsum, LinearMap(40, "haar", 0.4, **BALL), 1, delta=0.0).epsilon
    # m bits of chances (1 - t)/2 and (1 + t)/2, t = T / sqrt(m), T = 2.5, with the loss ln 4.
    k, t = 0.6, 2.5 / math.sqrt(40.0)
    spread = 40 * (math.log1p(k * t) - math.log1p(-k * t))
    # Six coordinates at 0.4 have norm 0.98: so many bits may change fully.
    assert (found.lower, found.upper) == pytest.approx((6.0 * math.log(4.0), spread), rel=1e-9)


def test_a_bound_of_all_bits_is_no_lower_end() -> None:
    """The bound on T^2 is all 4 bits; the points of the circle, which are the worst, reach less."""
    family, bitsum = LinearMap(2, "haar", 1.0, rows=4, radius=math.sqrt(2.0)), RandomizedResponse(50, 0.2)
    features = family.sample(1, RNG)
    assert claims_of(family).squared_change(features) == 4.0
    found = account_kde(bitsum, family, 1, delta=1e-3)
    angles = np.linspace(0.0, 2.0 * math.pi, 720, endpoint=False)
    values = features.f(0.999999 * math.sqrt(2.0) * np.stack([np.cos(angles), np.sin(angles)], axis=1))[:, 0]
    largest = max(float(np.square(values - value).sum(axis=1).max()) / 4.0 for value in values) * (1.0 + 1e-3)
    assert largest < 3.2
    joint = account(bitsum, instances=4, squared_change=largest, delta=1e-3).epsilon.upper
    full = account(bitsum, instances=4, delta=1e-3).epsilon
    assert found.epsilon.lower <= joint < full.lower <= found.epsilon.upper <= full.upper * (1.0 + 1e-3)
    assert "all 4 bits are charged in full" in found.notes[0]
    # Rows of two rotations, in pairs, are less than 45 degrees apart: sqrt 2 between them clips both.
    assert account_kde(bitsum, family, 1, delta=0.0).epsilon.lower == pytest.approx(2.0 * math.log(4.0))


def test_two_points_that_change_all_bits_make_the_interval_narrow() -> None:
    bitsum = RandomizedResponse(50, 0.2)
    for family in (Identity(3), RandomSigns(4), GaussianFeatures(3), LaplacianBinning(3, buckets=1, signed=True)):
        found = account_kde(bitsum, family, 1, delta=1e-3).epsilon
        assert 0.0 < found.width < 1e-3 * found.upper
    for family in (
        GaussianFeatures(3, 9.0, radius=1.0),
        RandomSigns(4, radius=0.5, outside="scale"),
        LaplacianBinning(3, 1e4, buckets=1, signed=True, radius=1.0),
    ):
        assert account_kde(bitsum, family, 1, delta=1e-3).epsilon.lower == 0.0
