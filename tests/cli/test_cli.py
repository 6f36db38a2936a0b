from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from dpverify import cli, demo
from dpverify.cli import messages
from dpverify.guarantee import Budget, Interval
from dpverify.planning import comparison
from dpverify.planning.plan import plan
from tests.test_demo import small_demo  # noqa: F401 (a fixture)

PLAN = ["plan", "--epsilon", "2", "--delta", "1e-6", "--users", "1000", "--instances", "8"]
RR = ["account", "rr", "--users", "1", "--instances", "1", "--flip-probability", "0.25"]
THREE_NB = [
    "account",
    "3nb",
    "--users",
    "9",
    "--instances",
    "1",
    "--p",
    "0.5",
    "--flood-shape",
    "1",
    "--flood-p",
    "0.1",
]


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON.")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs the command line and returns its JSON, or its text without --json."""

    def run(*arguments: str) -> Any:
        assert cli.main(arguments) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return json.loads(printed.out, parse_constant=refuse) if "--json" in arguments else printed.out

    return run


def test_plan_prints_what_the_library_returns(run: Any) -> None:
    found = run(*PLAN, "--bitsum", "3nb", "--json")
    expected = [
        plan("3nb", Budget("2", "1e-6"), users=1000, instances=8, method=method).to_dict()
        for method in ("published", "exact")
    ]
    checks = [row.pop("check") for row in found["rows"]]
    assert all(check.startswith("dpverify account 3nb ") for check in checks)
    assert found == {"budget": {"epsilon": 2.0, "delta": 1e-6}, "users": 1000, "instances": 8, "rows": expected}
    needed = "bitsum method composition epsilon0 delta0 parameters bitsum_rmse messages_per_user guarantee"
    assert set(needed.split()) <= set(found["rows"][0])
    assert {"epsilon", "delta", "adjacency", "threat_model", "side"} <= set(found["rows"][0]["guarantee"])


def test_every_option_of_plan_reaches_the_library(run: Any) -> None:
    options = ["--composition", "optimal", "--sparsity", "3", "--max-messages", "1e5", "--method", "published"]
    rows = run(*PLAN, "--bitsum", "3nb", *options, "--json")["rows"]
    budget = Budget("2", "1e-6")
    expected = plan(
        "3nb",
        budget,
        users=1000,
        instances=8,
        method="published",
        composition="optimal",
        sparsity=3,
        max_messages_per_user=1e5,
    )
    assert "--instances 24 " in rows[0].pop("check")  # three bitsums of each of the eight
    assert rows == [expected.to_dict()]
    # Each of them changes something, or the comparison would say nothing.
    assert rows != [plan("3nb", budget, users=1000, instances=8, method="published").to_dict()]


def test_budgets_are_exact_decimals(run: Any) -> None:
    # The float nearest to 0.1 is above it, so the largest float within the budget is the one before.
    words = ["plan", "--epsilon", "0.1", "--delta", "1e-6", "--users", "1000", "--instances", "4"]
    assert run(*words, "--bitsum", "3nb", "--method", "published", "--json")["budget"]["epsilon"] == math.nextafter(
        0.1, 0
    )


def test_a_failed_plan_is_a_row_with_its_reason(run: Any) -> None:
    words = [
        "plan",
        "--epsilon",
        "200",
        "--delta",
        "1e-6",
        "--users",
        "30",
        "--instances",
        "10",
        "--method",
        "published",
    ]
    rows = {row["bitsum"]: row for row in run(*words, "--json")["rows"]}
    failed, worked = rows["rr"], rows["3nb"]
    assert failed["method"] == worked["method"] == "published"
    assert "epsilon0" in failed["error"]
    assert "error" not in worked
    text = run(*words)
    assert f"[1] no plan: {failed['error']}" in " ".join(text.split())


def test_account_contains_the_closed_form(run: Any) -> None:
    # One user: delta(eps) = (1 - p) - e^eps p.
    at_delta = run(*RR, "--delta", "0.1", "--json")
    assert math.log(0.65 / 0.25) in Interval(**at_delta["epsilon"])
    assert at_delta["epsilon"]["upper"] - at_delta["epsilon"]["lower"] < 1e-3
    # A tenth lies between two floats.
    assert at_delta["delta"]["lower"] < 0.1 <= at_delta["delta"]["upper"] < 0.1 + 1e-15
    assert at_delta["guarantee"]["epsilon"] == at_delta["epsilon"]["upper"]
    at_epsilon = run(*RR, "--epsilon", "0", "--json")
    assert 0.5 in Interval(**at_epsilon["delta"])
    assert at_epsilon["epsilon"] == {"lower": 0.0, "upper": 0.0}


def test_an_infinite_epsilon_is_strict_json(run: Any) -> None:
    # No count of ones at all, probability 0.45, happens for the bit 0 only: no epsilon is enough.
    assert run(*THREE_NB, "--delta", "1e-6", "--json")["epsilon"]["upper"] == "inf"
    assert "inf" in run(*THREE_NB, "--delta", "1e-6")


def test_piped_tables_fit_eighty_columns(run: Any) -> None:
    words = ["plan", "--epsilon", "2", "--delta", "1e-6", "--users", "30000", "--instances", "768"]
    texts = [run(*words, "--method", "published"), run(*RR, "--delta", "0.1"), run(*THREE_NB, "--epsilon", "1")]
    assert [line for text in texts for line in text.splitlines() if len(line) > 80] == []
    assert "3,921" in texts[0]
    assert "replace-one" in texts[0]
    assert "communication" in texts[0]


def replaced(words: list[str], option: str, value: str) -> list[str]:
    place = words.index(option) + 1
    return [*words[:place], value, *words[place + 1 :]]


FULL_RR = [*RR, "--delta", "0.1"]
FULL_3NB = [*THREE_NB, "--delta", "0.1"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        *(
            (replaced(PLAN, "--epsilon", value), f"--epsilon='{value}' must be a finite number in (0, inf)")
            for value in ("0", "-1", "nan", "inf", "", "x", "1/0", "1,5")
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


def test_integers_may_be_written_in_any_exact_way(run: Any) -> None:
    texts = ("1000", "1e3", "1_000", "1000.0", "100e1")
    words = ["account", "gaussian", "--sigma", "7", "--instances", "1", "--delta", "0.1"]
    tables = {run(*words, "--users", text) for text in texts}
    assert len(tables) == 1
    assert "n = 1,000 users" in tables.pop()


def test_the_librarys_messages_name_what_was_typed() -> None:
    options = {"p": "--p", "flood_p": "--flood-p", "as_json": "--json", "adversary": "--threat-model"}
    said = "flood_p=1 is more than p=0.5, unlike xp=3 and epsilon0=2; threat_model=<ThreatModel.MODEL: 'model'> is one."
    assert messages.as_typed(said, options) == (
        "--flood-p=1 is more than --p=0.5, unlike xp=3 and epsilon0=2; threat_model='model' is one."
    )


def test_what_is_too_large_is_told_without_the_engines_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["account", "nb", "--instances", "2", "--shape", "1e12", "--p", "0.5", "--delta", "1e-3"]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("negative_binomial(--shape=1000000000000.0, --p=0.5) needs ")
    assert said.endswith(" at tail=1e-60, but at most 16777216 are computed.\n")


def test_nothing_works_every_reason_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "BITSUMS", ("3nb", "nb"))
    assert cli.main(replaced(PLAN, "--delta", "0")) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split()[0] for line in printed.err.splitlines()] == ["--delta=0", "--delta=0"]
    assert cli.main([*replaced(PLAN, "--delta", "0"), "--json"]) == 2
    printed = capsys.readouterr()
    assert all("error" in row for row in json.loads(printed.out)["rows"])
    assert len(printed.err.splitlines()) == 2


@pytest.mark.parametrize("folder", ["nowhere", "file", "file/folder"])
def test_an_output_that_cannot_be_written(folder: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert cli.main(["demo", "--output", str(tmp_path / folder)]) == 2
    assert capsys.readouterr().err == f"--output='{tmp_path / folder}' must be a folder that exists.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_demo_prints_and_writes(
    small_demo: demo.DemoResult,  # noqa: F811
    run: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demo, "run", lambda **_: small_demo)
    monkeypatch.setattr(
        demo, "many_users", lambda: demo.compare(demo.BUDGET, users=30_000, instances=768, methods=["published"])
    )
    text = run("demo", "--output", str(tmp_path))
    figure = tmp_path / "dpverify-demo.png"
    assert [path.name for path in figure.parent.iterdir()] == [figure.name]
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert str(figure) in text
    assert "n = 30,000 users" in text
    assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith("Figure")] == []


def test_a_demo_that_cannot_draw_is_told_all_the_same(
    small_demo: demo.DemoResult,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> NoReturn:
        raise RuntimeError("no font")

    monkeypatch.setattr(demo, "run", lambda **_: small_demo)
    monkeypatch.setattr(
        demo, "many_users", lambda: demo.compare(demo.BUDGET, users=30_000, instances=768, bitsums=["3nb"], methods=[])
    )
    monkeypatch.setattr("dpverify.report.plots.demo_figure", fail)
    assert cli.main(["demo", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "3nb, exact" in printed.out
    assert "Figure" not in printed.out
    assert printed.err == f"--output='{tmp_path}/dpverify-demo.png' cannot be written: no font.\n"
    assert list(tmp_path.iterdir()) == []


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
