"""What tells an implementation from others: the code of every local module that it uses, and the versions of others."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import platform
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

__all__ = ["code_identity", "described"]

_IMPORTS: dict[tuple[str, str, bool], tuple[str, ...]] = {}
"""What a source imports, by its digest, in which module, and whether that is a package."""
_PLAIN = (str, bytes, int, float, complex, type(None), np.ndarray, np.generic)


def described(function: Callable[..., Any]) -> str:
    """Return the module and name of a callable, with the `repr` of what a method or a partial call is bound to."""
    if isinstance(function, functools.partial):
        held = [*function.args, *(f"{key}={value!r}" for key, value in sorted(function.keywords.items()))]
        shown = (described(value) if inspect.isfunction(value) else str(value) for value in held)
        return f"{described(function.func)}({', '.join(shown)})"
    bound = getattr(function, "__self__", None)
    name = getattr(function, "__qualname__", None)
    if name is None:
        return repr(function)
    if "<locals>" in name and getattr(function, "__closure__", None):
        return f"{function.__module__}.{name} at 0x{id(function):x}"
    return f"{function.__module__}.{name}" + ("" if bound is None or inspect.ismodule(bound) else f" of {bound!r}")


def code_identity(function: Callable[..., Any], *modules: str) -> dict[str, str]:
    """Return a digest of each local module that a callable may use, and the version of each distribution.

    These are its own module, the given ones, and those of what it holds: of bound arguments and captured values, and of
    the classes that they inherit from; and whatever these import, anywhere in their source. Python's version stands for
    the standard library, and that of a distribution for what is installed. Nothing is imported to find out.
    """
    found = {
        "version of python": platform.python_version(),
        "version of numpy": np.__version__,
        "version of dpverify": _version("dpverify"),
    }
    seen: set[str] = set()
    pending = list(modules)
    for held in _held(function, set()):
        module = getattr(held, "__module__", None)
        if isinstance(module, str):
            pending.append(module)
        if (_located(module)[0] if module else None) is None and (code := _own_code(held)):
            found[f"source of {described(held)}"] = code  # of a notebook, or of what was compiled from a string
    while pending:
        name = pending.pop()
        package = name.partition(".")[0]
        if name in seen or package in sys.stdlib_module_names - {"__main__"}:
            continue
        seen.add(name)
        file, _ = _located(name)
        if file is None:
            continue
        if _installed(file):
            distribution = _distribution(package)
            found[f"version of {distribution}"] = _version(distribution)
            continue
        content = file.read_bytes()
        digest = found[f"source of {name}"] = hashlib.sha256(content).hexdigest()
        if file.suffix == ".py":
            known = digest, name, file.stem == "__init__"
            if known not in _IMPORTS:  # to parse a few hundred modules takes a second
                _IMPORTS[known] = tuple(_imports(content, name, is_package=known[2]))
            pending += _IMPORTS[known]
    _located.cache_clear()
    return found


def _held(value: Any, seen: set[int]) -> Iterator[Any]:
    """Yield the functions and classes that a value is made of."""
    if id(value) in seen or isinstance(value, (*_PLAIN, ModuleType)):
        return
    seen.add(id(value))
    inner: list[Any] = []
    if isinstance(value, functools.partial):
        inner = [value.func, value.args, value.keywords]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = list(value)
    elif isinstance(value, Mapping):
        inner = list(value.values())
    elif inspect.ismethod(value):
        inner = [value.__func__, value.__self__]
    elif inspect.isclass(value):
        yield from (base for base in value.__mro__ if base.__module__ != "builtins")
    elif inspect.isroutine(value):
        yield value
        inner = [getattr(value, "__wrapped__", None), getattr(value, "__self__", None)]
        inner += [getattr(value, "__defaults__", None), getattr(value, "__kwdefaults__", None)]
        inner += [cell.cell_contents for cell in getattr(value, "__closure__", None) or () if _filled(cell)]
    else:
        inner = [type(value), getattr(value, "__dict__", None), getattr(value, "__wrapped__", None)]
    for entry in inner:
        yield from _held(entry, seen)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _own_code(held: Any) -> str | None:
    try:
        return hashlib.sha256(inspect.getsource(held).encode()).hexdigest()
    except (TypeError, OSError):
        code = getattr(held, "__code__", None)
        return None if code is None else hashlib.sha256(repr(_compiled(code)).encode()).hexdigest()


def _compiled(code: CodeType) -> list[Any]:
    constants = [
        _compiled(entry) if isinstance(entry, CodeType) else entry if isinstance(entry, _PLAIN) else type(entry)
        for entry in code.co_consts
    ]
    return [code.co_code, code.co_names, code.co_varnames, constants]


@functools.cache
def _located(name: str) -> tuple[Path | None, Sequence[str] | None]:
    """Return the file of a module, and where its submodules are if it is a package; None for what it has not."""
    module = sys.modules.get(name)
    if module is not None:
        file, inside = getattr(module, "__file__", None), getattr(module, "__path__", None)
    else:
        package = name.rpartition(".")[0]
        around = _located(package)[1] if package else None
        specification = None
        if not package or around is not None:
            found = (finder.find_spec(name, around) for finder in sys.meta_path if hasattr(finder, "find_spec"))
            specification = next((one for one in found if one is not None), None)
        if specification is None:
            return None, None  # no module, but a name inside one
        file = specification.origin if specification.has_location else None
        inside = specification.submodule_search_locations
    return (Path(file) if file is not None and Path(file).is_file() else None), inside


def _installed(file: Path) -> bool:
    if {"site-packages", "dist-packages"} & set(file.parts):
        return True
    paths = sysconfig.get_paths()
    folders = [paths["purelib"], paths["platlib"], site.getusersitepackages(), paths["stdlib"], paths["platstdlib"]]
    return any(file.is_relative_to(folder) for folder in folders)


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    from importlib.metadata import packages_distributions

    return packages_distributions()


def _distribution(package: str) -> str:
    return ", ".join(sorted(set(_distributions().get(package, [package]))))


def _version(distributions: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return ", ".join(version(name) for name in distributions.split(", "))
    except PackageNotFoundError:
        return "not installed"


def _imports(content: bytes, module: str, *, is_package: bool) -> Iterator[str]:
    """Yield the names of what a source imports, and those of the packages around that; some may be no modules."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return  # it cannot be imported either
    around = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = around[: len(around) - node.level + 1] if node.level else []
            start = ".".join([*parts, *([node.module] if node.module else [])])
            names = [start, *(f"{start}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", None))
            if called in {"import_module", "__import__"} and node.args and isinstance(node.args[0], ast.Constant):
                names = [str(node.args[0].value)]
        for name in names:
            pieces = name.split(".")
            yield from (".".join(pieces[:length]) for length in range(1, len(pieces) + 1) if pieces[0])
