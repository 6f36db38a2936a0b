"""The server of the pages: on this machine only, for pages of its own only; nothing that it is asked changes it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import plotly
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpverify.serve.ahead import Move, ahead, opening
from dpverify.serve.connections import HOST, body_of, configured, listening, refused
from dpverify.serve.desk import Desk, workers
from dpverify.serve.lines import python_lines, shell_lines
from dpverify.serve.pieces import Piece, pieces, streamed
from dpverify.serve.spent import told
from dpverify.serve.state import BadState, State, controls
from dpverify.serve.texts import LONGEST, Text
from dpverify.shown import plain

__all__ = ["Guard", "application", "run"]

_STATIC = Path(__file__).parent / "static"
_FILES = {
    "/": (_STATIC / "page.html", "text/html"),
    "/days": (_STATIC / "days.html", "text/html"),
    "/page.css": (_STATIC / "page.css", "text/css"),
    "/page.js": (_STATIC / "page.js", "text/javascript"),
    "/days.js": (_STATIC / "days.js", "text/javascript"),
    "/asking.js": (_STATIC / "asking.js", "text/javascript"),
    "/styles.js": (_STATIC / "styles.js", "text/javascript"),
    "/plots.js": (_STATIC / "plots.js", "text/javascript"),
    "/plotly.js": (Path(plotly.__file__).parent / "package_data" / "plotly.min.js", "text/javascript"),
}
_PAGES = {path for path, (_, media_type) in _FILES.items() if media_type == "text/html"}
_ASKED_BY = "x-dpverify"
"""A header that no other origin's page can send without being asked whether it may, and no one answers that."""
_MOST_PAGES = 16
"""So many pages are answered at a time."""
_MOST_CONNECTIONS = 48
_EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
"""Of no text: plotly adds an empty style sheet, and rules to that by script."""
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    f"style-src 'self' {_EMPTY_STYLE}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


class Guard:
    """Lets through what pages of this server ask, and refuses what other origins do.

    Another site may point its own name at this machine (DNS rebinding): the `Host` header tells. Its page may ask
    without reading the answer: `Origin`, `Sec-Fetch-Site` and a header of our own tell. A link from anywhere may be
    followed to the pages themselves.

    - app: What is guarded.
    - port: That it is served at.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        names = (HOST, "localhost", "[::1]")
        self._hosts = {f"{name}:{port}" for name in names} | (set(names) if port == 80 else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        reason = self._refused(scope)
        answer = self._app if reason is None else refused(reason, 403)
        await answer(scope, receive, guarded)

    def _refused(self, scope: Scope) -> str | None:
        """Return why a request is not answered."""
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value.decode("latin-1"))
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return "Host must be this machine, by the address that `dpverify serve` printed."
        if any(origin != f"http://{hosts[0]}" for origin in headers.get(b"origin", [])):
            return "Origin must be this server's own."
        if scope["path"] in _PAGES:
            framed = headers.get(b"sec-fetch-dest", ["document"]) != ["document"]
            return "The page must not be part of another one." if framed else None
        if any(site not in {"same-origin", "none"} for site in headers.get(b"sec-fetch-site", [])):
            return "Only this server's own page may ask."
        return None


class _Planner:
    """What the routes share.

    - desk: Who computes.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._number = 0
        self._open = 0
        self._last: State | None = None
        self._ahead: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the processes, and have them compute what most pages ask first while the browser opens one."""
        self._desk.start()
        self._look_ahead(opening())

    async def controls(self, request: Request) -> Response:
        return JSONResponse(controls())

    async def answers(self, request: Request) -> Response:
        """Answer one state: a line of JSON first, and one for every piece."""
        return self._answered(request, lambda: self._pieces(State.read(request.query_params.multi_items())))

    async def texts(self, request: Request) -> Response:
        """Answer one text, in lines of JSON."""
        written = await body_of(request, "text", LONGEST)
        if isinstance(written, Response):
            return written
        return self._answered(request, lambda: self._parts(Text.read(written, request.query_params.multi_items())))

    def _answered(self, request: Request, read: Callable[[], AsyncIterator[bytes]]) -> Response:
        """Return what reads a question answers to it, unless somebody else asks, or too many do."""
        if _ASKED_BY not in request.headers:
            return refused("Only this server's own page may ask.", 403)
        try:
            lines = read()
        except BadState as error:
            return JSONResponse({"errors": error.errors}, 400)
        if self._open >= _MOST_PAGES:
            return JSONResponse({"errors": {"link": f"{_MOST_PAGES} pages are waiting already; close one."}}, 503)
        return StreamingResponse(self._counted(lines), media_type="application/x-ndjson")

    async def _counted(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        self._open += 1
        self._number += 1
        try:
            async for line in lines:
                yield line
        finally:
            self._open -= 1

    async def _pieces(self, state: State) -> AsyncIterator[bytes]:
        wanted = pieces(state)
        self._look_ahead(ahead(state, None if self._last is None else Move.between(self._last, state)))
        self._last = state
        yield _line(
            {
                "state": state.texts(),
                "shell": shell_lines(state),
                "python": python_lines(state),
                "pieces": [piece.name for piece in wanted],
            }
        )
        async for answers in streamed(wanted, self._desk, self._number):
            yield b"".join(map(_line, answers))

    async def _parts(self, text: Text) -> AsyncIterator[bytes]:
        self._look_ahead([])
        async for part in told(text, self._desk, self._number):
            yield _line(part)

    def _look_ahead(self, wanted: list[Piece]) -> None:
        """Compute what is likely to be asked for, until something else is."""
        if self._ahead is not None:
            self._ahead.cancel()
        number = self._number

        async def look() -> None:
            async for _ in streamed(wanted, self._desk, number):
                pass

        self._ahead = asyncio.create_task(look())


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(plain(value), allow_nan=False).encode() + b"\n"


def _file(path: Path, media_type: str) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        return FileResponse(path, media_type=media_type)

    return answer


def application(planner: _Planner, port: int) -> ASGIApp:
    """Return the application.

    - planner: Who answers.
    - port: That it is served at.
    """
    routes = [Route(path, _file(*file), methods=["GET"]) for path, file in _FILES.items()]
    routes += [Route("/controls", planner.controls), Route("/answers", planner.answers)]
    routes += [Route("/texts", planner.texts, methods=["POST"])]
    return Guard(Starlette(routes=routes), port)


def run(port: int, ready: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C.

    - port: 0 for any that is free.
    - ready: Called with the page's address, once it is served.

    Raises ValueError if the port cannot be had.
    """
    with listening(port) as listener:
        port = listener.getsockname()[1]
        desk = Desk(workers())
        planner = _Planner(desk)
        config = configured(application(planner, port), _MOST_CONNECTIONS)
        with suppress(KeyboardInterrupt):  # that is how one ends it
            asyncio.run(_served(_Server(config, desk), listener, planner, lambda: ready(f"http://{HOST}:{port}/")))


class _Server(uvicorn.Server):
    """Ends the open answers first, for which it would wait."""

    def __init__(self, config: uvicorn.Config, desk: Desk) -> None:
        super().__init__(config)
        self._desk = desk

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._desk.close()
        await super().shutdown(sockets)


async def _served(server: _Server, listener: socket.socket, planner: _Planner, ready: Callable[[], None]) -> None:
    planner.start()
    ready()
    await server.serve(sockets=[listener])
