"""Sockets of services on this machine: what is short is sent at once, and a port is had or refused in a sentence."""

import asyncio
import socket

import pytest

pytest.importorskip("uvicorn", reason="the page's server is not installed: pip install '.[serve]'")

from dpverify.serve.connections import HOST, listening


def test_connections_send_at_once_what_is_short() -> None:
    async def accepted() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def called(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            own = writer.get_extra_info("socket")
            found.set_result(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listening(0) as listener:
            async with await asyncio.start_server(called, sock=listener):
                _, writer = await asyncio.open_connection(HOST, listener.getsockname()[1])
                without_delay = await found
                writer.close()
        return without_delay

    assert asyncio.run(accepted())


def test_a_port_that_cannot_be_had_is_refused() -> None:
    with listening(0) as taken:
        port = taken.getsockname()[1]
        assert taken.getsockname()[0] == "127.0.0.1"
        with pytest.raises(ValueError, match=rf"^port={port} must be a free one, but it is in use; 0 takes any"):
            listening(port)
