"""The engine needs four packages; whatever else is missing is told in one sentence, with what to install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dpverify.optional import INSTALLED_BY, MissingPackageError, needing

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

WITHOUT = """
import json, sys
MISSING = {missing}

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import numpy as np
import dpverify

def told(action):
    try:
        return action()
    except ImportError as error:
        return str(error)
"""


def answers(*expressions: str, missing: set[str] = frozenset(INSTALLED_BY)) -> list[object]:  # type: ignore[assignment]
    """Return what expressions are where packages are missing."""
    lines = ", ".join(f"told(lambda: {expression})" for expression in expressions)
    code = WITHOUT.format(missing=sorted(missing)) + f"print(json.dumps([{lines}]))"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=True, timeout=120)
    return list(json.loads(done.stdout))


def test_the_engine_needs_four_packages() -> None:
    outside = {"hypothesis", "ipykernel", "nbclient", "nbformat", "pytest", "sympy"}
    silent = "implementation=lambda bits, rng: float(bits.sum()), trials=200"
    budget, users = '("1", "1e-3")', "users=100, instances=2"
    found = answers(
        f"dpverify.plan('rr', {budget}, {users}).guarantee.epsilon <= 1",
        f"len(dpverify.compare({budget}, {users}, bitsums=['rr', '3nb'], methods=['exact']).plans)",
        "dpverify.account(dpverify.RandomizedResponse(100, 0.25), delta=1e-3).epsilon.upper < 0.3",
        "dpverify.account([(dpverify.RandomizedResponse(100, 0.25), 3)], delta=1e-3).epsilon.upper < 1",
        "dpverify.compose('basic', 0.125, 0.0, 16)",
        "dpverify.hockey_stick(dpverify.GaussianPair('2'), '0.3', digits=5).text[:9]",
        "dpverify.amplify(epsilon0=1, users=100, delta='1e-3').epsilon.upper < 1",
        "dpverify.RandomizedResponse(100, 0).run(np.arange(100) < 9, np.random.default_rng(1))",
        f"dpverify.audit_bitsum(dpverify.RandomizedResponse(20, 0.25), {silent}).verdict.value",
        "len(dpverify.ledger()) > 100",
        missing=set(INSTALLED_BY) | outside,
    )
    assert found == [True, 2, True, True, [2.0, 0.0], "[0.096353", True, 9.0, "violates", True]


def test_what_is_missing_is_one_sentence() -> None:
    row = "dpverify.plan('rr', ('1', '1e-3'), users=100, instances=1)"
    mechanism = "dpverify.audit_mechanism(lambda x, rng: x + rng.laplace(), (1, 0), (0.0, 1.0), trials=1000)"
    assert answers(
        f"str({row})",
        f"{row}.to_dataframe()",
        "dpverify.HighestDensityClassifier",
        "dpverify.PrivacyLedger",
        mechanism,
        "__import__('dpverify.planning.events')",
    ) == [
        "Showing a result needs rich: pip install rich.",
        "to_dataframe needs pandas: pip install 'dpverify[data]'.",
        "dpverify.HighestDensityClassifier needs sklearn: pip install scikit-learn.",
        "dpverify.PrivacyLedger needs filelock: pip install filelock.",
        "Learning what tells two inputs apart needs sklearn: pip install scikit-learn.",
        "The exchange with dp-accounting needs attr: pip install 'dpverify[accounting]'.",
    ]


@pytest.mark.parametrize(
    ("missing", "words", "sentence"),
    [
        ("typer", ["--version"], "The command line needs typer: pip install typer."),
        ("sklearn", ["demo"], "This command needs sklearn: pip install scikit-learn."),
    ],
)
def test_the_command_line_says_it_too(missing: str, words: list[str], sentence: str, tmp_path: Path) -> None:
    start = f"sys.argv[1:] = {words}\nfrom dpverify.__main__ import main\nsys.exit(main())"
    code = WITHOUT.format(missing=[missing]) + start
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (2, f"{sentence}\n")


def test_what_pip_is_given_is_known_to_the_project() -> None:
    extras = {given[10:-2] for given in INSTALLED_BY.values() if given.startswith("'")}
    assert extras <= set(PROJECT["optional-dependencies"])
    plain = {given for given in INSTALLED_BY.values() if not given.startswith("'")}
    assert plain <= {requirement.partition(">=")[0] for requirement in PROJECT["dependencies"]}


def test_other_errors_pass() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"), needing("a test"):
        import no_such_package  # type: ignore[import-not-found]  # noqa: F401
    with pytest.raises(MissingPackageError, match=r"^a test needs rich: pip install rich\.$"), needing("a test"):
        raise ModuleNotFoundError("No module named 'rich.table'", name="rich.table")
