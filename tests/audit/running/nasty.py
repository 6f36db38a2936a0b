"""Targets that treat their process badly, for the audit to survive; all but `honest` fail in some way or other."""

import atexit
import contextlib
import inspect
import os
import pickle
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

BUFFER = np.zeros(())


def honest(bits: np.ndarray, rng: np.random.Generator) -> float:
    return float(bits.sum() + rng.normal())


def exits(bits: np.ndarray, rng: np.random.Generator) -> float:
    sys.exit(0)


def dies(bits: np.ndarray, rng: np.random.Generator) -> float:
    os._exit(0)


def dies_later(bits: np.ndarray, rng: np.random.Generator) -> float:
    threading.Timer(0.1, os._exit, (0,)).start()
    time.sleep(0.01)
    return honest(bits, rng)


def leaves_a_fork_and_dies(bits: np.ndarray, rng: np.random.Generator) -> float:
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)


def hangs(bits: np.ndarray, rng: np.random.Generator) -> float:
    time.sleep(1000)
    return 0.0


def hangs_on_the_second_dataset(bits: np.ndarray, rng: np.random.Generator) -> float:
    return hangs(bits, rng) if bits.sum() == 2 else honest(bits, rng)


def is_killed(bits: np.ndarray, rng: np.random.Generator) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def crashes(bits: np.ndarray, rng: np.random.Generator) -> float:
    os.kill(os.getpid(), signal.SIGSEGV)
    return 0.0


def wants_memory(bits: np.ndarray, rng: np.random.Generator) -> float:
    return float(np.ones(10**15).sum())


def interrupts(bits: np.ndarray, rng: np.random.Generator) -> float:
    raise KeyboardInterrupt


def stops_a_generator(bits: np.ndarray, rng: np.random.Generator) -> float:
    raise GeneratorExit


class Unspeakable(BaseException):
    def __init__(self, first: int, second: int) -> None:
        pass

    def __str__(self) -> str:
        raise RuntimeError


def raises_the_unspeakable(bits: np.ndarray, rng: np.random.Generator) -> float:
    raise Unspeakable(1, 2)


def asks(bits: np.ndarray, rng: np.random.Generator) -> float:
    return float(input())


def closes_everything(bits: np.ndarray, rng: np.random.Generator) -> float:
    os.closerange(0, 256)
    return 0.0


def hides_a_nan(bits: np.ndarray, rng: np.random.Generator) -> float:
    np.isfinite = lambda values: np.ones(np.shape(values), dtype=bool)  # type: ignore[assignment]
    return float("nan")


def prints(bits: np.ndarray, rng: np.random.Generator) -> float:
    print("printed", end=" ")
    os.write(1, b"written ")
    return honest(bits, rng)


def closes_its_output(bits: np.ndarray, rng: np.random.Generator) -> float:
    for stream in (sys.stdout, sys.stderr):
        stream.close()
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    return honest(bits, rng)


def forks(bits: np.ndarray, rng: np.random.Generator) -> float:
    if rng.random() < 0.1:
        os.fork()
    return honest(bits, rng)


def sends_itself_an_interrupt(bits: np.ndarray, rng: np.random.Generator) -> float:
    signal.raise_signal(signal.SIGINT)
    return honest(bits, rng)


def exits_at_exit(bits: np.ndarray, rng: np.random.Generator) -> float:
    atexit.register(os._exit, 0)
    return honest(bits, rng)


def reuses_a_buffer(bits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    BUFFER[...] = honest(bits, rng)
    return BUFFER


def moves(bits: np.ndarray, rng: np.random.Generator) -> float:
    os.chdir("/")
    return honest(bits, rng)


class _Exits:
    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (0,)


def _send(answer: bytes) -> None:
    """Answer in the place of the process that runs this: nothing keeps a target from finding its end of the pipe."""
    frame = inspect.currentframe()
    while frame is not None:
        if isinstance(pipe := frame.f_locals.get("pipe"), Connection):
            pipe.send_bytes(answer)
        frame = frame.f_back


def sends_code_itself(bits: np.ndarray, rng: np.random.Generator) -> float:
    _send(pickle.dumps((True, _Exits())))
    return honest(bits, rng)


def sends_nonsense_itself(bits: np.ndarray, rng: np.random.Generator) -> float:
    _send(b"nonsense")
    return honest(bits, rng)


def returns_unsigned_integers(bits: np.ndarray, rng: np.random.Generator) -> np.uint64:
    return np.uint64(bits.sum())


def returns_the_least_integer(bits: np.ndarray, rng: np.random.Generator) -> np.int64:
    return np.int64(-(2**63))
