"""Audits as tests: what passes, what fails and how, and what stands in pytest's own report."""

import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dpverify import LabelRandomizedResponse, audit_protocol
from dpverify.testing import assert_consistent, assert_private

ROOT = Path(__file__).resolve().parent.parent
PROMISED = LabelRandomizedResponse(3, 1.0)
KEPT = {"trials": 2_000, "level": 1e-3, "seed": 4}
NEIGHBOURS = np.zeros(3), np.array([1.0, 0.0, 0.0])

SUITE = """
import numpy as np
from dpverify import LabelRandomizedResponse, audit_protocol
from dpverify.testing import assert_consistent, assert_private

PROMISED = LabelRandomizedResponse(3, 1.0)

def release(scale):
    return lambda values, rng: values.sum() + rng.laplace(scale=scale)

def test_the_law_is_kept(record_property):
    report = audit_protocol(PROMISED, (1, 0), trials=2_000, level=1e-3, seed=4)
    assert_consistent(report, record=record_property)

def test_forgets_its_noise(record_property):
    report = audit_protocol(PROMISED, implementation=lambda labels, rng: int(labels[0]), trials=200)
    assert_consistent(report, record=record_property)

def test_too_little_noise(record_property):
    inputs = np.zeros(3), np.array([1.0, 0.0, 0.0])
    assert_private(release(0.5), (1, 0), inputs, trials=4_000, record=record_property)
"""

OURS = """
from protocols.local.labels import LabelRandomizedResponse

def noisy_count(values, rng):
    return int(values.sum() + rng.geometric(0.5507) - rng.geometric(0.5507))  # of epsilon 0.8

def report_label(labels, rng):
    return int(LabelRandomizedResponse(3, 1.0).randomize(labels, rng)[0])
"""


def suite(folder: Path, text: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Run a suite of tests in a pytest of its own; return it, and its JUnit cases by name."""
    (folder / "test_promises.py").write_text(text, encoding="utf-8")
    words = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "dpverify.pytest_plugin",
        f"--rootdir={folder}",
        "--junitxml=audits.xml",
        "test_promises.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    cases = ElementTree.parse(folder / "audits.xml").getroot().iter("testcase")
    return done, {str(case.get("name")): case for case in cases}


def properties(case: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in case.iter("property"):
        found.setdefault(entry.get("name"), []).append(entry.get("value"))
    return found


@pytest.mark.long
def test_a_suite_tells_good_from_bad_and_its_junit_file_says_why(tmp_path: Path) -> None:
    done, cases = suite(tmp_path, SUITE)
    assert done.returncode == 1, done.stdout + done.stderr
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {"test_forgets_its_noise", "test_too_little_noise"}
    assert {name: properties(case)["dpverify.verdict"] for name, case in cases.items()} == {
        "test_the_law_is_kept": ["consistent"],
        "test_forgets_its_noise": ["violates"],
        "test_too_little_noise": ["violates"],
    }
    kept = properties(cases["test_the_law_is_kept"])
    assert kept["dpverify.trials"] == ["2000"]
    assert any(entry.startswith("datasets: input 0, input 1") for entry in kept["dpverify.tested"])
    assert any("side channels" in entry for entry in kept["dpverify.not_tested"])
    assert properties(cases["test_too_little_noise"])["dpverify.claim"] == ["epsilon 1, delta 0"]
    # The line that a developer reads is the statement, not our code.
    assert "AssertionError: Violates: " in done.stdout
    assert "dpverify/testing.py" not in done.stdout


@pytest.mark.long
def test_the_recipe_of_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "audits_in_ci.md").read_text(encoding="utf-8")
    code, marked, how = re.findall(r"^```py(?:thon)?\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "ours.py").write_text(OURS, encoding="utf-8")
    # The page's trials are for the night.
    done, cases = suite(tmp_path, how + code.replace("trials=50_000, level=1e-4", "**HOW") + marked)
    assert {name: case.find("failure") for name, case in cases.items()} == {
        "test_our_counter": None,
        "test_our_counter_is_private": None,
        "test_our_labels_follow_their_law": None,
    }, done.stdout
    assert properties(cases["test_our_counter_is_private"])["dpverify.trials"] == ["4000"]


def test_nothing_found_gives_the_report() -> None:
    report = audit_protocol(PROMISED, (1, 0), **KEPT)
    assert assert_consistent(report) is report


def test_too_few_trials_pass_only_where_that_is_allowed() -> None:
    report = audit_protocol(PROMISED, trials=100, seed=1)
    with pytest.raises(AssertionError, match=r"^Undecided: nothing was found, but "):
        assert_consistent(report)
    assert assert_consistent(report, allow_undecided=True) is report


def test_no_permission_lets_a_violation_pass() -> None:
    report = audit_protocol(PROMISED, implementation=lambda labels, rng: int(labels[0]), trials=200)
    with pytest.raises(AssertionError, match=r"^Violates: "):
        assert_consistent(report, allow_undecided=True)


@pytest.mark.long
def test_mechanisms_of_libraries_are_called_with_the_value_alone() -> None:
    rng = np.random.default_rng(5)
    library = types.SimpleNamespace(randomise=lambda value: sum(value) + rng.laplace(scale=0.5))
    for mechanism in (library, library.randomise, lambda values, rng: values.sum() + rng.laplace(scale=0.5)):
        with pytest.raises(AssertionError, match=r"^Violates: privacy of "):
            assert_private(mechanism, (1, 0), NEIGHBOURS, trials=4_000)


def test_a_promise_with_room_is_kept() -> None:
    constant = assert_private(lambda values, rng: rng.laplace(), (1, 0), NEIGHBOURS, trials=4_000, allow_undecided=True)
    assert constant.claim == {"epsilon": 1.0, "delta": 0.0}
