"""Users of a manifest with one query, simulated: a protocol whose `randomize` makes uploads and reads them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.collection.client import Client, draws
from dpverify.collection.manifest import manifest
from dpverify.collection.uploads import Collector
from protocols.shuffler import UserMessages


class Simulated:
    """What users with real clients send, and a real collector reads."""

    def __init__(self, protocol: Any, instances: int = 1, delta: str = "0.2") -> None:
        self.protocol, self.plan = protocol, manifest([("q", protocol, instances)], delta=delta)
        (self.query,) = self.plan.content["queries"]
        self.client = Client(self.plan.data, self.plan.hash)
        self.collector = Collector(self.plan.data, self.plan.hash)

    def uploads(self, values: Sequence[Any], rng: np.random.Generator) -> list[bytes]:
        """Return an upload for each user."""
        size = 16 * draws(self.query)
        return [self.client.another().upload("q", value, entropy=rng.bytes(size)) for value in values]

    def views(self, inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[np.float64]:
        """Return what so many runs publish, and the counts of their views: rows for an audit."""
        values = np.asarray(inputs).tolist() * trials
        (messages,) = self.collector.messages("q", self.uploads(values, rng))
        runs = messages.senders // len(inputs)
        order = np.argsort(runs, kind="stable")
        cuts = np.searchsorted(runs[order], np.arange(1, trials))
        views = np.array([self.protocol.view(each) for each in np.split(messages.symbols[order], cuts)])
        published = np.asarray(self.protocol.analyze(views), dtype=np.float64)
        return np.concatenate([published.reshape(trials, -1), views.reshape(trials, -1)], axis=1)

    def randomize(self, inputs: NDArray[Any], rng: np.random.Generator) -> UserMessages:
        """Return the messages of one instance, as `randomize` of the protocol does."""
        (messages,) = self.collector.messages("q", self.uploads(np.asarray(inputs).tolist(), rng))
        return messages
