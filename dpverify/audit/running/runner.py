"""Trials of a target in blocks, each with its own generator, so that who runs a block does not change its outputs."""

from __future__ import annotations

import functools
import hashlib
import itertools
import pickle
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.checkpoint import Checkpoint, Key
from dpverify.audit.running.packed import Packed
from dpverify.audit.running.process import Processes, ProcessFailure
from dpverify.audit.running.target import Target, TargetError
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = ["Execution", "Progress", "Trials", "asked", "block_generator", "rounds", "run"]

_BETWEEN_WRITES = 10.0
"""The least time between two writes of a checkpoint, in seconds."""

Progress = Callable[[int, int], object]
"""Called with the finished and all trials, after every block."""


def block_generator(seed: int, dataset: int, block: int) -> np.random.Generator:
    """Return the generator of one block: Philox keyed by the seed, with the block's own part of its counter.

    Blocks of one seed are 2^128 steps apart, so their streams never meet.
    """
    counter = np.array([0, 0, block, dataset], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=_key(seed), counter=counter))


@functools.lru_cache(maxsize=16)
def _key(seed: int) -> NDArray[np.uint64]:
    return np.random.SeedSequence(seed).generate_state(2, np.uint64).astype(np.uint64)


@dataclass(frozen=True, eq=False)
class Trials:
    """What to run, and nothing about how: equal `Trials` give bit-identical outputs.

    - target: The implementation.
    - datasets: The inputs of `trials` independent runs each.
    - trials: Runs per dataset, at least 1.
    - seed: At least 0.
    - block_size: Runs per block, at least 1.
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
        """All blocks, as (dataset, index): the first ones of all datasets come first."""
        indices = range(-(-self.trials // self.block_size))
        return [(dataset, index) for index in indices for dataset in range(len(self.datasets))]

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
            **self.target.identity(),
            "datasets": digest.hexdigest(),
            "trials": str(self.trials),
            "seed": str(self.seed),
            "block_size": str(self.block_size),
        }

    def where(self, block: Key) -> str:
        """Return how messages name a block."""
        first = block[1] * self.block_size
        return f"trials [{first}, {first + self.size(block)}) of dataset {block[0]}"


def _run_block(
    target: Target, inputs: NDArray[Any], trials: int, seed: int, block: Key, where: str
) -> NDArray[np.float64]:
    return target(inputs, block_generator(seed, *block), trials, where)


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
def _pool(
    target: Target, executor: Executor | None, workers: int, timeout: float | None
) -> Iterator[tuple[Executor, int]]:
    """Yield the executor and how many blocks to hand it at a time: few, so that stopping is quick."""
    if executor is not None:
        yield executor, 4 * workers
    elif workers == 1 and timeout is None:
        yield _Inline(), 1
    else:
        try:
            pickle.dumps(target)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"{target.shown} cannot be sent to a process of its own ({error}); define it at the top of a module, "
                "name it as 'module:callable', or pass workers=1 and no timeout."
            ) from None
        with Processes(workers, timeout) as processes:
            yield processes, 2 * workers


def asked(
    target: Target,
    function: Callable[..., Any],
    *arguments: Any,
    executor: Executor | None = None,
    timeout: float | None = None,
) -> Any:
    """Return `function(target, *arguments)`, called where trials run: arrays and plain values. See `rounds`.

    Raises TargetError if the target fails, exits, dies or takes too long.
    """
    with _pool(target, executor, 1, timeout) as (pool, _):
        return _answer(pool.submit(function, target, *arguments), target, "in a look inside")


class Execution(TypedDict, total=False):
    """Who runs trials, and what of them is kept: the keyword arguments of `rounds`."""

    workers: int
    executor: Executor | None
    timeout: float | None
    checkpoint: str | Path | None
    progress: Progress | None


def run(trials: Trials, **execution: Unpack[Execution]) -> list[NDArray[np.float64]]:
    """Run all trials and return the outputs, one array of shape (trials, *shape) per dataset: see `rounds`."""
    with closing(rounds(trials, **execution)) as drawn:
        return [np.concatenate(blocks) for blocks in zip(*drawn, strict=True)]


def rounds(
    trials: Trials,
    *,
    workers: int = 1,
    executor: Executor | None = None,
    timeout: float | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
) -> Generator[list[NDArray[np.float64]], None, None]:
    """Run all trials, and yield the outputs block by block, in order: one array per dataset, of as many runs.

    Nothing is kept of what has been yielded, but for a checkpoint. Who has seen enough closes the generator: what is
    still running is ended then, and what is finished is kept in the checkpoint.

    - trials: What to run.
    - workers: Processes to run it in. The outputs do not depend on it.
    - executor: Used instead of processes of our own, with up to `4 * workers` blocks submitted at a time: threads, or a
      cluster's (for Dask, `client.get_executor()`). It is not shut down.
    - timeout: The longest that a block may take, in seconds; not with `executor`. With it or with more than one worker,
      the target runs in processes of its own, which it may end without harm; otherwise in the caller's, where one that
      calls `os._exit` or never returns cannot be stopped.
    - checkpoint: A file that finished blocks are kept in, and taken from if it exists: after Ctrl-C, an error, or the
      death of the process, the same call goes on where it was. One block of each dataset is then drawn again and
      compared.
    - progress: `progress(done, total)` in trials, after every block.

    Raises TargetError if the target fails, exits, dies or takes too long; finished blocks are kept. Raises
    CheckpointError if the checkpoint belongs to another configuration, is damaged, cannot be written, or holds another
    block than the target draws. Raises KeyboardInterrupt after the finished blocks have been kept, and processes of our
    own have been ended.
    """
    check_integer("workers", workers, low=1)
    if timeout is not None:
        check_real("timeout", timeout, low=0.0, low_open=True)
        if executor is not None:
            raise ValueError(f"timeout={timeout!r} must not be given with an executor, whose tasks cannot be ended.")
    blocks = trials.blocks
    workers = min(workers, len(blocks))
    checkpoint = None if checkpoint is None else Path(checkpoint).absolute()  # a target may change the directory
    keep: Checkpoint | None = None
    finished: dict[Key, Packed] = {}
    saved = 0
    try:
        with _pool(trials.target, executor, workers, timeout) as (pool, ahead):
            # A process of its own first imports the target: nothing of it runs in this one.
            prepare = pool if isinstance(pool, Processes) else _Inline()
            task = prepare.submit(_configuration, trials, checkpoint is not None)
            configuration = _answer(task, trials.target, "while it was imported")
            if checkpoint is not None:
                keep = Checkpoint(checkpoint, configuration)
                stored = keep.load()
                _check_stored(pool, trials, keep, stored)
                finished, saved = stored, len(stored)
            done, written = sum(map(trials.size, finished)), time.monotonic()
            each = len(trials.datasets)
            waiting: dict[Key, NDArray[np.float64]] = {}
            with closing(_drawn(pool, ahead, trials, [block for block in blocks if block not in finished])) as drawn:
                for wanted in (blocks[at : at + each] for at in range(0, len(blocks), each)):
                    while not all(block in waiting or block in finished for block in wanted):
                        block, outputs = next(drawn)
                        waiting[block] = outputs
                        done += len(outputs)
                        if progress is not None:
                            progress(done, trials.trials * len(trials.datasets))
                        if keep is not None:
                            finished[block] = Packed.of(outputs)
                            if time.monotonic() - written >= _BETWEEN_WRITES:
                                keep.save(finished)
                                saved, written = len(finished), time.monotonic()
                    yield [waiting.pop(block) if block in waiting else finished[block].array() for block in wanted]
    finally:
        # The processes have ended by now: after Ctrl-C they do not run on while a large file is written.
        if keep is not None and len(finished) > saved:
            keep.save(finished)


def _configuration(trials: Trials, wanted: bool) -> dict[str, str]:
    """Return the configuration for a checkpoint; without one see only that there is a target."""
    if wanted:
        return trials.configuration()
    trials.target.load()
    return {}


def _check_stored(pool: Executor, trials: Trials, keep: Checkpoint, finished: Mapping[Key, Packed]) -> None:
    """Draw each dataset's last stored block again; without any see that the file can be written before the work."""
    if not finished:
        keep.save({})
        return
    if not set(finished) <= set(trials.blocks):
        raise keep.refused("holds blocks that this audit does not have")
    for block, packed in finished.items():
        if packed.shape != (trials.size(block), *trials.target.seen) or not np.isfinite(packed.array()).all():
            raise keep.refused(f"holds other things than outputs for {trials.where(block)}")
    # A file that the target reads may change what it does with one of the datasets alone.
    last = dict(sorted(finished))
    for block, again in _drawn(pool, 1, trials, list(last.items())):
        if again.tobytes() != finished[block].array().tobytes():
            raise keep.refused(
                f"holds other outputs than {trials.target.shown} gives now in {trials.where(block)}: it has changed, "
                "or takes randomness from elsewhere than its generator"
            )


def _drawn(
    pool: Executor, ahead: int, trials: Trials, blocks: Sequence[Key]
) -> Generator[tuple[Key, NDArray[np.float64]], None, None]:
    """Yield blocks and their outputs as they are finished."""
    left, running = iter(blocks), dict[Future[Any], Key]()
    try:
        while True:
            for block in itertools.islice(left, ahead - len(running)):
                inputs = trials.datasets[block[0]]
                task = trials.target, inputs, trials.size(block), trials.seed, block, trials.where(block)
                running[pool.submit(_run_block, *task)] = block
            if not running:
                return
            # What ran when it was submitted waits for nothing.
            done = {future for future in running if future.done()} or wait(running, return_when=FIRST_COMPLETED).done
            # As they were submitted: the first that fails says why, later ones may only find its process dead.
            for future in [future for future in running if future in done]:
                block = running.pop(future)
                answer = _answer(future, trials.target, f"in {trials.where(block)}")
                # Checked again where nothing that the target has done can reach.
                yield block, trials.target.checked(answer, trials.size(block), trials.where(block))
    except BrokenExecutor as error:
        raise TargetError(f"{trials.target.shown} broke its executor: {error}") from error
    finally:
        for future in running:
            future.cancel()


def _answer(future: Future[Any], target: Target, when: str) -> Any:
    """Return what a task came to; all that went wrong with it is the target's failure."""
    try:
        return future.result()
    except (ValueError, BrokenExecutor):
        raise
    except ProcessFailure as failure:
        raise TargetError(f"{target.shown} {failure} {when}.") from None
    except Exception as error:
        raise TargetError(f"{target.shown} has no answer {when}: {type(error).__name__}: {error}.") from error
