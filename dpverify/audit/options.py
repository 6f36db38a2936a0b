"""What every audit of a fixed number of trials may be told: how many, how sure, and how they run."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.runner import Execution, Progress, Trials, rounds
from dpverify.audit.running.target import Target
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = ["SMALLEST_LEVEL", "AuditKeywords", "AuditOptions", "batched"]

_ENTRIES = 2**18
"""Numbers in outputs that are looked at together: few to hold, and enough for what each look costs by itself."""

SMALLEST_LEVEL = 1e-4
"""The smallest family-wise error rate: tests are simulated some 100 / level times."""


class AuditKeywords(Execution, total=False):
    """The fields of `AuditOptions`, as keyword arguments of the functions that audit."""

    trials: int
    level: float
    detect: float
    seed: int
    block_size: int
    seconds: float


def batched(
    blocks: Iterable[Sequence[NDArray[np.float64]]], ends: Sequence[int] = ()
) -> Iterator[list[NDArray[np.float64]]]:
    """Yield the outputs of several blocks together, in order, as soon as they have about a million numbers.

    - blocks: One array per dataset at a time, shape (trials, ...): see `AuditOptions.rounds`.
    - ends: Also as soon as there have been so many trials.
    """
    held: list[Sequence[NDArray[np.float64]]] = []
    seen = 0
    for block in blocks:
        held.append(block)
        before, seen = seen, seen + len(block[0])
        if len(held) * sum(array.size for array in block) >= _ENTRIES or any(before < end <= seen for end in ends):
            yield [np.concatenate(arrays) for arrays in zip(*held, strict=True)]
            held = []
    if held:
        yield [np.concatenate(arrays) for arrays in zip(*held, strict=True)]


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """How much an audit runs, and how.

    - trials: Runs per dataset, at least 100.
    - level: In [1e-4, 1): the family-wise error rate.
    - detect: Positive: the relative size of the fault that each test states its power against, and that a pass must
      exclude to be called consistent.
    - seed: Of everything random, the tests' simulations included.
    - workers, executor, timeout, checkpoint, progress, block_size: See `dpverify.audit.running.runner.rounds`.
    - seconds: Positive: where `trials` is omitted for a black box, it grows until the verdict stands, or it would take
      longer than this with the next four times as many.
    """

    trials: int = 20_000
    level: float = 0.01
    detect: float = 0.1
    seed: int = 0
    workers: int = 1
    executor: Executor | None = None
    timeout: float | None = None
    checkpoint: str | Path | None = None
    progress: Progress | None = None
    block_size: int = 1000
    seconds: float = 60.0

    def __post_init__(self) -> None:
        check_integer("trials", self.trials, low=100)
        check_integer("seed", self.seed, low=0)
        check_real("level", self.level, low=SMALLEST_LEVEL, high=1.0, high_open=True)
        check_real("detect", self.detect, low=0.0, low_open=True)
        check_real("seconds", self.seconds, low=0.0, low_open=True)

    def draw(self, target: Target, datasets: Sequence[NDArray[Any]]) -> list[NDArray[np.float64]]:
        """Run all trials and return the outputs: an array (trials, *shape) per dataset."""
        return [np.concatenate(blocks) for blocks in zip(*self.rounds(target, datasets), strict=True)]

    def rounds(
        self, target: Target, datasets: Sequence[NDArray[Any]]
    ) -> Generator[list[NDArray[np.float64]], None, None]:
        """Run all trials and yield the outputs, block by block: see `dpverify.audit.running.runner.rounds`."""
        return rounds(
            Trials(target, datasets, self.trials, self.seed, self.block_size),
            workers=self.workers,
            executor=self.executor,
            timeout=self.timeout,
            checkpoint=self.checkpoint,
            progress=self.progress,
        )
