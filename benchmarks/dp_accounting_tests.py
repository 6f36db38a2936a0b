"""dp-accounting's own tests of its accountants, run against ours: how many hold, and why not the others.

The tests come with the installed package; nothing is downloaded. `Ours` stands for its accountants in them:

    OMP_NUM_THREADS=1 python -m benchmarks.dp_accounting_tests
"""

from __future__ import annotations

import argparse
import importlib
import math
import unittest
from typing import Any
from unittest import mock

from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant
from rich.console import Console
from rich.table import Table

import dpverify
from dpverify.guarantee import Adjacency, CapacityError

SUITES = {
    "pld": ("dp_accounting.pld.pld_privacy_accountant_test", "dp_accounting.pld.pld_privacy_accountant.PLDAccountant"),
    "rdp": ("dp_accounting.rdp.rdp_privacy_accountant_test", "dp_accounting.rdp.rdp_privacy_accountant.RdpAccountant"),
}
ADJACENCY = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: Adjacency.ADD_REMOVE,
    NeighboringRelation.REPLACE_ONE: Adjacency.REPLACE_ONE,
    NeighboringRelation.REPLACE_SPECIAL: Adjacency.ZERO_OUT,
}
console = Console(highlight=False, width=140)


class Ours(PrivacyAccountant):
    """`dpverify.account` behind dp-accounting's interface: the upper ends of its intervals.

    - *arguments, neighboring_relation, **others: What its own accountants take; all but the relation says how they
      compute, and is not looked at.
    """

    def __init__(self, *arguments: Any, neighboring_relation: NeighboringRelation | None = None, **others: Any) -> None:
        given = [each for each in (*arguments, neighboring_relation) if isinstance(each, NeighboringRelation)]
        super().__init__(given[0] if given else NeighboringRelation.ADD_OR_REMOVE_ONE)
        self._lost = False

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        """Return why an event is refused, of the part that is; None where it is accounted."""
        if do_compose:
            self._lost |= _reveals(event)
            return None
        if isinstance(event, dp_event.ComposedDpEvent):
            refused = (self._maybe_compose(part, 1, False) for part in event.events)
            return next((why for why in refused if why is not None), None)
        if isinstance(event, dp_event.SelfComposedDpEvent):
            return self._maybe_compose(event.event, 1, False)
        if _reveals(event) or _silent(event):
            return None
        try:
            self._account(event, epsilon=1)
        except CapacityError:
            return None
        except (TypeError, ValueError) as error:
            return self.CompositionErrorDetails(event, str(error))
        return None

    def get_epsilon(self, target_delta: float) -> float:
        """Return the upper end of epsilon."""
        return self._answer(target_delta, "delta")

    def get_delta(self, target_epsilon: float) -> float:
        """Return the upper end of delta."""
        return self._answer(target_epsilon, "epsilon")

    def _answer(self, at: float, name: str) -> float:
        if self._lost:
            return math.inf if name == "delta" else 1.0
        if _silent(self.ledger) or at == (1.0 if name == "delta" else math.inf):
            return 0.0
        found = self._account(self.ledger, **{name: at})
        return (found.epsilon if name == "delta" else found.delta).upper

    def _account(self, event: Any, **at: float) -> Any:
        return dpverify.account(event, adjacency=ADJACENCY[self.neighboring_relation], relative_width=1e-5, **at)


def _reveals(event: Any) -> bool:
    """Return whether an event has a part that hides nothing: refused by ours, but not by these tests."""
    noise = (getattr(event, name, 1) for name in ("noise_multiplier", "noise_parameter", "standard_deviation"))
    bare = isinstance(event, dp_event.NonPrivateDpEvent) or 0 in noise
    return not _silent(event) and (bare or any(map(_reveals, _inside(event))))


def _silent(event: Any) -> bool:
    """Return whether nothing is shown."""
    if isinstance(event, dp_event.NoOpDpEvent) or getattr(event, "sampling_probability", 1) == 0:
        return True
    if getattr(event, "num_buckets", 2) == 1 or getattr(event, "sensitivities", [1]) == [0]:
        return True
    return isinstance(event, (dp_event.ComposedDpEvent, dp_event.SelfComposedDpEvent)) and all(
        map(_silent, _inside(event))
    )


def _inside(event: Any) -> list[Any]:
    return list(getattr(event, "events", [])) + ([event.event] if hasattr(event, "event") else [])


def run(suite: str) -> unittest.TestResult:
    """Run one suite against ours."""
    module, accountant = SUITES[suite]
    tests = importlib.import_module(module)
    found = unittest.TestResult()
    with mock.patch(accountant, Ours):
        unittest.defaultTestLoader.loadTestsFromModule(tests).run(found)
    return found


def main() -> None:
    """Print how many tests of each suite hold, and why not the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", default=list(SUITES))
    for suite in parser.parse_args().suites:
        found = run(suite)
        failed = {test.id().partition("Test.")[2]: text for test, text in found.failures + found.errors}
        held = found.testsRun - len(failed) - len(found.skipped)
        console.print(f"{suite}: {held} of {found.testsRun - len(found.skipped)} hold", style="bold")
        table = Table("test", "why not")
        for name, why in failed.items():
            table.add_row(name[:100], why.strip().split("\n")[-1][:110])
        console.print(table)


if __name__ == "__main__":
    main()
