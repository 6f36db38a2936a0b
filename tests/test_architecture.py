"""The architecture as tests: imports run one way, and every protocol has its twin."""

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

UNPAIRED = {"__init__", "base", "exact_draws", "exact_sum", "frozen", "optional", "shuffler", "streaming", "validation"}
"""No protocol of their own: what several share, and the reference without any privacy."""

LAYERS = (
    "dpverify",
    "dpverify.__main__",
    "dpverify.cli",
    "dpverify.serve",
    "dpverify.report",
    "dpverify.pytest_plugin",
    "dpverify.testing",
    "dpverify.demo",
    "dpverify.reproduction",
    "dpverify.learning",
    "dpverify.dossier",
    "dpverify.audit",
    "dpverify.collection",
    "dpverify.spending",
    "dpverify.planning",
    "dpverify.evidence",
    "dpverify.claims",
    "dpverify.papers",
    "dpverify.statistics",
    "dpverify.certificates",
    "dpverify.composition",
    "dpverify.privacy_loss",
    "dpverify.laws",
    "dpverify.formulas",
    "dpverify.search",
    "dpverify.rounding",
    "dpverify.changes",
    "dpverify.guarantee",
    "dpverify.digits",
    "dpverify.shown",
    "dpverify.files",
    "protocols",
)
"""From the roof down: a module imports from layers below its own, and from its own, never from above."""
GENERAL = frozenset({"protocols.classes.frozen", "protocols.classes.optional", "protocols.validation"})
"""What everything may import although it stands among the protocols."""


def modules(package: str) -> dict[str, Path]:
    """Return the source file of every module of a package (a dotted name), the package included."""
    folder = ROOT.joinpath(*package.split("."))
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else sorted(folder.parent.glob(f"{folder.name}.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


ALL_MODULES = modules("protocols") | modules("dpverify")


def imports(module: str) -> Iterator[str]:
    """Yield the absolute names that a module imports, anywhere in its source, submodules as such."""
    path = ALL_MODULES[module]
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*parts, *([node.module] if node.module else [])])
            for alias in node.names:
                submodule = f"{source}.{alias.name}"
                yield submodule if submodule in ALL_MODULES else source


def room(module: str) -> str:
    """Return the layer that a module belongs to: its package inside dpverify, or `protocols`."""
    parts = module.split(".")
    return "protocols" if parts[0] == "protocols" else ".".join(parts[:2])


def upward(edges: Iterable[tuple[str, str]]) -> list[str]:
    """Return 'module imports name' for every import that does not go down the list of layers."""
    level = {layer: number for number, layer in enumerate(LAYERS)}
    return [
        f"{module} imports {name}"
        for module, name in edges
        if room(module) != room(name) and level[room(name)] <= level[room(module)]
    ]


@functools.cache
def edges() -> list[tuple[str, str]]:
    """Return every import of one of our modules by another."""
    return [
        (module, name)
        for module in ALL_MODULES
        for name in sorted(set(imports(module)))
        if name.split(".")[0] in {"protocols", "dpverify"}
    ]


def test_the_reader_of_imports_sees_them() -> None:
    # Without this, a broken reader would let every rule below pass.
    assert "protocols.validation" in set(imports("protocols.shuffler"))
    assert "dpverify.formulas.composition" in set(imports("dpverify.composition.theorems"))
    assert upward([("dpverify.papers.theorem", "dpverify.cli"), ("dpverify.laws.window", "dpverify.laws")]) == [
        "dpverify.papers.theorem imports dpverify.cli"
    ]


def test_every_module_has_a_layer() -> None:
    assert sorted({room(module) for module in ALL_MODULES} - set(LAYERS)) == []
    assert [layer for layer in LAYERS if not any(room(module) == layer for module in ALL_MODULES)] == []


@pytest.mark.long
def test_every_import_goes_down() -> None:
    assert upward(edges()) == []


def test_what_is_below_the_twins_knows_no_protocol() -> None:
    below = LAYERS[LAYERS.index("dpverify.claims") + 1 : LAYERS.index("protocols")]
    known = [f"{a} imports {b}" for a, b in edges() if room(a) in below and room(b) == "protocols" and b not in GENERAL]
    assert known == []


PROTOCOLS = sorted(
    path.relative_to(ROOT / "protocols").with_suffix("")
    for path in (ROOT / "protocols").rglob("*.py")
    if path.stem not in UNPAIRED
)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
def test_every_protocol_has_its_twin(protocol: Path) -> None:
    """A module, or a package where there is more to say than one module holds, and likewise its tests."""
    twin, tests = ROOT / "dpverify" / "claims" / protocol, ROOT / "tests" / "claims" / protocol
    assert twin.with_suffix(".py").is_file() or (twin / "__init__.py").is_file()
    assert (tests.parent / f"test_{tests.name}.py").is_file() or list(tests.glob("test_*.py"))


def test_every_twin_has_its_protocol() -> None:
    folders = [folder for folder in (ROOT / "protocols").iterdir() if (folder / "__init__.py").is_file()]
    claimed = [
        path.relative_to(ROOT / "dpverify" / "claims")
        for folder in folders
        for path in sorted((ROOT / "dpverify" / "claims" / folder.name).glob("*.py"))
        if path.stem not in {"__init__", "base"}
    ]
    assert len(claimed) > 10
    assert [path for path in claimed if not (ROOT / "protocols" / path).is_file()] == []


def test_every_module_has_its_test_under_the_same_stem() -> None:
    without = set()
    for path in ALL_MODULES.values():
        package, *inner = path.relative_to(ROOT).parts
        folder = ROOT.joinpath("tests", *(["protocols"] if package == "protocols" else []), *inner[:-1])
        if {"papers", "evidence"} & set(inner) or path.stem.startswith("__"):
            continue  # theorems are data, and the test of the entries runs the evidence for them
        if not (folder / f"test_{path.name}").is_file():
            without.add(path.relative_to(ROOT).as_posix())
    assert sorted(without) == []


def test_classes_are_quick_to_import() -> None:
    slow = [
        module
        for module, path in ALL_MODULES.items()
        if re.search(r"^from dataclasses import .*\bdataclass\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert not slow, f"write `from protocols.classes.frozen import dataclass` in {slow}: it is the same, and quicker"


FOLDERS = sorted({path.parent for path in ALL_MODULES.values()})


def test_no_file_is_longer_than_400_lines() -> None:
    files = [path for folder in ("dpverify", "protocols", "tests") for path in (ROOT / folder).rglob("*.py")]
    long = {path.name for path in files if len(path.read_text(encoding="utf-8").splitlines()) > 400}
    # Of learning and of joint changes: this may only shrink.
    assert long <= {"classifier.py", "test_joint_change.py"}


def test_a_folder_has_a_dozen_modules_at_most_and_says_which_question_it_answers() -> None:
    modules_of = {folder: [path for path in ALL_MODULES.values() if path.parent == folder] for folder in FOLDERS}
    assert [folder for folder, held in modules_of.items() if len(held) > 1 + 12] == []
    assert all(ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) for folder in FOLDERS)
