"""Clients as programs: correct ones pass, and planted faults are found by vectors or by the law of what is sent."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dpverify.audit.clients.conformance import audit_client, client_subject
from dpverify.audit.clients.program import Program
from dpverify.audit.outcome import AuditReport
from dpverify.collection.manifest import manifest
from dpverify.collection.query import Asked
from dpverify.collection.uploads import Collector
from protocols.bitsum import RandomizedResponse
from protocols.rappor.response import Rappor
from tests.collection.vectors import QUERIES

SPEAKER = Path(__file__).with_name("speaker.py")
NODE = Path(__file__).resolve().parents[3] / "clients" / "javascript" / "audited.js"
RAPPOR = Rappor(6, 2, cohorts=2, f=0.5, p=0.25, q=0.75, reports=3)


def said(fault: str) -> str:
    return f"{sys.executable} {SPEAKER} {fault}"


def audited(folder: Path, command: str, queries: Sequence[tuple[object, ...]], trials: int = 1_000) -> AuditReport:
    path = folder / "plan.json"
    hash = manifest(queries, delta="1e-6").write(path)
    return audit_client(command, path, hash, trials=trials, level=1e-4, seed=1)


@pytest.mark.parametrize(
    ("fault", "checks"),
    [
        pytest.param("none", (), marks=pytest.mark.long),
        ("seeded", ("repeated outputs",)),
        ("shared", ("pairs of instances",)),
        ("mixed", ("each instance",)),
        ("short", ("each instance",)),
        ("longer", ("vectors of bits", "conformance")),  # what no client can send is refuted by its law too
        ("forgets", ("vectors of bits",)),
    ],
)
def test_a_fault_is_found_where_it_shows(fault: str, checks: tuple[str, ...], tmp_path: Path) -> None:
    trials = 400 if checks else 1_000
    report = audited(tmp_path, said(fault), [("bits", RandomizedResponse(2_000, 0.22), 4)], trials)
    found = [result.check for result in report.violations]
    assert all(any(each.startswith(check) for each in found) for check in checks), found
    assert checks or not found


@pytest.mark.long
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on the PATH")
def test_the_client_in_javascript_conforms(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    names = ("rr", "3nb", "vector-sum", "levels", "classifier", "unary")
    hash = manifest([Asked(name, *QUERIES[name]) for name in names], delta="1e-6").write(path)
    report = audit_client(f"node {NODE}", path, hash, trials=200, level=0.5)
    # Its entropy is the operating system's: so p-values are held against what some 10^3 of them never are.
    assert min(result.p_value for result in report.results) > 1e-10


@pytest.mark.long
def test_reports_of_strings_are_held_against_their_law(tmp_path: Path) -> None:
    report = audited(tmp_path, said("none"), [("words", RAPPOR)], 400)
    assert not report.violations
    assert any(result.check.startswith("conformance of bits alike") for result in report.results)


@pytest.mark.long
def test_the_laws_are_those_of_the_uploads_exact_to_six_deviations(tmp_path: Path) -> None:
    for name in ("vector-sum", "pure", "histogram", "levels", "buckets", "strings", "density", "classifier", "unary"):
        path = tmp_path / "plan.json"
        made = manifest([Asked(name, *QUERIES[name])], delta="1e-6")
        program = Program(said("none"), path, made.write(path))
        (query,) = made.content["queries"]
        subject = client_subject(program, Collector(made.data, made.hash), query)
        for dataset in subject.datasets:
            drawn = subject.target(dataset.inputs, np.random.default_rng(0), 1_000, "a test")
            for column, law in zip(drawn.T, dataset.independent[1], strict=True):
                assert abs(column.mean() - law.mean) <= 6.0 * (law.variance / 1_000) ** 0.5 + 1e-9
