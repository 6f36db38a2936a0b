"""Questions to worker processes: the most wanted first, none twice, and none that nobody waits for any more."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import field
from multiprocessing import connection
from operator import attrgetter
from typing import Any, TypeVar

from dpverify.audit.running.process import withdraw
from dpverify.serve.work import Refusal
from protocols.classes.frozen import dataclass

__all__ = ["SECONDS", "Desk", "Rank", "workers"]

SECONDS = 30.0
"""The longest that one question may take."""
_MEMORY = 3 << 30
"""Bytes of addresses that a worker may use, where the system can say so."""
_GRACE = 0.01
"""Seconds for which what nobody waits for goes on although its process is wanted: who asked may ask again at once."""
_KEPT = 4096
"""So many answers are remembered."""
_HOPS = 4
"""So many turns of the loop bring an answer to who asked, and the question that follows from it back here."""
_DIED = (False, "The process that computed this has died, perhaps for want of memory.", False)
_PRELOADED = ["dpverify.serve.desk"]

_Answer = TypeVar("_Answer")
Rank = tuple[int, ...]
"""What is answered first: the least."""


def workers() -> int:
    """Return how many processes compute: one for each processor, four at most."""
    return min(4, os.cpu_count() or 1)


@dataclass(eq=False)
class _Job:
    """A question that is not answered yet."""

    key: Hashable
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    near: Hashable
    answer: asyncio.Future[Any]
    waiting: dict[int, Rank] = field(default_factory=dict)

    @property
    def rank(self) -> Rank:
        return min(self.waiting.values())


class Desk:
    """Answers questions in worker processes.

    A question that nobody waits for is dropped; if it is being computed and its process is wanted for another one, that
    process is killed. Answers are remembered for as long as the desk lives.

    - count: How many processes.
    - seconds: The longest that a question may take.
    """

    def __init__(self, count: int, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._answers: OrderedDict[Hashable, tuple[bool, Any]] = OrderedDict()
        self._jobs: dict[Hashable, _Job] = {}
        self._idle = [_Worker() for _ in range(count)]
        self._busy: dict[_Worker, _Job] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._ending: asyncio.TimerHandle | None = None
        self._askers = 0
        self._closed = False

    def start(self) -> None:
        """Start the processes, so that the first question need not wait for them."""
        for worker in self._idle:
            _thread(worker.start)

    async def ask(
        self, key: Hashable, function: Callable[..., Any], *arguments: Any, rank: Rank, near: Hashable = None
    ) -> Any:
        """Return what a function of `dpverify.serve.work` returns.

        Parameters
        ----------
        key : hashable
            What tells the question from others.
        function, arguments
            What is called; all can be pickled.
        rank : tuple of int
            The least is answered first.
        near : hashable
            What is the same for questions that are quicker to answer in the process that answered another of them,
            which may still remember half of it.

        Raises
        ------
        Refusal
            If there is no answer.
        """
        if self._closed:
            raise Refusal("The server has ended.")
        if key in self._answers:
            self._answers.move_to_end(key)
            return _told(self._answers[key])
        job = self._jobs.get(key)
        if job is None:
            job = _Job(key, function, arguments, near, asyncio.get_running_loop().create_future())
            self._jobs[key] = job
        self._askers += 1
        asker = self._askers
        job.waiting[asker] = rank
        self._assign()
        try:
            return _told(await asyncio.shield(job.answer))
        finally:
            del job.waiting[asker]
            if not job.waiting:
                self._drop(job)

    def knows(self, key: Hashable) -> bool:
        """Return whether the question's answer is at hand."""
        return key in self._answers

    def _drop(self, job: _Job) -> None:
        """Forget a question that nobody waits for, or, if it is being computed, let others have its process."""
        if job in self._busy.values():
            self._assign()
        elif self._jobs.get(job.key) is job:
            del self._jobs[job.key]

    def _assign(self) -> None:
        """Give the most wanted questions to idle workers, and end stale work soon if there are none."""
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        for job in self._wanted():
            if not self._idle:
                if self._ending is None and self._stale():
                    self._ending = loop.call_later(_GRACE, self._end_stale)
                return
            worker = next((one for one in self._idle if one.near == job.near), self._idle[0])
            self._idle.remove(worker)
            worker.near = job.near
            self._busy[worker] = job
            self._running.add(running := loop.create_task(self._run(worker, job)))
            running.add_done_callback(self._running.discard)

    def _wanted(self) -> list[_Job]:
        """Return the questions that wait for a worker, the most wanted first."""
        taken = set(self._busy.values())
        return sorted((job for job in self._jobs.values() if job not in taken and job.waiting), key=attrgetter("rank"))

    def _stale(self) -> list[_Worker]:
        """Return the workers that compute what nobody waits for."""
        return [worker for worker, job in self._busy.items() if not job.waiting and not worker.ending]

    def _end_stale(self) -> None:
        """End as much stale work as there are questions that wait; they are assigned when it has ended."""
        self._ending = None
        for worker, _ in zip(self._stale(), self._wanted(), strict=False):
            worker.kill()

    async def _run(self, worker: _Worker, job: _Job) -> None:
        try:
            answer = await _in_thread(worker.call, self._seconds, job.function, job.arguments)
        except _Killed:
            answer = None
        del self._busy[worker]
        self._idle.append(worker)
        if self._closed:
            return
        if answer is None and job.waiting:  # somebody asked again in the meantime
            self._assign()
            return
        self._jobs.pop(job.key, None)
        if answer is not None:
            fine, value, lasting = answer
            if lasting:
                self._answers[job.key] = fine, value
                while len(self._answers) > _KEPT:
                    self._answers.popitem(last=False)
            job.answer.set_result((fine, value))
            for _ in range(_HOPS):
                await asyncio.sleep(0)
        self._assign()

    def close(self) -> None:
        """End all processes; questions that are open are refused."""
        self._closed = True
        for job in self._jobs.values():
            if not job.answer.done():
                job.answer.set_result((False, "The server has ended."))
        for task in self._running:
            task.cancel()
        for worker in (*self._idle, *self._busy):
            worker.kill()


def _told(answer: tuple[bool, Any]) -> Any:
    fine, value = answer
    if not fine:
        raise Refusal(value)
    return value


def _thread(function: Callable[[], object]) -> None:
    """Start a thread that the interpreter does not wait for when it ends, as it would for those of a pool.

    To start a process takes seconds where many others compute.
    """
    threading.Thread(target=function, daemon=True).start()


async def _in_thread(function: Callable[..., _Answer], *arguments: Any) -> _Answer:
    loop = asyncio.get_running_loop()
    found: asyncio.Future[_Answer] = loop.create_future()

    def tell(settle: Callable[[Any], None], value: Any) -> None:
        if not found.done():
            settle(value)

    def work() -> None:
        settled: tuple[Callable[[Any], None], Any]
        try:
            settled = found.set_result, function(*arguments)
        except Exception as error:
            settled = found.set_exception, error
        with suppress(RuntimeError):  # the loop may have ended
            loop.call_soon_threadsafe(tell, *settled)

    _thread(work)
    return await found


class _Killed(Exception):
    """The process was killed while it computed."""


class _Worker:
    """One process, which is started when it is needed, and our end of the pipe to it. Called in threads."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: connection.Connection | None = None
        self._starting = threading.Lock()
        self.near: Hashable = None
        self.ending = False

    def start(self) -> None:
        with self._starting:
            self._start()

    def _start(self) -> None:
        if self._process is not None and self._process.is_alive():
            return
        methods = multiprocessing.get_all_start_methods()
        # A server that has imported the engine forks them: a process that was killed is back at once.
        context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        # Workers run side by side: threads of a linear algebra library in each of them would wait for one another.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        if "forkserver" in methods:
            context.set_forkserver_preload(_PRELOADED)
        self._pipe, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with theirs:
            process.start()
        self._process = process
        if self.ending:  # it was to be killed before it was there
            process.kill()

    def call(self, seconds: float, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any, bool]:
        """Return whether it was answered, the answer or the reason, and whether to remember it.

        A process that dies, as where the system ends one for want of memory, is asked again once.
        """
        return self._called(seconds, function, arguments) or self._called(seconds, function, arguments) or _DIED

    def _called(
        self, seconds: float, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> tuple[bool, Any, bool] | None:
        """Return the answer, or None if the process has died."""
        try:
            self.start()
            assert self._pipe is not None
            self._pipe.send((function, arguments))
            if not self._pipe.poll(seconds):
                self._end()
                return False, f"This took more than {seconds:g} seconds; the command line has no such limit.", False
            fine, answer = self._pipe.recv()
            return fine, answer, True
        except (EOFError, OSError):
            if self.ending:
                raise _Killed from None
            self._end()
            return None
        finally:
            if self.ending:
                self._end()

    def _end(self) -> None:
        """Wait until the process has ended; the next question starts another one."""
        with self._starting:
            if self._process is not None:
                self._process.kill()
                self._process.join()
            self._process, self.ending = None, False

    def kill(self) -> None:
        self.ending = True
        if self._process is not None:
            self._process.kill()


def _serve(pipe: connection.Connection) -> None:
    """Answer questions until the process is killed or its parent ends."""
    withdraw()
    with suppress(ImportError):
        import resource

        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):  # the other end is gone
        while True:
            function, arguments = pipe.recv()
            try:
                answer = True, function(*arguments)
            except (Refusal, ValueError) as error:
                answer = False, str(error)
            except MemoryError:
                answer = False, "This needs more memory than a worker may use."
            except Exception as error:
                answer = False, f"dpverify has a fault, {type(error).__name__}: {error}"
            pipe.send(answer)
