"""From a name to a callable: where it is looked for, and what is left behind if it is not found."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpverify.audit.running.loading import load, parts_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("math:sqrt", ("math", "sqrt")),
        ("package.module:Class.method", ("package.module", "Class.method")),
        ("folder:odd/file.py:f", ("folder:odd/file.py", "f")),
        ("math", ("", "math")),
        ("math:", ("math", "")),
        (":sqrt", ("", "sqrt")),
    ],
)
def test_the_last_colon_parts_a_name(name: str, parts: tuple[str, str]) -> None:
    assert parts_of(name) == parts


def test_a_name_leads_through_attributes() -> None:
    module, found = load("pathlib:Path.home")
    assert module.__name__ == "pathlib"
    assert found() == Path.home()
    with pytest.raises(ImportError, match=r"^type object 'Path' has no attribute 'nowhere'$"):
        load("pathlib:Path.nowhere")


def test_modules_of_the_current_directory_come_last(folder: Path) -> None:
    (folder / "own_audited.py").write_text("f = 1\n")
    (folder / "pathlib.py").write_text("Path = 1\n")
    assert load("own_audited:f")[1] == 1
    assert sys.path[-1] == str(folder)
    assert load("pathlib:Path")[1] is Path
    load("own_audited:f")
    assert sys.path.count(str(folder)) == 1


def test_a_file_is_imported_once_and_finds_its_neighbours(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "neighbour_audited.py").write_text("VALUE = 5\n")
    (folder / "deep" / "start_audited.py").write_text("from neighbour_audited import VALUE\nmade = []\n")
    module, found = load("deep/start_audited.py:made")
    assert module.__name__ == "start_audited"
    assert module.VALUE == 5
    assert load(f"{folder}/deep/../deep/start_audited.py:made")[1] is found
    assert sys.path[0] == str(folder / "deep")


def test_a_file_may_have_the_name_of_a_module_in_use(folder: Path) -> None:
    (folder / "math.py").write_text("import json\ndef sqrt(x): return 'own'\n")
    module, found = load("./math.py:sqrt")
    assert found(4) == "own"
    assert module.__name__.startswith("_math_at_")
    assert load("./math.py:sqrt")[1] is found
    assert load("math:sqrt")[1](4) == 2.0


def test_files_of_one_name_are_told_apart_whatever_their_folders_are_called(folder: Path) -> None:
    for place in ("here", "a_b/c", "a/b_c"):
        (folder / place).mkdir(parents=True)
        (folder / place / "thrice_audited.py").write_text(f"place = {place!r}\n")
    for _ in range(2):
        assert [load(f"{at}/thrice_audited.py:place")[1] for at in ("here", "a_b/c", "a/b_c")] == [
            "here",
            "a_b/c",
            "a/b_c",
        ]


def test_what_is_no_file_is_said(folder: Path) -> None:
    with pytest.raises(ImportError, match=r"^there is no file '\./missing\.py'$"):
        load("./missing.py:f")
    (folder / "data.txt").write_text("f = 1\n")
    with pytest.raises(ImportError, match=r"^'\./data\.txt' must be a Python file, \*\.py$"):
        load("./data.txt:f")


def test_an_import_that_fails_leaves_no_module(folder: Path) -> None:
    (folder / "stops.py").write_text("f = 1\nraise SystemExit(3)\n")
    for _ in range(2):
        with pytest.raises(SystemExit):
            load("./stops.py:f")
    assert "stops" not in sys.modules
