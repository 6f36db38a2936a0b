"""The long run of `tests/privacy_loss/hunt.py`: every pair, its parameters down to 1e-300, against exact arithmetic.

    python -m benchmarks.pair_violations --cases 100000

Exit status 1 if any interval misses the truth.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.privacy_loss.hunt import KINDS, hunt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    arguments = parser.parse_args()
    checks: Counter[str] = Counter()
    violated: Counter[str] = Counter()
    for case, kind, line in hunt(arguments.cases, arguments.seed, arguments.kinds):
        checks[kind] += 1
        if line:
            violated[kind] += 1
            print(f"case {case}: {line}", flush=True)
    for kind in arguments.kinds:
        print(f"{kind:20} {checks[kind]:8} checks, {violated[kind]} violations")
    print(f"{arguments.cases} cases, {checks.total()} checks: {violated.total()} violations")
    return int(violated.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
