"""The power of audits over the fault library, and their false alarms on correct implementations.

    python -m benchmarks.audit_faults faults [--messages 2000] [--views 20000] [--only PART]
    python -m benchmarks.audit_faults correct [--audits 1000]

`faults` prints one line per fault; for one that is missed, the number of trials at which it is caught. `correct` counts
false alarms, with the exact binomial bounds that they should be in.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from scipy import stats

from dpverify.audit.bitsum import Implementation, bitsum_subject
from dpverify.audit.engine import audit
from dpverify.audit.outcome import AuditReport
from dpverify.audit.subject import Subject
from dpverify.statistics.family import Verdict
from protocols.bitsum import (
    BitsumProtocol,
    CentralDiscreteLaplace,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from tests.faults import CORRECT_OTHERS, FAULTS, Fault

LEVEL = 0.01
MOST_TRIALS = 2_000_000

CORRECT: tuple[BitsumProtocol, ...] = (
    RandomizedResponse(20, 0.25),
    ThreeNB(20, 0.6, 2.0, 0.5),
    NegativeBinomial(20, 5.0, 0.3),
    Poisson(20, 12.0),
    Pure(20, 0.6, 0.2, 2.0, 0.5),
    CentralDiscreteLaplace(20, 0.6),
)


def audited(fault: Fault, trials: int, seed: int = 0) -> AuditReport:
    return audit(fault.build(), trials=trials, level=LEVEL, seed=seed)


def faults(messages: int, views: int, only: str) -> None:
    start, caught = time.perf_counter(), 0
    chosen = [fault for fault in FAULTS if only in fault.name]
    print(f"{'fault':38} {'trials':>9}  {'verdict':10} {'p-value':>8}  check")
    for fault in chosen:
        trials = views if fault.build().target.batch else messages
        report = audited(fault, trials)
        found = report.verdict is Verdict.VIOLATES
        caught += found
        while report.verdict is not Verdict.VIOLATES and trials < MOST_TRIALS:
            trials *= 2
            report = audited(fault, trials)
        first = report.violations[0] if report.violations else None
        text = f"{first.p_value:8.2g}  {first.check}" if first else f"{'-':>8}  -"
        missed = "" if found else "  (missed with the trials of the others)"
        print(f"{fault.name:38} {trials:9,}  {report.verdict.value:10} {text}{missed}", flush=True)
    seconds = time.perf_counter() - start
    print(f"caught {caught} of {len(chosen)} ({caught / len(chosen):.1%}) at level {LEVEL:g}, {seconds:.0f} s in all")


def correct(audits: int) -> None:
    start = time.perf_counter()
    subjects: list[Callable[[], Subject]] = [
        *(lambda protocol=protocol: bitsum_subject(  # type: ignore[misc]
            protocol, implementation=Implementation.of(protocol, aggregated=True)
        ) for protocol in CORRECT),
        *CORRECT_OTHERS.values(),
    ]  # fmt: skip
    built = [subject() for subject in subjects]
    alarms = 0
    for number in range(audits):
        report = audit(built[number % len(built)], trials=1000, level=LEVEL, seed=number)
        alarms += report.verdict is Verdict.VIOLATES
    # Holm's level is an upper bound, so only too many alarms speak against it.
    most = int(stats.binom.ppf(1.0 - 1e-3, audits, LEVEL))
    seconds = time.perf_counter() - start
    print(f"{alarms} false alarms in {audits} audits at level {LEVEL:g}; at most {most} expected but for 1 in 1,000")
    print(f"{seconds:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    library = commands.add_parser("faults")
    library.add_argument("--messages", type=int, default=2000)
    library.add_argument("--views", type=int, default=20_000)
    library.add_argument("--only", default="")
    commands.add_parser("correct").add_argument("--audits", type=int, default=1000)
    arguments = parser.parse_args()
    if arguments.command == "faults":
        faults(arguments.messages, arguments.views, arguments.only)
    else:
        correct(arguments.audits)


if __name__ == "__main__":
    main()
