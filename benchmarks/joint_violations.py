"""The long run of `tests/privacy_loss/joint_hunt.py`: joint changes of few bits against exact rational divergences.

    python -m benchmarks.joint_violations --cases 100000 --changes 400 --log joint.log

A log that exists is continued after its last mechanism. Exit status 1 if any bound was violated.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.privacy_loss.joint_hunt import CHANGES, hunt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--changes", type=int, default=CHANGES, help="of every mechanism")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--log", type=Path, default=Path("joint_violations.log"))
    arguments = parser.parse_args()
    done = [line.split() for line in arguments.log.read_text().splitlines()] if arguments.log.exists() else []
    first = 1 + max((int(words[1]) for words in done if words[0] == "mechanism"), default=-1)
    wrong = sum(words[0] == "violation" for words in done)
    started = time.monotonic()
    with arguments.log.open("a") as log:
        last = first
        mechanisms = -(-arguments.cases // arguments.changes)
        for number, line in hunt(mechanisms, arguments.seed, first, arguments.changes):
            if line:
                wrong += 1
                print(f"violation {number}: {line}", file=log, flush=True)
            if number > last:
                print(f"mechanism {last} after {time.monotonic() - started:.0f} s", file=log, flush=True)
                last = number
    print(f"{arguments.cases} cases from seed {arguments.seed}: {wrong} violations")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
