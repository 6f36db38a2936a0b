"""Discriminants as files: read as they were written, and not believed."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest

from dpverify.guarantee import Budget, Interval
from dpverify.learning.files import discriminants
from dpverify.learning.files.model import NOT_PROVED, load_model, save_model
from dpverify.learning.joint.discriminant import PrivateDiscriminant
from tests.learning.points import blobs

X, Y = blobs(3000, 2, 3, 0)
TABLE = pandas.DataFrame(X, columns=list("abc"))


@pytest.fixture(scope="module")
def model() -> PrivateDiscriminant:
    made = PrivateDiscriminant(epsilon="1", classes=["no", "yes"], public_scale=(-2.0, 2.0), random_state=987_654_321)
    return made.fit(TABLE, np.array(["no", "yes"], dtype=object)[Y])


def test_what_is_read_is_what_was_written(model: PrivateDiscriminant, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    save_model(model, path)
    with np.load(path, allow_pickle=False) as file:
        assert set(file.files) == {"header", "classes", "published"}
        assert "987654321" not in str(file["header"])
    for proved in (True, False):
        again = load_model(path, proved=proved)
        assert isinstance(again, PrivateDiscriminant)
        np.testing.assert_array_equal(again.decision_function(TABLE), model.decision_function(TABLE))
        assert (again.map_, again.protocol_, again.noise_) == (model.map_, model.protocol_, model.noise_)
        assert again.get_params() == {**model.get_params(), "random_state": None, "public_scale": ((-2.0,), (2.0,))}
        if proved:
            assert (again.guarantee_, again.plan_) == (model.guarantee_, model.plan_)
        else:
            assert again.guarantee_.notes == (*model.guarantee_.notes, NOT_PROVED)
            assert again.guarantee_.epsilon == 1.0


def test_a_protocol_keeps_the_budget_by_the_upper_end_of_its_account(
    model: PrivateDiscriminant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = iter([Interval(0.9, 1.0), Interval(0.9, math.nextafter(1.0, 2.0))])
    monkeypatch.setattr(discriminants, "account", lambda protocol, **_: SimpleNamespace(epsilon=next(ends)))
    assert discriminants._proved(model.protocol_, Budget(1, "1e-6")) == 1.0
    with pytest.raises(ValueError, match=r"do not keep the epsilon=1\.0 and delta=1e-06"):
        discriminants._proved(model.protocol_, Budget(1, "1e-6"))


@pytest.mark.parametrize("proved", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_header_is_not_believed(model: PrivateDiscriminant, tmp_path: Path, proved: bool) -> None:
    path = tmp_path / "model.npz"
    save_model(model, path)
    with np.load(path) as file:
        parts = {name: file[name] for name in file.files}
    header = json.loads(str(parts["header"]))
    settings, protocol = header["settings"], header["protocol"]
    quiet = {**protocol, "noise": {**protocol["noise"], "p": 0.99 * protocol["noise"]["p"]}}
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"settings": {**settings, "epsilon": "0.99"}}, {}, "do not keep the epsilon=0.99"),
        ({"protocol": quiet}, {}, "do not keep the epsilon=1"),
        ({"protocol": {**protocol, "scale": 1.01 * protocol["scale"]}}, {}, "do not keep the epsilon=1"),
        ({"protocol": {**protocol, "clip": 0.5 * protocol["clip"]}}, {}, "must be of the vectors"),
        ({"protocol": {**protocol, "l1": None}}, {}, "must be of the vectors"),
        ({"protocol": quiet["noise"]}, {}, "must be of the vectors"),
        ({"second": not header["second"]}, {}, "must be of the vectors"),
        ({"second": 1}, {}, "second moments or not"),
        ({"dimension": True}, {}, "at least 1 coordinate"),
        ({"notes": ["certified by everybody"]}, {}, "notes must be those of"),
        ({"names": ["a"]}, {}, "names must be those of"),
        ({"settings": {"epsilon": "1"}}, {}, "settings must be those of"),
        ({}, {"classes": parts["classes"][::-1]}, "must be a list of at least 2 labels, sorted"),
        ({}, {"published": parts["published"][1:]}, "its values have shape"),
        ({}, {"published": np.nan * parts["published"]}, "its values must be finite"),
        ({}, {"published": parts["published"].astype(str)}, "its values must be real numbers"),
        ({"protocol": [1]}, {}, "its protocol an object"),
        ({"scale": 7}, {}, "its scale must be an object"),
        ({"scale": {}}, {}, "its scale must be 'unit'"),
        ({"scale": {"kind": "ball", "radius": []}}, {}, "its scale must be 'unit', a 'ball'|public_scale"),
        ({"names": {}}, {}, "its names must be a list of texts"),
        ({"names": 1}, {}, "its names must be a list of texts"),
        ({"notes": {}}, {}, "its notes must be a list of texts"),
        ({"notes": [[]]}, {}, "its notes must be a list of texts"),
    ]
    for changes, arrays, why in cases if proved else cases[3:]:
        np.savez(path, **{**parts, "header": np.array(json.dumps({**header, **changes})), **arrays})  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=rf"^\S+ must be a model that dpverify has written \(.*{why}"):
            load_model(path, proved=proved)
