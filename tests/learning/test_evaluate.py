"""Learning from files, and testing."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from dpverify.learning.base import FIXED_SEED
from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.evaluate import Learned, LearnedJointly, learn
from dpverify.learning.files.data import open_data
from dpverify.learning.joint.discriminant import PrivateDiscriminant
from dpverify.learning.labels import LABELS_TAKEN
from tests.learning.points import blobs
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::dpverify.learning.guarantee.PrivacyWarning")
FREE: dict[str, Any] = {"epsilon": math.inf, "label_epsilon": math.inf, "classes": [0, 1], "bits": 64}


def written(path: Path, users: int, dimension: int, seed: int) -> Path:
    X, y = blobs(users, 2, dimension, seed)
    np.savez(path, X=X, y=y)
    return path


def test_rows_that_are_held_out_take_no_part(tmp_path: Path) -> None:
    file = open_data(written(tmp_path / "a.npz", 1000, 3, 0), "y")
    steps: list[tuple[int, int]] = []
    found = learn(
        PrivateDensityClassifier(**FREE), file, holdout=0.3, progress=lambda done, rows: steps.append((done, rows))
    )
    assert found.users + found.tested == 1000
    assert 230 < found.tested < 370  # 5 standard deviations
    assert found.right == round((found.accuracy or 0.0) * found.tested)
    assert found.accuracy is not None
    assert found.accuracy > 0.95
    interval = found.accuracy_interval
    assert interval is not None
    assert found.accuracy in interval
    assert steps[-1] == (2000, 2000)
    assert found.to_dict()["classes"][0]["label"] == 0


def test_a_discriminant_knows_how_many_users_there_are(tmp_path: Path) -> None:
    file = open_data(written(tmp_path / "a.npz", 1000, 3, 0), "y")
    heard: list[tuple[int, int]] = []
    made = PrivateDiscriminant(random_state=0)
    found = learn(made, file, holdout=0.3, planning=lambda *each: heard.append(each))
    assert heard == [(0, 1), (1, 1)]
    assert isinstance(found, LearnedJointly)
    assert found.users + found.tested == 1000
    assert made.protocol_.users == found.users
    assert found.accuracy is not None
    assert found.accuracy > 0.9
    assert made.guarantee_.notes == (LABELS_TAKEN, FIXED_SEED)
    assert [row["predicted"] for row in found.to_dict()["classes"]] == [True, True]


def test_another_file(tmp_path: Path) -> None:
    file = open_data(written(tmp_path / "a.npz", 300, 3, 0), "y")
    test = open_data(written(tmp_path / "b.npz", 50, 3, 1), "y")
    found = learn(PrivateDensityClassifier(**FREE), file, test=test)
    assert (found.users, found.tested) == (300, 50)
    with pytest.raises(ValueError, match=r"has points of 4 coordinates, but must have the 3 of"):
        learn(PrivateDensityClassifier(**FREE), file, test=open_data(written(tmp_path / "c.npz", 50, 4, 1), "y"))
    with refused("holdout=0.5"):
        learn(PrivateDensityClassifier(**FREE), file, test=test, holdout=0.5)


def test_labels_of_another_kind_are_refused(tmp_path: Path) -> None:
    file = open_data(written(tmp_path / "a.npz", 300, 3, 0), "y")
    np.savez(tmp_path / "b.npz", X=np.eye(3), y=["0", "1", "0"])
    with pytest.raises(ValueError, match=r"^labels such as '0' must be as those that were learned, such as 0\.$"):
        learn(PrivateDensityClassifier(**FREE), file, test=open_data(tmp_path / "b.npz", "y"))


def test_columns_must_be_in_the_same_order(tmp_path: Path) -> None:
    X, y = blobs(300, 2, 3, 0)
    table = pandas.DataFrame(X, columns=list("abc")).assign(y=y)
    table.to_parquet(tmp_path / "a.parquet")
    table[list("cbay")].to_parquet(tmp_path / "b.parquet")
    file, other = (open_data(tmp_path / name, "y") for name in ("a.parquet", "b.parquet"))
    found = learn(PrivateDensityClassifier(**FREE), file, holdout=0.5)
    assert found.classifier.feature_names_in_.tolist() == list("abc")
    assert found.accuracy is not None
    assert found.accuracy > 0.9
    with pytest.raises(ValueError, match=r"b\.parquet has the columns c, b, a, but must have a, b, c, as those of"):
        learn(PrivateDensityClassifier(**FREE), file, test=other)


def test_without_a_test() -> None:
    found = Learned(PrivateDensityClassifier(), 3)
    assert (found.accuracy, found.accuracy_interval) == (None, None)


def test_plans_are_told_of_between_the_rows_that_are_counted_and_those_that_are_tested(tmp_path: Path) -> None:
    heard: list[tuple[str, int, int]] = []
    data = open_data(written(tmp_path / "x.npz", 300, 3, 0), "y")
    learn(
        PrivateDensityClassifier(**FREE),
        data,
        holdout=0.3,
        progress=lambda *each: heard.append(("rows", *each)),
        planning=lambda *each: heard.append(("plans", *each)),
    )
    assert heard == [("rows", 300, 600), ("plans", 0, 2), ("plans", 1, 2), ("plans", 2, 2), ("rows", 600, 600)]


def test_a_file_without_rows_is_named(tmp_path: Path) -> None:
    data = open_data(written(tmp_path / "none.npz", 0, 3, 0), "y")
    with pytest.raises(ValueError, match=r"none\.npz has no rows, but must have at least 1\.$"):
        learn(PrivateDensityClassifier(**FREE), data)


def test_a_share_that_leaves_nobody_is_named(tmp_path: Path) -> None:
    data = open_data(written(tmp_path / "x.npz", 4, 3, 0), "y")
    with refused("holdout=0.99999"):
        learn(PrivateDensityClassifier(**FREE), data, holdout=0.99999)
