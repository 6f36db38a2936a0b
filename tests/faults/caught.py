"""Which faults audits are asked to find here, with how many trials, and whether they do."""

import itertools
from collections.abc import Iterator

from dpverify.audit.engine import audit
from dpverify.statistics.family import Verdict
from tests.faults import FAULTS, Fault

__all__ = ["LEVEL", "MORE", "SMALL", "audited", "is_caught"]

MESSAGES, VIEWS = 150, 2_000
LEVEL = 0.05
"""Larger than the 0.01 of `benchmarks/audit_faults.py`, as permutation tests at a small level take long."""
OF_A_KIND = {True: 1, False: 2}
"""Faults of one protocol that one check should see and that are audited here, of bitsums or not: `test_oracle.py` looks
at the law of each, and `benchmarks/audit_faults.py` audits all."""
MORE = {"rr-flips-sent-twice": 200, "gaussian-tail-at-5": 50_000, "laplace-tail-at-12": 50_000, "mean-clipped": 50_000}
"""Faults that are audited besides, with so many trials."""
SMALL = {
    "rr-256-runs", "rr-drifting", "rr-in-turn", "rr-naive-shuffle", "rr-at-times-unshuffled", "rr-sixteen-orders",
    "rr-shuffle-stops-early", "3nb-uneven-shares", "nb-last-without-noise", "poisson-delegate",
    "3nb-scale-5-percent-low", "pure-drops-remembered", "gaussian-rounded", "gaussian-tail-at-5",
    "gaussian-mirrored-at-times", "gaussian-of-two-sigmas", "selection-after-clipping",
    "hadamard-flips-10-percent-rarer", "labels-epsilon-5-percent-high", "labels-two-versions",
    "discrete-laplace-mean-rounded", "mean-mirrored-at-times", "rappor-f-10-percent-low",
}  # fmt: skip
"""Faults that so few trials do not find."""


def audited(bitsums: bool) -> list[Fault]:
    """Return the first faults of each protocol that each check should see: of bitsums and shufflers, or of others."""
    return [fault for fault in dict.fromkeys(_audited(bitsums)) if (fault.protocol in _BITSUMS) is bitsums]


_BITSUMS = {"rr", "shuffler", "3nb", "nb", "poisson", "pure", "central-discrete-laplace", "central-discrete-gaussian"}


def _audited(bitsums: bool) -> Iterator[Fault]:
    for _, faults in itertools.groupby(sorted(FAULTS, key=_kind), _kind):
        yield from itertools.islice((fault for fault in faults if fault.name not in SMALL), OF_A_KIND[bitsums])
    yield from (fault for fault in FAULTS if fault.name in MORE)


def _kind(fault: Fault) -> tuple[str, str]:
    return fault.protocol, fault.caught_by


def is_caught(fault: Fault) -> bool:
    """Return whether an audit finds a violation by the check that should."""
    subject = fault.build()
    trials = MORE.get(fault.name, VIEWS if subject.target.batch else MESSAGES)
    report = audit(subject, trials=trials, level=LEVEL, seed=1)
    checks = {result.check.replace(",", " ").split()[0] for result in report.violations}
    return report.verdict is Verdict.VIOLATES and fault.caught_by in checks and report.exit_code == 1
