"""How wide accounts are: scans over protocols, users, noise, instances, delta and T^2, as the page docs/widths.md.

    python -m benchmarks.widths          # writes the page: some ten minutes
    python -m benchmarks.widths --only joint

A width is that of the interval of epsilon over its lower end, in per cent, rounded up. `--only` makes one group again
and keeps the others' rows.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dpverify import account
from dpverify.guarantee import CapacityError
from protocols.bitsum import NegativeBinomial, Poisson, RandomizedResponse, ThreeNB

__all__ = ["GROUPS", "KINDS", "PAGE", "Cell", "Setting", "main", "rows_of", "width_of"]

PAGE = Path(__file__).parent.parent / "docs" / "widths.md"
KINDS: dict[str, Any] = {"rr": RandomizedResponse, "nb": NegativeBinomial, "poisson": Poisson, "3nb": ThreeNB}

_FEW, _MANY = (1, 2, 4, 8, 16, 32), (1, 2, 8, 32, 128, 768)
_DELTAS = (1e-12, 1e-6, 1e-2)


class Setting(NamedTuple):
    """One account: protocols with parameters and how often each is used, delta, T^2, and whether in a ball."""

    parts: tuple[tuple[str, tuple[float, ...], int], ...]
    delta: float
    squared_change: float | None = None
    ball: bool = False

    def __str__(self) -> str:
        parts = " + ".join(f"{kind}({', '.join(map(_shown, values))}) x {count}" for kind, values, count in self.parts)
        change = "" if self.squared_change is None else f", T^2 = {_shown(self.squared_change)}"
        return f"{parts}, delta {_shown(self.delta)}{change}{', ball' if self.ball else ''}"

    @classmethod
    def read(cls, text: str) -> Setting:
        """Return the setting that a row of the page names."""
        parts = tuple(
            (kind, tuple(map(float, values.split(", "))), int(count))
            for kind, values, count in re.findall(r"(\w+)\(([^)]*)\) x (\d+)", text)
        )
        found = {name: re.search(rf"{name} ([0-9.e-]+)", text) for name in ("delta", r"T\^2 =")}
        delta, square = (None if match is None else float(match[1]) for match in found.values())
        assert delta is not None
        return cls(parts, delta, square, text.endswith("ball"))


class Cell(NamedTuple):
    """Settings that share a row of the page."""

    group: str
    name: str
    settings: Sequence[Setting]


def _shown(value: float) -> str:
    return f"{value:.6g}".replace("e-0", "e-").replace("e+0", "e")


def _made(kind: str, values: Sequence[float]) -> Any:
    return KINDS[kind](int(values[0]), *values[1:])


def width_of(setting: Setting) -> float | None:
    """Return the relative width in per cent; None where epsilon is 0 or infinite, or the account is refused."""
    days = [(_made(kind, values), count) for kind, values, count in setting.parts]
    try:
        if len(days) > 1:
            found = account(days, delta=setting.delta).epsilon
        else:
            found = account(
                days[0][0],
                instances=days[0][1],
                delta=setting.delta,
                squared_change=setting.squared_change,
                ball=setting.ball,
            ).epsilon
    except CapacityError:
        return None
    if found.upper in (0.0, math.inf):
        return None
    return 100.0 * (found.upper / found.lower - 1.0) if found.lower > 0.0 else math.inf


def _cells() -> Iterator[Cell]:
    responses = {
        "few users": [(4, 0.3), (6, 0.49), (10, 0.49), (12, 0.45), (25, 0.49), (40, 0.1)],
        "n p to 10": [(22, 0.127), (1000, 0.005), (10**6, 1e-5)],
        "n p 10 to 30": [(100, 0.2), (10**5, 1.4e-4), (10**6, 1.87e-5)],
        "n p 30 to 500": [(300, 0.1), (1000, 0.3), (10**5, 1e-3)],
        "n p from 500": [(3000, 0.25), (10**5, 0.1), (10**6, 0.01)],
    }
    for (name, laws), delta, instances in itertools.product(responses.items(), _DELTAS, _MANY):
        yield Cell(
            "rr",
            f"{name}, x {instances}, delta {_shown(delta)}",
            [Setting((("rr", law, instances),), delta) for law in laws],
        )
    for delta, instances in itertools.product((0.05, 0.2, 0.5), _FEW):
        laws = [(4, 0.3), (6, 0.49), (10, 0.2), (22, 0.127), (22, 0.19)]
        yield Cell(
            "rr",
            f"few users, x {instances}, delta {delta}",
            [Setting((("rr", law, instances),), delta) for law in laws],
        )
    noises: dict[str, list[tuple[float, ...]]] = {
        "nb": [(100, 2.0, 0.8), (100, 40.0, 0.98), (100, 10.0, 0.5)],
        "poisson": [(100, 30.0), (100, 300.0), (100, 1e4)],
        "3nb": [(100, 0.984, 10.0, 0.9936), (100, 0.9, 2.0, 0.99)],
    }
    for (kind, parameters), delta, instances in itertools.product(noises.items(), _DELTAS, _MANY):
        every = [Setting(((kind, law, instances),), delta) for law in parameters]
        yield Cell("noise", f"{kind}, x {instances}, delta {_shown(delta)}", every)
    for delta in (1e-6, 0.2):
        some = [
            (("rr", (3, 0.0864), 2), ("poisson", (5, 2.0), 1), ("rr", (5, 0.214), 2)),
            (("rr", (10, 0.1), 4), ("rr", (30, 0.2), 4)),
            (("rr", (1000, 0.1), 8), ("nb", (100, 20.0, 0.9), 8)),
            (("rr", (10**5, 0.001), 8), ("rr", (50000, 0.002), 8)),
        ]
        yield Cell("days", f"days, delta {_shown(delta)}", [Setting(parts, delta) for parts in some])
    changed: dict[str, list[tuple[float, ...]]] = {
        "rr": [(100, 0.2), (10**4, 0.1)],
        "nb": [(100, 40.0, 0.98)],
        "poisson": [(100, 300.0)],
    }
    for (kind, parameters), ball in itertools.product(changed.items(), (False, True)):
        for square in (0.5, 2.0, 8.0):
            every = [
                Setting(((kind, law, count),), delta, square, ball)
                for law in parameters
                for count, delta in ((2, 1e-3), (16, 1e-6), (256, 1e-6))
                if square < count
            ]
            yield Cell("joint", f"{kind}, T^2 = {square}{', ball' if ball else ''}", every)


GROUPS = {
    "rr": "Randomized response",
    "noise": "Noise that does not depend on the data",
    "days": "Days that differ",
    "joint": "Joint changes",
}

_HEAD = """# How wide accounts are

Made by `python -m benchmarks.widths`; a test computes some of the widest again.

Each row is the relative width of the interval of epsilon, in per cent and rounded up, over some settings: its median,
the largest, and where that is found: `rr(n, p)`, `nb(n, r, p)`, `poisson(n, mean)` and `3nb(n, p, s, p')` times the
instances. Settings of which epsilon is 0 or infinite do not count. Where delta is so large that epsilon is far below
the deviation of the loss a relative width says little: delta is known to a few digits more. Seconds are of one core,
for the widest.
"""


def _rounded_up(width: float) -> str:
    """Return two digits, rounded up."""
    if width in (0.0, math.inf):
        return "0" if width == 0.0 else "inf"
    unit = 10.0 ** (math.floor(math.log10(width)) - 1)
    return f"{math.ceil(width / unit * (1.0 - 1e-9)) * unit:.6g}" if width >= 1e-4 else "0.0001"


def _row(cell: Cell) -> str | None:
    found = list[tuple[float, Setting, float]]()
    for setting in cell.settings:
        began = time.process_time()
        width = width_of(setting)
        if width is not None:
            found.append((width, setting, time.process_time() - began))
    if not found:
        return None
    worst = max(found, key=lambda each: each[0])
    median = statistics.median_low([width for width, *_ in found])
    return f"| {cell.name} | {_rounded_up(median)} | {_rounded_up(worst[0])} | `{worst[1]}` | {worst[2]:.1f} |"


def rows_of(page: str) -> list[tuple[float, Setting, float]]:
    """Return the largest width, its setting and the seconds of each row of a page."""
    return [
        (float(cells[3]), Setting.read(cells[4].strip("`")), float(cells[5]))
        for cells in ([cell.strip() for cell in line.split("|")] for line in page.splitlines() if line.startswith("| "))
        if len(cells) == 7 and cells[4].startswith("`")
    ]


def _section(title: str, lines: Iterable[str]) -> str:
    return (
        "\n".join([f"## {title}", "", "| settings | median | widest | at | s |", "|---|---|---|---|---|", *lines])
        + "\n"
    )


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="Scan the widths of accounts and write docs/widths.md.")
    parser.add_argument("--only", choices=[*GROUPS], help="make this group again, and keep the others' rows")
    only = parser.parse_args().only
    known = dict(re.findall(r"## (.*)\n\n((?:\|.*\n)+)", PAGE.read_text("utf-8"))) if only else {}
    sections = list[str]()
    for group, title in GROUPS.items():
        if only in (None, group):
            lines = list[str]()
            for cell in _cells():
                row = _row(cell) if cell.group == group else None
                if row is not None:
                    print(row, flush=True)
                    lines.append(row)
            sections.append(_section(title, lines))
        else:
            sections.append(f"## {title}\n\n{known[title]}")
    PAGE.write_text("\n".join([_HEAD, *sections]), "utf-8")


if __name__ == "__main__":
    main()
