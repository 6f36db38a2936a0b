"""What the documents say, as it stands in files: one folder for each document, one table for each entry.

A table has the fields of `Theorem`. Evidence is `[method, check, what it shows]`, with "slow" behind it where it takes
more than a second. A hypothesis is a range, `x in (0, 1]`, with its source in brackets where it has one; the
place of a formula's own, `package.module:NAME`; or `[name, in words, its parameters, predicate]`.
"""

from __future__ import annotations

import importlib
import math
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Evidence, Kind, Method, Theorem, Verdict

__all__ = ["every", "stated"]

_FOLDER = Path(__file__).parent


@cache
def _file(place: str) -> dict[str, tuple[Theorem, ...]]:
    tables = tomllib.loads((_FOLDER / f"{place}.toml").read_text(encoding="utf-8"))
    return {name: tuple(_theorem(**entry) for entry in entries) for name, entries in tables.items()}


def stated(place: str, name: str) -> tuple[Theorem, ...]:
    """Return the entries of one name in one file: `stated("wagner2025/bitsum", "pure")`."""
    return _file(place)[name]


def every() -> Iterator[Theorem]:
    """Yield all entries of all documents, file by file."""
    for path in sorted(_FOLDER.glob("*/*.toml")):
        for entries in _file(f"{path.parent.name}/{path.stem}").values():
            yield from entries


def _theorem(
    *, kind: str = "claim", verdict: str, concern: str = "text", hypotheses: Any = (), checked_by: Any = (), **said: Any
) -> Theorem:
    return Theorem(
        kind=Kind(kind),
        verdict=Verdict(verdict),
        concern=Concern(concern),
        hypotheses=tuple(each for written in hypotheses for each in _hypotheses(written)),
        checked_by=tuple(Evidence(Method(how), check, shows, not slow) for how, check, shows, *slow in checked_by),
        links=tuple(said.pop("links", ())),
        **said,
    )


def _hypotheses(written: str | list[str]) -> tuple[Hypothesis, ...]:
    if not isinstance(written, str):
        name, says, parameters, predicate = written
        # The files are part of the package, as its code is.
        return (Hypothesis(name, says, eval(f"lambda {parameters}: {predicate}", {"math": math})),)
    if in_range := re.fullmatch(r"(\S+) in ([\[(].*?[\])])(?: \((.*)\))?", written):
        return (within(in_range[1], in_range[2], in_range[3] or ""),)
    module, _, name = written.partition(":")
    found = getattr(importlib.import_module(module), name)
    return (found,) if isinstance(found, Hypothesis) else tuple(found)
