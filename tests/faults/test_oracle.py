"""What can be found of the faults at all, by who has learned them, and what cannot."""

import numpy as np
import pytest

from tests.faults import CORRECT_OTHERS, FAULTS
from tests.faults.oracle import between_runs, detectable

BY_NAME = {fault.name: fault for fault in FAULTS}
TOO_SMALL = {"rr-divided-by-participants", "poisson-a-one-twice", "histogram-missing-at-times"}
"""Faults that 200,000 draws do not show in the law of single outputs."""
TOO_RARE = {"nb-queue-of-40", "poisson-table-to-36", "laplace-tail-at-25", "laplace-clipped-at-30"}
PARITY = "poisson-parity-of-run"


@pytest.mark.long
def test_the_law_of_one_run_shows_all_faults_but_those_listed() -> None:
    hidden = {
        fault.name
        for fault in FAULTS
        if fault.detectable is None and fault.build().target.batch
        if not any(detectable(fault, draws) for draws in (2_000, 6_000, 20_000, 100_000))
    }
    assert hidden == TOO_SMALL | TOO_RARE


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(TOO_SMALL))
def test_what_is_too_small_cannot_be_found_by_its_law(name: str) -> None:
    assert not detectable(BY_NAME[name])


@pytest.mark.parametrize(("name", "draws"), [("rr-covert-channel", 2_000), ("rr-2-percent-low", 100_000)])
def test_the_oracle_knows_how_many_draws_a_fault_takes(name: str, draws: int) -> None:
    assert detectable(BY_NAME[name], draws)
    assert not detectable(BY_NAME["rr-2-percent-low"], 500)


@pytest.mark.long
def test_what_shows_between_runs_can_be_found() -> None:
    rng = np.random.default_rng
    for fault in FAULTS:
        if fault.caught_by != "dependence" or fault.name == PARITY or not (subject := fault.build()).target.batch:
            continue
        assert any(
            between_runs(subject.target(dataset.inputs, rng(4), draws, "a run"), lags) > 6.0
            for draws, lags in ((40_000, 12), (150_000, 3))
            for dataset in subject.datasets
        ), fault.name


def test_independent_runs_show_nothing_between_them() -> None:
    subject = CORRECT_OTHERS["buckets"]()
    drawn = subject.target(subject.datasets[0].inputs, np.random.default_rng(4), 40_000, "a run")
    assert between_runs(drawn) < 5.0


def test_a_third_of_the_runs_has_their_parity() -> None:
    subject = BY_NAME[PARITY].build()
    dataset = subject.datasets[0]
    seen = subject.target(dataset.inputs, np.random.default_rng(4), 10_000, "a run")[:, -1]
    odd = (seen.astype(int) + np.arange(seen.size)) % 2
    assert abs(odd.mean() - 0.5) > 0.1  # 20 standard deviations of fair parities
