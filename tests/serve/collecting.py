"""`dpverify collect` in a process of its own, and requests to it."""

import http.client
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from dpverify.collection.manifest import Manifest
from tests.serve.served import started

__all__ = ["Collecting", "collecting"]


@dataclass
class Collecting:
    """A running service.

    Parameters
    ----------
    process : subprocess.Popen
        Its process.
    url : str
        That keys follow.
    """

    process: subprocess.Popen[str]
    url: str

    def connected(self) -> http.client.HTTPConnection:
        """Return a connection."""
        return http.client.HTTPConnection("127.0.0.1", urlsplit(self.url).port or 0, timeout=60)

    def put(self, connection: http.client.HTTPConnection, key: str, upload: bytes) -> tuple[int, str]:
        """Return the status and the text of the answer to one upload."""
        return self.ask(connection, "PUT", urlsplit(self.url).path + key, upload)

    def ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes) -> tuple[int, str]:
        """Return the status and the text of an answer."""
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@contextmanager
def collecting(folder: Path, plan: Manifest) -> Iterator[Collecting]:
    """Start a service at a free port, with the manifest beside its folder; it is killed in the end."""
    path = folder.with_suffix(".json")
    plan.write(path)
    with started("collect", path, "--hash", plan.hash, "--store", folder) as (process, url):
        yield Collecting(process, url)
