"""The client in JavaScript: byte for byte that in Python, in Node and in a browser; without either, skipped."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path
from typing import ClassVar

import pytest

from tests.browser import opened, started
from tests.collection.vectors import FOLDER, QUERIES, text, vectors

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "javascript"


def in_node(folder: Path) -> subprocess.CompletedProcess[str]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on the PATH")
    return subprocess.run([node, CLIENT / "vectors.js", folder], capture_output=True, text=True, check=False)


def test_the_written_vectors_pass_in_node() -> None:
    done = in_node(FOLDER)
    assert done.returncode == 0, done.stderr
    assert [line.split(".")[0] for line in done.stdout.splitlines()] == sorted(QUERIES)


def test_new_vectors_are_the_same_in_node(tmp_path: Path) -> None:
    calls = []
    for name in sorted(QUERIES):
        found = vectors(name, 100 if name != "rappor" else 60, 2)
        (tmp_path / f"{name}.json").write_text(text(found), encoding="ascii")
        calls.append(sum(len(vector["calls"]) for vector in found["vectors"]))
    done = in_node(tmp_path)
    assert done.returncode == 0, done.stderr
    assert [int(line.split()[1]) for line in done.stdout.splitlines()] == calls
    assert min(calls) > 100


@pytest.mark.parametrize("place", [-1, 40])
def test_a_wrong_vector_is_found(place: int, tmp_path: Path) -> None:
    found = json.loads((FOLDER / "poisson.json").read_text(encoding="ascii"))
    call = found["vectors"][0]["calls"][0]
    wrong = bytearray(bytes.fromhex(call["upload"]))
    wrong[place if place < len(wrong) else 0] ^= 1
    call["upload"] = wrong.hex()
    (tmp_path / "wrong.json").write_text(text(found), encoding="ascii")
    done = in_node(tmp_path)
    assert done.returncode != 0
    assert "vector 0 of poisson" in done.stderr


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a word; scripts as what they are, which a system's list of types may not know."""

    extensions_map: ClassVar[dict[str, str]] = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
    }

    def log_message(self, *_: object) -> None:
        pass


def test_the_written_vectors_pass_in_a_browser() -> None:
    handler = functools.partial(Quiet, directory=ROOT / "clients")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, started() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/javascript/package.json"
        try:
            with opened(browser, address) as page:
                for name in QUERIES:
                    run = """async name => {
                        const { check } = await import("/javascript/check.js");
                        return check(await (await fetch(`/vectors/${name}.json`)).json());
                    }"""
                    assert page.page.evaluate(run, name) > 20
        finally:
            server.shutdown()
