"""Models as files of published values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.features import KERNELS
from dpverify.learning.model import load_model, save_model
from tests.learning.points import blobs

pytestmark = pytest.mark.filterwarnings("ignore::dpverify.learning.guarantee.PrivacyWarning")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("private", [True, False], ids=["private", "free"])
def test_what_is_read_is_what_was_written(tmp_path: Path, kernel: str, private: bool) -> None:
    X, y = blobs(200, 2, 3, 0)
    settings: dict[str, Any] = {"epsilon": "1"} if private else {"epsilon": math.inf, "label_epsilon": math.inf}
    scale = (-np.ones(3), [1.0, 1.5, 2.0]) if kernel == "gaussian" else "unit"
    model = PrivateDensityClassifier(
        kernel=kernel, bits=32, public_scale=scale, classes=["no", "yes", "zoo"], random_state=1, **settings
    ).fit(X, np.array(["no", "yes"])[y])
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.noise_, model.noise_)
    assert again.guarantee_ == model.guarantee_
    assert (again.classes_.tolist(), again.empty_classes_.tolist()) == (
        model.classes_.tolist(),
        model.empty_classes_.tolist(),
    )
    assert again.random_state is None
    assert [one.bitsum for one in again.protocol_.class_protocols()] == [
        one.bitsum for one in model.protocol_.class_protocols()
    ]


def test_only_published_values_are_written(tmp_path: Path) -> None:
    X, y = blobs(200, 2, 3, 1)
    model = PrivateDensityClassifier(bits=32, classes=[0, 1], random_state=987_654_321).fit(X, y)
    save_model(model, tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    assert set(arrays) == {"header", "classes", "empty_classes", "reported_counts", "published"}
    np.testing.assert_array_equal(arrays["published"], [density.published for density in model.protocol_.densities_])
    header = json.loads(str(arrays["header"]))
    assert "987654321" not in str(arrays["header"])
    assert set(header) == {
        "format", "settings", "epsilon", "label_epsilon", "scale", "dimension", "names", "guarantee", "bitsums"
    }  # fmt: skip


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    X, y = blobs(200, 2, 3, 1)
    model = PrivateDensityClassifier(bits=32, classes=[0, 1], random_state=1).fit(X, y)
    save_model(model, path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays["header"]))
    for change in (
        {"published": arrays["published"][:1]},
        {"published": arrays["published"] * np.nan},
        {"header": np.array("{}")},
        {"header": np.array(json.dumps({**header, "format": "other"}))},
        {"header": np.array(json.dumps({**header, "dimension": -1}))},
        {"header": np.array(json.dumps({**header, "settings": {"kernel": "inner-product", "fit": 1}}))},
        {"header": np.array([{}], dtype=object)},
    ):
        np.savez(path, **{**arrays, **change})  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"model\.npz must be a model that dpverify has written"):
            load_model(path)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"must be a model that dpverify has written"):
        load_model(path)


def test_another_file_is_told_in_words_of_ours(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(3))
    np.savez(tmp_path / "x.npz", X=np.ones(3))
    (tmp_path / "text").write_text("no model")
    for name, why in (("x.npy", "it is no npz file"), ("text", "it is no npz file"), ("x.npz", "it has no header")):
        with pytest.raises(ValueError, match=rf"{name} must be a model that dpverify has written \({why}\)\.$"):
            load_model(tmp_path / name)
