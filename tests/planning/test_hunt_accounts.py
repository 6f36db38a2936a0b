"""A short hunt, the same cases each time; `python -m benchmarks.violations accounts` runs a long one."""

import numpy as np
import pytest

from dpverify.guarantee import Interval
from tests.planning.hunt_accounts import KINDS, checks, epsilons


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] * (kind == "densities")) for kind in KINDS]
)
@pytest.mark.filterwarnings("error")
def test_no_account_misses_the_worst_dataset(kind: str) -> None:
    rngs = [np.random.default_rng((5, case)) for case in range(3)]
    lines = [line for rng in rngs for line in checks(KINDS[kind](rng), rng)]
    assert len(lines) >= 6
    assert not [line for line in lines if line]


def test_an_epsilon_is_checked_on_both_sides() -> None:
    one = KINDS["central-discrete-laplace"](np.random.default_rng(0))
    delta = 1e-3
    found = one.account(delta=delta).epsilon
    assert not any(epsilons(found, delta, one))
    for wrong in (Interval(0.0, found.lower * (1 - 1e-3)), Interval(found.upper * (1 + 1e-3), np.inf)):
        assert any(epsilons(wrong, delta, one))
