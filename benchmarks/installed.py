"""What installing dpverify takes: packages and megabytes of each extra beside the plain one, as a Markdown table.

`python -m benchmarks.installed`, where the extras are installed: it adds up what the files of each package take here,
with what pip has compiled of them.
"""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

from benchmarks.sbom import bill

EXTRAS = ("theorems", "report", "aggregate", "serve", "data", "accounting", "test")
ENGINE = ("numpy", "scipy", "mpmath", "python-flint")
COMMANDS = ("typer", "rich", "filelock")
PARTS = ("dpverify", "protocols")
"""Ours, where they are installed by reference."""


def closure(root: str, *extras: str) -> set[str]:
    """Return the names of a distribution and of all that it needs here."""
    listed = bill(root, set(extras))["components"]
    assert isinstance(listed, list)
    return {root, *(one["name"] for one in listed)}


def megabytes(names: set[str]) -> float:
    """Return what the files of distributions take."""
    files = [Path(file.locate()) for name in names for file in distribution(name).files or ()]  # type: ignore[arg-type]
    files += [file for name in names & {"dpverify"} for part in PARTS for file in Path(part).rglob("*")]
    return sum(file.stat().st_size for file in set(files) if file.is_file()) / 1e6


if __name__ == "__main__":
    plain, own = closure("dpverify"), {"dpverify"}
    engine = own.union(*map(closure, ENGINE))
    print("| installed | packages | MB |\n|---|---:|---:|")
    rows = [("the engine", engine), ("the engine and its commands", engine.union(*map(closure, COMMANDS)))]
    for name, found in [*rows, ("`.`", plain), *((f"`.[{extra}]`", closure("dpverify", extra)) for extra in EXTRAS)]:
        print(f"| {name} | {len(found)} | {megabytes(found):,.0f} |")
