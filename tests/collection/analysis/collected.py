"""Batches of simulated users, written as a collector writes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.collection.batches import Batches, message_rows
from dpverify.collection.client import Client, draws
from dpverify.collection.manifest import Manifest
from dpverify.collection.uploads import Collector


def messages(
    plan: Manifest, held: Mapping[str, list[Any]], rng: np.random.Generator
) -> dict[tuple[str, int], NDArray[np.int64]]:
    """Return the fields of all messages of real clients, by query and instance."""
    collector, found = Collector(plan.data, plan.hash), {}
    for query in plan.content["queries"]:
        name = query["name"]
        if name not in held:
            continue
        size = 16 * draws(query)
        uploads = [Client(plan.data, plan.hash).upload(name, value, entropy=rng.bytes(size)) for value in held[name]]
        for instance, sent in enumerate(collector.messages(name, uploads)):
            found[name, instance] = message_rows(query, sent.symbols)
    return found


def write(
    plan: Manifest, folder: Path, sent: Mapping[tuple[str, int], NDArray[np.int64]], users: int, batch: str
) -> None:
    """Write a batch of each query."""
    batches = Batches(plan.data, plan.hash)
    names = [query["name"] for query in batches.queries]
    folder.mkdir()
    for (name, instance), fields in sent.items():
        path = folder / f"{names.index(name)}-{instance}"
        place, count = names.index(name), len(fields)
        batches.write(path, [fields], batch=batch, query=place, instance=instance, users=users, count=count)
