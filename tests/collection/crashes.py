"""A collector that is killed before its k-th call that writes, for any k: what was acknowledged is in one batch, once.

`python -m tests.collection.crashes [NUMBER]` does so at a hundred, or so many, points from the first to the last.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import random
import signal
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from dpverify.collection.batches import Batches
from dpverify.collection.client import header, largest
from dpverify.collection.manifest import Manifest, manifest
from dpverify.collection.store import Store
from protocols.local.labels import LabelRandomizedResponse

POSSIBLE = sys.platform == "linux" and platform.machine() == "x86_64"
"""Where the system calls have these numbers."""
_WRITES = {
    *(1, 18, 20, 296, 77, 76),  # write, pwrite64, writev, pwritev, ftruncate, truncate
    *(74, 75, 285),  # fsync, fdatasync, fallocate
    *(82, 264, 316, 87, 263, 83, 258, 84, 90, 268),  # names: rename, unlink, mkdir, rmdir, chmod, and those with "at"
}
_TRACEME, _SYSCALL, _OPTIONS, _INFO = 0, 24, 0x4200, 0x420E
_STOPPED_AT_CALL = signal.SIGTRAP | 0x80
USERS, CLASSES, GROUP = 24, 64, 5


def plan() -> Manifest:
    """Return a manifest whose messages tell uploads apart: of two instances, each user has a label of her own."""
    return manifest([("q", LabelRandomizedResponse(CLASSES, 1.0), 2)], delta=0)


def uploads(made: Manifest) -> list[tuple[bytes, bytes]]:
    """Return keys and uploads, of which every one is another."""
    (query,) = made.content["queries"]
    begin, size = header(made.hash, 0, largest(query))
    rng = random.Random(1)
    return [
        (rng.randbytes(16), begin + ((label << 6 | other(label)) << 8 * size - 12).to_bytes(size, "big"))
        for label in range(USERS)
    ]


def other(label: int) -> int:
    """Return what the user with a label has in the second instance."""
    return 63 - label


def collect(folder: Path, made: Manifest, told: int) -> None:
    """Store all uploads, some at a time, and release them; tell each that was acknowledged, and the end."""
    store = Store(folder, made.data, made.hash)
    sent = uploads(made)
    for at in range(0, USERS, GROUP):
        some = sent[at : at + GROUP]
        stored = [at + place for place, wrong in enumerate(store.add(some)) if wrong is None]
        os.write(told, json.dumps(stored).encode() + b"\n")
    store.release("q", least=USERS // 2)
    os.write(told, b"[]\n")


def killed(folder: Path, made: Manifest, before: int | None) -> tuple[set[int], int]:
    """Collect in a process that is killed before a call that writes; return what was acknowledged, and the calls."""
    traced = ctypes.CDLL(None, use_errno=True).ptrace
    traced.argtypes, traced.restype = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p], ctypes.c_long
    reading, telling = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            sys.dont_write_bytecode = True  # or the first of them makes calls that no other one makes
            traced(_TRACEME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
            collect(folder, made, telling)
            status = 0
        finally:
            os._exit(status)
    os.close(telling)
    os.waitpid(child, os.WUNTRACED)
    if traced(_OPTIONS, child, None, 1 | 0x100000):  # calls are told from signals, and the child ends with its tracer
        os.kill(child, signal.SIGKILL)
        raise OSError(ctypes.get_errno(), "no process can be traced here")
    calls, info, passed = 0, ctypes.create_string_buffer(128), 0
    while True:
        traced(_SYSCALL, child, None, passed)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            break
        stopped = os.WSTOPSIG(status)
        passed = 0 if stopped == _STOPPED_AT_CALL else stopped
        if not passed and traced(_INFO, child, 128, info) and info.raw[0] == 1:  # it has not been made yet
            calls += int.from_bytes(info.raw[24:32], "little") in _WRITES
            if calls == before:
                os.kill(child, signal.SIGKILL)
    # One that made fewer calls than the one that was counted has ended, and is held to what it acknowledged.
    assert os.WIFSIGNALED(status) if before and calls >= before else os.WEXITSTATUS(status) == 0
    with os.fdopen(reading) as lines:
        return {place for line in lines for place in json.loads(line)}, calls


def survives(folder: Path, points: Iterable[int]) -> None:
    """Kill collectors of one batch, one after another, and check what the last one releases."""
    made = plan()
    sent = uploads(made)
    acknowledged: set[int] = set()
    for point in points:
        acknowledged |= killed(folder, made, point)[0]
    store = Store(folder, made.data, made.hash)
    # Every second sender tries again what she had no answer to, and all others whatever they had.
    again = [place for place in range(USERS) if place in acknowledged or place % 2]
    answers = store.add([sent[place] for place in again])
    codes = {wrong.status for wrong in answers if wrong is not None}
    assert codes in (set(), {410})  # all of them, or the batch was closed
    acknowledged |= {place for place, wrong in zip(again, answers, strict=True) if wrong is None}
    bad = store.add([(sent[1][0], sent[3][1]), (sent[2][0], sent[2][1][:-1])])
    assert [wrong.status if wrong else 0 for wrong in bad] in ([409, 400], [410, 400])
    target = store.release("q", least=1)
    first = {path.name: path.read_bytes() for path in target.iterdir()}
    assert store.release("q") == target
    assert {path.name: path.read_bytes() for path in target.iterdir()} == first  # it stays as it is
    assert store.add(sent[:1])[0].status == 410
    store.close()
    reader = Batches(made.data, made.hash)
    labels, others = (
        np.concatenate(list(reader.read(target / f"{instance}.batch").fields()))[:, 0].tolist() for instance in (0, 1)
    )
    assert len(set(labels)) == len(labels)  # nothing twice
    assert sorted(map(other, labels)) == sorted(others)
    assert acknowledged <= set(labels) <= set(range(USERS))  # nothing lost, and nothing let in
    left = {path.name for path in folder.iterdir()} - {"uploads.db", "uploads.db-wal", "uploads.db-shm"}
    assert left == {"released", "uploads.db.lock"}
    assert [path.name for path in (folder / "released").iterdir()] == ["0"]


def main(number: int) -> None:
    """Kill at so many points, and then as often two and three collectors of one batch at points drawn by chance."""
    with tempfile.TemporaryDirectory() as folder:
        _, calls = killed(Path(folder) / "whole", plan(), None)
        points = np.unique(np.linspace(1, calls, number).astype(int)).tolist()
        for point in points:
            survives(Path(folder) / f"at-{point}", [point])
        rng = random.Random(1)
        for place in range(number // 5):
            survives(Path(folder) / f"again-{place}", [rng.randrange(1, 60) for _ in range(rng.choice((2, 3)))])
    print(
        f"{len(points)} crashes, of {calls} calls, and {number // 5} batches with several: nothing lost, nothing twice."
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
