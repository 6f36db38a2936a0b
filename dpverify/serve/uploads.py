"""The service that takes uploads, on this machine only: `PUT /uploads/BATCH/KEY`, any number of times.

What it writes is what `dpverify.collection.store` does: nothing about who asked, and when. What it sees is another
matter: an address and an upload. In production a relay of somebody else (Oblivious HTTP, RFC 9458) stands before it,
who knows addresses and cannot read uploads, and it is told neither.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from dpverify.collection.store import NotTaken, Store
from dpverify.serve.connections import HOST, body_of, configured, listening, refused

__all__ = ["application", "run"]

_MOST_CONNECTIONS = 256
_MOST_AT_ONCE = 1024
"""Uploads in one transaction."""
_KEY = re.compile("[0-9a-f]{32}", re.ASCII)


class _Inbox:
    """Stores what arrives while a transaction is written in the next one, and answers when that is on the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[tuple[bytes, bytes, asyncio.Future[NotTaken | None]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def put(self, key: bytes, upload: bytes) -> NotTaken | None:
        """Return what is wrong with an upload, or None once it is stored."""
        answer: asyncio.Future[NotTaken | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, upload, answer))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return await answer

    async def _write(self) -> None:
        while self._waiting:
            some, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
            try:
                found = await asyncio.to_thread(self._store.add, [(key, upload) for key, upload, _ in some])
            except Exception as error:  # whatever it is, nobody waits for ever
                for *_, answer in some:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for (*_, answer), result in zip(some, found, strict=True):
                if not answer.done():  # whoever asked may be gone
                    answer.set_result(result)


class _Service:
    def __init__(self, store: Store) -> None:
        self._store, self._inbox = store, _Inbox(store)

    async def put(self, request: Request) -> Response:
        """Store one upload; the same one with the same key is answered as it was before."""
        batch, key = request.path_params["batch"], request.path_params["key"]
        if batch != self._store.name:
            return refused("batch must be the one that is collected here.", 404)
        if not _KEY.fullmatch(key):
            return refused("key must be 32 digits and letters of 0-9a-f: 128 random bits.", 400)
        upload = await body_of(request, "upload", self._store.collector.longest)
        if isinstance(upload, Response):
            return upload
        try:
            wrong = await self._inbox.put(bytes.fromhex(key), upload)
        except sqlite3.Error as error:
            return refused(f"upload could not be stored: {error}.", 503)
        return Response(status_code=204) if wrong is None else refused(str(wrong), wrong.status)


def application(store: Store) -> ASGIApp:
    """Return the application that takes uploads for a store."""
    return Starlette(routes=[Route("/uploads/{batch}/{key}", _Service(store).put, methods=["PUT"])])


def run(store: Store, port: int, ready: Callable[[str], None]) -> None:
    """Take uploads until Ctrl-C.

    - store: Where they are kept.
    - port: 0 for any that is free.
    - ready: Called with the address of what is collected, once it is served.

    Raises ValueError if the port cannot be had.
    """
    with listening(port) as listener:
        server = uvicorn.Server(configured(application(store), _MOST_CONNECTIONS))
        ready(f"http://{HOST}:{listener.getsockname()[1]}/uploads/{store.name}/")
        with suppress(KeyboardInterrupt):  # that is how one ends it
            asyncio.run(server.serve(sockets=[listener]))
