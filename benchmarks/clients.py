"""What clients cost, and what their times tell: microseconds and bytes of an upload, and correlations with its noise.

Each upload takes the operating system's entropy, as on a device. Times are cut at their 99th percentile, which others'
work on the machine would make anything of, for the plain correlation; that of the ranks takes all.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from dpverify.collection.client import Client
from dpverify.collection.manifest import Manifest, manifest
from dpverify.collection.uploads import Collector
from protocols.bitsum import LocalRandomizedResponse, NegativeBinomial, Poisson, Pure, RandomizedResponse, ThreeNB
from protocols.histogram import Histogram
from protocols.local.labels import LabelRandomizedResponse
from protocols.rappor.client import RapporClient
from protocols.rappor.response import Rappor
from protocols.selection import Selection
from protocols.vector_sum import VectorSum

SCRIPT = Path(__file__).resolve().parent.parent / "clients" / "javascript" / "measure.js"
USERS = 30_000
RAPPOR = Rappor(128, 2, cohorts=64, f=0.5, p=0.5, q=0.75)
MEASURED: dict[str, tuple[Any, int, int]] = {
    "rr": (RandomizedResponse(USERS, 0.093), 1, 50),
    "rr, 50 bits": (RandomizedResponse(USERS, 0.093), 50, 50),
    "nb": (NegativeBinomial(USERS, 430.0, 0.9), 1, 50),
    "poisson": (Poisson(USERS, 3830.379646), 1, 50),
    "3nb": (ThreeNB(USERS, 0.97, 4.0, 0.999), 1, 4),
    "pure": (Pure(USERS, 0.97, 0.01, 4.0, 0.999), 1, 4),
    "histogram, 100": (Histogram(Poisson(USERS, 3830.379646, estimate="under"), 100), 1, 20),
    "selection, 10,000": (Selection(Poisson(USERS, 3830.379646, estimate="under"), 10_000), 1, 1),
    "vector sum, 1 of 16": (VectorSum(USERS, 16, 4, 0.2), 1, 50),
    "local-rr": (LocalRandomizedResponse(USERS, 0.25), 1, 50),
    "labels, 100": (LabelRandomizedResponse(100, 5.0), 1, 50),
    "rappor, 128 bits": (RAPPOR, 1, 50),
}
"""Protocol, instances, and how many queries of it one client answers."""
HEAVY = {"3nb": 10, "pure": 10, "selection, 10,000": 200}
"""Of these so many times fewer uploads."""


def answer(protocol: Any, instances: int, rng: np.random.Generator) -> Any:
    """Return what a user holds, at random."""
    if isinstance(protocol, Rappor):
        return f"value {rng.integers(2)}"
    if isinstance(protocol, VectorSum):
        return rng.random(protocol.dimension).tolist()
    most = getattr(protocol, "buckets", getattr(protocol, "classes", 2))
    found = rng.integers(0, most, instances).tolist()
    return found if instances > 1 else found[0]


def in_python(plan: Manifest, asked: list[list[Any]]) -> Iterator[tuple[float, bytes]]:
    """Yield the nanoseconds of each upload, and it."""
    for queries in asked:
        client = Client(plan.data, plan.hash)
        for name, value in queries:
            begin = time.perf_counter_ns()
            upload = client.upload(name, value)
            yield time.perf_counter_ns() - begin, upload


def in_node(plan: Manifest, asked: list[list[Any]]) -> Iterator[tuple[float, bytes]]:
    """Yield the same of the client in JavaScript."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        command = ["node", SCRIPT, path, plan.write(path), str(len(asked))]
        done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        nanoseconds, upload = line.split()
        yield float(nanoseconds), bytes.fromhex(upload)


def correlations(times: np.ndarray, drawn: np.ndarray) -> str:
    """Return both correlations, as text; nothing was drawn where all is alike."""
    if np.ptp(drawn) == 0:
        return "-"
    cut = np.minimum(times, np.quantile(times, 0.99))
    return f"{np.corrcoef(cut, drawn)[0, 1]:+.4f}, {stats.spearmanr(times, drawn)[0]:+.4f}"


def measured(name: str, uploads: int, language: Any, seed: int) -> str:
    """Return one row of the table."""
    protocol, instances, copies = MEASURED[name]
    plan = manifest([(f"q{number}", protocol, instances) for number in range(copies)], delta="1e-6")
    rng = np.random.default_rng(seed)
    rounds = max(uploads // copies, 2)
    asked = [[(f"q{number}", answer(protocol, instances, rng)) for number in range(copies)] for _ in range(rounds)]
    found = list(language(plan, asked))
    times = np.array([each for each, _ in found])
    collector = Collector(plan.data, plan.hash)
    fields = np.concatenate(
        [collector.fields(f"q{number}", [upload for _, upload in found[number::copies]]) for number in range(copies)]
    )
    held = [value for queries in asked for _, value in queries]
    order = np.concatenate([np.arange(number, len(found), copies) for number in range(copies)])
    sums, times = fields.sum(axis=1), times[order]
    inputs = np.array([float(value[-1]) if isinstance(value, str) else float(np.sum(value)) for value in held])[order]
    return (
        f"| {name} | {language.__name__[3:]} | {np.median(times) / 1000:.1f} | {len(found[0][1])} | {len(found):,} "
        f"| {correlations(times, sums)} | {correlations(times, inputs)} |"
    )


def rappor_of_today(uploads: int) -> str:
    """Return the same of `RapporClient`, whose draws take as long as they take."""
    times, sums = np.empty(uploads), np.empty(uploads)
    for number in range(uploads):
        client = RapporClient(RAPPOR, 0)
        begin = time.perf_counter_ns()
        report = client.report("value 0")
        times[number], sums[number] = time.perf_counter_ns() - begin, report.count("1")
    return (
        f"| RapporClient | python | {np.median(times) / 1000:.1f} | - | {uploads:,} | {correlations(times, sums)} | - |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--uploads", type=int, default=100_000, help="of each protocol and language, fewer of what takes long"
    )
    parser.add_argument("--only", default="", help="protocols whose name begins so")
    given = parser.parse_args()
    print("| query | client | microseconds | bytes | uploads | correlation with what is drawn | with what is held |")
    print("|---|---|---|---|---|---|---|")
    for name in MEASURED:
        if name.startswith(given.only):
            heavy = HEAVY.get(name, 1)
            for language in (in_python, in_node):
                print(measured(name, given.uploads // heavy, language, 1), flush=True)
    print(rappor_of_today(min(given.uploads, 6_000)))


if __name__ == "__main__":
    main()
