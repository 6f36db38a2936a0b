"""Sums over parts of the users."""

import dataclasses
import math

import numpy as np
import pytest

from dpverify.learning.base import FIXED_SEED
from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.density import PrivateDensity
from dpverify.learning.files.sums import pairs_of
from tests.learning.points import blobs
from tests.refusals import refused

EXACT = {"epsilon": math.inf, "bits": 8}
"""What nothing is planned for: how parts fit together does not depend on it."""
pytestmark = pytest.mark.filterwarnings("ignore::dpverify.learning.guarantee.PrivacyWarning")


def test_they_add_up_in_any_order() -> None:
    X, y = blobs(90, 3, 4, 0)
    model = PrivateDensityClassifier(classes=[0, 1, 2], bits=32, random_state=1)
    parts = [model.partial_sums(X[part::3], y[part::3], part=part) for part in range(3)]
    one, two = parts[0] + parts[1] + parts[2], parts[2] + (parts[1] + parts[0])
    assert one.users == two.users == 90
    assert one.parts == {0, 1, 2}
    for first, second in zip(one.counts, two.counts, strict=True):
        np.testing.assert_array_equal(first.ones, second.ones)


def test_what_does_not_fit_together_is_refused() -> None:
    X, y = blobs(30, 3, 4, 0)
    sums = PrivateDensityClassifier(classes=[0, 1, 2], bits=32).partial_sums(X, y, part=4)
    for change, message in (
        ({"bits": 64}, r"^partial sums have public="),
        ({"public_scale": 2.0}, r"^partial sums have scale="),
        ({"label_epsilon": 1.0}, r"^partial sums have label_epsilon=5\.0 and 1\.0"),
        ({"classes": [0, 1, 2, 3]}, r"^partial sums have classes="),
    ):
        model = PrivateDensityClassifier(**{"classes": [0, 1, 2], "bits": 32, **change})
        with pytest.raises(ValueError, match=message):
            sums + model.partial_sums(X, y, part=5)
    with refused("part=4"):
        sums + sums
    seeded = dataclasses.replace(sums, parts=frozenset({5}), seeded=True)
    assert (sums + seeded).seeded
    assert (seeded + sums).seeded
    assert not (sums + dataclasses.replace(sums, parts=frozenset({5}))).seeded
    with refused("parts=frozenset()"):
        dataclasses.replace(sums, parts=frozenset())
    with pytest.raises(ValueError, match=r"^partial sums have names="):
        sums + dataclasses.replace(sums, names=("a", "b", "c", "d"))


@pytest.mark.parametrize("seed", [None, 0, np.random.default_rng(0)])
def test_no_user_counts_twice(seed: int | np.random.Generator | None) -> None:
    """Also where nothing else tells parts apart: a worker that is tried again counts the same users anew."""
    X, y = blobs(40, 2, 3, 0)
    model = PrivateDensityClassifier(classes=[0, 1], label_epsilon=math.inf, random_state=seed, **EXACT)
    first, lost, again = (model.partial_sums(X[:20], y[:20], part=part) for part in (0, 1, 1))
    for twice in ([first, first], [first, lost, again], [lost, first, first]):
        with refused("part"):
            model.fit_sums(twice)
    assert model.fit_sums([first, again]).reported_counts_.sum() == 40
    density = PrivateDensity(random_state=seed, **EXACT)
    part = density.partial_sums(X, part=3)
    with pytest.raises(ValueError, match=r"^part=3 is in both"):
        density.fit_sums([part, part])
    for made in (lambda: model.partial_sums(X, y, part=None), lambda: density.partial_sums(X, part=None)):
        with refused("part=None", TypeError):
            made()


@pytest.mark.long
def test_sums_keep_the_note_of_their_seed() -> None:
    X, y = blobs(60, 2, 3, 0)
    settings = {"classes": [0, 1], "bits": 4, "bitsum": "poisson", "label_epsilon": math.inf}
    seeded = PrivateDensityClassifier(**settings, random_state=0)
    fresh = PrivateDensityClassifier(**settings)
    parts = [seeded.partial_sums(X[:30], y[:30], part=0), fresh.partial_sums(X[30:], y[30:], part=1)]
    assert FIXED_SEED in fresh.fit_sums(parts).guarantee_.notes
    assert FIXED_SEED in fresh.fit_sums(parts[0]).guarantee_.notes
    assert FIXED_SEED not in fresh.fit_sums(parts[1]).guarantee_.notes
    assert FIXED_SEED in seeded.fit_sums(parts[1]).guarantee_.notes
    sums = PrivateDensity(bits=4, bitsum="poisson", random_state=np.random.default_rng(0)).partial_sums(X, part=0)
    assert FIXED_SEED in PrivateDensity(bits=4, bitsum="poisson").fit_sums(sums).guarantee_.notes


def test_two_rows_are_no_pair_of_points_and_labels() -> None:
    for chunk, what in ((np.zeros((2, 3)), "a ndarray at 0"), ((1, 2, 3), "a tuple of 3 at 0")):
        with pytest.raises(TypeError, match=rf"^chunks must yield pairs .* but yields {what}\.$"):
            list(pairs_of([chunk]))
