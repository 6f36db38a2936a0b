"""Trials of a target in blocks, each with its own generator, so that who runs a block does not change its outputs."""

from __future__ import annotations

import hashlib
import itertools
import multiprocessing
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.checkpoint import Checkpoint, Key
from dpverify.audit.target import Target
from protocols.validation import check_integer

__all__ = ["Trials", "block_generator", "run"]

Progress = Callable[[int, int], object]
"""Called with the finished and all trials, after every block."""


def block_generator(seed: int, dataset: int, block: int) -> np.random.Generator:
    """Return the generator of one block: Philox keyed by the seed, with the block's own part of its counter.

    Blocks of one seed are 2^128 steps apart, so their streams never meet.
    """
    key = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=np.array([0, 0, block, dataset], dtype=np.uint64)))


@dataclass(frozen=True, eq=False)
class Trials:
    """What to run, and nothing about how: equal `Trials` give bit-identical outputs.

    Parameters
    ----------
    target : Target
        The implementation.
    datasets : sequence of ndarray
        The inputs of `trials` independent runs each.
    trials : int
        Runs per dataset, at least 1.
    seed : int
        At least 0.
    block_size : int
        Runs per block, at least 1.
    """

    target: Target
    datasets: Sequence[NDArray[Any]]
    trials: int
    seed: int = 0
    block_size: int = 1000

    def __post_init__(self) -> None:
        check_integer("trials", self.trials, low=1)
        check_integer("seed", self.seed, low=0)
        check_integer("block_size", self.block_size, low=1)
        if not len(self.datasets):
            raise ValueError("datasets is empty, but must hold at least one dataset.")

    @property
    def blocks(self) -> list[Key]:
        """All blocks, as (dataset, index)."""
        return list(itertools.product(range(len(self.datasets)), range(-(-self.trials // self.block_size))))

    def size(self, block: Key) -> int:
        """Return the number of runs of a block: the last one may be smaller."""
        return min(self.block_size, self.trials - block[1] * self.block_size)

    def configuration(self) -> dict[str, str]:
        """Return all that the outputs depend on."""
        digest = hashlib.sha256()
        for dataset in map(np.ascontiguousarray, self.datasets):
            digest.update(f"{dataset.dtype} {dataset.shape} ".encode())
            digest.update(dataset.tobytes())
        return {
            "target": self.target.identity(),
            "datasets": digest.hexdigest(),
            "trials": str(self.trials),
            "seed": str(self.seed),
            "block_size": str(self.block_size),
            "numpy version": ".".join(np.__version__.split(".")[:2]),  # its distributions may change with it
        }


def _run_block(
    target: Target, inputs: NDArray[Any], trials: int, seed: int, block: Key, first: int
) -> NDArray[np.float64]:
    where = f"trials [{first}, {first + trials}) of dataset {block[0]}"
    return target(inputs, block_generator(seed, *block), trials, where)


def _ignore_interrupts() -> None:
    # Ctrl-C reaches every process of the terminal: only the one that keeps the results may act on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C, which processes that are started meanwhile inherit, also for the time until they are set up."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set a handler
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Inline(Executor):
    """Runs each task when it is submitted, in this thread."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def _pool(target: Target, executor: Executor | None, workers: int) -> Iterator[tuple[Executor, int]]:
    """Yield the executor and how many blocks to hand it at a time: few, so that stopping is quick."""
    if executor is not None:
        yield executor, 4 * workers
    elif workers == 1:
        yield _Inline(), 1
    else:
        try:
            pickle.dumps(target)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"target={target.function!r} cannot be sent to worker processes ({error}); define it at the top of a "
                "module, name it as 'module:callable', or pass workers=1."
            ) from None
        # Spawned, not forked: the caller may hold locks in other threads.
        pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _ignore_interrupts)
        try:
            with _interrupts_ignored():
                for _ in range(workers):  # each starts one process
                    pool.submit(int)
            yield pool, 2 * workers
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def run(
    trials: Trials,
    *,
    workers: int = 1,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 10.0,
    progress: Progress | None = None,
) -> list[NDArray[np.float64]]:
    """Run all trials and return the outputs, one array of shape (trials, *shape) per dataset.

    Parameters
    ----------
    trials : Trials
        What to run.
    workers : int
        Processes to run it in; 1 uses none but the caller's. The outputs do not depend on it.
    executor : concurrent.futures.Executor, optional
        Used instead of processes of our own, with up to `4 * workers` blocks submitted at a time: threads, or a
        cluster's (for Dask, `client.get_executor()`). It is not shut down.
    checkpoint : path, optional
        A file that finished blocks are kept in, and taken from if it exists: after Ctrl-C, an error, or the death of
        the process, the same call goes on where it was.
    checkpoint_seconds : float
        The least time between two writes.
    progress : callable, optional
        `progress(done, total)` in trials, after every block.

    Raises
    ------
    TargetError
        If the target fails; finished blocks are kept.
    CheckpointError
        If the checkpoint belongs to another configuration, is damaged, or cannot be written.
    KeyboardInterrupt
        After the finished blocks have been kept.
    """
    check_integer("workers", workers, low=1)
    keep = None if checkpoint is None else Checkpoint(Path(checkpoint), trials.configuration())
    finished = {} if keep is None else keep.load()
    total = trials.trials * len(trials.datasets)
    done = sum(map(trials.size, finished))
    saved, written = len(finished), time.monotonic()
    if keep is not None and not finished:
        keep.save(finished)  # an unwritable file is known before the work, not after it
    left = iter([block for block in trials.blocks if block not in finished])
    try:
        with _pool(trials.target, executor, workers) as (pool, ahead):
            running: dict[Future[Any], Key] = {}
            try:
                while True:
                    for block in itertools.islice(left, ahead - len(running)):
                        running[_submit(pool, trials, block)] = block
                    if not running:
                        break
                    for future in wait(list(running), return_when=FIRST_COMPLETED).done:
                        block = running.pop(future)
                        finished[block] = future.result()
                        done += trials.size(block)
                        if progress is not None:
                            progress(done, total)
                    if keep is not None and time.monotonic() - written >= checkpoint_seconds:
                        keep.save(finished)
                        saved, written = len(finished), time.monotonic()
            finally:
                for future in running:
                    future.cancel()
    finally:
        if keep is not None and len(finished) > saved:
            keep.save(finished)
    indices = range(-(-trials.trials // trials.block_size))
    return [np.concatenate([finished[dataset, index] for index in indices]) for dataset in range(len(trials.datasets))]


def _submit(pool: Executor, trials: Trials, block: Key) -> Future[Any]:
    first = block[1] * trials.block_size
    return pool.submit(
        _run_block, trials.target, trials.datasets[block[0]], trials.size(block), trials.seed, block, first
    )
