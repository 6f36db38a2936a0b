import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dpverify.audit.running.checkpoint import CheckpointError
from dpverify.audit.running.runner import Trials, block_generator, run
from dpverify.audit.running.target import Target, TargetError

ROOT = Path(__file__).resolve().parents[3]


def noisy_sum(bits: np.ndarray, rng: np.random.Generator, spread: float = 1.0) -> float:
    return float(bits.sum() + rng.normal(0.0, spread))


def noisy_rows(bits: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
    return bits + rng.integers(0, 10, (trials, bits.size))


DATASETS = [np.array([0, 0, 1]), np.array([0, 1, 1])]
ONE = Trials(Target(noisy_sum), DATASETS, trials=250, seed=7, block_size=40)
BATCH = Trials(Target(noisy_rows, batch=True, shape=(3,)), DATASETS, trials=250, seed=7, block_size=40)


class Reversed(Executor):
    """Runs what it is given late, last come first served, as a busy cluster may."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, function, arguments))
        if len(self.waiting) == 2:
            for waiting, task, its in reversed(self.waiting):
                waiting.set_result(task(*its))
            self.waiting = []
        return future


@pytest.mark.parametrize("trials", [ONE, BATCH])
def test_outputs_do_not_depend_on_who_runs_them(trials: Trials) -> None:
    expected = run(trials)
    assert [len(outputs) for outputs in expected] == [250, 250]
    assert_array_equal(run(trials, executor=Reversed()), expected)
    with ThreadPoolExecutor(3) as threads:
        assert_array_equal(run(trials, executor=threads), expected)
    # By hand, from the definition of a block.
    rng = block_generator(7, 1, 6)
    again = [trials.target(DATASETS[1], rng, 10, "")]
    assert_array_equal(expected[1][240:], again[0])


def test_processes_give_the_same_outputs() -> None:
    assert_array_equal(run(ONE, workers=2), run(ONE))


def test_dask_gives_the_same_outputs() -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        assert_array_equal(run(ONE, executor=client.get_executor()), run(ONE))


def test_blocks_have_streams_of_their_own() -> None:
    first = {(seed, dataset, block): block_generator(seed, dataset, block).integers(0, 2**63, 4).tolist()
             for seed in (0, 1) for dataset in (0, 1) for block in (0, 1, 2)}  # fmt: skip
    assert len({tuple(drawn) for drawn in first.values()}) == 12
    outputs = run(ONE)
    assert np.unique(np.concatenate(outputs)).size == 500


def test_progress_counts_trials() -> None:
    seen: list[tuple[int, int]] = []
    run(ONE, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (40, 500)
    assert seen[-1] == (500, 500)
    assert len(seen) == 14


def test_a_target_that_changes_its_input_is_harmless() -> None:
    def greedy(bits: np.ndarray, rng: np.random.Generator) -> float:
        bits += 1
        return float(bits.sum())

    assert set(run(Trials(Target(greedy), DATASETS, 3))[0]) == {4.0}


class Fails:
    """Stops like Ctrl-C, or fails, at a certain call."""

    def __init__(self, at: int, error: BaseException) -> None:
        self.left, self.error = at, error

    def __call__(self, bits: np.ndarray, rng: np.random.Generator) -> float:
        self.left -= 1
        if self.left < 0:
            raise self.error
        return noisy_sum(bits, rng)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("no users")])
def test_finished_blocks_outlive_an_interruption(tmp_path: Path, error: BaseException) -> None:
    file = tmp_path / "audit.npz"
    shared: dict[str, Any] = {"trials": 250, "seed": 7, "block_size": 40}
    stopped = Trials(Target(Fails(100, error), name="sum"), DATASETS, **shared)
    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else TargetError):
        run(stopped, checkpoint=file)
    healthy = Fails(1000, error)
    resumed = Trials(Target(healthy, name="sum"), DATASETS, **shared)
    assert_array_equal(run(resumed, checkpoint=file), run(ONE))
    assert 1000 - healthy.left == 500 - 80 + 2 * 40  # one block of each dataset with any is drawn again


@pytest.mark.long
def test_a_killed_audit_resumes_to_the_same_bits(tmp_path: Path) -> None:
    file = tmp_path / "audit.npz"
    script = tmp_path / "slow.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            import numpy as np
            from dpverify.audit.running import runner
            from dpverify.audit.running.runner import Trials, run
            from dpverify.audit.running.target import Target

            def slow(bits, rng):
                time.sleep(float(sys.argv[2]))
                return bits.sum() + rng.normal()

            if __name__ == "__main__":
                trials = Trials(Target(slow, name="slow"), [np.array([0, 1])], 400, 3, 10)
                runner._BETWEEN_WRITES = 0.0
                outputs = run(trials, checkpoint=sys.argv[1] or None)
                print(outputs[0].tobytes().hex())
            """
        )
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def command(checkpoint: str, pause: str) -> list[str]:
        return [sys.executable, str(script), checkpoint, pause]

    with subprocess.Popen(command(str(file), "0.02"), env=environment, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not file.exists() or len(np.load(file)["keys"]) < 3):
            time.sleep(0.02)
        process.kill()
    kept = len(np.load(file)["keys"])
    assert 3 <= kept < 40
    results = [
        subprocess.run(command(path, "0"), env=environment, capture_output=True, text=True, check=True).stdout
        for path in (str(file), "")
    ]
    assert results[0] == results[1]
    assert len(results[0]) == 400 * 16 + 1


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("audit") / "audit.npz"
    run(ONE, checkpoint=file)
    return file


@pytest.mark.long
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seed": 8}, "seed"),
        ({"trials": 251}, "trials"),
        ({"datasets": [np.array([0, 0, 1]), np.array([1, 1, 1])]}, "datasets"),
        ({"target": Target(partial(noisy_sum, spread=2.0))}, "target"),
        ({"block_size": 50}, "block_size"),
    ],
)
def test_a_checkpoint_of_another_audit_is_refused_and_kept(kept: Path, changes: dict[str, Any], named: str) -> None:
    before = kept.read_bytes()
    arguments = {"target": ONE.target, "datasets": ONE.datasets, "trials": 250, "seed": 7, "block_size": 40}
    with pytest.raises(CheckpointError, match=rf"another {named}; it is left as it is"):
        run(Trials(**{**arguments, **changes}), checkpoint=kept)
    assert kept.read_bytes() == before


def test_its_own_checkpoint_is_read(kept: Path) -> None:
    assert_array_equal(run(ONE, checkpoint=kept), run(ONE))


def test_an_unwritable_checkpoint_is_known_before_the_work(tmp_path: Path) -> None:
    calls: list[int] = []
    trials = Trials(Target(lambda bits, rng: calls.append(1) or 0.0, name="none"), DATASETS, 10)
    with pytest.raises(CheckpointError, match="cannot be written"):
        run(trials, checkpoint=tmp_path / "nowhere" / "audit.npz")
    assert calls == []


def test_an_exception_names_the_trials_through_processes_too() -> None:
    def raising(bits: np.ndarray, rng: np.random.Generator) -> float:
        raise ValueError("no\nluck")

    with pytest.raises(TargetError, match=r"raised ValueError in trials \[0, 40\) of dataset 0: no luck\.$"):
        run(Trials(Target(raising), DATASETS, 80, block_size=40))
    with pytest.raises(TargetError, match=r"raised TypeError in trials \[\d+, \d+\) of dataset \d"):
        run(Trials(Target("math:sqrt"), DATASETS, 80, block_size=40), workers=2)


def test_what_processes_or_checkpoints_need_is_said() -> None:
    local = Target(lambda bits, rng: 0.0)
    with pytest.raises(ValueError, match="cannot be sent to a process of its own"):
        run(Trials(local, DATASETS, 10), workers=2)
    captured = 3.0
    closure = Target(lambda bits, rng: captured)
    with pytest.raises(ValueError, match="has no lasting identity; pass Target"):
        run(Trials(closure, DATASETS, 10), checkpoint="unused.npz")
    with pytest.raises(ValueError, match=r"workers=0 must be an integer in \[1, inf\)"):
        run(ONE, workers=0)
    with pytest.raises(ValueError, match="trials=0"):
        Trials(local, DATASETS, 0)
