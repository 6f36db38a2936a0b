"""What counts on workers: quick to import, and of points that scikit-learn's checks leave as they are alone."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.density import PrivateDensity
from dpverify.learning.files.counters import BitCounter, plain
from dpverify.learning.files.partitions import _Task
from dpverify.learning.inputs import validated
from dpverify.learning.joint.discriminant import PrivateDiscriminant
from protocols.lsq import Identity

X = np.random.default_rng(0).normal(size=(6, 4))
Y = np.array([0, 1, 1, 0, 1, 0])
TABLE = pandas.DataFrame(X, columns=list("abcd"))
HEAVY = {"sklearn", "pandas", "flint", "mpmath", "dpverify.planning", "dpverify.claims"}
COUNTS = f"""
import pickle, sys
task, points, labels = pickle.load(open(sys.argv[1], "rb"))
print(task(points, labels, 3).users, sorted({HEAVY!r} & set(sys.modules)))
"""


@pytest.mark.parametrize("vectors", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_worker_imports_no_planner(vectors: bool, tmp_path: Path) -> None:
    model: Any = PrivateDiscriminant(classes=[0, 1], epsilon=8) if vectors else PrivateDensityClassifier(bits=32)
    counter = model._counter(4, 2, 6)[1]
    file = tmp_path / "task"
    file.write_bytes(pickle.dumps((_Task(counter, np.array([0, 1]), 5, b"none", {}), X, Y)))
    assert len(pickle.dumps(counter)) < 1000
    words = [sys.executable, "-c", COUNTS, str(file)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "6 []\n"


@pytest.mark.parametrize("points", [X, X.astype(np.float32), TABLE, TABLE.astype(np.float32), X[:, ::2]])
@pytest.mark.parametrize("labels", [Y, Y.astype("U1"), Y.astype(bool), pandas.Series(list("xyyxyx")), None])
def test_what_is_plain_stays_as_it_is(points: Any, labels: Any) -> None:
    taken = plain(points, labels)
    assert taken is not None
    if labels is None:
        return
    model = PrivateDensityClassifier()
    for mine, checked in zip(taken, validated(model, points, labels), strict=False):
        np.testing.assert_array_equal(mine, checked, strict=True)
    names = getattr(model, "feature_names_in_", None)
    assert taken[2] == (None if names is None else tuple(names))


@pytest.mark.parametrize(
    ("points", "labels"),
    [
        (X.astype(int), Y),
        (X.astype(">f8"), Y),
        (X.astype(np.float16), Y),
        (X.tolist(), Y),
        (np.ma.array(X, mask=X > 1), Y),
        (X[0], Y),
        (X[:0], Y[:0]),
        (X[:, :0], None),
        (TABLE.astype({"a": np.float32}), Y),
        (TABLE.astype("Float64"), Y),
        (TABLE.rename(columns={"a": 0}), Y),
        (X, Y[:5]),
        (X, Y[:, np.newaxis]),
        (X, Y + 0.5),
        (X, pandas.Series([*"xyyxy", None])),
        (X, pandas.Series([0, 1, 1, 0, 1, None], dtype="Int64")),
        (X, Y.tolist()),
    ],
)
def test_all_else_is_for_the_estimator(points: Any, labels: Any) -> None:
    assert plain(points, labels) is None


def test_a_part_of_users_is_counted_the_same_by_both() -> None:
    task = _Task(None, np.array([0, 1]), 5, pickle.dumps(PrivateDensity(bits=32, random_state=5)), {})
    slow = task(X, None, 3)
    counter: Any = PrivateDensity(bits=32)._counter(4, 0, None)[1]
    quick = _Task(counter, np.empty(0), 5, b"none", {})(X, None, 3)
    assert slow is not None
    assert quick is not None
    np.testing.assert_array_equal(slow.counts[0].ones, quick.counts[0].ones)
    assert (slow.parts, slow.seeded, slow.scale, slow.names) == (quick.parts, quick.seeded, quick.scale, quick.names)


def test_partitions_of_both_kinds_add_up_and_of_other_dimensions_do_not() -> None:
    model = PrivateDensityClassifier(bits=32, classes=[0, 1], random_state=5)
    task = _Task(model._counter(4, 2)[1], np.array([0, 1]), 5, pickle.dumps(model), {})
    whole, quick, wide = task(X.astype(int), Y, 0), task(X, Y, 1), task(np.hstack([X, X]), Y, 2)
    assert whole is not None
    assert quick is not None
    assert wide is not None
    assert (whole + quick).users == 12
    with pytest.raises(ValueError, match="points of 4 and 8 coordinates"):
        quick + wide


def test_labels_are_randomized_before_anything_is_counted() -> None:
    scale: Any = PrivateDensity()._public(4)[1]
    counter = BitCounter(Identity(4), 1, 0, scale, 3, 700.0)
    counts = counter(X, Y, np.random.default_rng(0))
    assert [count.users for count in counts] == [3, 3, 0]
    fair = BitCounter(Identity(4), 1, 0, scale, 2, 1e-9)
    share = sum(fair(X, Y * 0, np.random.default_rng(seed))[1].users for seed in range(200)) / 1200
    assert abs(share - 0.5) < 5 * 0.5 / 1200**0.5  # five deviations: a false alarm in 10^6
