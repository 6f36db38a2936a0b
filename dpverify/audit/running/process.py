"""Child processes for an implementation that may exit, hang, print or die: its process ends then, and not the audit."""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import connection, resource_tracker
from typing import Any

__all__ = ["ProcessFailure", "Processes", "withdraw"]

_LOOK = 0.1
"""Seconds between two looks at whether a process is alive: its end of the pipe may outlive it in a fork."""
_GRACE = 2.0
"""Seconds that a process which has closed its end of the pipe may take to die."""
_OF_ARRAYS = {"_reconstruct", "_frombuffer", "scalar", "ndarray", "dtype"}


class ProcessFailure(Exception):
    """What a process came to, in words that follow the name of what ran in it: "took more than 60 seconds"."""


class Processes(Executor):
    """An executor of child processes that bears whatever a task does.

    Their standard output is the standard error output, their standard input is empty, and Ctrl-C does not reach them.
    They are killed at the end, with all that they started: nothing that they would do at exit happens.

    - count: How many.
    - seconds: The longest that a task may take; no limit when omitted. Starting a process does not count.

    Raises ProcessFailure: By a task's future: if the task ends its process, takes too long, or raises what is no
    `Exception`. Raises OSError if the system starts no more processes.
    """

    def __init__(self, count: int, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._children: list[_Child] = []
        self._idle: queue.SimpleQueue[_Child] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(count)
        try:
            with _interrupts_held_back():
                for _ in range(count):
                    child = _Child()
                    self._children.append(child)
                    self._idle.put(child)
        except BaseException:
            self.shutdown()
            raise

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Run a function that can be pickled in the next process that is idle."""
        return self._threads.submit(self._run, pickle.dumps((function, arguments, named)))

    def _run(self, task: bytes) -> Any:
        child = self._idle.get()
        try:
            return child.call(task, self._seconds)
        finally:
            self._idle.put(child)  # dead or alive: whoever takes a dead one learns that it is

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Kill the processes; tasks that are not finished fail, whatever the arguments."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for child in self._children:
            child.kill()
        self._threads.shutdown(wait=wait)


class _Child:
    """One process, and our end of the pipe to it."""

    def __init__(self) -> None:
        # Spawned, not forked: the caller may hold locks in other threads.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,))
        self._started = False
        with theirs:
            self._process.start()

    def call(self, task: bytes, seconds: float | None) -> Any:
        if not self._started:
            try:
                self._receive(None)
            except ProcessFailure as failure:
                raise ProcessFailure(
                    f"{failure} before it ran anything (a script that uses processes must do so under "
                    "`if __name__ == '__main__':`)"
                ) from None
            self._started = True
        with suppress(OSError):  # a dead process answers by its end
            self._pipe.send_bytes(task)
        try:
            fine, answer = _Answers(io.BytesIO(self._receive(seconds))).load()
        except ProcessFailure:
            raise
        except Exception as error:
            raise ProcessFailure(f"sent what is no answer ({type(error).__name__})") from None
        if not fine:
            raise answer
        return answer

    def _receive(self, seconds: float | None) -> bytes:
        end = None if seconds is None else time.monotonic() + seconds
        try:
            while not self._pipe.poll(_LOOK):
                if not self._process.is_alive() and not self._pipe.poll():
                    raise EOFError
                if end is not None and time.monotonic() > end and not self._pipe.poll():
                    self.kill()
                    raise ProcessFailure(f"took more than timeout={seconds:g} seconds")
            return self._pipe.recv_bytes()
        except (EOFError, OSError):
            self._process.join(_GRACE)
            status = self._process.exitcode
            self.kill()
            raise ProcessFailure(_ending(status)) from None

    def kill(self) -> None:
        """End the process and its group, which is that of all that it started and did not move elsewhere."""
        if hasattr(os, "killpg") and self._process.pid:
            with suppress(OSError):  # there is no such group before the process has made it
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()


def _ending(status: int | None) -> str:
    if status is None:
        return "closed the pipe between its process and the audit"
    if status >= 0:
        return f"ended its process with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"had its process ended by {name}" + (" (perhaps for want of memory)" if name == "SIGKILL" else "")


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Hold Ctrl-C back while processes start, which inherit that: only the one that keeps the results may act on it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # whose start would let it through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: connection.Connection) -> None:
    """Run tasks, one after the other, until the process is killed."""
    withdraw()
    itself = os.getpid()
    pipe.send_bytes(b"started")
    while True:
        task = pipe.recv_bytes()
        try:
            function, arguments, named = pickle.loads(task)
            answer = True, function(*arguments, **named)
        except Exception as error:
            answer = False, error
        except BaseException as error:
            answer = False, ProcessFailure(f"raised {type(error).__name__}")
        if os.getpid() != itself:
            os._exit(0)  # a fork that the task left behind: one answer is enough
        with suppress(Exception):
            sys.stderr.flush()  # the process is killed in the end, and a task may have closed it
        pipe.send_bytes(_pickled(answer))


class _Answers(pickle.Unpickler):
    """Reads what a process sent: arrays, plain values and exceptions, but nothing that runs its code here."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class of exceptions, of Python's own or of ours, or what numpy makes arrays of."""
        if module.partition(".")[0] == "numpy" and name in _OF_ARRAYS:
            return super().find_class(module, name)
        if module == "builtins" or module.startswith("dpverify."):
            found = super().find_class(module, name)
            if isinstance(found, type) and issubclass(found, Exception):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of an answer")


def _pickled(answer: tuple[bool, Any]) -> bytes:
    try:
        sent = pickle.dumps(answer)
        _Answers(io.BytesIO(sent)).load()
        return sent
    except Exception as error:
        return pickle.dumps((False, ProcessFailure(f"came to what cannot be sent ({type(error).__name__})")))


def withdraw() -> None:
    """Leave the terminal and the standard output to the parent, and die with it."""
    if hasattr(os, "setsid"):
        with suppress(OSError):
            os.setsid()
    with suppress(OSError):
        os.dup2(2, 1)
    sys.stdout = sys.stderr
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(parent: int) -> None:
    connection.wait([parent])
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
