"""The power of audits over the fault library, their false alarms on correct implementations, and what these pass.

    python -m benchmarks.audit_faults faults [--draws 200000] [--messages 2000] [--only PART]
    python -m benchmarks.audit_faults correct [--audits 2000] [--draws 1000]
    python -m benchmarks.audit_faults slack [--audits 117] [--draws 0] [--limit 60]

Each with `--store FILE` to go on where a run stopped, one JSON line per audit, and `--quick` for a look. `faults`
counts what is found, missed and undecided by kind, and whether it can be found at all (`tests/faults/oracle.py`, and
`BlackBox.power`).
`correct` counts false alarms exactly at the boundary, with the bound that they should keep; `slack` the passes of
correct mechanisms (`correct_mechanisms.py`) that are claimed 10 % more than they need. Black boxes draw until they are
decided, for `--limit` seconds at most, where there are 0 draws. Seconds are of processor time.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy import stats

import dpverify
from benchmarks.correct_mechanisms import CorrectMechanism, mechanisms
from dpverify.audit.engine import audit
from dpverify.audit.subject import Subject
from dpverify.audit.subjects.bitsum import Implementation, bitsum_subject
from dpverify.audit.subjects.mechanisms import local_subject, mean_subject
from dpverify.audit.subjects.rappor import rappor_subject
from protocols.bitsum import (
    BitsumProtocol,
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.local.baselines import CentralLaplaceMean
from protocols.local.labels import LabelRandomizedResponse
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.local.one_bit import OneBitMean
from protocols.local.randomized_response import RandomizedResponseMean
from protocols.rappor.response import Rappor
from protocols.shuffled_mean import ShuffledMean
from tests.faults import (
    BOXES,
    CORRECT_OTHERS,
    FAULTS,
    BlackBox,
    Fault,
)
from tests.faults.oracle import detectable

LEVEL = 0.01
SLACK = 1.1
POWER = 0.95
"""What can be found: by a test of one event that knows the sign, as often as this."""
Record = dict[str, Any]

CORRECT: tuple[BitsumProtocol, ...] = (
    RandomizedResponse(20, 0.25),
    ThreeNB(20, 0.6, 2.0, 0.5),
    NegativeBinomial(20, 5.0, 0.3),
    Poisson(20, 12.0),
    Pure(20, 0.6, 0.2, 2.0, 0.5),
    CentralDiscreteLaplace(20, 0.6),
    CentralDiscreteGaussian(20, 2.0),
)
LOCAL = (LabelRandomizedResponse(5, 1.0), RandomizedResponseMean(1.0, 3), OneBitMean(1.0), DiscreteLaplaceMean(1.0))
MEANS = (CentralLaplaceMean(9, 0.7, 2.0), ShuffledMean(12, 0.4))


@dataclass(frozen=True)
class Work:
    """One audit to be done: the key it is stored under, and what does it."""

    key: str
    fields: Record
    audited: Callable[[], Any]
    detectable: Callable[[], bool] | None = None


def done(works: Iterable[Work], store: Path | None) -> Iterator[Record]:
    """Yield the record of each, from the store where it is there, and else after its audit."""
    lines = store.read_text().splitlines() if store is not None and store.exists() else []
    stored = {record["key"]: record for record in map(json.loads, lines)}
    for work in works:
        if work.key in stored:
            yield stored[work.key]
            continue
        start = time.process_time()
        try:
            report = work.audited()
            verdict = report.verdict.value
            check = report.violations[0].check if report.violations else ""
        except Exception as error:  # a fault that makes an audit fail is a finding about the audit
            verdict, check = "error", f"{type(error).__name__}: {error}"[:200]
        record = {"key": work.key, **work.fields, "verdict": verdict, "check": check}
        record["seconds"] = round(time.process_time() - start, 2)
        if work.detectable is not None:
            record["detectable"] = verdict == "violates" or work.detectable()
        if store is not None:
            with store.open("a") as file:
                file.write(json.dumps(record) + "\n")
        yield record


def of_box(
    box: BlackBox | CorrectMechanism, claim: Any, draws: int, seed: int = 0, limit: float = 60.0
) -> Callable[[], Any]:
    how: Any = {"trials": draws} if draws else {"seconds": limit}
    return lambda: dpverify.audit_mechanism(box.target, claim, box.pair, level=LEVEL, seed=seed, **how)


def of_subject(build: Callable[[], Subject], draws: int, seed: int = 0) -> Callable[[], Any]:
    return lambda: audit(build(), trials=draws, level=LEVEL, seed=seed)


def fault_works(draws: int, messages: int, only: str) -> Iterator[Work]:
    """Yield an audit of each fault; last, and with fewer draws, of what runs message by message."""
    chosen = [fault for fault in FAULTS if only in fault.name]
    batch = {fault.name: fault.build().target.batch for fault in chosen}
    yield from (_fault_work(fault, draws) for fault in chosen if batch[fault.name])
    for box in BOXES:
        if only in box.name:
            fields = {"name": box.name, "kind": box.kind, "draws": draws}
            audited = of_box(box, box.claim, draws)
            yield Work(f"{box.name} {draws}", fields, audited, functools.partial(_findable, box, draws))
    yield from (_fault_work(fault, messages) for fault in chosen if not batch[fault.name])


def _findable(box: BlackBox, draws: int) -> bool:
    return box.power(draws) >= POWER


def _fault_work(fault: Fault, draws: int) -> Work:
    fields = {"name": fault.name, "kind": fault.protocol, "draws": draws}
    return Work(f"{fault.name} {draws}", fields, of_subject(fault.build, draws), lambda: detectable(fault))


def faults(works: Iterable[Work], store: Path | None) -> None:
    table: dict[str, list[Record]] = {}
    for record in done(works, store):
        table.setdefault(record["kind"], []).append(record)
        missed = record["verdict"] != "violates"
        remark = "" if not missed else "  missed" if record["detectable"] else "  cannot be found"
        print(
            f"{record['name']:34} {record['draws']:8,} {record['verdict']:10} {record['seconds']:6.1f} s  "
            f"{record['check']}{remark}",
            flush=True,
        )
    print(f"\n{'kind':30} {'faults':>6} {'found':>6} {'passed':>6} {'undec.':>6} {'cannot':>6} {'s':>6}")
    for kind, records in sorted(table.items()):
        _count(kind, records)
    _count("all", list(itertools.chain(*table.values())))


def _count(kind: str, records: list[Record]) -> None:
    possible = [record for record in records if record["detectable"]]
    found = [record for record in possible if record["verdict"] == "violates"]
    passed = sum(record["verdict"] == "consistent" for record in possible)
    share = f"  {len(found) / len(possible):.1%} of what can be found" if kind == "all" and possible else ""
    print(
        f"{kind:30} {len(records):6} {len(found):6} {passed:6} {len(possible) - len(found) - passed:6} "
        f"{len(records) - len(possible):6} {sum(record['seconds'] for record in records):6.0f}{share}"
    )


def _same(subject: Subject) -> Subject:
    return subject


def correct_works(audits: int, draws: int) -> Iterator[Work]:
    """Yield audits of correct implementations in turn, black boxes at exactly what they keep."""
    protocols = {
        repr(protocol): bitsum_subject(protocol, implementation=Implementation.of(protocol, aggregated=True))
        for protocol in CORRECT
    }
    others = {name: build() for name, build in CORRECT_OTHERS.items()}
    local = {repr(reference): local_subject(reference) for reference in (*LOCAL, LaplaceMean(1.0))}
    means = {repr(reference): mean_subject(reference) for reference in MEANS}
    rappor = {"rappor": rappor_subject(Rappor(16, 2, cohorts=3, f=0.5, p=0.3, q=0.7, reports=5))}
    known = [("known law", *entry) for entry in {**protocols, **others, **local, **means, **rappor}.items()]
    turns = itertools.cycle([*known, *(("black box", box.name, box) for box in mechanisms())])
    for number, (kind, name, what) in zip(range(audits), turns, strict=False):
        audited = (
            of_box(what, what.claim(1.0), draws, number)
            if isinstance(what, CorrectMechanism)
            else of_subject(functools.partial(_same, what), draws, number)
        )
        yield Work(f"correct {name} {draws} {number}", {"name": name, "kind": kind, "draws": draws}, audited)


def slack_works(audits: int, draws: int, limit: float) -> Iterator[Work]:
    for number, box in zip(range(audits), itertools.cycle(mechanisms()), strict=False):
        fields = {"name": box.name, "kind": "black box", "draws": draws}
        audited = of_box(box, box.claim(SLACK), draws, number, limit)
        yield Work(f"slack {box.name} {draws} {number}", fields, audited)


def verdicts(works: Iterable[Work], store: Path | None) -> None:
    """Print how many of correct implementations were refuted, passed, and left undecided, by name."""
    table: dict[tuple[str, str], list[Record]] = {}
    for record in done(works, store):
        table.setdefault((record["kind"], record["name"]), []).append(record)
    kinds: dict[str, list[Record]] = {}
    for (kind, name), records in table.items():
        kinds.setdefault(kind, []).extend(records)
        _verdicts(f"{name[:60]}", records)
    print()
    for kind, records in kinds.items():
        _verdicts(f"all, {kind}", records)
    everything = [record for records in kinds.values() for record in records]
    _verdicts("all", everything)
    # A level is an upper bound, so only too many alarms speak against it.
    most = int(stats.binom.ppf(1.0 - 1e-3, len(everything), LEVEL))
    print(f"at level {LEVEL:g} more than {most} false alarms are found in 1 of 1,000 such runs at most")


def _verdicts(name: str, records: list[Record]) -> None:
    counts = dict.fromkeys(("violates", "consistent", "undecided", "error"), 0)
    for record in records:
        counts[record["verdict"]] += 1
    seconds = sum(record["seconds"] for record in records) / len(records)
    shown = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    print(f"{name:62} {len(records):5} audits: {shown}; {seconds:.2f} s each", flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, audits, draws in (("faults", 0, 200_000), ("correct", 2000, 1000), ("slack", len(mechanisms()), 0)):
        command = commands.add_parser(name)
        command.add_argument("--draws", type=int, default=draws)
        command.add_argument("--store", type=Path, default=None)
        command.add_argument("--quick", action="store_true", help="a few audits of few draws")
        if name == "faults":
            command.add_argument("--messages", type=int, default=2000)
            command.add_argument("--only", default="")
        else:
            command.add_argument("--audits", type=int, default=audits)
            command.add_argument("--limit", type=float, default=60.0)
    given = parser.parse_args(arguments)
    draws = min(given.draws or 2000, 2000) if given.quick else given.draws
    if given.command == "faults":
        works = fault_works(draws, 100 if given.quick else given.messages, given.only)
        faults(itertools.islice(works, 0, None, 60) if given.quick else works, given.store)
    else:
        audits = min(given.audits, 5) if given.quick else given.audits
        correct = given.command == "correct"
        verdicts(correct_works(audits, draws) if correct else slack_works(audits, draws, given.limit), given.store)


if __name__ == "__main__":
    main()
