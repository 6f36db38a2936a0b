"""Accuracy by budget, kernel, bitsum and label budget."""

import dataclasses

import numpy as np
import pytest

from dpverify.reproduction import accuracy
from dpverify.reproduction.experiment import Reproduction, find_experiments
from tests.reproduction.small import small_setting


@pytest.fixture(autouse=True)
def few_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let more runs share a plan: they differ in how many users report the smallest class."""
    planned = accuracy._planned
    monkeypatch.setattr(accuracy, "_planned", lambda *setting: planned(*setting[:-1], max(setting[-1] // 64, 1) * 64))


def made(name: str) -> Reproduction:
    (experiment,) = find_experiments(name)
    return experiment.run(small_setting())


@pytest.mark.long
@pytest.mark.parametrize("name", ["wagner2025-figure-4", "wagner2025-table-2"])
def test_rows_have_one_shape_and_findings_are_judged_by_them(name: str) -> None:
    found = made(name)
    assert len({tuple(row) for row in found.rows}) == 1
    assert all(row["accuracy"] is None or 0 <= row["accuracy"] <= 1 for row in found.rows)
    assert len(found.findings) == 3
    assert found.panels
    joint = [row["accuracy"] for row in found.rows if row["accounting"] == "joint"]
    assert max(joint) > 0.5
    judged = {finding.holds for finding in found.findings}
    assert judged <= {True, False, None}
    assert sum("In the source: " in note and "Here: few digits, n = " in note for note in found.notes) == 1


@pytest.mark.parametrize("name", ["wagner2025-figure-4", "wagner2025-table-2"])
def test_nothing_holds_by_accuracies_at_chance(name: str) -> None:
    # Labels that have nothing to do with the points: no setting is better than chance. Every draw has a fixed seed.
    few = small_setting()
    labels = np.random.default_rng(1).permutation(few.data.labels)
    (experiment,) = find_experiments(name)
    found = experiment.run(dataclasses.replace(few, data=dataclasses.replace(few.data, labels=labels)))
    assert {finding.holds for finding in found.findings} == {None}
    assert all(str(finding).startswith("Cannot be told here: ") for finding in found.findings)


@pytest.mark.long
def test_the_first_figure_has_its_references() -> None:
    found = made("wagner2025-figure-1")
    free = [row for row in found.rows if row["bitsum"] == "no privacy"]
    assert {row["kernel"] for row in free} == {"Gaussian", "IP"}
    curator = [row["accuracy"] for row in found.rows if row["bitsum"] == "central"]
    assert min(curator) > 0.4
    stated = {finding.statement for finding in found.findings}
    assert "without privacy the inner product kernel outperforms the Gaussian kernel" in stated
    ip, gaussian = (max(row["accuracy"] for row in free if row["kernel"] == kernel) for kernel in ("IP", "Gaussian"))
    assert found.findings[0].holds == (ip > gaussian)
