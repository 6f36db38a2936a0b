"""Finished trials on disk: all of them or those of before, and nothing else is believed."""

import errno
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dpverify.audit.running import checkpoint as checkpoint_module
from dpverify.audit.running.checkpoint import Checkpoint, CheckpointError
from dpverify.audit.running.packed import Packed

BLOCKS = {
    key: Packed.of(rows) for key, rows in {(0, 0): np.arange(40.0), (1, 0): np.arange(20.0).reshape(10, 2)}.items()
}


@pytest.fixture
def keep(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "kept.npz", {"target": "a name", "seed": "7"})


def test_what_was_saved_is_loaded(keep: Checkpoint) -> None:
    assert Checkpoint(keep.path, dict(reversed(keep.configuration.items()))).digest == keep.digest
    assert keep.load() == {}
    keep.save(BLOCKS)
    found = keep.load()
    assert found.keys() == BLOCKS.keys()
    for key, packed in found.items():
        outputs = packed.array()
        assert outputs.dtype == np.float64
        assert_array_equal(outputs, BLOCKS[key].array())
    keep.save({})
    assert keep.load() == {}


def test_no_change_of_a_checkpoint_passes(keep: Checkpoint) -> None:
    keep.save(BLOCKS)
    whole = keep.path.read_bytes()
    chosen = random.Random(5)
    refused = 0
    for _ in range(1000):
        damaged = bytearray(whole)
        for _ in range(chosen.choice([1, 1, 3])):
            damaged[chosen.randrange(len(damaged))] ^= 1 << chosen.randrange(8)
        if chosen.random() < 0.2:
            del damaged[chosen.randrange(len(damaged)) :]
        keep.path.write_bytes(damaged)
        try:
            found = keep.load()
        except CheckpointError:
            refused += 1
            continue
        assert found.keys() == BLOCKS.keys()  # it was a bit that means nothing
        for key, packed in found.items():
            outputs = packed.array()
            assert_array_equal(outputs, BLOCKS[key].array())
    assert refused > 500


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", None])
def test_a_damaged_file_is_refused_and_kept(keep: Checkpoint, content: bytes | None) -> None:
    keep.save(BLOCKS)
    damaged = keep.path.read_bytes()[:300] if content is None else content
    keep.path.write_bytes(damaged)
    said = r"^checkpoint='.*kept\.npz' is damaged or no checkpoint of an audit \(\w+\); it is left as it is: "
    with pytest.raises(CheckpointError, match=said):
        keep.load()
    assert keep.path.read_bytes() == damaged


def test_edited_outputs_and_headers_are_refused(keep: Checkpoint) -> None:
    keep.save(BLOCKS)
    with np.load(keep.path) as stored:
        arrays = dict(stored)
    arrays["0_0"] = arrays["0_0"] + 1.0
    np.savez(keep.path, **arrays)
    with pytest.raises(CheckpointError, match="is damaged: its blocks are not those that were written"):
        keep.load()
    header = json.loads(str(arrays["header"]))
    for changed in ([], {}, {**header, "configuration": []}, {**header, "content": 3}):
        np.savez(keep.path, **{**arrays, "header": np.array(json.dumps(changed))})
        with pytest.raises(CheckpointError, match="is damaged"):
            keep.load()


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"target": "a name", "seed": "8"}, "seed;"),
        ({"target": "another"}, "seed, target;"),
        ({"seed": "7"}, "target;"),
        ({"target": "a name", "seed": "7", "a": "", "b": "", "c": "", "d": "", "e": "", "f": ""}, "a, b, c, d and 2 "),
    ],
)
def test_what_differs_is_named(keep: Checkpoint, other: dict[str, str], named: str) -> None:
    keep.save(BLOCKS)
    before = keep.path.read_bytes()
    with pytest.raises(CheckpointError, match=rf"belongs to an audit with another {named}"):
        Checkpoint(keep.path, other).load()
    assert keep.path.read_bytes() == before


def test_another_format_is_refused(keep: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    keep.save(BLOCKS)
    monkeypatch.setattr(checkpoint_module, "_FORMAT", "dpverify audit checkpoint 3")
    with pytest.raises(CheckpointError, match="belongs to an audit with another format;"):
        keep.load()


@pytest.mark.parametrize("earlier", [True, False])
def test_a_full_disk_leaves_what_was_there(keep: Checkpoint, monkeypatch: pytest.MonkeyPatch, earlier: bool) -> None:
    if earlier:
        keep.save(BLOCKS)
    before = keep.path.read_bytes() if earlier else b""

    def full(archive: Any, *_: Any, **__: Any) -> None:
        archive.writestr("half", b"of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checkpoint_module, "_write", full)
    kept = "the earlier checkpoint is intact" if earlier else "there is none yet"
    with pytest.raises(CheckpointError, match=rf"cannot be written: No space left on device; {kept}\.$"):
        keep.save({(0, 0): Packed.of(np.zeros(3))})
    assert [path.name for path in keep.path.parent.iterdir()] == (["kept.npz"] if earlier else [])
    assert not earlier or keep.path.read_bytes() == before


def test_the_file_is_whole_before_it_has_its_name(keep: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    for name in ("fsync", "replace"):
        exact = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, exact=exact: (order.append(name), exact(*a))[1])
    keep.save(BLOCKS)
    assert order == ["fsync", "replace", "fsync"]  # the contents, then the name, then the folder that holds it


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"cannot be written: No such file or directory; there is none yet\.$"):
        Checkpoint(tmp_path / "nowhere" / "kept.npz", {}).save(BLOCKS)
