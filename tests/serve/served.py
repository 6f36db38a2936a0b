"""`dpverify serve` in a process of its own, as a user starts it."""

import http.client
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

__all__ = ["OWN", "Served", "served"]

ROOT = Path(__file__).resolve().parent.parent.parent
OWN = {"X-Dpverify": "test"}
"""What only the page itself sends."""


@dataclass
class Served:
    """A running server.

    Parameters
    ----------
    process : subprocess.Popen
        Its process.
    url : str
        Of the page, with the slash at its end.
    """

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self.url).port or 0

    def ask(
        self, path: str, headers: dict[str, str] | None = None, method: str = "GET", body: bytes | None = None
    ) -> http.client.HTTPResponse:
        """Return the answer to one request, whose body is not read yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, headers=headers or {})
        return connection.getresponse()


@contextmanager
def started(*words: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a command that serves at a free port, and give its process and what it says first; it is killed at last."""
    pytest.importorskip("uvicorn", reason="the page's server is not installed: pip install '.[serve]'")
    process = subprocess.Popen(
        [sys.executable, "-m", "dpverify", *map(str, words), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().split(" ")[0]
    finally:
        process.kill()
        process.communicate()


@contextmanager
def served(*words: str) -> Iterator[Served]:
    """Start a server at a free port; it is killed in the end."""
    with started("serve", "--no-browser", *words) as (process, url):
        yield Served(process, url)
