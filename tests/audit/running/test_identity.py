"""A checkpoint is that of the code that drew it: of all of it."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dpverify.audit.running.checkpoint import CheckpointError
from dpverify.audit.running.identity import code_identity
from dpverify.audit.running.runner import Trials, run
from dpverify.audit.running.target import Target

DATASETS = [np.array([0, 0, 1]), np.array([0, 1, 1])]

SOURCES = {
    "start.py": "import json, numpy\nfrom parts import first\ndef f(bits, rng):\n    from lazy import shift\n"
    "    return first.scale() * rng.normal() + shift + bits.sum()\n",
    "parts/__init__.py": "AROUND = 1\n",
    "parts/first.py": "from . import second\nfrom .deep.third import T\ndef scale(): return second.SCALE * T\n",
    "parts/second.py": "SCALE = 1.0\n",
    "parts/deep/__init__.py": "",
    "parts/deep/third.py": "import importlib\nT = importlib.import_module('named').N\n",
    "lazy.py": "shift = 0.0\n",
    "named.py": "N = 1.0\n",
    "unused.py": "",
    "exits.py": "import sys; sys.exit(0)\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, source in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    _forget(before)


def _forget(before: set[str]) -> None:
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {Path(source).parts[0].removesuffix(".py") for source in SOURCES}:
            del sys.modules[name]
    for finder in sys.path_importer_cache.values():
        if finder is not None:
            finder.invalidate_caches()


def identity(name: str = "start:f") -> dict[str, str]:
    before = set(sys.modules)
    try:
        return Target(name).identity()
    finally:
        _forget(before)


@pytest.mark.parametrize("name", ["start:f", "./start.py:f"])
def test_every_local_module_counts_and_no_other(project: Path, name: str) -> None:
    before = identity(name)
    used = {Path(source).with_suffix("") for source in SOURCES} - {Path("unused"), Path("exits")}
    modules = {".".join(source.parts).removesuffix(".__init__") for source in used}
    assert {key for key in before if key.startswith("source of")} == {f"source of {module}" for module in modules}
    for source in SOURCES:
        file = project / source
        file.write_text(SOURCES[source] + "# another\n")
        changed = {key for key, value in identity(name).items() if before.get(key) != value}
        module = ".".join(Path(source).with_suffix("").parts).removesuffix(".__init__")
        assert changed == ({f"source of {module}"} if module in modules else set())
        file.write_text(SOURCES[source])
    assert identity(name) == before
    assert before["version of numpy"] == np.__version__
    assert "version of dpverify" in before


def test_looking_at_imports_runs_none_of_them(project: Path) -> None:
    (project / "start.py").write_text("def f(bits, rng):\n    import exits\n")
    assert "source of exits" in identity()


class Base:
    spread = 1.0


class Noise(Base):
    def __call__(self, bits: np.ndarray, rng: np.random.Generator, factor: float = 1.0) -> float:
        return float(rng.normal() * self.spread * factor)


def test_what_a_callable_holds_counts(project: Path) -> None:
    before = set(sys.modules)
    Target("start:f").load()
    from lazy import shift  # type: ignore[import-not-found]

    assert shift == 0.0
    namespace: dict[str, Any] = {"__name__": "parts.second", "Noise": Noise}
    exec("class Sub(Noise):\n    spread = 2.0\n", namespace)
    held: list[Callable[..., Any]] = [
        namespace["Sub"](),
        partial(lambda bits, rng, noise: 0.0, noise=namespace["Sub"]()),
        namespace["Sub"]().__call__,
        partial(lambda bits, rng, noise: 0.0, noise=[{"a": (namespace["Sub"],)}]),
    ]
    for function in held:
        found = code_identity(function)
        assert {"source of parts.second", f"source of {__name__}"} <= set(found)
    _forget(before)


def trials(name: str = "start:f") -> Trials:
    return Trials(Target(name), DATASETS, trials=60, seed=3, block_size=40)


@pytest.mark.long
def test_a_changed_helper_is_noticed_on_resuming(project: Path) -> None:
    file = project / "kept.npz"
    run(trials(), timeout=60, checkpoint=file)
    before = file.read_bytes()
    (project / "parts" / "second.py").write_text("SCALE = 2.0\n")
    with pytest.raises(CheckpointError, match=r"another source of parts\.second; it is left as it is"):
        run(trials(), timeout=60, checkpoint=file)
    assert file.read_bytes() == before


def test_a_changed_file_that_no_one_imports_shows_in_a_block_drawn_again(project: Path) -> None:
    (project / "scale.txt").write_text("1")
    (project / "start.py").write_text("def f(bits, rng): return rng.normal() * float(open('scale.txt').read())\n")
    file = project / "kept.npz"
    drawn = run(trials(), timeout=60, checkpoint=file)
    before = file.read_bytes()
    assert_array_equal(run(trials(), timeout=60, checkpoint=file), drawn)
    (project / "scale.txt").write_text("1.0000001")
    with pytest.raises(CheckpointError, match=r"holds other outputs than target='start:f' gives now in trials \[40, 6"):
        run(trials(), timeout=60, checkpoint=file)
    assert file.read_bytes() == before


def test_a_changed_file_shows_where_it_concerns_one_dataset_only(project: Path) -> None:
    (project / "shift.txt").write_text("0")
    (project / "start.py").write_text(
        "def f(bits, rng): return rng.normal() + (0 if bits.any() else float(open('shift.txt').read()))\n"
    )
    file, some = project / "kept.npz", Trials(Target("start:f"), [np.zeros(2), np.ones(2)], 60, block_size=40)
    run(some, timeout=60, checkpoint=file)
    (project / "shift.txt").write_text("1")
    with pytest.raises(CheckpointError, match=r"gives now in trials \[40, 60\) of dataset 0"):
        run(some, timeout=60, checkpoint=file)
