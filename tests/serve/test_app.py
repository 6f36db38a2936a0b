"""The server answers its own page, on this machine, and nobody else."""

import http.client
import json
import re
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from dpverify.planning.plan import plan
from dpverify.serve.texts import LONGEST
from tests.serve.served import OWN, Served, served
from tests.serve.test_texts import DAYS

pytest.importorskip("uvicorn", reason="the page's server is not installed: pip install '.[serve]'")

from dpverify.serve.app import _FILES

QUICK = "/answers?" + urlencode({"bitsum": "central-discrete-laplace", "users": "50", "instances": "2"})


def lines(answer: http.client.HTTPResponse) -> list[Any]:
    return [json.loads(line) for line in answer]


def test_every_piece_that_is_announced_is_answered(server: Served) -> None:
    answer = server.ask(QUICK, OWN)
    assert answer.status == 200
    first, *rest = lines(answer)
    assert sorted(piece["piece"] for piece in rest) == sorted(first["pieces"])
    (found,) = [piece["plan"] for piece in rest if piece["piece"] == "plan/exact"]
    row = plan("central-discrete-laplace", ("1", "1e-6"), users=50, instances=2)
    assert found["bitsum_rmse"] == row.bitsum_rmse
    assert found["guarantee"] == json.loads(json.dumps(row.guarantee.to_dict()))


def test_what_was_computed_is_not_computed_again(server: Served) -> None:
    lines(server.ask(QUICK, OWN))
    start = time.monotonic()
    again = lines(server.ask(QUICK, OWN))
    assert len(again) > 40
    assert time.monotonic() - start < 2.0  # of an answer that takes milliseconds, and longer than that if computed


@pytest.mark.parametrize("path", [*_FILES, "/controls"])
def test_what_the_page_consists_of_has_the_strict_headers(server: Served, path: str) -> None:
    answer = server.ask(path)
    assert answer.status == 200
    assert len(answer.read()) > 100
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "*" not in policy
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["access-control-allow-origin"] is None
    assert answer.headers["server"] is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "127.0.0.1.evil.example:{port}", "", "[::1]"],
)
def test_a_name_that_was_pointed_at_this_machine_is_refused(server: Served, host: str) -> None:
    for path in ("/", "/days", QUICK, "/controls"):
        answer = server.ask(path, {**OWN, "Host": host.format(port=server.port)})
        assert answer.status == 403
        assert answer.read().count(b"\n") == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_other_origins_are_refused(server: Served, headers: dict[str, str]) -> None:
    sent = {name: value.format(port=server.port) for name, value in headers.items()}
    for path in (QUICK, "/controls", "/page.js"):
        assert server.ask(path, {**OWN, **sent}).status == 403
    assert server.ask("/texts", {**OWN, **sent}, "POST", DAYS.encode()).status == 403


def test_a_page_that_only_makes_the_browser_ask_costs_nothing(server: Served) -> None:
    # An image or a script of an old browser, which says nothing of where it comes from.
    assert server.ask(QUICK).status == 403
    assert server.ask("/texts", {}, "POST", DAYS.encode()).status == 403


def test_a_text_is_answered_and_too_long_or_hostile_ones_are_a_sentence_each(server: Served) -> None:
    def answered(body: bytes, query: str = "") -> list[Any]:
        answer = server.ask(f"/texts{query}", OWN, "POST", body)
        assert answer.status == 200
        return lines(answer)

    name, found, *points = answered(DAYS.encode(), "?delta=1e-7&at_most=2")
    assert name == {"name": "days.csv"}
    assert "--at-most 2" in found["shell"]
    assert points[-1]["left"] == 0
    for hostile in (
        b"",
        b"\xff\xfe\x00",
        b"<script>alert(1)</script>",
        b"a = " + b"[" * 100_000,
        b"[{" + b'"a": [' * 40_000,
        b"users = " + b"9" * 4_000 + b"\n[[budgets]]\nepsilon = 1\ndelta = 1e-6\n[[queries]]\nname = 'a'\nbits = 3\n",
        b"protocol,users,flip_probability\n/etc/passwd,9,0.1\n",
        b"protocol,users,flip_probability\n" + b"x" * 140_000 + b",9,0.1\n",
        b'[{"protocol": {"protocol": {"family": {}, "instances": 1e9}}}]',
        DAYS.encode().replace(b"90", b"9" * 5_000),
    ):
        *_, last = answered(hostile)
        assert last.keys() == {"error"}
        assert last["error"].endswith(".")
        assert not re.search("Traceback|fault|died", last["error"])
    longer = server.ask("/texts", OWN, "POST", b"#" * (LONGEST + 1))
    assert (longer.status, longer.read().count(b"\n")) == (413, 1)
    asked = server.ask("/texts?delta=nan&at_most=x", OWN, "POST", DAYS.encode())
    assert (asked.status, set(json.loads(asked.read())["errors"])) == (400, {"delta", "at_most"})
    assert server.ask("/texts", OWN).status == 405


def test_a_link_from_elsewhere_opens_the_page_but_no_frame_holds_it(server: Served) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    for path in ("/?epsilon=2", "/days"):
        assert server.ask(path, {**link, "Sec-Fetch-Dest": "document"}).status == 200
        assert server.ask(path, {**link, "Sec-Fetch-Dest": "iframe"}).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(server: Served, method: str) -> None:
    assert server.ask("/answers", OWN, method).status == 405
    assert server.ask("/", OWN, method).status == 405


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/static/page.html", "/%2e%2e/app.py", "/page.js/", "//etc/passwd"]
)
def test_nothing_else_is_served(server: Served, path: str) -> None:
    assert server.ask(path, OWN).status in {404, 307}


@pytest.mark.parametrize(
    "query",
    [
        {"epsilon": "nan"},
        {"epsilon": "1e999999999"},
        {"users": "-5"},
        {"users": "9" * 4000},
        {"delta": "<script>alert(1)</script>"},
        {"bitsum": "../../etc/passwd"},
        {"squared_change": "1e4"},
        {"<img src=x>": "1"},
    ],
    ids=str,
)
def test_hostile_values_are_one_sentence_each(server: Served, query: dict[str, str]) -> None:
    answer = server.ask("/answers?" + urlencode(query), OWN)
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/json"
    (sentence,) = json.loads(answer.read())["errors"].values()
    assert "Traceback" not in sentence
    assert len(sentence) < 300


def test_who_leaves_in_the_middle_hinders_nobody(server: Served) -> None:
    slow = "/answers?" + urlencode({"bitsum": "pure", "users": "1e6", "instances": "512", "squared_change": "16"})
    for number in range(6):
        left = server.ask(f"{slow}&epsilon={number + 1}", OWN)
        left.readline()
        left.close()
    start = time.monotonic()
    quick = server.ask("/answers?" + urlencode({"bitsum": "local-rr", "users": "60", "instances": "2"}), OWN)
    found = next(piece for piece in map(json.loads, quick) if piece.get("piece") == "plan/exact")
    assert found["plan"]["bitsum_rmse"] > 0
    assert time.monotonic() - start < 20


def test_connections_without_a_request_leave_place_for_others(server: Served) -> None:
    half = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(70)]
    for one in half:
        one.sendall(b"GET / HTTP/1.1\r\n")
    time.sleep(0.2)
    assert server.ask("/").status == 200
    start = time.monotonic()
    half[-1].settimeout(30)
    assert half[-1].recv(1) == b""
    assert time.monotonic() - start < 20
    for one in half:
        one.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
def test_ctrl_c_ends_it_at_once_with_everything_that_it_started() -> None:
    with served() as running:
        busy = running.ask("/answers?bitsum=pure&users=1e6&instances=512&squared_change=16", OWN)
        busy.readline()
        time.sleep(1.0)
        children = _children(running.process.pid)
        assert len(children) >= 2
        start = time.monotonic()
        running.process.send_signal(signal.SIGINT)
        output, errors = running.process.communicate(timeout=20)
        assert time.monotonic() - start < 5  # a second, on a machine that is not busy
        assert (running.process.returncode, errors) == (0, "")
        assert output == ""
        end = time.monotonic() + 10
        while any(map(_lives, children)) and time.monotonic() < end:
            time.sleep(0.05)
        assert not any(map(_lives, children))


def _children(process: int) -> list[int]:
    """Return the processes below one, where the system lists them."""
    files = list(Path(f"/proc/{process}/task").glob("*/children"))
    if not files:
        pytest.skip("the system does not list child processes")
    found = [int(word) for file in files for word in file.read_text().split()]
    return [*found, *(below for child in found for below in _children(child))]


def _lives(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_it_listens_on_this_machine_only(server: Served) -> None:
    others = {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        with socket.socket() as probe:
            probe.settimeout(2)
            assert probe.connect_ex((address, server.port)) != 0
