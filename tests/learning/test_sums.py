"""Sums over parts of the users."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dpverify.learning.classifier import PrivateDensityClassifier
from tests.learning.points import blobs


def test_they_add_up_in_any_order() -> None:
    X, y = blobs(90, 3, 4, 0)
    model = PrivateDensityClassifier(classes=[0, 1, 2], bits=32, random_state=1)
    parts = [model.partial_sums(X[part::3], y[part::3], part=part) for part in range(3)]
    one, two = parts[0] + parts[1] + parts[2], parts[2] + (parts[1] + parts[0])
    assert one.users == two.users == 90
    assert one.parts == {0, 1, 2}
    for first, second in zip(one.counts, two.counts, strict=True):
        np.testing.assert_array_equal(first.ones, second.ones)


def test_groups_of_users_are_pairs() -> None:
    X, y = blobs(2, 2, 4, 0)
    model = PrivateDensityClassifier(classes=[0, 1], bits=32)
    for chunk, what in ((X, "a ndarray"), ((X, y, y), "a tuple of 3")):
        with pytest.raises(TypeError, match=rf"^chunks must yield pairs \(X, y\) .*, but yields {what} at 1\.$"):
            model.fit_chunks([(X, y), chunk])
    with pytest.raises(ValueError, match=r"^chunks has no users, but must have at least 1\.$"):
        model.fit_chunks([])


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
            sums + model.partial_sums(X, y)
    with pytest.raises(ValueError, match=r"^part=4 is in both partial sums, but each part of the users counts once\.$"):
        sums + sums
    with pytest.raises(ValueError, match=r"^partial sums have names="):
        sums + dataclasses.replace(sums, names=("a", "b", "c", "d"))
