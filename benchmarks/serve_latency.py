"""How long `dpverify serve` takes to answer: settings that are new, one step of a slider later, and asked again.

    python -m benchmarks.serve_latency [--settings 50] [--bitsums rr,3nb]

The times are those between a request and the line of a piece: the plan by the exact law, its privacy profile, and the
first curve of any kind.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlencode, urlsplit

import numpy as np

TYPICAL = {
    "epsilon": ("0.5", "1", "2", "3"),
    "delta": ("1e-6", "1e-8"),
    "users": ("1000", "5000", "20000", "100000"),
    "instances": ("1", "4", "16", "64"),
    "honest_fraction": ("1", "1", "0.9"),
}
AWAITED = {"plan": {"plan/exact"}, "profile": {"profile/exact"}}


def answers(port: int, state: dict[str, str]) -> Iterator[tuple[str, float]]:
    """Yield the pieces of one page, and after how many milliseconds each came."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    start = time.perf_counter()
    connection.request("GET", "/answers?" + urlencode(state), headers={"X-Dpverify": "benchmark"})
    try:
        for line in connection.getresponse():
            yield json.loads(line).get("piece", ""), 1e3 * (time.perf_counter() - start)
    finally:
        connection.close()


def first_times(port: int, state: dict[str, str]) -> dict[str, float]:
    """Return when the awaited pieces came; what else the page wants is left."""
    found: dict[str, float] = {}
    for piece, elapsed in answers(port, state):
        if piece and not piece.startswith("plan/"):
            found.setdefault("first curve", elapsed)
        for name, pieces in AWAITED.items():
            if piece in pieces:
                found[name] = elapsed
        if AWAITED.keys() <= found.keys():
            break
    return found


def told(title: str, times: list[dict[str, float]]) -> None:
    """Print medians and ninetieth percentiles."""
    for name in ("first curve", "plan", "profile"):
        values = [found[name] for found in times if name in found]
        print(f"{title:28s} {name:12s} p50 {np.median(values):7.0f} ms   p90 {np.quantile(values, 0.9):7.0f} ms")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", type=int, default=50)
    parser.add_argument("--steps", type=int, default=6)
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
            stepped = []
            for state in states[: options.steps]:
                list(answers(port, state))
                time.sleep(5.0)  # what a user takes to look, and the server to look ahead
                stepped.append(first_times(port, {**state, "epsilon": "1" if state["epsilon"] != "1" else "1.5"}))
            if stepped:
                told(f"{bitsum}, another epsilon", stepped)
    finally:
        server.kill()


if __name__ == "__main__":
    main()
