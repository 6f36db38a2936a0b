"""Small trees without walking them: the same numbers as scikit-learn's, to the last bit."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from dpverify.statistics.outputs import events
from dpverify.statistics.outputs.trees import SmallTrees


def fitted(width: int, **how: Any) -> tuple[Any, NDArray[np.float64], set[float]]:
    """A classifier, rows it has not seen, among them all its thresholds and their neighbours, and these."""
    rng = np.random.default_rng(width)
    rows = rng.laplace(size=(3_000, width)) + rng.integers(2, size=(3_000, 1))
    rows[:, 1::2] = np.floor(rows[:, 1::2])
    labels = (rows.sum(axis=1) + rows[:, 0] * rows[:, -1] > rng.laplace(size=3_000)).astype(int)
    model = HistGradientBoostingClassifier(**{"max_iter": 60, "max_depth": 3, "random_state": 0} | how).fit(
        rows, labels
    )
    nodes = np.concatenate([each.nodes for (each,) in model._predictors])
    ends = np.unique(nodes[nodes["is_leaf"] == 0]["num_threshold"])
    edges = np.concatenate([ends, np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf), [0.0, -0.0, 1e300, -1e300]])
    fresh = np.concatenate([rng.laplace(size=(5_000, width)), rng.choice(edges, (5_000, width))])
    return model, fresh, set(ends.tolist())


@pytest.mark.parametrize("width", [1, 2, 6, 40])
def test_all_leaves_are_found_to_the_last_bit(width: int) -> None:
    model, rows, ends = fitted(width)
    found = SmallTrees.of_classifier(model, rows[:100])
    assert (len(found.groups) == 1) == (width < 3)  # of few numbers the sums are known beforehand
    assert {end for group in found.groups for _, cut in group for end in cut.tolist()} == ends
    np.testing.assert_array_equal(found(rows), model.decision_function(rows))
    # What is not used may be anything.
    others = np.setdiff1d(np.arange(width), found.used)
    rows[:, others] = 7.0
    np.testing.assert_array_equal(found(np.asfortranarray(rows)), model.decision_function(rows))


def test_what_learned_nothing_is_a_constant() -> None:
    model = HistGradientBoostingClassifier(max_iter=3).fit(np.zeros((50, 2)), np.arange(50) % 5 == 0)
    found = SmallTrees.of_classifier(model, np.zeros((2, 2)))
    assert found.used == []
    rows = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(found(rows), model.decision_function(rows))


def test_what_is_kept_otherwise_is_asked_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows, _ = fitted(2)
    assert SmallTrees.of_classifier(SimpleNamespace(), rows) is None
    larger, _, _ = fitted(2, max_depth=4)
    assert SmallTrees.of_classifier(larger, rows) is None
    # Trees that seem to be right, and are another classifier's.
    other = SimpleNamespace(_predictors=model._predictors, _baseline_prediction=model._baseline_prediction + 1e-9)
    other.decision_function = model.decision_function
    assert SmallTrees.of_classifier(other, rows) is None
    samples = rows[:500, 0], rows[500:1000, 0]
    expected = events.classifier_score(*samples)(rows[:, 0])
    monkeypatch.setattr(SmallTrees, "of_classifier", lambda model, rows: None)
    np.testing.assert_array_equal(events.classifier_score(*samples)(rows[:, 0]), expected)
