"""What a classifier has learned, as a table."""

import numpy as np
import pytest

from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.evaluate import Learned
from tests.learning.points import blobs

pytestmark = pytest.mark.filterwarnings("ignore::dpverify.learning.guarantee.PrivacyWarning")


def test_it_says_what_is_learned_and_what_is_guaranteed() -> None:
    X, y = blobs(1000, 25, 30, 0)
    model = PrivateDensityClassifier(
        classes=range(25), kernel="gaussian", bits=32, epsilon=float("inf"), random_state=0
    )
    text = str(Learned(model.fit(X, y), 1000, 200, 150))
    assert "1,000 users, 25 classes, d = 30, gaussian kernel, bandwidth 0.85" in text
    assert "and 5 more classes" in text
    assert "Accuracy: 0.750 on 200 rows" in text
    assert "no privacy where a user's point is replaced" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "Accuracy" not in str(Learned(model, 1000))
    assert np.unique(y).size == 25


def test_one_is_no_plural_and_labels_stay_on_their_line() -> None:
    model = PrivateDensityClassifier(classes=["a\nb"], bits=32, epsilon=float("inf"), random_state=0)
    text = str(Learned(model.fit(np.ones((1, 2)), ["a\nb"]), 1))
    assert "1 user, 1 class, d = 2" in text
    assert "a\\nb" in text
