"""A bitsum, a kernel, a mechanism and an audit test of another package work everywhere, without a change here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PLUGIN = ROOT / "tests" / "plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as an installer leaves it: the package, and its metadata next to it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(PLUGIN / "coins.py", folder)
    information = folder / "coins-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: coins\nVersion: 1.0\n", encoding="utf-8")
    shutil.copy(PLUGIN / "entry_points.txt", information)
    return folder


def run(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(site)])
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env=environment, cwd=site, timeout=120, check=False
    )


def command(site: Path, *words: str, status: int = 0) -> dict:
    done = run(site, "-m", "dpverify", *words, "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def test_a_bitsum_is_planned_and_the_plan_is_confirmed(site: Path) -> None:
    budget = ["--epsilon", "1", "--delta", "1e-3", "--users", "30", "--instances", "2"]
    (row,) = command(site, "plan", *budget, "--bitsum", "tosses", "--method", "exact")["rows"]
    coins = row["parameters"]["coins"]
    assert coins > 1
    words = ["account", "tosses", "--users", "30", "--instances", "2", "--delta", "1e-3", "--coins"]
    assert command(site, *words, str(coins))["epsilon"]["upper"] <= 1.0
    assert command(site, *words, str(coins - 1))["epsilon"]["lower"] > 1.0


def test_a_bitsum_is_audited_with_the_further_test(site: Path) -> None:
    words = ["audit", "tosses", "--users", "20", "--coins", "3", "--trials", "500", "--level", "0.1"]
    report = command(site, *words, status=3)  # too few trials to be consistent
    checks = {result["check"]: result["verdict"] for result in report["results"]}
    assert {"support of estimate, no ones", "message count, per user"} <= set(checks)
    assert "violates" not in checks.values()
    faulty = "def target(bits, rng):\n    return float(bits.sum()) + 0.25\n"
    (site / "faulty.py").write_text(faulty, encoding="utf-8")
    report = command(site, *words, "--target", "faulty:target", status=1)
    checks = {result["check"]: result["verdict"] for result in report["results"]}
    assert checks["support of estimate, no ones"] == "violates"


def test_a_mechanism_is_accounted_and_audited(site: Path) -> None:
    found = command(site, "account", "truth", "--probability", "0.75", "--delta", "0", "--instances", "2")
    assert found["epsilon"]["lower"] <= 2.1972245773362196 <= found["epsilon"]["upper"]
    audited = ["audit", "truth", "--probability", "0.75", "--trials", "500", "--level", "0.1", "--claim-delta", "0"]
    checks = command(site, *audited, "--claim-epsilon", "1.2", status=3)["results"]
    assert {"conformance of report, input 0", "support of report, input 1"} <= {result["check"] for result in checks}
    refuted = command(site, *audited, "--claim-epsilon", "1", status=1)
    assert next(r["check"] for r in refuted["results"] if r["verdict"] == "violates") == "privacy of the parameters"


def test_a_kernel_is_accounted_and_audited(site: Path) -> None:
    code = """
import numpy as np
from coins import OwnIdentity, Tosses
from dpverify.audit.density import audit_density
from dpverify.claims.registry import claims_named
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from protocols.kde import KernelDensityProtocol

row = plan("tosses", ("1", "1e-3"), users=30, instances=2, method="exact")
rng = np.random.default_rng(1)
protocol = KernelDensityProtocol(row.protocol, OwnIdentity(2).sample(1, rng))
print(account(protocol, delta=1e-3).epsilon.upper <= 1.0)
points = rng.uniform(-0.5, 0.5, (30, 2))
report = audit_density(row.protocol, OwnIdentity(2), points, points[:3], instances=1, trials=100, level=0.5, seed=2)
print(report.verdict.value)
print(claims_named("Own-Identity").protocol is OwnIdentity)
"""
    done = run(site, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "True"
    assert done.stdout.split()[1] != "violates"
    assert done.stdout.split()[2] == "True"


def test_what_is_installed_is_listed(site: Path) -> None:
    listed = run(site, "-m", "dpverify", "account", "--help").stdout
    assert "tosses" in listed
    assert "truth" in listed
    shown = run(site, "-m", "dpverify", "account", "tosses", "--help").stdout
    assert "--coins" in shown
    assert "Coins that each user tosses." in shown
    refused = run(site, "-m", "dpverify", "account", "tosses", "--users", "9", "--coins", "0", "--delta", "1e-3")
    assert refused.returncode == 2
    assert refused.stderr.startswith("--coins='0' must be an integer in [1, inf)")
