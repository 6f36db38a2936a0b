"""Test vectors for clients in any language: what they send, and refuse, given their entropy.

`python -m tests.collection.vectors` writes those of `clients/vectors` anew, one file for each protocol.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.audit.clients.vectors import entropy, value, wrong
from dpverify.collection.client import Client, Refused
from dpverify.collection.densities.signs import Signs
from dpverify.collection.manifest import Manifest, manifest
from dpverify.collection.query import Asked
from dpverify.collection.rotations.turned import planned
from protocols.bitsum import LocalRandomizedResponse, NegativeBinomial, Poisson, Pure, RandomizedResponse, ThreeNB
from protocols.histogram import Histogram
from protocols.local.labels import LabelRandomizedResponse
from protocols.rappor.response import Rappor
from protocols.selection import Selection
from protocols.sums import NegativeBinomialSum, PoissonSum, SplitAndMix
from protocols.vector_sum import VectorSum


def _signs(waves: int, dimension: int, bandwidth: str, classes: int) -> Signs:
    return Signs.sample(waves, dimension, bandwidth, classes, np.random.default_rng(1))


FOLDER = Path(__file__).resolve().parents[2] / "clients" / "vectors"
QUERIES: dict[str, tuple[Any, ...]] = {
    "rr": (RandomizedResponse(2_000, 0.1), 9),
    "nb": (NegativeBinomial(2_000, 40.0, 0.5), 2),
    "poisson": (Poisson(2_000, 400.0), 3),
    "3nb": (ThreeNB(2_000, 0.5, 40.0, 0.75), 2),
    "pure": (Pure(2_000, 0.5, 0.25, 40.0, 0.75, 4.0), 1),
    "histogram": (Histogram(NegativeBinomial(2_000, 400.0, 0.5, estimate="under"), 5), 1),
    "selection": (Selection(Poisson(2_000, 400.0, estimate="under"), 3), 2),
    "vector-sum": (VectorSum(2_000, 5, 3, 0.2, stratified=True, sampled=2), 1),
    "local-rr": (LocalRandomizedResponse(2_000, 0.1), 3),
    "labels": (LabelRandomizedResponse(6, 1.0), 1),
    "levels": (RandomizedResponse(2_000, 0.1), 4, None, "levels"),
    "buckets": (Poisson(2_000, 400.0), 6, None, "buckets"),
    "strings": (RandomizedResponse(2_000, 0.1), 7, None, "strings"),
    "density": (RandomizedResponse(2_000, 0.1), 5, None, "density", _signs(5, 3, "0.3", 1)),
    "classifier": (Poisson(2_000, 400.0), 6, None, "density", _signs(3, 2, "1e6", 2)),
    "unary": (planned(2_000, 5, 40.0), 1, None, "vector", None, "01101"),
    "number": (PoissonSum(2_000, 5, 400.0, smallest=-1), 2),
    "real": (NegativeBinomialSum(2_000, 0.7, 400.0, 0.5, smallest=-1.5, steps=11), 1),
    "integers": (PoissonSum(2_000, 90, 400.0, smallest=-10, steps=7), 1, None, "bits", None, None, True),
    "shares": (SplitAndMix(2_000, 5, 2**14, 8, 0.75, smallest=1), 1),
    "weights": (PoissonSum(2_000, 0.1, 400.0, steps=9), 4, None, "weights"),
    "rappor": (Rappor(12, 9, cohorts=5, f=0.5, p=0.25, q=0.75, reports=2), 2),
}


def made(name: str) -> Manifest:
    """Return the manifest of one protocol's vectors."""
    return manifest([Asked(name, *QUERIES[name])], delta="1e-6")


def calls(client: Client, name: str, asked: list[tuple[Any, bytes | None]]) -> list[dict[str, Any]]:
    """Return what a client answers."""
    found = []
    for held, drawn in asked:
        call: dict[str, Any] = {"value": held}
        if drawn is not None:
            call["entropy"] = drawn.hex()
        try:
            call["upload"] = client.upload(name, held, entropy=drawn).hex()
        except Refused as error:
            call["refused"] = str(error)
        found.append(call)
    return found


def vectors(name: str, count: int, seed: int) -> dict[str, Any]:
    """Return so many vectors of a protocol, each a new client that is asked once or more, and all refusals."""
    plan, rng = made(name), random.Random(f"{name} {seed}")
    (query,) = plan.content["queries"]
    again = 4 if query["kind"] == "bloom" else 1
    listed = [[(value(query, rng), entropy(query, rng)) for _ in range(again)] for _ in range(count)]
    listed.append([(value(query, rng), entropy(query, rng))] * 2)  # answered before
    listed += [[(held, None)] for held in wrong(query)]
    listed.append([(value(query, rng), b"\0" * 15)])
    answered = [{"query": name, "calls": calls(Client(plan.data, plan.hash), name, asked)} for asked in listed]
    return {"manifest": plan.data.decode(), "hash": plan.hash, "vectors": answered}


def text(found: dict[str, Any]) -> str:
    """Return vectors as a file has them."""
    return json.dumps(found, indent=1) + "\n"


if __name__ == "__main__":
    for each in QUERIES:
        (FOLDER / f"{each}.json").write_text(text(vectors(each, 20, 1)), encoding="ascii")
