"""The service takes uploads once, over HTTP, and says nothing about who sent them."""

import asyncio
import itertools
import signal
import socket
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn", reason="the service's libraries are not installed: pip install '.[serve]'")

from dpverify.collection.store import Store
from dpverify.serve.uploads import application
from tests.collection import crashes
from tests.collection.test_store import FEW, few, messages, rows, uploads
from tests.serve.collecting import collecting
from tests.serve.fuzzed import fuzz


def test_an_upload_is_taken_once_also_by_a_service_that_was_killed(tmp_path: Path) -> None:
    plan, folder = few(), tmp_path / "day"
    each = [(key.hex(), upload) for key, upload in uploads(plan, [1, 0, 0] * 8)]
    (key, upload), (other, changed) = each[0], each[1]
    with collecting(folder, plan) as service:
        asking = service.connected()
        for _ in range(2):
            assert service.put(asking, key, upload) == (204, "")
        begin = urlsplit(service.url).path
        for method, path, body, status in (
            ("PUT", begin + key, changed, 409),
            ("PUT", begin + other, b"", 400),
            ("PUT", begin + other, changed[:-1] + b"\x01", 400),
            ("PUT", begin + other, changed + b"\0", 413),
            ("PUT", begin + other, b"\0" * 100_000, 413),
            ("PUT", begin + other.upper() + "0", changed, 400),
            ("PUT", begin + other[:-1], changed, 400),
            ("PUT", begin + other + "00", changed, 400),
            ("PUT", "/uploads/night/" + other, changed, 404),
            ("PUT", "/", changed, 404),
            ("GET", begin + key, b"", 405),
            ("DELETE", begin + key, b"", 405),
        ):
            found, said = service.ask(service.connected(), method, path, body)
            assert found == status, (method, path, found, said)
            assert status in (404, 405) or said.count("\n") == said.count(".") == 1
            assert body.hex() not in said or not body
        for key, upload in each[1:12]:
            assert service.put(asking, key, upload)[0] == 204
        service.process.send_signal(signal.SIGKILL)
        out, err = service.process.communicate()
        assert (out, err) == ("", "")  # besides the address of the service
    with collecting(folder, plan) as service:
        slow = [
            socket.create_connection(("127.0.0.1", urlsplit(service.url).port or 0), timeout=60) for _ in range(300)
        ]
        for one in slow[-20:]:  # the service has closed some of the first, as it has so many
            one.sendall(f"PUT {begin}{each[-1][0]} HTTP/1.1\r\nHost: a\r\nContent-Length: 41\r\n\r\nsome".encode())
        asking = service.connected()
        for key, upload in each:  # whoever does not know whether hers arrived sends it again
            assert service.put(asking, key, upload)[0] == 204
        beside = Store(folder, plan.data, plan.hash)
        (found,) = messages(plan, beside.release("q"))
        assert rows(found) == {(1,): FEW // 3, (0,): FEW - FEW // 3}
        assert service.put(service.connected(), each[0][0], each[0][1])[0] == 410
        assert all(one.recv(100).startswith(b"HTTP/1.1 408 ") for one in slow[-20:])
        for one in slow:
            one.close()


def added(store: Store, key: bytes, upload: bytes) -> bool:
    """Return whether an upload could be written."""
    try:
        return store.add([(key, upload)]) == [None]
    except sqlite3.OperationalError:
        return False


def test_what_cannot_be_written_is_not_acknowledged_and_may_come_again(tmp_path: Path) -> None:
    plan = crashes.plan()
    store = Store(tmp_path / "day", plan.data, plan.hash)
    _, upload = crashes.uploads(plan)[0]
    (pages,) = store._database.execute("PRAGMA page_count").fetchone()
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": upload, "more_body": False}

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    def put(limit: int) -> None:
        store._database.execute(f"PRAGMA max_page_count = {limit}")
        scope = {"type": "http", "method": "PUT", "path": f"/uploads/day/{'ff' * 16}", "headers": []}
        asyncio.run(application(store)(scope, receive, send))

    store._database.execute(f"PRAGMA max_page_count = {pages}")  # a full disk, as SQLite sees it
    stored = itertools.takewhile(lambda key: added(store, key, upload), (bytes([place] * 16) for place in range(256)))
    number = len(list(stored))
    assert 0 < number < 255
    assert number == store.count("q")
    for limit in (pages, pages, 1 << 20, 1 << 20):
        put(limit)
    assert statuses == [503, 503, 204, 204]
    assert store.count("q") == number + 1


def test_nothing_gets_in_that_no_client_can_send(tmp_path: Path) -> None:
    """`python -m tests.serve.fuzzed` sends 10^5."""
    assert 10 < fuzz(tmp_path, 120, ("3nb", "vector-sum"))[0] < 110
