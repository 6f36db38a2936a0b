"""The plug-in in a pytest of its own: what marks and options say, what a failure shows, and what it costs unused."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]  # in processes of its own: what runs in this one forgets what it imported
ROOT = Path(__file__).resolve().parent.parent

SUITE = """
import numpy as np
import pytest
from dpverify import GaussianDP, LabelRandomizedResponse, audit_protocol

ZERO_ONE = np.array(0), np.array(1)
pytestmark = pytest.mark.private(epsilon=1, trials=1_000, level=0.02)

def geometric(value, rng):
    return int(value) + rng.geometric(1 - np.exp(-2.0)) - rng.geometric(1 - np.exp(-2.0))

def rounded(value, rng):
    noise = rng.laplace(scale=0.2)
    return round(int(value) + noise, 3)

def test_the_claim_of_the_module(assert_private):
    assert_private(rounded, ZERO_ONE)

@pytest.mark.private(3)
@pytest.mark.parametrize("case", ["of a test"])
def test_the_claim(case, assert_private):
    assert_private(geometric, ZERO_ONE, detect=0.5)

@pytest.mark.private(claim=GaussianDP(0.1), inside=True)
class TestInside:
    @pytest.mark.private(epsilon=1.5, trials=20_000)
    def test_the_line(self, assert_private):
        assert_private(lambda value, rng: value + rng.laplace(scale=0.6), ZERO_ONE)

def test_an_undecided_one(assert_private):
    assert_private(geometric, ZERO_ONE, (2.0, 1e-6), trials=2_000)

def test_any_other_audit(audit_options, assert_consistent):
    law = LabelRandomizedResponse(3, 1.0)
    report = audit_protocol(law, implementation=lambda labels, rng: int(labels[0]), **audit_options)
    assert (report.trials, report.level) == (audit_options["trials"], 0.02)
    assert_consistent(report)
"""
PLUGIN = ("-p", "dpverify.pytest_plugin", "-p", "no:cacheprovider")


def outcomes(text: str) -> dict[str, str]:
    """Return what `pytest -v` says of each test, by its name."""
    return dict(re.findall(r"::(test_\w+)\S* ?.*? (PASSED|FAILED|SKIPPED|ERROR)", text))


@pytest.mark.long
def test_marks_claim_and_a_failure_is_a_screen_that_says_how_to_repeat_it(pytester: pytest.Pytester) -> None:
    path = pytester.makepyfile(test_promises=SUITE)
    done = pytester.runpytest_subprocess(*PLUGIN, "-v", "-Werror", "--dp-seed=7", "--junitxml=audits.xml")
    shown = done.stdout.str()
    assert outcomes(shown) == {
        "test_the_claim_of_the_module": "FAILED",
        "test_the_claim": "PASSED",  # its 3 is the claim, and leaves what it does not say to the module
        "test_the_line": "FAILED",
        "test_an_undecided_one": "FAILED",
        "test_any_other_audit": "FAILED",
    }
    screens = dict(re.findall(r"(?ms)^_+ ([\w.]+?)(?:\[.*?)? _+$(.*?)(?=^_{3,} |^=)", shown))
    first = [line[1:].strip() for line in screens["test_the_claim_of_the_module"].splitlines() if line[:1] == "E"]
    assert re.match(r"AssertionError: Violates: privacy of the output.* claimed 1 \(", first[0])
    assert first[1:3] == [
        "claim   epsilon 1, delta 0",
        "run     1,000 runs per dataset, seed 7; at most 0.02 false alarms per audit",
    ]
    assert first[3].startswith("event   The outputs on the two inputs differ most in ")
    assert first[-1] == "repeat  pytest test_promises.py::test_the_claim_of_the_module --dp-seed=7"
    line = 1 + SUITE.strip().splitlines().index(
        "        assert_private(lambda value, rng: value + rng.laplace(scale=0.6), ZERO_ONE)"
    )
    assert (
        f"differ by epsilon 1.667 of Laplace noise; claimed (1.5, 0) [{path.name}:{line}]"
        in screens["TestInside.test_the_line"]
    )
    assert "tested  " in screens["test_an_undecided_one"]
    assert "pytest_plugin.py" not in shown.partition("FAILURES")[2]
    assert '<property name="dpverify.seed" value="7"' in (pytester.path / "audits.xml").read_text(encoding="utf-8")
    # The command is one that a shell takes, and runs the same audit.
    again = pytester.runpytest_subprocess(*PLUGIN, *first[-1].split()[2:])
    again.stdout.fnmatch_lines([f"E * {first[0]}"])


@pytest.mark.long
def test_fewer_trials_skip_what_they_cannot_decide_and_still_find_faults(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_promises=SUITE)
    done = pytester.runpytest_subprocess(*PLUGIN, "-v", "-rs", "--dp-trials=400", "-k", "undecided or other")
    assert outcomes(done.stdout.str()) == {"test_an_undecided_one": "SKIPPED", "test_any_other_audit": "FAILED"}
    done.stdout.fnmatch_lines(["SKIPPED * Undecided: *with 400 trials*"])
    # A test that names no number asks for as many as it takes, which are more than any default.
    pytester.makepyfile(test_promises=SUITE.replace(", trials=1_000", "").replace(", trials=2_000", ""))
    done = pytester.runpytest_subprocess(*PLUGIN, "-v", "--dp-trials=3000", "-k", "undecided")
    assert outcomes(done.stdout.str()) == {"test_an_undecided_one": "SKIPPED"}


@pytest.mark.long
def test_a_mark_without_an_audit_is_refused_and_another_projects_is_not(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_ours="import pytest\n@pytest.mark.private(epsilon=1)\ndef test_green_for_nothing(tmp_path): pass",
        test_theirs="""
            import pytest
            @pytest.mark.private
            def test_other(): pass
            @pytest.mark.private("beta")
            def test_more(): pass
        """,
    )
    refused = pytester.runpytest_subprocess(*PLUGIN)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*test_ours.py::test_green_for_nothing is marked private, and must ask for *"])
    pytester.runpytest_subprocess(*PLUGIN, "--strict-markers", "test_theirs.py").assert_outcomes(passed=2)


def test_a_suite_that_asks_for_nothing_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text("def test_plain(): pass", encoding="utf-8")
    seen = "[name for name in sys.modules if name.startswith(('dpverify', 'numpy'))]"
    code = f"import sys, pytest; pytest.main(sys.argv[1:]); print({seen})"
    done = subprocess.run(
        [sys.executable, "-c", code, "-q", *PLUGIN, "test_plain.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "['dpverify', 'dpverify.pytest_plugin']"
