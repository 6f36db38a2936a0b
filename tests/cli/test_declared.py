"""A bitsum, a kernel, a mechanism and an audit test of another package work everywhere, without a change here."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpverify import cli

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


def environment(site: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(site)]), "COLUMNS": "200"}


def run(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    options = {"env": environment(site), "cwd": site, "timeout": 120, "check": False}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, **options)


@dataclass(frozen=True)
class Shell:
    """A process that has the package installed and runs one command after the other: starting takes the longest."""

    process: subprocess.Popen[str]

    def json(self, *words: str, status: int = 0) -> dict:
        found, out, err = self.run(*words, "--json")
        assert found == status, err
        return json.loads(out)

    def run(self, *words: str) -> tuple[int, str, str]:
        """Return the exit status, the standard output and the standard error output of a command."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(words), file=self.process.stdin, flush=True)
        status, out, err = json.loads(self.process.stdout.readline())
        return status, out, err


LOOP = """
import contextlib, io, json, sys
from dpverify.cli import main
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(json.loads(line))
    print(json.dumps([status, out.getvalue(), err.getvalue()]), flush=True)
"""


@pytest.fixture(scope="module")
def shell(site: Path) -> Iterator[Shell]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", LOOP], env=environment(site), cwd=site, **pipes) as process:
        yield Shell(process)
        process.kill()


def test_a_bitsum_is_planned_and_the_plan_is_confirmed(shell: Shell) -> None:
    budget = ["--epsilon", "1", "--delta", "1e-3", "--users", "30", "--instances", "2"]
    (row,) = shell.json("plan", *budget, "--bitsum", "tosses", "--method", "exact")["rows"]
    coins = row["parameters"]["coins"]
    assert coins > 1
    words = ["account", "tosses", "--users", "30", "--instances", "2", "--delta", "1e-3", "--coins"]
    assert shell.json(*words, str(coins))["epsilon"]["upper"] <= 1.0
    assert shell.json(*words, str(coins - 1))["epsilon"]["lower"] > 1.0


def test_a_fault_is_found_by_the_further_test(site: Path, shell: Shell) -> None:
    words = ["audit", "tosses", "--users", "9", "--coins", "3", "--trials", "100", "--level", "0.1"]
    faulty = "def target(bits, rng):\n    return float(bits.sum()) + 0.25\n"
    (site / "faulty.py").write_text(faulty, encoding="utf-8")
    report = shell.json(*words, "--target", "faulty:target", status=1)
    checks = {result["check"]: result["verdict"] for result in report["results"]}
    assert checks["support of estimate, no ones"] == "violates"


def test_a_further_test_reaches_black_boxes(site: Path, shell: Shell) -> None:
    marked = "def target(inputs, rng):\n    return 1234.5 if inputs[0] else 0.0\n"
    (site / "marked.py").write_text(marked, encoding="utf-8")
    words = ["audit", "mechanism", "--target", "marked:target", "--input", "0", "--neighbour", "1", "--trials", "500"]
    report = shell.json(*words, status=1)
    checks = {result["check"]: result["verdict"] for result in report["results"]}
    assert (checks["marks, input 0"], checks["marks, input 1"]) == ("consistent", "violates")
    assert {"aspect": "marks, input 1", "where": "by a test of another package", "fault": "a mark"} in report["limits"][
        "tested"
    ]


def test_a_mechanism_is_accounted_and_audited(shell: Shell) -> None:
    found = shell.json("account", "truth", "--probability", "0.75", "--delta", "0", "--instances", "2")
    assert found["epsilon"]["lower"] <= 2.1972245773362196 <= found["epsilon"]["upper"]
    audited = ["audit", "truth", "--probability", "0.75", "--trials", "500", "--level", "0.1", "--claim-delta", "0"]
    checks = shell.json(*audited, "--claim-epsilon", "1.2", status=3)["results"]
    assert {"conformance of report, input 0", "support of report, input 1"} <= {result["check"] for result in checks}
    refuted = shell.json(*audited, "--claim-epsilon", "1", status=1)
    assert next(r["check"] for r in refuted["results"] if r["verdict"] == "violates") == "privacy of the parameters"


@pytest.mark.long
def test_a_kernel_is_accounted_and_audited(site: Path) -> None:
    code = """
import numpy as np
from coins import OwnIdentity, Tosses
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.density import DensityErrors
from dpverify.claims.registry import claims_named
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from protocols.kde import KernelDensityProtocol

row = plan("tosses", ("1", "1e-3"), users=30, instances=2, method="exact")
rng = np.random.default_rng(1)
protocol = KernelDensityProtocol(row.protocol, OwnIdentity(2).sample(1, rng))
print(account(protocol, delta=1e-3).epsilon.upper <= 1.0)
points = rng.uniform(-0.5, 0.5, (30, 2))
errors = DensityErrors(row.protocol, OwnIdentity(2), points, points[:3], instances=1)
report = audit_protocol(errors, trials=100, level=0.5, seed=2)
print(report.verdict.value)
print(claims_named("Own-Identity").protocol is OwnIdentity)
"""
    done = run(site, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "True"
    assert done.stdout.split()[1] != "violates"
    assert done.stdout.split()[2] == "True"


@pytest.mark.long
def test_what_cannot_be_right_is_refused(site: Path) -> None:
    """Laws that contradict each other, and names of what is not there, were false violations, or faults."""
    code = """
import math
import sys
import coins
import numpy as np
from coins import *
from dpverify.audit.protocol import audit_protocol
from dpverify.planning.account import account

def told(action):
    try:
        action()
    except ValueError as error:
        print(error)

def told_of(field, **attributes):
    told(lambda: type("Slip", (TossesClaims,), {"protocol": type("Slip", (Tosses,), attributes), **field}))

told_of({"name": "slip"}, alphabet=(5, 5))
told_of({"name": "slip"}, divided=("coin",))
told_of({"name": "slip", "more_private_towards": {"coin": math.inf}})
protocol, real = Tosses(9, 2), dict(vars(TossesClaims))

def audited(**methods):
    for name in ("_view", "_readable", "_counts"):
        if name in vars(TossesClaims):
            delattr(TossesClaims, name)
    for name, method in {"_view": real["_view"], **methods}.items():
        setattr(TossesClaims, name, method)
    told(lambda: print(audit_protocol(protocol, trials=300).verdict.value))

def one_column(self, protocol, ones, participants):
    return views.one_count(views.total(point_mass(ones), binomial(protocol.coins * participants, 0.5)))

def mirrored(self, protocol, ones, participants):
    law = views.total(point_mass(ones), binomial(protocol.coins * participants, 0.5))
    return views.rows(law, lambda x: np.stack([x, 0 * x], axis=-1))

audited(_view=one_column)
audited(_readable=mirrored)
audited(_counts=lambda self, *given: {"count of -2": real["_view"](self, *given).image(lambda rows: rows[:, 1])})
audited()
Tosses._sample_view = lambda self, ones, participants, rng: ones[..., None]
told(lambda: protocol.sample_view([4, 5], np.random.default_rng(1)))
Tosses.divided = None
told(lambda: account(protocol, delta=1e-3, honest=4))
"""
    done = run(site, "-c", code)
    assert done.returncode == 0, done.stderr
    twice, apart = "the claims tosses state two laws of the", "which are {} apart in total variation."
    assert done.stdout.splitlines() == [
        "alphabet=(5, 5) of slip must be a tuple of distinct integers.",
        "divided of slip names 'coin', but must name parameters: users, coins.",
        "more_private_towards of slip names 'coin', but must name parameters: users, coins.",
        "the claims about Tosses state views of shape (19, 1), but must state a column for each of the symbols "
        "(-2, 5).",
        f"{twice} estimate at 0 ones of 9 users: that of _view and another, {apart.format(1)}",
        f"{twice} count of -2 at 1 ones of 9 users: that of _view and another, {apart.format(0.19)}",
        "undecided",
        "Tosses._sample_view returns shape (2, 1), but must return (2, 2).",
        "Tosses.divided must name the parameters that are divided among the users.",
    ]


@pytest.mark.long
def test_what_is_installed_is_listed(site: Path, shell: Shell) -> None:
    """A bitsum, a kernel and a local randomizer: a class, its twin and a line for each, and no other change."""
    for group in ("account", "audit"):
        _, listed, _ = shell.run(group, "--help")
        names = [line.split()[0] for line in listed.split("Commands:")[1].splitlines() if line.strip()]
        assert names.index("rr") < names.index("tosses") < names.index("labels") < names.index("truth")
        _, shown, _ = shell.run(group, "tosses", "--help")
        assert re.search(r"--coins INTEGER +Coins that each user tosses, each time\.  \[required\]", shown)
        assert re.search(r"--users INTEGER +n, the number of users; public\.  \[required\]", shown)
        _, shown, _ = shell.run(group, "truth", "--help")
        assert re.search(r"--probability NUMBER +Of telling the truth, in \(1/2, 1\)\.  \[required\]", shown)
    for command in (["plan"], ["crowd"], ["budget"], ["front"], ["least", "users"], ["report"]):
        _, shown, _ = shell.run(*command, "--help")
        assert "local-rr, tosses" in " ".join(shown.split())
    _, _, refused = shell.run("plan", "--bitsum", "coin")
    assert "local-rr, tosses, all" in refused
    listing = "from dpverify.claims.lsq import LSQ_CLAIMS; import sys; print(*LSQ_CLAIMS, 'coins' in sys.modules)"
    assert run(site, "-c", listing).stdout.split()[-2:] == ["own-identity", "False"]
    words = ["account", "tosses", "--users", "9", "--coins", "0", "--delta", "1e-3"]
    status, _, refused = shell.run(*words)
    assert status == 2
    assert refused.startswith("--coins='0' must be an integer in [1, inf)")
    # A process of its own says the same.
    alone = run(site, "-m", "dpverify", *words)
    assert (alone.returncode, alone.stderr) == (status, refused)


def test_the_page_that_adds_it_shows_what_runs_here(shell: Shell) -> None:
    page = (ROOT / "docs/add_a_protocol.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```(\w+)\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    source = (PLUGIN / "coins.py").read_text(encoding="utf-8")
    assert [code for language, code in shown if language == "python" and code not in source] == []
    (entries,) = (tomllib.loads(code) for language, code in shown if language == "toml")
    installed = configparser.ConfigParser()
    installed.read(PLUGIN / "entry_points.txt")
    assert entries["project"]["entry-points"] == {name: dict(installed[name]) for name in installed.sections()}
    (commands,) = (code for language, code in shown if language == "sh")
    # Its audit takes so long for a pass: here it is undecided, of the further test too.
    few = commands.replace(
        "--users 30 --coins 2 --trials 4000", "--users 9 --coins 2 --trials 100 --level 0.1 --json"
    ).splitlines()
    found = [shell.run(*words[1:]) for words in map(shlex.split, few)]
    assert [each[::2] for each in found] == [(0, ""), (0, ""), (3, ""), (0, "")]
    checks = {result["check"]: result["verdict"] for result in json.loads(found[2][1])["results"]}
    assert {"support of estimate, no ones", "message count, per user"} <= set(checks)
    assert "violates" not in checks.values()


def test_an_epsilon_of_the_protocol_is_told_from_that_of_the_account(capsys: pytest.CaptureFixture[str]) -> None:
    for group in ("account", "audit"):
        assert cli.main([group, "labels", "--help"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "--labels-epsilon NUMBER epsilon of a published label, in (0, 700], in nats. [required]" in shown
        assert "Randomized response among classes" in shown
        assert "--squared-change" not in shown
    assert cli.main(["account", "rr-mean", "--rr-mean-epsilon", "1", "--levels", "2", "--delta", "1e-3"]) == 0
    assert capsys.readouterr().out.startswith("rr-mean (epsilon=1, levels=2)")
