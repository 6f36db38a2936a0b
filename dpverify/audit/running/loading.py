"""From the name of a callable, 'module:callable' or 'path/to/file.py:callable', to the callable."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["load", "parts_of"]


def parts_of(name: str) -> tuple[str, str]:
    """Return the module, or its file, and the path inside it; either is empty where it is missing."""
    module, _, path = name.rpartition(":")  # the last colon: a file's name may hold others
    return module, path


def load(name: str) -> tuple[ModuleType, Any]:
    """Return what a name says, and the module that it was looked up in.

    Modules are found in the current directory too, and next to a file that is named.

    Raises ImportError if there is no such module, file or name in it. Raises BaseException: Whatever the import raises.
    """
    source, path = parts_of(name)
    if source.endswith(".py") or "/" in source or "\\" in source:
        module = _from_file(source)
    else:
        # A console script, unlike `python -m`, does not look for modules where it was started.
        _look_in(Path.cwd(), len(sys.path))
        module = importlib.import_module(source)
    found: Any = module
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise ImportError(str(error)) from None
    return module, found


def _look_in(folder: Path, place: int) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(place, str(folder))


def _from_file(source: str) -> ModuleType:
    """Import a file as `python file.py` does: what stands next to it comes first."""
    file = Path(source).resolve()
    if not file.is_file():
        raise ImportError(f"there is no file {source!r}")
    name = file.stem
    while (known := sys.modules.get(name)) is not None:
        if Path(getattr(known, "__file__", None) or ".").resolve() == file:
            return known
        name = f"_{name}_at_{'_'.join(file.parent.parts[1:])}"  # a file may be called like a module that is in use
    specification = importlib.util.spec_from_file_location(name, file)
    if specification is None or specification.loader is None:
        raise ImportError(f"{source!r} must be a Python file, *.py")
    _look_in(file.parent, 0)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
