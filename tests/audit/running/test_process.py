"""What a target does to its process never looks like a verdict."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dpverify.audit.running.process import Processes, ProcessFailure
from dpverify.audit.running.runner import Trials, run
from dpverify.audit.running.target import Target, TargetError

ROOT = Path(__file__).resolve().parents[3]
NASTY = Path(__file__).with_name("nasty.py")
DATASETS = [np.array([0, 0, 1]), np.array([0, 1, 1])]


def trials(name: str, size: int = 40) -> Trials:
    return Trials(Target(f"{NASTY}:{name}"), DATASETS, trials=60, seed=3, block_size=size)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("exits", r"called sys.exit\(0\)"),
        ("dies", "ended its process with exit status 0"),
        ("dies_later", "ended its process with exit status 0"),
        ("leaves_a_fork_and_dies", "ended its process with exit status 0"),
        ("hangs", r"took more than timeout=5 seconds"),
        ("is_killed", r"had its process ended by SIGKILL \(perhaps for want of memory\)"),
        ("crashes", "had its process ended by SIGSEGV"),
        ("wants_memory", "raised MemoryError"),
        ("interrupts", "raised KeyboardInterrupt"),
        ("stops_a_generator", "raised GeneratorExit"),
        ("raises_the_unspeakable", "raised Unspeakable"),
        ("asks", "raised EOFError"),
        ("closes_everything", "ended its process with exit status 1"),
        ("hides_a_nan", "returned nan"),
        ("sends_code_itself", r"sent what is no answer \(UnpicklingError\)"),
        ("sends_nonsense_itself", r"sent what is no answer \("),
    ],
)
def test_a_failure_is_one_sentence(name: str, what: str) -> None:
    with pytest.raises(TargetError, match=what) as failure:
        run(trials(name), timeout=5.0 if name == "hangs" else 60.0)
    message = str(failure.value)
    assert message.startswith(f"target='{NASTY}:{name}' ")
    assert "in trials [0, 40) of dataset 0" in message
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["prints", "closes_its_output", "sends_itself_an_interrupt", "exits_at_exit", "reuses_a_buffer", "moves"],
)
def test_what_does_no_harm_changes_no_bit(name: str) -> None:
    assert_array_equal(run(trials(name), timeout=60, workers=2), run(trials("honest")))


def test_the_type_of_an_integer_is_no_failure() -> None:
    for outputs, dataset in zip(run(trials("returns_unsigned_integers")), DATASETS, strict=True):
        assert_array_equal(outputs, np.full(60, dataset.sum()))


def test_an_integer_without_a_negative_is_told_by_its_size() -> None:
    with pytest.raises(TargetError, match=r"beyond 2\^53"):
        run(trials("returns_the_least_integer"))


def test_a_fork_answers_nothing() -> None:
    assert [len(set(outputs)) for outputs in run(trials("forks"), timeout=60)] == [60, 60]


@pytest.mark.parametrize("name", ["exits", "stops_a_generator", "raises_the_unspeakable"])
def test_in_the_caller_too_an_exit_is_a_failure(name: str) -> None:
    with pytest.raises(TargetError, match=r"in trials \[0, 40\) of dataset 0"):
        run(trials(name))


@pytest.mark.long
def test_a_timeout_is_for_a_block_and_keeps_the_others(tmp_path: Path) -> None:
    file = tmp_path / "audit.npz"
    with pytest.raises(TargetError, match=r"in trials \[0, 40\) of dataset 1\.$"):
        run(trials("hangs_on_the_second_dataset"), timeout=15.0, checkpoint=file)  # importing takes a part
    assert np.load(file)["keys"].tolist() == [[0, 0]]


class FailsFromTheSecondTask(Executor):
    """What one process does when it is ended for its second task: the tasks after it find it dead."""

    submitted = 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.submitted += 1
        if self.submitted == 1:
            future.set_result(function(*arguments, **named))
        else:
            future.set_exception(ProcessFailure("took too long" if self.submitted == 2 else "was dead"))
        return future


def test_of_several_failures_the_first_is_named() -> None:
    with pytest.raises(TargetError, match=r"took too long in trials \[0, 40\) of dataset 1\.$"):
        run(trials("honest"), executor=FailsFromTheSecondTask())


def test_an_executor_that_breaks_is_named() -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool, pytest.raises(TargetError, match=r"dies' broke its executor: "):
        run(trials("dies"), executor=pool)
    with ProcessPoolExecutor(1, context) as pool, pytest.raises(TargetError, match=r"called sys.exit\(0\) in trials"):
        run(trials("exits"), executor=pool)


def test_dask_names_an_exit() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client,
        pytest.raises(TargetError, match=r"called sys.exit\(0\) in trials \[0, 40\) of dataset 0"),
    ):
        run(trials("exits"), executor=client.get_executor())


def test_processes_run_tasks_and_report_their_own_end() -> None:
    with Processes(2, 30.0) as processes:
        futures = [processes.submit(pow, base, 2) for base in range(20)]
        assert [future.result() for future in futures] == [base**2 for base in range(20)]
        with pytest.raises(ProcessFailure, match="cannot be sent"):
            processes.submit(Path, ".").result()  # would be made anew by a call of what is no array or exception
        with pytest.raises(ProcessFailure, match="exit status 7"):
            processes.submit(os._exit, 7).result()
        with pytest.raises(ZeroDivisionError):
            processes.submit(divmod, 1, 0).result()
    with pytest.raises(ValueError, match="must not be given with an executor"):
        run(trials("honest"), timeout=1.0, executor=processes)


COMMAND = [sys.executable, "-m", "dpverify", "audit", "rr", "--users", "20", "--flip-probability", "0.25", "--json"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import sys; sys.exit(0)", r"cannot be imported: called sys.exit\(0\)\."),
        ("import os; os._exit(0)", r"ended its process with exit status 0 while it was imported\."),
        ("def f(bits, rng) return 0", r"cannot be imported: SyntaxError: expected ':' \(own.py, line 1\)\."),
        ("import nothing_of_that_name", r"cannot be imported: No module named 'nothing_of_that_name'\."),
        ("raise KeyboardInterrupt", r"raised KeyboardInterrupt while it was imported\."),
        ("f = 3", r"is of type int, but must be callable\."),
    ],
)
def test_a_module_that_cannot_be_imported_is_named(source: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(source)
    with pytest.raises(TargetError, match=f"^target='{tmp_path}/own.py:f' {what}$"):
        run(Trials(Target(f"{tmp_path}/own.py:f"), DATASETS, 10), timeout=60)


@pytest.mark.long
@pytest.mark.parametrize("source", ["import sys; sys.exit(0)", "def f(bits, rng): import os; os._exit(0)"])
def test_an_exit_is_no_verdict(source: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(f"print('imported'); {source}" if "def" not in source else source)
    words = [*COMMAND, "--trials", "100", "--target", "own:f"]
    result = subprocess.run(words, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (2, "")
    assert "target='own:f' " in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


@pytest.mark.long
def test_what_a_target_prints_is_no_json() -> None:
    words = [*COMMAND, "--trials", "100", "--target", f"{NASTY}:prints"]
    result = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert json.loads(result.stdout)["trials"] == 100
    assert result.stderr.count("printed") == result.stderr.count("written") == 700


def _descendants(process: int) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    children = [child for child, parent in pairs if parent == process]
    return children + [lower for child in children for lower in _descendants(child)]


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Let processes that are started be interrupted, also where a shell started this one in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_an_end_by_signal_ends_the_workers_and_keeps_blocks(sent: int, status: int, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import os, time\n"
        "def f(bits, rng):\n"
        "    if bits.sum() == 1 and bits.size == 20:\n"
        "        open(f'hangs-{os.getpid()}', 'w').close()\n"
        "        time.sleep(1000)\n"
        "    return float(rng.normal())\n"
    )
    words = [*COMMAND, "--trials", "1500", "--target", "slow:f", "--workers", "2", "--resume", "kept.npz"]
    file = tmp_path / "kept.npz"
    process = subprocess.Popen(
        words, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    # Where both workers hang in the second dataset, both blocks of the first are done.
    while len(list(tmp_path.glob("hangs-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = _descendants(process.pid)
    assert len(workers) >= 2
    started = time.monotonic()
    if sent == signal.SIGINT:
        os.killpg(process.pid, sent)  # as a terminal does
    else:
        process.kill()
    out, err = process.communicate(timeout=60)  # a fraction of a second, where the machine is free
    assert (process.returncode, out) == (status, "")
    while any(map(_alive, workers)) and time.monotonic() - started < 60:
        time.sleep(0.05)
    assert not any(map(_alive, workers))
    if sent == signal.SIGINT:
        assert err.splitlines()[-1] == "Interrupted; finished runs are kept in kept.npz."
        assert "Traceback" not in err
        assert np.load(file)["keys"].tolist() == [[0, 0]]
