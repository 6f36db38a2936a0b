"""What installing dpverify takes: packages and megabytes, plain and with each extra, as a Markdown table.

`python -m benchmarks.installed`, where the extras are installed: it adds up what the files of each package take here,
with what pip has compiled of them.
"""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

from benchmarks.sbom import bill

EXTRAS = (
    "learn",
    "plot",
    "learn,plot",
    "report",
    "accounting",
    "serve",
    "aggregate",
    "theorems",
    "data",
    "all",
    "test",
)
ENGINE = ("numpy", "scipy", "mpmath", "python-flint")
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
    extras = [(f"`'.[{extra}]'`", closure("dpverify", *extra.split(","))) for extra in EXTRAS]
    for name, found in [("the engine", engine), ("`.`", plain), *extras]:
        print(f"| {name} | {len(found)} | {megabytes(found):,.0f} |")
