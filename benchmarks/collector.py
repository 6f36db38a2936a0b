"""What a collector takes: uploads a second, bytes of a stored one, time and memory of a release and a shuffle."""

from __future__ import annotations

import argparse
import asyncio
import resource
import secrets
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from dpverify.collection.client import header, largest
from dpverify.collection.manifest import Manifest, manifest
from dpverify.collection.shuffling import Shuffler
from dpverify.collection.store import Store
from protocols.bitsum import Poisson, RandomizedResponse
from protocols.histogram import Histogram
from tests.serve.collecting import collecting

USERS = 10**7
MEASURED = {
    "rr": (RandomizedResponse(USERS, 0.093), 1),
    "rr, 50 bits": (RandomizedResponse(USERS, 0.093), 50),
    "poisson": (Poisson(USERS, 3830.379646), 1),
    "histogram, 100": (Histogram(Poisson(USERS, 3830.379646, estimate="under"), 100), 1),
}


def uploads(plan: Manifest, count: int, rng: np.random.Generator) -> list[tuple[bytes, bytes]]:
    """Return keys, and uploads whose fields are 0 or 1."""
    (query,) = plan.content["queries"]
    begin, size = header(plan.hash, 0, largest(query))
    widths = [most.bit_length() for most in largest(query)]
    found = []
    for row in rng.integers(0, 2, (count, len(widths))).tolist():
        digits = "".join(f"{bit:0{width}b}" for bit, width in zip(row, widths, strict=True)).ljust(8 * size, "0")
        found.append((secrets.token_bytes(16), begin + int(digits, 2).to_bytes(size, "big")))
    return found


def direct(folder: Path, plan: Manifest, each: list[tuple[bytes, bytes]], least: int) -> None:
    """Store uploads, a thousand in a transaction, and release them."""
    store = Store(folder, plan.data, plan.hash)
    start, used = time.perf_counter(), time.process_time()
    for at in range(0, len(each), 1024):
        assert not any(store.add(each[at : at + 1024]))
    wall, used = time.perf_counter() - start, time.process_time() - used
    store._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = (folder / "uploads.db").stat().st_size / len(each)
    print(f"  direct: {len(each) / wall:,.0f} a second, {used / len(each) * 1e6:.0f} us of CPU, {size:.0f} bytes each")
    store._users[0] = least  # as if there were no more
    start, used = time.perf_counter(), time.process_time()
    target = store.release("q")
    size = sum(path.stat().st_size for path in target.iterdir()) / len(each)
    wall, used = time.perf_counter() - start, time.process_time() - used
    print(f"  released in {wall:.1f} s ({used:.1f} s of CPU), {size:.2f} bytes each")


async def _sent(port: int, path: str, each: list[tuple[bytes, bytes]]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for key, upload in each:
        begin = f"PUT {path}{key.hex()} HTTP/1.1\r\nHost: collector\r\nContent-Length: {len(upload)}\r\n\r\n"
        writer.write(begin.encode() + upload)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 204 "), answer
    writer.close()


def served(folder: Path, plan: Manifest, each: list[tuple[bytes, bytes]], connections: int) -> None:
    """Send uploads over so many connections, each of which waits for its answers."""

    async def all_of(port: int, path: str) -> None:
        await asyncio.gather(*(_sent(port, path, each[at::connections]) for at in range(connections)))

    with collecting(folder, plan) as service:
        split, start = urlsplit(service.url), time.perf_counter()
        asyncio.run(all_of(split.port or 0, split.path))
        print(f"  over {connections} connections: {len(each) / (time.perf_counter() - start):,.0f} a second")


def shuffled(folder: Path, count: int, memory: int) -> None:
    """Shuffle so many messages of one bit."""
    shuffler, rng = Shuffler(folder, [1], memory=memory), np.random.default_rng(1)
    for at in range(0, count, 1 << 20):
        shuffler.add(rng.integers(0, 2, (min(1 << 20, count - at), 1)))
    start, used, parts = time.perf_counter(), time.process_time(), shuffler.parts
    assert sum(map(len, shuffler.shuffled())) == count
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{count:,} messages of a bit in {parts} parts: {time.perf_counter() - start:.1f} s, "
        f"{time.process_time() - used:.1f} s of CPU; {taken} MiB at most, of the whole process"
    )


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uploads", type=int, default=100_000)
    parser.add_argument("--messages", type=int, default=10**7)
    parser.add_argument("--memory", type=int, default=1 << 28)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, rng = Path(name), np.random.default_rng(1)
        (folder / "shuffled").mkdir()
        shuffled(folder / "shuffled", options.messages, options.memory)
        for place, (query, (protocol, instances)) in enumerate(MEASURED.items()):
            plan = manifest([("q", protocol, instances)], delta="1e-6")
            each = uploads(plan, options.uploads, rng)
            print(f"{query}: {len(each[0][1])} bytes on the way")
            direct(folder / f"direct-{place}", plan, each, len(each))
            for connections in (1, 64):
                some = each[: options.uploads // 10 if connections > 1 else options.uploads // 100]
                served(folder / f"served-{place}-{connections}", plan, some, connections)


if __name__ == "__main__":
    main()
