"""What an analyst takes: messages counted a second, packed and in Parquet; and how often intervals hold the truth."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.collection.analysis.aggregate import aggregate
from dpverify.collection.analysis.intervals import Tails, sum_law
from dpverify.collection.analysis.sums import Reader, Sums
from dpverify.collection.batches import Batches
from dpverify.collection.client import Client
from dpverify.collection.design import Design, design
from dpverify.collection.manifest import Manifest, manifest
from dpverify.collection.query import Query
from protocols.bitsum import Poisson, RandomizedResponse
from protocols.histogram import Histogram

PRESENT = 180_000


def timed(name: str, call: Callable[[], Any], count: int = 1) -> Any:
    """Print the CPU seconds of a call, and how many a second it makes of so many."""
    start, used = time.perf_counter(), time.process_time()
    found = call()
    used, start = time.process_time() - used, time.perf_counter() - start
    rate = f", {count / used / 1e6:.1f} million/s" if count > 1 else ""
    print(f"{name}: {used:.3f} CPU s, {start:.3f} s{rate}", flush=True)
    return found


def job() -> Design:
    """Return the job of docs/designs.md."""
    asked = [Query("features", bits=50), Query("rating", levels=5), Query("words", buckets=10_000)]
    return design(asked, [(("1", "1e-8"), 1), (("2", "1e-8"), 365)], users=200_000, honest="0.9")


def clients(plan: Manifest, uploads: int) -> None:
    """Print a client's time and bytes for each query of the job."""
    answers = {"features": [0, 1] * 25, "rating": 4, "words": 8_888}
    for name, answer in answers.items():
        each = [Client(plan.data, plan.hash) for _ in range(1 if name == "words" else uploads)]
        start = time.process_time()
        sizes = {len(client.upload(name, answer)) for client in each}
        print(f"{name}: {(time.process_time() - start) / len(each) * 1e6:.1f} us, {sizes} bytes", flush=True)


def day(plan: Manifest, rng: np.random.Generator) -> tuple[Sums, dict[str, list[int]]]:
    """Return the sums of a day by the protocols' laws, and the true sums."""
    words = np.bincount(np.minimum(rng.zipf(1.5, PRESENT) - 1, 9_999), minlength=10_000)
    ratings = rng.integers(1, 6, PRESENT)
    true = {
        "features": rng.integers(0, PRESENT, 50).tolist(),
        "rating": [int((ratings > level).sum()) for level in range(1, 5)],
        "words": words.tolist(),
    }
    counts = {
        query.name: query.protocol.sample_view(np.array(true[query.name]), rng, participants=PRESENT)
        for query in job().asked
    }
    return Sums(plan.hash, {name: np.full(len(each), PRESENT) for name, each in counts.items()}, counts), true


def packed(folder: Path, messages: int) -> None:
    """Print how fast a batch's file is counted: of one bit a message, and of buckets."""
    plan = manifest(
        [("rr", RandomizedResponse(messages, 0.25)), ("h", Histogram(Poisson(messages, 90.0, estimate="under"), 100))],
        delta="1e-6",
    )
    rng, batches, reader = np.random.default_rng(1), Batches(plan.data, plan.hash), Reader(plan.data, plan.hash)
    for place, (name, most, count) in enumerate((("rr", 2, messages), ("h", 100, messages // 10))):
        fields = (rng.integers(0, most, (min(count, 10**6), 1)) for _ in range(max(1, count // 10**6)))
        path = folder / name
        batches.write(path, fields, batch="b", query=place, instance=0, users=messages, count=count)
        timed(f"{name}: {count:,} messages of {path.stat().st_size:,} bytes", lambda at=path: reader.batch(at), count)


def parquet(folder: Path, rows: int) -> None:
    """Print how fast DuckDB counts."""
    import pandas

    plan = manifest([("features", RandomizedResponse(rows, 0.25), 50)], delta="1e-6")
    rng, reader = np.random.default_rng(1), Reader(plan.data, plan.hash)
    columns = {"query": "features", "instance": rng.integers(0, 50, rows).astype(np.int16)}
    pandas.DataFrame({**columns, "symbol": rng.integers(0, 2, rows).astype(np.int8)}).to_parquet(folder / "r.parquet")
    timed(f"{rows:,} rows", lambda: reader.parquet([folder / "r.parquet"]), rows)


def coverage(runs: int) -> None:
    """Print how often intervals hold the truth."""
    rng = np.random.default_rng(2)
    words, p = job().asked[2], job().asked[2].protocol.flip_probability
    for name, protocol, inputs, true in (
        ("a word's count", words.protocol, PRESENT, 3_000),
        ("no user", words.protocol, PRESENT, 0),
        ("rating", RandomizedResponse(200_000, p), 4 * PRESENT, 300_000),
        ("poisson", Poisson(200_000, 152_000.0), PRESENT, 3_000),
    ):
        law = sum_law(protocol, inputs)
        views = protocol.with_users(inputs).sample_view(np.full(runs, true), rng)
        tails = Tails(law, 0.025)
        held = [low <= true <= high for low, high in (tails.interval(int(view[-1])) for view in views)]
        print(f"{name}: {np.mean(held):.4f} of {runs} runs", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10**9)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--runs", type=int, default=10**4)
    asked = parser.parse_args()
    found = timed("design", job)
    plan = timed("manifest", found.manifest)
    print(f"{len(plan.data)} bytes")
    clients(plan, 2_000)
    sums, true = day(plan, np.random.default_rng(3))
    told = timed("aggregate the job's day", lambda: aggregate(plan, sums))
    words = [row for row in told.estimates if row.query == "words"]
    wrong = sum(not row.low <= held <= row.high for row, held in zip(words, true["words"], strict=True))
    print(f"{len(words)} words, {wrong} outside of their interval; {told.alarms}")
    with tempfile.TemporaryDirectory() as name:
        packed(Path(name), asked.messages)
        parquet(Path(name), asked.rows)
    coverage(asked.runs)


if __name__ == "__main__":
    main()
