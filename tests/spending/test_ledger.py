"""A ledger on disk: what it refuses, and that nothing is lost with two writers or one that is killed."""

import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from dpverify.guarantee import Adjacency
from dpverify.planning.account import account
from dpverify.planning.steps.step import NoisyStep
from dpverify.spending.ledger import BudgetExceededError, PrivacyLedger
from dpverify.spending.lines import DamagedFileError, Lines, TornLineError, locked
from protocols.bitsum import CentralGaussian, RandomizedResponse
from protocols.local.labels import LabelRandomizedResponse

ROOT = Path(__file__).resolve().parents[2]
LABELS = LabelRandomizedResponse(2, 0.125)


@pytest.fixture
def ledger(tmp_path: Path) -> PrivacyLedger:
    return PrivacyLedger.create(tmp_path / "spent.jsonl", ("1", "1e-6"))


def python(code: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.long
def test_what_is_spent_is_composed_and_the_budget_is_kept(ledger: PrivacyLedger) -> None:
    assert ledger.spent().epsilon.upper == 0.0
    one, other = RandomizedResponse(150, 0.25), RandomizedResponse(200, 0.25)
    ledger.spend(one, 2, label="Monday")
    spent = ledger.spend(other, label="Tuesday")
    assert spent.epsilon == account([(one, 2), (other, 1)], delta="1e-6", relative_width=1e-4).epsilon
    assert ledger.spent() == spent
    left = ledger.remaining(one)
    assert left > 0
    content = ledger.path.read_bytes()
    with pytest.raises(BudgetExceededError, match=r"^\d+ of rr would exceed the budget \(1, 1e-06\): epsilon "):
        ledger.spend(one, left + 1)
    assert ledger.path.read_bytes() == content
    full = ledger.spend(one, left)
    assert spent.epsilon.upper < full.epsilon.upper <= 1
    assert ledger.remaining(one) == 0
    with pytest.raises(BudgetExceededError):
        ledger.spend(one)
    assert "Tuesday" in str(full)
    assert [day["label"] for day in full.to_dict()["days"]] == ["Monday", "Tuesday", ""]


def test_runs_that_a_user_is_not_in_cost_her_nothing(tmp_path: Path) -> None:
    ledger = PrivacyLedger.create(tmp_path / "spent", ("0.25", 0), at_most=2)
    for _ in range(3):
        assert ledger.spend(LABELS).epsilon.upper <= 0.25
    assert ledger.remaining(LABELS) == 2**20
    with pytest.raises(BudgetExceededError):
        ledger.spend(LabelRandomizedResponse(2, 0.25))


def test_a_budget_between_both_ends_of_what_a_run_costs_is_exceeded(tmp_path: Path) -> None:
    run = RandomizedResponse(150, 0.25)
    cost = account(run, delta="1e-6", relative_width=1e-4).epsilon
    assert cost.lower < cost.upper
    for name, epsilon, fitting in (("less", cost.lower, 0), ("enough", cost.upper, 1)):
        ledger = PrivacyLedger.create(tmp_path / name, (epsilon, "1e-6"))
        assert ledger.remaining(run) == fitting
        if fitting:
            assert ledger.spend(run).epsilon == cost
        else:
            with pytest.raises(BudgetExceededError):
                ledger.spend(run)


def test_adjacency_and_who_is_honest_are_written_down(tmp_path: Path) -> None:
    ledger = PrivacyLedger.create(tmp_path / "steps", ("3", "1e-6"), adjacency="add-remove")
    for found in (ledger.spend(NoisyStep(5.0)), ledger.spent()):
        assert found.account is not None
        assert found.adjacency is found.account.guarantee.adjacency is Adjacency.ADD_REMOVE
    ledger = PrivacyLedger.create(tmp_path / "users", ("3", "1e-3"))
    ledger.spend(RandomizedResponse(20, 0.25), honest=10)
    assert [day.honest for _, day in ledger.spent().days] == [10]


def test_the_budget_is_kept_exactly(tmp_path: Path) -> None:
    budget = PrivacyLedger.create(tmp_path / "spent", (Fraction(1, 3), Fraction(1, 3_000_000))).spent().budget
    assert (budget.exact_epsilon, budget.exact_delta) == (Fraction(1, 3), Fraction(1, 3_000_000))


def test_nothing_is_written_while_another_writes(ledger: PrivacyLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.spending.lines._PATIENCE", 0.0)
    content = ledger.path.read_bytes()
    with locked(ledger.path):
        for writes in (lambda: ledger.spend(LABELS), ledger.repair, lambda: ledger.create(ledger.path, (1, 0))):
            with pytest.raises(OSError, match="another process has held it for 0 seconds"):
                writes()
    assert ledger.path.read_bytes() == content


def test_a_run_that_another_adversary_sees_is_refused(ledger: PrivacyLedger) -> None:
    ledger.spend(RandomizedResponse(900, 0.25))
    content = ledger.path.read_bytes()
    with pytest.raises(ValueError, match="days contradict each other"):
        ledger.spend(CentralGaussian(9, 50.0))
    with pytest.raises(ValueError, match="instances=0 must be "):
        ledger.spend(RandomizedResponse(900, 0.25), 0)
    assert ledger.path.read_bytes() == content
    central = PrivacyLedger.create(ledger.path.with_name("central"), ("1", "1e-6"), threat_model="communication")
    with pytest.raises(ValueError, match="threat_model='communication' must be one of"):
        central.spend(CentralGaussian(9, 50.0))


WRITER = """
import sys
from dpverify.spending.ledger import BudgetExceededError, PrivacyLedger
from protocols.local.labels import LabelRandomizedResponse
for number in range(5):
    try:
        PrivacyLedger(sys.argv[1]).spend(LabelRandomizedResponse(2, 0.125), label=f"{sys.argv[2]}{number}")
        print(f"{sys.argv[2]}{number}", flush=True)
    except BudgetExceededError:
        pass
"""


@pytest.mark.long
def test_two_writers_lose_nothing_and_stay_within_the_budget(tmp_path: Path) -> None:
    path = tmp_path / "spent"
    ledger = PrivacyLedger.create(path, ("0.875", 0))
    writers = [python(WRITER, str(path), name) for name in "ab"]
    told = [line for writer in writers for line in writer.communicate(timeout=120)[0].split()]
    assert [writer.returncode for writer in writers] == [0, 0]
    spent = ledger.spent()
    assert sorted(label for label, _ in spent.days) == sorted(told)
    assert (spent.runs, spent.epsilon.upper) == (7, 0.875)


KILLED = """
import os, signal, sys
from dpverify.spending.ledger import PrivacyLedger
from protocols.local.labels import LabelRandomizedResponse
whole = os.write
def half(file, line):
    whole(file, line[: len(line) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
ledger = PrivacyLedger(sys.argv[1])
ledger.spend(LabelRandomizedResponse(2, 0.125), label="told")
print("told", flush=True)
os.write = half
ledger.spend(LabelRandomizedResponse(2, 0.125), label="not told")
print("not told", flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
def test_a_writer_that_is_killed_in_the_middle_of_a_line_loses_only_that(tmp_path: Path) -> None:
    path = tmp_path / "spent"
    ledger = PrivacyLedger.create(path, ("0.5", 0))
    writer = python(KILLED, str(path))
    assert writer.communicate(timeout=120)[0].split() == ["told"]
    assert writer.returncode == -signal.SIGKILL
    content = path.read_bytes()
    for refused in (ledger.spent, lambda: ledger.spend(LABELS), lambda: ledger.remaining(LABELS)):
        with pytest.raises(TornLineError, match="ends in the middle of line 3"):
            refused()
    assert path.read_bytes() == content
    assert "not told" in ledger.repair() or content.startswith(path.read_bytes())
    assert [label for label, _ in ledger.spent().days] == ["told"]
    # The lock went with the process that held it.
    assert ledger.spend(LABELS, label="again").runs == 2


def test_a_damaged_ledger_is_refused_and_never_written_to(ledger: PrivacyLedger, tmp_path: Path) -> None:
    ledger.spend(LABELS)
    damaged = ledger.path.read_bytes().replace(b'"instances":1,', b'"instances":0,')
    ledger.path.write_bytes(damaged)
    for refused in (ledger.spent, lambda: ledger.spend(LABELS), ledger.repair):
        with pytest.raises(DamagedFileError, match="damaged in line 2"):
            refused()
    with pytest.raises(ValueError, match="must not exist"):
        PrivacyLedger.create(ledger.path, ("1", "1e-6"))
    assert ledger.path.read_bytes() == damaged
    with pytest.raises(ValueError, match="there is no such file"):
        PrivacyLedger(tmp_path / "none").spend(LABELS)
    assert not list(tmp_path.glob("none*"))


@pytest.mark.parametrize("record", [{"kind": "spent", "label": "", "runs": []}, {"kind": "spend", "label": ""}])
def test_whole_lines_that_are_no_runs_are_refused(ledger: PrivacyLedger, record: dict[str, object]) -> None:
    Lines.read(ledger.path).append(ledger.path, record)
    with pytest.raises(DamagedFileError, match="is no ledger of this version of dpverify"):
        ledger.spent()


@pytest.mark.parametrize(
    ("budget", "options", "message"),
    [
        ((0, 1e-6), {}, "epsilon=0 must be in"),
        ((1, 2), {}, "delta=2 must be in"),
        ((1, 1e-6), {"at_most": 0}, "at_most=0 must be "),
        ((1, 1e-6), {"threat_model": "mine"}, "threat_model='mine' must be one of"),
    ],
)
def test_bad_ledgers_are_not_made(tmp_path: Path, budget, options, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        PrivacyLedger.create(tmp_path / "spent", budget, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_who_is_honest_is_written_down_and_counts_in_every_later_call(ledger: PrivacyLedger) -> None:
    few, all_of_them = (RandomizedResponse(900, 0.25), 1, 90), RandomizedResponse(900, 0.25)
    first = ledger.spend_all([few])
    assert ledger.spent() == first
    second = ledger.spend(all_of_them)
    assert second.epsilon == account([few, (all_of_them, 1)], delta="1e-6", relative_width=1e-4).epsilon
    assert [day.get("honest") for day in second.to_dict()["days"]] == [90, None]
    assert "honest" in str(second)
    assert "honest" not in str(PrivacyLedger.create(ledger.path.with_name("other"), ("1", "1e-6")).spend(all_of_them))


@pytest.mark.parametrize(
    ("label", "kind", "message"),
    [
        ("a\nb", ValueError, r"^label='a\\nb' must be printable characters\.$"),
        ("\x1b[2J", ValueError, "must be printable"),
        ("\udcff", ValueError, r"^label='\\udcff' must be printable characters\.$"),
        (3, TypeError, r"^label=3 must be a text\.$"),
    ],
)
def test_a_label_that_no_table_can_show_is_refused(ledger: PrivacyLedger, label, kind, message) -> None:  # type: ignore[no-untyped-def]
    content = ledger.path.read_bytes()
    with pytest.raises(kind, match=message):
        ledger.spend(LABELS, label=label)
    with pytest.raises(TypeError, match=r"^schedule=\{.*\} must be a list of \(protocol, instances\)\.$"):
        ledger.spend_all({LABELS: 5})  # type: ignore[arg-type]
    assert ledger.path.read_bytes() == content
