"""What holds for every command: bad input is one sentence, text fits the screen, and starting is cheap."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpverify import cli
from tests.cli.words import PLAN, RR, THREE_NB, Run, replaced


def test_piped_tables_fit_eighty_columns(run: Run) -> None:
    words = ["plan", "--epsilon", "2", "--delta", "1e-6", "--users", "30000", "--instances", "768"]
    texts = [run(*words, "--method", "published"), run(*RR, "--delta", "0.1"), run(*THREE_NB, "--epsilon", "1")]
    assert [line for text in texts for line in text.splitlines() if len(line) > 80] == []
    assert "3,921" in texts[0]
    assert "replace-one" in texts[0]
    assert "communication" in texts[0]


FULL_RR = [*RR, "--delta", "0.1"]
FULL_3NB = [*THREE_NB, "--delta", "0.1"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        *(
            (replaced(PLAN, "--epsilon", value), f"--epsilon='{value}' must be a finite number in (0, inf)")
            for value in ("0", "-1", "nan", "inf", "", "x", "1/0", "1;5")
        ),
        *(
            (replaced(PLAN, "--delta", value), f"--delta='{value}' must be a finite number in [0, 1)")
            for value in ("1", "2", "-1e-9", "nan", "inf", "")
        ),
        (replaced(PLAN, "--delta", "1e-400"), "--delta='1e-400' must be a number in [0, 1) that is 0 or of a size"),
        (replaced(PLAN, "--epsilon", "1e999999999"), "--epsilon='1e999999999' must be a number"),
        *(
            (replaced(PLAN, "--users", value), f"--users='{value}' must be an integer in [1, inf)")
            for value in ("0", "-1e999999999", "1.5", "1e-1", "nan", "", "x", "0x10")
        ),
        (replaced(PLAN, "--users", "50,000"), "--users='50,000' must be an integer in [1, inf), without commas."),
        (replaced(PLAN, "--users", "1e19"), "--users='1e19' must be at most 2^63 - 1."),
        (replaced(PLAN, "--users", "1e999999999"), "--users='1e999999999' must be at most 2^63 - 1."),
        (replaced(PLAN, "--instances", "-3"), "--instances='-3' must be an integer in [1, inf)"),
        ([*PLAN, "--sparsity", "0"], "--sparsity='0'"),
        ([*PLAN, "--max-messages", "nan"], "--max-messages='nan'"),
        ([*PLAN, "--max-messages", "inf"], "--max-messages='inf'"),
        ([*PLAN, "--bitsum", "4nb"], "--bitsum='4nb' must be one of rr, 3nb, "),
        ([*PLAN, "--method", ""], "--method='' must be one of published, exact, all"),
        ([*PLAN, "--composition", "both"], "--composition='both' must be one of basic, advanced, optimal, exact"),
        ([*PLAN, "--composition", ""], "--composition=''"),
        ([*PLAN, "--threat-model", "all"], "--threat-model='all' must be one of communication, model, central, local"),
        ([*PLAN, "--epsilno", "2"], "--epsilno"),
        ([*PLAN, "--users", "1000"], "--users must be given once, not 2 times."),
        ([*PLAN, "--users=1000"], "--users must be given once, not 2 times."),
        (PLAN[:-2], "'--instances'"),
        ([*replaced(PLAN, "--delta", "0"), "--bitsum", "3nb"], "--delta=0"),
        (["account", "pure", "--p", ".5", "--instances", "1", "--delta", "0", "--threat-model", "local"], "='local'"),
        *(
            (replaced(FULL_RR, "--flip-probability", value), f"--flip-probability='{value}' must be a finite number in")
            for value in ("0.5", "0", "nan", "")
        ),
        (replaced(FULL_RR, "--flip-probability", "1e-400"), "--flip-probability='1e-400' must be a number in (0, 1/2)"),
        (replaced(FULL_RR, "--users", "0"), "--users='0'"),
        (replaced(FULL_RR, "--instances", "0"), "--instances='0'"),
        *(
            (replaced(FULL_RR, "--delta", value), f"--delta='{value}' must be a finite number in [0, 1)")
            for value in ("1", "-1", "1.5", "nan", "inf", "")
        ),
        ([*RR, "--epsilon", "-1"], "--epsilon='-1'"),
        ([*FULL_RR, "--epsilon", "1"], "exactly one of --delta and --epsilon"),
        (RR, "exactly one of --delta and --epsilon"),
        (replaced(FULL_3NB, "--p", "1"), "--p='1'"),
        (replaced(FULL_3NB, "--flood-shape", "inf"), "--flood-shape='inf'"),
        (replaced(FULL_3NB, "--flood-p", "nan"), "--flood-p='nan'"),
        (["account", "poisson", "--mean", "0", "--instances", "1", "--delta", ".1"], "--mean='0'"),
        (["account", "4nb"], "'4nb' must be a command of `dpverify account`: rr, 3nb, nb, "),
        (["account"], "`dpverify account` must be followed by a command: rr, 3nb, nb, "),
        (["demo", "--seed", "-1", "--output", "."], "--seed='-1'"),
        (["plot"], "plot"),
    ],
    ids=lambda value: " ".join(value[:1] + value[-2:]) if isinstance(value, list) else None,
)
def test_bad_input_is_one_sentence(
    arguments: list[str],
    named: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert named in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_too_large_is_told_without_the_engines_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["account", "nb", "--instances", "2", "--shape", "1e12", "--p", "0.5", "--delta", "1e-3"]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(
        r"nb cannot be computed here: a law of \d+ atoms is needed, but at most 16777216 are computed\.\n", said
    )


def test_the_console_script_starts_without_the_heavy_packages() -> None:
    code = (
        "import sys; from dpverify.cli import main; code = main(sys.argv[1:]);"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'matplotlib', 'flint'} & set(sys.modules))); sys.exit(code)"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, cwd=root, check=True, timeout=60
    )
    assert "plan" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stderr == ""


def test_a_fault_of_our_own_and_an_interruption_have_their_own_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error, status, said in (
        (ZeroDivisionError("division by zero"), 70, r"dpverify has a fault, ZeroDivisionError: division by zero; .*"),
        (KeyboardInterrupt(), 130, r"Interrupted\."),
    ):

        def raising(*_: object, error: BaseException = error, **__: object) -> None:
            raise error

        monkeypatch.setattr("dpverify.planning.budgets.split_budget", raising)
        assert cli.main(["budget", "--epsilon", "1", "--delta", "1e-6", "--instances", "4"]) == status
        assert re.fullmatch(said, capsys.readouterr().err.strip())
