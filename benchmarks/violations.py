"""Long hunts for bounds that are wrong: the cases of the tests' short hunts, as many as are asked for.

    python -m benchmarks.violations pairs --cases 100000 --state pairs.json

A case depends on its number and the seed alone: `--first N --cases 1` runs case N again. With `--state`, an interrupted
hunt goes on where it was. Numpy's warnings count as violations, and so does an exception. Exit status 1 if anything is
violated.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.planning import hunt_accounts
from tests.privacy_loss import hunt, hunt_compositions

Checks = Iterator[tuple[str, str]]
"""What was checked, and a line for what is wrong, or an empty one."""

HUNTS: dict[str, Callable[[np.random.Generator, int], Checks]] = {
    "pairs": hunt.case,
    "compositions": lambda rng, _: hunt_compositions.violations(rng),
    "accounts": hunt_accounts.case,
}
_EVERY = 20.0
"""Seconds between two lines of progress."""


@dataclass
class Tally:
    """How far a hunt is, and what it found."""

    hunt: str
    seed: int
    first: int
    cases: int = 0
    checks: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    processor_seconds: float = 0.0

    def save(self, path: Path) -> None:
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(self), indent=1))
        os.replace(part, path)

    def line(self) -> str:
        return (
            f"{self.cases} cases, {sum(self.checks.values())} checks: {len(self.violations)} violations, "
            f"{self.processor_seconds:.0f} processor seconds"
        )


def checked(hunt: str, seed: int, case: int) -> Checks:
    """Yield the checks of one case; an exception is a violation."""
    try:
        yield from HUNTS[hunt](np.random.default_rng((seed, case)), case)
    except Exception as error:  # whatever it is, it is what the hunt is for
        yield "raised", f"{type(error).__name__}: {error}"


def _opened(arguments: argparse.Namespace) -> Tally:
    tally = Tally(arguments.hunt, arguments.seed, arguments.first)
    if arguments.state is None or not arguments.state.exists():
        return tally
    known = Tally(**json.loads(arguments.state.read_text()))
    if (known.hunt, known.seed, known.first) != (tally.hunt, tally.seed, tally.first):
        raise SystemExit(f"--state {arguments.state} is of another hunt: {known.hunt}, seed {known.seed}.")
    return known


def _stop(*_: Any) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hunt", choices=HUNTS)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--state", type=Path, help="file that keeps how far the hunt is")
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    signal.signal(signal.SIGTERM, _stop)
    tally = _opened(arguments)
    checks, before, told = Counter(tally.checks), tally.processor_seconds, time.monotonic()
    try:
        while tally.cases < arguments.cases:
            case = tally.first + tally.cases
            found = list(checked(arguments.hunt, arguments.seed, case))
            checks.update(kind for kind, _ in found)
            for kind, line in found:
                if line:
                    tally.violations.append(f"case {case}, {kind}: {line}")
                    print(tally.violations[-1], flush=True)
            # Only whole cases count, so that one that was interrupted is run again.
            tally.cases, tally.checks = tally.cases + 1, dict(checks)
            tally.processor_seconds = before + time.process_time()
            if time.monotonic() - told > _EVERY:
                told = time.monotonic()
                print(tally.line(), flush=True)
                if arguments.state is not None:
                    tally.save(arguments.state)
    except KeyboardInterrupt:
        print("interrupted")
    for kind, number in checks.items():
        print(f"{kind:24} {number:8} checks")
    print(tally.line(), flush=True)
    if arguments.state is not None:
        tally.save(arguments.state)
    return int(bool(tally.violations))


if __name__ == "__main__":
    sys.exit(main())
