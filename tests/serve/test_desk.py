"""Questions are answered once, the most wanted first, and not for nobody."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dpverify.serve.desk import Desk, _Worker
from dpverify.serve.work import Refusal


def noted(folder: Path, text: str, seconds: float = 0.0) -> str:
    """Write a line, wait, and return the text."""
    with (folder / "asked").open("a") as file:
        file.write(f"{text}\n")
    time.sleep(seconds)
    return text


def failing(kind: str) -> None:
    if kind == "refusal":
        raise Refusal("There is none.")
    if kind == "fault":
        raise ZeroDivisionError("oh")
    if kind == "memory":
        raise MemoryError
    os._exit(1)


def with_desk(count: int, used: Callable[[Desk], Awaitable[Any]], seconds: float = 20.0) -> Any:
    async def run() -> Any:
        desk = Desk(count, seconds)
        desk.start()
        try:
            return await used(desk)
        finally:
            desk.close()

    return asyncio.run(asyncio.wait_for(run(), 60))


def asked(folder: Path) -> list[str]:
    path = folder / "asked"
    return path.read_text().split() if path.is_file() else []


def test_a_question_is_answered_once(tmp_path: Path) -> None:
    async def twice(desk: Desk) -> list[str]:
        both = [desk.ask("a", noted, tmp_path, "a", 0.1, rank=(0,)) for _ in range(2)]
        return [*await asyncio.gather(*both), await desk.ask("a", noted, tmp_path, "a", rank=(0,))]

    assert with_desk(2, twice) == ["a", "a", "a"]
    assert asked(tmp_path) == ["a"]


def test_the_most_wanted_comes_first(tmp_path: Path) -> None:
    async def three(desk: Desk) -> None:
        await desk.ask("ready", noted, tmp_path, "ready", rank=(0,))
        ranks = {"first": (0,), "late": (2, 1), "soon": (2, 0)}
        await asyncio.gather(*(desk.ask(key, noted, tmp_path, key, 0.05, rank=rank) for key, rank in ranks.items()))

    with_desk(1, three)
    assert asked(tmp_path) == ["ready", "first", "soon", "late"]


def test_what_nobody_waits_for_is_dropped_and_its_process_ends(tmp_path: Path) -> None:
    async def superseded(desk: Desk) -> float:
        await desk.ask("ready", noted, tmp_path, "ready", rank=(0,))
        stale = [asyncio.create_task(desk.ask(key, noted, tmp_path, key, 30, rank=(1,))) for key in ("x", "y")]
        while "x" not in asked(tmp_path):
            await asyncio.sleep(0.01)
        for task in stale:
            task.cancel()
        start = time.monotonic()
        assert await desk.ask("now", noted, tmp_path, "now", rank=(0,)) == "now"
        return time.monotonic() - start

    assert with_desk(1, superseded) < 20  # of a question that would take 30 seconds
    assert asked(tmp_path) == ["ready", "x", "now"]


def test_who_asks_again_while_a_process_ends_is_answered(tmp_path: Path) -> None:
    async def again(desk: Desk) -> Any:
        stale = asyncio.create_task(desk.ask("x", noted, tmp_path, "x", 0.5, rank=(1,)))
        while "x" not in asked(tmp_path):
            await asyncio.sleep(0.01)
        stale.cancel()
        await asyncio.sleep(0)
        return await asyncio.gather(
            desk.ask("now", noted, tmp_path, "now", rank=(0,)), desk.ask("x", noted, tmp_path, "x", rank=(1,))
        )

    assert with_desk(1, again) == ["now", "x"]


def test_who_asks_again_at_once_finds_it_still_computed(tmp_path: Path) -> None:
    async def again(desk: Desk) -> Any:
        await desk.ask("ready", noted, tmp_path, "ready", rank=(0,))
        first = [asyncio.create_task(desk.ask(key, noted, tmp_path, key, 0.3, rank=(1,))) for key in ("x", "y")]
        while "x" not in asked(tmp_path):
            await asyncio.sleep(0.01)
        for task in first:  # as a page does that goes on to other settings, which share a question
            task.cancel()
        await asyncio.sleep(0)
        assert not desk.knows("x")
        await asyncio.gather(*(desk.ask(key, noted, tmp_path, key, 0.0, rank=(0,)) for key in ("z", "x")))
        return desk.knows("x")

    assert with_desk(1, again)
    assert asked(tmp_path) == ["ready", "x", "z"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("refusal", "There is none."), ("fault", "ZeroDivisionError: oh"), ("memory", "memory"), ("death", "has died")],
)
def test_a_failure_is_a_sentence_and_the_next_question_is_answered(kind: str, reason: str, tmp_path: Path) -> None:
    async def fails(desk: Desk) -> str:
        with pytest.raises(Refusal, match=reason):
            await desk.ask("fail", failing, kind, rank=(0,))
        return str(await desk.ask("now", noted, tmp_path, "now", rank=(0,)))

    assert with_desk(1, fails) == "now"


def dying_at_first(folder: Path) -> str:
    if not (mark := folder / "died").exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "answered"


@pytest.mark.skipif(os.name != "posix", reason="elsewhere processes are ended otherwise")
def test_a_process_that_was_killed_is_asked_again(tmp_path: Path) -> None:
    async def asks(desk: Desk) -> str:
        return str(await desk.ask("mortal", dying_at_first, tmp_path, rank=(0,)))

    assert with_desk(1, asks) == "answered"


def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    async def long(desk: Desk) -> str:
        with pytest.raises(Refusal, match=r"more than 2 seconds"):
            await desk.ask("long", noted, tmp_path, "long", 60, rank=(0,))
        return str(await desk.ask("now", noted, tmp_path, "now", rank=(0,)))

    assert with_desk(1, long, seconds=2.0) == "now"


def test_a_closed_desk_answers_nobody(tmp_path: Path) -> None:
    async def closed(desk: Desk) -> None:
        waiting = asyncio.create_task(desk.ask("long", noted, tmp_path, "long", 60, rank=(0,)))
        await asyncio.sleep(0)
        desk.close()
        with pytest.raises(Refusal, match="has ended"):
            await waiting
        with pytest.raises(Refusal, match="has ended"):
            await desk.ask("more", noted, tmp_path, "more", rank=(0,))

    start = time.monotonic()
    with_desk(1, closed)
    assert time.monotonic() - start < 30


def test_the_interpreter_does_not_wait_for_a_process_that_is_still_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, end = threading.Event(), threading.Event()
    waiting: list[threading.Thread] = []

    def start(worker: _Worker) -> None:
        waiting.append(threading.current_thread())
        begun.set()
        end.wait(10.0)

    monkeypatch.setattr(_Worker, "start", start)
    desk = Desk(1)
    desk.start()
    try:
        assert begun.wait(10.0)
        desk.close()
        assert [thread.daemon for thread in waiting] == [True]
    finally:
        end.set()
