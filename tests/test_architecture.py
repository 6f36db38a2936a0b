"""The architecture as tests: imports run one way, and every protocol has its twin."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

PAIRED_FOLDERS = ("bitsum", "lsq")
"""The folders of `protocols` whose modules have a twin under `dpverify/claims`."""

UNPAIRED = {"__init__", "base", "exact"}
"""No protocol of their own: the package, what all protocols share, and the reference without any privacy."""

GENERAL = frozenset({"protocols.validation", "dpverify.formulas", "dpverify.formulas.contexts"})
"""What the engine and the audits may import although it stands in a package closed to them."""
KNOWS_NO_PROTOCOL = ("claims", "composition", "calibrate", "cli", "report", "formulas")


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


def offending(package: str, forbidden: tuple[str, ...], allowed: frozenset[str] = frozenset()) -> list[str]:
    """Return 'module imports name' for every import of a forbidden package or of something inside one."""
    return [
        f"{module} imports {name}"
        for module in modules(package)
        for name in sorted(set(imports(module)))
        if any(name == root or name.startswith(f"{root}.") for root in forbidden) and name not in allowed
    ]


def test_the_reader_of_imports_sees_them() -> None:
    # Without this, a broken reader would let every rule below pass.
    assert "protocols.validation" in set(imports("protocols.shuffler"))
    assert "dpverify.formulas.composition" in set(imports("dpverify.composition"))
    assert offending("dpverify.composition", ("protocols",)) == ["dpverify.composition imports protocols.validation"]


def clipped(module: str) -> Iterator[str]:
    """Yield every interval of a module whose one end is clipped to the other: a contradiction would be hidden."""
    for node in ast.walk(ast.parse(ALL_MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Interval", "Interval.proved"):
            ends = [ast.dump(argument) for argument in node.args]
            for argument, other in zip(node.args, ends[::-1], strict=True):
                if isinstance(argument, ast.Call) and ast.unparse(argument.func) in ("min", "max"):
                    yield from (f"{module}: {ast.unparse(node)}" for part in argument.args if ast.dump(part) == other)


def test_no_interval_hides_that_its_ends_cross() -> None:
    assert [found for module in ALL_MODULES for found in clipped(module)] == []


def test_protocols_can_be_audited_alone() -> None:
    assert offending("protocols", ("dpverify",)) == []


@pytest.mark.parametrize("package", ["dpverify.privacy_loss", "dpverify.audit"])
def test_engine_and_audit_know_no_protocol(package: str) -> None:
    forbidden = ("protocols", *(f"dpverify.{name}" for name in KNOWS_NO_PROTOCOL))
    assert offending(package, forbidden, GENERAL) == []


def test_reports_draw_rows_and_import_no_claims() -> None:
    assert offending("dpverify.report", ("dpverify.claims",)) == []


def test_formulas_and_composition_know_no_claims() -> None:
    users = ("claims", "calibrate", "audit", "report", "cli")
    forbidden = tuple(f"dpverify.{name}" for name in users)
    assert offending("dpverify.formulas", forbidden) + offending("dpverify.composition", forbidden) == []


PROTOCOLS = [
    (folder, path.stem)
    for folder in PAIRED_FOLDERS
    for path in sorted((ROOT / "protocols" / folder).glob("*.py"))
    if path.stem not in UNPAIRED
]


@pytest.mark.parametrize(("folder", "stem"), PROTOCOLS)
def test_every_protocol_has_its_twin(folder: str, stem: str) -> None:
    twins = (f"dpverify/claims/{folder}/{stem}.py", f"tests/claims/{folder}/test_{stem}.py")
    assert [twin for twin in twins if not (ROOT / twin).is_file()] == []


def test_every_twin_has_its_protocol() -> None:
    claimed = [
        (folder, path.stem)
        for folder in PAIRED_FOLDERS
        for path in sorted((ROOT / "dpverify" / "claims" / folder).glob("*.py"))
        if path.stem not in {"__init__", "base"}
    ]
    assert [pair for pair in claimed if not (ROOT / "protocols" / pair[0] / f"{pair[1]}.py").is_file()] == []
