"""The figures that findings quote, as they were last computed: one JSON file beside each module of evidence.

Listing the theorems must not compute anything, and no figure may be typed into a sentence by hand. So checks return
figures by name, `dpverify theorems check --record` writes them down, and every later run compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

__all__ = ["Figure", "filled", "names_in", "record", "recorded"]

Figure = float | int | str
FOLDER = Path(__file__).parent.parent / "evidence"


@cache
def _file(module: str) -> dict[str, dict[str, Figure]]:
    path = FOLDER / f"{module}.json"
    found: dict[str, dict[str, Figure]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def recorded(check: str) -> Mapping[str, Figure]:
    """Return the figures of a check, `module:function`, when it was last recorded; none if it never was."""
    module, _, function = check.partition(":")
    return _file(module).get(function, {})


def record(results: Mapping[str, Mapping[str, Figure]]) -> None:
    """Write down the figures of these checks, and leave those of all others as they are."""
    for module in sorted({check.partition(":")[0] for check in results}):
        known = dict(_file(module))
        known |= {check.partition(":")[2]: dict(f) for check, f in results.items() if check.partition(":")[0] == module}
        text = json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        (FOLDER / f"{module}.json").write_text(text, encoding="utf-8")
    _file.cache_clear()


def names_in(template: str) -> frozenset[str]:
    """Return the names of figures in a template."""
    return frozenset(name for _, name, _, _ in Formatter().parse(template) if name)


class _Figures(dict[str, Any]):
    def __missing__(self, name: str) -> _Unknown:
        return _Unknown()


class _Unknown:
    def __format__(self, spec: str) -> str:
        return "(not computed yet)"


def filled(template: str, figures: Mapping[str, Figure]) -> str:
    """Return a template with its figures in place: `{delta:.2e}` is figure `delta`, rounded."""
    return template.format_map(_Figures(figures))
