"""Sockets and connections of a service on this machine only."""

from __future__ import annotations

import asyncio
import errno
import os
import socket

import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["HOST", "PATIENCE", "body_of", "configured", "listening", "refused"]

HOST = "127.0.0.1"
PATIENCE = 5.0
"""Seconds that a whole request may take to arrive, which uvicorn waits for without end."""


def listening(port: int) -> socket.socket:
    """Return a socket that listens on this machine only.

    - port: 0 for any that is free.

    Raises ValueError if it cannot be had.
    """
    # By this name asyncio has its connections send at once what is short (TCP_NODELAY): 2 ms, and not 50.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers have the same port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(64)
    except OSError as error:
        found.close()
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be had ({error.strerror})"
        raise ValueError(f"port={port} must be a free one, but it {reason}; 0 takes any that is free.") from None
    return found


def configured(app: ASGIApp, connections: int) -> uvicorn.Config:
    """Return how an application is served: nothing is written about who asks.

    - app: What answers.
    - connections: Where there are more, the one that has kept us waiting for its request the longest is closed.
    """
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="off",
        limit_concurrency=connections + 16,
        timeout_graceful_shutdown=1,
        http=type("_Limited", (_Connection,), {"most": connections}),
    )


def refused(reason: str, status: int) -> Response:
    """Return an answer in a sentence."""
    return PlainTextResponse(reason + "\n", status)


async def body_of(request: Request, name: str, longest: int) -> bytes | Response:
    """Return what a request brings, or what to answer if that is too long or does not arrive.

    - name: What it is, for the message.
    - longest: Bytes.
    """
    found = b""
    try:
        async with asyncio.timeout(PATIENCE):
            async for piece in request.stream():
                found += piece
                if len(found) > longest:
                    return refused(f"{name} must have {longest} bytes at most.", 413)
    except (TimeoutError, ClientDisconnect):
        return refused(f"{name} must arrive as a whole.", 408)
    return found


class _Connection(H11Protocol):
    """Closes connections on which no request comes: many of them would leave no place for others."""

    most: int
    waiting_since: float

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.waiting_since = self.loop.time()
        self._look()
        idle = [one for one in self.connections if isinstance(one, _Connection) and one is not self and one.waits]
        if len(self.connections) > self.most and idle:
            min(idle, key=lambda one: one.waiting_since).transport.close()

    @property
    def waits(self) -> bool:
        """Whether no request is being answered, and the connection is open."""
        return not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete)

    def on_response_complete(self) -> None:
        self.waiting_since = self.loop.time()
        super().on_response_complete()

    def _look(self) -> None:
        if self.waits and self.loop.time() - self.waiting_since >= PATIENCE:
            self.transport.close()
        elif not self.transport.is_closing():
            self.loop.call_later(PATIENCE / 4.0, self._look)
