"""Uploads that were tampered with, sent to a running `dpverify collect`: what is released is what clients can send.

`python -m tests.serve.fuzzed [NUMBER]` sends 10^5, or so many.
"""

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dpverify.collection.client import Client, draws, header, largest
from dpverify.collection.manifest import manifest
from dpverify.collection.store import Store
from tests.collection.test_store import expected, messages, rows
from tests.collection.test_uploads import mutated, possible
from tests.collection.vectors import QUERIES, value
from tests.serve.collecting import collecting

NAMES = ("nb", "3nb", "histogram", "vector-sum")
USERS = 2_000


def fuzz(folder: Path, number: int, names: Sequence[str] = NAMES) -> tuple[int, int]:
    """Send so many uploads that were tampered with; return how many were let in, and released.

    Each answer is compared with a rule that was written apart from the collector, and what is released in the end with
    the uploads that were acknowledged, and others that fill the batches.
    """
    rng, plan = random.Random(1), manifest([(name, *QUERIES[name]) for name in names], delta="1e-4")
    queries = plan.content["queries"]
    forms = [header(plan.hash, place, largest(query)) for place, query in enumerate(queries)]

    def sent(query: dict[str, object]) -> bytes:
        client = Client(plan.data, plan.hash)
        return client.upload(str(query["name"]), value(query, rng), entropy=rng.randbytes(16 * draws(query)))

    uploads = [sent(query) for query in queries for _ in range(10)]
    keys = [rng.randbytes(16).hex() for _ in range(max(10, number // 3))]
    taken: list[dict[str, bytes]] = [{} for _ in queries]
    with collecting(folder / "day", plan) as service:
        asking = service.connected()
        for _ in range(number):
            upload, key = mutated(rng.choice(uploads), uploads, rng), rng.choice(keys)
            place = next((place for place, form in enumerate(forms) if fits(upload, *form, queries[place])), None)
            if place is None:
                wanted = {400, 413}
            elif key in taken[place]:
                wanted = {204 if taken[place][key] == upload else 409}
            elif len(taken[place]) == USERS:
                wanted = {409}
            else:
                wanted, taken[place][key] = {204}, upload
            status, said = service.put(asking, key, upload)
            assert status in wanted, (status, said, wanted)
    store = Store(folder / "day", plan.data, plan.hash)
    for place, query in enumerate(queries):
        found = list(taken[place].values())
        while len(found) < USERS:
            found.append(rng.choice(uploads[10 * place : 10 * place + 10]))
        filling = [(rng.randbytes(16), upload) for upload in found[len(taken[place]) :]]
        assert not any(store.add(filling))
        released = messages(plan, store.release(query["name"]))
        fields = np.split(store.collector.fields(query["name"], found), query["instances"], axis=1)
        assert [rows(one) for one in released] == [expected(query, one) for one in fields]
    return sum(map(len, taken)), len(queries) * USERS


def fits(upload: bytes, begin: bytes, size: int, query: dict[str, object]) -> bool:
    """Return whether a client can send an upload to a query."""
    return len(upload) == len(begin) + size and upload.startswith(begin) and possible(query, upload[len(begin) :])


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as made:
        let_in, released = fuzz(Path(made), wanted)
    print(
        f"{wanted:,} uploads sent, {let_in:,} taken as clients can send them; {released:,} released, all of them right."
    )
