"""The service takes uploads once, over HTTP, and says nothing about who sent them."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn", reason="the service's libraries are not installed: pip install '.[serve]'")

from dpverify.collection.store import Store
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
        asking = service.connected()
        for key, upload in each:  # whoever does not know whether hers arrived sends it again
            assert service.put(asking, key, upload)[0] == 204
        beside = Store(folder, plan.data, plan.hash)
        (found,) = messages(plan, beside.release("q"))
        assert rows(found) == {(1,): FEW // 3, (0,): FEW - FEW // 3}
        assert service.put(asking, each[0][0], each[0][1])[0] == 410


def test_what_does_not_arrive_is_not_waited_for_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    plan = few()
    ((number, upload),) = uploads(plan, [1])
    key = number.hex()
    with collecting(tmp_path / "day", plan) as service:
        port, path = urlsplit(service.url).port, urlsplit(service.url).path
        slow = [socket.create_connection(("127.0.0.1", port or 0), timeout=60) for _ in range(300)]
        for one in slow[:20]:
            one.sendall(f"PUT {path}{key} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(upload)}\r\n\r\n".encode())
            one.sendall(upload[:5])
        assert service.put(service.connected(), key, upload)[0] == 204
        assert slow[0].recv(100).startswith(b"HTTP/1.1 408 ")
        for one in slow:
            one.close()


def test_nothing_gets_in_that_no_client_can_send(tmp_path: Path) -> None:
    """`python -m tests.serve.fuzzed` sends 10^5."""
    assert 20 < fuzz(tmp_path, 300)[0] < 280
