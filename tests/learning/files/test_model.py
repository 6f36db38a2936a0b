"""Models as files of published values."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpverify.claims.records import record_of
from dpverify.guarantee import Budget
from dpverify.learning.base import PlannedBitsums
from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.files.model import NOT_PROVED, _prove, load_model, save_model
from dpverify.planning.kernels.rungs import kernels
from protocols.bitsum import LocalRandomizedResponse, RandomizedResponse
from tests.learning.points import blobs

pytestmark = pytest.mark.filterwarnings("ignore::dpverify.learning.guarantee.PrivacyWarning")


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "private"), [*((kernel, False) for kernel in kernels()), ("gaussian", True)])
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


@pytest.mark.long
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
        "format", "settings", "epsilon", "label_epsilon", "scale", "dimension", "names", "notes", "bitsums"
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
        {"header": np.array(arrays["header"], dtype=object)},  # the same, as a pickle has it
        {"reported_counts": 0 * arrays["reported_counts"]},
        {"reported_counts": arrays["reported_counts"][:1]},
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


def small(**settings: Any) -> PrivateDensityClassifier:
    X, y = blobs(60, 2, 3, 1)
    return PrivateDensityClassifier(**{"bits": 4, "classes": [0, 1], "random_state": 1, **settings}).fit(X, y)


def edited(path: Path, changes: dict[str, Any], **arrays: Any) -> None:
    """Change a model's header, and arrays, as somebody else might."""
    with np.load(path) as file:
        parts = {name: file[name] for name in file.files}
    header = {**json.loads(str(parts["header"])), **changes}
    np.savez(path, **{**parts, "header": np.array(json.dumps(header)), **arrays})


def test_a_header_is_checked_and_what_is_not_proved_says_so_once(tmp_path: Path) -> None:
    path, model = tmp_path / "model.npz", small(epsilon=math.inf, delta="1e-5")
    rr = [record_of(RandomizedResponse(users, 0.25)) for users in model.reported_counts_.tolist()]
    for changes, why in (({"bitsums": rr}, "must have exact sums"), ({"notes": ["by me"]}, "notes must be those of")):
        save_model(model, path)
        edited(path, changes)
        with pytest.raises(ValueError, match=why):
            load_model(path)
    save_model(model, path)
    edited(path, {"bitsums": rr, "epsilon": 1.0})
    for _ in range(2):
        read = load_model(path, proved=False)
        found = read.guarantee_
        assert (found.point.epsilon, found.epsilon, found.notes) == (1.0, 6.0, (NOT_PROVED,))
        assert Budget(1, "1e-5").delta == found.delta
        save_model(read, path)


def test_the_parameters_of_each_class_are_proved() -> None:
    right = RandomizedResponse(30, 0.25)

    def prove(bitsum: Any, keeps: bool = True) -> None:
        planner: Any = SimpleNamespace(bitsum="rr", budget=Budget(1, "1e-6"), keeps=lambda one: keeps)
        _prove(planner, PlannedBitsums({30: bitsum}))

    prove(right)
    for bitsum, keeps, why in (
        (right, False, r"do not keep the epsilon=1\.0 and delta=1e-06"),
        (RandomizedResponse(31, 0.25), True, "for as many users"),
        (LocalRandomizedResponse(30, 0.25), True, "must have run rr"),
    ):
        with pytest.raises(ValueError, match=why):
            prove(bitsum, keeps)


@pytest.mark.long
def test_a_header_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    model = small(epsilon=1)
    save_model(model, path)
    bitsums = json.loads(str(np.load(path)["header"]))["bitsums"]
    assert load_model(path).guarantee_ == model.guarantee_
    for changes, why in (
        ({"epsilon": 1e-9}, r"its parameters for \d+ users do not keep the epsilon=1e-09 and delta=1e-06"),
        ({"epsilon": "0.99"}, r"do not keep the epsilon=0\.99"),
        ({"epsilon": "inf"}, "must have exact sums"),
        ({"label_epsilon": -1.0}, r"label_epsilon=-1\.0 must be"),
        ({"bitsums": [bitsums[0], None]}, "no claims|ExactSum"),
        ({"bitsums": [bitsums[0], {**bitsums[1], "flip_probability": 0.1}]}, "do not keep the epsilon=1"),
        ({"bitsums": [bitsums[0], {**bitsums[1], "users": 10**6}]}, "for as many users"),
        ({"bitsums": [bitsums[0], {"protocol": "local-rr", "users": 30, "flip_probability": 0.4}]}, "must have run rr"),
        ({"notes": ["certified by everybody"]}, "notes must be those of"),
    ):
        save_model(model, path)
        edited(path, changes)
        with pytest.raises(ValueError, match=why):
            load_model(path)
    # What is not proved says so, and stops saying so once it is.
    save_model(model, path)
    unproved = load_model(path, proved=False)
    assert unproved.guarantee_.notes == (*model.guarantee_.notes, NOT_PROVED)
    save_model(unproved, path)
    assert load_model(path).guarantee_ == model.guarantee_


@pytest.mark.long
@pytest.mark.parametrize("bitsum", ["3nb", "pure", "rr"])
def test_what_was_planned_is_proved_again(tmp_path: Path, bitsum: str) -> None:
    model = small(bitsum=bitsum, epsilon="0.7", delta="1e-5", kernel="gaussian")
    save_model(model, tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").guarantee_ == model.guarantee_


@pytest.mark.long
def test_what_is_set_after_the_fit_is_not_written(tmp_path: Path) -> None:
    model, X = small(), blobs(200, 2, 3, 5)[0]
    values = model.decision_function(X)
    model.set_params(public_random_state=7, epsilon=9, label_epsilon=0.1, bandwidth=2.0, rule="density")
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.decision_function(X), values)
    assert again.guarantee_ == model.guarantee_


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.npz"
    model = small()
    save_model(model, path)
    path.chmod(0o600)
    before = path.read_bytes()

    def fails(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError("no space is left")

    with monkeypatch.context() as patched:
        patched.setattr(np, "savez_compressed", fails)
        with pytest.raises(OSError, match="no space"):
            save_model(model, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    save_model(model, path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.long
def test_hostile_headers_are_refused_in_words(tmp_path: Path) -> None:
    """Every byte of a header changed, and other JSON in each place of it: a model, or one sentence."""
    path, rng = tmp_path / "model.npz", np.random.default_rng(0)
    save_model(small(epsilon=math.inf, label_epsilon=math.inf), path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    text = str(arrays["header"])
    header = json.loads(text)
    strange: list[Any] = [None, True, -1, 0, 1e308, 10**400, "", "inf", "nan", [], {}, [[]], ["a"] * 9, math.nan]
    hostile = [text[:at] + chr(rng.integers(32, 127)) + text[at + 1 :] for at in range(len(text))]
    hostile += [json.dumps({**header, name: value}) for name in header for value in strange]
    hostile += [
        json.dumps({**header, "settings": {**header["settings"], name: value}})
        for name in header["settings"]
        for value in strange
    ]
    hostile += [json.dumps({**header, "scale": {**header["scale"], "kind": value}}) for value in strange]
    hostile += [json.dumps(value) for value in strange] + ["[" * 100_000, "{" * 9, "\x00", "1" * 5000]
    other = tmp_path / "other.npz"
    read = 0
    for made in hostile:
        np.savez(other, **{**arrays, "header": np.array(made)})
        try:
            load_model(other)
            read += 1
        except ValueError as error:
            assert "must be a model that dpverify has written (" in str(error)  # noqa: PT017
    assert 0 < read < len(hostile) / 4
    whole = path.read_bytes()
    for at in rng.integers(len(whole), size=300):
        other.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :])
        try:
            load_model(other)
        except ValueError as error:
            assert "must be a model that dpverify has written (" in str(error)  # noqa: PT017
