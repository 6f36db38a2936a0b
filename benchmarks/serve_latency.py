"""How long `dpverify serve` takes to answer: settings that are new, asked again, and after a slider has moved.

    python -m benchmarks.serve_latency [--settings 50] [--steps 12] [--bitsums rr,3nb]

The times are those between a request and the line of a piece: the first proved plan (which may be the quick one), the
plan by the exact law, its privacy profile, and the first of the curves' pieces of any kind. A step moves one slider by
one stop after the page has stood for a while; a drag moves it over several, and what counts is where it stops.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlencode, urlsplit

import numpy as np

from dpverify.serve.state import CONTROLS

TYPICAL = {
    "epsilon": ("0.5", "1", "2", "3"),
    "delta": ("1e-6", "1e-8"),
    "users": ("1000", "5000", "20000", "100000"),
    "instances": ("1", "4", "16", "64"),
    "honest": ("1", "1", "0.9"),
}
AWAITED = {"proved plan": {"quick/exact", "plan/exact"}, "plan": {"plan/exact"}, "profile": {"profile/exact"}}
STOOD, PAUSE, DRAGGED = 3.0, 0.1, 5
"""Seconds for which a page has stood, and between two stops of a drag; and how many stops that has."""


def answers(port: int, state: dict[str, str]) -> Iterator[tuple[str, float]]:
    """Yield the pieces of one page, and after how many milliseconds each came."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    start = time.perf_counter()
    connection.request("GET", "/answers?" + urlencode(state), headers={"X-Dpverify": "benchmark"})
    try:
        for line in connection.getresponse():
            found = json.loads(line)
            if found.keys() - {"piece"}:  # not that a quick plan is wanted no more
                yield found.get("piece", ""), 1e3 * (time.perf_counter() - start)
    finally:
        connection.close()


def shown(port: int, state: dict[str, str], seconds: float) -> None:
    """Show a page for so long, and leave it as a browser does that goes on to other settings."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", "/answers?" + urlencode(state), headers={"X-Dpverify": "benchmark"})
    answer = connection.getresponse()
    threading.Thread(target=lambda: [*iter(lambda: answer.fp and answer.readline(), b"")], daemon=True).start()
    time.sleep(seconds)
    if connection.sock is not None:
        connection.sock.shutdown(2)


def moved(state: dict[str, str], name: str, steps: int) -> dict[str, str] | None:
    """Return the state so many stops of a slider away, if there is one."""
    stops = CONTROLS[name].stops
    place = CONTROLS[name].nearest(state[name]) + steps
    return {**state, name: stops[place]} if 0 <= place < len(stops) else None


def gesture(port: int, states: list[dict[str, str]], draw: random.Random, stops: int) -> list[dict[str, float]]:
    """Return the times where sliders stop that were moved over so many stops, one of each state."""
    found = []
    for state in states:
        ways = [(name, sign) for name in TYPICAL for sign in (-1, 1) if moved(state, name, sign * stops)]
        if not ways:
            continue
        name, sign = draw.choice(ways)
        shown(port, state, STOOD)
        for step in range(1, stops):
            shown(port, moved(state, name, sign * step) or state, PAUSE)
        found.append(first_times(port, moved(state, name, sign * stops) or state))
    return found


def first_times(port: int, state: dict[str, str]) -> dict[str, float]:
    """Return when the awaited pieces came; what else the page wants is left."""
    found: dict[str, float] = {}
    for piece, elapsed in answers(port, state):
        if piece and not piece.startswith(("plan/", "quick/")):
            found.setdefault("first curve", elapsed)
        for name, pieces in AWAITED.items():
            if piece in pieces:
                found.setdefault(name, elapsed)
        if AWAITED.keys() <= found.keys():
            break
    return found


def told(title: str, times: list[dict[str, float]]) -> None:
    """Print medians and ninetieth percentiles."""
    for name in ("first curve", *AWAITED):
        values = [found[name] for found in times if name in found]
        if values:
            print(f"{title:28s} {name:12s} p50 {np.median(values):7.0f} ms   p90 {np.quantile(values, 0.9):7.0f} ms")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", type=int, default=50)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--bitsums", default="rr,3nb,nb,poisson")
    options = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, "-m", "dpverify", "serve", "--port", "0", "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        port = urlsplit(server.stdout.readline().split(" ")[0]).port or 0
        draw = random.Random(1)
        for bitsum in options.bitsums.split(","):
            states = [
                {"bitsum": bitsum, **{name: draw.choice(values) for name, values in TYPICAL.items()}}
                for _ in range(max(1, options.settings // len(options.bitsums.split(","))))
            ]
            list(answers(port, {"bitsum": bitsum, "users": "200", "instances": "2"}))  # the imports
            told(f"{bitsum}, new", [first_times(port, state) for state in states])
            told(f"{bitsum}, asked again", [first_times(port, state) for state in states])
            for title, stops in (("one stop", 1), (f"a drag over {DRAGGED}", DRAGGED)):
                others = [
                    {"bitsum": bitsum, **{name: draw.choice(values) for name, values in TYPICAL.items()}}
                    for _ in range(options.steps)
                ]
                told(f"{bitsum}, {title}", gesture(port, others, draw, stops))
    finally:
        server.kill()


if __name__ == "__main__":
    main()
